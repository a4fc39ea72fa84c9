"""Goal:   lethe count --redis counts every event exactly once, whatever happens to servers, connections and itself, and says
        what it can't do.
Method: lethe on real servers and clusters, fed by pipes and files; its totals and the counters, read by other
        means, are compared with a model. Servers are killed, restarted and emptied of slots in the middle of a load."""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

import pytest
import redis
from cluster import Cluster
from servers import MODULE, wait_for

LETHE = MODULE.parent / "lethe"
DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT, PASSED_OVER = range(6)
PARTS = ["applied", "duplicates", "late", "future", "rejected", "mismatched"]
KEYS = [f"key {i}" for i in range(20)]


def url_of(*servers):
    return "redis://" + ",".join(f"{server.address}:{server.port}" for server in servers)


def certain(words):
    """A table is made with so small an error that totals are not wrong by chance."""
    return list(words) if "--error" in words else ["--error", "1e-12", *words]


def lethe(command, url, *words, table="t", stdin="", environment=None):
    return subprocess.run([LETHE, command, "--redis", url, "--table", table, *words], input=stdin, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=300,
                          env=dict(os.environ, **(environment or {})))


def count(url, *words, code=DONE, **more):
    """Counts, and returns the summary, which must add up."""
    result = lethe("count", url, "--json", *words, **more)
    assert result.returncode == code, result.stderr
    summary = json.loads(result.stdout)
    assert summary["events"] == sum(summary[part] for part in PARTS)
    assert summary["doubtful"] <= summary["duplicates"]
    return summary


def listed(url, table="t"):
    result = lethe("list", url, table=table)
    assert result.returncode == DONE, result.stderr
    return {key: int(value) for key, value in (line.split("\t") for line in result.stdout.splitlines())}


def make_events(number, seed, first=0):
    """Lines with one counter and with several, and what they amount to."""
    chance = random.Random(seed)
    lines, totals = [], {}
    for i in range(first, first + number):
        pairs = [(chance.choice(KEYS), chance.randrange(-3, 9)) for _ in range(chance.choice([1, 1, 1, 3]))]
        lines.append("\t".join([f"id-{seed}-{i}"] + [f"{key}\t{delta}" for key, delta in pairs]) + "\n")
        for key, delta in pairs:
            totals[key] = totals.get(key, 0) + delta
    return lines, totals


