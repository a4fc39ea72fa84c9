"""Goal:   QF.* is a multiset of items that refuses what does not fit.
Method: sessions. What all filters have in common is tested by test_filters.py."""

import pytest
import redis
from filters import TINY
from servers import IS_SANITIZED, table_info
from test_commands import raw
from test_types import error_of


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


def test_a_full_filters_replica_is_the_same(pair):
    master, replica = pair
    master.call("QF.RESERVE", "q", "CAPACITY", 100)
    for start in range(0, 600, 60):
        master.call("QF.MADD", "q", *range(start, start + 60))
        master.call("QF.MREMOVE", "q", *range(start, start + 5))
    replica.catch_up_with(master)
    assert master.digest("q") == replica.digest("q")


def test_counts_in_both_protocols(server):
    server.call("QF.MADD", "q", "a", "b", "a")
    for protocol in (2, 3):
        assert raw(server, protocol, "QF.COUNT q a") == b"*1\r\n:2\r\n"


def test_in_transactions_and_scripts(server):
    pipe = server.client.pipeline(transaction=True)
    pipe.execute_command("QF.ADD", "q", "a")
    pipe.execute_command("QF.COUNT", "q", "a")
    assert pipe.execute() == [1, [1]]
    assert server.client.eval("return redis.call('QF.MADD', KEYS[1], 'a', 'b')", 1, "q") == [0, 1]
    for words in (["QF.ADD", "q", "a"], ["QF.REMOVE", "q", "a"]): # a duplicate is a change, too
        watcher = server.client.pipeline()
        watcher.watch("q")
        server.call(*words)
        watcher.multi()
        watcher.execute_command("QF.ADD", "q", "c")
        with pytest.raises(redis.WatchError):
            watcher.execute()


def test_removing_is_allowed_when_memory_is_short(start):
    server = start(maxmemory="100kb", maxmemory_policy="noeviction")
    assert server.call("QF.REMOVE", "q", "a") == 0


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
