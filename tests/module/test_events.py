"""Goal:   keyspace events on a replica carry the master's names, and come exactly when the master's do.
Method: every command that changes something is sent to a master; what subscribers of both servers got is compared. Effects of an
        earlier version, which have no names, are made by writing a log in capitals."""

import pytest
import redis
from servers import wait_for
from stream import decode_effect

SENT = [
    "ONCE.CREATE t SEED 5 PER hour", "ONCE.INCRBY t a x 1", "ONCE.INCRBY t a x 1", "ONCE.MINCRBY t b x 1 c y 2",
    "ONCE.MINCRBY t b x 1", "ONCE.ADD t d e", "ONCE.ADD t d", "ONCE.ADD t f", "ONCE.FORGET t f", "ONCE.FORGET t f", "ONCE.DEL t y",
    "ONCE.DEL t y", "ONCE.TAKE t g z 1 LIMIT 9", "ONCE.TAKE t g z 1 LIMIT 9", "ONCE.TAKE t h z 9 LIMIT 9",
    "ONCE.BEGIN t w1 k LEASE 60000", "ONCE.BEGIN t w1 other LEASE 60000", "ONCE.RENEW t w1 k LEASE 90000", "ONCE.DONE t w1 k r",
    "ONCE.DONE t w1 k r", "ONCE.BEGIN t w2 k LEASE 60000", "ONCE.ABORT t w2 k", "ONCE.HOLD t h1 z 2 LIMIT 9 LEASE 60000",
    "ONCE.HOLD t h1 z 2 LIMIT 9 LEASE 60000", "ONCE.SETTLE t h1 1", "ONCE.SETTLE t h1 1", "ONCE.HOLD t h2 z 2 LIMIT 9 LEASE 60000",
    "ONCE.RELEASE t h2", "ONCE.RELEASE t h2", "ONCE.CALL t i SET text 1", "ONCE.CALL t i SET text 1", "ONCE.CALL t j KEEP INCR n",
    "ONCE.CALL t j KEEP INCR n", "ONCE.CALL made k SET text 2", "ONCE.INCRBY new a x 1", "ONCE.BEGIN newer a k LEASE 5",
    "ONCE.ADD newest NOCREATE IDS a", "FBF.RESERVE f SEED 7", "FBF.ADD f a", "FBF.ADD f a", "FBF.MADD f a b", "FBF.RESERVE f2 SEED 7",
    "FBF.ADD f2 z", "FBF.MERGE f f2", "FBF.ADD f3 a", "QF.RESERVE q SEED 7", "QF.ADD q a", "QF.ADD q a", "QF.MADD q b c",
    "QF.REMOVE q a", "QF.REMOVE q none", "QF.MREMOVE q b none", "QF.RESERVE q2 SEED 7", "QF.MERGE q q2", "GBF.RESERVE g SEED 7",
    "GBF.ADD g a", "GBF.MADD g a b", "GBF.RESERVE g2 SEED 7", "GBF.MERGE g g2", "FID.RESERVE s SEED 7", "FID.ADD s a 3",
    "FID.REMOVE s a 1", "FID.RESERVE s2 SEED 7", "FID.MERGE s s2", "RENAME t moved", "ONCE.INCRBY moved z x 1", "DEL moved"]


def subscribe(server):
    server.client.config_set("notify-keyspace-events", "KEAd")
    events = server.client.pubsub(ignore_subscribe_messages=True)
    events.psubscribe("__keyspace@0__:*")
    wait_for(lambda: server.client.pubsub_numpat() == 1)
    return events


def collect(server, events):
    """All that has been published so far, up to a message of our own."""
    server.client.publish("__keyspace@0__:end", "end")
    found = []
    def is_end():
        message = events.get_message(timeout=1)
        if message is not None:
            found.append((message["channel"].partition(b":")[2].decode(), message["data"].decode()))
        return found and found[-1][0] == "end"
    wait_for(is_end)
    return found[:-1]


