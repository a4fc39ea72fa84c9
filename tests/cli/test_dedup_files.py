"""Goal:   `lethe dedup --db` delivers each line of a log once while others write to it, rotate it, and add lines to its --out
        as well.

Method: lethe that is blocked by a pipe that nobody reads, while files are changed; stores that write one file in turn; a killed
run's remains put into a file."""

import bz2
import gzip
import json
import os
import select
import shutil
import subprocess

import pytest

from conftest import BINARIES
from sizes import sized
from test_bad_input import BAD_DATA, DONE, ENVIRONMENT, USAGE


def numbered(name, count):
    return b"".join(b"%s line %d\n" % (name, i) for i in range(count))


@pytest.fixture
def dedup(lethe):
    def run(*words, code=DONE, db="d", **more):
        result = lethe("dedup", "-q", "--db", db, *words, **more)
        assert result.returncode == code, result.stderr
        return result
    return run


class Blocked:
    """lethe that has read all there is of its files, and prints more than a pipe holds."""

    def __init__(self, folder, *words):
        self.process = subprocess.Popen([BINARIES / "lethe", "dedup", "-q", "--db", "d", *words], cwd=folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.first = self.process.stdout.read(1000)

    def end(self):
        output, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == DONE, errors
        return self.first + output


# Lines that may be forgotten are not kept in memory: they are gathered, and files are read a second time to print them.
WAYS = pytest.mark.parametrize("way", [[], ["--window", "30d"]], ids=["kept", "gathered"])


@WAYS
@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["b", "a", "c"]], ids=len)
def test_files_that_grow_while_they_are_read(names, way, dedup, tmp_path):
    for name in names:
        (tmp_path / name).write_bytes(numbered(name.encode(), 20000))
    blocked = Blocked(tmp_path, *way, *names)
    for name in names:
        with open(tmp_path / name, "ab") as file:
            file.write(b"new " + numbered(name.encode(), 3000))
    first, second = blocked.end(), dedup(*names).stdout
    lines = (first + second).splitlines()
    # "new a line 0" is one line more than the others are duplicates of.
    expected = {line for name in names for line in (tmp_path / name).read_bytes().splitlines()}
    assert len(lines) == len(set(lines)) and set(lines) == expected
    assert dedup(*names).stdout == b""


@pytest.mark.parametrize("before,way", [([], []), ([], ["--window", "30d"]), (["before"], ["--window", "30d"])],
                         ids=["kept", "being printed", "not yet"])
def test_a_file_that_is_rotated_while_it_is_read(before, way, dedup, tmp_path):
    """The new file is not the one that was read, and not the one that is printed."""
    for name in [*before, "log"]:
        (tmp_path / name).write_bytes(numbered(b"old " + name.encode(), 20000))
    blocked = Blocked(tmp_path, *way, *before, "log")
    os.rename(tmp_path / "log", tmp_path / "log.1")
    (tmp_path / "log").write_bytes(numbered(b"new", 20000))
    with open(tmp_path / "log.1", "ab") as file:
        file.write(b"a last old line\n")
    printed = blocked.end()
    # What is kept in memory is printed while the file is read, so that the last line may already be there.
    assert printed in [b"".join(numbered(b"old " + name.encode(), 20000) for name in [*before, "log"]) + more
                       for more in ([b""] if way else [b"", b"a last old line\n"])]
    assert printed + dedup(*before, "log.1", "log").stdout == (
        b"".join(numbered(b"old " + name.encode(), 20000) for name in [*before, "log"]) +
        b"a last old line\n" + numbered(b"new", 20000))


def test_a_file_that_is_rotated_before_it_is_opened(dedup, tmp_path):
    """While lines are kept in memory, a file is opened when all before it are printed; over two runs nothing is lost."""
    (tmp_path / "before").write_bytes(numbered(b"before", 200000))
    (tmp_path / "log").write_bytes(numbered(b"old", 20000))
    blocked = Blocked(tmp_path, "before", "log")
    os.rename(tmp_path / "log", tmp_path / "log.1")
    (tmp_path / "log").write_bytes(numbered(b"new", 20000))
    assert blocked.end() == numbered(b"before", 200000) + numbered(b"new", 20000)
    assert dedup("before", "log.1", "log").stdout == numbered(b"old", 20000)


