"""Goal: the README's samples are true: its sessions print what it says, and so does its C program.

Method: type the commands of the ```console blocks into one shell, in an empty folder, and compare what is
printed. Take the first ```c block and the ```text block that follows it, compile the first against the
installed library as a reader would, run it, and compare with the second. Do the same with the examples,
whose first comment shows what they print. A README without such blocks fails."""

import os
import pathlib
import re
import subprocess

import pytest

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


@pytest.fixture(name="installed", scope="module")
def fixture_installed(tmp_path_factory):
    """The folder of the libraries of an installation."""
    prefix = tmp_path_factory.mktemp("prefix")
    run(os.environ.get("CMAKE", "cmake"), "--install", BUILD, "--prefix", prefix, DESTDIR="")
    return next(prefix.rglob("liblethe.a")).parent


def build_and_run(libdir, source, folder, package, *arguments):
    """What a program prints that is compiled against the installation and run in an empty folder."""
    flags = run("pkg-config", "--cflags", "--libs", package,
                PKG_CONFIG_LIBDIR=str(libdir / "pkgconfig")).split()
    run(os.environ.get("CC", "cc"), "-Wall", "-Wextra", "-Werror", "-o", folder / "program", source, *flags)
    (folder / "work").mkdir()
    result = subprocess.run([folder / "program", *arguments], cwd=folder / "work", text=True, check=False,
                            env={**os.environ, "LD_LIBRARY_PATH": str(libdir)}, stdout=subprocess.PIPE)
    assert result.returncode == 0
    return result.stdout


def test_the_c_sample_prints_what_the_readme_says(installed, tmp_path):
    code, expected = sample()
    (tmp_path / "sample.c").write_text(code)
    assert build_and_run(installed, tmp_path / "sample.c", tmp_path, "lethe_store") == expected


@pytest.mark.parametrize("name, package", [("bloom", "lethe"), ("window", "lethe"), ("store", "lethe_store")])
def test_an_example_prints_what_its_first_comment_says(installed, tmp_path, name, package):
    source = SOURCE / f"examples/{name}.c"
    expected = re.findall(r"^ \*     (.*)\n", source.read_text(encoding="utf-8").split("*/")[0], re.MULTILINE)
    printed = build_and_run(installed, source, tmp_path, package, "folder")
    assert printed.splitlines() == expected


def test_the_sessions_print_what_the_readme_says(tmp_path):
    sessions = [text for language, text in blocks() if language == "console"]
    assert sessions, "README.md has no ```console block"
    commands, expected = [], []
    for line in "".join(sessions).splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        else:
            expected.append(line)
    script = "set -e\n" + "\n".join(commands) + "\n"
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, text=True, check=False,
                            env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (result.returncode, result.stderr, result.stdout.splitlines()) == (0, "", expected)
