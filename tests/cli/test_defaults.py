"""Goal:   a new store counts exactly once in practice: its window is 3 days at an error of 1e-12, and what it keeps for
        ever has an error of its own; what exists keeps what it has; and the number of events that were probably
        dropped wrongly is reported.

Method: stores made and opened again with and without options, read by `lethe stat`."""

import json

import pytest

DONE, USAGE, SKIPPED = 0, 2, 5
DAY_MS = 86400000


@pytest.fixture
def count(lethe):
    def run(*words, lines=b"a\tk\n", code=DONE):
        result = lethe("count", "--db", "d", "--json", *words, stdin=lines)
        assert result.returncode == code, result.stderr
        return json.loads(result.stdout) if result.stdout else result.stderr.decode()
    return run


@pytest.fixture
def stat(lethe):
    def run():
        return json.loads(lethe("stat", "--db", "d", "--json").stdout)
    return run


@pytest.mark.parametrize("words, window_ms, window_error, ledger_error", [
    ([], 3 * DAY_MS, 1e-12, 0),
    (["--forever"], 3 * DAY_MS, 1e-12, 1e-9),
    (["--forever", "--error", "1e-10"], 3 * DAY_MS, 1e-10, 1e-9),
    (["--forever", "--error", "0.01"], 3 * DAY_MS, 0.01, 1e-9),
    (["--forever", "--ledger-error", "1e-6"], 3 * DAY_MS, 1e-12, 1e-6),
    # Fingerprints have 62 bits at most.
    (["--forever", "--ledger-capacity", "1000G"], 3 * DAY_MS, 1e-12, 1e12 / 2**62),
    (["--window", "10m", "--error", "1e-6"], 600000, 1e-6, 0)],
    ids=["plain", "forever", "forever 1e-10", "forever 0.01", "ledger 1e-6", "many ids", "as before"])
def test_settings(words, window_ms, window_error, ledger_error, count, stat):
    """Made with these words, then opened without any: it is the same store."""
    count(*words)
    for _ in range(2):
        found = stat()
        assert (found["window_ms"], found["window_error"]) == (window_ms, window_error)
        assert found["ledger_error"] == pytest.approx(ledger_error, rel=1e-9)
        assert found["error"] == pytest.approx(window_error + ledger_error, rel=1e-9)
        assert 0 <= found["error_estimate"] <= found["error"]
        count(lines=b"b\tk\n")


def test_the_sum_is_shown(count, lethe):
    count("--forever")
    text = lethe("stat", "--db", "d").stdout.decode()
    assert "error allowed   1e-09" in text and "error allowed 1e-09, plus 1e-12 of the window" in text


def test_an_error_that_fingerprints_are_too_short_for(count):
    message = count("--forever", "--ledger-error", "1e-12", "--ledger-capacity", "10G", code=USAGE)
    assert "allow a larger error, or plan for fewer ids" in message


def test_another_error_of_the_ledger_is_refused(count):
    count("--forever")
    assert "made for another error" in count("--ledger-error", "1e-6", code=USAGE)


def test_refused_events_might_have_been_dropped_too(lethe):
    """At its cap the window still takes some of what it would refuse for duplicates: those are expected as well."""
    lines = b"".join(b"id-%d\tk\n" % i for i in range(400000))
    result = lethe("count", "--db", "c", "--json", "--error", "0.01", "--memory", "64KiB", stdin=lines)
    assert result.returncode == SKIPPED
    summary = json.loads(result.stdout)
    assert summary["refused"] > 300000 and summary["duplicates"] > 100
    assert summary["expected_wrongly_dropped"] / 2 < summary["duplicates"] < 2 * summary["expected_wrongly_dropped"]


def test_expected_wrongly_dropped(count, lethe):
    """With an error of a tenth many are; they are about as many as expected. With the default none is."""
    lines = b"".join(b"id-%d\tk\n" % i for i in range(100000))
    summary = count("--error", "0.1", lines=lines)
    assert 100 < summary["duplicates"]
    assert summary["duplicates"] < 2 * summary["expected_wrongly_dropped"] < 40000
    exact = json.loads(lethe("count", "--db", "e", "--json", "--exact", "--error", "0.1", stdin=lines).stdout)
    assert exact["expected_wrongly_dropped"] == 0 and exact["applied"] == 100000
    usual = json.loads(lethe("count", "--db", "u", "--json", stdin=lines).stdout)
    assert 0 < usual["expected_wrongly_dropped"] < 1e-6
    text = lethe("count", "--db", "d", stdin=lines).stderr.decode()
    assert "events expected to be wrongly dropped" in text
