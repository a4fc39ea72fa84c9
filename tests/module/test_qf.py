"""Goal:   QF.* is a multiset of items that master, replica, file and copy have alike, and that refuses what is wrong.
Method: sessions; random additions, removals and merges against a dictionary, with an error so small that none is met; each way
        in which a server writes and reads its data."""

import collections
import random

import pytest
import redis
from servers import IS_SANITIZED, table_info, wait_for
from test_commands import raw
from test_types import error_of

TINY = ["ERROR", "1e-12"]


def test_a_session(server):
    assert server.call("QF.RESERVE", "q", "capacity", 1000, "ERROR", 0.001, "SEED", 7) == b"OK"
    assert server.call("QF.ADD", "q", "a") == 1
    assert server.call("QF.ADD", "q", "a") == 0
    assert server.call("QF.MADD", "q", "b", "a", "b", "b") == [1, 0, 0, 0]
    assert server.call("QF.TEST", "q", "a") == 1
    assert server.call("QF.MTEST", "q", "a", "z", "b") == [1, 0, 1]
    assert server.call("QF.COUNT", "q", "a", "b", "z") == [3, 3, 0]
    assert server.call("QF.REMOVE", "q", "a") == 1
    assert server.call("QF.MREMOVE", "q", "a", "a", "a", "z") == [1, 1, 0, 0]
    assert server.call("QF.MTEST", "q", "a", "b") == [0, 1]
    info = table_info(server.client, "q")
    assert (info["items"], info["total"], info["capacity"], info["missed_removals"]) == (1, 3, 1000, 2)
    assert info["error_target"] <= 0.001 and 0 < info["load"] < 0.01
    assert server.client.memory_usage("q") >= info["memory_bytes"]


def test_keys_that_are_not_there(server):
    assert server.call("QF.TEST", "none", "a") == 0
    assert server.call("QF.MTEST", "none", "a", "b") == [0, 0]
    assert server.call("QF.COUNT", "none", "a") == [0]
    assert server.call("QF.REMOVE", "none", "a") == 0
    assert server.call("QF.MREMOVE", "none", "a", "b") == [0, 0]
    assert "no such" in error_of(server, "QF.INFO", "none")
    assert server.client.keys() == []
    assert server.call("QF.MADD", "made", "a", "") == [1, 1]
    assert table_info(server.client, "made")["capacity"] == 65536


@pytest.mark.parametrize("words", [
    ["CAPACITY", 0], ["CAPACITY", -1], ["CAPACITY", (1 << 40) + 1], ["CAPACITY", "x"], ["CAPACITY"], ["ERROR", 0],
    ["ERROR", 0.6], ["ERROR", "1e-16"], ["ERROR", "nan"], ["ERROR", "-inf"], ["SEED", 0], ["SEED", "1.5"], ["GROW", 0],
    ["GROW", 100, "CAPACITY", 101], ["GROW", (1 << 40) + 1], ["SLOTS", 64], ["CAPACITY", 5, "x"],
    ["CAPACITY", 1 << 40, "ERROR", "1e-15"]])
def test_bad_options_make_nothing(server, words):
    error_of(server, "QF.RESERVE", "q", *words)
    assert server.client.keys() == []


def test_a_full_filter_refuses_and_keeps_what_it_has(server):
    server.call("QF.RESERVE", "q", "CAPACITY", 100, "SEED", 3, *TINY)
    answers = server.call("QF.MADD", "q", *range(1000))
    added = answers.count(1)
    assert 100 <= added < 1000 and answers[:added] == [1] * added
    assert all(isinstance(one, redis.ResponseError) and str(one).startswith("FULL") for one in answers[added:])
    assert "FULL" in error_of(server, "QF.ADD", "q", "another")
    assert server.call("QF.MTEST", "q", *range(1000)) == [1] * added + [0] * (1000 - added)
    assert server.call("QF.REMOVE", "q", 0) == 1
    assert server.call("QF.ADD", "q", "another") == 1


def test_one_that_grows(server):
    server.call("QF.RESERVE", "q", "CAPACITY", 100, "GROW", 20000, "SEED", 3, *TINY)
    before = server.client.memory_usage("q")
    assert server.call("QF.MADD", "q", *range(20000)) == [1] * 20000
    assert server.call("QF.MTEST", "q", *range(20001)) == [1] * 20000 + [0]
    assert server.client.memory_usage("q") > 20 * before
    assert "FULL" in str(server.call("QF.MADD", "q", *range(20000, 60000))[-1])


