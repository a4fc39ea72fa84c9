"""Goal:   of each file every event is counted once, however the file grew, was copied, replaced, rotated or read before;
        nothing is skipped without a word; and a wrong command can be corrected.

Method: small files of each format, plain and compressed, read again and again with and without changes."""

import bz2
import gzip
import json
import os
import shutil
import subprocess

import pytest

from conftest import BINARIES

DONE, USAGE, BAD_DATA, SKIPPED = 0, 2, 3, 5
FORMATS = {
    "plain": ([], b"", lambda i: b"id-%06d\tk\t1\n" % i),
    "csv": (["--csv"], b"", lambda i: b'id-%06d,"k",1\r\n' % i),
    "csv header": (["--csv", "--fields", "id=i,key=k,delta=d"], b"i,k,d,%s\n" % (b"column," * 800),
                   lambda i: b"id-%06d,k,1,\n" % i),
    "jsonl": (["--jsonl"], b"", lambda i: b'{"id": "id-%06d", "key": "k"}\n' % i),
}


@pytest.fixture
def total(lethe):
    def run(key="k", db="d"):
        result = lethe("get", "-q", "--db", db, key)
        return int(result.stdout.split(b"\t")[1]) if result.stdout else 0
    return run


@pytest.fixture(params=FORMATS)
def form(request):
    return FORMATS[request.param]


def write(path, data, packed):
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)


@pytest.mark.parametrize("packed", [False, True], ids=["plain file", "gzip"])
def test_files_that_are_alike(form, packed, count, total, tmp_path):
    """They share a long beginning, their end and their length, and differ in the middle. None is taken for another, and each is
    recognised, also under another name and after it was copied."""
    options, header, line = form
    same = [line(i) for i in range(1000)]
    names = []
    for number in range(12):
        lines = list(same)
        lines[500] = line(100000 + number)
        write(tmp_path / f"f{number}", header + b"".join(lines), packed)
        names.append(f"f{number}")
    assert count(*options, *names)["applied"] == 1000 + 11
    for number in range(0, 12, 2):
        os.rename(tmp_path / f"f{number}", tmp_path / f"g{number}")
        shutil.copy(tmp_path / f"g{number}", tmp_path / f"f{number}")
    again = count(*options, *names)
    assert (again["events"], again["messages"].count("warning")) == (0, 0), again["messages"]
    assert count(*options, *names, "--from-start")["duplicates"] == 12000
    assert total() == 1011


@pytest.mark.parametrize("way", ["in place", "another inode", "touched"])
def test_another_middle(way, count, tmp_path):
    path = tmp_path / "f"
    lines = [b"id-%06d\tk\t1\n" % i for i in range(1000)]
    path.write_bytes(b"".join(lines))
    count("f")
    lines[500] = b"id-new000\tk\t1\n"
    if way == "another inode":
        path.unlink()
    if way != "touched":
        path.write_bytes(b"".join(lines))
    os.utime(path, ns=(1, 1))
    summary = count("f")
    assert summary["applied"] == (0 if way == "touched" else 1)
    assert ("replaced" in summary["messages"]) == (way != "touched")


@pytest.mark.parametrize("packed", [False, True], ids=["plain file", "gzip"])
def test_a_file_that_grows(form, packed, count, total, tmp_path):
    """By whole lines, and at last by a piece of a line."""
    options, header, line = form
    data = header
    for number in range(3):
        for i in range(number * 300, number * 300 + 300):
            data += line(i)
        write(tmp_path / f"f{number % 2}", data, packed)
        summary = count(*options, f"f{number % 2}")
        assert (summary["events"], summary["pending"]) == (300, 0)
    write(tmp_path / "f", data + line(5000)[:-1], packed)
    summary = count(*options, "f")
    assert (summary["applied"], summary["pending"]) == ((1, 0) if packed else (0, 1))
    assert ("--last-line" in summary["messages"]) != packed
    assert total() == 900 + packed


@pytest.mark.parametrize("packed", [False, True], ids=["plain file", "gzip"])
def test_each_file_has_all_of_the_one_before(form, packed, count, total, tmp_path):
    """Nightly exports of everything so far: a later one goes on where an earlier one ended, and leaves it its mark. No night
    reads anything again, so it does not matter how long ago the ids have left the window."""
    options, header, line = form
    for night in range(1, 6):
        data = header + b"".join(line(i) for i in range(night * 300))
        write(tmp_path / f"f{night}", data, packed)
        names = [f"f{number}" for number in range(1, night + 1)]
        summary = count(*options, *(reversed(names) if night == 4 else names))
        assert (summary["applied"], summary["duplicates"]) == (300, 0), (night, summary)
    assert total() == 1500