def test_a_file_that_is_named_twice_is_read_once(lethe, tmp_path):
    """What was noted about the files before is known when the next one is opened, although it is opened ahead."""
    (tmp_path / "a").write_bytes(numbered(b"a", 200000))
    (tmp_path / "b").write_bytes(numbered(b"b", 10))
    result = lethe("dedup", "-q", "--json", "--db", "d", "a", "b", "a")
    assert result.stdout == numbered(b"a", 200000) + numbered(b"b", 10)
    assert json.loads(result.stderr)["lines"] == 200010


@WAYS
def test_a_file_that_is_gone_when_it_is_printed(way, dedup, tmp_path):
    (tmp_path / "log").write_bytes(numbered(b"old", 20000))
    blocked = Blocked(tmp_path, *way, "log")
    os.unlink(tmp_path / "log")
    assert blocked.end() == numbered(b"old", 20000)


def test_more_files_than_are_kept_open(dedup, tmp_path):
    names = [f"f{i}" for i in range(200)]
    for name in names:
        (tmp_path / name).write_bytes(numbered(name.encode(), 3))
    assert dedup(*names).stdout == b"".join((tmp_path / name).read_bytes() for name in names)


def test_an_unended_line_is_left(dedup, tmp_path, lethe):
    """Until its newline comes; without --db nothing is remembered, and it is whole."""
    (tmp_path / "log").write_bytes(b"a\nunen")
    first = dedup("log")
    assert first.stdout == b"a\n" and b"no newline yet (4 bytes)" in first.stderr
    with open(tmp_path / "log", "ab") as file:
        file.write(b"ded\nrest")
    assert dedup("log").stdout == b"unended\n"
    assert dedup("--last-line", "log").stdout == b"rest\n"
    assert dedup("--last-line", "log").stdout == b""
    with open(tmp_path / "log", "ab") as file:
        file.write(b"\nb\n")
    assert dedup("log").stdout == b"b\n"
    assert dedup(db="e", stdin=b"a\nunended").stdout == b"a\nunended\n"
    (tmp_path / "log").write_bytes(b"a\nunended")
    assert lethe("dedup", "-q", "log").stdout == b"a\nunended\n"


def test_files_that_are_alike(dedup, tmp_path):
    """The same beginning, end and length: each is read, and only once."""
    names = []
    for number in range(12):
        lines = numbered(b"same", 1000).splitlines(keepends=True)
        lines[500] = b"line of %06d\n" % number
        (tmp_path / f"f{number}").write_bytes(b"".join(lines))
        names.append(f"f{number}")
    assert len(dedup(*names).stdout.splitlines()) == 999 + 12
    again = dedup("--json", *names)
    assert json.loads(again.stderr.splitlines()[-1])["lines"] == 0


def test_each_file_has_all_of_the_one_before(dedup, tmp_path):
    """Exports of everything so far: a later one goes on where an earlier one ended, and leaves it its mark. No line is read
    again, so none is printed again once it is forgotten."""
    for night in range(1, 6):
        (tmp_path / f"f{night}").write_bytes(b"".join(b"%d\n" % i for i in range(night * 1000)))
        names = [f"f{number}" for number in range(1, night + 1)]
        lines = dedup("--window", "1h", *names).stdout.count(b"\n")
        summary = json.loads(dedup("--window", "1h", "--json", *names).stderr)
        assert (lines, summary["lines"]) == (1000, 0), night


def test_what_was_read_belongs_to_its_field(dedup, tmp_path):
    (tmp_path / "log").write_bytes(b"a\tx\nb\tx\n")
    assert dedup("--field", "2", "log").stdout == b"a\tx\n"
    refused = dedup("--field", "1", "log", code=USAGE).stderr.decode()
    assert "--from-start" in refused and "give the same options again" in refused and "--field 2" in refused
    assert dedup("--field", "2", "log").stdout == b""
    assert dedup("--field", "1", "--from-start", "log").stdout == b"a\tx\nb\tx\n"


