"""Goal:   a replica has its master's value, to the last fingerprint; nothing that was acknowledged by a
        replica is lost or applied twice when it takes over.
Method: digests of master and replica after random loads; the replication stream as it is; hosts whose clocks
        are wrong."""

import random
import threading
import time

import pytest
import redis
from servers import table_info, wait_for
from stream import Stream, decode_effect


def load(server, chance, count, key="t"):
    """Changes of every kind."""
    pipe = server.client.pipeline(transaction=False)
    for _ in range(count):
        kind = chance.random()
        one = f"i{chance.randrange(20000)}"
        if kind < 0.5:
            pipe.execute_command("ONCE.INCRBY", key, one, f"n{chance.randrange(99)}", chance.randrange(9))
        elif kind < 0.7:
            words = []
            for _ in range(chance.randrange(1, 60)):
                words += [f"i{chance.randrange(20000)}", f"n{chance.randrange(99)}", 1]
            pipe.execute_command("ONCE.MINCRBY", key, *words)
        elif kind < 0.8:
            pipe.execute_command("ONCE.ADD", key, *[f"a{chance.randrange(50000)}" for _ in range(70)])
        elif kind < 0.85:
            pipe.execute_command("ONCE.FORGET", key, one)
        elif kind < 0.9:
            pipe.execute_command("ONCE.DEL", key, f"n{chance.randrange(99)}")
        elif kind < 0.95:
            pipe.execute_command("ONCE.CALL", key, one, "HINCRBY", "{t}h", "f", 1)
        else:
            pipe.execute_command("ONCE.CALL", key, one, "LPUSH", "{t}h", "f")
    pipe.execute(raise_on_error=False)


def same_digest(master, replica, key="t"):
    replica.catch_up_with(master)
    # The timer may be faster than two questions.
    def same():
        return master.digest(key) == replica.digest(key)
    wait_for(same, what="the same digest")


def compare_under_load(master, replica, options, count):
    """A table with these options has the same digest on both after every so many changes."""
    chance = random.Random(str(options))
    master.call("ONCE.CREATE", "t", *options)
    for step in range(6):
        load(master, chance, count)
        if step == 2: # a full resynchronisation in between
            replica.call("REPLICAOF", "NO", "ONE")
            replica.call("DEBUG", "CHANGE-REPL-ID")
            replica.client.flushall()
            replica.follow(master)
        same_digest(master, replica)
        time.sleep(0.3)
    same_digest(master, replica)


@pytest.mark.parametrize("options", [[], ["WINDOW", 1000], ["CAPACITY", 30000, "ERROR", 1e-3],
                                     ["WINDOW", 3000, "CAPACITY", 10000000], # it is swept in pieces
                                     ["MAXMEMORY", 120000, "WINDOW", 2000],
                                     ["MAXMEMORY", 120000, "POLICY", "degrade", "WINDOW", 1500],
                                     ["KIND", "forgetful"], ["KIND", "forgetful", "WINDOW", 1000]])
def test_a_replica_is_the_same_after_any_load(pair, options):
    compare_under_load(*pair, options, 300)


@pytest.mark.parametrize("kind", ["quotient", "forgetful"])
def test_a_replica_repeats_refusals_for_lack_of_memory(pair, kind):
    """The limits bind the master only. Its replica, which has room, refuses and counts the same, and goes on the same."""
    master, replica = pair
    chance = random.Random(kind)
    master.call("ONCE.CREATE", "t", "KIND", kind)
    master.call("ONCE.ADD", "t", *[f"first-{i}" for i in range(500)])
    refused = 0
    for step in range(1, 5):
        # Room for the beginning of what more ids need, and then for the rest.
        bytes_now = int(table_info(master.client)["memory_bytes"])
        for limit in (bytes_now + 3000 * step, 4 << 30):
            master.client.config_set("lethe.largest-value", limit)
            pipe = master.client.pipeline(transaction=False)
            for i in range(60):
                names = [f"{step}-{limit}-{i}-{chance.randrange(60)}" for _ in range(chance.choice([1, 40]))]
                pipe.execute_command("ONCE.ADD", "t", *names)
            pipe.execute(raise_on_error=False)
            same_digest(master, replica)
        refused = table_info(master.client)["refused"]
        assert table_info(replica.client)["refused"] == refused
    assert refused > 0 or kind == "forgetful" # which counts what its cap refused


