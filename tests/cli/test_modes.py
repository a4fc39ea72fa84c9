"""Goal: a store's modes are its own: no command changes them that was not asked to.

Method: a store in each mode, a command that says nothing of modes, and then what the mode is for."""

import gzip
import json
import tarfile

import pytest

DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT, SKIPPED = range(6)
START = 1_600_000_000_000
TIMED = ["--fields", "id=1,key=2,delta=3,time=4"]


def count(lethe, *words, lines, code=DONE):
    result = lethe("count", "--db", "s", *words, stdin=lines.encode())
    assert result.returncode == code, result.stderr
    return result.stderr.decode()


def value(lethe, key):
    return int(lethe("get", "--db", "s", key).stdout.split(b"\t")[1])


def mode(lethe):
    return json.loads(lethe("stat", "--db", "s", "--json").stdout)


def test_set_and_del_keep_the_time_of_events(lethe):
    count(lethe, "--window", "1h", *TIMED, lines=f"a\tk\t1\t{START}\n")
    assert lethe("set", "--db", "s", "other", "5").returncode == DONE
    assert lethe("del", "--db", "s", "other").returncode == DONE
    assert mode(lethe)["clock_ms"] == START
    count(lethe, *TIMED, lines=f"a\tk\t1\t{START}\nb\tk\t1\t{START + 1000}\n")
    assert value(lethe, "k") == 2


def test_set_keeps_the_check_of_payloads(lethe):
    count(lethe, "--check-payload", lines="a\tk\t1\n")
    assert lethe("set", "--db", "s", "other", "1").returncode == DONE
    assert "other keys or deltas" in count(lethe, lines="a\tk\t2\n", code=SKIPPED)
    assert mode(lethe)["exact"] and mode(lethe)["check_payload"]
    assert "cannot be used together" in count(lethe, "--exact", "--no-exact", lines="", code=USAGE)
    assert "switch both off" in count(lethe, "--no-exact", lines="", code=USAGE)
    count(lethe, "--no-check-payload", lines="a\tk\t2\n")
    assert mode(lethe)["exact"] and not mode(lethe)["check_payload"]
    count(lethe, "--no-exact", lines="a\tk\t2\nb\tk\t1\n")
    assert not mode(lethe)["exact"]
    assert value(lethe, "k") == 2


def test_events_without_a_time_are_refused_where_time_is_theirs(lethe):
    count(lethe, *TIMED, lines=f"a\tk\t1\t{START}\n")
    assert "time=4" in count(lethe, lines="b\tk\t1\n", code=USAGE)
    count(lethe, lines="")
    assert mode(lethe)["clock_ms"] == START
    count(lethe, *TIMED, lines=f"b\tk\t1\t{START}\n")
    assert value(lethe, "k") == 2


def test_events_with_a_time_are_refused_where_it_is_the_clocks(lethe):
    count(lethe, lines="a\tk\t1\n")
    assert "clock on the wall" in count(lethe, *TIMED, lines=f"b\tk\t1\t{START}\n", code=USAGE)
    count(lethe, lines="a\tk\t1\nb\tk\t1\n")
    assert value(lethe, "k") == 2


def test_one_event_far_ahead_makes_no_other_late(lethe):
    lines = [f"id-{i}\tk\t1\t{START + i * 1000 + (20 * 86_400_000 if i == 10 else 0)}\n"
             for i in range(1000)]
    result = lethe("count", "--db", "s", "--window", "10m", "--json", *TIMED, stdin="".join(lines).encode())
    summary = json.loads(result.stdout)
    assert (summary["applied"], summary["future"], summary["late"]) == (999, 1, 0)
    assert result.returncode == SKIPPED


def test_one_event_far_ahead_at_the_end_of_a_batch(lethe, tmp_path):
    """What comes in the next batch is asked as well."""
    lines = [f"id-{i}\tk\t1\t{START + i * 1000 + (20 * 86_400_000 if i % 10 == 9 else 0)}\n"
             for i in range(100)]
    (tmp_path / "events").write_text("".join(lines[:-1]))
    result = lethe("count", "--db", "s", "--window", "10m", "--json", "--batch", "10", *TIMED, "events")
    summary = json.loads(result.stdout)
    assert (summary["applied"], summary["future"], summary["late"]) == (90, 9, 0)


@pytest.mark.parametrize("order, hint", [(lambda i: 999 - i, True), (lambda i: i * 617 % 1000, False)],
                         ids=["newest first", "in no order"])
def test_events_that_run_backwards(order, hint, lethe, tmp_path):
    """The hint says so, and both ways that it names count everything."""
    (tmp_path / "events").write_text("".join(f"id-{i}\tk\t1\t{START + order(i) * 1000}\n" for i in range(1000)))
    result = lethe("count", "--db", "s", "--window", "10s", *TIMED, "events")
    assert result.returncode == SKIPPED and b"check the clock that wrote it, and whether the oldest" in result.stderr
    assert (b"seem to run backwards in time" in result.stderr) == hint
    count(lethe, "--window", "1h", "--from-start", *TIMED, "events", lines="")
    assert value(lethe, "k") == 1000
    if hint:
        lines = "".join(reversed((tmp_path / "events").read_text().splitlines(keepends=True)))
        assert lethe("count", "--db", "t", "-q", "--window", "10s", *TIMED, stdin=lines.encode()).returncode == DONE
        assert lethe("get", "--db", "t", "k").stdout == b"k\t1000\n"


