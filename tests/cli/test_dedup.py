"""Goal: `lethe dedup` prints what `awk '!seen[$0]++'` prints, in little memory, over several runs and kills; and no
input or option ends it otherwise than with a message and the right exit status."""

import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BINARIES
from sizes import sized
from test_bad_input import BAD_DATA, DONE, ENVIRONMENT, USAGE


def make_lines(seed, count, different):
    chance = random.Random(seed)
    return [b"line %d" % min(chance.randrange(different), chance.randrange(different)) for _ in range(count)]


def first_ones(lines, key=lambda line: line):
    seen, kept = set(), []
    for line in lines:
        if key(line) not in seen:
            seen.add(key(line))
            kept.append(line)
    return kept


def text(lines):
    return b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize("memory", ["4MiB", "256MiB"])
def test_each_line_once(memory, tmp_path, lethe):
    lines = make_lines(1, 300000, 150000) + [b"", b"\x00\xff", b"x" * 100000, b"", b"line 0 "]
    (tmp_path / "in").write_bytes(text(lines))
    expected = text(first_ones(lines))
    from_file = lethe("dedup", "-q", "--memory", memory, "in")
    assert (from_file.returncode, from_file.stdout, from_file.stderr) == (DONE, expected, b"")
    assert lethe("dedup", "-q", "--memory", memory, stdin=text(lines)).stdout == expected


@pytest.mark.parametrize("way", ["file", "pipe"])
def test_lines_that_do_not_fit_into_memory_at_once(way, tmp_path, lethe):
    """Some million lines in 4 MiB: the fingerprints are on disk, in shards or merged."""
    count, different = sized((1000000, 750019), (2000000, 1500007), (2000000, 1500007))
    lines = [b"%d" % (i * 7919 % different) for i in range(count)]
    (tmp_path / "in").write_bytes(text(lines))
    words = ["dedup", "-q", "--memory", "4MiB", "--json"]
    answer = lethe(*words, "in") if way == "file" else lethe(*words, stdin=text(lines))
    summary = json.loads(answer.stderr)
    assert answer.stdout.split() == first_ones(lines)
    assert summary["lines"] == count and summary["printed"] == different and summary["disk_bytes"] > 1 << 20
    assert summary["expected_wrongly_dropped"] < 0.5


@pytest.mark.parametrize("way", ["file", "pipe", "files"])
def test_memory_that_becomes_full_on_the_way(way, tmp_path, lethe):
    """With --db: kept in memory first, then gathered, from the very line on; and over three runs."""
    lines = [b"%d" % (i * 7919 % 450007) for i in range(600000)]
    words, seen = ["dedup", "-q", "--memory", "4MiB", "--json", "--db", "seen"], set()
    parts = [lines[:200], lines[200:300000] + lines[:1000], lines[150000:]]
    for number, part in enumerate(parts):
        files = [part[:1], part[1:2000], part[2000:]] if way == "files" else [part]
        names = [f"in-{number}-{i}" for i in range(len(files))]
        for name, content in zip(names, files):
            (tmp_path / name).write_bytes(text(content))
        answer = lethe(*words, stdin=text(part)) if way == "pipe" else lethe(*words, *names)
        summary = json.loads(answer.stderr)
        assert answer.returncode == DONE and summary["lines"] == len(part)
        assert answer.stdout.split() == [line for line in first_ones(part) if line not in seen]
        seen.update(part)
    assert lethe(*words, stdin=text(lines)).stdout == b""
    assert json.loads(lethe(*words, stdin=b"").stderr)["entries"] == len(seen)


def test_files_whose_lines_get_shorter_do_not_fit(tmp_path, lethe):
    """More lines than the sampled ones make expect: what finds no room in memory goes to the cascade."""
    lines = [b"%d" % (i * 7919 % 300007) for i in range(400000)]
    with open(tmp_path / "in", "wb") as file:
        for start in range(0, 400000, 20000):
            file.write(b"x" * 30000 + b"%d\n" % start + text(lines[start:start + 20000]))
    answer = lethe("dedup", "-q", "--memory", "4MiB", "in")
    printed = [line for line in answer.stdout.split() if not line.startswith(b"x")]
    assert answer.returncode == DONE and printed == first_ones(lines)