def test_what_time_needs_is_not_limited(timed_pair, clock):
    """A small window follows when the ids of a large one have expired, on a master whose table may not grow as on its replica."""
    master, replica = timed_pair
    for server in timed_pair:
        server.client.config_set("lethe.tick-ms", 60000)
    time.sleep(0.3) # the timers have come for the last time
    master.call("ONCE.CREATE", "t", "WINDOW", 3000)
    for step in range(20):
        master.call("ONCE.ADD", "t", *range(1000 * step, 1000 * (step + 1)))
    for step in range(10):
        clock.pass_time(500)
        master.client.config_set("lethe.largest-value", 10000)
        master.call("ONCE.DEL", "t", "none")
        master.client.config_set("lethe.largest-value", 4 << 30)
        replica.catch_up_with(master)
        assert master.digest() == replica.digest(), step
    assert table_info(master.client)["memory_bytes"] < 30000


def test_a_digest_is_not_limited(server):
    """Or all tables would have the same one."""
    server.call("ONCE.ADD", "t", "a")
    before = server.digest()
    server.client.config_set("lethe.largest-value", 1000)
    try:
        assert server.digest() == before
    finally:
        server.client.config_set("lethe.largest-value", 4 << 30)


def test_the_digest_tells_every_difference(server):
    server.call("ONCE.CREATE", "t", "SEED", 1)
    server.call("ONCE.INCRBY", "t", "a", "x", 1)
    seen = {server.digest()}
    server.client.copy("t", "u")
    assert server.digest("u") == server.digest("t")
    for words in (["ONCE.ADD", "u", "b"], ["ONCE.FORGET", "u", "b"], ["ONCE.INCRBY", "u", "c", "x", 1],
                  ["ONCE.INCRBY", "u", "d", "x", -1], ["ONCE.DEL", "u", "x"], ["ONCE.ADD", "u", "a"]):
        server.call(*words)
        assert server.digest("u") not in seen
        seen.add(server.digest("u"))
        time.sleep(0.003)
    # Another seed, and another clock.
    server.call("ONCE.CREATE", "v", "SEED", 1)
    server.call("ONCE.CREATE", "w", "SEED", 2)
    assert len({server.digest("v"), server.digest("w")}) == 2
    before = server.digest("v")
    time.sleep(0.005)
    server.call("ONCE.ADD", "v", "a")
    server.call("ONCE.FORGET", "v", "a")
    assert server.digest("v") != before


def test_reads_change_nothing(server):
    server.call("ONCE.INCRBY", "t", "a", "x", 1)
    before = server.digest()
    for words in (["ONCE.GET", "t", "x"], ["ONCE.MGET", "t", "x"], ["ONCE.SEEN", "t", "a", "b"],
                  ["ONCE.INFO", "t"], ["ONCE.TOP", "t", 1], ["ONCE.SCAN", "t", 0], ["ONCE.DUMP", "t", 0]):
        time.sleep(0.002)
        server.call(*words)
        assert server.digest() == before


