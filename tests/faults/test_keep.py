"""Goal:   what is kept is right or refused. Whatever file of a store is damaged, every command that reads it either says
        what it says of the store as it was, or exits with 3 and a message; a backup is a copy of a sound store that
        can be read, or none, and leaves the copies before it alone; a store is restored whole or not at all; `check`
        changes nothing, and works where nothing can be changed.

Method: small stores of each kind, closed and killed; one file at a time flipped, cut or removed; all commands."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BINARIES, PRELOAD, sized

DAMAGED, USAGE = 3, 2
KEYS = [f"key-{number}" for number in range(20)]
# A ledger has runs when more ids came than one of its tables holds.
KINDS = {"plain": ([], 300, True), "exact": (["--exact"], 300, False), "sketch": (["--sketch", "64KiB"], 300, True),
         "forever": (["--forever", "--ledger-memory", "4MiB", "--ledger-capacity", "1M"], 60000, True)}


def lines(first, count):
    return "".join(f"id-{number}\t{KEYS[number % len(KEYS)]}\t1\n" for number in range(first, first + count)).encode()


def run(*words, environment=None):
    result = subprocess.run([BINARIES / "lethe", *map(str, words)], capture_output=True, check=False, timeout=120,
                            env=None if environment is None else {**os.environ, **environment})
    assert result.returncode >= 0 or environment is not None, (words, result)  # no command is ended by a signal
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def make(folder, kind):
    """A store that was closed, and then, unless it is to stay closed, counted into and killed."""
    options, count, is_killed = KINDS[kind]
    command = [BINARIES / "lethe", "count", "-q", "--db", folder, "--window", "1h", *options, "--sync", "always"]
    subprocess.run(command, input=lines(0, count), check=True, timeout=120)
    if not is_killed:
        return
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        process.stdin.write(lines(count, 100) + b"last\tlast\t1\n")
        process.stdin.flush()
        deadline = time.monotonic() + 100
        while run("get", "-q", "--db", folder, "last")[0] != 0:
            assert time.monotonic() < deadline
        # A reader may see a commit before it is acknowledged. Only then must it be there.
        commits = json.loads(run("stat", "--json", "--db", folder)[1])["commits"]
        while int.from_bytes((folder / "acknowledged").read_bytes()[:8], "little") < commits:
            assert time.monotonic() < deadline
        process.kill()


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    made = {}

    def get(kind):
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp("made") / kind
            make(made[kind], kind)
        return made[kind]
    return get


def read(folder):
    """What each command that reads says: its exit status and what it printed, without what damage or time may change."""
    told = {"get": run("get", "--db", folder, *KEYS), "list": run("list", "--db", folder),
            "top": run("top", "--db", folder, "-n", 100), "stat": run("stat", "--json", "--db", folder)}
    if told["stat"][0] == 0:
        numbers = json.loads(told["stat"][1])
        for name in ("store", "ledger_bytes", "clock_ms"):
            numbers.pop(name, None)
        told["stat"] = (0, numbers, told["stat"][2])
    return told


def flip(path, share):
    content = bytearray(path.read_bytes())
    content[int((len(content) - 1) * share)] ^= 4
    path.write_bytes(content)


def cut(path, share):
    os.truncate(path, int(path.stat().st_size * share))


DAMAGE = {"flip early": lambda path: flip(path, 0.1), "flip midway": lambda path: flip(path, 0.5),
          "flip late": lambda path: flip(path, 0.95), "cut": lambda path: cut(path, 0.6), "remove": os.remove}


def files_of(folder):
    """The files that hold what was counted."""
    names = [path for path in (folder / "data").iterdir()
             if path.name == "CURRENT" or path.name.startswith("MANIFEST") or path.suffix in (".sst", ".log")]
    names += [path for path in (folder / "ledger").iterdir() if path.name != "claim"] if (folder / "ledger").exists() else []
    return sorted(path.relative_to(folder) for path in names + [folder / "acknowledged"] if path.stat().st_size > 0)


def judge(folder, sound, told, scratch):
    """Whether what was told is right or refused."""
    wrong = []
    for command, answer in told.items():
        if answer[:2] == sound[command][:2]:
            continue
        if answer[0] != DAMAGED or not answer[2].startswith("lethe: "):
            wrong.append((command, answer))
    is_right = all(answer[:2] == sound[command][:2] for command, answer in told.items())
    code, _, errors = run("check", "--db", folder)
    if code not in (0, DAMAGED) or (code == 0 and not is_right):
        wrong.append(("check", code, errors))
    code, _, errors = run("backup", "--db", folder, "--to", scratch / "backups")
    if code == 0:
        assert run("restore", "-q", "--from", scratch / "backups", "--db", scratch / "restored")[0] == 0
        restored = read(scratch / "restored")
        if any(restored[command][:2] != sound[command][:2] for command in ("get", "list", "top")):
            wrong.append(("backup", "of another store"))
    elif code != DAMAGED or (scratch / "backups").exists():
        wrong.append(("backup", code, errors))
    return wrong


def judge_writer(damaged, file, folder, sound):
    """A writer refuses what readers refuse, and has changed nothing then: with the file as it was, all is as it was."""
    code, _, errors = run("count", "-q", "--db", damaged, "/dev/null")
    if code == DAMAGED:
        shutil.copy2(folder / file, damaged / file)
    elif code != 0:
        return [("count", code, errors)]
    told = read(damaged)
    return [(command, answer) for command, answer in told.items()
            if command != "stat" and answer[:2] != sound[command][:2]]


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_refused_by_whoever_reads_it(kind, stores, tmp_path):
    folder = stores(kind)
    sound = read(folder)
    assert sound["get"][0] == sound["top"][0] == sound["stat"][0] == 0, sound
    assert sound["list"][0] == (USAGE if kind == "sketch" else 0)
    assert run("check", "--db", folder)[0] == 0
    names = list(DAMAGE)
    for place, file in list(enumerate(files_of(folder)))[::sized(2, 1, 1)]:
        for name in [names[(place + len(kind)) % len(names)]] if sized(True, False, False) else names:
            shutil.rmtree(tmp_path / "work", ignore_errors=True)
            (tmp_path / "work").mkdir()
            damaged = tmp_path / "work/store"
            shutil.copytree(folder, damaged)
            DAMAGE[name](damaged / file)
            wrong = judge(damaged, sound, read(damaged), tmp_path / "work")
            wrong += judge_writer(damaged, file, folder, sound)
            assert not wrong, f"{file}, {name}: {wrong}"


def test_a_writer_looks_before_it_tidies(stores, tmp_path):
    """RocksDB removes the tables that a manifest does not name: one that lost its end must not get that far."""
    folder, damaged = tmp_path / "folder", tmp_path / "store"
    shutil.copytree(stores("exact"), folder)
    for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.6, 0.9):
        sound = read(folder)
        (manifest,) = (file for file in files_of(folder) if file.name.startswith("MANIFEST"))
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(folder, damaged)
        cut(damaged / manifest, share)
        wrong = judge_writer(damaged, manifest, folder, sound)
        assert not wrong, f"{share}: {wrong}"
        if share == 0.9:  # the log of one that was opened again is empty
            assert run("count", "-q", "--db", folder, "/dev/null")[0] == 0


@pytest.mark.parametrize("file", ["data/*.sst", "data/*.log", "ledger/run-*", "ledger/log-*", "ledger/manifest"])
def test_a_refused_backup_leaves_the_one_before(file, stores, tmp_path):
    shutil.copytree(stores("forever"), tmp_path / "store")
    shutil.copytree(stores("forever"), tmp_path / "sound")
    assert run("backup", "-q", "--db", tmp_path / "sound", "--to", tmp_path / "backups")[0] == 0
    before = fingerprint(tmp_path / "backups")
    for damaged in (tmp_path / "store").glob(file):  # of a ledger's runs some may be a crash's remains
        if damaged.stat().st_size > 0:
            flip(damaged, 0.5)
    code, _, errors = run("backup", "--db", tmp_path / "store", "--to", tmp_path / "backups")
    assert code == DAMAGED and "lethe: cannot back up the store" in errors, errors
    assert fingerprint(tmp_path / "backups") == before
    assert run("restore", "-q", "--from", tmp_path / "backups", "--db", tmp_path / "restored")[0] == 0
    assert run("check", "--db", tmp_path / "restored")[0] == 0


def fingerprint(folder):
    """Everything that there is in a folder: names, numbers, times and bytes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        found[str(path.relative_to(folder))] = (facts.st_ino, facts.st_mtime_ns, hashlib.sha256(
            path.read_bytes()).hexdigest() if path.is_file() else None)
    return found


