"""Goal: files as they are met are counted right: what can be read is, and the rest is reported by its line.

Method: the corpus of tests/data, each file read from its place, through a pipe, and compressed; then again, which must add
nothing. What a mark is bound to, what a wrong column name leaves behind, and input that is not text."""

import gzip
import json
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "data"))
from corpus import CASES, FOLDER  # noqa: E402

DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT, SKIPPED = range(6)


def listed(lethe, folder="d"):
    lines = lethe("list", "--db", folder).stdout.decode(errors="surrogateescape").splitlines()
    return {key: int(value) for key, value in (line.split("\t") for line in lines)}


@pytest.mark.parametrize("way", ["file", "pipe", "compressed"])
@pytest.mark.parametrize("name", CASES)
def test_corpus(name, way, lethe, tmp_path):
    case = CASES[name]
    data = (FOLDER / name).read_bytes()
    operands, stdin = [], b""
    if way == "pipe":
        stdin = data
    else:
        operands = [name]
        (tmp_path / name).write_bytes(data if way == "file" else gzip.compress(data))
    words = ["count", "--db", "d", "--json", "--last-line", *case.words, *operands]
    result = lethe(*words, stdin=stdin)
    assert result.returncode == (DONE if case.is_clean() else SKIPPED), result.stderr
    summary = json.loads(result.stdout)
    assert (summary["applied"], summary["duplicates"], summary["unreadable"]) == \
        (case.applied, case.duplicates, case.unreadable), result.stderr
    assert summary["events"] == case.applied + case.duplicates + case.unreadable
    assert listed(lethe) == case.totals
    warning = case.warning if way != "pipe" else case.warning.replace(name, "standard input")
    assert result.stderr.decode().count("by its size") == (1 if warning else 0) and warning in result.stderr.decode()
    result = lethe(*words, stdin=stdin)
    assert json.loads(result.stdout)["applied"] == 0
    assert listed(lethe) == case.totals


@pytest.mark.parametrize("way", ["file", "second file", "pipe"])
@pytest.mark.parametrize("words, data", [
    (["--csv", "--fields", "id=id,key=pag"], b"id,page\n1,a\n"),
    (["--csv", "--fields", "id=id,key=page"], b"id;page\n1;a\n"),
    (["--csv", "--delimiter", ";", "--fields", "id=id,key=page"], b"id,page\n1,a\n"),
    (["--fields", "id=id,key=pag"], b"id\tpage\n1\ta\n")])
def test_a_wrong_column_name_creates_nothing(words, data, way, lethe, tmp_path):
    (tmp_path / "good").write_bytes(words[-1].replace("id=", "").replace("key=", "").replace(
        ",", {"--fields": "\t"}.get(words[0], ";" if ";" in words else ",")).encode() + b"\n")
    (tmp_path / "f").write_bytes(data)
    files = {"file": ["f"], "second file": ["good", "f"], "pipe": []}[way]
    before = sorted(tmp_path.iterdir())
    result = lethe("count", "--db", "new", *words, *files, stdin=data if way == "pipe" else b"")
    assert result.returncode == BAD_DATA, result.stderr
    assert b":1: the header, 'id" in result.stderr
    assert sorted(tmp_path.iterdir()) == before


MANNERS = {
    "delimiter": (["--csv"], ["--csv", "--delimiter", ";"], b"a,k;l\n"),
    "strict": ([], ["--strict"], b"a\tk\t1\n"),
    "joined": (["--fields", "id=1,key=2"], ["--fields", "id=1,id=3,key=2"], b"a\tk\t1\n"),
    "several keys": (["--fields", "id=1,key=2"], ["--fields", "id=1,key=2,key=3"], b"a\tk\tl\n"),
    "literal": (["--fields", "id=1,key=2"], ["--fields", "id=1,key=2,key=:2"], b"a\tk\tl\n"),
    "nested": (["--jsonl", "--fields", 'id="a.b",key=k'], ["--jsonl", "--fields", "id=a.b,key=k"],
               b'{"a.b": 1, "a": {"b": 2}, "k": "k"}\n'),
    "unit": (["--fields", "id=1,key=2,time=3"], ["--fields", "id=1,key=2,time=3", "--time-unit", "ms"],
             b"a\tk\t1700000000000\n"),
    "zone": (["--fields", "id=1,key=2,time=3", "--zone", "+01:00"], ["--fields", "id=1,key=2,time=3", "--zone", "+02:00"],
             b"a\tk\t2023-11-14 22:13:20\n"),
}