def test_commands_replicate_as_effects_with_their_clock(server):
    stream = Stream(server.port)
    server.call("ONCE.CREATE", "t", "SEED", 9, "WINDOW", 60000)
    server.call("ONCE.INCRBY", "t", "a", "x", 5, "y", 6)
    server.call("ONCE.MINCRBY", "t", "a", "x", 5, "b", "x", 2)
    server.call("ONCE.FORGET", "t", "b")
    server.call("ONCE.DEL", "t", "y")
    server.call("PUBLISH", "the", "end")
    commands = stream.commands(lambda words: words[0].upper() == b"PUBLISH")
    stream.close()
    assert [words[:2] for words in commands] == [[b"ONCE.EFFECT", b"t"]] * 5
    clocks, steps = zip(*[decode_effect(words[2]) for words in commands])
    assert list(clocks) == sorted(clocks)
    assert abs(clocks[0] - time.time() * 1000) < 60000
    assert steps[0] == [("C", (60000, 1e-9, 0.25, 0, 0, 9, 0))]
    assert steps[1] == [("T", [0]), ("S", b"x", 5), ("S", b"y", 6)]
    assert steps[2] == [("T", [1, 0]), ("S", b"x", 7)]
    assert steps[3][0][0] == "F"
    assert steps[4] == [("D", b"y", None)]


def test_a_duplicate_is_sent_as_well(server):
    """So that WAIT after a retry covers the original: the offset moves with every answer that says so."""
    server.call("ONCE.INCRBY", "t", "a", "x", 1)
    server.call("ONCE.CALL", "t", "b", "SET", "k", 1)
    for words in (["ONCE.INCRBY", "t", "a", "x", 1], ["ONCE.MINCRBY", "t", "a", "x", 1],
                  ["ONCE.ADD", "t", "a"], ["ONCE.CALL", "t", "b", "SET", "k", 1]):
        stream = Stream(server.port)
        before = server.client.info("replication")["master_repl_offset"]
        server.call(*words)
        assert server.client.info("replication")["master_repl_offset"] > before
        server.call("PUBLISH", "the", "end")
        commands = stream.commands(lambda command: command[0].upper() == b"PUBLISH")
        stream.close()
        assert [command[0] for command in commands] == [b"ONCE.EFFECT"]
        assert decode_effect(commands[0][2])[1] == [("T", [1])]


def test_duplicates_among_others_are_sent_as_well(server):
    """In a transaction, in a script, and among the operations of one command."""
    server.call("ONCE.INCRBY", "t", "a", "x", 1)
    stream = Stream(server.port)
    with server.client.pipeline(transaction=True) as pipe:
        pipe.execute_command("ONCE.INCRBY", "t", "a", "x", 1)
        pipe.execute_command("ONCE.ADD", "t", "a")
        assert pipe.execute() == [[0, 1], [0]]
    script = "return redis.call('ONCE.INCRBY', KEYS[1], 'a', 'x', 1)"
    assert server.client.eval(script, 1, "t") == [0, 1]
    assert server.call("ONCE.MINCRBY", "t", "a", "x", 1, "b", "x", 1, "a", "x", 1) == [[0, 1], [1, 2], [0, 2]]
    server.call("PUBLISH", "the", "end")
    commands = stream.commands(lambda command: command[0].upper() == b"PUBLISH")
    stream.close()
    steps = [decode_effect(words[2])[1] for words in commands if words[0] == b"ONCE.EFFECT"]
    assert steps == [[("T", [1])]] * 3 + [[("T", [1, 0, 1]), ("S", b"x", 2)]]


def test_expiry_is_the_masters(timed_pair, clock):
    """A table that expires is gone from the replica and the log as any key is; its successor knows nothing of its ids."""
    master, replica = timed_pair
    master.call("ONCE.CREATE", "t", "WINDOW", 6000000)
    master.call("ONCE.INCRBY", "t", "a", "x", 1)
    master.client.pexpire("t", 600000)
    assert master.call("ONCE.INCRBY", "t", "a", "x", 1) == [0, 1]
    clock.pass_time(600001)
    wait_for(lambda: replica.client.dbsize() == 0 and master.client.dbsize() == 0)
    assert master.call("ONCE.INCRBY", "t", "a", "x", 1) == [1, 1]
    replica.catch_up_with(master)
    assert replica.digest() == master.digest()
    wait_for(lambda: replica.client.info("lethe")["lethe_keys"] == 1)