def test_filters_merge(server):
    for key, items in (("q", "aab"), ("r", "bcc")):
        server.call("QF.RESERVE", key, "SEED", 3, *TINY)
        server.call("QF.MADD", key, *items)
    server.call("QF.RESERVE", "other-seed", "SEED", 4, *TINY)
    server.call("QF.RESERVE", "other-shape", "SEED", 3)
    assert server.call("QF.MERGE", "q", "r") == b"OK"
    assert server.call("QF.COUNT", "q", *"abcd") == [2, 2, 2, 0]
    before = server.call("DEBUG", "DIGEST")
    for words in (["q", "other-seed"], ["q", "other-shape"], ["q", "q"], ["q", "none"], ["none", "q"]):
        error_of(server, "QF.MERGE", *words)
    assert server.call("DEBUG", "DIGEST") == before


def test_the_digest_is_of_the_content(server):
    """Whatever differs shows; the order of additions does not."""
    def digest_of(*items, seed=3, capacity=100, removed=()):
        server.client.delete("q")
        server.call("QF.RESERVE", "q", "SEED", seed, "CAPACITY", capacity, *TINY)
        if items:
            server.call("QF.MADD", "q", *items)
        if removed:
            server.call("QF.MREMOVE", "q", *removed)
        return server.digest("q")
    assert digest_of("a", "b") == digest_of("b", "a") == digest_of("c", "b", "a", removed=["c"])
    different = [digest_of(), digest_of("a"), digest_of("b"), digest_of("a", "a"), digest_of("a", "a", "a"),
                 digest_of("a", "b"), digest_of("a", seed=4), digest_of("a", capacity=1000)]
    assert len(set(different)) == len(different)


def run(server, chance, model, steps):
    """Random changes of two filters, each with its answer from the model."""
    for _ in range(steps):
        key = chance.choice("qr")
        items = [chance.randrange(3000) for _ in range(chance.choice([1, 7, 200]))]
        held = model[key]
        if chance.random() < 0.6:
            expected = []
            for item in items:
                expected.append(int(held[item] == 0))
                held[item] += 1
            assert server.call("QF.MADD", key, *items) == expected
        else:
            expected = []
            for item in items:
                expected.append(int(held[item] > 0))
                held[item] -= int(held[item] > 0)
            assert server.call("QF.MREMOVE", key, *items) == expected
        if chance.random() < 0.02:
            other = "r" if key == "q" else "q"
            assert server.call("QF.MERGE", key, other) == b"OK"
            held.update(model[other])


def check(server, model):
    for key, held in model.items():
        assert server.call("QF.COUNT", key, *range(3000)) == [held[item] for item in range(3000)]
        info = table_info(server.client, key)
        assert info["items"] == sum(count > 0 for count in held.values())
        assert info["total"] == sum(held.values())


def begin(server):
    for key in "qr":
        server.call("QF.RESERVE", key, "CAPACITY", 200, "GROW", 100000, "SEED", 5, *TINY)
    return {"q": collections.Counter(), "r": collections.Counter()}


def test_a_replica_is_the_same(pair):
    master, replica = pair
    model = begin(master)
    chance = random.Random(11)
    for step in range(8):
        run(master, chance, model, 60)
        master.call("QF.ADD", "made", step)
        if step == 4: # a new copy by snapshot, and on from there
            replica.call("REPLICAOF", "NO", "ONE")
            replica.call("DEBUG", "CHANGE-REPL-ID")
            replica.follow(master)
        replica.catch_up_with(master)
        for key in ("q", "r", "made"):
            assert master.digest(key) == replica.digest(key)
    check(master, model)
    check(replica, model)


def test_a_full_filters_replica_is_the_same(pair):
    master, replica = pair
    master.call("QF.RESERVE", "q", "CAPACITY", 100)
    for start in range(0, 600, 60):
        master.call("QF.MADD", "q", *range(start, start + 60))
        master.call("QF.MREMOVE", "q", *range(start, start + 5))
    replica.catch_up_with(master)
    assert master.digest("q") == replica.digest("q")