def test_stores_that_write_one_file(dedup, tmp_path):
    dedup("--out", "o", db="a", stdin=b"a1\na2\n")
    dedup("--out", "o", db="b", stdin=b"b1\nb2\na1\n")
    with open(tmp_path / "o", "ab") as file:
        file.write(b"by hand\n")
    dedup("--out", "o", db="a", stdin=b"a3\n")
    dedup("--out", "o", db="b", stdin=b"by hand\nb3\n")
    assert (tmp_path / "o").read_bytes() == b"a1\na2\nb1\nb2\na1\nby hand\na3\nby hand\nb3\n"


@pytest.mark.parametrize("left, expected", [
    (b"", b""),
    (b"1\n2\n", b""),
    (b"1\n2\n3\n4\n", b""),
    (b"1\n2\nby hand\n", b"by hand\n"),
    (b"1\nby hand\n2\nmore\n", b"by hand\nmore\n"),
    (b"by hand\n", b"by hand\n"),
    (b"1\n2", b""),
], ids=["nothing", "some", "all", "others behind", "others between", "others alone", "a torn line"])
def test_what_a_killed_run_left(left, expected, dedup, tmp_path):
    """Its store is as it was at the start of the run, and some of its lines are in --out. When they come again, each is there
    once, and what others added is still there."""
    dedup("--out", "o", stdin=b"0\n")
    with subprocess.Popen([BINARIES / "lethe", "dedup", "-q", "--db", "d", "--out", "o"], cwd=tmp_path,
                          stdin=subprocess.PIPE) as process:
        process.stdin.write(b"first\n")
        process.stdin.flush()
        while (tmp_path / "o").stat().st_size < len(b"0\nfirst\n"):
            assert process.poll() is None
        shutil.copytree(tmp_path / "d", tmp_path / "at work")
        process.kill()
    shutil.rmtree(tmp_path / "d")
    os.rename(tmp_path / "at work", tmp_path / "d")
    with open(tmp_path / "o", "ab") as file:
        file.write(left)
    dedup("--out", "o", stdin=b"first\n1\n2\n3\n4\n")
    found = (tmp_path / "o").read_bytes()
    assert sorted(found.splitlines()) == sorted(b"0\nfirst\n1\n2\n3\n4\n".splitlines() + expected.splitlines())
    dedup("--out", "o", stdin=b"1\n5\n")
    assert (tmp_path / "o").read_bytes() == found + b"5\n"


def test_a_torn_line_that_does_not_come_again(dedup, tmp_path):
    """It is neither left as a line nor cut off: somebody has to say."""
    dedup("--out", "o", stdin=b"0\n")
    with subprocess.Popen([BINARIES / "lethe", "dedup", "-q", "--db", "d", "--out", "o"], cwd=tmp_path,
                          stdin=subprocess.PIPE) as process:
        process.stdin.write(b"1\n")
        process.stdin.flush()
        while (tmp_path / "o").stat().st_size < 4:
            assert process.poll() is None
        process.kill()
    with open(tmp_path / "o", "ab") as file:
        file.write(b"torn li")
    refused = dedup("--out", "o", stdin=b"other\n", code=BAD_DATA)
    assert b"ends in the middle of a line" in refused.stderr
    assert (tmp_path / "o").read_bytes() == b"0\n1\ntorn li"


def test_a_line_of_others_that_has_no_newline_stays_a_line(dedup, tmp_path):
    (tmp_path / "o").write_bytes(b"unended")
    dedup("--out", "o", stdin=b"a\n")
    assert (tmp_path / "o").read_bytes() == b"unended\na\n"


@pytest.mark.parametrize("more", [[], ["--window", "30d"]], ids=["kept", "gathered"])
@pytest.mark.parametrize("way", ["out", "append"])
def test_lines_that_could_not_be_written_are_not_remembered(way, more, tmp_path):
    """A write fails while the input pauses: the next run has to print those lines."""
    (tmp_path / "out").write_bytes(b"x\n" * 5_000_000)
    lethe = [BINARIES / "lethe", "dedup", "-q", "--db", "seen", *(["--out", "out"] if way == "out" else []), *more]
    limit = ["bash", "-c", "trap '' XFSZ; ulimit -f $((10000000 / 1024)); exec \"$@\"", "bash"]
    with open(tmp_path / "out", "ab") as out:
        with subprocess.Popen([*limit, *lethe], cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL if way == "out" else out) as process:
            process.stdin.write(b"a\nb\n" + b"long" * 1000 + b"\n")
            process.stdin.flush()
            wait_until_it_says_something(process)
            process.stdin.close()
            assert process.wait() == ENVIRONMENT
    again = subprocess.run(lethe[:5], cwd=tmp_path, input=b"a\nb\n", stdout=subprocess.PIPE, check=True)
    assert again.stdout == b"a\nb\n"