def test_that_time_passes_is_no_event(timed_pair, clock):
    """Neither on the master nor on its replica."""
    master, replica = timed_pair
    master.call("ONCE.CREATE", "t", "WINDOW", 600000)
    master.call("ONCE.ADD", "t", "a")
    replica.catch_up_with(master)
    watchers = []
    for server in timed_pair:
        server.client.config_set("notify-keyspace-events", "KEAd")
        events = server.client.pubsub()
        events.psubscribe("__keyspace@0__:t")
        assert events.get_message(timeout=60)["type"] == "psubscribe"
        watchers.append(events)
    ticks = replica.call("ONCE.INFO", "t")[3]
    clock.pass_time(1200000)
    wait_for(lambda: replica.call("ONCE.SEEN", "t", "a") == [0])
    assert replica.call("ONCE.INFO", "t")[3] > ticks
    assert [events.get_message(timeout=0.3) for events in watchers] == [None, None]


def test_wait_after_a_duplicate_waits_for_the_original(pair):
    """The replica is stopped: the original does not reach it, and WAIT on the retry must not say it did."""
    master, replica = pair
    replica.process.send_signal(19) # SIGSTOP
    try:
        master.call("ONCE.INCRBY", "t", "a", "x", 1)
        retry = redis.Redis(port=master.port)
        with retry.client() as connection:
            assert connection.execute_command("ONCE.INCRBY", "t", "a", "x", 1) == [0, 1]
            assert connection.execute_command("WAIT", 1, 300) == 0
    finally:
        replica.process.send_signal(18)
    with retry.client() as connection:
        assert connection.execute_command("ONCE.INCRBY", "t", "a", "x", 1) == [0, 1]
        assert connection.execute_command("WAIT", 1, 20000) == 1


def test_a_call_and_its_id_are_one_transaction(server):
    stream = Stream(server.port)
    server.call("ONCE.CALL", "t", "a", "SET", "k", 1)
    with pytest.raises(redis.ResponseError):
        server.call("ONCE.CALL", "t", "b", "LPUSH", "k", 1)
    server.call("PUBLISH", "the", "end")
    names = [words[0].upper() for words in stream.commands(lambda w: w[0].upper() == b"PUBLISH")]
    stream.close()
    assert names == [b"MULTI", b"ONCE.EFFECT", b"SET", b"ONCE.EFFECT", b"EXEC", b"ONCE.EFFECT"]


def test_effects_are_not_for_clients(server):
    stream = Stream(server.port)
    server.call("ONCE.INCRBY", "t", "a", "x", 1)
    server.call("PUBLISH", "the", "end")
    effect = stream.commands(lambda words: words[0].upper() == b"PUBLISH")[0]
    stream.close()
    with pytest.raises(redis.ResponseError, match="master or the log"):
        server.call(*effect)
    with pytest.raises(redis.ResponseError, match="master or the log"):
        server.client.eval("return redis.call('ONCE.EFFECT', KEYS[1], ARGV[1])", 1, "t", effect[2])


def test_an_idle_table_forgets_on_the_replica_too(timed_pair, clock):
    master, replica = timed_pair
    master.call("ONCE.CREATE", "t", "WINDOW", 600000)
    master.call("ONCE.ADD", "t", *[f"i{i}" for i in range(30000)])
    replica.catch_up_with(master)
    used = master.client.memory_usage("t")
    assert table_info(replica.client)["ids"] == 30000
    clock.pass_time(1200000)
    wait_for(lambda: table_info(replica.client)["ids"] == 0, what="the replica to forget")
    wait_for(lambda: replica.client.memory_usage("t") < used / 4, what="its memory to come back")
    wait_for(lambda: master.client.memory_usage("t") < used / 4, what="the master's memory too")
    same_digest(master, replica)
    # And then it is quiet: nothing more is sent for a table that remembers nothing.
    sent = master.client.info("lethe")["lethe_ticks_sent"]
    for _ in range(5):
        clock.pass_time(1200000)
        time.sleep(0.11)
    assert master.client.info("lethe")["lethe_ticks_sent"] <= sent + 1


