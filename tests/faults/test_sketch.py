"""Goal:   a store that keeps a sketch says, after kills, power cuts and failing disks, exactly what it says after one clean run.

Method: as in test_kill.py and test_disk.py. A sketch's estimates depend on the store's secret, so each trial and its clean run
begin as copies of one empty store. The sketch is so small that most keys share counters, and any change that was made twice,
left out or made in another order shows in some estimate. Where a run goes on at its marks, some changes take away
more than was counted and are refused; read again from the start they would be tried again, so there all deltas are positive."""

import json
import random
import subprocess

import pytest

from conftest import sized
from kills import cut_power, operations_of_a_run, run_killed, words_of

KILLS = sized(5, 30, 500)
KEYS = [f"key-{number}" for number in range(1, 401)]
WAYS = [("resume", "--exact"), ("resume", "--error=1e-9"), ("from-start", "--error=1e-9"),
        ("pipe", "--exact")]
COUNTED = (0, 5)  # 5: some deltas were refused


@pytest.fixture
def empty(store):
    """A store that was made, and nothing counted into it."""
    code, _, errors = store.count("--sketch", "16KiB", "--top", "300", "--window", "1h", "--error",
                                  "1e-9")
    assert code == 0, errors
    return store


def state_of(store):
    """What there is to compare: all estimates, the most frequent keys, and what became of the events."""
    code, estimates, errors = store.lethe("get", "-q", "--bounds", *KEYS)
    assert code in (0, 1), errors
    code, top, errors = store.lethe("top", "-n", "300")
    assert code == 0, errors
    code, stat, errors = store.lethe("stat", "--json")
    assert code == 0, errors
    stat = json.loads(stat)
    return estimates, top, stat["sketch_total"], stat["applied"]


@pytest.mark.parametrize("way,mode", WAYS, ids=[f"{way}{mode}" for way, mode in WAYS])
def test_killed_again_and_again(empty, make_stream, tmp_path, way, mode):
    seed = 31 + WAYS.index((way, mode))
    draw = random.Random(seed)
    clean = empty.copy_to(tmp_path / "clean")
    kills, round_number = 0, 0
    while kills < KILLS / len(WAYS):
        round_number += 1
        stream = make_stream(1000 * seed + round_number, 12000, least=-5 if way == "resume" else 1)
        kills += run_killed(empty, words_of(way, mode, stream), draw, codes=COUNTED,
                            stdin=stream.path if way == "pipe" else None)
        code, _, errors = clean.count(mode, "--window", "1h", str(stream.path))
        assert code in COUNTED, errors
        assert state_of(empty) == state_of(clean), f"seed {seed}, round {round_number}"
    code, _, errors = empty.lethe("check")
    assert code == 0, errors


WORDS = ["--error=1e-9", "--window", "1h", "--batch", "200", "--sync", "always"]


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power-cut"])
def test_killed_at_each_write_and_sync(empty, make_stream, tmp_path, power):
    stream = make_stream(78, 3000)
    clean = empty.copy_to(tmp_path / "clean")
    total = operations_of_a_run(clean, stream, WORDS, tmp_path, {})
    expected = state_of(clean)
    step = max(1, total // sized(3, 15, total))
    for at in range(1, total + 1, step):
        trial = empty.copy_to(tmp_path / "trial")
        journal = tmp_path / "journal"
        journal.unlink(missing_ok=True)
        journal.touch()
        if power:  # what a copy holds was synced long ago
            with journal.open("w") as file:
                for path in trial.folder.rglob("*"):
                    if path.is_file():
                        file.write(f"{path.stat().st_ino} {path.stat().st_size}\n")
        faults = {"LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "kill",
                  "LETHE_FAULT_JOURNAL": str(journal)}
        code, _, _ = trial.count(*WORDS, str(stream.path), faults=faults)
        assert code in (*COUNTED, -9)
        if power:
            cut_power(trial.folder, journal)
        code, _, errors = trial.count(*WORDS, str(stream.path))
        assert code in COUNTED, f"at {at} of {total}: {errors}"
        assert state_of(trial) == expected, f"at {at} of {total}"


@pytest.mark.parametrize("action", ["eio", "enospc"])
def test_failed_operations(empty, make_stream, tmp_path, action):
    stream = make_stream(22, 3000)
    clean = empty.copy_to(tmp_path / "clean")
    total = operations_of_a_run(clean, stream, WORDS, tmp_path, {})
    expected = state_of(clean)
    step = max(1, total // sized(3, 15, total))
    for at in range(1, total + 1, step):
        trial = empty.copy_to(tmp_path / "trial")
        code, _, errors = trial.count(*WORDS, str(stream.path),
                                      faults={"LETHE_FAULT_AT": str(at),
                                              "LETHE_FAULT_ACTION": action})
        # A failure is what the exit status says, whatever else there was to say.
        assert code in (*COUNTED, 4) and (code == 4) == ("cannot" in errors), f"at {at} of {total}: {errors}"
        code, _, errors = trial.count(*WORDS, str(stream.path))
        assert code in COUNTED, f"at {at} of {total}: {errors}"
        assert state_of(trial) == expected, f"at {at} of {total}"


@pytest.mark.parametrize("how", ["truncate", "alter", "remove"])
def test_damage_is_noticed_or_harmless(empty, make_stream, tmp_path, how):
    """Once closed, and once killed: a damaged file is noticed, or all estimates are as they were."""
    draw = random.Random(9)
    stream = make_stream(55, 4000)
    code, _, errors = empty.count(*WORDS, str(stream.path))
    assert code in COUNTED, errors
    more = make_stream(56, 20000)
    process = empty.start(*WORDS, str(more.path))
    try:
        process.communicate(timeout=0.5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    expected = state_of(empty)
    names = [path.relative_to(empty.folder) for path in sorted(empty.folder.rglob("*"))
             if path.is_file() and path.name not in ("LOCK", "lethe.lock", "acknowledged")]
    for name in names * (3 if how == "alter" else 1):
        trial = empty.copy_to(tmp_path / "trial")
        path = trial.folder / name
        content = bytearray(path.read_bytes())
        if how == "remove":
            path.unlink()
        elif len(content) == 0:
            continue
        elif how == "truncate":
            path.write_bytes(content[:draw.randrange(len(content))])
        else:
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            path.write_bytes(content)
        code, _, errors = trial.lethe("check")
        assert code in (0, 3), f"{name}: {code} {errors}"
        if code == 0:
            assert state_of(trial) == expected, name