def test_the_first_event_is_judged_by_those_that_follow(lethe):
    assert "(1 future)" in count(lethe, "--window", "2s", *TIMED, code=SKIPPED,
                                 lines=f"a\tk\t1\t{START + 99000}\nb\tk\t1\t{START}\n")


def test_a_store_that_is_refused_is_not_made(lethe, tmp_path):
    assert "allow a larger error, or plan for fewer ids" in count(lethe, "--forever", "--ledger-error", "1e-12",
                                                                  lines="a\tk\n", code=USAGE)
    assert not list(tmp_path.iterdir())


def test_making_that_was_interrupted(lethe, tmp_path):
    """A kill has left the lock alone."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s/lethe.lock").touch()
    for words in ["stat"], ["check"], ["backup", "--to", "b"], ["get", "k"]:
        result = lethe(words[0], "--db", "s", *words[1:])
        assert result.returncode == ENVIRONMENT and b"was interrupted" in result.stderr, result.stderr
    count(lethe, lines="a\tk\n")
    assert value(lethe, "k") == 1


def test_the_kind_of_the_window_is_the_stores(lethe):
    count(lethe, "--window-kind", "forgetful", lines="a\tk\t1\n")
    assert lethe("set", "--db", "s", "other", "1").returncode == DONE
    count(lethe, lines="a\tk\t1\nb\tk\t1\n")
    assert mode(lethe)["window_kind"] == "forgetful"
    assert b"3d, forgetful kind" in lethe("stat", "--db", "s").stdout
    refusal = count(lethe, "--window-kind", "quotient", lines="c\tk\t1\n", code=USAGE)
    assert "of the forgetful kind, and the quotient kind is asked for; leave that out" in refusal
    count(lethe, "--window-kind", "forgetful", "--exact", lines="c\tk\t1\nb\tk\t1\n")
    assert lethe("backup", "--db", "s", "--to", "b").returncode == DONE
    assert lethe("restore", "--from", "b", "--db", "t").returncode == DONE
    restored = json.loads(lethe("stat", "--db", "t", "--json").stdout)
    assert restored["window_kind"] == "forgetful" and restored["exact"]
    assert value(lethe, "k") == 3
    assert "leave --memory out" in count(lethe, "--window-kind", "forgetful", "--memory", "1MiB", lines="", code=USAGE)
    assert "has no memory cap in a store; leave the cap out" in count(lethe, "--memory", "1MiB", lines="", code=USAGE)


# What a run may be asked to switch, and what the store then says of itself.
SWITCHES = {
    "exact": (["--exact"], "exact"),
    "payloads": (["--check-payload"], "check_payload"),
    "for ever": (["--forever"], "forever"),
    "window": (["--window", "1h"], "window_ms"),
    "error": (["--error", "0.001"], "error"),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain file", "gzip"])
@pytest.mark.parametrize("words, name", SWITCHES.values(), ids=SWITCHES)
def test_a_run_that_is_refused_switches_nothing(words, name, packed, lethe, tmp_path):
    """Because a file was read in another way, or lacks what is asked of it; whichever file that is."""
    write = gzip.compress if packed else bytes
    (tmp_path / "first").write_bytes(write(b"x\tk\t1\n"))
    (tmp_path / "f").write_bytes(write(b"a\tk\t1\n"))
    (tmp_path / "header").write_bytes(write(b"id,key\na,k\n"))
    count(lethe, "f", lines="")
    before = mode(lethe)
    assert "was read up to byte" in count(lethe, *words, "--csv", "first", "f", lines="", code=USAGE)
    count(lethe, *words, "--csv", "--fields", "id=nothing,key=key", "header", lines="", code=BAD_DATA)
    assert mode(lethe)[name] == before[name]
    count(lethe, *words, "f", lines="")
    assert mode(lethe)[name] != before[name]
    # Now it is so, and a run that asks for it again is refused by the file alone.
    count(lethe, *words, "--csv", "f", lines="", code=USAGE)
    count(lethe, "first", "f", lines="")
    assert value(lethe, "k") == 2


def test_events_without_a_time_switch_nothing(lethe, tmp_path):
    count(lethe, *TIMED, lines=f"a\tk\t1\t{START}\n")
    (tmp_path / "f").write_bytes(b"b\tk\t1\n")
    assert "time=4" in count(lethe, "--exact", "f", lines="", code=USAGE)
    assert not mode(lethe)["exact"]
    count(lethe, "--exact", lines="")  # no events: the switch is all that is asked for
    assert mode(lethe)["exact"]


def test_payloads_of_an_earlier_version(lethe, source, tmp_path):
    """It compared changes in their order: the same order is a duplicate still, other changes are not."""
    with tarfile.open(source / "tests/golden/store-payload-v0.tar.gz") as archive:
        archive.extractall(tmp_path)
    for fields, deltas, outcome in ((("k1", "k2"), (1, 2), "duplicates"), (("k1", "k2"), (2, 1), "mismatched")):
        event = {"id": "a", "at": 1700000000000, "k1": "x", "d1": deltas[0], "k2": "y", "d2": deltas[1]}
        places = ",".join(f"key={name},delta=d{name[1]}" for name in fields)
        result = lethe("count", "--db", "by-order", "--json", "--jsonl", "--fields", f"id=id,{places},time=at", "--time-unit", "ms",
                       stdin=json.dumps(event).encode())
        assert json.loads(result.stdout)[outcome] == 1, result.stderr