def test_a_replica_does_not_rotate_by_itself(timed_pair, clock):
    master, replica = timed_pair
    master.call("ONCE.CREATE", "t", "WINDOW", 600000)
    master.call("ONCE.ADD", "t", "a")
    replica.catch_up_with(master)
    master.process.send_signal(19)
    try:
        before = replica.digest()
        clock.pass_time(1200000)
        ticks = replica.client.info("lethe")["lethe_effects_sent"]
        time.sleep(0.3) # for its timer; if it comes later, nothing is missed that should not be
        assert replica.digest() == before
        assert replica.client.info("lethe")["lethe_effects_sent"] == ticks
        assert replica.call("ONCE.SEEN", "t", "a") == [1]
    finally:
        master.process.send_signal(18)


def test_promotion_in_the_middle_of_a_load(pair):
    """Clients send with WAIT 1 and retry until it is acknowledged; the total is exact."""
    master, replica = pair
    ports, acknowledged, lock = [master.port], [], threading.Lock()

    def work(worker):
        for i in range(300):
            while True:
                try:
                    # An operation and its WAIT go down one connection.
                    with redis.Redis(port=ports[0], socket_timeout=5).client() as one:
                        one.execute_command("ONCE.INCRBY", "t", f"{worker}-{i}", "n", 1)
                        wanted = 1 if ports[0] == master.port else 0
                        if one.execute_command("WAIT", wanted, 500) >= wanted:
                            break
                except redis.RedisError:
                    time.sleep(0.02)
            with lock:
                acknowledged.append((worker, i))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(acknowledged) > 300, 60, "some of the load")
    master.kill()
    replica.call("REPLICAOF", "NO", "ONE")
    ports[0] = replica.port
    for thread in threads:
        thread.join()
    assert replica.call("ONCE.GET", "t", "n") == 1200


def test_partial_resynchronisation(pair):
    master, replica = pair
    chance = random.Random(3)
    load(master, chance, 200)
    replica.catch_up_with(master)
    full = master.client.info("stats")["sync_full"]
    master.call("CLIENT", "KILL", "TYPE", "replica")
    load(master, chance, 200)
    same_digest(master, replica)
    assert master.client.info("stats")["sync_full"] == full


def test_what_a_reloaded_master_takes_its_replica_takes(timed_pair, clock):
    """A table at its cap, in the middle of a period: what has not been saved must not decide."""
    master, replica = timed_pair
    period_ms, ids = 2000, iter(range(100000))
    def next_period():
        clock.pass_time(period_ms - int(table_info(master.client)["clock_ms"]) % period_ms + 100)
    def add(count):
        return master.call("ONCE.ADD", "t", *[next(ids) for _ in range(count)])
    master.call("ONCE.CREATE", "t", "WINDOW", 30 * period_ms, "ERROR", "1e-6", "MAXMEMORY", 43000)
    add(3000)
    clock.pass_time(65 * period_ms)
    for _ in range(20):
        next_period()
        add(200)
    next_period()
    while not isinstance(add(1)[0], redis.ResponseError):
        pass
    master.call("DEBUG", "RELOAD")
    clock.pass_time(1700)
    assert master.call("ONCE.INCRBY", "t", "new", "n", 1) == [1, 1]
    replica.catch_up_with(master)
    assert replica.call("ONCE.SEEN", "t", "new") == [1]
    same_digest(master, replica)
    master.kill()
    replica.call("REPLICAOF", "NO", "ONE")
    clock.pass_time(period_ms)
    assert replica.call("ONCE.INCRBY", "t", "new", "n", 1) == [0, 1]


