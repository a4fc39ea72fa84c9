"""Goal:   every filter that is a data type is the same on master, replica, in files and in copies, and refuses what is wrong.
Method: random changes of each type beside a model (filters.py); each way in which a server writes and reads its data."""

import random

import pytest
from filters import TYPES
from servers import wait_for
from test_commands import raw
from test_types import error_of

BAD_OPTIONS = [(one.prefix, words) for one in TYPES for words in one.bad_options]


@pytest.fixture(params=TYPES, ids=lambda one: one.prefix)
def filters(request):
    return request.param()


@pytest.mark.parametrize("prefix, words", BAD_OPTIONS)
def test_bad_options_make_nothing(server, prefix, words):
    error_of(server, prefix + ".RESERVE", "f", *words)
    assert server.client.keys() == []


def test_a_replica_is_the_same(pair, filters):
    master, replica = pair
    filters.begin(master)
    chance = random.Random(11)
    for step in range(8):
        filters.run(master, chance, 60)
        master.call(filters.prefix + ".ADD", "made", step)
        if step == 4: # a new copy by snapshot, and on from there
            replica.call("REPLICAOF", "NO", "ONE")
            replica.call("DEBUG", "CHANGE-REPL-ID")
            replica.follow(master)
        replica.catch_up_with(master)
        assert filters.digests(master) == filters.digests(replica)
        assert master.digest("made") == replica.digest("made")
    filters.check(master)
    filters.check(replica)


@pytest.mark.parametrize("way", ["snapshot", "log", "log with a snapshot", "rewritten log"])
def test_restarts(start, filters, way):
    server = start(appendonly="no" if way == "snapshot" else "yes", appendfsync="always",
                   aof_use_rdb_preamble="yes" if way == "log with a snapshot" else "no")
    filters.begin(server)
    chance = random.Random(12)
    filters.run(server, chance, 100)
    if way == "snapshot":
        server.call("SAVE")
    elif way != "log":
        server.call("BGREWRITEAOF")
        wait_for(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0 and
                 server.client.info("persistence")["aof_last_bgrewrite_status"] == "ok", 60, "rewriting")
        filters.run(server, chance, 20)
    before = filters.digests(server)
    server.restart()
    assert filters.digests(server) == before
    filters.run(server, chance, 50)
    filters.check(server)


def test_copies_and_moves(start, filters):
    server, other = start(), start()
    filters.begin(server)
    filters.run(server, random.Random(13), 60)
    for key in filters.keys()[::2]:
        before = server.digest(key)
        assert server.client.copy(key, "copied", replace=True)
        server.client.restore("restored", 0, server.client.dump(key), replace=True)
        assert server.digest("copied") == server.digest("restored") == before
        server.call(filters.prefix + ".ADD", "copied", "new") # and it is a copy of its own
        assert server.digest(key) == before != server.digest("copied")
        assert server.call("MIGRATE", "127.0.0.1", other.port, key, 0, 10000) == b"OK"
        assert server.client.exists(key) == 0 and other.digest(key) == before
        assert server.client.rename("restored", key)
    filters.check(server)


def test_a_large_one_goes_in_pieces(server, filters):
    prefix, items = filters.prefix, range(filters.large_items)
    server.call(prefix + ".RESERVE", "f", *filters.large)
    server.call(prefix + ".MADD", "f", *items)
    number, is_last = 0, 0
    while not is_last:
        _, is_last, data = server.call(prefix + ".DUMP", "f", number)
        assert server.call(prefix + ".LOAD", "copy", number, is_last, data) == b"OK"
        if not is_last:
            assert "pieces" in error_of(server, prefix + ".TEST", "copy", "a")
        number += 1
    assert number > 1 and server.digest("copy") == server.digest("f")
    assert server.call(prefix + ".MTEST", "copy", *items) == [1] * len(items)
    assert server.client.unlink("f", "copy") == 2


def test_both_protocols(server, filters):
    server.call(filters.prefix + ".MADD", "f", "a", "b", "a")
    assert raw(server, 2, filters.prefix + ".MTEST f a z") == b"*2\r\n:1\r\n:0\r\n"
    assert raw(server, 3, filters.prefix + ".MTEST f a z") == b"*2\r\n#t\r\n#f\r\n"
    assert raw(server, 3, filters.prefix + ".INFO f").startswith(b"%12\r\n")
    assert filters.field in raw(server, 3, filters.prefix + ".INFO f")
    assert raw(server, 2, filters.prefix + ".INFO f").startswith(b"*24\r\n")


def test_when_memory_is_short(start, filters):
    server = start(maxmemory="100kb", maxmemory_policy="noeviction")
    for words in ([".ADD", "f", "a"], [".RESERVE", "f"], [".MADD", "f", "a"]):
        assert "maxmemory" in error_of(server, filters.prefix + words[0], *words[1:])
