"""Goal: lethe count keeps its promises whatever it is given and however it ends: every event of the input is
in exactly one of the numbers it reports, nothing is half applied, and a run after a crash makes the totals exact.

Method: hostile input of each kind, full disks, signals and kills at random moments."""

import gzip
import json
import os
import random
import re
import resource
import signal
import subprocess
import time
import zlib

import pytest

from conftest import BINARIES, run_lethe

DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT, SKIPPED = range(6)
PARTS = ["applied", "duplicates", "late", "future", "overflow", "invalid", "refused", "mismatched", "limited", "unreadable"]


def is_sanitized():
    program = (BINARIES / "lethe").read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


@pytest.fixture
def count(lethe):
    """Counts into "d" and returns the summary, which must add up."""
    def run(*words, code=DONE, **more):
        result = lethe("count", "--db", "d", "--json", *words, **more)
        assert result.returncode == code, result.stderr
        summary = json.loads(result.stdout)
        assert summary["events"] == sum(summary[part] for part in PARTS)
        return summary
    return run


@pytest.fixture
def listed(lethe):
    """All counters of a store."""
    def run(folder="d"):
        result = lethe("list", "--db", folder)
        assert result.returncode == DONE, result.stderr
        lines = result.stdout.decode().splitlines()
        return {key: int(value) for key, value in (line.split("\t") for line in lines)}
    return run


HOSTILE = {
    "NUL bytes": (b"\0" * 1000 + b"\n", 1),
    "no newline at all": (b"x" * (3 << 20), 1),
    "long fields": (b"i" * 1025 + b"\tk\n" + b"i\t" + b"k" * 1025 + b"\n", 2),
    "huge numbers": (b"i\tk\t" + b"9" * 100000 + b"\n", 1),
    "not UTF-8": (b"\xff\xfe\tk\tx\n", 1),
    "only newlines": (b"\n" * 1000, 999),
    "only tabs": (b"\t" * 100000 + b"\n", 1),
    "only backslashes": (b"\\" * 99999 + b"\n", 1),
    "too many keys": (b"i" + b"\tk\t1" * 65537 + b"\n", 1),
    "an ELF program": (b"\x7fELF\x02\x01\x01\0\n", 1),
}
HOSTILE_JSON = {
    "nested deeply": (b"[" * 10000 + b"\n" + b'{"id":' * 10000 + b"\n", 2),
    "unfinished": (b'{"id": "a\n{"id": "a", "key": "k"\n', 2),
    "large numbers": (b'{"id": "a", "key": "k", "delta": 99999999999999999999}\n{"id":1e999,"key":"k"}\n', 2),
    "a delta where there is none": (b'{"id": "a", "key": "k", "delta": [1]}\n{"id": "a", "key": "k", "delta": {}}\n', 2),
    "members twice": (b'{"id": "a", "key": "k", "id": "b"}\n{"id": "a", "key": "k", "\\u006bey": "l"}\n', 2),
}
HOSTILE_CSV = {
    "open quotes": (b'"a,k\n' * 4, 2),  # the second line closes the first one's, wrongly
    "only quotes": (b'"' * 100000 + b"\n", 1),
    "a long field": (b'"' + b"a,k\n" * (1 << 19) + b'",k\n', 1),
}


@pytest.mark.parametrize("options, content, unreadable", [
    *[pytest.param([], *case, id=name) for name, case in HOSTILE.items()],
    *[pytest.param(["--jsonl"], *case, id="JSON " + name) for name, case in HOSTILE_JSON.items()],
    *[pytest.param(["--csv"], *case, id="CSV " + name) for name, case in HOSTILE_CSV.items()]])
