"""Goal:   lethe take --redis and lethe give-up --redis say what ONCE.TAKE and ONCE.ADD say, and refuse what they cannot do.
Method: lethe on a real server; its lines, exit codes and messages, and the counters as the server has them."""

import json

from counting import DONE, ENVIRONMENT, lethe, NEGATIVE, url_of, USAGE


def take(server, *words, code=DONE, table="t"):
    result = lethe("take", url_of(server), *words, table=table)
    assert result.returncode == code, result.stderr
    return result.stdout if code in (DONE, NEGATIVE) else result.stderr


def test_a_quota(server):
    server.call("ONCE.CREATE", "t", "ERROR", "1e-12", "PER", "60000", "PER", "month")
    assert take(server, "--limit", "100", "req-1", "alice", "60") == "applied\talice\t60\t40\t-\n"
    assert take(server, "--limit", "100", "req-2", "alice", "60", code=NEGATIVE) == "limited\talice\t60\t40\t-\n"
    assert take(server, "--limit", "100", "req-1", "alice", "60") == "duplicate\talice\t60\t40\t-\n"
    limited = json.loads(take(server, "--json", "--limit", "100,10/1m,500/1mo", "req-3", "bob", "20", code=NEGATIVE))
    assert (limited["outcome"], limited["value"], limited["left"]) == ("limited", 0, 10)
    assert 0 < limited["resets_ms"] <= 60000
    assert take(server, "--limit", "10/60s", "NOCREATE", r"a\tb", "3").startswith("applied\ta\\tb\t3\t7\t")
    assert server.call("ONCE.GET", "t", "a\tb") == 3
    assert server.call("ONCE.GET", "t", "alice") == 60


def test_periods_are_those_that_tables_have(server):
    words = {"90s": 90_000, "6h": 21_600_000, "1d": 86_400_000, "2d": 2 * 86_400_000}
    lethe("count", url_of(server), "-q", "--per", ",".join(words), stdin="", table="t")
    for period, length_ms in words.items():
        outcome, key, value, left, resets_ms = take(server, "--limit", f"5/{period}", f"i-{period}", period, "2").split("\t")
        assert (outcome, key, value, left) == ("applied", period, "2", "3") and 0 < int(resets_ms) <= length_ms


def test_giving_up(server):
    server.call("ONCE.CREATE", "t", "ERROR", "1e-12")
    take(server, "--limit", "5", "req-1", "k", "5")
    take(server, "--limit", "5", "req-2", "k", "1", code=NEGATIVE)
    result = lethe("give-up", url_of(server), "req-2", "NOCREATE")
    assert (result.returncode, result.stdout) == (DONE, "given up\treq-2\ngiven up\tNOCREATE\n")
    result = lethe("give-up", url_of(server), "--json", "req-1")
    assert result.returncode == NEGATIVE
    assert json.loads(result.stdout) == {"id": "req-1", "outcome": "duplicate"}
    assert take(server, "--limit", "100", "req-2", "k", "1") == "duplicate\tk\t5\t95\t-\n"
    assert server.call("ONCE.GET", "t", "k") == 5


def test_what_is_refused(server):
    server.call("ONCE.CREATE", "t")
    assert "does not count per 1h" in take(server, "--limit", "5/1h", "i", "k", "1", code=USAGE)
    lethe("count", url_of(server), "-q", "--partitions", "4", "--partition-by", "key", "--per", "1d", stdin="", table="by-key")
    assert "does not count per 1h" in take(server, "--limit", "5/1h", "i", "k", "1", code=USAGE, table="by-key")
    assert take(server, "--limit", "5/1d", "i", "k", "1", table="by-key").startswith("applied\tk\t1\t4\t")
    assert "no periods of 1y" in take(server, "--limit", "5/1y", "i", "k", "1", code=USAGE)
    assert "whole number" in take(server, "--limit", "5", "i", "k", "0", code=USAGE)
    assert "whole number" in take(server, "--limit", "5.5", "i", "k", "1", code=USAGE)
    assert "--per" in take(server, "--per", "1h", "--limit", "5", "i", "k", "1", code=USAGE)
    lethe("count", url_of(server), "-q", "--partitions", "4", stdin="a\tk\n", table="spread")
    assert "4 partitions" in take(server, "--limit", "5", "i", "k", "1", code=USAGE, table="spread")
    # Giving up needs no counter, so it works in any table.
    given_up = lethe("give-up", url_of(server), "a", "b", table="spread")
    assert (given_up.returncode, given_up.stdout) == (NEGATIVE, "duplicate\ta\ngiven up\tb\n")
    limited = lethe("count", url_of(server), "--limit", "5", stdin="b\tk\n")
    assert limited.returncode == USAGE and "lethe take" in limited.stderr
    missing = lethe("take", url_of(server), "--limit", "5", "i", "k", "1", table="none")
    assert missing.returncode not in (DONE, NEGATIVE) and server.client.exists("none") == 0


def test_taking_away(server):
    server.call("ONCE.CREATE", "t", "ERROR", "1e-12")
    take(server, "--limit", "100", "req-1", "k", "60")
    assert take(server, "--min", "10", "req-2", "k", "-50") == "applied\tk\t10\t0\t-\n"
    assert take(server, "--min", "10", "--limit", "100", "req-3", "k", "-1", code=NEGATIVE) == "limited\tk\t10\t0\t-\n"


def test_a_table_that_is_spread_by_key_keeps_limits(server):
    """Every counter is whole in one partition. An id that is given up is so in all of them."""
    lethe("count", url_of(server), "-q", "--partitions", "4", "--partition-by", "key", stdin="a\tk\n", table="spread")
    for i in range(12):
        assert take(server, "--limit", "5", f"first-{i}", f"k{i}", "5", table="spread").startswith("applied")
        take(server, "--limit", "5", f"second-{i}", f"k{i}", "1", code=NEGATIVE, table="spread")
        given_up = lethe("give-up", url_of(server), f"first-{i}", f"second-{i}", table="spread")
        assert (given_up.returncode, given_up.stdout) == (NEGATIVE, f"duplicate\tfirst-{i}\ngiven up\tsecond-{i}\n")
        assert take(server, "--limit", "50", f"second-{i}", f"k{i}", "1", table="spread") == f"duplicate\tk{i}\t5\t45\t-\n"
