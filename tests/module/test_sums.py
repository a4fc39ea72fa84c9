"""Goal:   INFO has the sums of fresh, duplicates, refused and strained over the tables that there are, at every moment.
Method: tables are changed, removed, renamed, copied, evicted and loaded in every way that a server has, on masters and replicas,
        and INFO is compared with what the tables say of themselves in the same transaction."""

import pytest
import redis
from servers import wait_for

NAMES = "fresh", "duplicates", "refused"


def sums(server, databases=1):
    """What INFO has, after it was compared with the tables."""
    pipe = server.client.pipeline(transaction=True)
    pipe.info("lethe")
    asked = 0
    for database in range(databases):
        pipe.execute_command("SELECT", database)
        link = redis.Redis(port=server.port, db=database)
        for key in link.keys():
            if link.type(key) == b"lethe-onc":
                pipe.execute_command("ONCE.INFO", key)
                asked += 1
        link.close()
    pipe.execute_command("SELECT", 0)
    answers = pipe.execute()
    told = {name.removeprefix("lethe_"): value for name, value in answers[0].items()}
    tables = [dict(zip(one[::2], one[1::2])) for one in answers[1:] if isinstance(one, list)]
    assert len(tables) == asked == told["tables"]
    for name in NAMES:
        assert told[name] == sum(table[name.encode()] for table in tables), name
    assert told["strained"] == sum(bool(table[b"strain"]) for table in tables)
    return told


def fill(server, key="t", first=0):
    """Two fresh ids and a duplicate."""
    server.call("ONCE.INCRBY", key, f"a{first}", "x", 1)
    server.call("ONCE.ADD", key, f"b{first}", f"b{first}")


def strain(server, key):
    server.call("ONCE.CREATE", key, "MAXMEMORY", 65536)
    answers = server.call("ONCE.ADD", key, *[f"i{i}" for i in range(50000)])
    return sum(isinstance(answer, Exception) for answer in answers)


def numbers(told):
    return tuple(told[name] for name in ("tables", "fresh", "duplicates", "refused", "strained"))


def test_sums_follow_every_change(server):
    assert numbers(sums(server)) == (0, 0, 0, 0, 0)
    fill(server, "t")
    assert numbers(sums(server)) == (1, 2, 1, 0, 0)
    fill(server, "u")
    server.call("FBF.ADD", "filter", "x")
    server.call("FID.ADD", "sketch", "x", 1)
    told = sums(server)
    assert numbers(told) == (2, 4, 2, 0, 0) and told["keys"] == 4
    refused = strain(server, "full")
    told = sums(server)
    assert refused > 0 and numbers(told)[3:] == (refused, 1)
    server.client.unlink("full") # what is released in the background is gone at once
    told = sums(server)
    assert numbers(told) == (2, 4, 2, 0, 0) and told["keys"] == 4
    server.client.rename("t", "v")
    server.client.rename("v", "u") # in the place of another
    assert numbers(sums(server)) == (1, 2, 1, 0, 0)
    server.client.copy("u", "w")
    server.client.set("u", "text")
    assert numbers(sums(server)) == (1, 2, 1, 0, 0)
    fill(server, "w", 7)
    assert numbers(sums(server)) == (1, 4, 2, 0, 0)
    payload = server.client.dump("w")
    server.client.restore("w", 0, payload, replace=True)
    server.client.restore("x", 0, payload)
    assert numbers(sums(server)) == (2, 8, 4, 0, 0)
    server.client.pexpire("x", 1)
    wait_for(lambda: not server.client.exists("x"))
    assert numbers(sums(server)) == (1, 4, 2, 0, 0)
    server.client.delete("w")
    assert numbers(sums(server)) == (0, 0, 0, 0, 0)
    assert sums(server)["keys"] == 2


@pytest.mark.parametrize("way", ["SYNC", "ASYNC"])
def test_sums_after_flushes_and_databases(server, way):
    fill(server, "t")
    other = redis.Redis(port=server.port, db=1)
    other.execute_command("ONCE.ADD", "u", "a", "b", "c")
    assert numbers(sums(server, 2)) == (2, 5, 1, 0, 0)
    assert server.client.move("t", 1)
    assert numbers(sums(server, 2)) == (2, 5, 1, 0, 0)
    server.client.swapdb(0, 1)
    server.call("ONCE.ADD", "t", "more")
    assert numbers(sums(server, 2)) == (2, 6, 1, 0, 0)
    server.call("ONCE.CREATE", "large", "CAPACITY", 3000000) # so that it is released in the background
    other.execute_command("ONCE.ADD", "v", "a")
    other.execute_command("FLUSHDB", way)
    told = sums(server, 2)
    assert numbers(told) == (3, 6, 1, 0, 0) and told["keys"] == 3
    server.call("FLUSHALL", way)
    told = sums(server, 2)
    assert numbers(told) == (0, 0, 0, 0, 0) and told["keys"] == 0
    fill(server)
    assert numbers(sums(server, 2)) == (1, 2, 1, 0, 0)
    other.close()


