"""Goal: the README's C sample is true: it compiles, and it prints what the README says.

Method: take the first ```c block of README.md and the ```text block that follows it, compile the
first against the installed library as a reader would, run it, and compare with the second. A
README without such blocks fails."""

import os
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("LETHE_BUILD_DIR", SOURCE / "build/release"))


def blocks():
    """The fenced blocks of the README, in order: [(language, text)]."""
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def sample():
    """The C sample and the output that the README shows for it."""
    found = blocks()
    languages = [language for language, _ in found]
    assert "c" in languages, "README.md has no ```c block"
    at = languages.index("c")
    assert "text" in languages[at:], "no ```text block follows README.md's ```c block"
    return found[at][1], found[languages.index("text", at)][1]


def run(*command, **environment):
    result = subprocess.run([str(word) for word in command], text=True, check=False,
                            env={**os.environ, **environment},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}"
    return result.stdout


def test_the_c_sample_prints_what_the_readme_says(tmp_path):
    code, expected = sample()
    run(os.environ.get("CMAKE", "cmake"), "--install", BUILD, "--prefix", tmp_path / "prefix",
        DESTDIR="")
    libdir = next((tmp_path / "prefix").rglob("liblethe.a")).parent
    (tmp_path / "sample.c").write_text(code)
    flags = run("pkg-config", "--cflags", "--libs", "lethe_counter",
                PKG_CONFIG_LIBDIR=str(libdir / "pkgconfig")).split()
    run(os.environ.get("CC", "cc"), "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "sample",
        tmp_path / "sample.c", *flags)
    # In an empty folder: the sample may write files.
    (tmp_path / "work").mkdir()
    result = subprocess.run([tmp_path / "sample"], cwd=tmp_path / "work", text=True, check=False,
                            env={**os.environ, "LD_LIBRARY_PATH": str(libdir)},
                            stdout=subprocess.PIPE)
    assert (result.returncode, result.stdout) == (0, expected)
