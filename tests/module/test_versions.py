"""Goal:   an older version of the module shares the tables that use nothing new, and refuses the others as a whole.
Method: replicas and masters with the module that LETHE_PREVIOUS_MODULE names, a build of the version before; without it the
        tests are skipped. "Upgrade replicas first" is what docs/redis-meters.md and docs/claims.md say."""

import os
import pathlib

import pytest
import redis
from servers import table_info

PREVIOUS = os.environ.get("LETHE_PREVIOUS_MODULE")
pytestmark = pytest.mark.skipif(not PREVIOUS, reason="LETHE_PREVIOUS_MODULE names no older build")


def start_previous(start):
    return start(module=pathlib.Path(PREVIOUS))


def test_an_older_replica_shares_what_uses_nothing_new(start):
    master, replica = start(), start_previous(start)
    replica.follow(master)
    replica.catch_up_with(master)
    for kind in "quotient", "forgetful":
        master.call("ONCE.CREATE", kind, "KIND", kind)
        for i in range(100):
            master.call("ONCE.INCRBY", kind, f"i{i}", f"k{i % 7}", i)
            master.call("ONCE.MINCRBY", kind, f"m{i}", "k1", 1, f"m{i - 1}", "k1", 1)
        assert [master.call("ONCE.TAKE", kind, f"t{i}", "taken", 1, "LIMIT", 1)[0] for i in (0, 0, 1)] == [1, 0, -1]
        master.call("ONCE.DEL", kind, "k3")
        replica.catch_up_with(master)
        assert replica.digest(kind) == master.digest(kind)
        replica.client.config_set("replica-read-only", "no")
        replica.client.restore("copy-" + kind, 0, master.client.dump(kind))
        assert replica.call("ONCE.GET", "copy-" + kind, "k1") == master.call("ONCE.GET", kind, "k1")
    replica.call("REPLICAOF", "NO", "ONE")
    assert replica.call("ONCE.INCRBY", "quotient", "i5", "k5", 5)[0] == 0


def test_an_older_replica_refuses_what_counts_per_period(start):
    """It has no such table rather than a wrong one, says so in its log, and takes everything else."""
    master, replica = start(), start_previous(start)
    replica.follow(master)
    replica.catch_up_with(master)
    master.call("ONCE.CREATE", "t", "PER", "hour")
    master.call("ONCE.INCRBY", "t", "a", "k", 1)
    master.call("ONCE.INCRBY", "plain", "a", "k", 1)
    replica.catch_up_with(master)
    assert replica.client.exists("t") == 0 and "ONCE.EFFECT" in replica.log().upper()
    assert replica.digest("plain") == master.digest("plain")
    with pytest.raises(redis.ResponseError, match="Bad data format"):
        replica.client.config_set("replica-read-only", "no")
        replica.client.restore("u", 0, master.client.dump("t"))


def test_an_older_replica_refuses_claims(start):
    """The table stays as it was there, without what it does not know; its snapshot is refused as a whole."""
    master, replica = start(), start_previous(start)
    replica.follow(master)
    replica.catch_up_with(master)
    master.call("ONCE.INCRBY", "t", "a", "k", 1)
    replica.catch_up_with(master)
    before = replica.digest("t")
    assert before == master.digest("t")
    assert master.call("ONCE.BEGIN", "t", "i", "a", "LEASE", 60000) == [b"new"]
    master.call("ONCE.INCRBY", "plain", "a", "k", 1)
    replica.catch_up_with(master)
    assert replica.digest("plain") == master.digest("plain") and "ONCE.EFFECT" in replica.log().upper()
    assert replica.call("ONCE.GET", "t", "k") == 1
    with pytest.raises(redis.ResponseError, match="Bad data format"):
        replica.client.config_set("replica-read-only", "no")
        replica.client.restore("u", 0, master.client.dump("t"))
    assert master.call("ONCE.ABORT", "t", "i", "a") == [b"aborted"]
    replica.client.restore("u", 0, master.client.dump("t")) # without claims it has the bytes of before
    assert replica.call("ONCE.GET", "u", "k") == 1


def test_an_older_replica_refuses_holds(start):
    """Counters are right there; holds it does not know, and a snapshot with them is refused as a whole."""
    master, replica = start(), start_previous(start)
    replica.follow(master)
    master.call("ONCE.INCRBY", "t", "a", "k", 1)
    replica.catch_up_with(master)
    assert replica.digest("t") == master.digest("t")
    assert master.call("ONCE.HOLD", "t", "i", "k", 5, "LIMIT", 9, "LEASE", 60000)[0] == 1
    master.call("ONCE.INCRBY", "t", "b", "k", 2)
    master.call("ONCE.INCRBY", "plain", "a", "k", 1)
    replica.catch_up_with(master)
    assert replica.digest("plain") == master.digest("plain") and "ONCE.EFFECT" in replica.log().upper()
    assert replica.call("ONCE.GET", "t", "k") == 3
    with pytest.raises(redis.ResponseError, match="Bad data format"):
        replica.client.config_set("replica-read-only", "no")
        replica.client.restore("u", 0, master.client.dump("t"))


def test_replicas_are_upgraded_first(start):
    """A new replica follows an old master; promoted, it makes such tables, and a second new one has them."""
    old, new, other = start_previous(start), start(), start()
    old.call("ONCE.INCRBY", "t", "a", "k", 1)
    new.follow(old)
    new.catch_up_with(old)
    old.call("ONCE.INCRBY", "t", "b", "k", 1)
    new.catch_up_with(old)
    assert new.digest("t") == old.digest("t")
    new.call("REPLICAOF", "NO", "ONE")
    other.follow(new)
    other.catch_up_with(new)
    assert new.call("ONCE.INCRBY", "t", "b", "k", 1) == [0, 2]
    new.call("ONCE.CREATE", "u", "PER", "hour")
    new.call("ONCE.INCRBY", "u", "a", "k", 1)
    other.catch_up_with(new)
    assert other.digest("u") == new.digest("u") and table_info(other.client, "u")["buckets"] == 1
