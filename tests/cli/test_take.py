"""Goal:   lethe take, lethe give-up and lethe count --limit refuse what they cannot do, with a clear message and nothing changed;
        numbers at the ends of 64 bits, decimals, and other writers included.
Method: small stores; wrong words in every place. The sessions of docs/limits.md have what works."""

import json

import pytest

DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT, SKIPPED = range(6)
LEAST, MOST = -2**63, 2**63 - 1


def take(lethe, *words, code=DONE):
    result = lethe("take", "--db", "d", *words)
    assert result.returncode == code, result.stderr
    return (result.stdout if code in (DONE, NEGATIVE) else result.stderr).decode()


WRONG = {
    "no limit": (["i", "k", "1"], "--limit MAX or --min MIN is missing"),
    "no number": (["--limit", "x", "i", "k", "1"], "is not a limit"),
    "an empty one of two": (["--limit", "5,", "i", "k", "1"], "is not a limit"),
    "an empty period": (["--limit", "5/", "i", "k", "1"], "is not a limit"),
    "a long period": (["--limit", "5/" + "1" * 90, "i", "k", "1"], "is not a limit"),
    "beyond 64 bits": (["--limit", "9223372036854775808", "i", "k", "1"], "beyond 64 bits"),
    "too fine a limit": (["--limit", "0.5", "i", "k", "1"], "not a whole number"),
    "too fine an amount": (["--limit", "5", "i", "k", "0.5"], "not a whole number"),
    "no amount": (["--limit", "5", "i", "k", "much"], "amount"),
    "nine limits": (["--limit", "1,2,3,4,5,6,7,8,9", "i", "k", "1"], "more than 8"),
    "a period that the store lacks": (["--limit", "5/1h", "i", "k", "1"], "does not count per 1h"),
    "a period of 0": (["--limit", "5/0s", "i", "k", "1"], "does not count per 0s"),
    "a century": (["--limit", "5/100y", "i", "k", "1"], "does not count per 100y"),
    "an empty id": (["--limit", "5", "", "k", "1"], "an id has from 1 to 1024"),
    "an empty key": (["--limit", "5", "i", "", "1"], "a key has from 1 to 1024"),
    "a long id": (["--limit", "5", "i" * 1025, "k", "1"], "an id has from 1 to 1024"),
    "a wrong escape": (["--limit", "5", "\\q", "k", "1"], "is not an escape"),
    "two places": (["--redis", "redis://localhost:1", "--limit", "5", "i", "k", "1"], "cannot be used together"),
}


def test_wrong_words(lethe):
    assert take(lethe, "--limit", "5", "first", "k", "1") == "applied\tk\t1\t4\t-\n"
    for words, message in WRONG.values():
        assert message in take(lethe, *words, code=USAGE)
    assert take(lethe, "--limit", "5", "i", "k", "1") == "applied\tk\t2\t3\t-\n"


def test_the_ends_of_64_bits(lethe):
    assert take(lethe, "--limit", str(MOST), "1", "k", str(MOST)) == f"applied\tk\t{MOST}\t0\t-\n"
    assert take(lethe, "--limit", str(MOST), "2", "k", "1", code=NEGATIVE) == f"limited\tk\t{MOST}\t0\t-\n"
    assert "exceed the range" in take(lethe, "--min", "0", "2", "k", "1", code=BAD_DATA)
    assert take(lethe, "--min", str(LEAST), "3", "k", str(LEAST)) == f"applied\tk\t-1\t{MOST}\t-\n"


def test_payloads_are_changes_not_limits(lethe):
    lethe("count", "--db", "d", "--check-payload", stdin=b"")
    assert take(lethe, "--limit", "5", "1", "k", "5") == "applied\tk\t5\t0\t-\n"
    assert take(lethe, "--limit", "50", "1", "k", "5") == "duplicate\tk\t5\t45\t-\n"
    assert take(lethe, "--limit", "50,60,70", "1", "k", "5") == "duplicate\tk\t5\t45\t-\n"
    assert "another key or amount" in take(lethe, "--limit", "50", "1", "k", "4", code=BAD_DATA)
    assert "another key or amount" in take(lethe, "--limit", "50", "1", "other", "5", code=BAD_DATA)