def test_replicas_announce_what_their_master_does(pair):
    master, replica = pair
    listeners = [(server, subscribe(server)) for server in pair]
    for words in SENT:
        try:
            master.call(*words.split())
        except redis.ResponseError as error:
            assert "NOTABLE" in str(error)
    replica.catch_up_with(master)
    on_master, on_replica = (collect(*listener) for listener in listeners)
    assert on_replica == on_master
    names = [name for _, name in on_master]
    assert "effect" not in names
    for word in "create incrby mincrby add forget del take begin renew done abort hold settle release call".split():
        assert "once." + word in names
    for word in ("fbf.reserve fbf.add fbf.merge qf.reserve qf.add qf.remove qf.merge gbf.reserve gbf.add gbf.merge fid.reserve fid.add "
                 "fid.remove fid.merge").split():
        assert word in names
    assert names.count("once.incrby") == 3 and names.count("qf.add") == 3 and names.count("fbf.add") == 4


def test_a_replica_of_a_replica(pair, start):
    master, middle = pair
    last = start()
    last.follow(middle)
    last.catch_up_with(middle)
    listener = subscribe(last)
    master.call("ONCE.INCRBY", "t", "a", "x", 1)
    master.call("ONCE.TAKE", "t", "b", "x", 1, "LIMIT", 9)
    middle.catch_up_with(master)
    last.catch_up_with(middle)
    assert collect(last, listener) == [("t", "once.incrby"), ("t", "once.take")]


def test_time_that_passes_is_no_event(timed_pair, clock):
    master, replica = timed_pair
    master.call("ONCE.CREATE", "t", "WINDOW", 60000)
    master.call("ONCE.ADD", "t", "a")
    replica.catch_up_with(master)
    listener = subscribe(replica)
    clock.pass_time(600000)
    wait_for(lambda: master.client.info("lethe")["lethe_ticks_sent"] > 0)
    replica.catch_up_with(master)
    assert collect(replica, listener) == []


def effects_in(log):
    """The commands of a log, as lists of words."""
    words, found = log.split(b"\r\n"), []
    data, at = log, 0
    while at < len(data):
        end = data.index(b"\r\n", at)
        count, at = int(data[at + 1:end]), end + 2
        command = []
        for _ in range(count):
            end = data.index(b"\r\n", at)
            size, at = int(data[at + 1:end]), end + 2
            command.append(data[at:at + size])
            at += size + 2
        found.append(command)
    return found


def test_logs_with_and_without_names(start):
    """The name is in the letters of the command; one in capitals, from an earlier version, does the same."""
    server = start(appendonly="yes", aof_use_rdb_preamble="no")
    for words in ("ONCE.CREATE t SEED 3", "ONCE.INCRBY t a x 5", "ONCE.INCRBY t a x 5", "FBF.ADD f a"):
        server.call(*words.split())
    before = server.digest("t"), server.digest("f")
    folder = server.folder / "appendonlydir"
    server.stop()
    [log] = folder.glob("*.incr.aof")
    commands = [words for words in effects_in(log.read_bytes()) if words[0].upper().endswith(b".EFFECT")]
    # CREATE is 2, INCRBY 6, a duplicate 1, ADD 4: bit i is letter i of EFFECT.
    assert [words[0] for words in commands if words[2][9:] != b"W"][:4] == [
        b"ONCE.EfFECT", b"ONCE.EffECT", b"ONCE.eFFECT", b"FBF.EFfECT"]
    assert all(decode_effect(words[2]) for words in commands if words[0].startswith(b"ONCE"))
    upper = b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in
                     ([words[0].upper()] + words[1:])) for words in effects_in(log.read_bytes()))
    log.write_bytes(upper)
    server.start()
    assert (server.call("ONCE.GET", "t", "x"), server.call("FBF.TEST", "f", "a")) == (5, 1)
    assert len(before) == 2 and server.call("ONCE.INCRBY", "t", "a", "x", 5) == [0, 5]


@pytest.mark.parametrize("name", ["ONCE.EFFECT", "once.effect", "ONCE.EfFeCt"])
def test_clients_send_no_effects(server, name):
    with pytest.raises(redis.ResponseError, match="from a master or the log only"):
        server.call(name, "t", "x")