def test_sums_after_restarts(start):
    server = start(appendonly="yes", appendfsync="always") # a kill loses what is not yet written
    fill(server, "t")
    fill(server, "u")
    server.client.delete("u")
    server.restart()
    assert numbers(sums(server)) == (1, 2, 1, 0, 0)
    fill(server, "t", 3)
    for _ in range(2):
        server.call("DEBUG", "RELOAD")
        assert numbers(sums(server)) == (1, 4, 2, 0, 0)
    server.call("DEBUG", "LOADAOF")
    assert numbers(sums(server)) == (1, 4, 2, 0, 0)
    server.client.bgrewriteaof()
    wait_for(lambda: not server.client.info("persistence")["aof_rewrite_in_progress"])
    server.restart()
    assert numbers(sums(server)) == (1, 4, 2, 0, 0)
    assert sums(server)["keys"] == 1


def test_sums_on_replicas(pair):
    master, replica = pair
    fill(master)
    refused = strain(master, "full")
    replica.catch_up_with(master)
    assert numbers(sums(replica)) == numbers(sums(master)) and refused > 0
    master.client.rename("t", "u")
    master.client.unlink("full")
    fill(master, "u", 5)
    replica.catch_up_with(master)
    assert numbers(sums(replica)) == numbers(sums(master)) == (1, 4, 2, 0, 0)
    # A whole synchronisation replaces what the replica has.
    replica.call("REPLICAOF", "NO", "ONE")
    fill(replica, "own")
    assert numbers(sums(replica)) == (2, 6, 3, 0, 0)
    replica.follow(master)
    replica.catch_up_with(master)
    assert numbers(sums(replica)) == (1, 4, 2, 0, 0)


def test_sums_after_evictions_and_pieces(start):
    server = start(maxmemory_policy="allkeys-random")
    fill(server, "t")
    fill(server, "u")
    pieces, last = [], 0
    while not last:
        number, last, data = server.call("ONCE.DUMP", "t", len(pieces))
        pieces.append(data)
    for number, data in enumerate(pieces):
        server.call("ONCE.LOAD", "v", number, int(number + 1 == len(pieces)), data)
    assert numbers(sums(server)) == (3, 6, 3, 0, 0)
    server.call("ONCE.LOAD", "partly", 0, 0, b"x" * (1 << 20)) # not whole: it is no table yet
    told = server.client.info("lethe")
    assert (told["lethe_tables"], told["lethe_keys"]) == (3, 4)
    server.client.config_set("maxmemory", 1)
    wait_for(lambda: server.client.dbsize() == 0)
    server.client.config_set("maxmemory", 0)
    assert numbers(sums(server)) == (0, 0, 0, 0, 0)


def test_sums_while_commands_fail_and_transactions_run(server):
    with pytest.raises(redis.ResponseError):
        server.call("ONCE.CALL", "t", "a", "INCRBY", "s", "x")
    assert numbers(sums(server)) == (0, 0, 0, 0, 0)
    pipe = server.client.pipeline(transaction=True)
    pipe.execute_command("ONCE.ADD", "t", "a")
    pipe.info("lethe")
    pipe.delete("t")
    pipe.info("lethe")
    _, during, _, after = pipe.execute()
    assert (during["lethe_fresh"], after["lethe_fresh"]) == (1, 0)
    found = server.client.eval("""redis.call('ONCE.ADD', KEYS[1], 'a', 'a')
        return redis.call('INFO', 'lethe_tables')""", 1, "t")
    assert b"lethe_fresh:1" in found and b"lethe_duplicates:1" in found


def test_the_module_stays(server):
    """Its types are in use, so the server refuses to unload it, and nothing is lost by the attempt."""
    fill(server)
    with pytest.raises(redis.ResponseError):
        server.call("MODULE", "UNLOAD", "lethe")
    assert numbers(sums(server)) == (1, 2, 1, 0, 0)


def test_many_tables(server):
    """INFO looks only at what has changed: to ask twice costs nothing more for tables that have not."""
    pipe = server.client.pipeline(transaction=False)
    for i in range(3000):
        pipe.execute_command("ONCE.ADD", f"t{i}", "a", "a")
    pipe.execute()
    assert numbers(sums(server)) == (3000, 3000, 3000, 0, 0)
    for i in range(0, 3000, 3):
        pipe.delete(f"t{i}")
    for i in range(1, 3000, 3):
        pipe.rename(f"t{i}", f"u{i}")
    pipe.execute()
    assert numbers(sums(server)) == (2000, 2000, 2000, 0, 0)
