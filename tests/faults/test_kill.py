"""Goal:   a process that is killed at any moment, and run again, gives the exact totals.

Method: `lethe count` is killed (SIGKILL) after random times, again and again, until one run gets to its end; then
every counter must hold the truth. It is run again with resuming, from the start of its input, and from a pipe;
exact, and with a window that errs once in a billion. A part of the runs is killed at chosen writes and syncs,
or loses by then everything that was not synced, as in a power cut."""

import os
import random
import subprocess
import time

import pytest

from conftest import sized
from kills import cut_power, operations_of_a_run, run_killed, words_of

KILLS = sized(12, 100, 1500)
WAYS = [("resume", "--exact"), ("resume", "--error=1e-9"), ("from-start", "--exact"),
        ("from-start", "--error=1e-9"), ("pipe", "--exact"), ("pipe", "--error=1e-9")]


@pytest.mark.parametrize("way,mode", WAYS, ids=[f"{way}{mode}" for way, mode in WAYS])
def test_killed_again_and_again(store, make_stream, way, mode):
    seed = 1 + WAYS.index((way, mode))
    draw = random.Random(seed)
    kills, round_number = 0, 0
    while kills < KILLS / len(WAYS):
        round_number += 1
        stream = make_stream(1000 * seed + round_number, 12000)
        before = store.totals() if round_number > 1 else {}
        kills += run_killed(store, words_of(way, mode, stream), draw,
                            stdin=stream.path if way == "pipe" else None)
        expected = dict(before)
        for key, value in stream.truth.items():
            expected[key] = expected.get(key, 0) + value
        assert store.totals() == expected, f"seed {seed}, round {round_number}, kill {kills}"
    code, _, errors = store.lethe("check")
    assert code == 0, errors


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power-cut"])
@pytest.mark.parametrize("mode", ["--exact", "--error=1e-9", "--forever --error=1e-9 --ledger-memory=8MiB"])
def test_killed_at_each_write_and_sync(store, make_stream, tmp_path, mode, power):
    stream = make_stream(77, 3000)
    words = [*mode.split(), "--window", "1h", "--batch", "200", "--sync", "always"]
    trial = store.copy_to(tmp_path / "trial")
    total = operations_of_a_run(trial, stream, words, tmp_path, {})
    step = max(1, total // sized(4, 15, total))
    for at in range(1, total + 1, step):
        trial = store.copy_to(tmp_path / "trial")
        journal = tmp_path / "journal"
        journal.unlink(missing_ok=True)
        journal.touch()
        faults = {"LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "kill",
                  "LETHE_FAULT_JOURNAL": str(journal)}
        code, _, _ = trial.count(*words, str(stream.path), faults=faults)
        assert code in (0, -9)
        if power:
            cut_power(trial.folder, journal)
        code, _, errors = trial.count(*words, str(stream.path))
        assert code == 0, f"at {at} of {total}: {errors}"
        assert trial.totals() == dict(stream.truth), f"at {at} of {total}"


def test_a_stop_by_signal_commits(store, make_stream):
    stream = make_stream(5, 40000)
    process = store.start("--batch", "100", "--sync", "always", str(stream.path))
    time.sleep(0.5)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (0, 143), errors.decode()
    code, summary, errors = store.count(str(stream.path))
    assert code == 0, errors
    assert store.totals() == dict(stream.truth)