def rewrite(path, data):
    """In place: the file keeps its inode."""
    with open(path, "r+b") as file:
        file.write(data)
        file.truncate()


def lines_of(*numbers):
    return b"".join(b"id-%06d\tk\t1\n" % i for i in range(*numbers))


@pytest.fixture
def marks(lethe):
    def run(db="d"):
        return json.loads(lethe("check", "--json", "--db", db).stdout)["marks"]
    return run


def test_a_compressed_file_has_one_mark(count, total, marks, tmp_path):
    """However often it grows: by members at its end, or compressed as a whole."""
    path = tmp_path / "f.gz"
    path.write_bytes(b"")
    for night in range(6):
        if night % 2 == 0:
            with open(path, "ab") as file:
                file.write(gzip.compress(lines_of(night * 300, night * 300 + 300)))
        else:
            rewrite(path, gzip.compress(lines_of(night * 300 + 300), night))
        summary = count("f.gz")
        assert (summary["applied"], summary["duplicates"], summary["messages"].count("warning")) == (300, 0, 0)
        assert marks() == 1
    # Compressed in another way, renamed, copied, through a pipe, as a text.
    rewrite(path, gzip.compress(lines_of(1800), 1))
    os.rename(path, tmp_path / "g.gz")
    shutil.copy(tmp_path / "g.gz", path)
    (tmp_path / "f.bz2").write_bytes(bz2.compress(lines_of(1800)))
    (tmp_path / "f").write_bytes(lines_of(1800))
    for name in ("g.gz", "f.gz", "f.bz2", "f"):
        assert count(name)["events"] == 0
    piped = count(stdin=gzip.compress(lines_of(1800)))
    assert (piped["applied"], piped["duplicates"], piped["resumed_at"]) == (0, 1800, 0)
    assert total() == 1800 and marks() == 1


@pytest.mark.parametrize("way", ["in place", "another inode"])
def test_a_compressed_file_that_is_replaced(way, count, total, marks, tmp_path):
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(lines_of(1000)))
    count("f.gz")
    lines = lines_of(1000).splitlines(keepends=True)
    lines[500] = b"id-new000\tk\t1\n"
    if way == "another inode":
        path.rename(tmp_path / "old.gz")
        path.write_bytes(b"")
    rewrite(path, gzip.compress(b"".join(lines)))
    summary = count("f.gz")
    assert (summary["applied"], summary["duplicates"]) == (1, 999) and "replaced" in summary["messages"]
    assert (marks(), total()) == (2, 1001)
    if way == "another inode":
        assert count("old.gz", "f.gz")["events"] == 0


def test_a_text_that_is_written_over_a_compressed_file(count, total, marks, tmp_path):
    """It has the inode of the compressed file, and is longer; but its middle is another."""
    path = tmp_path / "f"
    path.write_bytes(gzip.compress(lines_of(1000)))
    count("f")
    lines = lines_of(1000).splitlines(keepends=True)
    lines[500] = b"id-new000\tk\t1\n"
    rewrite(path, b"".join(lines))
    assert count("f")["applied"] == 1
    assert (marks(), total()) == (2, 1001)


def test_a_longer_compressed_file_leaves_the_shorter_its_mark(count, total, marks, tmp_path):
    for night in range(3):
        (tmp_path / f"f{night}.gz").write_bytes(gzip.compress(lines_of(300 * night + 300)))
        assert count(f"f{night}.gz")["applied"] == 300
        assert marks() == night + 1
    assert count("f2.gz", "f1.gz", "f0.gz")["events"] == 0
    assert total() == 900


def test_a_list_of_late_events_is_counted(count, total, tmp_path):
    """Where all events of a file were late, their list has the same content. It is another file, of which nothing was counted."""
    timed = ["--fields", "id=1,key=2,time=3", "--time-unit", "ms"]
    day_ms = 86400000
    (tmp_path / "today").write_bytes(b"a\tk\t%d\n" % (100 * day_ms))
    (tmp_path / "old").write_bytes(b"".join(b"b%d\tk\t%d\n" % (i, 90 * day_ms + i) for i in range(9)))
    count(*timed, "today")
    assert count(*timed, "--late-out", "late", "old", code=SKIPPED)["late"] == 9
    assert count(*timed, "--late-out", "late", "old")["events"] == 0
    assert (tmp_path / "late").read_bytes() == (tmp_path / "old").read_bytes()
    assert count(*timed, "--window", "30d", "late")["applied"] == 9
    assert count(*timed, "late", "old")["events"] == 0
    assert total() == 10


