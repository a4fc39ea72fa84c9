"""Goal:   a backup that is made while a store is being written is a state that the store had: it has all that was
        acknowledged before, nothing that was not submitted, the first events and no others, and the marks that go with
        them. That holds for every mode of a store and for what `lethe dedup` remembers, whatever is killed meanwhile.
        Older backups can be restored, damaged ones are refused, and pruning never takes the last sound one.

Method: real writers, some of them stopped in the middle of anything while the backup is made; the restored store
        shows the first n events of the input, and counting the same input again completes it."""

import collections
import json
import os
import random
import shutil
import signal
import subprocess
import tarfile
import time

import pytest

from conftest import BINARIES, PRELOAD, SOURCE, sized

DAMAGED, USAGE, ENVIRONMENT = 3, 2, 4
EVENTS, KEYS = sized(25000, 100000, 600000), 37
MODES = {"plain": [], "event time": ["--fields", "id=1,key=2,delta=3,time=4"], "exact": ["--exact"],
         "payloads": ["--check-payload"], "forever": ["--forever", "--window", "1s", "--ledger-memory", "4MiB"],
         "sketch": ["--sketch", "64KiB", "--top", "100"], "forgetful": ["--window-kind", "forgetful", "--window", "1h"]}


def run(*words, code=0, environment=None):
    result = subprocess.run([BINARIES / "lethe", *map(str, words)], capture_output=True, check=False, timeout=300,
                            env=None if environment is None else {**os.environ, **environment})
    assert code is None or result.returncode == code, (words, result)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def make_events(path, has_time=False):
    times = (f"\t{1_600_000_000_000 + number // 100}" if has_time else "" for number in range(EVENTS))
    path.write_text("".join(f"id-{number}\tkey-{number % KEYS}\t1{moment}\n" for number, moment in enumerate(times)))
    return path


def totals_of(folder):
    lines = run("top", "--db", folder, "-n", 2 * KEYS)[1].splitlines()
    return {key: int(value) for key, value in (line.split("\t")[:2] for line in lines)}


def expect_prefix(totals, least, most):
    """The totals of the first n events, for one n between the two."""
    count = sum(totals.values())
    assert least <= count <= most, (least, count, most)
    assert totals == collections.Counter(f"key-{number % KEYS}" for number in range(count)), count
    return count


