"""Goal: help, man pages and completions say the same, are well formed, and work in the shells.

Method: ask lethe for all of them, as the build does; check the pages with mandoc, and use the
completions in real shells, bash, zsh and fish, with keys pressed on a terminal."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from conftest import BINARIES, run_lethe

COMMANDS = run_lethe("help", "--format", "list").stdout.decode().split("\n")[:-1]


def help_of(command, form="text"):
    result = run_lethe("help", "--format", form, *command.split())
    assert result.returncode == 0 and result.stderr == b""
    return result.stdout.decode()


def test_all_commands_are_listed():
    assert COMMANDS[0] == "" and "filter build" in COMMANDS and "help" in COMMANDS
    for command in COMMANDS[1:]:
        parent = " ".join(command.split()[:-1])
        assert command.split()[-1] in help_of(parent)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal(command):
    text = help_of(command)
    for line in text.splitlines():
        assert len(line) <= 80 or line.startswith("    $ "), line
        assert line == line.rstrip() and "`" not in line
    for heading in "Usage", "Description", "Options", "Exit status":
        assert f"\n{heading}\n" in text
    assert run_lethe(*command.split(), "--help").stdout.decode() == text


@pytest.mark.parametrize("command", COMMANDS)
def test_man_page(command):
    text, page = help_of(command), help_of(command, "man")
    for option in re.findall(r"^  (?:-\w, )?--([\w-]+)", text, re.MULTILINE):
        assert "\\-\\-" + option.replace("-", "\\-") in page, option
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page.encode(), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (lint.returncode, lint.stdout) == (0, b"")
    shown = subprocess.run(["mandoc", "-T", "ascii"], input=page.encode(), check=True,
                           stdout=subprocess.PIPE).stdout
    plain = re.sub(rb".\x08", b"", shown).decode()
    # Every word of the help is in the page, whatever lines and headings it is broken into. (What
    # a help calls usage, a page calls synopsis.)
    page_words = set(re.findall(r"[\w%.=|-]+", plain.lower()))
    for word in re.findall(r"[\w%=|-]{4,}", text.replace("\nUsage\n", "\n").lower()):
        assert any(word in candidate for candidate in page_words), word


@pytest.mark.parametrize("command", COMMANDS)
def test_markdown(command):
    """The page of the site says what the help says, in the same order."""
    text, page = help_of(command), help_of(command, "markdown")
    assert page.startswith(f"# {('lethe ' + command).strip()}\n")
    assert re.findall(r"^(\S.*)$", text, re.MULTILINE)[-1] == "Exit status" and "\n## Exit status\n" in page
    options = text.split("\nOptions\n")[1].split("\n\n")[0]
    for option in re.findall(r"^  (?:-\w, )?--([\w-]+)", options, re.MULTILINE):
        assert re.search(rf"^`(-\w, )?--{option}[ `]", page, re.MULTILINE), option
    for name in re.findall(r"\]\((\S+)\.md\)", page):
        assert name.replace("-", " ") in {("lethe " + one).strip().replace("-", " ") for one in COMMANDS}
    # Without marks and escapes, every word of the help is there.
    words = set(re.sub(r"\\(?=[^a-zA-Z0-9\s])|`", "", page).lower().split())
    for word in re.findall(r"[\w%=|-]{4,}", text.replace("\nUsage\n", "\n").replace("\nDescription\n", "\n").lower()):
        assert any(word in candidate for candidate in words), word


def test_the_build_wrote_them(binaries):
    if not (binaries / "man").is_dir():
        pytest.skip("only lethe itself was built")
    pages = {("lethe " + command).strip().replace(" ", "-") + ".1": command for command in COMMANDS}
    assert sorted(path.name for path in (binaries / "man").glob("*.1")) == sorted(pages)
    for name, command in pages.items():
        assert (binaries / "man" / name).read_text() == help_of(command, "man")
    assert (binaries / "completions/lethe.bash").read_text() == help_of("", "bash")
    assert (binaries / "completions/_lethe").read_text() == help_of("", "zsh")
    assert (binaries / "completions/lethe.fish").read_text() == help_of("", "fish")


# What is typed before the Tab key, and what must be offered then.
OFFERS = {
    "lethe ": ["backup", "bench", "check", "claim", "count", "dedup", "del", "filter", "freq", "get", "give-up", "help",
               "hold", "list", "paper", "plan", "restore", "sample", "serve", "set", "stat", "take", "top", "usage"],
    "lethe f": ["filter", "freq"],
    "lethe x": [],
    "lethe --v": ["--version"],
    "lethe sample ": ["events"],
    "lethe count --pol": ["--policy"],
    "lethe count --policy ": ["degrade", "refuse"],
    "lethe filter ": ["build", "extract", "info", "merge", "remove", "test"],
    "lethe filter m": ["merge"],
    "lethe filter build --ki": ["--kind"],
    "lethe filter build --kind ": ["blocked", "bloom", "cascade", "gaussian", "quotient"],
    "lethe filter build --kind blo": ["blocked", "bloom"],
    "lethe filter build --kind = bloo": ["bloom"],  # --kind=bloo, as bash breaks it
    "lethe filter build --kind =": ["blocked", "bloom", "cascade", "gaussian", "quotient"],
    "lethe filter build --quiet --kind bloom --o": ["--out"],
    "lethe filter test --": ["--binary", "--count", "--help", "--invert", "--quiet"],
    "lethe filter build --capacity ": [],
    "lethe help ": ["backup", "bench", "check", "claim", "count", "dedup", "del", "filter", "freq", "get", "give-up",
                    "help", "hold", "list", "paper", "plan", "restore", "sample", "serve", "set", "stat", "take", "top", "usage"],
    "lethe help filter b": ["build"],
    "lethe paper fbf-9": ["fbf-9"],
    "lethe paper --fu": ["--full"],
    "lethe plan --ra": ["--rate"],
    "lethe plan --partition-by ": ["id", "key"],
    "lethe plan --simulate scale-f": ["scale-failure"],
    "lethe bench window-m": ["window-memory"],
    "lethe bench --li": ["--list"],
    "lethe help filter --": [],
    # Nothing of lethe's own: bash then completes file names.
    "lethe filter test ": [],
    "lethe filter build --out ": [],
}


@pytest.mark.parametrize("typed", OFFERS)
def test_bash_offers(typed, tmp_path):
    (tmp_path / "lethe.bash").write_text(help_of("", "bash"))
    words = typed.split(" ")
    script = f"""
        set -u
        PATH={BINARIES}:$PATH
        source ./lethe.bash
        COMP_WORDS=({" ".join(repr(word) for word in words)})
        COMP_CWORD={len(words) - 1}
        _lethe
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    result = subprocess.run(["bash", "--norc", "-c", script], cwd=tmp_path, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert result.stderr == b""
    assert sorted(result.stdout.decode().split()) == OFFERS[typed]


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, words, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, {"PATH": f"{BINARIES}:{os.environ['PATH']}", "TERM": "dumb",
                                         "HOME": str(folder), "LC_ALL": "C", "PS1": "> "})
        self.number = 0

    def read_until(self, wanted, seconds=20.0):
        """What appears until the wanted text does."""
        shown, end = "", time.monotonic() + seconds
        while wanted not in shown:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            assert ready, f"waited in vain for {wanted!r} in {shown!r}"
            shown += os.read(self.terminal, 65536).decode("utf-8", "replace")
        return shown

    def run(self, line):
        """Runs a line and returns what it printed, when it is done."""
        self.number += 1
        # The mark in the echo of the line is broken by quotes; the one printed is not.
        os.write(self.terminal, f"{line}; echo 'mark'{self.number}.\n".encode())
        return self.read_until(f"mark{self.number}.")

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


