"""Goal: whatever is asked for with --per, --zone and --keep, and of `lethe usage` and `lethe top --by`, is done or refused in
words, without leaving anything behind; and periods, rest and value add up beyond 64 bits.

Method: hostile options at each door of the command line; the largest deltas; stores that an earlier version made."""

import json
import tarfile

import pytest

DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT, SKIPPED = range(6)
MOST = (1 << 63) - 1
TIMED = ["--fields", "id=1,key=2,delta=3,time=4", "--time-unit", "s"]


def rows_of(lethe, *words, db="d"):
    result = lethe("usage", "--db", db, "--json", *words)
    assert result.returncode == DONE, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("words, message", [
    (["--per", "0h"], '"0h" is no period'), (["--per", "100y"], '"100y" is no period'), (["--per", "1c"], "is no period"),
    (["--per", "-1h"], "is no period"), (["--per", "99999999999999999999s"], "is no period"), (["--per", ""], "empty value"),
    (["--per", "1h,1h"], "given twice"), (["--per", ",".join(["1h"] * 40000)], "given twice"),
    (["--per", ",".join(f"{n}s" for n in range(1, 20000))], "is no period"),
    (["--per", "1s,2s,3s,4s,5s,6s,8s,9s,10s"], "8 kinds of periods at most"),
    (["--per", "1d", "--zone", "Europe/Atlantis"], "Europe/Atlantis is not in this machine's"),
    (["--per", "1d", "--zone", "../../etc/passwd"], "is not in this machine's"),
    (["--per", "1d", "--zone", "Europe"], "is not in this machine's"),
    (["--per", "1d", "--zone", "x" * 5000], "is not in this machine's"), (["--per", "1d", "--zone", "+99:99"], "is not in this"),
    (["--per", "1d", "--keep", "1d=9999999999y"], "is no time that buckets"),
    (["--per", "1d", "--keep", "1d=99999999999999999999d"], "is no time that buckets"),
    (["--per", "1d", "--keep", "1d=-3d"], "is no time that buckets"), (["--per", "1d", "--keep", "1d=0d"], "is no time"),
    (["--per", "1d", "--keep", "1h=3d"], "1h=3d is to keep"), (["--per", "1d", "--sketch", "1MiB"], "a sketch has no counts per period"),
])
def test_hostile_periods(words, message, lethe, tmp_path):
    result = lethe("count", "--db", "d", *words, stdin=b"a\tk\n")
    assert result.returncode == USAGE and message in result.stderr.decode()[:2000], result.stderr[:500]
    assert not (tmp_path / "d").exists()


def test_keep_without_periods(lethe, tmp_path):
    """A store that is not there is not made; one that is there may count in periods already."""
    result = lethe("count", "--db", "d", "--keep", "1d=3d", stdin=b"a\tk\n")
    assert result.returncode == USAGE and b"1d=3d is to keep" in result.stderr
    assert not (tmp_path / "d").exists()
    assert lethe("count", "-q", "--db", "d", "--per", "1d", "--keep", "1d=3d", stdin=b"a\tk\n").returncode == DONE
    assert lethe("count", "-q", "--db", "d", "--keep", "1d=5d", stdin=b"b\tk\n").returncode == DONE
    assert lethe("count", "--db", "d", "--keep", "1h=5d", stdin=b"c\tk\n").returncode == USAGE


def test_hostile_questions(lethe):
    assert lethe("count", "-q", "--db", "d", "--per", "1h,1mo", *TIMED, stdin=b"a\tk\t1\t1700000000\n").returncode == DONE
    for words in (["--by", "1d"], ["--by", "0h"], ["--by", "100y"], ["--by", ""], ["--from", "yesterday"], ["--to", "99999-01-01"],
                  ["--from", "2024-02-30"], ["--from", "2024-01-02", "--to", "2024-01-01"], ["--by", "x" * 100000]):
        result = lethe("usage", "--db", "d", *words)
        assert result.returncode in (DONE, USAGE) and (result.returncode == DONE or b"; " in result.stderr), (words, result.stderr)
        assert result.returncode == USAGE or result.stdout == b"", words
    assert lethe("usage", "--db", "d", "--by", "1d").returncode == USAGE
    for words in (["--by", "1d", "--at", "2024-01-01"], ["--by", "1h"], ["--by", "1h", "--at", "never"], ["--at", "2024-01-01"]):
        result = lethe("top", "--db", "d", *words)
        assert result.returncode == USAGE and b"; " in result.stderr, (words, result.stderr)


