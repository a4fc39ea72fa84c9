"""Goal:   what a failed sync has lost is never taken for safe by the next process. Until the machine is started again it can be
        read, and syncs of the file find nothing to write; so whatever relies on it writes it again first.

Method: the n-th sync of a file fails once, and lethe ends; it runs again, to its end; then the power is cut, and
only what was synced, less what was lost, is there: see preload_shadow.c. Then everything is as it was told."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
import shadow
from conftest import BINARIES, PRELOAD, sized

MEMORY = pathlib.Path("/dev/shm")
ENVIRONMENT = 4


@pytest.fixture
def place():
    """A folder whose inodes are not used again."""
    if not os.access(MEMORY, os.W_OK):
        pytest.skip("there is no /dev/shm to write to")
    base = pathlib.Path(tempfile.mkdtemp(prefix="lethe-lost-", dir=MEMORY))
    (base / "place").mkdir()
    yield base / "place"
    shutil.rmtree(base)


def lethe(*words, faults=None):
    result = subprocess.run([BINARIES / "lethe", *map(str, words)], capture_output=True, check=False, timeout=100,
                            env={**os.environ, **(faults or {})}, stdin=subprocess.DEVNULL)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def lose(place, name, words):
    """One sync after the other of the files with that name in their path is the one that fails; yields after each power cut."""
    for at in range(1, sized(4, 20, 200)):
        shutil.rmtree(place)
        place.mkdir()
        faults = {"LD_PRELOAD": str(PRELOAD), "LETHE_FAULT_FOLDER": str(place),
                  **shadow.begin(place, place.parent / "shadow")}
        code, _, errors = lethe(*words, faults={**faults, "LETHE_FAULT_ON": "sync", "LETHE_FAULT_NAME": name,
                                                "LETHE_FAULT_ACTION": "eio", "LETHE_FAULT_AT": str(at),
                                                "LETHE_FAULT_TIMES": "1"})
        if code in (0, 5):  # there are not as many
            assert at > 1
            return
        assert code == ENVIRONMENT, errors
        code, _, errors = lethe(*words, faults=faults)
        assert code in (0, 5), errors
        shadow.cut_power(place, place.parent / "shadow")
        yield at


@pytest.mark.parametrize("mode", [[], ["--forever", "--ledger-memory", "4MiB", "--ledger-capacity", "1M"]], ids=["plain", "forever"])
def test_of_a_store(mode, place):
    """RocksDB reads its log from the system's memory too, and writes it to tables, synced, before it is open."""
    events = place.parent / "events"
    events.write_text("".join(f"id-{number}\tkey-{number % 7}\t1\n" for number in range(400)))
    words = ["count", "-q", "--db", place / "store", "--batch", "50", "--sync", "always", *mode, events]
    for at in lose(place, ".log", words):
        code, output, errors = lethe("list", "--db", place / "store")
        assert code == 0, f"at {at}: {errors}"
        assert sum(int(line.split("\t")[1]) for line in output.splitlines()) == 400, f"at {at}"
        assert lethe("check", "--db", place / "store")[0] == 0
        code, _, errors = lethe(*words)
        assert code == 0, errors
        assert lethe("list", "--db", place / "store")[1] == output, f"at {at}"


