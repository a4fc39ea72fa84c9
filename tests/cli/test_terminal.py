"""Goal: progress is shown to people and to nobody else, and leaves no trace.

Method: lethe runs with a terminal of the test's own as its standard error, and is fed slowly."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time

import pytest

from conftest import BINARIES, run_lethe

ERASE = "\r\x1b[K"


def run_on_terminal(words, folder, stdin=subprocess.PIPE, seconds=1.0, width=80, **environment):
    """Runs lethe with a terminal as standard error, feeding lines for some seconds.
    Returns the exit status and what appeared on the terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
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
    assert re.search(r" of \d+\.\d MiB, \d+%, \d+:\d\d left", shown)


@pytest.mark.parametrize("width", [20, 40, 60, 79, 80, 200])
def test_progress_fits_the_terminal(tmp_path, width):
    """However narrow it is, the line stays one line, and shows as much as there is room for."""
    events = tmp_path / "events"
    events.write_bytes(b"".join(b"id-%d\tkey\t1\n" % i for i in range(1500000)))
    code, shown = run_on_terminal(["count", "--db", "d", "events"], tmp_path, stdin=subprocess.DEVNULL, width=width)
    assert code == 0
    drawn = [part.split("\r")[0] for part in shown.split(ERASE)[1:-1]]
    if not drawn:
        pytest.skip("this machine is too fast to show progress")
    for line in drawn:
        assert "events" in line and len(line) < width
    assert any("duplicates" in line for line in drawn) == (width == 200)
    assert any("%" in line for line in drawn)


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
    (tmp_path / "wide").write_text("lines\n", encoding="utf-16")
    code, shown = run_on_terminal(["filter", "test", "--count", "f", "-", "wide"], tmp_path, seconds=0.5)
    assert code == 3
    assert shown.endswith("\r\n")
    assert re.search(re.escape(ERASE) + "lethe: wide is text in UTF-16", shown)


def read_help(tmp_path, rows, **environment):
    """What `lethe help get` shows on a terminal with so many rows."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    process = subprocess.Popen([BINARIES / "lethe", "help", "get"], cwd=tmp_path, stdin=subprocess.DEVNULL,
                               stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", **environment})
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(master)
    return process.wait(timeout=60), shown.decode().replace("\r", "")


def test_long_help_is_paged(tmp_path):
    text = run_lethe("help", "get").stdout.decode()
    pager = {"LETHE_PAGER": "sed s/^/paged:/"}
    assert read_help(tmp_path, 1000, **pager) == (0, text)  # it fits
    assert read_help(tmp_path, 10, **pager) == (0, "".join(f"paged:{line}\n" for line in text.splitlines()))
    assert read_help(tmp_path, 10, LETHE_PAGER="", PAGER="head -n 1") == (0, text.splitlines()[0] + "\n")
    code, shown = read_help(tmp_path, 10, LETHE_PAGER="no-such-pager")
    assert code == 0 and shown.endswith(text) and "no-such-pager" in shown
    assert read_help(tmp_path, 10, LETHE_PAGER="exit 3") == (0, "")  # a reader who leaves at once
    assert read_help(tmp_path, 10, TERM="dumb", **pager) == (0, text)


def test_letters_take_values(tmp_path):
    run_lethe("count", "-q", "--db", "d", stdin=b"a\tx\t3\nb\ty\t2\nc\tz\t1\n", cwd=tmp_path)
    for words in ["-n2"], ["-n", "2"], ["--number=2"]:
        result = run_lethe("top", "--db", "d", *words, cwd=tmp_path)
        assert (result.returncode, result.stdout) == (0, b"x\t3\ny\t2\n"), result.stderr
    assert run_lethe("top", "--db", "d", "-nx", cwd=tmp_path).returncode == 2
    assert run_lethe("top", "--db", "d", "-zn2", cwd=tmp_path).returncode == 2