def test_hostile_lines(options, content, unreadable, count, listed, tmp_path):
    """They are unreadable, and the good line after them is counted."""
    good = {"": b"good\tk\t1\n", "--csv": b"good,k,1\n", "--jsonl": b'{"id":"good","key":"k"}\n'}
    if content == b"x" * (3 << 20):
        content += b"\n"
    (tmp_path / "f").write_bytes(content + good[options[0] if options else ""])
    extra = 1 if content == b"\n" * 1000 else 0  # an empty line is fine only as the last one
    # A quoted field that does not end could go on in a file that grows.
    summary = count(*options, "--binary", "--last-line", "f", code=SKIPPED)
    assert (summary["applied"], summary["unreadable"]) == (1, unreadable + extra)
    assert listed() == {"k": 1}
    # The same through a pipe, in which all but the first are known.
    summary = count(*options, "--binary", code=SKIPPED, stdin=content + good[options[0] if options else ""])
    assert (summary["duplicates"], summary["unreadable"]) == (1, unreadable + extra)


@pytest.mark.skipif(is_sanitized(), reason="sanitizers need more memory")
def test_memory_is_bounded(tmp_path):
    """A gigabyte without a line end does not take a gigabyte."""
    def limit_memory():
        resource.setrlimit(resource.RLIMIT_DATA, (700 << 20, 700 << 20))
    with subprocess.Popen(["head", "-c", str(1 << 30), "/dev/zero"], stdout=subprocess.PIPE) as zeros:
        result = subprocess.run([BINARIES / "lethe", "count", "--db", "d", "--json", "--binary"], cwd=tmp_path, check=False,
                                stdin=zeros.stdout, stdout=subprocess.PIPE, preexec_fn=limit_memory, timeout=120)
    assert result.returncode == SKIPPED
    assert json.loads(result.stdout)["unreadable"] == 1


