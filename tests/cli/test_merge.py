"""Goal:   several files whose events have times are counted as if they were one, sorted by time; what is late all the same
        is reported with its remedies; and a run that is refused has counted nothing.

Method: small files of each format, plain and compressed, with a short window."""

import bz2
import gzip
import os
import signal
import subprocess

import pytest

from conftest import BINARIES

DONE, USAGE, BAD_DATA, SKIPPED = 0, 2, 3, 5
START_MS = 1600000000000
FIELDS = ["--fields", "id=1,key=2,time=3", "--time-unit", "ms"]
TIMED = ["--window", "60s", *FIELDS]


@pytest.fixture
def totals(lethe):
    def run(db="d"):
        result = lethe("list", "--db", db)
        return {key: int(value) for key, value in (line.split("\t") for line in result.stdout.decode().splitlines())}
    return run


def line(name, number, at):
    return f"{name}-{number}\t{name}\t{START_MS + at}\n"


def hour(name, offset=0, count=600, step=6000):
    """Of an hour, an event every six seconds."""
    return "".join(line(name, i, offset + i * step) for i in range(count))


def test_logs_of_one_day(count, totals, tmp_path):
    """Two servers' logs. Each by itself, the second is late."""
    (tmp_path / "a").write_text(hour("a"))
    (tmp_path / "b").write_text(hour("b", 3000))
    summary = count(*TIMED, "a", "b")
    assert (summary["applied"], summary["late"]) == (1200, 0) and totals() == {"a": 600, "b": 600}
    assert count(*TIMED, "a", "b")["events"] == 0
    count(*TIMED, "a", db="e")
    summary = count(*TIMED, "b", db="e", code=SKIPPED)
    assert summary["late"] > 500
    for remedy in ("--window", "--forever", "--late count", "--late-out"):
        assert remedy in summary["messages"]


def test_every_kind_of_file(count, totals, tmp_path):
    """Columns in another order, compression, an empty file, one with a header alone, lines that are wrong, a last line
    without its newline."""
    def csv(name, order, offset):
        rows = [{"id": f"{name}-{i}", "key": name, "time": str(START_MS + offset + 6000 * i), "x": "1"} for i in range(600)]
        rows[5]["time"] = "yesterday"
        return "\n".join([",".join(order)] + [",".join(row[column] for column in order) for row in rows]).encode()
    (tmp_path / "a").write_bytes(csv("a", ["id", "key", "time"], 0) + b"\n")
    (tmp_path / "b").write_bytes(csv("b", ["x", "time", "key", "id"], 2000))
    (tmp_path / "c.gz").write_bytes(gzip.compress(csv("c", ["key", "id", "time"], 4000)))
    (tmp_path / "d.bz2").write_bytes(bz2.compress(csv("d", ["time", "key", "x", "id"], 4000)))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "header").write_bytes(b"id,key,time\n")
    words = ["--window", "60s", "--csv", "--fields", "id=id,key=key,time=time", "--time-unit", "ms", "a", "b", "c.gz", "d.bz2", "empty", "header"]
    summary = count(*words, code=SKIPPED)
    assert (summary["applied"], summary["late"], summary["unreadable"], summary["pending"]) == (2395, 0, 4, 1)
    assert totals() == {"a": 599, "b": 598, "c": 599, "d": 599}
    for name in ("a", "b", "c.gz", "d.bz2"):
        assert f"{name}:7: " in summary["messages"]
    assert "b:601: the last line has no newline" in summary["messages"]
    with open(tmp_path / "b", "ab") as file:
        file.write(b"\n")
    summary = count(*words)
    assert (summary["applied"], summary["pending"]) == (1, 0) and totals()["b"] == 599


def test_files_that_grow(count, totals, tmp_path):
    """Each goes on at its own mark."""
    for step in range(5):
        for name in "abc":
            with open(tmp_path / name, "a", encoding="ascii") as file:
                for i in range(step * 40, step * 40 + (40 if name != "b" or step % 2 else 0)):
                    file.write(line(name, i, i * 1000))
        summary = count(*TIMED, "a", "b", "c", *(["--batch", "7"] if step % 2 else []))
        assert (summary["applied"], summary["late"], summary["duplicates"]) == (120 if step % 2 else 80, 0, 0)
    assert totals() == {"a": 200, "b": 80, "c": 200}