def test_stores_that_keep_no_limits(lethe):
    lethe("count", "--db", "d", "--fields", "id=1,key=2,time=3", "--time-unit", "ms", stdin=b"a\tk\t1600000000000\n")
    assert "time of its events" in take(lethe, "--limit", "5", "i", "k", "1", code=USAGE)
    given_up = lethe("give-up", "--db", "d", "i")
    assert given_up.returncode == USAGE and b"delta of 0" in given_up.stderr
    lethe("count", "--db", "sketch", "--sketch", "1MiB", stdin=b"a\tk\n")
    result = lethe("take", "--db", "sketch", "--limit", "5", "i", "k", "1")
    assert result.returncode == USAGE and b"keeps a sketch" in result.stderr
    assert lethe("give-up", "--db", "sketch", "i").stdout == b"given up\ti\n"
    assert lethe("give-up", "--db", "none", "i").returncode == ENVIRONMENT


COUNTS = {
    "two limits": (["--limit", "5,6"], "give one"),
    "no number": (["--limit", "x"], "is not a limit"),
    "per period, of a new store": (["--limit", "5/1h"], "add --per 1h"),
    "per period, by time": (["--limit", "5/1h", "--per", "1h", "--fields", "id=1,key=2,time=3"], "would escape"),
    "with a sketch": (["--limit", "5", "--sketch", "1MiB"], "--sketch"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counting_refused(lethe, tmp_path, name):
    """A store that would be new is not made."""
    words, message = COUNTS[name]
    result = lethe("count", "--db", "d", *words, stdin=b"a\tk\t1\n")
    assert result.returncode == USAGE and message in result.stderr.decode(), result.stderr
    assert not (tmp_path / "d").exists()


def test_a_refused_run_switches_nothing(lethe):
    lethe("count", "--db", "d", stdin=b"a\tk\n")
    result = lethe("count", "--db", "d", "--window", "1h", "--limit", "5/1h", stdin=b"b\tk\n")
    assert result.returncode == USAGE and b"does not count per 1h" in result.stderr
    assert json.loads(lethe("stat", "--db", "d", "--json").stdout)["window_ms"] == 3 * 86400000


def test_counting_under_a_limit(lethe):
    """By the time of events too: a limit on totals. All keys of an event, or none; what lowers a counter is free."""
    lines = b"a\tx\t5\t1600000000000\nb\tx\t1\t1600000000001\nc\tx\t-3\t1600000000002\nd\tx\t3\t1600000000003\n"
    result = lethe("count", "--db", "d", "--json", "--fields", "id=1,key=2,key=:all,delta=3,time=4", "--time-unit", "ms",
                   "--limit", "5", stdin=lines)
    assert result.returncode == SKIPPED and b"above --limit" in result.stderr
    summary = json.loads(result.stdout)
    assert (summary["applied"], summary["limited"]) == (3, 1)
    assert lethe("list", "--db", "d").stdout == b"all\t5\nx\t5\n"
    lethe("count", "--db", "e", "--per", "1h", "--scale", "1", "-q", "--limit", "2.5/1h", stdin=b"a\tx\t2.5\nb\tx\t0.1\n")
    assert lethe("list", "--db", "e").stdout == b"x\t2.5\n"


@pytest.mark.parametrize("words", [
    ["take", "--limit", "10", "--limit", "1000", "i", "k", "1"],
    ["take", "--limit", "10", "--min", "0", "--min=-5", "i", "k", "1"],
    ["take", "--limit", "10/1m", "--per", "1m", "--per", "1h", "i", "k", "1"],
    ["count", "--limit", "10", "--limit", "1000"],
    ["count", "--fields", "id=1,key=2", "--fields", "delta=3"],
    ["count", "--per", "1h,1d", "--keep", "1h=1d", "--keep", "1d=2y"],
    ["count", "--cloudevents", "--fields", "key=subject", "--fields", "delta=data.n"],
    ["hold", "place", "--limit", "10", "--limit", "20", "i", "k", "1"]], ids=" ".join)
def test_a_list_in_two_pieces(words, lethe, tmp_path):
    """The second would take the place of the first, and what that asked for would not be done."""
    result = lethe(*words, "--db", "d", stdin=b"")
    assert result.returncode == 2 and b"is given twice; give all of it at once" in result.stderr
    assert not (tmp_path / "d").exists()


def test_a_list_that_is_repeated(lethe):
    result = lethe("take", "--db", "d", "--limit", "10", "--limit=10", "i", "k", "1")
    assert result.returncode == 0, result.stderr