def test_of_a_backup_that_was_killed(place):
    """What it has copied is there, and its name may not be on disk: the next backup, which finds it, must not rely on it."""
    events, count = place.parent / "events", place.parent / "count"
    events.write_text("".join(f"id-{number}\tkey-{number % 7}\t1\n" for number in range(60)))
    faults = {"LD_PRELOAD": str(PRELOAD), "LETHE_FAULT_FOLDER": str(place), "LETHE_FAULT_ON": "sync"}
    words = ["backup", "-q", "--db", place / "store", "--to", place / "backups"]
    assert lethe("count", "-q", "--db", place / "store", events)[0] == 0
    shutil.copytree(place / "store", place.parent / "store")
    assert lethe(*words, faults={**faults, "LETHE_FAULT_COUNT": str(count)})[0] == 0
    total = int(count.read_text())
    for at in range(total, 0, -1)[:sized(5, total, total)]:
        shutil.rmtree(place)
        shutil.copytree(place.parent / "store", place / "store")
        synced = shadow.begin(place, place.parent / "shadow")
        code, _, errors = lethe(*words, faults={**faults, **synced, "LETHE_FAULT_ACTION": "kill", "LETHE_FAULT_AT": str(at)})
        assert code == -9, errors
        code, _, errors = lethe(*words, faults={**faults, **synced})
        assert code == 0, errors
        shadow.cut_power(place, place.parent / "shadow")
        code, _, errors = lethe("restore", "-q", "--from", place / "backups", "--db", place / "restored")
        assert code == 0, f"at {at}: {errors}"
        code, output, errors = lethe("list", "--db", place / "restored")
        assert sum(int(line.split("\t")[1]) for line in output.splitlines()) == 60, f"at {at}: {errors}"


def test_of_the_name_of_what_is_restored(place):
    """All of it is in its place when the last sync fails: what is there is a store, and not what a restore has left of one."""
    events, count = place.parent / "events", place.parent / "count"
    events.write_text("".join(f"id-{number}\tkey-{number % 7}\t1\n" for number in range(60)))
    mode = ["--forever", "--ledger-memory", "4MiB", "--ledger-capacity", "1M"]
    assert lethe("count", "-q", "--db", place / "store", *mode, events)[0] == 0
    assert lethe("backup", "-q", "--db", place / "store", "--to", place / "backups")[0] == 0
    words = ["restore", "-q", "--from", place / "backups", "--db"]
    faults = {"LD_PRELOAD": str(PRELOAD), "LETHE_FAULT_FOLDER": str(place), "LETHE_FAULT_ON": "sync"}
    assert lethe(*words, place / "first", faults={**faults, "LETHE_FAULT_COUNT": str(count)})[0] == 0
    code, _, errors = lethe(*words, place / "second", faults={**faults, "LETHE_FAULT_ACTION": "eio", "LETHE_FAULT_TIMES": "1",
                                                              "LETHE_FAULT_AT": count.read_text()})
    assert code == ENVIRONMENT, errors
    assert sorted(path.name for path in (place / "second").iterdir()) == ["acknowledged", "data", "ledger"]
    code, _, errors = lethe("check", "--db", place / "second")
    assert code == 0, errors
    assert lethe("count", "-q", "--db", place / "second", events)[0] == 0
    assert lethe("list", "--db", place / "second")[1] == lethe("list", "--db", place / "store")[1]


def test_of_a_list_of_late_events(place):
    events = place.parent / "events"
    late = [f"id-{number}-late\tk\t{1600000000000 - number}\n" for number in range(40)]
    rows = [f"id-{number}\tk\t{1600000100000 + 1000 * number}\n" for number in range(400)]
    events.write_text("".join(row + (late[i // 10] if i % 10 == 9 else "") for i, row in enumerate(rows)))
    words = ["count", "-q", "--db", place / "store", "--window", "1m", "--batch", "50", "--sync", "always",
             "--fields", "id=1,key=2,time=3", "--late-out", place / "late", events]
    for at in lose(place, "late", words):
        assert (place / "late").read_text() == "".join(late), f"at {at}"
        assert lethe(*words)[0] == 0
        assert (place / "late").read_text() == "".join(late), f"at {at}"


@pytest.mark.parametrize("name", ["/out", "/log-"], ids=["output", "log"])
def test_of_dedup(name, place):
    lines = place.parent / "lines"
    lines.write_text("".join(f"line {number % 3000}\n" for number in range(5000)))
    words = ["dedup", "-q", "--db", place / "db", "--memory", "4MiB", "--out", place / "out", lines]
    for at in lose(place, name, words):
        assert (place / "out").read_text() == "".join(f"line {number}\n" for number in range(3000)), f"at {at}"
        assert lethe(*words)[0] == 0
        assert (place / "out").read_text().count("\n") == 3000, f"at {at}"