def test_damaged_compression(lethe, listed, tmp_path):
    """Nothing is counted of a file that is cut short, nor of one beside it, and the message says where it is cut."""
    lines = b"".join(b"%d\tk\n" % i for i in range(100000))
    packed = gzip.compress(lines)
    (tmp_path / "f.gz").write_bytes(packed[:len(packed) // 2])
    (tmp_path / "sound").write_bytes(b"sound\tk\n")
    for inputs in (["f.gz"], ["sound", "f.gz"]):
        result = lethe("count", "--db", "d", "--exact", "-q", *inputs)
        assert result.returncode == BAD_DATA
        assert f"f.gz: the gzip data is cut short at byte {len(packed) // 2}".encode() in result.stderr
        assert b"nothing was taken from any input" in result.stderr
        assert not (tmp_path / "d").exists()
    (tmp_path / "f.gz").write_bytes(packed)
    assert lethe("count", "--db", "d", "--exact", "-q", "f.gz").returncode == DONE
    assert listed() == {"k": 100000}


CSV = ["--csv", "--fields", "id=id,key=key,delta=delta"]


def stored(lines):
    """As gzip without compression: a changed byte is a changed line, and only the checksum shows it."""
    packer = zlib.compressobj(0, zlib.DEFLATED, 31)
    return packer.compress(lines) + packer.flush()


def test_a_changed_byte_is_noticed_before_anything_is_counted(lethe, listed, tmp_path):
    """In a file, and in one that standard input is; with a header, for which it is read before it is verified."""
    lines = b"".join(b"i%d\tlikes\t1\n" % i for i in range(2000))
    good = stored(lines)
    place = good.index(b"likes\t1") + 6
    (tmp_path / "f.gz").write_bytes(good[:place] + b"9" + good[place + 1:])
    headed = stored(b"id,key,delta\n" + lines.replace(b"\t", b","))
    (tmp_path / "h.gz").write_bytes(headed[:-8] + b"\0" + headed[-7:])
    for words, name in (([], "f.gz"), (CSV, "h.gz")):
        for inputs, stdin in (([name], None), ([], name), (["-"], name)):
            with open(tmp_path / (stdin or name), "rb") as file:
                result = subprocess.run([BINARIES / "lethe", "count", "--db", "d", "-q", *words, *inputs], cwd=tmp_path,
                                        check=False, capture_output=True, timeout=60, stdin=file)
            assert result.returncode == BAD_DATA and b"nothing was taken from any input" in result.stderr, result
            assert not (tmp_path / "d").exists()
    (tmp_path / "f.gz").write_bytes(good)
    (tmp_path / "h.gz").write_bytes(headed)
    with open(tmp_path / "h.gz", "rb") as file:
        subprocess.run([BINARIES / "lethe", "count", "--db", "d", "-q", *CSV], cwd=tmp_path, stdin=file, check=True)
    assert lethe("count", "--db", "d", "-q", "f.gz").returncode == DONE
    assert listed() == {"likes": 2000}


def test_a_file_that_grows_is_verified_again(lethe, listed, tmp_path):
    """What was sound, and was counted, is read on only if what was added is sound as well."""
    (tmp_path / "f.gz").write_bytes(stored(b"a\tk\t1\n"))
    assert lethe("count", "--db", "d", "-q", "f.gz").returncode == DONE
    added = stored(b"b\tk\t1\n")
    harmed = added.replace(b"k\t1", b"k\t9")
    (tmp_path / "f.gz").write_bytes(stored(b"a\tk\t1\n") + harmed)
    result = lethe("count", "--db", "d", "-q", "f.gz")
    assert result.returncode == BAD_DATA and listed() == {"k": 1}
    (tmp_path / "f.gz").write_bytes(stored(b"a\tk\t1\n") + added)
    assert lethe("count", "--db", "d", "-q", "f.gz").returncode == DONE
    assert listed() == {"k": 2}


def test_a_damaged_pipe_says_what_was_counted(lethe, tmp_path):
    lines = b"".join(b"i%d\tlikes\t1\n" % i for i in range(200000))
    result = lethe("count", "--db", "d", "-q", stdin=stored(lines)[:-1])
    assert result.returncode == BAD_DATA
    assert b"lines before that were taken already, and may be wrong: undo this run (restore a store" in result.stderr
    result = lethe("count", "--db", "e", "-q", stdin=stored(b"")[:-1])
    assert result.returncode == BAD_DATA and b"nothing was taken from any input" in result.stderr


def test_events_of_the_future_are_named(lethe, tmp_path):
    (tmp_path / "f").write_bytes(b"a\tk\t1700000000000\nb\tk\t9999999999999\nc\tk\t1700000000001\n")
    result = lethe("count", "--db", "d", "-q", "--fields", "id=1,key=2,time=3", "--time-unit", "ms", "f")
    assert result.returncode == SKIPPED and b"f:2: the time is ahead of this machine's clock" in result.stderr


def test_check_counts_what_is_only_in_the_log(lethe, tmp_path):
    """After a kill, counters may be in no table yet."""
    fifo = tmp_path / "events"
    os.mkfifo(fifo)
    with subprocess.Popen([BINARIES / "lethe", "count", "--db", "d", "-q", "--sync", "1ms", "events"], cwd=tmp_path) as process:
        with open(fifo, "wb") as writer:
            writer.write(b"".join(b"%d\tk%d\n" % (i, i) for i in range(50)))
            writer.flush()
            while lethe("list", "--db", "d").stdout.count(b"\n") < 50:
                assert process.poll() is None
                time.sleep(0.01)
            process.kill()
    health = json.loads(lethe("check", "--db", "d", "--json").stdout)
    assert health["changes"] > 0 and health["counters"] == 50


def test_the_end_of_the_input_is_not_waited_for(lethe, tmp_path):
    """The last events need not wait for more to come, as long as --sync allows. One of three runs is soon enough."""
    took = []
    for number in range(3):
        (tmp_path / "f").write_text(f"id-{number}\tk\n")
        begun = time.monotonic()
        assert lethe("count", "--db", "d", "-q", "--sync", "10s", "--from-start", "f").returncode == DONE
        took.append(time.monotonic() - begun)
    assert min(took) < 10


def test_no_folder_for_late_events(lethe, tmp_path):
    result = lethe("count", "--db", "d", "-q", "--fields", "id=1,key=2,time=3", "--late-out", "nodir/late", stdin=b"")
    assert result.returncode == ENVIRONMENT and b"nodir/late: No such file or directory; make the folder" in result.stderr
    assert not list(tmp_path.iterdir())


def test_full_disk_for_late_events(lethe):
    lines = b"a\tk\t1000000\nb\tk\t9000000\nc\tk\t1000001\nd\tk\t9000000\n"
    result = lethe("count", "--db", "d", "-q", "--window", "10m", "--fields", "id=1,key=2,time=3", "--time-unit", "ms", "--late-out", "/dev/full",
                   stdin=lines)
    assert result.returncode == ENVIRONMENT
    assert b"/dev/full" in result.stderr


def test_full_disk(lethe, listed, tmp_path):
    """One message says what failed and how far it came; with room again, the same command goes on."""
    events = lethe("sample", "events", "--count", "300k", "--keys", "1k", "--truth", "truth").stdout.splitlines()
    (tmp_path / "e").write_bytes(b"".join(line + b"\n-\n" for line in events))

    def limit_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    result = lethe("count", "--db", "d", "--exact", "--json", "e", preexec_fn=limit_files)
    assert result.returncode == ENVIRONMENT
    assert result.stderr.count(b"cannot write the store") == 1
    assert b"run the same command again to continue" in result.stderr
    said = int(re.search(rb"(\d+) events? of this run", result.stderr)[1])
    summary = json.loads(result.stdout)
    # Unreadable lines, every second one, are none of them.
    assert said == summary["applied"] + summary["duplicates"] and said > 0 and summary["unreadable"] > 0
    assert lethe("count", "--db", "d", "--exact", "-q", "e").returncode == SKIPPED
    assert listed() == {key: int(value) for key, value in
                        (line.split("\t") for line in (tmp_path / "truth").read_text().splitlines())}


def test_window_at_its_cap(lethe, tmp_path):
    """Refused events are told, and counted when they come again with more room."""
    events = lethe("sample", "events", "--count", "300k", "--keys", "1k", "--truth", "truth").stdout
    result = lethe("count", "--db", "d", "--exact", "-q", "--memory", "300KiB", stdin=events)
    assert result.returncode == SKIPPED
    assert b"the window has reached its --memory" in result.stderr
    assert lethe("count", "--db", "d", "--exact", "-q", stdin=events).returncode == DONE
    assert lethe("list", "--db", "d").stdout == (tmp_path / "truth").read_bytes()


@pytest.mark.parametrize("mode", [[], ["--exact"]])
def test_window_at_its_cap_with_a_rising_error(lethe, tmp_path, mode):
    """A store that was filled under a cap opens again with the same command. Warnings say what the summary says, and
    advise nothing that is done already."""
    (tmp_path / "e").write_text("".join(f"i{i}\tk\n" for i in range(60000)))
    words = ["count", "--db", "d", *mode, "-q", "--json", "--memory", "256KiB", "--policy", "degrade", "--from-start", "e"]
    applied = 0
    for run in range(3):
        result = lethe(*words)
        assert result.returncode in (DONE, SKIPPED), result.stderr
        summary = json.loads(result.stdout)
        applied += summary["applied"]
        assert run > 0 or summary["refused"] > 0
        if summary["refused"] > 0:
            assert b"give more --memory" in result.stderr and b"--policy" not in result.stderr
        warned = re.search(rb"taken for a duplicate with probability ([0-9.e-]+)(%?),", result.stderr)
        assert (warned is not None) == (summary["error_estimate"] > 1e-12)
        if warned is not None:
            said = float(warned[1]) / (100 if warned[2] else 1)
            assert said == pytest.approx(summary["error_estimate"], rel=0.01)
    assert mode or warned is not None
    assert lethe("get", "--db", "d", "k").stdout == b"k\t%d\n" % applied


def test_a_store_in_use(lethe, tmp_path):
    """A second writer is refused; readers are not, and see what is committed."""
    with subprocess.Popen([BINARIES / "lethe", "count", "--db", "d", "-q"], cwd=tmp_path,
                          stdin=subprocess.PIPE) as writer:
        writer.stdin.write(b"a\tk\t7\n")
        writer.stdin.flush()
        end = time.monotonic() + 20
        while time.monotonic() < end:
            result = lethe("get", "--db", "d", "-q", "k")
            if result.returncode == DONE:
                break
            time.sleep(0.05)
        assert result.stdout == b"k\t7\n", "what a pipe gave is on disk soon, without waiting for more"
        assert lethe("check", "--db", "d").returncode == DONE, "of the state of one moment"
        for words in [["count", "--db", "d"], ["set", "--db", "d", "k", "1"], ["del", "--db", "d", "k"]]:
            result = lethe(*words)
            assert result.returncode == ENVIRONMENT, words
            assert str(writer.pid).encode() in result.stderr or b"writ" in result.stderr
        writer.stdin.close()
        assert writer.wait(timeout=30) == DONE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(number, lethe, listed, tmp_path):
    """What was read is committed, also from a pipe that waits, and the message says so."""
    with subprocess.Popen([BINARIES / "lethe", "count", "--db", "d"], cwd=tmp_path, stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a\tk\t7\nb\tk\t1\n")
        process.stdin.flush()
        end = time.monotonic() + 20
        while lethe("get", "--db", "d", "-q", "k").returncode != DONE and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        message = process.stderr.read()
        assert process.wait(timeout=30) == 128 + number
        assert b"2 applied" in message and b"interrupted; all events that were read are committed" in message
    assert listed() == {"k": 8}


def test_a_pipe_that_nobody_opens(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen([BINARIES / "lethe", "count", "--db", "d", "pipe"], cwd=tmp_path,
                          stderr=subprocess.PIPE) as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130


def test_killed_at_any_moment(lethe, listed, tmp_path):
    """After each kill a rerun goes on; in the end the totals are those of the sample's truth."""
    assert lethe("sample", "events", "--count", "400k", "--keys", "1k", "--truth", "truth").returncode == DONE
    events = lethe("sample", "events", "--count", "400k", "--keys", "1k").stdout
    (tmp_path / "e").write_bytes(events)
    chance = random.Random(7)
    words = [BINARIES / "lethe", "count", "--db", "d", "--exact", "-q", "--batch", "20k", "e"]
    for _ in range(8):
        with subprocess.Popen(words, cwd=tmp_path) as process:
            time.sleep(chance.uniform(0.02, 0.6))
            process.kill()
    summary = run_lethe("count", "--db", "d", "--exact", "--json", "-q", "e", cwd=tmp_path)
    assert summary.returncode == DONE, summary.stderr
    truth = {key: int(value) for key, value in
             (line.split("\t") for line in (tmp_path / "truth").read_text().splitlines())}
    assert listed() == truth


def test_sample_is_what_it_says(lethe, tmp_path):
    lines = lethe("sample", "events", "--count", "100k", "--retries", "6%", "--seed", "5").stdout.split(b"\n")
    assert lines.pop() == b"" and len(lines) == 100000
    retries = len(lines) - len(set(lines))
    assert 5500 < retries < 6500
    assert len({line.split(b"\t")[0] for line in lines}) == len(set(lines))
    assert lethe("sample", "events", "--count", "100k", "--retries", "6%", "--seed", "5").stdout.split(
        b"\n")[:-1] == lines
    counts = {}
    for line in lines:
        key = line.split(b"\t")[1]
        counts[key] = counts.get(key, 0) + 1
    # Zipf: the first is about twice as frequent as the second.
    assert 1.7 < counts[b"page-0000000"] / counts[b"page-0000001"] < 2.3
    assert tmp_path.exists()