def contents(backups):
    return {path.name: path.stat().st_ino for path in (backups / "contents").iterdir()}


@pytest.mark.parametrize("kind", ["plain", "forever"])
def test_what_backups_share_is_written_once_and_mended(kind, stores, tmp_path):
    """What an earlier backup has is not written again: while it is, there is none, and a kill would leave a backup without
    it. Where it is damaged, both backups would be: then it is written."""
    backups = tmp_path / "backups"
    shutil.copytree(stores(kind), tmp_path / "store")
    assert run("backup", "-q", "--db", tmp_path / "store", "--to", backups)[0] == 0
    before = contents(backups)
    assert run("backup", "-q", "--db", tmp_path / "store", "--to", backups)[0] == 0
    assert contents(backups) == before
    flip(max((backups / "contents").iterdir(), key=lambda path: path.stat().st_size), 0.3)
    code, _, errors = run("restore", "--from", backups, "--db", tmp_path / "restored")
    assert code == DAMAGED, errors
    assert not (tmp_path / "restored").exists()
    assert run("backup", "-q", "--db", tmp_path / "store", "--to", backups)[0] == 0
    assert set(contents(backups)) == set(before)
    for number in (1, 2, 3):
        assert run("restore", "-q", "--from", backups, "--number", number, "--db", tmp_path / f"restored-{number}")[0] == 0