def test_a_change_that_asks_no_window_moves_its_clock(start):
    """A window that was loaded meanwhile is at the same time afterwards as the one that was there all along."""
    master, replica = start(), start()
    for server in (master, replica):
        server.client.config_set("lethe.tick-ms", 60000)
    time.sleep(0.3) # the timers have come for the last time
    master.call("ONCE.INCRBY", "t", "a", "n", 1)
    replica.follow(master)
    wait_for(replica.is_synced, what="the link")
    time.sleep(0.02)
    assert master.call("ONCE.DEL", "t", "n") == 1
    replica.catch_up_with(master)
    assert master.digest("t") == replica.digest("t") # at once: a timer would move both


def test_a_manual_failover_does_not_stop_the_server(start):
    """While clients are paused for it nothing may be replicated, not by a timer either."""
    server = start()
    server.call("ONCE.CREATE", "t", "WINDOW", 1000)
    server.call("ONCE.ADD", "t", "a")
    server.call("CLIENT", "PAUSE", 1500, "WRITE")
    time.sleep(1.7)
    assert server.is_up()


def test_a_load_that_fails_is_no_error_on_replicas(pair):
    """They drop the pieces as well. An error in answer to its master would make a replica stop itself, if it is told to."""
    master, replica = pair
    answers = [master.client.execute_command("EVAL", "return redis.pcall(unpack(ARGV)).err or 'OK'", 0, "QF.LOAD", *words)
               for words in (["p", 0, 1, "junk"], ["q", 0, 0, b"x" * (1 << 20)], ["q", 1, 1, "junk"],
                             ["r", 0, 0, b"x" * (1 << 20)])]
    assert [b"dropped" in answer for answer in answers] == [True, False, True, False]
    replica.catch_up_with(master)
    assert replica.client.keys() == master.client.keys() == [b"r"]
    assert "sending an error to its master" not in replica.log()


def test_a_call_that_fails_leaves_no_table(pair):
    master, replica = pair
    master.client.set("k", "v")
    for words in (["LPUSH", "k", "x"], ["SET", "k", "v", "EX", "0"]):
        problem = master.client.eval("return redis.pcall('ONCE.CALL', 't', 'id', unpack(ARGV)).err", 0, *words)
        assert problem is not None and master.client.exists("t") == 0
    replica.catch_up_with(master)
    assert replica.client.keys() == [b"k"]
    assert master.call("ONCE.CALL", "t", "id", "APPEND", "k", "w") == [1, 2]
    assert b"WRONGTYPE" in master.client.eval("return redis.pcall('ONCE.CALL', 't', 'id-2', 'LPUSH', 'k', 'x').err", 0)
    assert master.call("ONCE.SEEN", "t", "id", "id-2") == [1, 0]
    replica.catch_up_with(master)
    assert replica.digest() == master.digest() and "sending an error to its master" not in replica.log()


def test_effects_within_a_call_do_not_mix(pair):
    """The command that ONCE.CALL runs has an effect of its own while the table's is under way."""
    master, replica = pair
    pairs = [word for i in range(200) for word in (f"id-{i}", f"counter-{i}", i)]
    for step in range(3):
        assert master.call("ONCE.CALL", "t", f"a-{step}", "ONCE.MINCRBY", "u", *pairs)[0] == 1
        assert master.call("ONCE.CALL", "t", f"b-{step}", "FBF.MADD", "f", *range(step, 300))[0] == 1
        assert master.call("ONCE.CALL", "t", f"b-{step}", "FBF.MADD", "f", "other") == [0, None]
        with pytest.raises(redis.ResponseError):
            master.call("ONCE.CALL", "t", f"c-{step}", "ONCE.INCRBY", "u", "id", "counter", "x")
    replica.catch_up_with(master)
    for key in "tuf":
        assert master.digest(key) == replica.digest(key)
    assert replica.call("ONCE.SEEN", "t", "a-0", "b-1", "c-2") == [1, 1, 0]
    assert replica.call("ONCE.GET", "u", "counter-199") == 199
