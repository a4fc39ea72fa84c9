"""Goal: `lethe dedup` prints what `awk '!seen[$0]++'` prints, in little memory, over several runs and kills; and no
input or option ends it otherwise than with a message and the right exit status."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BINARIES
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


def test_lines_that_do_not_fit_into_memory_at_once(tmp_path, lethe):
    """Some million lines in 4 MiB: the fingerprints are on disk, and merged."""
    lines = [b"%d" % (i * 7919 % 1500007) for i in range(2000000)]
    (tmp_path / "in").write_bytes(text(lines))
    answer = lethe("dedup", "-q", "--memory", "4MiB", "--json", "in")
    summary = json.loads(answer.stderr)
    assert answer.stdout.split() == first_ones(lines)
    assert summary["lines"] == 2000000 and summary["printed"] == 1500007 and summary["disk_bytes"] > 1 << 20
    assert summary["expected_wrongly_dropped"] < 0.5


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
    assert answer.stdout == b"c\nunended\n"
    assert json.loads(answer.stderr)["resumed_at"] == 6
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
        try:
            # The first well before the end, so that there is one.
            patience = whole * (0.4 if kills == 0 else chance.random()) if kills < 12 else 120
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


BAD = [
    (["--window", "1h", "--forever"], "--window and --forever exclude each other"),
    (["--from-start"], "--from-start needs --db beside it"),
    (["--memory", "1MiB"], "--memory"),
    (["--error", "0.5"], "--error"),
    (["--error", "nan"], "--error"),
    (["--error", "1e-15", "--capacity", "1T"], "allow a larger --error"),
    (["--field", "0"], "--field"),
    (["--delimiter", "ab"], "--delimiter ab is not one character"),
]


@pytest.mark.parametrize("words,message", BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_options(words, message, lethe, tmp_path):
    answer = lethe("dedup", *words, stdin=b"a\n")
    assert (answer.returncode, answer.stdout) == (USAGE, b"") and message in answer.stderr.decode()
    assert not list(tmp_path.iterdir())


def test_bad_places(tmp_path, lethe):
    (tmp_path / "in").write_bytes(b"a\n")
    answer = lethe("dedup", "missing")
    assert answer.returncode == ENVIRONMENT and b"missing" in answer.stderr
    answer = lethe("dedup", "--out", "in", "in")
    assert answer.returncode == USAGE and b"is one of the files to read" in answer.stderr
    answer = lethe("dedup", "--db", "in", stdin=b"a\n")
    assert answer.returncode in (BAD_DATA, ENVIRONMENT, USAGE) and b"in" in answer.stderr
    assert lethe("dedup", "-q", "--db", "seen", "in").stdout == b"a\n"
    answer = lethe("dedup", "--db", "seen", "--error", "1e-3", "in")
    assert answer.returncode == USAGE and b"leave them out" in answer.stderr
    with open("/dev/full", "wb") as full:
        process = subprocess.run([BINARIES / "lethe", "dedup", "-q", "in"], stdout=full, stderr=subprocess.PIPE,
                                 cwd=tmp_path, check=False)
    assert process.returncode == ENVIRONMENT and b"standard output" in process.stderr


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
