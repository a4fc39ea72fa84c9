"""Goal:   the list of --late-out has exactly the events that were passed over as late, each once, whatever killed lethe in the
        middle, and what others added to it.

Method: event-time streams with late events among them, killed at each write and sync of store and list, also with
what was not synced lost; then run again."""

import os
import random

import pytest
from conftest import Store, sized
from kills import cut_power

START_MS = 1600000000000
WORDS = ["--window", "1m", "--error", "1e-9", "--batch", "50", "--sync", "always", "--fields", "id=1,key=2,time=3"]


def make_events(path):
    """Every seventh event is late, some of them twice; returns those."""
    lines, late = [], []
    for number in range(1000):
        at = START_MS + number * 1000
        line = f"id-{number}\tk\t{at}\n"
        if number > 100 and number % 7 == 0:
            line = f"id-{number % 77}-late\tk\t{at - 90000 - number % 77}\n"
            late.append(line)
        lines.append(line)
    path.write_text("".join(lines))
    return late


@pytest.fixture
def place(tmp_path):
    """A store, an input and a list in one folder, which faults are made in."""
    place = tmp_path / "place"
    place.mkdir()
    return place


def run(place, faults=None):
    store = Store(place / "store")
    faults = faults and {**faults, "LETHE_FAULT_FOLDER": str(place)}
    return store.count(*WORDS, "--late-out", str(place / "late"), str(place.parent / "events"), faults=faults)


@pytest.mark.parametrize("way", ["kill", "power-cut"])
def test_killed_at_each_write_and_sync(way, place, tmp_path):
    late = make_events(tmp_path / "events")
    count = tmp_path / "count"
    code, summary, errors = run(place, {"LETHE_FAULT_COUNT": str(count)})
    assert code == 5 and summary["late"] == len(late), errors
    assert (place / "late").read_text() == "".join(late)
    total = int(count.read_text())
    assert total > 40, "the library of faults does not see what lethe writes"
    # Not at equal distances, which might always meet the same of a batch's writes.
    for at in sorted(random.Random(7).sample(range(1, total + 1), min(total, sized(12, 40, total)))):
        trial = tmp_path / f"trial-{at}"
        trial.mkdir()
        journal = tmp_path / "journal"
        journal.write_text("")
        code, _, _ = run(trial, {"LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "kill",
                                 "LETHE_FAULT_JOURNAL": str(journal)})
        assert code in (5, -9)
        if way == "power-cut":
            cut_power(trial, journal)
        elif code == -9 and (trial / "late").exists():
            with open(trial / "late", "a", encoding="ascii") as file:
                file.write("added by others\n")
        code, _, errors = run(trial)
        assert code in (0, 5), f"at {at} of {total}: {errors}"
        found = (trial / "late").read_text().splitlines(keepends=True)
        assert [line for line in found if line != "added by others\n"] == late, f"at {at} of {total}"
        code, _, errors = run(trial)
        assert code == 0 and len((trial / "late").read_text().splitlines()) == len(found), errors


def test_lists_of_two_stores(place, tmp_path):
    """They share a list; each adds its own, and nobody's are lost."""
    late = make_events(tmp_path / "events")
    for name in ("store", "other", "third"):
        if name != "store":
            os.rename(place / "store", place / f"before {name}")
        code, _, errors = run(place)
        assert code == 5, errors
    assert (place / "late").read_text() == "".join(late * 3)