class Feed:
    """lethe count at the end of a pipe, with lines that are written one after another."""

    def __init__(self, url, *words, lines=(), chunk=200, pause=0.01):
        self.process = subprocess.Popen([LETHE, "count", "--redis", url, "--table", "t", "--json", *certain(words)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines, self.chunk, self.pause, self.written = lines, chunk, pause, 0

    def write(self, until):
        """Feeds lines up to a fraction of all."""
        end = int(len(self.lines) * until)
        while self.written < end and self.process.poll() is None:
            self.process.stdin.write("".join(self.lines[self.written:self.written + self.chunk]))
            self.process.stdin.flush()
            self.written += self.chunk
            time.sleep(self.pause)

    def finish(self, code=DONE):
        out, errors = self.process.communicate(timeout=200)
        assert self.process.returncode == code, errors
        self.errors = errors
        return json.loads(out) if out else None


@pytest.mark.parametrize("partitions", ["1", "7", "64"])
def test_totals(server, partitions):
    """Every event once, copies and bad lines told apart; all commands see the same sums."""
    url = url_of(server)
    lines, totals = make_events(5000, 1)
    twice = lines + lines[::3] + ["nonsense\n"]
    random.Random(2).shuffle(twice)
    summary = count(url, "--partitions", partitions, code=PASSED_OVER, stdin="".join(twice))
    assert (summary["applied"], summary["rejected"]) == (5000, 1)
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
    """Where every line was rejected, the corrected command counts; where one was counted, another format is refused. A
    last line without its newline is left."""
    url, path = url_of(server), tmp_path / "events"
    path.write_text("a,k,1\nb,k,1\nc,k")
    assert count(url, path, code=PASSED_OVER)["rejected"] == 2
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
        assert result.returncode == USAGE and "can't be changed" in result.stderr
    assert count(url, "--partitions", "4", "--window", "1h", "--error", "1e-4", stdin="b\tk\n")["applied"] == 1
    count(url, stdin="a\tk\n", table="plain")
    assert "has 1 partition, not 2" in lethe("count", url, "--partitions", "2", table="plain").stderr
    server.call("SET", "other", "something")
    server.call("RPUSH", "list", "something")
    server.call("SET", "newer", "lethe-table 2 partitions 4")
    for table, words in (("other", "something else"), ("list", "something else"), ("newer", "newer lethe")):
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
    assert "1 of 4 partitions are not there" in lethe("stat", url).stderr
    assert "1 of 4 partitions were not there" in lethe("count", url).stderr
    # Made by somebody else, with another window.
    server.call("DEL", victim)
    server.call("ONCE.INCRBY", victim, "x", "y", 1)
    server.call("DEL", victim)
    server.call("ONCE.CREATE", victim, "WINDOW", 1000)
    result = lethe("count", url, stdin="a\tk\n")
    assert result.returncode == BAD_DATA and "window of 1000 ms" in result.stderr


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
    """Nobody knows then by which seed ids are spread: another one would let copies in, by other partitions."""
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
        assert "the key t, which tells how the table is spread, is gone" in result.stderr and "t:{" in result.stderr
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
    assert result.returncode == PASSED_OVER
    assert (summary["applied"], summary["rejected"]) == (2, 2) and "-:2: a counter would leave" in result.stderr.replace(
        "standard input", "-")
    assert listed(url) == {"k": most, "l": 5}
    result = lethe("count", url, "--on-error", "stop", stdin=lines[1])
    assert result.returncode == BAD_DATA and "stopped here" in result.stderr


def test_a_window_at_its_cap(server):
    lines = make_events(200000, 5)[0]
    result = lethe("count", url_of(server), "--memory", "256KiB", "--json", stdin="".join(lines))
    assert result.returncode == PASSED_OVER and "the window is at its --memory" in result.stderr
    summary = json.loads(result.stdout)
    assert summary["applied"] > 0 and summary["applied"] + summary["rejected"] == 200000
    assert sum(listed(url_of(server)).values()) != 0


def test_what_a_server_refuses(start):
    bare = start(module=False)
    result = lethe("count", url_of(bare), stdin="a\tk\n")
    assert result.returncode == ENVIRONMENT and "has not loaded the module" in result.stderr
    assert bare.client.dbsize() == 0
    locked = start()
    locked.call("CONFIG", "SET", "requirepass", "secret")
    locked.client = redis.Redis(port=locked.port, password="secret")
    url = url_of(locked)
    assert "NOAUTH" in lethe("count", url, stdin="a\tk\n").stderr
    for wrong in ("redis://:wrong@", "redis://user:secret@"):
        result = lethe("count", url.replace("redis://", wrong), stdin="a\tk\n")
        assert result.returncode == ENVIRONMENT and "WRONGPASS" in result.stderr
        assert "secret" not in result.stderr
    for right in ("redis://:secret@", "redis://default:se%63ret@"):
        assert lethe("count", url.replace("redis://", right), stdin="a\tk\n").returncode == DONE
    assert lethe("get", url, "k", environment={"REDISCLI_AUTH": "secret"}).stdout == "k\t1\n"
    locked.call("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+once.get", "+once.mget", "+once.info", "+get", "+cluster|slots")
    assert lethe("get", url.replace("redis://", "redis://reader:pw@"), "k").stdout == "k\t1\n"
    result = lethe("count", url.replace("redis://", "redis://reader:pw@"), stdin="a\tk\n")
    assert result.returncode == ENVIRONMENT and "NOPERM" in result.stderr


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


def test_a_server_that_dies_and_comes_back(start):
    server = start(appendonly="yes", appendfsync="always")
    lines, totals = make_events(20000, 6)
    feed = Feed(url_of(server), lines=lines)
    for part in (0.3, 0.6):
        feed.write(part)
        server.kill()
        feed.write(part + 0.1)
        server.start()
    feed.write(1)
    summary = feed.finish()
    assert summary["applied"] + summary["doubtful"] == 20000
    assert summary["duplicates"] == summary["doubtful"]
    assert listed(url_of(server)) == totals


def test_an_address_that_is_named_twice(start):
    """It is one server, also when its connection is lost and another one is looked for."""
    server = start(appendonly="yes", appendfsync="always")
    lines, totals = make_events(10000, 27)
    feed = Feed(url_of(server, server, server), lines=lines)
    feed.write(0.5)
    server.kill()
    feed.write(0.6)
    time.sleep(0.5)
    server.start()
    feed.write(1)
    summary = feed.finish()
    assert summary["applied"] + summary["doubtful"] == 10000
    assert listed(url_of(server)) == totals


@pytest.mark.parametrize("partitions", ["1", "40"])
def test_a_server_that_comes_back_empty(start, partitions):
    """What it had is lost. What follows still has the window that was asked for, not the one that the server makes by itself,
    and the table is one that can be counted in."""
    server = start()
    lines, _ = make_events(30000, 28)
    feed = Feed(url_of(server), "--window", "1h", "--partitions", partitions, lines=lines)
    for part in (0.2, 0.4, 0.6, 0.8):
        feed.write(part)
        server.kill()
        feed.write(part + 0.005) # more than a connection has under way at once, so some was never sent before
        server.start()
    feed.write(1)
    feed.finish()
    keys = server.client.keys("t:{*}") if partitions != "1" else ["t"]
    assert len(keys) == int(partitions)
    assert [server.call("ONCE.INFO", key)[1] for key in keys] == [3600000] * len(keys)
    assert partitions == "1" or "written again" in feed.errors
    again = count(url_of(server), "--window", "1h", "--partitions", partitions, stdin="".join(lines))
    assert again["events"] == 30000 and again["duplicates"] > 0
    assert count(url_of(server), stdin="".join(lines))["duplicates"] == 30000


@pytest.mark.parametrize("partitions", ["1", "8"])
def test_a_table_that_is_lost_while_connections_stay(server, partitions):
    """It is made again with its own window, and both are said."""
    lines, _ = make_events(4000, 30)
    feed = Feed(url_of(server), "--window", "1h", "--partitions", partitions, lines=lines, pause=0)
    feed.write(0.5)
    def filled():
        keys = server.client.keys("t:{*}") if partitions != "1" else ["t"]
        return len([key for key in keys if server.call("ONCE.TOP", key, 1)]) == int(partitions)
    wait_for(filled, what="some events in each")
    server.client.flushall()
    feed.write(1)
    feed.finish()
    keys = server.client.keys("t:{*}") if partitions != "1" else ["t"]
    assert len(keys) == int(partitions)
    assert [server.call("ONCE.INFO", key)[1] for key in keys] == [3600000] * len(keys)
    assert "lost a key of the table" in feed.errors
    assert partitions == "1" or "written again" in feed.errors


def test_memory_is_short_among_copies(server):
    """Copies are answered, new events are not counted, and the run says so rather than passing over them."""
    url = url_of(server)
    count(url, "--error", "1e-12", stdin="a\tk\nb\tk\n")
    server.client.config_set("maxmemory", 1)
    try:
        assert count(url, stdin="a\tk\nb\tk\n")["duplicates"] == 2
        result = lethe("count", url, stdin="a\tk\nc\tk\n")
        assert result.returncode == ENVIRONMENT and "maxmemory" in result.stderr
    finally:
        server.client.config_set("maxmemory", 0)
    assert server.call("ONCE.GET", "t", "k") == 2


def test_a_server_that_comes_back_with_another_table(start):
    """Somebody else made the table again meanwhile: ids are spread in two ways, so the first one stops."""
    server = start()
    lines, _ = make_events(20000, 29)
    feed = Feed(url_of(server), "--partitions", "4", lines=lines)
    feed.write(0.4)
    server.kill()
    feed.write(0.5)
    os.kill(feed.process.pid, signal.SIGSTOP)
    server.start()
    count(url_of(server), "--partitions", "4", stdin="a\tk\n")
    os.kill(feed.process.pid, signal.SIGCONT)
    with contextlib.suppress(BrokenPipeError):
        feed.write(1)
    feed.finish(code=BAD_DATA)
    assert "was made again by somebody else" in feed.errors


def test_a_server_that_stays_away(start):
    server = start()
    lines, _ = make_events(4000, 7)
    feed = Feed(url_of(server), "--retry", "2s", lines=lines)
    feed.write(0.5)
    wait_for(lambda: server.call("ONCE.GET", "t", KEYS[0]) is not None) # its answer is on the way then
    server.kill()
    began = time.monotonic()
    feed.write(1)
    summary = feed.finish(code=ENVIRONMENT)
    assert time.monotonic() - began < 120
    assert "no acknowledgement" in feed.errors and "run the same command again within the window" in feed.errors
    assert 0 < summary["applied"] <= 4000


def test_a_server_that_is_stopped_for_a_while(start):
    """Nothing is heard for longer than lethe waits for an answer; what was sent twice is counted once."""
    server = start()
    lines, totals = make_events(20000, 8)
    feed = Feed(url_of(server), lines=lines)
    feed.write(0.5)
    os.kill(server.process.pid, signal.SIGSTOP)
    feed.write(0.6)
    time.sleep(7)
    os.kill(server.process.pid, signal.SIGCONT)
    feed.write(1)
    summary = feed.finish()
    assert summary["applied"] + summary["doubtful"] == 20000
    assert listed(url_of(server)) == totals


def test_interrupts(server, tmp_path):
    """After a signal, and after being killed, the same command makes the totals right."""
    lines, totals = make_events(400000, 9)
    path = tmp_path / "events"
    path.write_text("".join(lines))
    url = url_of(server)
    for number, signal_number in enumerate((signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)):
        before = server.call("ONCE.INFO", "t")[19] if server.client.exists("t") else 0
        process = subprocess.Popen([LETHE, "count", "--redis", url, "--table", "t", "-q", *certain([path])],
                                   stderr=subprocess.PIPE, text=True)
        def has_gone_on():
            return server.call("ONCE.INFO", "t")[19] > before + 10000 or process.poll() is not None
        wait_for(has_gone_on, what="some events")
        process.send_signal(signal_number)
        errors = process.communicate()[1]
        if signal_number != signal.SIGKILL and process.returncode != DONE:
            assert process.returncode == 128 + signal_number, (number, errors)
            assert "interrupted" in errors
    summary = count(url, path)
    assert summary["resumed_at"] > 0
    assert listed(url) == totals


def test_an_interrupt_while_nobody_answers(start):
    server = start()
    feed = Feed(url_of(server), lines=make_events(2000, 10)[0])
    feed.write(0.5)
    wait_for(lambda: server.call("ONCE.INFO", "t")[19] > 0, what="some events")
    os.kill(server.process.pid, signal.SIGSTOP)
    feed.write(1)
    feed.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    feed.finish(code=130)
    assert time.monotonic() - began < 20


def test_wait_without_replicas(start):
    """Nothing is acknowledged that no replica has; with one it is, and the replica has it all."""
    master, replica = start(), start()
    lines, totals = make_events(5000, 11)
    result = lethe("count", url_of(master), "--wait", "1", "--retry", "2s", stdin="".join(lines))
    assert result.returncode == ENVIRONMENT and "0 of 1 replicas confirmed" in result.stderr
    replica.follow(master)
    wait_for(replica.is_synced, what="the link")
    summary = count(url_of(master), "--wait", "1", stdin="".join(lines))
    assert summary["events"] == 5000
    assert listed(url_of(master)) == totals
    replica.call("REPLICAOF", "NO", "ONE")
    assert listed(url_of(replica)) == totals


def test_a_replica_is_promoted(start):
    """Two servers that are no cluster: lethe is told of both, and goes to the one that takes writes."""
    master, replica = start(), start()
    replica.follow(master)
    wait_for(replica.is_synced, what="the link")
    lines, totals = make_events(20000, 12)
    feed = Feed(url_of(master, replica), "--wait", "1", lines=lines)
    feed.write(0.5)
    master.kill()
    replica.call("REPLICAOF", "NO", "ONE")
    master.start()
    master.follow(replica)
    feed.write(1)
    summary = feed.finish()
    assert summary["applied"] + summary["doubtful"] == 20000
    assert listed(url_of(replica)) == totals


def test_a_cluster(tmp_path):
    """Partitions are spread evenly; a master is killed in the middle; a slot moves, and then another half-way."""
    with Cluster(tmp_path) as cluster:
        url = url_of(*cluster.nodes[:2])
        lines, totals = make_events(30000, 13)
        feed = Feed(url, "--wait", "1", "--partitions", "12", lines=lines)
        feed.write(0.2)
        spread = [len(node.client.keys("t:{*}")) for node in cluster.masters()]
        assert spread == [4, 4, 4]
        victim = cluster.masters()[1]
        victim.kill()
        feed.write(0.25) # the pipe takes it, lethe or not
        def has_failed_over():
            roles = [node.client.info("replication")["role"] for node in cluster.nodes if node is not victim]
            return roles.count("master") == 3
        wait_for(has_failed_over, 60, "the failover")
        feed.write(0.3) # the new master has no replica yet, so nothing is acknowledged
        victim.start()
        feed.write(0.6)
        cluster.wait_until_whole()
        move(cluster, feed)
        feed.write(1)
        summary = feed.finish()
        assert summary["applied"] + summary["doubtful"] == 30000
        assert summary["duplicates"] == summary["doubtful"]
        assert listed(url) == totals
        assert json.loads(lethe("stat", url, "--json").stdout)["partitions"] == 12


@pytest.mark.long
def test_a_cluster_whose_masters_are_killed(tmp_path):
    """Ten kills, one after another, while one lethe counts."""
    chance = random.Random(15)
    with Cluster(tmp_path) as cluster:
        url = url_of(*cluster.nodes)
        lines, totals = make_events(400000, 15)
        feed = Feed(url, "--wait", "1", "--partitions", "12", lines=lines, pause=0.005)
        writer = threading.Thread(target=feed.write, args=(1,))
        writer.start()
        for _ in range(10):
            before = feed.written
            wait_for(lambda: feed.written >= min(before + 5000, len(lines)), 120, "some load")
            victim = chance.choice(cluster.masters())
            victim.kill()
            time.sleep(chance.choice([0, 1, 4]))
            victim.start()
            cluster.wait_until_whole()
        writer.join()
        summary = feed.finish()
        assert summary["applied"] + summary["doubtful"] == 400000
        assert listed(url) == totals


def move(cluster, feed):
    """Moves two partitions to another master, while the load goes on."""
    for number, (until, done) in enumerate(((0.7, 0.75), (0.8, 0.9))):
        source, target = cluster.masters()[:2] if number == 0 else cluster.masters()[1:]
        key = sorted(source.client.keys("t:{*}"))[0]
        slot = source.call("CLUSTER", "KEYSLOT", key)
        source_id, target_id = source.call("CLUSTER", "MYID"), target.call("CLUSTER", "MYID")
        target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        feed.write(until)
        source.call("MIGRATE", target.address, target.port, key, 0, 10000)
        feed.write(done) # answered by ASK
        for node in (target, source):
            node.call("CLUSTER", "SETSLOT", slot, "NODE", target_id)


def test_a_partition_that_is_lost_while_it_moves(tmp_path):
    """Who is asked for it instead makes it, and with the table's window."""
    with Cluster(tmp_path) as cluster:
        lines, _ = make_events(4000, 30)
        feed = Feed(url_of(cluster.nodes[0]), "--window", "1h", "--partitions", "6", lines=lines)
        feed.write(0.5)
        source, target = cluster.masters()[:2]
        key = wait_for(lambda: sorted(source.client.keys("t:{*}")), what="a partition")[0]
        slot = source.call("CLUSTER", "KEYSLOT", key)
        source_id, target_id = source.call("CLUSTER", "MYID"), target.call("CLUSTER", "MYID")
        target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        source.call("DEL", key)
        feed.write(1)
        feed.finish()
        for node in (target, source):
            node.call("CLUSTER", "SETSLOT", slot, "NODE", target_id)
        assert target.call("ONCE.INFO", key)[1] == 3600000


def test_a_cluster_by_default(tmp_path):
    """Without --partitions there are sixteen; without --wait, all goes well as long as nobody dies."""
    with Cluster(tmp_path) as cluster:
        url = url_of(cluster.nodes[-1])
        lines, totals = make_events(20000, 14)
        path = pathlib.Path(tmp_path) / "events"
        path.write_text("".join(lines))
        assert count(url, path)["applied"] == 20000
        assert count(url, path)["events"] == 0
        assert listed(url) == totals
        spread = sorted(len(node.client.keys("t:{*}")) for node in cluster.masters())
        assert spread == [5, 5, 6]