@pytest.mark.parametrize("way", ["snapshot", "log", "log with a snapshot", "rewritten log"])
def test_restarts(start, way):
    log = "no" if way == "snapshot" else "yes"
    server = start(appendonly=log, appendfsync="always",
                   aof_use_rdb_preamble="yes" if way == "log with a snapshot" else "no")
    model = begin(server)
    chance = random.Random(12)
    run(server, chance, model, 100)
    if way == "snapshot":
        server.call("SAVE")
    elif way != "log":
        server.call("BGREWRITEAOF")
        wait_for(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0 and
                 server.client.info("persistence")["aof_last_bgrewrite_status"] == "ok", 60, "rewriting")
        run(server, chance, model, 20)
    before = [server.digest("q"), server.digest("r")]
    server.restart()
    assert [server.digest("q"), server.digest("r")] == before
    run(server, chance, model, 50)
    check(server, model)


def test_copies_and_moves(start):
    server, other = start(), start()
    model = begin(server)
    run(server, random.Random(13), model, 50)
    before = server.digest("q")
    assert server.client.copy("q", "copied")
    server.client.restore("restored", 0, server.client.dump("q"))
    assert server.digest("copied") == server.digest("restored") == before
    server.call("QF.ADD", "copied", "new") # and it is a copy of its own
    assert server.digest("q") == before != server.digest("copied")
    assert server.call("MIGRATE", "127.0.0.1", other.port, "q", 0, 10000) == b"OK"
    assert server.client.exists("q") == 0 and other.digest("q") == before
    assert server.client.rename("restored", "q")
    check(server, model)


def test_a_large_one_goes_in_pieces(server):
    server.call("QF.RESERVE", "q", "CAPACITY", 1000000)
    server.call("QF.MADD", "q", *range(50000))
    number, is_last = 0, 0
    while not is_last:
        _, is_last, data = server.call("QF.DUMP", "q", number)
        assert server.call("QF.LOAD", "copy", number, is_last, data) == b"OK"
        if not is_last:
            assert "pieces" in error_of(server, "QF.TEST", "copy", "a")
        number += 1
    assert number > 1 and server.digest("copy") == server.digest("q")
    assert server.call("QF.MTEST", "copy", *range(50000)) == [1] * 50000
    assert server.client.unlink("q", "copy") == 2


def test_both_protocols(server):
    server.call("QF.MADD", "q", "a", "b", "a")
    for protocol in (2, 3):
        assert raw(server, protocol, "QF.MTEST q a z") == b"*2\r\n:1\r\n:0\r\n"
        assert raw(server, protocol, "QF.COUNT q a") == b"*1\r\n:2\r\n"
    assert raw(server, 3, "QF.INFO q").startswith(b"%12\r\n")
    assert b"$4\r\nload\r\n," in raw(server, 3, "QF.INFO q")
    assert raw(server, 2, "QF.INFO q").startswith(b"*24\r\n")


def test_in_transactions_and_scripts(server):
    pipe = server.client.pipeline(transaction=True)
    pipe.execute_command("QF.ADD", "q", "a")
    pipe.execute_command("QF.COUNT", "q", "a")
    assert pipe.execute() == [1, [1]]
    assert server.client.eval("return redis.call('QF.MADD', KEYS[1], 'a', 'b')", 1, "q") == [0, 1]
    for words in (["QF.ADD", "q", "a"], ["QF.REMOVE", "q", "a"]): # another copy is a change, too
        watcher = server.client.pipeline()
        watcher.watch("q")
        server.call(*words)
        watcher.multi()
        watcher.execute_command("QF.ADD", "q", "c")
        with pytest.raises(redis.WatchError):
            watcher.execute()


def test_when_memory_is_short(start):
    server = start(maxmemory="100kb", maxmemory_policy="noeviction")
    for words in (["QF.ADD", "q", "a"], ["QF.RESERVE", "q"], ["QF.MADD", "q", "a"]):
        assert "maxmemory" in error_of(server, *words)
    assert server.call("QF.REMOVE", "q", "a") == 0 # removing is still allowed


def test_no_memory_is_an_error(start):
    """Of the system, not of the server's settings: what can't be made or merged is told, and nothing is changed."""
    if IS_SANITIZED:
        pytest.skip("the sanitizer takes all address space there is")
    server = start(prefix=("prlimit", f"--as={400 << 20}"))
    assert "OOM" in error_of(server, "QF.RESERVE", "q", "CAPACITY", 1 << 30)
    for key in "qr":
        server.call("QF.RESERVE", key, "CAPACITY", 100000000, "SEED", 3)
        server.call("QF.ADD", key, key)
    assert "OOM" in error_of(server, "QF.MERGE", "q", "r")
    assert server.call("QF.MTEST", "q", "q", "r") == [1, 0]
