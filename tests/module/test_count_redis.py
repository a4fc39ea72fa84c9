"""Goal:   lethe count --redis counts every event exactly once, into tables that stay what they are, and says what it cannot do.
Method: lethe on real servers, fed by files; its totals and the counters, read by other means, are compared with a model."""

import json
import pathlib
import random
import sys

import pytest
import redis
from counting import BAD_DATA, count, DONE, ENVIRONMENT, Feed, lethe, listed, make_events, NEGATIVE, SKIPPED, url_of, USAGE

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "data"))
from corpus import CASES, FOLDER  # noqa: E402


@pytest.mark.parametrize("partitions", ["1", "7", "64"])
def test_totals(server, partitions):
    """Every event once, duplicates and bad lines told apart; all commands see the same sums."""
    url = url_of(server)
    lines, totals = make_events(5000, 1)
    twice = lines + lines[::3] + ["nonsense\n"]
    random.Random(2).shuffle(twice)
    summary = count(url, "--partitions", partitions, code=SKIPPED, stdin="".join(twice))
    assert (summary["applied"], summary["unreadable"]) == (5000, 1)
    assert summary["duplicates"] == len(lines[::3]) and summary["doubtful"] == 0
    assert listed(url) == totals
    some = lethe("get", url, "key 3", "nothing", "key 0")
    assert some.returncode == NEGATIVE
    assert some.stdout == f"key 3\t{totals['key 3']}\nkey 0\t{totals['key 0']}\n"
    best = sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))[:5]
    assert lethe("top", url, "-n", "5").stdout == "".join(f"{key}\t{value}\n" for key, value in best)
    stat = json.loads(lethe("stat", url, "--json").stdout)
    assert (stat["applied"], stat["partitions"], stat["ids"]) == (5000, int(partitions), 5000)
    assert "5000" in lethe("stat", url).stdout
    removed = lethe("del", url, "key 3", "nothing")
    assert removed.returncode == NEGATIVE
    del totals["key 3"]
    assert listed(url) == totals
    assert lethe("list", url, "--prefix", "key 1").stdout == "".join(
        f"{key}\t{totals[key]}\n" for key in sorted(totals) if key.startswith("key 1"))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.has_time])
def test_corpus(name, server, tmp_path):
    """Files as they are met become what they become in a store."""
    case, url, path = CASES[name], url_of(server), tmp_path / name
    path.write_bytes((FOLDER / name).read_bytes().replace(b"\xe9", "é".encode()))
    summary = count(url, "--last-line", *case.words, path, code=DONE if case.is_clean() else SKIPPED)
    assert (summary["applied"], summary["duplicates"], summary["unreadable"]) == \
        (case.applied, case.duplicates, case.unreadable)
    assert listed(url) == {key.replace("\udce9", "é"): value for key, value in case.totals.items()}


def test_a_wrong_column_name_makes_no_table(server, tmp_path):
    (tmp_path / "f").write_text("id,page\n1,a\n")
    assert lethe("count", url_of(server), "--csv", "--fields", "id=id,key=pag", tmp_path / "f").returncode == BAD_DATA
    assert server.call("EXISTS", "t") == 0
    assert lethe("count", url_of(server), "--fields", "id=1,key=2,time=3", "--zone", "UTC", tmp_path / "f").returncode == USAGE


def test_one_partition_is_a_once_table(server):
    """Other clients use the same table."""
    server.call("ONCE.CREATE", "t", "WINDOW", 60000)
    server.call("ONCE.INCRBY", "t", "a", "k", 5)
    assert count(url_of(server), stdin="a\tk\t5\nb\tk\t1\n")["duplicates"] == 1
    assert server.call("ONCE.GET", "t", "k") == 6
    assert server.call("ONCE.INCRBY", "t", "b", "k", 1) == [0, 6]


def test_files_go_on_where_they_were_left(server, tmp_path):
    url, path = url_of(server), tmp_path / "events"
    lines, totals = make_events(3000, 3)
    path.write_text("".join(lines[:2000]))
    assert count(url, path)["applied"] == 2000
    path.write_text("".join(lines))
    summary = count(url, path)
    assert (summary["events"], summary["applied"]) == (1000, 1000) and summary["resumed_at"] > 0
    assert count(url, "--from-start", path)["duplicates"] == 3000
    assert listed(url) == totals
    # A new table has read nothing, whatever was said of one that had its name.
    server.call("DEL", "t")
    assert count(url, path)["applied"] == 3000


