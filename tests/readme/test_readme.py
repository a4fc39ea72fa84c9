"""Goal: the README's samples are true: its sessions print what it says, and so do its C program and that of
docs/start/c.md.

Method: type the commands of the ```console blocks into one shell, in an empty folder, and compare what is
printed. Take the first ```c block and the ```text block that follows it, compile the first against the
installed library as a reader would, run it, and compare with the second. A README without such blocks
fails. (The examples are run by tests/package.)"""

import os
import pathlib
import re
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("LETHE_BUILD_DIR", SOURCE / "build/release"))


def blocks(page="README.md"):
    """The fenced blocks of a page, in order: [(language, text)]."""
    text = (SOURCE / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def sample(page):
    """The C sample of a page and the output that it shows for it."""
    found = blocks(page)
    languages = [language for language, _ in found]
    assert "c" in languages, f"{page} has no ```c block"
    at = languages.index("c")
    assert "text" in languages[at:], f"no ```text block follows the ```c block of {page}"
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
                            stdout=subprocess.PIPE)
    assert result.returncode == 0
    return result.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/start/c.md"])
def test_the_c_sample_prints_what_its_page_says(installed, tmp_path, page):
    code, expected = sample(page)
    (tmp_path / "sample.c").write_text(code)
    assert build_and_run(installed, tmp_path / "sample.c", tmp_path, "lethe_store") == expected


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