@pytest.mark.parametrize("how", ["grows", "--last-line", "pipe", "standard input"])
def test_a_last_line_without_its_newline(how, form, count, total, lethe, tmp_path):
    options, header, line = form
    whole = header + line(1) + line(2)
    (tmp_path / "f").write_bytes(whole[:-len(line(2)) + 12])
    first = count(*options, "f")
    assert (first["events"], first["pending"], total()) == (1, 1, 1)
    ended = whole.rstrip(b"\r\n")
    (tmp_path / "f").write_bytes(ended)
    if how == "pipe":
        second = count(*options, stdin=ended)
        assert (second["applied"], second["pending"]) == (1, 0)
    elif how == "standard input":
        with open(tmp_path / "f", "rb") as file:
            result = subprocess.run([BINARIES / "lethe", "count", "--db", "d", "--json", *options], stdin=file, check=False,
                                    cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert result.returncode == DONE and b"no newline yet" in result.stderr
        assert json.loads(result.stdout)["pending"] == 1
        return
    elif how == "--last-line":
        second = count(*options, "--last-line", "f")
        assert (second["applied"], second["pending"]) == (1, 0)
        # Only its newline has come, and then another.
        (tmp_path / "f").write_bytes(whole + line(3))
        assert count(*options, "f")["applied"] == 1
    else:
        (tmp_path / "f").write_bytes(whole)
        second = count(*options, "f")
        assert (second["applied"], second["duplicates"], second["pending"]) == (1, 0, 0)
    assert lethe("list", "--db", "d").stdout.count(b"\n") == 1, "no key is cut"


def test_a_quoted_field_that_does_not_end(count, total, tmp_path):
    """It may end in what comes; if it does not, lines after it are not skipped without a word."""
    (tmp_path / "f").write_bytes(b'a,k\nb,"k\nc,k\n')
    first = count("--csv", "f")
    assert (first["applied"], first["pending"], first["unreadable"]) == (1, 1, 0)
    assert "f:2: a quoted field does not end; 9 bytes from this line on are not counted" in first["messages"]
    (tmp_path / "g").write_bytes(b'a,k\nb,"k\nc,k\n",5\n')
    assert count("--csv", "g")["applied"] == 1
    last = count("--csv", "--last-line", "f", code=BAD_DATA)
    assert "f:2: a quoted field that begins in this line does not end" in last["messages"]
    assert total() == 1


@pytest.mark.parametrize("size, code", [((32 << 10) - 1, DONE), (32 << 10, SKIPPED)], ids=["shorter", "longer"])
def test_a_record_that_is_being_written_is_pending(size, code, count, total, tmp_path):
    """A stray quote holds back much, and nobody may notice; a field of a few lines is all right."""
    record = b'b,"' + b"x\n" * (size // 2)
    record = record[:size - 1] + b"\n"
    (tmp_path / "f").write_bytes(b"a,k\n" + record)
    fields = ["--csv", "--fields", "id=1,key=:k"]
    for applied in 1, 0:
        run = count(*fields, "f", code=code)
        assert (run["applied"], run["pending"], run["unreadable"]) == (applied, 1, 0)
        assert f"f:2: a quoted field does not end; {size} bytes" in run["messages"]
        assert ("32 KiB or more are pending" in run["messages"]) == (code == SKIPPED)
        assert "skipped" not in run["messages"]
    with open(tmp_path / "f", "ab") as file:
        file.write(b'y",1\n')
    last = count(*fields, "f")
    assert (last["applied"], last["pending"], total()) == (1, 0, 2)


@pytest.mark.parametrize("lines", [10, 200000], ids=["short", "more than 1 MiB"])
@pytest.mark.parametrize("way", ["file", "gzip", "growing"])
def test_quotes_that_never_end_are_mended(way, lines, count, total, tmp_path):
    """Nothing inside them is counted, and the mended file is read on from before them."""
    head, inside = b"".join(b"h%d,k\n" % i for i in range(3000)), b"".join(b"i%d,k\n" % i for i in range(lines))
    name, options = ("f.gz", []) if way == "gzip" else ("f", ["--last-line"] if way == "file" else [])
    def write(middle):
        data = head + middle + inside
        (tmp_path / name).write_bytes(gzip.compress(data) if way == "gzip" else data)
    write(b'x,k,1,y,"1\n')
    for applied in 3000, 0:  # the second run finds the same again
        first = count("--csv", *options, name, code=BAD_DATA if way != "growing" else SKIPPED if lines > 10 else DONE)
        assert first.get("applied", applied) == applied and total() == 3000
        assert f"{name}:3001: " in first["messages"] and "quotes" in first["messages"], first["messages"]
    write(b'x,k,1,y,"1"\n')
    mended = count("--csv", *options, name)
    assert (mended["applied"], mended["duplicates"], mended["resumed_at"]) == (lines + 1, 0, len(head))
    assert total() == 3000 + lines + 1


@pytest.mark.parametrize("empty", [b"\n", b"\r\n", b"\xef\xbb\xbf\n"], ids=["LF", "CRLF", "byte order mark"])
@pytest.mark.parametrize("options", [[], ["--last-line"], ["--csv"]], ids=" ".join)
def test_an_empty_line(options, empty, count, tmp_path):
    """At the end it is passed over; in the middle it is unreadable, whether the file was read before it grew or not."""
    line = b"%c,k\n" if options == ["--csv"] else b"%c\tk\n"
    (tmp_path / "f").write_bytes(line % b"a" + empty)
    for applied in 1, 0:
        run = count(*options, "f")
        assert (run["events"], run["applied"], run["pending"]) == (applied, applied, 0)
        assert "warning" not in run["messages"]
    with open(tmp_path / "f", "ab") as file:
        file.write(line % b"b" + empty)
    run = count(*options, "f", code=SKIPPED)
    assert (run["applied"], run["unreadable"]) == (1, 1) and "f:2: the line is empty" in run["messages"]
    assert count(*options, "f")["events"] == 0
    whole = count(*options, "f", db="e", code=SKIPPED)
    assert (whole["applied"], whole["unreadable"]) == (2, 1)


def test_a_long_line_is_unreadable_once(count, total, tmp_path):
    """Also if its end comes only later."""
    (tmp_path / "f").write_bytes(b"a\tk\n" + b"x" * (3 << 20))
    assert count("f", code=SKIPPED)["unreadable"] == 1
    with open(tmp_path / "f", "ab") as file:
        file.write(b"yyy\nb\tk\n")
    assert count("f")["applied"] == 1
    assert total() == 2


# A wrong command, what it makes of the lines, and the right one.
CORRECTED = {
    "format": (["f"], b"a,k,1\nb,k,1\n", ["--csv", "f"]),
    "fields": (["--fields", "id=1,key=2,delta=3", "f"], b"a\t5\tk\nb\t5\tk\n", ["--fields", "id=1,key=3,delta=2", "f"]),
    "times": (["--fields", "id=1,key=2,time=3", "f"], b"a\tk\tnow\t1700000000000\nb\tk\tnow\t1700000000001\n",
              ["--fields", "id=1,key=2,time=4", "f"]),
    "members": (["--jsonl", "--fields", "id=i,key=key", "f"], b'{"id":"a","key":"k"}\n{"id":"b","key":"k"}\n',
                ["--jsonl", "f"]),
}


@pytest.mark.parametrize("wrong, lines, right", CORRECTED.values(), ids=CORRECTED)
def test_a_wrong_command_can_be_corrected(wrong, lines, right, count, tmp_path):
    """All lines are unreadable: that is said, and the corrected command counts them."""
    (tmp_path / "f").write_bytes(lines)
    first = count(*wrong, code=SKIPPED)
    assert (first["applied"], first["unreadable"]) == (0, 2)
    second = count(*right)
    assert (second["applied"], second["resumed_at"]) == (2, 0)
    assert count(*right)["events"] == 0


def test_events_that_were_all_late_were_not_counted(count, tmp_path):
    """The times were in seconds: every event was late. What is read now is not bound to that."""
    (tmp_path / "clock").write_bytes(b"z\tother\t1700000000000\n")
    (tmp_path / "f").write_bytes(b"a\tk\t1700000000\t1700000000000\nb\tk\t1700000000\t1700000000001\n")
    count("--fields", "id=1,key=2,time=3", "--time-unit", "ms", "clock")
    assert count("--fields", "id=1,key=2,time=3", "--time-unit", "ms", "f", code=SKIPPED)["late"] == 2
    assert count("--fields", "id=1,key=2,time=4", "--time-unit", "ms", "f")["applied"] == 2


def test_what_was_counted_belongs_to_its_format(count, total, tmp_path):
    (tmp_path / "f").write_bytes(b"a\tb\nc\td\n")
    count("f")
    refused = count("--fields", "id=2,key=1", "f", code=USAGE)
    assert "--from-start" in refused["messages"] and "give the same options again" in refused["messages"]
    assert "neither --csv nor --jsonl nor --fields" in refused["messages"]
    assert "--fields id=2,key=1" in refused["messages"]
    assert total("a") == 0 and count("f")["events"] == 0
    assert count("--fields", "id=2,key=1", "--from-start", "f")["applied"] == 2
    # Now it belongs to that one, in whatever order it is given.
    assert count("--fields", "key=1,id=2", "f")["events"] == 0
    count("f", code=USAGE)


def test_a_mark_from_the_start_keeps_what_was_counted(count, tmp_path):
    """Some events were counted; a wrong run from the start finds all lines unreadable. That does not make the file a new one."""
    (tmp_path / "f").write_bytes(b"a,k\nb,k\n")
    count("--csv", "f")
    assert count("--from-start", "f", code=SKIPPED)["unreadable"] == 2
    count("--csv", "f", code=USAGE)
    assert count("--csv", "--from-start", "f")["duplicates"] == 2


def test_a_file_that_is_rotated_while_it_is_read(count, total, tmp_path):
    """The file is the one that was opened, whatever has its name then. A signal ends the reading in the middle."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "log").write_bytes(b"".join(b"old-%d\tk\n" % i for i in range(1000)))
    with subprocess.Popen([BINARIES / "lethe", "count", "--db", "d", "-q", "--sync", "always", "log", "pipe"], cwd=tmp_path,
                          stderr=subprocess.PIPE) as process:
        with open(tmp_path / "pipe", "wb") as pipe:  # the first file has been opened then, or will be soon
            os.rename(tmp_path / "log", tmp_path / "log.1")
            pipe.write(b"x\tother\n")
        process.communicate(timeout=60)
    (tmp_path / "log").write_bytes(b"".join(b"new-%d\tk\n" % i for i in range(1000)))
    count("log.1", "log")
    assert total() == 2000


EXITS = {
    "applied": ([], b"a\tk\n", DONE),
    "duplicates": ([], b"a\tk\na\tk\n", DONE),
    "unreadable": ([], b"a\tk\nb\n", SKIPPED),
    "overflow": ([], b"a\tk\t9223372036854775807\nb\tk\n", SKIPPED),
    "mismatched": (["--check-payload"], b"a\tk\na\tk\t2\n", SKIPPED),
    "limited": (["--limit", "1"], b"a\tk\nb\tk\n", SKIPPED),
    "late": (["--window", "1m", "--fields", "id=1,key=2,time=3", "--time-unit", "ms"],
             b"a\tk\t1000000\nb\tk\t2000000\nc\tk\t2000001\nd\tk\t1000000\n", SKIPPED),
    "future": (["--fields", "id=1,key=2,time=3", "--time-unit", "ms"], b"a\tk\t1000000\nb\tk\t2999-01-01T00:00:00Z\n", SKIPPED),
    "stopped": (["--on-error", "stop"], b"a\tk\nb\n", BAD_DATA),
}


@pytest.mark.parametrize("way", ["file", "pipe"])
@pytest.mark.parametrize("outcome", EXITS)
def test_exit_codes(outcome, way, lethe, tmp_path):
    """Each outcome has its exit code, and is in the summary and in the message under its one name."""
    words, lines, code = EXITS[outcome]
    (tmp_path / "f").write_bytes(lines)
    result = lethe("count", "--db", "d", "-q", "--json", *words, *(["f"] if way == "file" else []),
                   stdin=b"" if way == "file" else lines)
    assert result.returncode == code, result.stderr
    assert (b"skipped" in result.stderr) == (code == SKIPPED)
    if outcome != "stopped":
        assert json.loads(result.stdout)[outcome] == 1
        assert (f"(1 {outcome})".encode() in result.stderr) == (code == SKIPPED)
