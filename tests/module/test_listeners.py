"""Goal:   ONCE.INCRBY, MINCRBY and ADD send no effect while there is neither a replica nor a log; and whoever comes, at any
        moment and by any way, has all that was done since, as effects and to the last fingerprint. What is not sent is a
        change all the same.
Method: replicas and logs that come while clients write without a pause; digests of both sides; the commands that a replica
        was sent and a log holds; servers that have a backlog and nobody who reads it."""

import signal
import threading
import time

import pytest
from servers import wait_for

LUA = "return redis.call('ONCE.INCRBY', KEYS[1], ARGV[1], 'n', 1)"


def effects(server):
    return server.client.info("lethe")["lethe_effects_sent"]


def changes(server):
    return server.client.info("persistence")["rdb_changes_since_last_save"]


def write(server, first, count):
    pipe = server.client.pipeline(transaction=False)
    for i in range(first, first + count):
        # Every seventh is a duplicate.
        key, name = f"i{i - i % 7 % 6 // 5}", f"n{i % 20}"
        if i % 10 == 3:
            pipe.execute_command("ONCE.MINCRBY", "t", key, name, 1, f"m{i}", name, 2)
        elif i % 10 == 6:
            pipe.execute_command("ONCE.ADD", "t", key, f"a{i}")
        else:
            pipe.execute_command("ONCE.INCRBY", "t", key, name, 1)
    pipe.execute()


class Writer:
    """Somebody who writes without a pause, while others come and go."""

    def __init__(self, server):
        self.server, self.is_over, self.written = server, False, 0
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.is_over:
            write(self.server, self.written, 50)
            self.written += 50

    def __enter__(self):
        self.thread.start()
        wait_for(lambda: self.written > 500, what="the writer")
        return self

    def __exit__(self, *_):
        before = self.written
        wait_for(lambda: self.written > before + 500, what="the writer")
        self.is_over = True
        self.thread.join()


def stop_time(*servers):
    """The timers stay away, so that two questions find the same."""
    for server in servers:
        server.client.config_set("lethe.tick-ms", 60000)
    time.sleep(0.3)


def same(master, replica):
    replica.catch_up_with(master)
    wait_for(lambda: master.digest() == replica.digest(), 20, "the same digest")
    # As effects: a command would be judged by the replica's own clock.
    for command in ("incrby", "mincrby", "add"):
        assert f"cmdstat_once.{command}" not in replica.client.info("commandstats")


def test_nothing_is_sent_while_nobody_listens(start):
    server = start()
    stop_time(server)
    assert server.call("ONCE.INCRBY", "t", "first", "n", 1) == [1, 1]
    before, changed = effects(server), changes(server)
    assert before == 1 # it has made the table
    assert server.call("ONCE.INCRBY", "t", "a", "n", 1) == [1, 2]
    assert server.call("ONCE.INCRBY", "t", "a", "n", 1) == [0, 2]
    assert server.client.eval(LUA, 1, "t", "b") == [1, 3]
    pipe = server.client.pipeline(transaction=True)
    pipe.execute_command("ONCE.INCRBY", "t", "c", "n", 1)
    pipe.execute_command("ONCE.INCRBY", "t", "c", "n", 1)
    assert pipe.execute() == [[1, 4], [0, 4]]
    assert server.call("ONCE.MINCRBY", "t", "c", "n", 1, "d", "n", 1) == [[0, 4], [1, 5]]
    assert server.call("ONCE.ADD", "t", "d", "e") == [0, 1]
    assert effects(server) == before
    assert changes(server) == changed + 7 # the server's own snapshots go by that
    digest = server.digest()
    server.client.save()
    server.restart()
    assert server.digest() == digest


@pytest.mark.parametrize("delay", [0, 1])
def test_a_replica_that_comes_while_clients_write(start, delay):
    """Between its first word and its snapshot, there is time with a delay."""
    master, replica = start(repl_diskless_sync_delay=delay, repl_backlog_size="64mb"), start()
    master.call("ONCE.CREATE", "t", "WINDOW", 600000)
    stop_time(master)
    with Writer(master):
        replica.follow(master)
        wait_for(replica.is_synced, what="the link")
    same(master, replica)
    assert effects(master) > 0


