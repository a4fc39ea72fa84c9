"""Goal:   what was acknowledged survives restarts, crashes and moves, and is still taken once.
Method: each way that a server has to write and read its data, on real servers."""

import random
import threading
import time

import pytest
import redis
from servers import table_info, wait_for
from test_replication import load


def fill(server, options=()):
    server.call("ONCE.CREATE", "t", *options)
    load(server, random.Random(7), 400)
    server.call("ONCE.INCRBY", "t", "marked", "x", 5)


def still_knows(server):
    value = server.call("ONCE.GET", "t", "x")
    assert value == 5
    assert server.call("ONCE.INCRBY", "t", "marked", "x", 5) == [0, 5]


KINDS = pytest.mark.parametrize("kind", ["quotient", "forgetful"])


@KINDS
def test_restart_from_a_snapshot(start, kind):
    server = start()
    fill(server, ["KIND", kind])
    before = server.digest()
    server.call("SAVE")
    server.restart()
    assert server.digest() == before
    still_knows(server)


@KINDS
@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_restart_from_the_log(start, preamble, kind):
    server = start(appendonly="yes", appendfsync="always", aof_use_rdb_preamble=preamble)
    fill(server, ["KIND", kind])
    before = server.digest()
    server.restart() # SIGKILL
    assert server.digest() == before
    server.call("BGREWRITEAOF")
    wait_for(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0 and
             server.client.info("persistence")["aof_last_bgrewrite_status"] == "ok", 60, "rewriting")
    server.call("ONCE.INCRBY", "t", "later", "y", 1)
    before = server.digest()
    server.restart()
    assert server.digest() == before
    still_knows(server)
    assert server.call("ONCE.INCRBY", "t", "later", "y", 1) == [0, 1]


def test_killed_in_the_middle_of_a_load(start):
    """appendfsync always: what was acknowledged is there; what was not, is sent again and counted once."""
    server = start(appendonly="yes", appendfsync="always")
    done, stop = [], threading.Event()

    def work(worker):
        """Ends only after an acknowledgement: an operation that was not acknowledged may have been applied."""
        i = 0
        link = redis.Redis(port=server.port, socket_timeout=10)
        while not stop.is_set():
            while True:
                try:
                    link.execute_command("ONCE.INCRBY", "t", f"{worker}-{i}", "n", 1)
                    break
                except redis.RedisError:
                    time.sleep(0.01)
            done.append((worker, i))
            i += 1

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        before = len(done)
        wait_for(lambda: len(done) > before + 40, 60, "some load")
        server.restart()
        server.call("BGREWRITEAOF")
    wait_for(lambda: len(done) > before + 60, 60, "some load")
    stop.set()
    for thread in threads:
        thread.join()
    assert len(set(done)) == len(done) > 100
    assert server.call("ONCE.GET", "t", "n") == len(done)


def counters_of(server):
    """What clients see: the module's timer may change a digest between two questions."""
    found, cursor = {}, 0
    while True:
        cursor, page = server.call("ONCE.SCAN", "t", cursor, "COUNT", 1000)
        found.update(zip(page[::2], page[1::2]))
        if int(cursor) == 0:
            return found


def test_rewriting_under_load(start):
    server = start(appendonly="yes", aof_use_rdb_preamble="no")
    chance = random.Random(2)
    for _ in range(5):
        server.call("BGREWRITEAOF")
        load(server, chance, 200)
        wait_for(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0, 60)
    server.client.config_set("appendfsync", "always")
    server.call("ONCE.INCRBY", "t", "marked", "x", 5)
    before = counters_of(server)
    assert len(before) > 50
    server.stop()
    server.start()
    assert counters_of(server) == before
    still_knows(server)


def test_a_large_table_goes_in_pieces(start):
    """Several pieces, through the log as commands and through DUMP and LOAD."""
    server = start(appendonly="yes", aof_use_rdb_preamble="no")
    server.call("ONCE.CREATE", "t", "CAPACITY", 600000, "WINDOW", 30 * 86400 * 1000)
    for i in range(0, 500000, 50000):
        server.call("ONCE.ADD", "t", *range(i, i + 50000))
    server.call("ONCE.INCRBY", "t", "marked", "x", 5)
    assert server.client.memory_usage("t") > 2 << 20
    before = server.digest()
    server.call("BGREWRITEAOF")
    wait_for(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0, 60)
    server.stop()
    server.start()
    assert server.digest() == before
    still_knows(server)
    before = server.digest()
    number, is_last = 0, 0
    while not is_last:
        found, is_last, data = server.call("ONCE.DUMP", "t", number)
        assert found == number
        assert server.call("ONCE.LOAD", "u", number, is_last, data) == b"OK"
        if number == 0 and not is_last:
            with pytest.raises(redis.ResponseError, match="pieces"):
                server.call("ONCE.GET", "u", "x")
            server.call("DEBUG", "RELOAD") # half loaded, it survives that too
        number += 1
    assert number > 1
    assert server.digest("u") == before
    assert server.call("ONCE.DUMP", "t", number) is None
    assert server.client.unlink("t", "u") == 2


