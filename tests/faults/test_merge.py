"""Goal:   files that are merged by time give exact totals whatever killed lethe in the middle: the marks of all of them are
        in the commit of the events.

Method: three logs of the same hours, one of them compressed, with duplicates and late events among them, killed at each
write and sync of the store, also with what was not synced lost; then run again."""

import collections
import gzip
import random

import pytest
from conftest import Store, sized
from kills import cut_power

START_MS = 1600000000000
WORDS = ["--window", "1m", "--error", "1e-9", "--batch", "40", "--sync", "always", "--fields", "id=1,key=2,time=3"]


def make_files(folder):
    """Each event is in one log or, sent again, in two. Returns the paths and the right totals."""
    draw = random.Random(1)
    logs, truth = [[], [], []], collections.Counter()
    for number in range(900):
        at = START_MS + number * 500
        log = draw.randrange(3)
        line = f"id-{number}\tkey-{number % 7}\t{at}\n"
        logs[log].append(line)
        truth[f"key-{number % 7}"] += 1
        if draw.random() < 0.1:
            logs[draw.randrange(3)].append(line)
        if number > 300 and draw.random() < 0.02:  # later than any other file makes it
            logs[log].append(f"late-{number}\tkey-0\t{at - 70000}\n")
    paths = [folder / name for name in ("a", "b", "c.gz")]
    for path, lines in zip(paths, logs):
        data = "".join(lines).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    late = [line for lines in logs for line in lines if line.startswith("late")]
    return [str(path) for path in paths], dict(truth), late


def run(place, paths, how, faults=None):
    store = Store(place / "store")
    faults = faults and {**faults, "LETHE_FAULT_FOLDER": str(place)}
    words = ["--late-out", str(place / "late")] if how == "skip" else ["--late", "count"]
    return store.count(*WORDS, *words, *paths, faults=faults)


@pytest.mark.parametrize("how", ["skip", "count"])
@pytest.mark.parametrize("way", ["kill", "power-cut"])
def test_killed_at_each_write_and_sync(way, how, tmp_path):
    paths, truth, late = make_files(tmp_path)
    if how == "count":
        truth["key-0"] += len(late)
    place, count = tmp_path / "place", tmp_path / "count"
    place.mkdir()
    code, summary, errors = run(place, paths, how, {"LETHE_FAULT_COUNT": str(count)})
    assert code == (5 if how == "skip" else 0), errors
    assert summary["late"] == (len(late) if how == "skip" else 0) and summary["duplicates"] > 20
    assert summary["applied_late"] == (0 if how == "skip" else len(late))
    assert Store(place / "store").totals() == truth
    total = int(count.read_text())
    assert total > 40, "the library of faults does not see what lethe writes"
    for at in range(1, total + 1, max(1, total // sized(5, 24, total))):
        trial = tmp_path / f"trial-{at}"
        trial.mkdir()
        journal = tmp_path / "journal"
        journal.write_text("")
        code, _, _ = run(trial, paths, how, {"LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "kill",
                                             "LETHE_FAULT_JOURNAL": str(journal)})
        assert code in (0, 5, -9)
        if way == "power-cut":
            cut_power(trial, journal)
        code, _, errors = run(trial, paths, how)
        assert code in (0, 5), f"at {at} of {total}: {errors}"
        assert Store(trial / "store").totals() == truth, f"at {at} of {total}"
        if how == "skip":
            found = (trial / "late").read_text().splitlines(keepends=True)
            assert sorted(found) == sorted(late), f"at {at} of {total}"
        code, summary, errors = run(trial, paths, how)
        assert code == 0 and summary["events"] == 0, errors
