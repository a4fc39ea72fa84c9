"""Goal:   events that were skipped are reported, whatever ends the run that skipped them: by that run, or by the next one.

Method: a file of each kind of skipped event, and two merged files, are counted by a run that is killed, or cannot write,
at each write and sync of the store, also with what was not synced lost. Then the same command twice: the first reports
unless the run before has done so, the second has nothing to report."""

import subprocess

import pytest
from conftest import BINARIES, Store, sized
from kills import cut_power

START_MS = 1600000000000
PLAIN = ["--batch", "20", "--sync", "always"]
TIMED = [*PLAIN, "--window", "1h", "--fields", "id=1,key=2,delta=3,time=4"]


def write(path, first, timed, count=200):
    """A file whose first event may be skipped, and no other."""
    lines = [first] if first else []
    for number in range(count):
        lines.append(f"{path.name}-{number}\tkey\t1" + (f"\t{START_MS + 1000 * number}" if timed else ""))
    path.write_text("".join(line + "\n" for line in lines))
    return str(path)


def make(kind, folder):
    """Options and files; one event is skipped."""
    one, two = folder / "one", folder / "two"
    if kind == "unreadable":
        return [*PLAIN, write(one, "bad\tkey\tfive", False)]
    if kind == "overflow":
        most = 2**63 - 1
        return [*PLAIN, write(one, f"a\tother\t{most}\nb\tother\t1", False)]
    if kind == "future":
        return [*TIMED, write(one, f"bad\tkey\t1\t{START_MS * 3}", True)]
    return [*TIMED, write(one, None, True), write(two, f"bad\tkey\tfive\t{START_MS}", True)]


def new_store(folder):
    folder.mkdir()
    return Store(folder)


def judge(store, words, told):
    """told: what the run that was cut off has said."""
    code, summary, errors = store.count(*words)
    assert code in (0, 5), errors
    cut_off = summary["unreported"]
    if cut_off > 0:
        assert cut_off == 1 and code == 5
        assert "1 event was skipped, neither counted nor a duplicate, by an earlier run" in errors
        assert "--from-start" in errors
    assert code == 5 or "1 event was skipped" in told, errors
    again, summary, errors = store.count(*words)
    assert (again, summary["events"], summary["unreported"]) == (0, 0, 0), errors
    return cut_off > 0


@pytest.mark.parametrize("kind, way", [("unreadable", "fail"), ("unreadable", "power-cut"), ("overflow", "kill"),
                                       ("future", "kill"), ("future", "fail"), ("merged", "kill")])
def test_cut_off_at_each_write_and_sync(kind, way, tmp_path):
    words = make(kind, tmp_path)
    count, journal = tmp_path / "count", tmp_path / "journal"
    whole = new_store(tmp_path / "whole")
    code, _, errors = whole.count(*words, faults={"LETHE_FAULT_COUNT": str(count)})
    assert code == 5 and "1 event was skipped" in errors, errors
    assert not judge(whole, words, errors)
    total = int(count.read_text())
    assert total > 20, "the library of faults does not see what lethe writes"
    reported = 0
    for at in range(1, total + 1, max(1, total // sized(4, 24, total))):
        store = new_store(tmp_path / f"trial-{at}")
        journal.write_text("")
        _, _, told = store.count(*words, faults={
            "LETHE_FAULT_AT": str(at), "LETHE_FAULT_JOURNAL": str(journal),
            "LETHE_FAULT_ACTION": "eio" if way == "fail" else "kill"})
        if way == "power-cut":
            cut_power(store.folder, journal)
        reported += judge(store, words, told)
    assert reported > 0


def test_reported_by_a_run_of_another_file(tmp_path):
    """What is not reported belongs to the store: a run over other files reports it as well, and names the file."""
    words = make("unreadable", tmp_path)
    count = tmp_path / "count"
    new_store(tmp_path / "whole").count(*words, faults={"LETHE_FAULT_COUNT": str(count)})
    store = new_store(tmp_path / "store")
    store.count(*words, faults={"LETHE_FAULT_AT": str(int(count.read_text()) * 2 // 3), "LETHE_FAULT_ACTION": "kill"})
    command = [BINARIES / "lethe", "count", "--db", store.folder, "--quiet"]
    result = subprocess.run(command, input="other\tkey\t1\n", capture_output=True, text=True, check=False)
    assert result.returncode == 5 and f"report it, in {tmp_path / 'one'};" in result.stderr
    result = subprocess.run(command, input="another\tkey\t1\n", capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