@pytest.fixture
def completions(tmp_path):
    (tmp_path / "lethe.bash").write_text(help_of("", "bash"))
    (tmp_path / "_lethe").write_text(help_of("", "zsh"))
    (tmp_path / "words.lethe").write_text("")
    return tmp_path


# What is typed before the Tab key, and the whole line after it. Both shells must do it.
KEYS = {
    "lethe fil": "lethe filter ",
    "lethe filter b": "lethe filter build ",
    "lethe filter build --capa": "lethe filter build --capacity",
    "lethe filter build --kind bloo": "lethe filter build --kind bloom ",
    "lethe filter build --kind=bloc": "lethe filter build --kind=blocked ",
    "lethe filter test wor": "lethe filter test words.lethe ",
    "lethe filter build --out wor": "lethe filter build --out words.lethe ",
    "lethe help filter inf": "lethe help filter info ",
    "lethe paper fbf-sa": "lethe paper fbf-salt ",
    "lethe bench window-mem": "lethe bench window-memory ",
}


def check_keys(shell):
    """Presses the keys, and takes the line away again (Ctrl-U) so that it never runs."""
    for typed, line in KEYS.items():
        shell.run("true")
        os.write(shell.terminal, (typed + "\t").encode())
        shell.read_until(line)
        os.write(shell.terminal, b"\x15")


def test_bash_completes(completions):
    shell = Shell(["bash", "--norc", "--noprofile", "-i"], completions)
    shell.run("source ./lethe.bash")
    check_keys(shell)
    shell.close()


def test_zsh_is_well_formed(completions):
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    check = subprocess.run(["zsh", "-n", completions / "_lethe"], check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (check.returncode, check.stdout) == (0, b"")


def test_zsh_completes(completions):
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    shell = Shell(["zsh", "-f", "-i"], completions)
    shell.run("fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D")
    check_keys(shell)
    shell.close()


@pytest.mark.parametrize("typed", OFFERS)
def test_fish_offers(typed, tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    if " =" in typed:
        pytest.skip("fish does not break words at '='")
    (tmp_path / "lethe.fish").write_text(help_of("", "fish"))
    (tmp_path / "empty").mkdir()
    script = f"set -x PATH {BINARIES} $PATH; source ../lethe.fish; complete -C '{typed}'"
    result = subprocess.run(["fish", "--no-config", "-c", script], cwd=tmp_path / "empty", check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "HOME": str(tmp_path)})
    assert result.stderr == b""
    offered = [line.split("\t")[0] for line in result.stdout.decode().splitlines()]
    # fish also offers letters, and the options after a blank; an option's name comes with its '='.
    offered = {word.rstrip("=") for word in offered if not re.fullmatch("-[a-z]", word)}
    expected = ["--help"] if typed == "lethe help filter --" else OFFERS[typed]  # an option of help's own
    assert sorted(offered) == expected