def test_files_belong_to_their_format(server, tmp_path):
    """Where every line was unreadable, the corrected command counts; where one was counted, another format is refused. A
    last line without its newline is left."""
    url, path = url_of(server), tmp_path / "events"
    path.write_text("a,k,1\nb,k,1\nc,k")
    assert count(url, path, code=SKIPPED)["unreadable"] == 2
    summary = count(url, "--csv", path)
    assert (summary["applied"], summary["pending"]) == (2, 1)
    result = lethe("count", url, path)
    assert result.returncode == USAGE and "--from-start" in result.stderr and "--csv" in result.stderr
    path.write_text("a,k,1\nb,k,1\nc,k,5\n")
    assert count(url, "--csv", path)["applied"] == 1
    assert listed(url) == {"k": 7}


def test_what_a_table_is_can_not_be_changed(server):
    url = url_of(server)
    count(url, "--partitions", "4", "--window", "1h", "--error", "1e-4", stdin="a\tk\n")
    for words in (["--partitions", "5"], ["--window", "2h"], ["--error", "1e-5"]):
        result = lethe("count", url, *words, stdin="b\tk\n")
        assert result.returncode == USAGE and "cannot be changed" in result.stderr
    assert count(url, "--partitions", "4", "--window", "1h", "--error", "1e-4", stdin="b\tk\n")["applied"] == 1
    count(url, stdin="a\tk\n", table="plain")
    assert "has 1 partition, not 2" in lethe("count", url, "--partitions", "2", table="plain").stderr
    server.call("SET", "other", "something")
    server.call("RPUSH", "list", "something")
    server.call("SET", "newer", "lethe-table 4 partitions 4")
    for table, words in (("other", "not a table of counters"), ("list", "not a table of counters"), ("newer", "newer lethe")):
        for command in ("count", "list"):
            result = lethe(command, url, table=table)
            assert result.returncode == BAD_DATA and words in result.stderr
    result = lethe("list", url, table="none")
    assert result.returncode == ENVIRONMENT and "there is no table none" in result.stderr


def test_a_partition_that_was_lost_is_told(server):
    url = url_of(server)
    count(url, "--partitions", "4", stdin="".join(make_events(100, 4)[0]))
    victim = next(key for key in server.client.keys("t:{*}"))
    server.call("DEL", victim)
    assert "1 of 4 partitions are missing" in lethe("stat", url).stderr
    assert "1 of 4 partitions were missing" in lethe("count", url).stderr
    # Made by somebody else, with another window.
    server.call("DEL", victim)
    server.call("ONCE.INCRBY", victim, "x", "y", 1)
    server.call("DEL", victim)
    server.call("ONCE.CREATE", victim, "WINDOW", 1000)
    result = lethe("count", url, stdin="a\tk\n")
    assert result.returncode == BAD_DATA and "window of 1000 ms" in result.stderr


def said_missing(result, victim):
    """What there is was printed, and it was said which partition it lacks, and what to do."""
    assert result.returncode == BAD_DATA, result.stderr
    assert f"missing: {victim}" in result.stderr and "counted there" in result.stderr and "'lethe count'" in result.stderr
    return result.stdout