def test_a_copy_of_a_store_that_went_its_own_way(tmp_path):
    """It has the seed of the original and as many commits, and is backed up to the same folder. Each backup has the ledger
    of its own store: an id that has left the window is still known."""
    one, two, backups = tmp_path / "one", tmp_path / "two", tmp_path / "backups"

    def count(folder, *lines):
        subprocess.run([BINARIES / "lethe", "count", "-q", "--db", folder, "--forever", "--window", "1s", "--ledger-memory",
                        "8MiB", "--fields", "id=1,key=2,delta=3,time=4"], check=True, timeout=120,
                       input="".join(f"{name}\tkey\t1\t{time}\n" for name, time in lines).encode())

    start = 1_600_000_000_000
    count(one, ("first", start))
    shutil.copytree(one, two)
    for folder in (one, two):
        count(folder, (folder.name, start + 1), ("late", start + 3_600_000))
        count(folder, ("last", start + 7_200_000))
    commits = [json.loads(run("stat", "--json", "--db", folder)[1])["commits"] for folder in (one, two)]
    assert commits[0] == commits[1]
    for folder in (one, two):
        assert run("backup", "-q", "--db", folder, "--to", backups)[0] == 0
    for number, name in enumerate(("one", "two"), 1):
        restored = tmp_path / f"restored-{name}"
        assert run("restore", "-q", "--from", backups, "--number", number, "--db", restored)[0] == 0
        count(restored, (name, start + 7_200_000))
        assert run("get", "-q", "--db", restored, "key")[1] == "key\t4\n"


def twins(tmp_path):
    """Two stores with ledgers and as many commits, of other ids."""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        subprocess.run([BINARIES / "lethe", "count", "-q", "--db", folder, *KINDS["forever"][0]],
                       input=f"{folder.name}\tkey\t1\n".encode(), check=True, timeout=120)
    return folders


def test_backups_are_of_one_store(tmp_path):
    """The other's ledger has the same number. And of the one that is not the latest there would be no backup."""
    one, two = twins(tmp_path)
    backups = tmp_path / "backups"
    assert run("backup", "-q", "--db", one, "--to", backups)[0] == 0
    code, _, errors = run("backup", "--db", two, "--to", backups)
    assert code == USAGE and "backups of another store" in errors, errors
    assert run("backup", "-q", "--db", one, "--to", backups)[0] == 0
    assert run("restore", "-q", "--from", backups, "--db", tmp_path / "restored")[0] == 0
    assert run("check", "--db", tmp_path / "restored")[0] == 0


def test_a_ledger_of_another_store_is_refused(tmp_path):
    one, two = twins(tmp_path)
    shutil.rmtree(two / "ledger")
    shutil.copytree(one / "ledger", two / "ledger")
    for words in (("check",), ("count", "/dev/null"), ("backup", "--to", tmp_path / "backups")):
        code, _, errors = run(*words, "--db", two)
        assert code == DAMAGED and "that of another store" in errors, (words, errors)


def with_faults(folder, words, **faults):
    """Runs lethe with operations on files of the folder counted; returns its exit status."""
    code, _, errors = run(*words, environment={"LD_PRELOAD": str(PRELOAD), "LETHE_FAULT_FOLDER": str(folder), **faults})
    assert code in (0, -signal.SIGKILL), errors
    return code


def steps_of(folder, words, scratch):
    """At which operations to kill it: here and there, and at each of the last ones, where things get their names."""
    assert with_faults(folder, words, LETHE_FAULT_COUNT=str(scratch / "count")) == 0
    count = int((scratch / "count").read_text())
    assert count > 10
    return sorted({*range(1, count, sized(25, 5, 1)), *range(count - 8, count + 1)})


