"""Goal:   a hold is placed and settled as a whole or not at all, the counter and the hold together, whatever is killed and when;
        and whoever sends the command again gets each once.
Method: `lethe hold` is killed at chosen writes and syncs, or loses what was not synced, as in a power cut; then the store is
        checked, and the same command is sent again."""

import json
import os
import subprocess

import pytest

from conftest import BINARIES, PRELOAD, sized
from kills import cut_power

LIMIT = 100


def hold(store, command, *words, faults=None):
    """The exit code, and the answer if there is one."""
    environment = dict(os.environ)
    if faults is not None:
        environment.update({"LD_PRELOAD": str(PRELOAD), "LETHE_FAULT_FOLDER": str(store.folder), **faults})
    result = subprocess.run([BINARIES / "lethe", "hold", command, "--db", store.folder, "--json", *words], env=environment,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120)
    return result.returncode, json.loads(result.stdout) if result.stdout else None


WORDS = {"place": ["place", "--limit", str(LIMIT), "--lease", "1h", "job", "k", "60"], "settle": ["settle", "job", "25"],
         "release": ["release", "job"]}
ANSWERS = {"place": "held", "settle": "settled", "release": "released"}


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power-cut"])
@pytest.mark.parametrize("command", ["place", "settle", "release"])
def test_killed_at_each_write_and_sync(store, tmp_path, command, power):
    assert hold(store, "place", "--limit", str(LIMIT), "--lease", "1h", "other", "k", "10")[1]["answer"] == "held"
    if command != "place":
        assert hold(store, *WORDS["place"])[1]["answer"] == "held"
    count = tmp_path / "count"
    assert hold(store.copy_to(tmp_path / "trial"), *WORDS[command], faults={"LETHE_FAULT_COUNT": str(count)})[0] == 0
    total = int(count.read_text())
    assert total > 5
    for at in range(1, total + 1, max(1, total // sized(4, 18, total))):
        trial = store.copy_to(tmp_path / "trial")
        journal = tmp_path / "journal"
        # What was there before is safe.
        files = [path.stat() for path in trial.folder.rglob("*") if path.is_file()]
        journal.write_text("".join(f"{file.st_ino} {file.st_size}\n" for file in files))
        code, answer = hold(trial, *WORDS[command], faults={"LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "kill",
                                                            "LETHE_FAULT_JOURNAL": str(journal)})
        assert code in (0, -9)
        if power:
            cut_power(trial.folder, journal)
        code, _, errors = trial.lethe("check")
        assert code == 0, errors
        again = hold(trial, *WORDS[command])[1]
        assert again["answer"] == "duplicate" if answer is not None else again["answer"] in ("duplicate", ANSWERS[command])
        # 10 of the other one; and of this one 60 that are held, or 25 that were counted, or nothing.
        taken = {"place": 60, "settle": 25, "release": 0}[command]
        left = LIMIT - 10 - taken
        refused = hold(trial, "place", "--limit", str(LIMIT), "more", "k", str(left + 1))[1]
        assert (refused["answer"], refused["left"]) == ("limited", left)
        assert refused["value"] == (25 if command == "settle" else 0)
        assert hold(trial, "place", "--limit", str(LIMIT), "more", "k", str(left))[1]["answer"] == "held"