def test_readings_say_which_partitions_they_lack(server):
    url = url_of(server)
    count(url, "--partitions", "4", "--per", "1h", stdin="".join(f"e{i}\tk\t1\n" for i in range(1000)))
    victim = sorted(key.decode() for key in server.client.keys("t:{*}"))[1]
    dump = server.client.dump(victim)
    server.call("DEL", victim)
    left = sum(server.call("ONCE.GET", key, "k") for key in server.client.keys("t:{*}"))
    assert 600 < left < 900
    for command, *words in (["get", "k"], ["list"], ["top"], ["list", "--prefix", "k"], ["get", "--json", "k"]):
        assert str(left) in said_missing(lethe(command, url, *words), victim)
    assert str(left) in said_missing(lethe("usage", url), victim) and str(left) in said_missing(lethe("usage", url, "k"), victim)
    said_missing(lethe("top", url, "--by", "1h", "--at", "2001-01-01"), victim)
    assert said_missing(lethe("get", url, "none"), victim) == ""
    assert lethe("stat", url).returncode == DONE
    server.client.restore(victim, 0, dump)
    for command, *words in (["get", "k"], ["list"], ["top"], ["usage"]):
        result = lethe(command, url, *words)
        assert result.returncode == DONE and "1000" in result.stdout and result.stderr == ""
    # What is not there is deleted, whatever it was.
    server.call("DEL", victim)
    assert lethe("del", url, "k").returncode == DONE
    server.call("DEL", *server.client.keys("t:{*}"))
    for command, *words in (["get", "k"], ["list"], ["top"], ["usage"], ["usage", "k"]):
        result = lethe(command, url, *words)
        assert result.returncode == BAD_DATA and "4 are missing" in result.stderr and "and 1 more" in result.stderr


def test_a_counter_by_key_rests_on_its_own_partition(server):
    url = url_of(server)
    count(url, "--partitions", "4", "--partition-by", "key", "--per", "1h",
          stdin="".join(f"e{i}\tk{i % 40}\t1\n" for i in range(400)))
    victim = sorted(key.decode() for key in server.client.keys("t:{*}"))[2]
    gone = {f"k{i}" for i in range(40) if server.call("ONCE.GET", victim, f"k{i}") is not None}
    kept = sorted({f"k{i}" for i in range(40)} - gone)
    server.call("DEL", victim)
    assert gone and kept
    for command in ("get", "usage"):
        result = lethe(command, url, *kept)
        assert result.returncode == DONE and result.stderr == ""
        assert kept[0] in said_missing(lethe(command, url, kept[0], min(gone)), victim)
    assert len(said_missing(lethe("list", url), victim).splitlines()) == len(kept)
    said_missing(lethe("top", url), victim)
    # Of a counter that nobody knows, only its own partition says so.
    codes = {lethe("get", url, "-q", f"x{i}").returncode for i in range(12)}
    assert codes == {NEGATIVE, BAD_DATA}


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_table_that_was_made_again_is_told(server, tmp_path, partitions):
    """What is said of files was of the table that is gone: they are not passed over as if it were still there."""
    url, path = url_of(server), tmp_path / "events"
    path.write_text("a\tk\t3\nb\tk\t2\n")
    words = ["--partitions", str(partitions)]
    count(url, *words, str(path))
    count(url, *words, str(path))
    for key in server.client.keys("t:{*}") or ["t"]:
        server.call("DEL", key)
        server.call("ONCE.CREATE", key, "WINDOW", 600000)
    made = server.client.keys("t:{*}") or ["t"]
    server.call("ONCE.INCRBY", made[0], "x", "other", 1)
    result = lethe("count", url, str(path))
    assert result.returncode == BAD_DATA, result.stderr
    assert "1 event is counted here, and there were 2" in result.stderr
    assert "--from-start" in result.stderr and "HDEL t:files applied" in result.stderr
    assert count(url, str(path), "--from-start")["applied"] == 2
    assert count(url, str(path))["events"] == 0
    assert listed(url) == {"k": 5, "other": 1}
    # Another file is none that was read.
    server.call("DEL", *made)
    server.call("ONCE.INCRBY", made[0], "x", "other", 1)
    (tmp_path / "more").write_text("c\tk\n")
    assert count(url, str(tmp_path / "more"))["applied"] == 1
    server.call("HDEL", "t:files", "applied")
    assert count(url, str(path))["events"] == 0