def test_a_killed_backup_leaves_one_that_can_be_restored(stores, tmp_path):
    shutil.copytree(stores("forever"), tmp_path / "store")
    backup = ["backup", "-q", "--db", tmp_path / "store", "--to", tmp_path / "backups"]
    assert run(*backup)[0] == 0
    totals = {run("list", "--db", tmp_path / "store")[1]}
    subprocess.run([BINARIES / "lethe", "count", "-q", "--db", tmp_path / "store"], input=lines(90000, 50), check=True)
    totals.add(run("list", "--db", tmp_path / "store")[1])
    shutil.copytree(tmp_path / "backups", tmp_path / "before")
    for step in steps_of(tmp_path / "backups", backup, tmp_path):
        shutil.rmtree(tmp_path / "backups")
        shutil.copytree(tmp_path / "before", tmp_path / "backups")
        with_faults(tmp_path / "backups", backup, LETHE_FAULT_AT=str(step))
        assert run("restore", "-q", "--from", tmp_path / "backups", "--db", tmp_path / "restored")[0] == 0
        assert run("list", "--db", tmp_path / "restored")[1] in totals
        assert run("check", "--db", tmp_path / "restored")[0] == 0
        shutil.rmtree(tmp_path / "restored")


def test_a_killed_restore_is_no_store_and_can_be_repeated(stores, tmp_path):
    shutil.copytree(stores("forever"), tmp_path / "store")
    assert run("backup", "-q", "--db", tmp_path / "store", "--to", tmp_path / "backups")[0] == 0
    restored = tmp_path / "restored"
    restore = ["restore", "-q", "--from", tmp_path / "backups", "--db", restored]
    restored.mkdir()
    for step in steps_of(restored, restore, tmp_path):
        if (restored / "data").exists():
            shutil.rmtree(restored)
            restored.mkdir()
        with_faults(restored, restore, LETHE_FAULT_AT=str(step))
        if (restored / "data").exists():
            assert run("check", "--db", restored)[0] == 0, step
        else:
            assert run("get", "--db", restored, "last")[0] != 0
            assert run("count", "--db", restored, "/dev/null")[0] == USAGE
    if not (restored / "data").exists():
        assert run(*restore)[0] == 0
    assert run("list", "--db", restored)[1] == run("list", "--db", stores("forever"))[1]
    assert run("check", "--db", restored)[0] == 0
    assert run(*restore)[0] == USAGE  # there is a store


def test_backups_do_not_go_into_a_store(stores, tmp_path):
    store, other = tmp_path / "store", tmp_path / "other"
    shutil.copytree(stores("plain"), store)
    shutil.copytree(stores("plain"), other)
    (tmp_path / "link").symlink_to(store)
    before = fingerprint(tmp_path)
    relative = os.path.relpath(store)
    for place in [store, store / "backups", store / "a/b", relative, relative + "/x/", tmp_path / "link",
                  tmp_path / "link/x", store / "data", tmp_path / "other/../store", other]:
        code, _, errors = run("backup", "--db", store, "--to", place)
        assert code == USAGE and "; name" in errors, (place, errors)
        assert fingerprint(tmp_path) == before, place
    assert run("backup", "-q", "--db", store, "--to", str(store) + "-backups")[0] == 0


def litter(folder):
    """What a crash leaves, and a writer that opens the store tidies."""
    (folder / "fold.sst").write_bytes(b"half a table")
    (folder / "ledger/run-00000000000fffff").write_bytes(bytes(8192))
    with open(max((folder / "ledger").glob("log-*")), "ab") as log:
        log.write(b"half a record")


def test_check_changes_nothing(stores, tmp_path):
    shutil.copytree(stores("forever"), tmp_path / "store")
    litter(tmp_path / "store")
    before = fingerprint(tmp_path)
    code, output, errors = run("check", "--db", tmp_path / "store")
    assert code == 0 and "is sound" in output, errors
    assert read(tmp_path / "store")["get"][0] == 0
    assert fingerprint(tmp_path) == before


def test_check_and_readers_where_nothing_can_be_written(stores, tmp_path):
    shutil.copytree(stores("forever"), tmp_path / "store")
    litter(tmp_path / "store")
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77; shift; ! touch "$1/x" 2>/dev/null || exit 77; '
    script += 'for command in check stat list; do "$2" $command --db "$1" || exit 1; done'
    result = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", tmp_path / "store", tmp_path / "store", BINARIES / "lethe"],
                            capture_output=True, check=False)
    if result.returncode == 77 or b"unshare" in result.stderr:
        pytest.skip("this system does not let us mount: " + result.stderr.decode().strip())
    assert result.returncode == 0, result.stderr.decode()
