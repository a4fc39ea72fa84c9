"""Goal:   a store that is moved, removed or replaced while it is being written harms no other store: the one that was moved has
        what was acknowledged, the one in its place has what it was given, and the writer reports it.

Method: a writer that reads a pipe, and so stays; its folder is moved and another store made at the path; then the writer gets
        more, and ends."""

import os
import pathlib
import shutil
import subprocess
import time

import pytest

LETHE = pathlib.Path(os.environ["LETHE_BIN_DIR"]) / "lethe"
EVENTS = 2000


def lethe(*words, stdin=b""):
    return subprocess.run([LETHE, *words], input=stdin, capture_output=True, check=False)


def value_of(store, key):
    result = lethe("get", "--db", store, key)
    assert result.returncode == 0, result.stderr
    return int(result.stdout.split()[-1])


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def begin(*words):
    return subprocess.Popen([LETHE, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def feed(writer, first, count):
    writer.stdin.write(b"".join(b"id-%d\tk\n" % i for i in range(first, first + count)))
    writer.stdin.flush()


def begin_counting(store, *words):
    """A writer whose first events are on disk."""
    writer = begin("count", "-q", "--db", store, "--batch", "100", *words)
    feed(writer, 0, EVENTS)
    wait_for(lambda: lethe("get", "--db", store, "k").stdout == b"k\t%d\n" % EVENTS)
    return writer


def end(writer):
    try:
        feed(writer, EVENTS, EVENTS)
    except BrokenPipeError:
        pass
    _, errors = writer.communicate()
    return writer.returncode, errors


def is_sound(store):
    result = lethe("check", "--db", store)
    return result.returncode == 0


@pytest.mark.parametrize("mode", [[], ["--forever"], ["--exact"], ["--per", "1h"]], ids=["plain", "forever", "exact", "meters"])
def test_another_store_in_its_place(tmp_path, mode):
    store, moved = tmp_path / "store", tmp_path / "moved"
    writer = begin_counting(store, *mode)
    store.rename(moved)
    assert lethe("count", "-q", "--db", store, *mode, stdin=b"z\tk\t5\n").returncode == 0
    code, errors = end(writer)
    assert code == 4 and b"was moved, removed or replaced" in errors
    assert value_of(store, "k") == 5 and is_sound(store)
    assert value_of(moved, "k") == EVENTS and is_sound(moved)
    # What the writer was told was not counted is counted where the store is now.
    more = b"".join(b"id-%d\tk\n" % i for i in range(2 * EVENTS))
    assert lethe("count", "-q", "--db", moved, stdin=more).returncode == 0 and value_of(moved, "k") == 2 * EVENTS


def test_a_restored_one_in_its_place(tmp_path):
    store, moved, backups = tmp_path / "store", tmp_path / "moved", tmp_path / "backups"
    writer = begin_counting(store)
    assert lethe("backup", "-q", "--db", store, "--to", backups).returncode == 0
    store.rename(moved)
    assert lethe("restore", "-q", "--from", backups, "--db", store).returncode == 0
    _, errors = writer.communicate()
    assert writer.returncode == 4 and b"was moved" in errors
    assert value_of(store, "k") == EVENTS and is_sound(store)
    assert value_of(moved, "k") == EVENTS and is_sound(moved)


def test_removed_and_made_again(tmp_path):
    store = tmp_path / "store"
    writer = begin_counting(store)
    shutil.rmtree(store)
    assert lethe("count", "-q", "--db", store, stdin=b"z\tk\t5\n").returncode == 0
    assert end(writer)[0] == 4
    assert value_of(store, "k") == 5 and is_sound(store)


def test_lines_that_were_seen(tmp_path):
    """The same for dedup, whose memory is a cascade filter."""
    store, moved = tmp_path / "seen", tmp_path / "moved"
    lines = b"".join(b"line %d\n" % i for i in range(EVENTS))
    assert lethe("dedup", "-q", "--db", store, stdin=lines).stdout == lines
    writer = begin("dedup", "-q", "--db", store)
    writer.stdin.write(b"new\n")
    writer.stdin.flush()
    assert writer.stdout.readline() == b"new\n"  # it has the store open
    store.rename(moved)
    assert lethe("dedup", "-q", "--db", store, stdin=b"other\n").stdout == b"other\n"
    _, errors = writer.communicate(b"newer\n")
    assert writer.returncode == 4, errors
    assert lethe("dedup", "-q", "--db", store, stdin=b"other\nline 1\n").stdout == b"line 1\n"
    assert lethe("dedup", "-q", "--db", moved, stdin=b"line 2\nnew\n").stdout == b"new\n"
    assert is_sound(store) and is_sound(moved)