@pytest.mark.parametrize("what", MANNERS)
def test_a_mark_is_bound_to_every_option(what, lethe, tmp_path):
    first, second, data = MANNERS[what]
    (tmp_path / "f").write_bytes(data)
    assert lethe("count", "--db", "d", "-q", *first, "f").returncode == DONE
    result = lethe("count", "--db", "d", "-q", *second, "f")
    assert result.returncode == USAGE and b"was read up to byte" in result.stderr, result.stderr
    assert lethe("count", "--db", "d", "-q", *first, "f").returncode == DONE
    assert lethe("count", "--db", "d", "-q", *second, "--from-start", "f").returncode == DONE


BINARY = {
    "a program": b"\x7fELF\x02\x01\x01\0\0\0\n",
    "a zip archive": b"PK\3\4\x14abc\n",
    "lz4": b"\4\"M\x18abcd\n",
    "NUL late in the head": b"a\tk\n" * 1000 + b"\0\n",
    "UTF-16 without a mark": "a\tk\n".encode("utf-16-le"),
}


@pytest.mark.parametrize("way", ["file", "pipe", "compressed"])
@pytest.mark.parametrize("kind", BINARY)
def test_what_is_not_text(kind, way, lethe, tmp_path):
    """Every command refuses it, and reads it where --binary insists; a count creates nothing."""
    data = BINARY[kind]
    (tmp_path / "f").write_bytes(gzip.compress(data) if way == "compressed" else data)
    assert lethe("filter", "build", "-q", "--kind", "quotient", "--capacity", "9", "--out", "q", stdin=b"x\n").returncode == DONE
    operands, stdin = ([], data) if way == "pipe" else (["f"], b"")
    assert lethe("freq", "build", "-q", "--binary", "--out", "s", *operands, stdin=stdin).returncode == DONE
    for words, saved in ((["count", "--db", "d", "-q"], []), (["dedup", "-q"], []), (["dedup", "-q", "--db", "seen"], []),
                         (["filter", "build", "-q", "--capacity", "9", "--out", "new"], []), (["filter", "test"], ["q"]),
                         (["filter", "remove", "-q"], ["q"]), (["freq", "build", "-q", "--out", "new"], []),
                         (["freq", "remove", "-q"], ["s"])):
        result = lethe(*words, *saved, *operands, stdin=stdin)
        assert result.returncode == BAD_DATA, (words, result.stderr)
        assert b"is not text" in result.stderr and b"--binary" in result.stderr
        assert way == "pipe" or not (tmp_path / "d").exists()
        result = lethe(*words, "--binary", *saved, *operands, stdin=stdin)
        assert b"is not text" not in result.stderr and result.returncode in (DONE, NEGATIVE, SKIPPED), (words, result)
        shutil.rmtree(tmp_path / "d", ignore_errors=True)


def test_the_head_decides(lethe, tmp_path):
    """Lines of any bytes are lines, if the first 4096 bytes are text."""
    (tmp_path / "f").write_bytes(b"a\n" * 2048 + b"\0\n")
    assert lethe("dedup", "-q", "f").stdout == b"a\n\0\n"


def test_a_unit_chosen_by_size_is_told_once(lethe, tmp_path):
    lines = b"".join(b"%d\tk\t%d\n" % (i, 1700000000 + i) for i in range(20000))
    (tmp_path / "f").write_bytes(lines)
    (tmp_path / "g").write_bytes(lines.replace(b"\tk", b"x\tk"))
    result = lethe("count", "--db", "d", "--fields", "id=1,key=2,time=3", "f", "g")
    assert result.returncode == DONE
    assert result.stderr.count(b"by its size") == 1 and b"f:1: the time is taken for seconds" in result.stderr
    result = lethe("count", "--db", "e", "--fields", "id=1,key=2,time=3", "--time-unit", "s", "f", "g")
    assert b"by its size" not in result.stderr
    assert lethe("stat", "--db", "d", "--json").stdout.split(b"clock_ms")[1][:20] == \
        lethe("stat", "--db", "e", "--json").stdout.split(b"clock_ms")[1][:20]
