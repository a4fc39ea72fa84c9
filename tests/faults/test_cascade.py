"""Goal:   a cascade whose process is killed at any moment, or whose disk loses what was not synced, opens to a state
that holds everything acknowledged, in order and exactly once; one that is checkpointed, to the checkpoint.

Method: cascade_driver inserts and says what is safe; it is killed after random times, and at chosen writes and
syncs, with and without a power cut; each next run looks at what the one before left."""

import os
import random
import shutil
import subprocess

import pytest

from conftest import BINARIES, PRELOAD, sized
from kills import cut_power

DRIVER = BINARIES / "tests/cascade_driver"
KEYS = 250000


def told(output, word):
    """The last number that was told under a word; 0 if none was."""
    numbers = [int(line.split()[1]) for line in output.splitlines()
               if line.startswith(word + " ") and len(line.split()) == 2]
    return numbers[-1] if numbers else 0


def start(folder, durability, keys, faults=None):
    environment = dict(os.environ)
    if faults is not None:
        environment["LD_PRELOAD"] = str(PRELOAD)
        environment["LETHE_FAULT_FOLDER"] = str(folder)
        environment.update(faults)
    return subprocess.Popen([DRIVER, folder, durability, str(keys)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=environment)


def complete_lines(output):
    """Without a last line that the kill cut."""
    text = output.decode()
    return text[:text.rfind("\n") + 1]


@pytest.mark.parametrize("durability", ["logged", "synced", "checkpointed"])
def test_killed_again_and_again(tmp_path, durability):
    draw = random.Random(durability)
    folder = tmp_path / "cascade"
    promised = kills = 0
    while kills < sized(3, 40, 600):
        process = start(folder, durability, KEYS)
        try:
            output, errors = process.communicate(timeout=0.02 + draw.random() * 0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            kills += 1
        text = complete_lines(output)
        assert "wrong" not in text, f"kill {kills}: {text[-300:]} {errors.decode()}"
        if "have" in text:
            assert told(text, "have") >= promised, f"kill {kills}"
            promised = max(told(text, word) for word in ("have", "kept", "safe")) \
                if durability != "checkpointed" else max(told(text, "have"), told(text, "safe"))
        if process.returncode == 0:
            shutil.rmtree(folder)
            promised = 0
    process = start(folder, durability, KEYS)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, output.decode()[-300:] + errors.decode()


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power-cut"])
@pytest.mark.parametrize("durability", ["logged", "synced", "checkpointed"])
def test_killed_at_each_write_and_sync(tmp_path, durability, power):
    keys = 120000
    folder, count = tmp_path / "cascade", tmp_path / "count"
    folder.mkdir()
    process = start(folder, durability, keys, {"LETHE_FAULT_COUNT": str(count)})
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output.decode()
    total = int(count.read_text())
    assert total > 100  # else the faults were never met
    for at in range(1, total + 1, max(1, total // sized(3, 15, total))):
        shutil.rmtree(folder)
        folder.mkdir()
        journal = tmp_path / "journal"
        journal.write_text("")
        process = start(folder, durability, keys,
                        {"LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "kill",
                         "LETHE_FAULT_JOURNAL": str(journal)})
        output, _ = process.communicate(timeout=300)
        text = complete_lines(output)
        assert "wrong" not in text
        promised = told(text, "safe") if power else max(told(text, "kept"), told(text, "safe"))
        if power:
            cut_power(folder, journal, spared=["claim"])
        process = start(folder, durability, keys)
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, f"at {at} of {total}: {output.decode()[-300:]} {errors.decode()}"
        assert told(output.decode(), "have") >= promised, f"at {at} of {total}"


@pytest.mark.parametrize("action", ["eio", "enospc"])
def test_a_disk_that_fails_for_good(tmp_path, action):
    """The driver ends with an error; what it had acknowledged is there afterwards."""
    folder = tmp_path / "cascade"
    for at in (5, 40, 90, 170, 260):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        process = start(folder, "logged", KEYS,
                        {"LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": action})
        output, _ = process.communicate(timeout=300)
        text = complete_lines(output)
        process = start(folder, "logged", KEYS)
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, output.decode()[-300:] + errors.decode()
        assert told(output.decode(), "have") >= max(told(text, "kept"), told(text, "safe"))
