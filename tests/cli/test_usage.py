"""Goal: what lethe usage and lethe top --by print is all that was counted, or they say what is missing; and every day
can be asked for, in every zone.
Method: small stores, to which periods are added, whose periods are dropped, and days whose midnight there never was."""

import json
import xml.dom.minidom

import pytest

DONE, NEGATIVE, USAGE = range(3)
EVENTS = ["--fields", "id=1,key=2,delta=3,time=4", "--time-unit", "s", "--window", "30d"]
JANUARY_S = 1704067200


@pytest.fixture
def count(lethe, tmp_path):
    def run(first_hour, hours, *words):
        lines = "".join(f"{hour}\tk\t1\t{JANUARY_S + hour * 3600}\n" for hour in range(first_hour, first_hour + hours))
        (tmp_path / "events").write_text(lines)
        result = lethe("count", "-q", "--db", "d", *EVENTS, *words, "events")
        assert result.returncode == DONE, result.stderr
    return run


def test_periods_that_were_added_later(lethe, count):
    """The rest has what was counted before, where it may belong into the periods that are asked for; not elsewhere."""
    count(0, 240, "--per", "1d")
    count(240, 1, "--per", "1d,1mo")
    month = ["--by", "1mo", "--from", "2024-01-01", "--to", "2024-02-01"]
    assert lethe("usage", "--db", "d", *month).stdout == b"2024-01\tk\t1\nrest\tk\t240\n"
    later = lethe("usage", "--db", "d", "--by", "1mo", "--from", "2024-02-01", "--to", "2024-03-01")
    assert later.stdout == b"2024-02\tk\t0\n"
    days = lethe("usage", "--db", "d", "--by", "1d", "--from", "2024-01-02", "--to", "2024-01-04")
    assert days.stdout == b"2024-01-02\tk\t24\n2024-01-03\tk\t24\n"
    top = lethe("top", "--db", "d", "--by", "1mo", "--at", "2024-01-05")
    assert (top.returncode, top.stdout) == (DONE, b"k\t1\n")
    assert b"the first period that has all begins at 2024-02-01T00:00:00+00:00" in top.stderr
    for by, at in (("1mo", "2024-02-01"), ("1d", "2024-01-05")):
        top = lethe("top", "--db", "d", "--by", by, "--at", at)
        assert (top.returncode, top.stderr) == (DONE, b"")


def test_periods_of_a_new_store_are_whole(lethe, count):
    count(0, 48, "--per", "1d,1mo")
    count(48, 1)
    assert lethe("usage", "--db", "d", "--by", "1mo", "--from", "2024-01-01").stdout == b"2024-01\tk\t49\n"
    assert lethe("top", "--db", "d", "--by", "1mo", "--at", "2024-01-05").stderr == b""


def test_a_period_that_was_dropped(lethe, count):
    count(0, 100, "--per", "1h,1mo", "--keep", "1h=1d")
    top = lethe("top", "--db", "d", "--by", "1h", "--at", "2024-01-02")
    assert (top.returncode, top.stdout) == (NEGATIVE, b"")
    assert b"d has dropped that period, as --keep asked for" in top.stderr
    top = lethe("top", "--db", "d", "--by", "1h", "--at", "2024-01-05")
    assert (top.returncode, top.stdout, top.stderr) == (DONE, b"k\t1\n", b"")


@pytest.mark.parametrize("zone, by, kept, begin", [
    ("Europe/Berlin", "1d", "1d", "2024-01-04T00:00:00+01:00"), ("America/St_Johns", "1d", "1d", "2024-01-03T00:00:00-03:30"),
    ("America/St_Johns", "1h", "1d", "2024-01-03T23:30:00-03:30"), ("UTC", "1d", "1d", "2024-01-04T00:00:00+00:00")])
def test_what_is_kept_begins_in_the_zone(zone, by, kept, begin, lethe, count):
    count(0, 100, "--per", by, "--zone", zone, "--keep", f"{by}={kept}")
    top = lethe("top", "--db", "d", "--by", by, "--at", "2024-01-02")
    assert top.returncode == NEGATIVE and f"per {by}, begins at {begin}\n".encode() in top.stderr, top.stderr
    first = json.loads(lethe("usage", "--db", "d", "--by", by, "--json").stdout.splitlines()[0])
    assert first["from"] == begin
    assert lethe("top", "--db", "d", "--by", by, "--at", begin).returncode == DONE


def test_what_is_whole_begins_in_the_zone(lethe, count):
    count(0, 240, "--per", "1d", "--zone", "America/Denver")
    count(240, 1, "--per", "1d,1mo")
    top = lethe("top", "--db", "d", "--by", "1mo", "--at", "2024-01-05")
    assert b"the first period that has all begins at 2024-02-01T00:00:00-07:00" in top.stderr