def start(words, environment=None):
    return subprocess.Popen([BINARIES / "lethe", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env=None if environment is None else {**os.environ, **environment})


def wait_for(process, condition):
    """Until the condition holds, or the process has ended."""
    deadline = time.monotonic() + 200
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def visible(folder):
    """What a reader sees: later views have at least that."""
    code, output, _ = run("stat", "--json", "--db", folder, code=None)
    return json.loads(output)["applied"] if code == 0 else 0


@pytest.mark.parametrize("mode", MODES)
def test_beside_a_writer(mode, tmp_path):
    events, store, backups = make_events(tmp_path / "events", mode == "event time"), tmp_path / "store", tmp_path / "backups"
    draw, beside, made = random.Random(mode), 0, {}
    words = ["count", "-q", "--db", store, *MODES[mode], "--batch", 300, "--sync", "always"]
    # A disk whose syncs take no time would let the writer end before there is a second backup.
    process = start([*words, events], {"LD_PRELOAD": PRELOAD, "LETHE_FAULT_SYNC_MS": "5"})
    wait_for(process, (store / "data").exists)
    while process.poll() is None and len(made) < sized(4, 12, 60):
        is_stopped = beside < 3
        if is_stopped:
            process.send_signal(signal.SIGSTOP)
        seen = visible(store)
        if seen == 0:  # it has just been made
            process.send_signal(signal.SIGCONT)
            time.sleep(0.005)
            continue
        if draw.random() < 0.3:
            assert "is sound" in run("check", "--db", store)[1]
        backup = json.loads(run("backup", "--json", "--db", store, "--to", backups)[1])
        assert backup["kind"] == "store"
        beside += process.poll() is None
        made[backup["number"]] = seen
        if is_stopped:
            process.send_signal(signal.SIGCONT)
            time.sleep(draw.random() * 0.02)
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == 0, errors
    assert beside >= 2
    numbers = [json.loads(line)["number"] for line in run("backup", "--list", "--json", "--to", backups)[1].splitlines()]
    assert numbers == list(made)
    before = 0
    for number in sorted({*draw.sample(numbers, min(sized(1, 3, 6), len(numbers))), numbers[-1]}):
        restored = tmp_path / f"restored-{number}"
        run("restore", "-q", "--from", backups, "--number", number, "--db", restored)
        count = expect_prefix(totals_of(restored), max(made[number], before), EVENTS)
        assert visible(restored) == count
        before = count
        run("check", "--db", restored)
        # With its marks: the same input continues where it was, and all of it again changes nothing.
        words[words.index("--db") + 1] = restored
        run(*words, events)
        assert expect_prefix(totals_of(restored), EVENTS, EVENTS)
        run(*words, "--from-start", events)
        assert expect_prefix(totals_of(restored), EVENTS, EVENTS)


def test_a_writer_that_is_killed_meanwhile(tmp_path):
    events, store, backups = make_events(tmp_path / "events"), tmp_path / "store", tmp_path / "backups"
    draw, seen = random.Random(5), 0
    for _ in range(sized(4, 15, 300)):
        process = start(["count", "-q", "--db", store, "--forever", "--ledger-memory", "4MiB", "--batch", 500, "--sync",
                         "always", events])
        wait_for(process, lambda: visible(store) > seen)
        seen = visible(store)
        backup = start(["backup", "-q", "--db", store, "--to", backups, "--keep", 2])
        time.sleep(draw.random() * 0.2)
        (process if draw.random() < 0.6 else backup).kill()
        backup.wait()
        process.kill()
        process.wait()
        errors = backup.stderr.read().decode()
        assert backup.returncode in (0, -signal.SIGKILL), errors
        if backup.returncode == 0:
            run("restore", "-q", "--from", backups, "--db", tmp_path / "restored")
            expect_prefix(totals_of(tmp_path / "restored"), seen, EVENTS)
        elif run("backup", "--list", "--to", backups, code=None)[0] == 0:
            run("restore", "-q", "--from", backups, "--db", tmp_path / "restored")
            expect_prefix(totals_of(tmp_path / "restored"), 0, EVENTS)
        shutil.rmtree(tmp_path / "restored", ignore_errors=True)
        process.stderr.close()
        backup.stderr.close()
    run("check", "--db", store)


def test_what_dedup_remembers(tmp_path):
    """The lines that were seen and how far files were read are of one moment: the restored folder goes on with the first
    line that is not in it, and prints every other one that was not seen."""
    count = sized(150_000, 2_000_000, 8_000_000)
    lines = tmp_path / "lines"
    lines.write_text("".join(f"line {number * 7919 % (count // 2)}\n" for number in range(count)))
    expected = list(dict.fromkeys(lines.read_text().splitlines()))
    seen, backups = tmp_path / "seen", tmp_path / "backups"
    process = start(["dedup", "-q", "--db", seen, "--memory", "4MiB", "--out", tmp_path / "out", lines])
    wait_for(process, (seen / "manifest").exists)
    made = []
    while process.poll() is None or not made:
        process.send_signal(signal.SIGSTOP)
        _, output, _ = run("backup", "--json", "--db", seen, "--to", backups)
        run("check", "--db", seen)
        process.send_signal(signal.SIGCONT)
        made.append(json.loads(output))
        time.sleep(1 if len(made) < 3 else 5)
    assert process.wait() == 0
    process.stderr.close()
    assert (tmp_path / "out").read_text().splitlines() == expected
    run("backup", "-q", "--db", seen, "--to", backups)
    for number in sorted({1, len(made) // 2 + 1, len(made), len(made) + 1}):
        restored = tmp_path / f"restored-{number}"
        run("restore", "-q", "--from", backups, "--number", number, "--db", restored)
        run("check", "--db", restored)
        printed = run("dedup", "-q", "--db", restored, lines)[1].splitlines()
        assert printed == expected[len(expected) - len(printed):]
        kind = json.loads(run("stat", "--json", "--db", restored)[1])
        assert kind["kind"] == "dedup" and kind["files"] == 1 and kind["entries"] >= len(expected)
    assert printed == []


@pytest.fixture(name="cascade")
def make_cascade(tmp_path):
    lines = tmp_path / "lines"
    lines.write_text("".join(f"line {number}\n" for number in range(200_000)))
    run("filter", "build", "-q", "--kind", "cascade", "--out", tmp_path / "filter", "--capacity", "1M", lines)
    return tmp_path / "filter"


def test_a_cascade_filter(cascade, tmp_path):
    backups = tmp_path / "backups"
    assert json.loads(run("stat", "--json", "--db", cascade)[1])["kind"] == "cascade"
    assert json.loads(run("backup", "--json", "--db", cascade, "--to", backups)[1])["records"] == 200_000
    again = json.loads(run("backup", "--json", "--db", cascade, "--to", backups)[1])
    assert again["number"] == 2 and again["copied_bytes"] == 0
    run("restore", "-q", "--from", backups, "--db", tmp_path / "restored")
    (tmp_path / "some").write_text("line 7\nno line\n")
    assert run("filter", "test", tmp_path / "restored", tmp_path / "some", code=None)[1] == "line 7\n"
    # Neither a store nor another filter goes to the same folder.
    (tmp_path / "one").write_text("id\tkey\t1\n")
    run("count", "-q", "--db", tmp_path / "store", tmp_path / "one")
    run("filter", "build", "-q", "--kind", "cascade", "--out", tmp_path / "other", tmp_path / "one")
    for folder in (tmp_path / "store", tmp_path / "other"):
        assert "backups of another store" in run("backup", "--db", folder, "--to", backups, code=USAGE)[2]
    assert "; name" in run("backup", "--db", cascade, "--to", tmp_path / "other", code=USAGE)[2]
    assert "; name" in run("backup", "--db", cascade, "--to", cascade / "backups", code=USAGE)[2]


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def names_of(folder):
    return {str(path.relative_to(folder)): path.stat().st_ino for path in folder.rglob("*") if path.is_file()}


def test_a_damaged_cascade_is_refused(cascade, tmp_path):
    backups = tmp_path / "backups"
    run("backup", "-q", "--db", cascade, "--to", backups)
    before = names_of(backups)
    for file in sorted(path.name for path in cascade.iterdir() if path.stat().st_size > 0):
        for damage in (flip, lambda path: os.truncate(path, path.stat().st_size - 1), os.remove):
            damaged = tmp_path / "damaged"
            shutil.copytree(cascade, damaged)
            damage(damaged / file)
            code = run("check", "--db", damaged, code=None)[0]
            assert code == DAMAGED or (file == "manifest" and code == USAGE), file
            assert run("backup", "--db", damaged, "--to", backups, code=None)[0] == code
            assert names_of(backups) == before
            shutil.rmtree(damaged)


def make_store(tmp_path, count, first=0):
    lines = "".join(f"id-{number}\tkey-{number % KEYS}\t1\n" for number in range(first, first + count))
    subprocess.run([BINARIES / "lethe", "count", "-q", "--db", tmp_path / "store"], input=lines.encode(), check=True)
    return tmp_path / "store"


def test_older_ones_and_pruning(tmp_path):
    backups, sizes = tmp_path / "backups", []
    for number in range(1, 6):
        store = make_store(tmp_path, 3000, 3000 * (number - 1))
        made = json.loads(run("backup", "--json", "--db", store, "--to", backups)[1])
        assert made["number"] == number and made["records"] == 3000 * number
        sizes.append(sum(path.stat().st_size for path in (backups / "contents").iterdir()))
    for number in range(1, 6):
        run("restore", "-q", "--from", backups, "--number", number, "--db", tmp_path / "restored")
        expect_prefix(totals_of(tmp_path / "restored"), 3000 * number, 3000 * number)
        shutil.rmtree(tmp_path / "restored")
    assert "the latest is 5" in run("restore", "--from", backups, "--number", 9, "--db", tmp_path / "x", code=ENVIRONMENT)[2]
    pruned = json.loads(run("backup", "--prune", "--keep", 2, "--json", "--to", backups)[1])
    assert pruned["removed"] == 3 and pruned["kept"] == 2 and pruned["freed_bytes"] > 0
    left = sum(path.stat().st_size for path in (backups / "contents").iterdir())
    assert left == sizes[-1] - pruned["freed_bytes"]
    needed = run("backup", "--list", "--json", "--to", backups)[1].splitlines()
    assert [json.loads(line)["number"] for line in needed] == [4, 5]
    made = json.loads(run("backup", "--json", "--db", store, "--to", backups, "--keep", 1)[1])
    assert made["number"] == 6 and made["removed"] == 2 and made["copied_bytes"] == 0
    run("restore", "-q", "--from", backups, "--db", tmp_path / "restored")
    expect_prefix(totals_of(tmp_path / "restored"), 15000, 15000)
    needed = json.loads(run("backup", "--list", "--json", "--to", backups)[1])["bytes"]
    assert sum(path.stat().st_size for path in (backups / "contents").iterdir()) <= needed


def test_files_of_others_stay(tmp_path):
    """What is named as a backup is, or as something that an earlier version kept beside it, and was not made by lethe."""
    store, backups = make_store(tmp_path, 100), tmp_path / "backups"
    for name in "ledger-2024-12", "ledger-old", "shared_checksum", "private":
        (backups / name).mkdir(parents=True)
        (backups / name / "book").write_text("mine")
    others = {"backup-notes.tmp", "backup-2.tmp", "backup-x.abcdef.tmp", "ledger-9"}
    for name in others:
        (backups / name).write_text("mine")
    before = {name for name in names_of(backups)}
    for number in range(1, 4):
        run("backup", "-q", "--db", store, "--to", backups, "--keep", 1)
        assert before | {"backups.lock", f"backup-{number}"} == {
            name for name in names_of(backups) if not name.startswith("contents/")}
    # Nothing is removed while one is named as a list of a backup is: neither it, nor a backup in its place.
    run("backup", "-q", "--db", store, "--to", backups)
    for name in "backup-2", "backup-20240101", "meta/7":
        (backups / name).parent.mkdir(exist_ok=True)
        (backups / name).write_text("mine")
        errors = run("backup", "--prune", "--keep", 1, "--to", backups, code=DAMAGED)[2]
        assert str(backups / name) in errors and "move it elsewhere" in errors
        assert (backups / name).read_text() == "mine" and (backups / "backup-3").exists()
        (backups / name).unlink()
    (backups / "backup-1").mkdir()
    errors = run("backup", "-q", "--db", store, "--to", backups, "--keep", 1, code=DAMAGED)[2]
    assert str(backups / "backup-1") in errors and (backups / "backup-3").exists()
    (backups / "backup-1").rmdir()
    assert json.loads(run("backup", "--prune", "--keep", 1, "--json", "--to", backups)[1])["removed"] == 2


def test_a_damaged_backup(tmp_path):
    """It is refused, and one that is sound is named; pruning does not take that one; the next backup mends what it
    shares."""
    backups = tmp_path / "backups"
    run("backup", "-q", "--db", make_store(tmp_path, 3000), "--to", backups)
    first = set(names_of(backups / "contents"))
    run("backup", "-q", "--db", make_store(tmp_path, 3000, 3000), "--to", backups)
    own = sorted(set(names_of(backups / "contents")) - first)
    for damage in (flip, os.remove):
        for name in own:
            if (backups / "contents" / name).stat().st_size == 0:
                continue
            kept = (backups / "contents" / name).read_bytes()
            damage(backups / "contents" / name)
            errors = run("restore", "--from", backups, "--db", tmp_path / "restored", code=DAMAGED)[2]
            assert "backup 2 is damaged" in errors and "backup 1 is sound" in errors, errors
            assert not (tmp_path / "restored").exists()
            errors = run("backup", "--prune", "--keep", 1, "--to", backups, code=DAMAGED)[2]
            assert "none was removed" in errors and len(run("backup", "--list", "--to", backups)[1].splitlines()) == 2
            run("restore", "-q", "--from", backups, "--number", 1, "--db", tmp_path / "restored")
            shutil.rmtree(tmp_path / "restored")
            (backups / "contents" / name).write_bytes(kept)
    flip(backups / "backup-2")
    assert "backup 1 is sound" in run("restore", "--from", backups, "--db", tmp_path / "restored", code=DAMAGED)[2]
    assert run("backup", "--list", "--to", backups, code=DAMAGED)[1].startswith("1\t")
    os.remove(backups / "backup-2")
    for name in sorted(names_of(backups / "contents")):
        if (backups / "contents" / name).stat().st_size > 0:
            flip(backups / "contents" / name)
    assert "no other one there is sound" in run("restore", "--from", backups, "--db", tmp_path / "restored", code=DAMAGED)[2]
    run("backup", "-q", "--db", tmp_path / "store", "--to", backups)
    run("restore", "-q", "--from", backups, "--db", tmp_path / "restored")


def test_no_store_among_the_backups(tmp_path):
    backups = tmp_path / "backups"
    run("backup", "-q", "--db", make_store(tmp_path, 10), "--to", backups)
    before = sorted(backups.rglob("*"))
    (tmp_path / "link").symlink_to(backups)
    for folder in (backups / "store", backups / "contents" / "store", backups / "no" / "store", tmp_path / "link" / "store",
                   tmp_path / "link", backups / ".." / "backups" / "store", backups):
        errors = run("restore", "--from", backups, "--db", folder, code=USAGE)[2]
        assert "is in the folder of the backups; name a folder outside of it" in errors, errors
        assert sorted(backups.rglob("*")) == before
    for folder in (tmp_path / "backups.restored", tmp_path / "x"):
        run("restore", "-q", "--from", tmp_path / "link", "--db", folder)
        expect_prefix(totals_of(folder), 10, 10)


def test_no_name_in_a_list_leads_out(tmp_path):
    """A list with a name such as ../x has a checksum like any other; it was not made by lethe."""
    backups = tmp_path / "backups"
    run("backup", "-q", "--db", make_store(tmp_path, 10), "--to", backups)
    content = (backups / "backup-1").read_bytes()
    assert b"data/CURRENT" in content
    for name in (b"../xx/xxxxxx", b"/tmp/xxxxxxx", b"data//xxxxxx", b"data/../xxxx", b"a/b/c/xxxxxx"):
        (backups / "backup-1").write_bytes(content.replace(b"data/CURRENT", name))
        assert run("restore", "--from", backups, "--db", tmp_path / "restored", code=None)[0] == DAMAGED
        assert not (tmp_path / "restored").exists()


def test_a_full_disk(tmp_path):
    """The backups are as they were, and when there is room again it works."""
    backups = tmp_path / "backups"
    run("backup", "-q", "--db", make_store(tmp_path, 3000), "--to", backups)
    store, before = make_store(tmp_path, 3000, 3000), names_of(backups)
    for at in (1, 2, 3, 5, 8, 13, 20):
        code, _, errors = run("backup", "--db", store, "--to", backups, code=None, environment={
            "LD_PRELOAD": str(PRELOAD), "LETHE_FAULT_FOLDER": str(backups), "LETHE_FAULT_AT": str(at),
            "LETHE_FAULT_ACTION": "enospc"})
        if code == 0:
            break
        assert code == ENVIRONMENT and "No space left" in errors, errors
        assert names_of(backups) == before
        run("restore", "-q", "--from", backups, "--db", tmp_path / "restored")
        expect_prefix(totals_of(tmp_path / "restored"), 3000, 3000)
        shutil.rmtree(tmp_path / "restored")
    run("backup", "-q", "--db", store, "--to", backups)
    run("restore", "-q", "--from", backups, "--db", tmp_path / "restored")
    expect_prefix(totals_of(tmp_path / "restored"), 6000, 6000)


def test_one_process_at_a_time_changes_a_folder_of_backups(tmp_path):
    backups, store = tmp_path / "backups", make_store(tmp_path, 100)
    run("backup", "-q", "--db", store, "--to", backups)
    import fcntl
    with open(backups / "backups.lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words in (("--db", store), ("--prune", "--keep", 1)):
            assert "try again later" in run("backup", *words, "--to", backups, code=ENVIRONMENT)[2]
        assert len(run("backup", "--list", "--to", backups)[1].splitlines()) == 1
        run("restore", "-q", "--from", backups, "--db", tmp_path / "restored")


def test_backups_of_earlier_versions(tmp_path):
    with tarfile.open(SOURCE / "tests/golden/backups-v0.tar.gz") as archive:
        archive.extractall(tmp_path)
    plain, forever = tmp_path / "plain", tmp_path / "forever"
    listed = [json.loads(line) for line in run("backup", "--list", "--json", "--to", plain)[1].splitlines()]
    assert [entry["number"] for entry in listed] == [1, 2] and listed[0]["records"] is None
    for number, totals in ((1, {"x": 1, "y": 2}), (2, {"x": 6, "y": 2})):
        run("restore", "-q", "--from", plain, "--number", number, "--db", tmp_path / f"plain-{number}")
        assert totals_of(tmp_path / f"plain-{number}") == totals
    run("restore", "-q", "--from", forever, "--db", tmp_path / "again")
    assert json.loads(run("check", "--json", "--db", tmp_path / "again")[1])["ledger_ids"] == 2
    # The next one is of the new form, and pruning leaves nothing of the old ones.
    for name, folder in (("plain-2", plain), ("again", forever)):
        made = json.loads(run("backup", "--json", "--db", tmp_path / name, "--to", folder, "--keep", 1)[1])
        assert made["removed"] == len(listed) - (folder == forever) and made["number"] == made["removed"] + 1
        left = {path.split("/")[0] for path in names_of(folder)}
        assert left == {"backups.lock", "contents", f"backup-{made['number']}"}
    assert "another store" in run("backup", "--db", tmp_path / "again", "--to", plain, code=USAGE)[2]
    flip(max((tmp_path / "forever" / "contents").iterdir(), key=lambda path: path.stat().st_size))
    assert "no other" in run("restore", "--from", forever, "--db", tmp_path / "x", code=DAMAGED)[2]


def test_remains_that_cannot_be_removed(tmp_path):
    """A folder where a file should be can't be removed like one. Nothing is restored beside it, and it is recognised again."""
    store, backups, place = tmp_path / "store", tmp_path / "backups", tmp_path / "place"
    run("count", "-q", "--db", store, make_events(tmp_path / "events"))
    run("backup", "-q", "--db", store, "--to", backups)
    (place / "restore.new" / "data").mkdir(parents=True)
    (place / "log-0000000000000001").mkdir()
    (place / "acknowledged").write_text("")
    for _ in range(2):
        assert "cannot be removed" in run("restore", "--from", backups, "--db", place, code=ENVIRONMENT)[2]
        assert set(names_of(place)) <= {"acknowledged"} and (place / "restore.new").is_dir()
    (place / "log-0000000000000001").rmdir()
    run("restore", "-q", "--from", backups, "--db", place)
    assert totals_of(place) == totals_of(store)