def wait_until_it_says_something(process):
    assert select.select([process.stderr], [], [], 60)[0]


@WAYS
def test_two_growing_files_and_an_unended_line(way, tmp_path, dedup):
    """The reader that follows leaves the unended line of the first file where the first reader left it."""
    (tmp_path / "pa").write_text("".join(f"{number}\n" for number in range(100_000, 162_001)) + "partial")
    (tmp_path / "pb").write_text("".join(f"{number}\n" for number in range(200_000, 200_101)))
    assert len(dedup(*way, "--memory", "4MiB", "pa", "pb").stdout.splitlines()) == 62_001 + 101
    with open(tmp_path / "pa", "a", encoding="utf-8") as file:
        file.write(" line\n")
    assert dedup("--memory", "4MiB", "pa", "pb").stdout == b"partial line\n"


def resumed_at(lethe, *words):
    result = lethe("dedup", "--json", "--db", "d", *words)
    assert result.returncode == DONE and b"warning" not in result.stderr, result.stderr
    return result.stdout, json.loads(result.stderr)["resumed_at"]


def compressed(lines, ends=True):
    return gzip.compress(b"".join(b"line %d\n" % i for i in range(lines))[:None if ends else -1])


RUNS = 60  # more than there is room for marks


WAYS = ["grows", "has a copy without a newline", "has no newline at its end"]


@pytest.mark.parametrize("way", sized(WAYS[:2], WAYS, WAYS))
def test_a_compressed_file_keeps_its_mark(way, lethe, tmp_path):
    """With a window, too: marks of other files are not pushed out by run after run."""
    kept = numbered(b"kept", 1000)
    (tmp_path / "kept").write_bytes(kept)
    assert lethe("dedup", "-q", "--db", "d", "--window", "1h", "kept").stdout == kept
    path, copy = tmp_path / "f.gz", tmp_path / "g.gz"
    path.write_bytes(compressed(100, ends=way == "grows"))
    shutil.copy(path, copy)
    resumed_at(lethe, "f.gz")
    has_copy = way.startswith("has a copy")
    for run in range(2 * RUNS if has_copy else RUNS):  # each of the two is read so often
        if way == "grows":
            with open(path, "r+b") as file:
                file.write(compressed(101 + run))
        output, place = resumed_at(lethe, "g.gz" if has_copy and run % 2 == 0 else "f.gz")
        assert output == (b"line %d\n" % (100 + run) if way == "grows" else b"") and place > 0
    assert resumed_at(lethe, "kept") == (b"", len(kept))


@pytest.mark.parametrize("way", ["recompressed", "renamed", "copied", "as a text", "another format"])
def test_a_compressed_file_is_known_by_its_content(way, lethe, tmp_path):
    text = gzip.decompress(compressed(3000))
    path, name = tmp_path / "f.gz", "f.gz"
    path.write_bytes(gzip.compress(text, 9))
    resumed_at(lethe, "--window", "1h", "f.gz")
    if way == "recompressed":
        with open(path, "r+b") as file:
            file.write(gzip.compress(text, 1))
    elif way == "renamed":
        name = "g.gz"
        path.rename(tmp_path / name)
    elif way == "copied":
        name = "g.gz"
        shutil.copy(path, tmp_path / name)
    elif way == "as a text":
        with open(path, "r+b") as file:
            file.write(text)
    else:
        path.write_bytes(bz2.compress(text))
    assert resumed_at(lethe, name) == (b"", len(text))
    # What was replaced in place is read from its start, and so is what comes from a pipe.
    (tmp_path / name).write_bytes(gzip.compress(text[:5000] + b"X" + text[5001:]))
    output, place = resumed_at(lethe, name)
    assert output.count(b"\n") == 1 and place == 0
    result = lethe("dedup", "-q", "--db", "d", stdin=gzip.compress(text + b"more\n"))
    assert result.stdout == b"more\n"
