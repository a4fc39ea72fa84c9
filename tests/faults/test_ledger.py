"""Goal:   what is kept for ever is kept: a store with a ledger recognises duplicates that come after the window, over kills,
        backups and restores, and refuses a ledger that is missing, damaged or of another state.

Method: `lethe count --forever` with the shortest window, killed again and again and fed from the start of its input
        each time, with pauses longer than the window between: only the ledger can recognise duplicates then."""

import os
import random
import shutil
import subprocess
import time

import pytest

from conftest import sized
from kills import run_killed

KILLS = sized(6, 40, 300)
MODE = ["--forever", "--error", "1e-9", "--window", "1s", "--ledger-memory", "8MiB", "--ledger-capacity", "1M"]
DAMAGED = 3


def count(store, *words):
    process = store.start(*MODE, *words)
    output, errors = process.communicate(timeout=300)
    return process.returncode, output, errors.decode()


def test_killed_again_and_again(store, make_stream):
    draw = random.Random(3)
    kills, expected, number = 0, {}, 0
    while kills < KILLS:
        number += 1
        stream = make_stream(number, 12000)
        words = [*MODE, "--batch", "300", "--from-start", str(stream.path)]
        kills += run_killed(store, words, draw, waits=(0.1, 1.0),
                            after_kill=lambda: time.sleep(1.6) if draw.random() < 0.3 else None)
        for key, value in stream.truth.items():
            expected[key] = expected.get(key, 0) + value
        assert store.totals() == expected, f"round {number}, kill {kills}"
    time.sleep(1.6)
    assert count(store, "--from-start", str(stream.path))[0] == 0
    assert store.totals() == expected
    code, _, errors = store.lethe("check")
    assert code == 0, errors


def test_a_sketch_beside_the_ledger(store, make_stream):
    """Killed while it counts into a sketch, and fed again when the window has forgotten: the ledger has not."""
    draw, words = random.Random(5), ["--sketch", "4MiB", "--top", "400", "--batch", "300"]
    stream = make_stream(9, 12000, least=1)
    for kill in range(12):
        process = store.start(*MODE, *words, "--from-start", str(stream.path))
        try:
            process.communicate(timeout=draw.random() * 0.4)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        if kill % 4 == 3:
            time.sleep(1.6)
    for _ in range(2):
        assert count(store, *words, "--from-start", str(stream.path))[0] == 0
        code, output, errors = store.lethe("get", *stream.truth)
        assert code == 0, errors
        found = dict((key, int(value)) for key, value in (line.split("\t") for line in output.splitlines()))
        assert found == dict(stream.truth)  # in so much memory no two keys collide
        time.sleep(2.5)
    code, _, errors = store.lethe("check")
    assert code == 0, errors


@pytest.fixture
def filled(store, make_stream):
    """A store whose log is dropped, so that the ledger alone knows the ids of the first stream."""
    first, second = make_stream(1, 3000), make_stream(2, 300)
    assert count(store, str(first.path))[0] == 0
    time.sleep(2.5)
    assert count(store, str(second.path))[0] == 0
    time.sleep(1.5)
    assert count(store, str(second.path))[0] == 0
    return first


def test_backups_have_the_ledger(store, filled, tmp_path):
    before = store.totals()
    assert store.lethe("backup", "--to", tmp_path / "backups")[0] == 0
    assert store.lethe("backup", "--to", tmp_path / "backups")[0] == 0
    assert len([name for name in os.listdir(tmp_path / "backups") if name.startswith("backup-")]) == 2
    shutil.rmtree(store.folder)
    assert store.lethe("restore", "--from", tmp_path / "backups")[0] == 0
    assert count(store, "--from-start", str(filled.path))[0] == 0
    assert store.totals() == before


def test_a_ledger_that_is_not_the_right_one_is_refused(store, filled, make_stream, tmp_path):
    ledger = store.folder / "ledger"
    shutil.copytree(ledger, tmp_path / "right")
    before = store.totals()

    def refused():
        code, _, errors = count(store, "--from-start", str(filled.path))
        assert code == DAMAGED and "ledger" in errors and "restore a backup" in errors, errors
        code, _, errors = store.lethe("check")
        assert code == DAMAGED and "ledger" in str(errors)

    shutil.rmtree(ledger)
    refused()
    # One that was made for nothing yet: it does not cover what was dropped from the log.
    shutil.copytree(store.folder, tmp_path / "other-store")
    other = type(store)(tmp_path / "empty-store")
    stream = make_stream(5, 10)
    assert count(other, str(stream.path))[0] == 0
    shutil.copytree(other.folder / "ledger", ledger)
    code, _, errors = count(store, "--from-start", str(filled.path))
    assert code == DAMAGED and "ledger" in errors, errors
    shutil.rmtree(ledger)
    shutil.copytree(tmp_path / "right", ledger)
    manifest = ledger / "manifest"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:-7])
    code, _, errors = count(store, "--from-start", str(filled.path))
    assert code == DAMAGED and "ledger" in errors, errors
    manifest.write_bytes(whole)
    assert count(store, "--from-start", str(filled.path))[0] == 0
    assert store.totals() == before


def test_options_that_do_not_fit(store, make_stream):
    stream = make_stream(1, 100)
    code, _, errors = count(store, "--exact", str(stream.path))
    assert code == 2 and "--forever cannot be used with --exact" in errors
    assert count(store, str(stream.path))[0] == 0
    process = store.start("--exact", str(stream.path))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2 and b"keeps ids for ever" in errors
