"""Goal: progress is shown to people and to nobody else, and leaves no trace.

Method: lethe runs with a terminal of the test's own as its standard error, and is fed slowly."""

import os
import pty
import re
import subprocess
import time

import pytest

from conftest import BINARIES, run_lethe

ERASE = "\r\x1b[K"


def run_on_terminal(words, folder, stdin=subprocess.PIPE, seconds=1.0, **environment):
    """Runs lethe with a terminal as standard error, feeding lines for some seconds.
    Returns the exit status and what appeared on the terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([BINARIES / "lethe", *words], cwd=folder, stdin=stdin, stderr=slave,
                               stdout=subprocess.DEVNULL,
                               env={**os.environ, "TERM": "xterm", **environment})
    os.close(slave)
    if stdin == subprocess.PIPE:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            process.stdin.write(b"line\n" * 100)
            process.stdin.flush()
            time.sleep(0.01)
        process.stdin.close()
    code = process.wait(timeout=60)
    shown = b""
    try:
        while True:
            piece = os.read(master, 65536)
            if not piece:
                break
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(master)
    return code, shown.decode()


BUILD = ["filter", "build", "--capacity", "1000", "--out", "f"]


def test_progress_comes_and_goes(tmp_path):
    start = time.monotonic()
    code, shown = run_on_terminal(BUILD, tmp_path)
    elapsed = time.monotonic() - start
    assert code == 0
    drawn = re.findall(r"\r\x1b\[K(\S+ lines, \S+/s, \S+ \w+)", shown)
    assert 2 <= len(drawn) <= 10 * elapsed, shown
    assert "\n" not in shown[:shown.rindex(ERASE)], "the progress is one line"
    after = shown[shown.rindex(ERASE) + len(ERASE):]
    assert re.fullmatch(r"lethe: f: \d+ lines added, .*\r\n", after)


def test_files_tell_how_much_is_left(tmp_path):
    (tmp_path / "lines").write_bytes(b"".join(b"%d\n" % i for i in range(3000000)))
    code, shown = run_on_terminal(["filter", "build", "--kind", "blocked", "--out", "f", *["lines"] * 5],
                                  tmp_path, stdin=subprocess.DEVNULL)
    assert code == 0
    if ERASE not in shown:
        pytest.skip("this machine is too fast to show progress")
    assert re.search(r" of \d+\.\d MiB \(\d+%\), \d+:\d\d left", shown)


@pytest.mark.parametrize("change", [
    {"words": [*BUILD, "--quiet"]},
    {"words": [*BUILD, "-q"]},
    {"words": BUILD, "TERM": "dumb"},
], ids=["--quiet", "-q", "dumb terminal"])
def test_no_progress(change, tmp_path):
    code, shown = run_on_terminal(folder=tmp_path, seconds=0.5, **change)
    assert code == 0
    assert ERASE not in shown
    assert ("added" in shown) == ("TERM" in change)


def test_no_progress_into_a_file(tmp_path):
    result = run_lethe(*BUILD, stdin=b"line\n" * 2000000, cwd=tmp_path)
    assert result.returncode == 0
    assert b"\r" not in result.stderr and result.stderr.count(b"\n") == 1


def test_a_message_replaces_the_progress(tmp_path):
    """A warning after progress starts at the beginning of an empty line."""
    code, shown = run_on_terminal(["filter", "build", "-q", "--capacity", "1", "--out", "f"],
                                  tmp_path, seconds=0.3)
    assert code == 0 and shown == ""
    code, shown = run_on_terminal(["filter", "test", "--count", "f", "-", "/proc/self/mem"], tmp_path,
                                  seconds=0.5)
    assert code == 4
    assert shown.endswith("\r\n")
    assert re.search(re.escape(ERASE) + "lethe: cannot read /proc/self/mem: ", shown)