def test_a_copy_among_the_files(count, totals, tmp_path):
    """What both have is counted once, and each has a mark of its own."""
    (tmp_path / "a").write_text(hour("a"))
    (tmp_path / "b").write_text(hour("a"))
    (tmp_path / "c").write_text(hour("c"))
    summary = count(*TIMED, "a", "b", "c")
    assert (summary["applied"], summary["duplicates"]) == (1200, 600)
    for name in "ab":
        with open(tmp_path / name, "a", encoding="ascii") as file:
            file.write(line(name, 1000, 3600000))
    summary = count(*TIMED, "a", "b", "c")
    assert summary["applied"] == 2 and summary["late"] == 0
    assert totals() == {"a": 601, "b": 1, "c": 600}


def test_two_files_that_agree_with_one_mark(count, totals, tmp_path):
    """All of it was late, so the mark may move with either; it moves with one, and the other gets its own."""
    (tmp_path / "a").write_text(hour("a"))
    (tmp_path / "b").write_text(hour("b", 0, 100, 100))
    (tmp_path / "c").write_text(hour("b", 0, 100, 100))
    count(*TIMED, "a")
    count(*TIMED, "b", code=SKIPPED)
    for name in "bc":
        with open(tmp_path / name, "a", encoding="ascii") as file:
            file.write(line(name, 1000, 3600000))
    assert count(*TIMED, "b", "c", code=SKIPPED)["applied"] == 2
    assert count(*TIMED, "b", "c")["events"] == 0 and totals() == {"a": 600, "b": 1, "c": 1}


def test_a_pipe_among_the_files(lethe, tmp_path):
    """Nothing is counted, and no store is made."""
    (tmp_path / "a").write_text(hour("a"))
    os.mkfifo(tmp_path / "pipe")
    for other in ("-", "pipe"):
        result = lethe("count", "--db", "d", *TIMED, "a", other, stdin=hour("b").encode())
        assert result.returncode == USAGE and b"a run of its own" in result.stderr
        assert not (tmp_path / "d").exists()
    # Alone, or without times, it is no matter.
    assert lethe("count", "--db", "d", *TIMED, "-", stdin=hour("b").encode()).returncode == DONE
    result = lethe("count", "--db", "e", "--fields", "id=1,key=2", "a", "-", stdin=hour("b").encode())
    assert result.returncode == DONE, result.stderr


def test_a_file_named_twice(lethe, tmp_path):
    (tmp_path / "a").write_text(hour("a"))
    os.link(tmp_path / "a", tmp_path / "b")
    for other in ("a", "b", "./a"):
        result = lethe("count", "--db", "d", *TIMED, "a", other)
        assert result.returncode == USAGE and b"name it once" in result.stderr and not (tmp_path / "d").exists()


def test_two_hundred_files(count, totals, tmp_path):
    """Rotated logs are read in their order, whatever the order of their names; of more than 64 at once some wait, and it is
    said."""
    for i in range(200):
        (tmp_path / f"r{i}").write_text(hour(f"k{i % 3}-{i}", (199 - i) * 100000, 10, 1000))
    summary = count(*TIMED, *(f"r{i}" for i in range(200)))
    assert (summary["applied"], summary["late"]) == (2000, 0) and "wait" not in summary["messages"]
    for i in range(200):
        (tmp_path / f"s{i}").write_text(hour(f"s{i}", i, 10, 1000))
    names = [f"s{i}" for i in range(200)]
    summary = count(*TIMED, *names, db="e")
    assert (summary["applied"], summary["late"]) == (2000, 0)  # the window is longer than all of it
    assert summary["messages"].count("136 wait until one ends") == 1
    summary = count(*FIELDS, "--window", "5s", *names, db="f", code=SKIPPED)
    assert summary["events"] == 2000 and summary["late"] > 0 and len(totals("f")) >= 64


def test_times_that_are_far_ahead(count, totals, tmp_path):
    """An event that is refused as future does not hold back what follows it in its file, until that is late."""
    ahead = "x-%d\tx\t32503680000000\n"
    for name in "abc":
        lines = hour(name).splitlines(keepends=True)
        if name != "a":
            lines[300:300] = [ahead % ord(name)]
        if name == "c":
            lines[0:0] = [ahead % 1, ahead % 2]
        (tmp_path / name).write_text("".join(lines))
    summary = count(*TIMED, "c", "a", "b", code=SKIPPED)
    assert (summary["applied"], summary["late"], summary["future"]) == (1800, 0, 4)
    assert totals() == {"a": 600, "b": 600, "c": 600}


def test_stops_at_a_wrong_line(count, totals, tmp_path):
    (tmp_path / "a").write_text(hour("a"))
    lines = hour("b", 3000).splitlines(keepends=True)
    (tmp_path / "b").write_text("".join(lines[:100] + ["wrong\n"] + lines[100:]))
    summary = count(*TIMED, "--on-error", "stop", "a", "b", code=BAD_DATA)
    assert "b:101: " in summary["messages"] and totals() == {"a": 100, "b": 100}
    summary = count(*TIMED, "a", "b", code=SKIPPED)
    assert (summary["applied"], summary["unreadable"], summary["late"]) == (1000, 1, 0)