# A zone, a day whose midnight clocks were put forward over, and the hour in UTC at which it begins.
SHORT_DAYS = [("America/Asuncion", "2023-10-01", "2023-10-01T04:00:00Z"), ("Africa/Cairo", "2024-04-26", "2024-04-25T22:00:00Z"),
              ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z")]


@pytest.mark.parametrize("zone, day, begin", SHORT_DAYS)
def test_a_day_whose_midnight_never_was(zone, day, begin, lethe, tmp_path):
    (tmp_path / "events").write_text(f"a\tk\t1\t{begin}\n")
    counted = lethe("count", "-q", "--db", "d", "--fields", "id=1,key=2,delta=3,time=4", "--per", "1d", "--zone", zone, "events")
    assert counted.returncode == DONE, counted.stderr
    from_it = lethe("usage", "--db", "d", "--by", "1d", "--from", day)
    assert (from_it.returncode, from_it.stdout) == (DONE, f"{day}\tk\t1\n".encode()), from_it.stderr
    up_to_it = lethe("usage", "--db", "d", "--by", "1d", "--from", "2018-01-01", "--to", day)
    assert up_to_it.returncode == DONE and day.encode() not in up_to_it.stdout
    assert lethe("top", "--db", "d", "--by", "1d", "--at", day).stdout == b"k\t1\n"


@pytest.mark.parametrize("zone, time, wrong", [
    ("Europe/Berlin", "2024-03-31T02:30:00", b"never was in Europe/Berlin: clocks were put forward over it"),
    ("Europe/Berlin", "1970-01-01", b"in UTC, 1970-01-01 begins before 1970"),
    ("Pacific/Apia", "2011-12-30", b"there was no 2011-12-30 in Pacific/Apia"),
    ("Europe/Berlin", "2024-02-30", b"is not valid"), ("Europe/Berlin", "yesterday", b"'yesterday' is not valid")])
def test_times_that_there_never_were(zone, time, wrong, lethe, tmp_path):
    (tmp_path / "events").write_text("a\tk\t1\t2024-01-01T12:00:00Z\n")
    fields = ["--fields", "id=1,key=2,delta=3,time=4"]
    assert lethe("count", "-q", "--db", "d", *fields, "--per", "1d", "--zone", zone, "events").returncode == DONE
    for words in (["usage", "--by", "1d", "--from", time], ["usage", "--by", "1d", "--to", time], ["top", "--by", "1d", "--at", time]):
        result = lethe(words[0], "--db", "d", *words[1:])
        assert result.returncode == USAGE and wrong in result.stderr, result.stderr


def test_nothing_is_before_the_first_moment(lethe, tmp_path):
    """An end at the first moment of 1970 is no missing end, after which everything would be printed."""
    (tmp_path / "events").write_bytes(b"1\tk\t5\t600\n2\tk\t7\t7200\n")
    assert lethe("count", "-q", "--db", "d", "--per", "1h", *EVENTS, "events").returncode == DONE
    for end in ("1970-01-01", "1970-01-01T00:00:00Z", "0"):
        result = lethe("usage", "--db", "d", "--to", end)
        assert (result.returncode, result.stdout) == (USAGE, b"") and b"--to is not after --from" in result.stderr, result
    assert lethe("usage", "--db", "d", "--to", "1970-01-01T01:00:00Z").stdout.endswith(b"k\t5\n")
    assert lethe("top", "--db", "d", "--by", "1h", "--at", "0").stdout == b"k\t5\n"


def test_keys_that_are_not_text(lethe, tmp_path):
    """A picture stays well-formed, and keys that differ stay different."""
    keys = [b"caf\xe9", b"caf\xe8", b"caf\xc3\xa9", b"<&>"]
    (tmp_path / "events").write_bytes(b"".join(b"%d\t%s\t1\n" % (i, key) for i, key in enumerate(keys)))
    assert lethe("count", "-q", "--db", "d", "--per", "1d", "events").returncode == DONE
    assert lethe("usage", "--db", "d", "--svg", "picture.svg").returncode == DONE
    assert len(xml.dom.minidom.parse(str(tmp_path / "picture.svg")).getElementsByTagName("text")) > 0
    rows = [json.loads(line) for line in lethe("usage", "--db", "d", "--json").stdout.splitlines()]
    named = {row.get("key_hex", row["key"]) for row in rows}
    assert len(named) == len(keys)


def test_csv_is_read_again(lethe, tmp_path):
    """What `lethe usage --csv` prints has the keys as they are: counted from there, they are the same."""
    keys = [b"x\\y", b"a,b", b'say "so"', b" led", b"end ", b"caf\xe9", b"plain"]
    (tmp_path / "events").write_bytes(b"".join(b"%d\t%s\t%d\n" % (i, key.replace(b"\\", b"\\\\"), i + 1)
                                              for i, key in enumerate(keys)))
    assert lethe("count", "-q", "--db", "d", "--per", "1d", "events").returncode == DONE
    (tmp_path / "usage.csv").write_bytes(lethe("usage", "--db", "d", "--csv").stdout)
    again = lethe("count", "-q", "--db", "e", "--csv", "--fields", "id=key,key=key,delta=value", "usage.csv")
    assert again.returncode == DONE, again.stderr
    assert lethe("list", "--db", "e").stdout == lethe("list", "--db", "d").stdout


def test_a_sketch_has_no_periods(lethe):
    assert lethe("count", "-q", "--db", "s", "--sketch", "64KiB", stdin=b"a\tk\n").returncode == DONE
    result = lethe("usage", "--db", "s")
    assert result.returncode == USAGE and b"a sketch has no counts per period" in result.stderr
