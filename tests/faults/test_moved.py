"""Goal:   a store that is moved, removed or replaced while it is being written harms no other store: the one that was moved has
        what was acknowledged, the one in its place has what it was given, and the writer reports it.

Method: a writer that reads a pipe, and so stays; its folder is moved and another store made at the path; then the writer gets
        more, and ends."""

import fcntl
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


def try_made_meanwhile(folder, made):
    """A writer looks at a folder that has only a lock, and waits for it; meanwhile the store is made. None: it has not waited
    long enough, or not at all."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with open(folder / "lethe.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        writer = begin("count", "-q", "--db", folder)
        links = pathlib.Path(f"/proc/{writer.pid}/fd")
        while writer.poll() is None and not any(
                os.path.realpath(link) == str(folder / "lethe.lock") for link in list(links.iterdir())):
            time.sleep(0.001)
        for name in ("data", "acknowledged"):
            if (made / name).is_dir():
                shutil.copytree(made / name, folder / name)
            elif (made / name).exists():
                shutil.copy(made / name, folder / name)
    _, errors = writer.communicate(b"another\tk\n")
    if b"is being written" in errors:
        return None
    assert writer.returncode == 0, errors
    return value_of(folder, "k")


def test_a_store_that_another_process_makes_meanwhile(tmp_path):
    """Two first runs at once: the second has looked at the folder before the first made the store, and gets the lock after."""
    made = tmp_path / "made"
    assert lethe("count", "-q", "--db", made, stdin=b"".join(b"id-%d\tk\n" % i for i in range(EVENTS))).returncode == 0
    values = (try_made_meanwhile(tmp_path / "store", made) for _ in range(40))
    assert next(value for value in values if value is not None) == EVENTS + 1