def test_pieces_are_of_one_moment(server):
    """The table is written and its time passes while its pieces are asked for; what they make is what was there at piece 0."""
    server.call("ONCE.CREATE", "t", "CAPACITY", 600000, "WINDOW", 2000)
    for i in range(0, 500000, 50000):
        server.call("ONCE.ADD", "t", *range(i, i + 50000))
    server.call("ONCE.INCRBY", "t", "marked", "x", 5)
    counts = server.client.info("lethe")["lethe_keys"]
    number, is_last = 0, 0
    while not is_last:
        _, is_last, data = server.call("ONCE.DUMP", "t", number)
        assert server.call("ONCE.LOAD", "u", number, is_last, data) == b"OK"
        server.call("ONCE.INCRBY", "t", f"later-{number}", "x", 1)
        server.call("ONCE.CREATE", f"small-{number}")
        if not is_last:
            with pytest.raises(redis.ResponseError, match="another value"):
                server.call("ONCE.DUMP", f"small-{number}", 0)
        time.sleep(0.1)
        number += 1
    assert number > 2
    assert server.call("ONCE.GET", "u", "x") == 5
    assert server.call("ONCE.GET", "t", "x") == 5 + number
    wait_for(lambda: server.client.info("lethe")["lethe_keys"] == counts + 1 + number,
             what="the timer to drop the value that the last piece replaced")
    for wrong in (number - 1, 1):
        with pytest.raises(redis.ResponseError, match="begin again"):
            server.call("ONCE.DUMP", "t", wrong)
    assert server.call("ONCE.DUMP", "small-0", 0)[:2] == [0, 1]
    assert server.call("ONCE.DUMP", "small-0", 1) is None


def test_pieces_out_of_order_are_refused(server):
    server.call("ONCE.INCRBY", "t", "a", "x", 1)
    _, is_last, data = server.call("ONCE.DUMP", "t", 0)
    assert is_last == 1
    piece = b"x" * (1 << 20)
    for words in (["u", 1, 1, data], ["t", 0, 1, data], ["u", 0, 0, data], ["u", 0, 1, b""],
                  ["u", 0, 2, data], ["u", -1, 1, data], ["u", 0, 1, piece + b"123456789"]):
        with pytest.raises(redis.ResponseError):
            server.call("ONCE.LOAD", *words)
        assert server.client.exists("u") == 0
    assert server.call("ONCE.LOAD", "u", 0, 0, piece) == b"OK"
    for words in (["u", 0, 1, data], ["u", 2, 1, data], ["u", 1, 1, data]):
        with pytest.raises(redis.ResponseError):
            server.call("ONCE.LOAD", *words)
    assert server.client.exists("u") == 0 # what could not be a table is dropped
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    with pytest.raises(redis.ResponseError):
        server.call("ONCE.LOAD", "u", 0, 1, bytes(damaged))


def test_dump_and_restore(server):
    fill(server)
    before = server.digest()
    payload = server.client.dump("t")
    server.client.delete("t")
    server.client.restore("t", 0, payload)
    assert server.digest() == before
    still_knows(server)


def test_migrate(start):
    one, two = start(), start()
    fill(one)
    assert one.call("MIGRATE", "127.0.0.1", two.port, "t", 0, 10000) == b"OK"
    assert one.client.exists("t") == 0
    still_knows(two)


def test_evictions_are_told(start):
    server = start(maxmemory="30mb", maxmemory_policy="allkeys-lru")
    server.call("ONCE.INCRBY", "t", "a", "x", 1)
    assert "forgotten all ids" in server.log()
    assert table_info(server.client)["may_be_evicted"] == 1
    # The server draws what it evicts among keys of about the same age: a table's turn comes, but not by a known write.
    for i in range(2000):
        server.client.set(f"filler-{i}", b"x" * (1 << 20))
        if i >= 60 and i % 20 == 0 and not server.client.exists("t"):
            break
    assert server.client.exists("t") == 0
    assert server.client.info("lethe")["lethe_keys_evicted"] == 1
    assert "applied again" in server.log()


def test_out_of_memory_is_refused(start):
    server = start(maxmemory="100kb", maxmemory_policy="noeviction")
    for words in (["ONCE.INCRBY", "t", "a", "x", 1], ["ONCE.CREATE", "t"], ["FBF.ADD", "f", "a"]):
        with pytest.raises(redis.ResponseError, match="OOM|maxmemory"):
            server.call(*words)


def test_defragmentation_moves_counters(start):
    server = start()
    try:
        server.client.config_set("activedefrag", "yes")
    except redis.ResponseError:
        pytest.skip("this server can't defragment")
    names = [f"counter-{i}" for i in range(30000)]
    server.call("ONCE.INCRBY", "t", "a", *[word for i, name in enumerate(names) for word in (name, i)])
    server.call("ONCE.DEL", "t", *names[::2], *names[1::4])
    for name, value in (("active-defrag-threshold-lower", 0), ("active-defrag-ignore-bytes", 1),
                        ("active-defrag-cycle-min", 50), ("active-defrag-cycle-max", 75)):
        server.client.config_set(name, value)
    time.sleep(1.5)
    found = server.call("ONCE.MGET", "t", *names)
    assert found == [i if i % 4 == 3 else None for i in range(30000)]