def test_a_description_that_was_lost_is_told(server):
    """Nobody knows then by which seed ids are spread: another one would let duplicates in, through other partitions."""
    url = url_of(server)
    lines, totals = make_events(300, 16)
    count(url, "--partitions", "4", "--window", "1h", stdin="".join(lines))
    description = server.call("GET", "t")
    server.call("DEL", "t")
    # Whatever number of partitions is wanted this time, also just the one that a server has by default.
    for words in (["--partitions", "4", "--window", "1h"], ["--partitions", "4"], ["--partitions", "7"],
                  ["--partitions", "1024"], []):
        before = sorted(server.client.keys())
        result = lethe("count", url, *words, stdin="".join(lines))
        assert result.returncode == BAD_DATA, result.stderr
        assert "the key t, which describes the table, is gone" in result.stderr and "t:{" in result.stderr
        assert sorted(server.client.keys()) == before
    assert lethe("list", url).returncode == ENVIRONMENT
    server.call("SET", "t", description)
    assert count(url, stdin="".join(lines))["duplicates"] == 300
    assert listed(url) == totals
    # One partition that is left is enough, and tables whose names are alike are none of it.
    for victim in sorted(server.client.keys("t:{*}"))[1:] + ["t"]:
        server.call("DEL", victim)
    assert lethe("count", url, "--partitions", "4", stdin="a\tk\n").returncode == BAD_DATA
    assert count(url, "--partitions", "4", stdin="a\tk\n", table="tt")["applied"] == 1
    server.call("DEL", *server.client.keys("t:{*}"))
    assert count(url, "--partitions", "4", stdin="".join(lines))["applied"] == 300
    # Once nothing is remembered, any seed will do; docs/guarantees.md says how.
    server.call("SET", "t", "lethe-table 1 partitions 4 seed 0x1 window_ms 600000 error 1e-06")
    assert count(url, stdin="b\tk\n")["applied"] == 1


def test_many_make_one_table_at_once(server):
    """One of them writes the description; who comes late finds partitions, and then the description too."""
    for number in range(10):
        server.client.flushall()
        lines, totals = make_events(2000, 17 + number)
        feeds = [Feed(url_of(server), "--partitions", "16", lines=lines[i::2], chunk=1000, pause=0) for i in (0, 1) * 3]
        for feed in feeds:
            feed.write(1)
        summaries = [feed.finish() for feed in feeds]
        assert sum(summary["applied"] for summary in summaries) == 2000
        assert listed(url_of(server)) == totals


def test_sums_that_do_not_fit(server):
    url, most = url_of(server), 2 ** 63 - 1
    lines = [f"a\tk\t{most}\n", "b\tk\t1\n", "c\tk\t1\tl\t1\n", "d\tl\t5\n"]
    result = lethe("count", url, "--json", stdin="".join(lines))
    summary = json.loads(result.stdout)
    assert result.returncode == SKIPPED
    assert (summary["applied"], summary["overflow"]) == (2, 2) and "-:2: a counter would exceed" in result.stderr.replace(
        "standard input", "-")
    assert listed(url) == {"k": most, "l": 5}
    result = lethe("count", url, "--on-error", "stop", stdin=lines[1])
    assert result.returncode == BAD_DATA and "(stopped;" in result.stderr


def test_a_window_at_its_cap(server):
    lines = make_events(200000, 5)[0]
    result = lethe("count", url_of(server), "--memory", "256KiB", "--json", stdin="".join(lines))
    assert result.returncode == SKIPPED and "the window has reached its --memory" in result.stderr
    summary = json.loads(result.stdout)
    assert summary["applied"] > 0 and summary["applied"] + summary["refused"] == 200000
    assert sum(listed(url_of(server)).values()) != 0


def test_what_a_server_refuses(start):
    bare = start(module=False)
    result = lethe("count", url_of(bare), stdin="a\tk\n")
    assert result.returncode == ENVIRONMENT and "has not loaded the module" in result.stderr
    assert bare.client.dbsize() == 0


def test_no_memory_left_at_the_server(start):
    server = start(maxmemory="8mb", maxmemory_policy="noeviction")
    lines = [f"id-{i}\tkey-{i}-{'x' * 100}\n" for i in range(200000)]
    result = lethe("count", url_of(server), "--json", stdin="".join(lines))
    assert result.returncode == ENVIRONMENT and "OOM" in result.stderr and "acknowledged" in result.stderr
    applied = json.loads(result.stdout)["applied"]
    server.call("CONFIG", "SET", "maxmemory", "0")
    assert applied <= len(listed(url_of(server))) < 200000
    assert count(url_of(server), stdin="".join(lines))["events"] == 200000
    assert listed(url_of(server)) == {line.split("\t")[1][:-1]: 1 for line in lines}