def test_a_replica_after_a_snapshot_that_was_not_for_it(start):
    """A fork is no listener: nothing is sent after it either. The next one is."""
    master, replica = start(), start()
    master.call("ONCE.CREATE", "t", "WINDOW", 600000)
    stop_time(master)
    sent = effects(master)
    write(master, 0, 100)
    master.client.bgsave()
    write(master, 100, 100)
    wait_for(lambda: master.client.info("persistence")["rdb_bgsave_in_progress"] == 0, what="the snapshot")
    write(master, 200, 100)
    assert effects(master) == sent
    replica.follow(master)
    wait_for(replica.is_synced, what="the link")
    write(master, 300, 100)
    assert effects(master) == sent + 100
    same(master, replica)


def test_a_log_that_begins_while_clients_write(start):
    server = start()
    server.call("ONCE.CREATE", "t", "WINDOW", 600000)
    stop_time(server)
    with Writer(server):
        server.client.config_set("appendfsync", "always")
        server.client.config_set("appendonly", "yes")
        wait_for(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0 and
                 server.client.info("persistence")["aof_last_bgrewrite_status"] == "ok", what="the log")
    counters = [server.call("ONCE.GET", "t", f"n{i}") for i in range(20)]
    log = b"".join(path.read_bytes() for path in (server.folder / "appendonlydir").iterdir())
    log = log.lower()
    assert b"once.effect" in log and not any(word in log for word in (b"once.incrby", b"once.mincrby", b"once.add"))
    server.options["appendonly"] = "yes"
    server.restart()
    assert [server.call("ONCE.GET", "t", f"n{i}") for i in range(20)] == counters
    assert server.call("ONCE.INCRBY", "t", "i0", "n0", 1)[0] == 0
    # And one that ends.
    server.client.config_set("appendonly", "no")
    sent = effects(server)
    write(server, 10**6, 100)
    assert effects(server) == sent


def test_a_promoted_server_has_a_backlog_that_others_ask_for(pair):
    """Its former master comes back, with what it had, and gets the rest."""
    master, replica = pair
    master.call("ONCE.CREATE", "t", "WINDOW", 600000)
    stop_time(master, replica)
    write(master, 0, 100)
    replica.catch_up_with(master)
    replica.call("REPLICAOF", "NO", "ONE")
    write(replica, 100, 300) # nobody is connected
    assert replica.client.info("replication")["connected_slaves"] == 0
    master.follow(replica)
    master.catch_up_with(replica)
    assert replica.client.info("stats")["sync_partial_ok"] == 1
    assert master.digest() == replica.digest()


def test_a_restarted_server_has_a_backlog_that_others_ask_for(pair):
    """Its file holds where the stream was, and replicas go on from there."""
    master, replica = pair
    master.call("ONCE.CREATE", "t", "WINDOW", 600000)
    stop_time(master, replica)
    write(master, 0, 100)
    replica.catch_up_with(master)
    master.options["save"] = "3600 1"
    master.client.config_set("save", "3600 1")
    master.stop()
    replica.process.send_signal(signal.SIGSTOP) # it does not come back before the master has gone on
    try:
        master.start()
        stop_time(master)
        write(master, 100, 300)
    finally:
        replica.process.send_signal(signal.SIGCONT)
    replica.catch_up_with(master)
    assert master.client.info("stats")["sync_partial_ok"] == 1
    assert master.digest() == replica.digest()


def test_a_backlog_that_is_given_up(start):
    master, replica = start(repl_backlog_ttl=1), start()
    master.call("ONCE.CREATE", "t", "WINDOW", 600000)
    replica.follow(master)
    replica.catch_up_with(master)
    write(master, 0, 100)
    replica.kill()
    wait_for(lambda: master.client.info("replication")["repl_backlog_active"] == 0, what="the end of the backlog")
    stop_time(master)
    for first in range(100, 70100, 1000):
        write(master, first, 1000)
    sent = effects(master)
    write(master, 70100, 1000)
    assert effects(master) == sent