def test_a_rest_beyond_64_bits(lethe):
    """`set` goes to the rest, which is what is left, however much that is; `del` takes the periods along."""
    for value, scale in ((MOST, []), (-MOST - 1, [])):
        lines = f"a{value}\tk{value}\t{value}\t1700000000\n".encode()
        assert lethe("count", "-q", "--db", "d", "--per", "1d", *TIMED, *scale, stdin=lines).returncode == DONE
        other = -MOST - 1 if value > 0 else MOST
        assert lethe("set", "--db", "d", "--", f"k{value}", str(other)).returncode == DONE
        found = rows_of(lethe, "--", f"k{value}")
        assert [row["value"] for row in found if "value" in row] == [value]
        assert [row["rest"] for row in found if "rest" in row] == [other - value]
        text = lethe("usage", "--db", "d", "--", f"k{value}").stdout.decode().splitlines()
        assert text[-1] == f"rest\tk{value}\t{other - value}"
        assert lethe("usage", "--db", "d", "--csv", "--", f"k{value}").stdout.decode().splitlines()[-1] == \
            f"k{value},1d,rest,{other - value}"
        assert lethe("del", "--db", "d", "--", f"k{value}").returncode == DONE
        assert all(row.get("value", 0) == 0 and "rest" not in row for row in rows_of(lethe, "--", f"k{value}"))
    assert lethe("count", "-q", "--db", "cents", "--scale", "2", "--per", "1d", *TIMED,
                 stdin=b"a\tk\t92233720368547758.07\t1700000000\n").returncode == DONE
    assert lethe("set", "--db", "cents", "k", "-92233720368547758.08").returncode == DONE
    assert b'"rest": -184467440737095516.15' in lethe("usage", "--db", "cents", "--json", "k").stdout


def test_a_period_overflows_before_its_counter(lethe):
    """The message does not promise that `set` is enough; a correction in that period is."""
    def count(*lines):
        text = "".join(f"{name}\tk\t{delta}\t1700000000\n" for name, delta in lines)
        return lethe("count", "-q", "--db", "d", "--per", "1d", *TIMED, stdin=text.encode())
    assert count(("a", MOST)).returncode == DONE
    assert lethe("set", "--db", "d", "k", "0").returncode == DONE
    full = count(("b", 1))
    assert full.returncode == SKIPPED and b"(1 overflow)" in full.stderr
    assert b"what it has in a period, would exceed" in full.stderr and b"an event with the opposite delta" in full.stderr
    assert count(("a-undone", -5), ("b", 1)).returncode == DONE
    assert rows_of(lethe, "k")[0]["value"] == MOST - 4


def test_days_of_a_zone_without_times(lethe, tmp_path):
    """The clock of the machine decides, and the zone is that of the periods."""
    result = lethe("count", "-q", "--db", "d", "--per", "1d", "--zone", "+14:00", stdin=b"a\tk\n")
    assert result.returncode == DONE, result.stderr
    assert rows_of(lethe)[0]["from"].endswith("T00:00:00+14:00")
    result = lethe("count", "-q", "--db", "e", "--zone", "+14:00", stdin=b"a\tk\n")
    assert result.returncode == USAGE and b"--zone needs a time" in result.stderr and not (tmp_path / "e").exists()


def test_a_store_of_an_earlier_version(lethe, source, tmp_path):
    with tarfile.open(source / "tests/golden/store-metered-v0.tar.gz") as archive:
        archive.extractall(tmp_path)
    found = rows_of(lethe, "--by", "1d", db="metered")
    assert {(row["key"], row["from"], row["value"]) for row in found if row.get("value")} == {
        ("ann", "2023-11-14T00:00:00+01:00", 4), ("ann", "2023-11-15T00:00:00+01:00", 2),
        ("bob", "2023-11-15T00:00:00+01:00", 1)}
    assert [(row["key"], row["rest"]) for row in found if "rest" in row] == [("bob", 9)]
    assert lethe("check", "--db", "metered").returncode == DONE
    assert lethe("count", "-q", "--db", "metered", *TIMED, stdin=b"a1\tann\t3\t1700000000\nz\tann\t1\t1700000000\n").returncode == DONE
    assert rows_of(lethe, "--by", "1d", "ann", db="metered")[0]["value"] == 5