def test_open_quotes_met_by_the_survey(count, tmp_path):
    """Nothing is counted yet, and that is what is reported."""
    words = ["--csv", "--fields", "id=1,key=2,time=3", "--time-unit", "s", "--last-line"]
    (tmp_path / "a").write_text("1,k,1600000000\n")
    (tmp_path / "b").write_text('wrong\n"2,k,1600000000\n')
    summary = count(*words, "a", "b", code=BAD_DATA)
    assert "b:2: a quoted field" in summary["messages"] and "nothing of this run is counted" in summary["messages"]
    (tmp_path / "b").write_text('2,k,1600000000\n"3,k,1600000000\n')
    summary = count(*words, "a", "b", code=BAD_DATA)
    assert "all records before it are counted" in summary["messages"] and summary["applied"] == 2


def test_from_start_and_late_out(count, totals, tmp_path):
    (tmp_path / "a").write_text(hour("a", 0, 20, 1000))
    (tmp_path / "b").write_text(hour("b", 500, 20, 1000) + line("x", 1, -100000))
    summary = count(*TIMED, "--late-out", "late", "a", "b", code=SKIPPED)
    assert (summary["applied"], summary["late"]) == (40, 1)
    assert (tmp_path / "late").read_text() == line("x", 1, -100000)
    summary = count(*TIMED, "--from-start", "a", "b", code=SKIPPED)
    assert (summary["duplicates"], summary["late"]) == (40, 1)
    summary = count(*TIMED, "--late", "count", "late")
    assert (summary["applied"], summary["applied_late"]) == (1, 1) and totals() == {"a": 20, "b": 20, "x": 1}


def test_late_count_reads_what_was_all_late(count, totals, tmp_path):
    """A forgotten log: at first all of it is late, then it is counted, once."""
    (tmp_path / "a").write_text(hour("a"))
    (tmp_path / "b").write_text(hour("b", 0, 100, 100))
    count(*TIMED, "a")
    assert count(*TIMED, "b", code=SKIPPED)["late"] == 100
    summary = count(*TIMED, "--late", "count", "b")
    assert (summary["applied"], summary["applied_late"]) == (100, 100)
    assert count(*TIMED, "--late", "count", "b")["events"] == 0
    # What was counted and is forgotten must not be counted again by mistake.
    summary = count(*TIMED, "--late", "count", "--from-start", "b", "a", code=USAGE)
    assert "leave one of the two out" in summary["messages"] and totals() == {"a": 600, "b": 100}


def test_a_refused_file_leaves_the_others_uncounted(lethe, tmp_path):
    """The second file was read in another manner: nothing of the first is counted, with times or without, nor printed by
    dedup."""
    (tmp_path / "a").write_text(hour("a"))
    (tmp_path / "b").write_text(hour("b"))
    for words, other in ((FIELDS, [*FIELDS[:2], "--time-unit", "us"]), (["--fields", "id=1,key=2"], ["--fields", "id=2,key=1"])):
        assert lethe("count", "--db", "d", *words, "b").returncode == DONE
        result = lethe("count", "--db", "d", *other, "a", "b")
        assert result.returncode == USAGE and b"b was read up to byte" in result.stderr
        assert lethe("list", "--db", "d").stdout == b"b\t600\n"
        subprocess.run(["rm", "-r", tmp_path / "d"], check=True)
    assert lethe("dedup", "--db", "e", "b").returncode == DONE
    result = lethe("dedup", "--db", "e", "--field", "2", "a", "b")
    assert result.returncode == USAGE and result.stdout == b"" and b"b was read with" in result.stderr
    assert lethe("dedup", "--db", "e", "a", "b").stdout == (tmp_path / "a").read_bytes()


def test_interrupted(lethe, totals, tmp_path):
    """At any moment; the next run goes on in each file."""
    names = [f"f{i}" for i in range(8)]
    for i, name in enumerate(names):
        (tmp_path / name).write_text("".join(line(name, j, i + j * 100) for j in range(20000)))
    for wait in (0.02, 0.1, 0.2, 0.4):
        process = subprocess.Popen([BINARIES / "lethe", "count", "--db", "d", "-q", "--window", "10s", *FIELDS, *names],
                                   cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        assert process.returncode in (DONE, 128 + signal.SIGINT, -signal.SIGINT)
    result = lethe("count", "--db", "d", "--json", "--window", "10s", *FIELDS, *names)
    assert result.returncode == DONE, result.stderr
    assert totals() == {name: 20000 for name in names}
