"""Goal:   lethe hold refuses what it cannot do, with a clear message and nothing changed; numbers at the ends of 64 bits,
        decimals, odd bytes, other writers, and limits of other commands included.
Method: small stores; wrong words in every place. The sessions of docs/holds.md have what works."""

import json
import subprocess
import time

from conftest import BINARIES

DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT = range(5)
MOST = 2**63 - 1


def hold(lethe, command, *words, code=DONE):
    result = lethe("hold", command, "--db", "d", *words)
    assert result.returncode == code, result.stderr
    return (result.stdout if code in (DONE, NEGATIVE) and result.stdout else result.stderr).decode()


WRONG = {
    "no limit": (["place", "i", "k", "1"], "--limit MAX is missing"),
    "two limits": (["place", "--limit", "5,6", "i", "k", "1"], "more than one"),
    "no number": (["place", "--limit", "x", "i", "k", "1"], "is not a limit"),
    "beyond 64 bits": (["place", "--limit", "9223372036854775808", "i", "k", "1"], "beyond 64 bits"),
    "too fine an amount": (["place", "--limit", "5", "i", "k", "0.5"], "not a whole number"),
    "an amount of 0": (["place", "--limit", "5", "i", "k", "0"], "not above 0"),
    "a negative amount": (["place", "--limit", "5", "i", "k", "--", "-1"], ""),
    "a period that the store lacks": (["place", "--limit", "5/1h", "i", "k", "1"], "does not count per 1h"),
    "no lease": (["place", "--limit", "5", "--lease", "0s", "i", "k", "1"], "lease"),
    "a long lease": (["place", "--limit", "5", "--lease", "31d", "i", "k", "1"], "lease"),
    "an empty id": (["place", "--limit", "5", "", "k", "1"], "an id has from 1 to 1024"),
    "an empty key": (["place", "--limit", "5", "i", "", "1"], "a key has from 1 to 1024"),
    "a long id": (["settle", "i" * 1025, "1"], "an id has from 1 to 1024"),
    "a wrong escape": (["release", "\\q"], "is not an escape"),
    "no actual": (["settle", "first", "much"], "amount"),
}


def test_wrong_words(lethe):
    assert hold(lethe, "place", "--limit", "5", "first", "k", "1") == "held\tk\t0\t4\t-\n"
    for words, message in WRONG.values():
        assert message in hold(lethe, *words, code=USAGE)
    assert hold(lethe, "list").startswith("first\topen\tk\t1\t5\t")
    assert hold(lethe, "list").count("\n") == 1


def test_some_stores_have_none(lethe):
    assert lethe("count", "--db", "d", "--sketch", "4KiB", stdin=b"1\tk\n").returncode == DONE
    assert "sketch" in hold(lethe, "place", "--limit", "5", "i", "k", "1", code=USAGE)
    assert hold(lethe, "settle", "i", "1", code=USAGE)
    events = b'{"id": "e", "key": "k", "time": "2024-05-01T00:00:00Z"}\n'
    counted = lethe("count", "--db", "e", "--jsonl", "--fields", "id=id,key=key,time=time", "--per", "1h", stdin=events)
    assert counted.returncode == DONE, counted.stderr
    result = lethe("hold", "place", "--db", "e", "--limit", "5/1h", "i", "k", "1")
    assert result.returncode == USAGE and b"goes by the time of its events" in result.stderr
    assert lethe("hold", "place", "--db", "e", "--limit", "5", "i", "k", "1").stdout == b"held\tk\t1\t3\t-\n"
    assert lethe("hold", "settle", "--db", "missing", "i", "1").returncode == ENVIRONMENT


def test_the_ends_of_64_bits(lethe):
    assert hold(lethe, "place", "--limit", str(MOST), "1", "k", str(MOST)) == "held\tk\t0\t0\t-\n"
    assert hold(lethe, "place", "--limit", str(MOST), "2", "k", "1", code=NEGATIVE) == "limited\tk\t0\t0\t-\n"
    lethe("set", "--db", "d", "k", "-1")
    assert "64 bits" in hold(lethe, "place", "--limit", str(MOST), "2", "k", "1", code=BAD_DATA)
    lethe("set", "--db", "d", "k", "1")
    assert "64 bits" in hold(lethe, "settle", "1", str(MOST), code=BAD_DATA)
    assert hold(lethe, "settle", "1", str(MOST - 1)) == f"settled\tk\t{MOST}\t0\t-\n"


def test_decimals_and_odd_bytes(lethe):
    name = "a\\tb\\\\"
    assert hold(lethe, "place", "--scale", "2", "--limit", "10.50", name, name, "3.25") == f"held\t{name}\t0.00\t7.25\t-\n"
    assert json.loads(hold(lethe, "settle", "--json", name, "1.5"))["value"] == 1.5
    shown = json.loads(hold(lethe, "list", "--all", "--json"))
    assert shown["amount"] == 3.25 and shown["limit"] == 10.5 and shown["actual"] == 1.5 and shown["period"] is None


def test_limits_of_other_commands_count_it(lethe):
    hold(lethe, "place", "--per", "1h,1mo", "--limit", "100/1mo", "i", "k", "60")
    assert json.loads(hold(lethe, "list", "--json"))["period"] == "1mo"
    for limit in ("99", "99/1h", "99/1mo"):
        assert lethe("take", "--db", "d", "--limit", limit, "t", "k", "40").returncode == NEGATIVE
        counted = lethe("count", "--db", "d", "--limit", limit, stdin=b"e\tk\t40\n")
        assert counted.returncode == 5, counted.stderr
    assert lethe("take", "--db", "d", "--limit", "100/1h", "t", "k", "40").stdout.startswith(b"applied\tk\t40\t0\t")
    assert lethe("take", "--db", "d", "--min", "0", "u", "k", "-40").returncode == DONE


def test_it_waits_for_its_turn(lethe, tmp_path):
    hold(lethe, "place", "--limit", "5", "i", "k", "1")
    with subprocess.Popen([BINARIES / "lethe", "count", "--db", "d", "-"], cwd=tmp_path, stdin=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as writer:
        # Nobody may have the store open when the writer comes, so its name on the lock is waited for.
        end = time.monotonic() + 100
        while str(writer.pid) not in (tmp_path / "d/lethe.lock").read_text():
            assert time.monotonic() < end and writer.poll() is None
            time.sleep(0.02)
        assert lethe("hold", "release", "--db", "d", "--wait", "1ms", "none").returncode == ENVIRONMENT
        assert hold(lethe, "list").startswith("i\topen")
        with subprocess.Popen([BINARIES / "lethe", "hold", "settle", "--db", "d", "i", "1"], cwd=tmp_path,
                              stdout=subprocess.PIPE) as settling:
            time.sleep(0.1)
            writer.stdin.close()
            assert settling.stdout.read() == b"settled\tk\t1\t4\t-\n"