class Blocked:
    """lethe that has read all lines of a file of three megabytes and can't print more than a pipe holds."""

    def __init__(self, folder, *words):
        self.lines = make_lines(11, 300000, 200000)
        self.path = folder / "in"
        self.path.write_bytes(text(self.lines))
        (folder / "temporary").mkdir()
        self.process = subprocess.Popen(
            [BINARIES / "lethe", "dedup", "-q", "--memory", "4MiB", *words, "in"], cwd=folder, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, bufsize=0, env={**os.environ, "TMPDIR": str(folder / "temporary")})
        self.first = self.process.stdout.read(1000)

    def end(self):
        output, errors = self.process.communicate(timeout=60)
        return self.process.returncode, self.first + output, errors.decode()


def test_a_file_that_changes_between_the_two_readings(tmp_path):
    blocked = Blocked(tmp_path)
    with open(blocked.path, "r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(b"x")
    code, output, errors = blocked.end()
    assert code == BAD_DATA and "was changed while it was read" in errors
    assert len(output) > 1000000 and text(first_ones(blocked.lines)).startswith(output)
    assert not any((tmp_path / "temporary").iterdir())


def test_lines_that_are_appended_meanwhile_are_left_alone(tmp_path):
    blocked = Blocked(tmp_path)
    with open(blocked.path, "ab") as file:
        file.write(b"another line\n" * 3)
    assert blocked.end() == (DONE, text(first_ones(blocked.lines)), "")


def test_ctrl_c_while_a_file_is_printed(tmp_path):
    blocked = Blocked(tmp_path)
    blocked.process.send_signal(signal.SIGINT)
    code, output, errors = blocked.end()
    assert code == 128 + signal.SIGINT and "interrupted" in errors
    assert text(first_ones(blocked.lines)).startswith(output)
    assert not any((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("way", ["read twice", "as they come"])
def test_a_reader_that_leaves(way, tmp_path):
    blocked = Blocked(tmp_path, *([] if way == "read twice" else ["--window", "24h"]))
    blocked.process.stdout.close()
    errors = blocked.process.stderr.read()
    assert blocked.process.wait() == -signal.SIGPIPE and errors == b""
    assert not any((tmp_path / "temporary").iterdir())


def test_no_room_for_the_shards(tmp_path, lethe):
    (tmp_path / "in").write_bytes(text(make_lines(12, 300000, 200000)))
    limit = ["prlimit", "--fsize=10000", "env", "--ignore-signal=XFSZ", BINARIES / "lethe"]
    result = subprocess.run([*limit, "dedup", "-q", "--memory", "4MiB", "in"], cwd=tmp_path, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert result.returncode == ENVIRONMENT and result.stdout == b""
    assert b"cannot write to" in result.stderr and b"TMPDIR" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_fields(tmp_path, lethe):
    lines = [b"%d\t%d\tx%d" % (i, i % 50, i % 3) for i in range(1000)]
    (tmp_path / "in").write_bytes(text(lines))
    expected = text(first_ones(lines, lambda line: line.split(b"\t")[1]))
    assert lethe("dedup", "-q", "--field", "2", "in").stdout == expected
    answer = lethe("dedup", "-q", "--field", "4", "in")
    assert answer.returncode == BAD_DATA and b"in, line 1 has 3 fields" in answer.stderr
    # What comes before the line that has no such field is still printed.
    answer = lethe("dedup", "-q", "--field", "2", stdin=b"a\tb\nc\tb\n" * 2000 + b"no field\n" + b"d\te\n")
    assert (answer.returncode, answer.stdout) == (BAD_DATA, b"a\tb\n")


def test_a_pipe_is_answered_at_once():
    with subprocess.Popen([BINARIES / "lethe", "dedup", "-q"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        for line in [b"one\n", b"two\n"]:
            process.stdin.write(line + line)
            process.stdin.flush()
            assert process.stdout.readline() == line
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(30) == DONE


def test_remembered_over_runs(tmp_path, lethe):
    (tmp_path / "log").write_bytes(b"a\nb\na\n")
    assert lethe("dedup", "-q", "--db", "seen", "log").stdout == b"a\nb\n"
    assert lethe("dedup", "-q", "--db", "seen", "log").stdout == b""
    with open(tmp_path / "log", "ab") as log:
        log.write(b"b\nc\nunended")
    answer = lethe("dedup", "--json", "--db", "seen", "log")
    assert answer.stdout == b"c\n" and b"no newline yet (7 bytes)" in answer.stderr
    assert json.loads(answer.stderr.splitlines()[-1])["resumed_at"] == 6
    # A line that had not ended may grow.
    with open(tmp_path / "log", "ab") as log:
        log.write(b" no more\nd\n")
    assert lethe("dedup", "-q", "--db", "seen", "log").stdout == b"unended no more\nd\n"
    os.rename(tmp_path / "log", tmp_path / "log.1")
    (tmp_path / "log").write_bytes(b"d\ne\n")
    assert lethe("dedup", "-q", "--db", "seen", "log.1", "log").stdout == b"e\n"
    assert lethe("dedup", "-q", "--db", "seen", "--from-start", "log.1", "log").stdout == b""
    assert lethe("dedup", "-q", "--db", "seen", stdin=b"f\na\nf\n").stdout == b"f\n"


def test_a_window_forgets(lethe):
    assert lethe("dedup", "-q", "--db", "seen", "--window", "2s", stdin=b"a\na\n").stdout == b"a\n"
    assert lethe("dedup", "-q", "--db", "seen", stdin=b"a\n").stdout == b""
    time.sleep(3.0)
    assert lethe("dedup", "-q", "--db", "seen", stdin=b"a\n").stdout == b"a\n"


def test_many_files(tmp_path, lethe):
    names = []
    for i in range(150):
        (tmp_path / f"f{i}").write_bytes(text([b"%d" % j for j in range(i, i + 20)]))
        names.append(f"f{i}")
    assert len(lethe("dedup", "-q", "--db", "seen", *names).stdout.split()) == 169
    assert lethe("dedup", "-q", "--db", "seen", *names).stdout == b""


@pytest.mark.parametrize("way", ["out", "append"])
def test_killed_again_and_again(way, tmp_path):
    """With --out every line is there exactly once; without, every line, and none again that a checkpoint covers."""
    chance = random.Random(5)
    lines = [b"%d" % chance.randrange(400000) for _ in range(600000)]
    (tmp_path / "in").write_bytes(text(lines))
    words = [BINARIES / "lethe", "dedup", "-q", "--db", "seen", "--memory", "4MiB"]
    start = time.monotonic()
    subprocess.run([*words[:3], "--memory", "4MiB", "in"], cwd=tmp_path, stdout=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - start
    kills = 0
    while True:
        with open(tmp_path / "out", "ab") as out:
            process = subprocess.Popen(words + (["--out", "out", "in"] if way == "out" else ["in"]), cwd=tmp_path,
                                       stdout=out if way == "append" else subprocess.DEVNULL)
        # The first as soon as something is printed, so that there is one.
        while kills == 0 and process.poll() is None and (tmp_path / "out").stat().st_size == 0:
            time.sleep(0.001)
        try:
            patience = (whole * chance.random() if kills > 0 else 0) if kills < sized(4, 12, 40) else 120
            assert process.wait(timeout=patience) == DONE
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
    printed = (tmp_path / "out").read_bytes()
    expected = first_ones(lines)
    if way == "out":
        assert printed == text(expected)
    else:
        # A write that was cut short leaves the beginning of a line; all lines are there in any case.
        assert set(expected) <= set(printed.split(b"\n"))
    assert kills > 0


def test_ctrl_c_finishes_what_is_begun(tmp_path):
    with subprocess.Popen([BINARIES / "lethe", "dedup", "--db", "seen"], stdin=subprocess.PIPE, cwd=tmp_path,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a\na\nb\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"a\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b"b\n"
        assert b"interrupted; what was read is done, run again to go on" in process.stderr.read()
        assert process.wait(30) == 128 + signal.SIGINT


@pytest.mark.parametrize("words", [[], ["--db", "seen"], ["--window", "1h"], ["--db", "seen", "--window", "1h"]],
                         ids=["plain", "db", "window", "both"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_pipe_is_idle(words, number, tmp_path):
    """The pipe stays open: nothing but the signal ends the wait."""
    for pause_s in [0.02, 0.11, 0.25]:
        with subprocess.Popen([BINARIES / "lethe", "dedup", *words], stdin=subprocess.PIPE, cwd=tmp_path,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(b"%r\n" % pause_s)
            process.stdin.flush()
            assert process.stdout.readline() == b"%r\n" % pause_s
            time.sleep(pause_s)
            process.send_signal(number)
            assert process.wait(30) == 128 + number


BAD = [
    (["--window", "1h", "--forever"], "--window and --forever cannot be used together"),
    (["--from-start"], "--from-start needs --db too"),
    (["--memory", "1MiB"], "--memory"),
    (["--error", "0.5"], "--error"),
    (["--error", "nan"], "--error"),
    (["--error", "1e-15", "--capacity", "1T"], "too small for 1.0T lines: "),
    (["--error", "1e-15"], "too small for 1.1G lines, the default of --capacity: "),
    (["--field", "0"], "--field"),
    (["--delimiter", "ab"], "--delimiter ab is not one character"),
]


@pytest.mark.parametrize("words,message", BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_options(words, message, lethe, tmp_path):
    answer = lethe("dedup", *words, stdin=b"a\n")
    assert (answer.returncode, answer.stdout) == (USAGE, b"") and message in answer.stderr.decode()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["--error", "1e-10"], ["--error", "1e-10", "--db", "d"], ["--error", "1e-15", "--db", "d"],
                                   ["--error", "1e-9", "--db", "d", "--window", "1h"],
                                   ["--error", "1e-9", "--db", "d", "--capacity", "1T"]], ids=" ".join)
def test_an_error_that_is_too_small(words, lethe, tmp_path):
    """What the message advises is accepted, either way, and what is a little beyond it is not."""
    message = lethe("dedup", *words, stdin=b"a\n").stderr.decode()
    assert not list(tmp_path.iterdir())
    least, most = re.search(r"allow (\S+) or more, or plan for fewer lines with --capacity, (\d+) at most", message).groups()
    for more, fits in ((["--error", least], True), (["--error", str(float(least) * 0.8)], False),
                       (["--capacity", most], True), (["--capacity", str(int(most) * 5 // 4)], False)):
        answer = lethe("dedup", "-q", *words, *more, stdin=b"a\n")
        assert (answer.returncode, answer.stdout) == ((DONE, b"a\n") if fits else (USAGE, b"")), (more, answer.stderr)
        shutil.rmtree(tmp_path / "d", ignore_errors=True)


def test_bad_places(tmp_path, lethe):
    (tmp_path / "in").write_bytes(b"a\n")
    answer = lethe("dedup", "missing")
    assert answer.returncode == ENVIRONMENT and b"missing" in answer.stderr
    answer = lethe("dedup", "--out", "in", "in")
    assert answer.returncode == USAGE and b"is one of the files to read" in answer.stderr
    answer = lethe("dedup", "--db", "in", stdin=b"a\n")
    assert answer.returncode in (BAD_DATA, ENVIRONMENT, USAGE) and b"in" in answer.stderr
    answer = lethe("dedup", "--out", "missing/out", "in")
    assert answer.returncode == ENVIRONMENT and b"make the folder that it is to be in" in answer.stderr
    assert lethe("dedup", "-q", "--db", "seen", "in").stdout == b"a\n"
    assert lethe("count", "-q", "--db", "counters", stdin=b"a\tk\n").returncode == DONE
    before = sorted(os.listdir(tmp_path / "counters"))
    answer = lethe("dedup", "--db", "counters", "in")
    assert answer.returncode == USAGE and b"has other files in it" in answer.stderr
    assert sorted(os.listdir(tmp_path / "counters")) == before
    with open(tmp_path / "seen" / "claim", "rb") as claim:
        fcntl.flock(claim, fcntl.LOCK_EX)
        answer = lethe("dedup", "--db", "seen", "in")
        assert answer.returncode == ENVIRONMENT and b"wait until it is done" in answer.stderr
    answer = lethe("dedup", "--db", "seen", "--error", "1e-3", "in")
    assert answer.returncode == USAGE and b"leave them out" in answer.stderr
    with open("/dev/full", "wb") as full:
        process = subprocess.run([BINARIES / "lethe", "dedup", "-q", "in"], stdout=full, stderr=subprocess.PIPE,
                                 cwd=tmp_path, check=False)
    assert process.returncode == ENVIRONMENT
    assert process.stderr == (b"lethe: cannot write standard output: No space left on device; make room or choose another "
                              b"place\n")
    for options in [[], ["--error", "1e-6"]]:
        answer = lethe("dedup", "--db", "in", *options, "in")
        assert answer.returncode == USAGE and answer.stderr == b"lethe: in is a file; name a folder\n"


def test_what_is_refused_leaves_no_store(tmp_path, lethe):
    (tmp_path / "in").write_bytes(b"a\n")
    (tmp_path / "folder").mkdir()
    for out in ("missing/out", "folder"):
        answer = lethe("dedup", "--db", "seen", "--out", out, "in")
        assert answer.returncode == ENVIRONMENT and b"cannot open " + out.encode() in answer.stderr
        assert not (tmp_path / "seen").exists()


@pytest.mark.parametrize("words", [[], ["--db", "seen"], ["--window", "1h"], ["--memory", "4MiB"]],
                         ids=" ".join)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=" ".join)
def test_lines_that_did_not_come_out_are_not_counted_as_printed(words, form, tmp_path, lethe):
    """How many came out is not known then, so that no number is given."""
    lines = b"".join(b"line %d\n" % number for number in range(300000))
    (tmp_path / "in").write_bytes(lines)
    for where in (["--out", "/dev/full"], []):
        with open("/dev/full", "wb") as full:
            answer = subprocess.run([BINARIES / "lethe", "dedup", *words, *form, *where, "in"],
                                    stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
        assert answer.returncode == ENVIRONMENT
        assert b"No space left on device" in answer.stderr and b"printed" not in answer.stderr
        shutil.rmtree(tmp_path / "seen", ignore_errors=True)


def test_a_damaged_store_is_refused(tmp_path, lethe):
    lines = text([b"%d" % i for i in range(200000)])
    assert lethe("dedup", "-q", "--db", "seen", "--memory", "4MiB", stdin=lines).returncode == DONE
    for name in sorted(os.listdir(tmp_path / "seen")):
        whole = (tmp_path / "seen" / name).read_bytes()
        third = len(whole) // 3
        for damaged in [whole[:len(whole) // 2], whole[:third] + b"\x55" + whole[third + 1:]]:
            if damaged == whole or name == "claim":
                continue
            shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
            shutil.copytree(tmp_path / "seen", tmp_path / "damaged")
            (tmp_path / "damaged" / name).write_bytes(damaged)
            answer = lethe("dedup", "-q", "--db", "damaged", "--memory", "4MiB", stdin=lines)
            # Either it is noticed, or the damage lies where nothing is kept any more.
            assert answer.returncode == BAD_DATA or answer.stdout == b"", (name, answer.stderr)
    assert lethe("dedup", "-q", "--db", "seen", "--memory", "4MiB", stdin=lines).stdout == b""
