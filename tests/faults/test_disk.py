"""Goal:   a disk that fails or is full, a folder that can't be written, a store that is damaged: a clear message, the exit code
that the manual promises, nothing lost that was acknowledged; and once the cause is gone, counting goes on.

Method: every n-th write and sync fails, with EIO and ENOSPC; every file of a store is truncated, altered and removed. Whatever
then still succeeds must give the truth."""

import itertools
import os
import pathlib
import random
import shutil
import subprocess
import time

import pytest

from conftest import Store, sized
from kills import cut_power

WORDS = ["--exact", "--window", "1h", "--batch", "200", "--sync", "always"]


@pytest.mark.parametrize("action,phrase", [("eio", "Input/output error"),
                                           ("enospc", "No space left")])
@pytest.mark.parametrize("kind", ["write", "sync"])
def test_failed_operations(store, make_stream, tmp_path, action, phrase, kind):
    stream = make_stream(21, 3000)
    count = tmp_path / "count"
    trial = store.copy_to(tmp_path / "trial")
    code, _, errors = trial.count(*WORDS, str(stream.path),
                                  faults={"LETHE_FAULT_ON": kind, "LETHE_FAULT_COUNT": str(count)})
    assert code == 0, errors
    total = int(count.read_text())
    assert total > 10, "the library of faults does not see what lethe writes"
    step = max(1, total // sized(4, 10, total))
    for at, times in itertools.product(range(1, total + 1, step), sized(["all"], ["all"], ["all", "1"])):
        trial = store.copy_to(tmp_path / "trial")
        faults = {"LETHE_FAULT_ON": kind, "LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": action}
        if times != "all":
            faults["LETHE_FAULT_TIMES"] = times
        code, summary, errors = trial.count(*WORDS, str(stream.path), faults=faults)
        # A failure that does not matter, such as one to write RocksDB's diary, is no failure.
        assert code in (0, 4), f"at {at} of {total}: {errors}"
        if code == 4:
            assert phrase in errors, f"at {at} of {total}: {errors}"
        code, summary, errors = trial.count(*WORDS, str(stream.path))
        assert code == 0, f"at {at} of {total}: {errors}"
        assert trial.totals() == dict(stream.truth), f"at {at} of {total}"


def count_with_failing_manifest(store, stream, at, more):
    """RocksDB writes to its manifest what tables there are; the at-th sync of it fails. Returns as count does."""
    return store.count(*WORDS, str(stream.path),
                       faults={"LETHE_FAULT_ON": "sync", "LETHE_FAULT_NAME": "/MANIFEST",
                               "LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "eio", **more})


@pytest.mark.parametrize("times", sized(["once"], ["once", "always"], ["once", "always"]))
def test_a_manifest_that_cannot_be_synced(store, make_stream, tmp_path, times):
    """The manifest then names a table that RocksDB has removed. Nothing is lost for it: the next writer puts the table in
    place, and readers that come before see all that was counted."""
    stream = make_stream(22, 1000)
    more = {"LETHE_FAULT_TIMES": "1"} if times == "once" else {}
    count = tmp_path / "count"
    trial = store.copy_to(tmp_path / "trial")
    assert count_with_failing_manifest(trial, stream, 0, {"LETHE_FAULT_COUNT": str(count)})[0] == 0
    total, mended = int(count.read_text()), 0
    assert 3 < total < 20
    first, last = sized((total - 2, total), (1, total), (1, total))  # the fold is at the end
    for at in range(first, last + 1):
        trial = store.copy_to(tmp_path / "trial")
        code, _, errors = count_with_failing_manifest(trial, stream, at, more)
        assert code in (0, 4), f"at {at} of {total}: {errors}"
        if (trial.folder / "fold.sst").exists():
            before = sorted((trial.folder / "data").iterdir())
            assert trial.totals() == dict(stream.truth), f"at {at} of {total}"
            code, _, errors = trial.lethe("check")
            assert code == 0, errors
            assert sorted((trial.folder / "data").iterdir()) == before
            mended += 1
        code, _, errors = trial.count(*WORDS, str(stream.path))
        assert code == 0, f"at {at} of {total}: {errors}"
        assert not (trial.folder / "fold.sst").exists()
        assert trial.totals() == dict(stream.truth), f"at {at} of {total}"
        assert trial.lethe("check")[0] == 0
    assert mended > 0


MANY = ["--window", "1h", "--batch", "30000", "--sync", "always"]


@pytest.fixture
def many(tmp_path):
    """So many counters that two threads write them to disk, as two tables, when the store is closed."""
    path, truth = tmp_path / "many.tsv", {f"key-{number:06}": number % 7 + 1 for number in range(40000)}
    path.write_text("".join(f"{number:08x}\tkey-{number:06}\t{number % 7 + 1}\n"
                            for number in random.Random(27).sample(range(40000), 40000)))
    return path, truth


def test_two_tables_that_the_manifest_names_and_that_are_gone(store, many, tmp_path):
    """As above, for a fold of two tables: RocksDB removes both."""
    path, truth = many
    count, faults = tmp_path / "count", {"LETHE_FAULT_ON": "sync", "LETHE_FAULT_NAME": "/MANIFEST"}
    trial = store.copy_to(tmp_path / "trial")
    assert trial.count(*MANY, str(path), faults={**faults, "LETHE_FAULT_COUNT": str(count)})[0] == 0
    total, mended = int(count.read_text()), 0
    for at in range(total - 1, total + 1):
        trial = store.copy_to(tmp_path / "trial")
        code, _, errors = trial.count(*MANY, str(path), faults={
            **faults, "LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "eio", "LETHE_FAULT_TIMES": "1"})
        assert code in (0, 4), f"at {at} of {total}: {errors}"
        mended += (trial.folder / "fold.sst").exists() and (trial.folder / "fold-upper.sst").exists()
        assert trial.totals() == truth, f"at {at} of {total}"
        copied = Store(tmp_path / "copied")
        shutil.rmtree(copied.folder, ignore_errors=True)
        code, _, errors = trial.lethe("backup", "--to", str(tmp_path / f"backup-{at}"))
        assert code == 0, errors
        code, _, errors = copied.lethe("restore", "--from", str(tmp_path / f"backup-{at}"))
        assert code == 0, errors
        assert copied.totals() == truth
        code, summary, errors = trial.count("--from-start", *MANY, str(path))
        assert (code, summary["applied"] + summary["duplicates"]) == (0, len(truth)), errors
        assert not list(trial.folder.glob("fold*.sst"))
        assert trial.totals() == truth, f"at {at} of {total}"
        assert trial.lethe("check")[0] == 0
    assert mended > 0


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power-cut"])
def test_killed_while_two_tables_are_written(store, many, tmp_path, power):
    """At each of the last writes and syncs of a run, which are those of the fold."""
    path, truth = many
    count = tmp_path / "count"
    trial = store.copy_to(tmp_path / "trial")
    assert trial.count(*MANY, str(path), faults={"LETHE_FAULT_COUNT": str(count)})[0] == 0
    total = int(count.read_text())
    for at in range(total - sized(12, 30, 30), total + 1, sized(2, 1, 1)):
        trial = store.copy_to(tmp_path / "trial")
        journal = tmp_path / "journal"
        journal.write_text("")
        code, _, _ = trial.count(*MANY, str(path), faults={
            "LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "kill", "LETHE_FAULT_JOURNAL": str(journal)})
        assert code in (0, -9)
        if power:
            cut_power(trial.folder, journal)
        code, _, errors = trial.count("--from-start", *MANY, str(path))
        assert code == 0, f"at {at} of {total}: {errors}"
        assert not list(trial.folder.glob("fold*.sst"))
        assert trial.totals() == truth, f"at {at} of {total}"


def test_a_failure_at_the_close_is_not_hidden(store, make_stream, tmp_path):
    """Events that were passed over have an exit code of their own, which says that the others are well."""
    stream = make_stream(26, 100)
    count = tmp_path / "count"
    with open(stream.path, "a") as file:
        file.write("a line that is no event\n")
    trial = store.copy_to(tmp_path / "trial")
    assert count_with_failing_manifest(trial, stream, 0, {"LETHE_FAULT_COUNT": str(count)})[0] == 5
    code, _, errors = count_with_failing_manifest(store, stream, int(count.read_text()), {})
    assert (code, "cannot close the store" in errors) == (4, True), errors
    assert store.totals() == dict(stream.truth)


def test_another_table_is_not_taken_for_the_missing_one(store, make_stream):
    """A fold's table is left, and one is missing that it is not: refused, and nothing is changed."""
    for seed in (23, 25):  # opening it again makes tables of the log
        assert store.count(*WORDS, str(make_stream(seed, 1000).path))[0] == 0
    tables = sorted((store.folder / "data").glob("*.sst"))
    tables[1].rename(store.folder / "fold.sst")
    tables[0].unlink()
    before = sorted(path.name for path in store.folder.rglob("*.sst"))
    code, _, errors = store.count(*WORDS, str(make_stream(24, 10).path))
    assert code == 3, errors
    assert sorted(path.name for path in store.folder.rglob("*.sst")) == before


def test_a_folder_that_cannot_be_written(store, make_stream):
    stream = make_stream(3, 10)
    if os.geteuid() == 0:  # root may write anywhere but where nobody may
        folder = pathlib.Path("/sys/kernel")
        if not folder.is_dir():
            pytest.skip("root may write anywhere here")
        code, _, errors = Store(folder / "lethe").count(str(stream.path))
    else:
        store.folder.chmod(0o500)
        code, _, errors = store.count(str(stream.path))
        store.folder.chmod(0o700)
    assert code == 4
    assert "permitted" in errors or "denied" in errors or "Read-only" in errors, errors


def test_a_second_writer_is_told_who_writes(store, make_stream):
    read_end, write_end = os.pipe()
    first = store.start("--sync", "1ms", stdin=read_end)
    os.close(read_end)
    os.write(write_end, b"a\tk\t1\n")
    for _ in range(200):
        code, output, _ = store.lethe("get", "k")
        if code == 0:
            break
    assert output == "k\t1\n"  # a reader sees what is committed
    stream = make_stream(4, 10)
    code, _, errors = store.count(str(stream.path))
    assert code == 4
    assert f"process {first.pid} " in errors
    os.close(write_end)
    first.communicate(timeout=60)
    assert first.returncode == 0
    assert store.count(str(stream.path))[0] == 0


def damaged(path, how, draw):
    size = path.stat().st_size
    if how == "missing":
        path.unlink()
    elif how == "emptied":
        os.truncate(path, 0)
    elif how == "halved":
        os.truncate(path, size // 2)
    else:
        data = bytearray(path.read_bytes())
        at = draw.randrange(len(data))
        data[at] ^= 1 << draw.randrange(8)
        path.write_bytes(data)


def data_files(folder):
    """Every file that holds something, by what kind of file it is."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size > 0:
            yield path.relative_to(folder)


@pytest.mark.parametrize("how", ["missing", "emptied", "halved", "flipped"])
@pytest.mark.parametrize("ended", ["closed", "killed"])
def test_damage_is_noticed_or_harmless(store, make_stream, tmp_path, how, ended):
    stream = make_stream(31, 4000)
    later = make_stream(32, 100)
    if ended == "closed":
        assert store.count(*WORDS, str(stream.path))[0] == 0
    else:  # all acknowledged, and then killed: the log is not folded
        read_end, write_end = os.pipe()
        process = store.start(*WORDS, stdin=read_end)
        os.close(read_end)
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(stream.path.read_bytes())
            pipe.flush()
            for _ in range(600):
                code, output, _ = store.lethe("stat", "--json")
                if code == 0 and f'"applied": {4000}' in output.replace(":4000", ": 4000"):
                    break
            process.kill()
        process.communicate()
    whole = store.copy_to(tmp_path / "whole")
    truth = whole.totals()
    assert truth == dict(stream.truth)
    both = {key: stream.truth.get(key, 0) + later.truth.get(key, 0)
            for key in set(stream.truth) | set(later.truth)}
    draw = random.Random(how)
    files = list(data_files(store.folder))
    assert any(path.suffix == ".log" for path in files) or ended == "closed"
    for path in files:
        for _ in range(sized(2, 4, 20) if how == "flipped" else 1):
            trial = store.copy_to(tmp_path / "trial")
            damaged(trial.folder / path, how, draw)
            for command in ("check", "list"):
                reader = trial.copy_to(tmp_path / "reader")
                code, output, errors = reader.lethe(command)
                assert code in (0, 3, 4), f"{command} {path}: {code} {errors}"
                assert code == 0 or errors.startswith("lethe: "), errors
            code, _, errors = trial.count(*WORDS, str(later.path))
            assert code in (0, 3, 4), f"{path}: {code} {errors}"
            assert code != 3 or "restore a backup" in errors or "remove it to open" in errors, errors
            if code == 0:  # then nothing may be lost
                assert trial.totals() == both, f"{path} was {how}, and nobody noticed"


def test_a_store_beside_a_file_of_its_name(tmp_path, make_stream):
    (tmp_path / "file").write_text("not a folder")
    code, _, errors = Store(tmp_path / "file").count(str(make_stream(1, 3).path))
    assert (code in (2, 4), "is a file" in errors) == (True, True)


# Which sync it is that meets the table in question changes with what else there is to sync: some are tried.
@pytest.mark.parametrize("at", sized([5], range(1, 9), range(1, 9)))
@pytest.mark.parametrize("modes", [[[], [], [], []], [["--exact"], [], [], ["--no-exact"]]], ids=["log", "index"])
def test_a_compaction_that_cannot_be_synced(store, make_stream, tmp_path, modes, at):
    """RocksDB merges tables of what was dropped, segments of the log or the index, in the background, and nothing is left."""
    words = ["--window", "1h", "--sync", "always"]
    for run, mode in enumerate(modes):  # as many tables as it waits for
        assert store.count(*words, *mode, str(make_stream(40 + run, 20).path))[0] == 0
    last, before, met = make_stream(44, 20), store.totals(), tmp_path / "met"
    process = store.start(*words, stdin=subprocess.PIPE,
                          faults={"LETHE_FAULT_ON": "sync", "LETHE_FAULT_NAME": ".sst", "LETHE_FAULT_AT": str(at),
                                  "LETHE_FAULT_ACTION": "eio", "LETHE_FAULT_MET": str(met)})
    # Nothing else syncs a table before there are events. Of an index that is gone there may be nothing to sync.
    deadline = time.monotonic() + 2
    while process.poll() is None and time.monotonic() < deadline and not (met.exists() and met.stat().st_size > 0):
        time.sleep(0.01)
    _, errors = process.communicate(last.path.read_bytes(), timeout=300)
    assert process.returncode == 4 and b"Input/output error" in errors, (process.returncode, errors)
    assert store.count(*words, str(last.path))[0] == 0
    assert store.totals() == {key: before.get(key, 0) + last.truth[key] for key in {**before, **last.truth}}
