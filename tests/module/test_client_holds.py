"""Goal:   the Python client holds, settles and releases once, through lost answers and failovers; tables that are spread by key
        keep limits on servers and clusters, and are the same for lethe and for Python.
Method: the client on real servers, a server that dies between an operation and its answer, a cluster."""

import asyncio
import random
import sys
import threading

import pytest
import redis
from cluster import Cluster
from counting import count, lethe, listed, url_of
from servers import SOURCE, wait_for

sys.path.insert(0, str(SOURCE / "clients/python"))
from lethe_once import Hold, Limited, Once, Spread  # noqa: E402


def test_hold_settle_and_release(server):
    quota = Once(server.client, "t", per="hour")
    hold = quota.hold("k", 60, (100, "hour"), lease=50)
    assert hold.granted and hold.outcome == "held" and (hold.value, hold.left) == (0, 40) and 0 < hold.lease_ms <= 50_000
    assert quota.hold("k", 60, (100, "hour"), id=hold.id).outcome == "duplicate"
    refused = quota.hold("k", 41, (100, "hour"))
    assert not refused.granted and refused.outcome == "limited" and refused.resets_ms > 0
    assert [row[:5] for row in quota.holds()] == [(hold.id.encode(), b"k", 60, 100, "hour")]
    assert hold.settle(150).outcome == "limited" and not hold.settle(150).is_settled
    assert hold.settle(25)[:3] == ("settled", 25, 75) and hold.settle(25).outcome == "duplicate"
    with pytest.raises(redis.ResponseError, match="MISMATCH"):
        hold.settle(26)
    other = quota.hold("k", 1, 100, id="mine")
    assert Hold(quota, "mine").release() is True and other.release() is False
    with pytest.raises(redis.ResponseError, match="NOHOLD"):
        Hold(quota, "none").settle(1)
    forced = quota.hold("k", 1, (100, "hour"))
    assert forced.settle(500, force=True).is_settled and quota.get("k") == 525


def test_blocks(server):
    quota = Once(server.client, "t")
    with quota.hold("k", 10, 100):
        pass
    assert quota.get("k") == 10 # all of it
    with quota.hold("k", 10, 100) as hold:
        hold.settle(3)
    with pytest.raises(KeyError), quota.hold("k", 10, 100):
        raise KeyError
    with quota.hold("k", 10, 100) as hold:
        hold.release()
    with pytest.raises(Limited) as caught, quota.hold("k", 100, 100):
        pass
    assert caught.value.left == 87 and quota.get("k") == 13 and list(quota.holds()) == []
    async def work():
        async with quota.hold("k", 7, 100):
            await asyncio.sleep(0)
        with pytest.raises(KeyError):
            async with quota.hold("k", 7, 100):
                raise KeyError
    asyncio.run(work())
    assert quota.get("k") == 20 and list(quota.holds()) == []


def test_a_block_whose_settlement_was_limited(server):
    """It took more than was held: that is not settled as if it had been less."""
    quota = Once(server.client, "t")
    with pytest.raises(Limited) as caught:
        with quota.hold("k", 10, 20, id="h") as hold:
            assert hold.settle(50).outcome == "limited"
    assert caught.value.left == 10 and quota.get("k") is None and len(list(quota.holds())) == 1
    with quota.hold("k", 10, 20, id="h") as hold:
        hold.settle(50)
        hold.settle(50, force=True)
    assert quota.get("k") == 50


def test_what_the_work_raises_is_raised(server):
    """Also if nothing can be released any more."""
    quota = Once(server.client, "t", timeout=0.2)
    with pytest.raises(KeyError):
        with quota.hold("k", 10, 100):
            server.client.delete("t") # so RELEASE is an error
            raise KeyError
    async def work():
        async with quota.hold("k", 10, 100):
            server.client.delete("t")
            raise KeyError
    with pytest.raises(KeyError):
        asyncio.run(work())


def test_a_block_whose_lease_is_over(timed, clock):
    quota = Once(timed.client, "t")
    with pytest.raises(Limited):
        with quota.hold("k", 10, 10, lease=5):
            clock.pass_time(6000)
            wait_for(lambda: list(quota.holds()) == [], what="the end of the lease")
            quota.take("k", 8, 10)
    assert quota.get("k") == 8


def test_through_restarts(start):
    """A server that is killed again and again: what was settled is counted once, and nothing stays held."""
    server = start(appendonly="yes", appendfsync="always")
    quota = Once(server.client, "t", window_ms=600_000, timeout=60)
    chance, settled, over = random.Random(4), [], threading.Event()
    def work():
        while not over.is_set():
            hold = quota.hold("k", 10, 10**9, lease=300)
            if chance.random() < 0.3:
                hold.release()
            else:
                actual = chance.randrange(15)
                assert hold.settle(actual).is_settled
                settled.append(actual)
    worker = threading.Thread(target=work)
    worker.start()
    for _ in range(3):
        before = len(settled)
        wait_for(lambda: len(settled) > before + 20, 60, "some load")
        server.restart()
    over.set()
    worker.join()
    assert quota.get("k") == sum(settled) and list(quota.holds()) == []


def test_a_table_spread_by_key(server):
    """lethe and Python make it, and find the same counters in it."""
    url = url_of(server)
    lines = "".join(f"i{i}\tk{i % 40}\t1\n" for i in range(400))
    count(url, "--partitions", "8", "--partition-by", "key", "--per", "1h", "--window", "1h", stdin=lines)
    table = Spread(server.client, "t")
    assert len(table.partitions) == 8 and all(table.get(f"k{i}") == 10 for i in range(40))
    assert {one.table for one in table.partitions} == {key.decode() for key in server.client.keys("t:{*}")}
    assert table.incrby("k1", 1, id="i1").applied is False # lethe's id
    assert table.take("k1", 5, 15).granted and not table.take("k1", 1, (15, "hour")).granted
    with table.hold("k2", 3, (13, "hour")) as hold:
        assert not table.take("k2", 1, 13).granted
        hold.settle(1)
    assert sum(value for _, value in table.range("k2", "hour")) == 11 and table.peek("k2", 13).left == 2
    assert listed(url)["k1"] == 15
    with pytest.raises(ValueError, match="several partitions"):
        table.incrby("k1", 1, *(word for i in range(40) for word in (f"k{i}", 1)))
    made = Spread(server.client, "new", partitions=5, window_ms=100_000, per=[("hour", 48), "month"])
    made.incrby("a", 7)
    assert listed(url, "new") == {"a": 7}
    assert lethe("count", url, "--per", "1h,1mo", "--keep", "1h=2d", "--partition-by", "key", table="new", stdin="").returncode == 0
    assert Spread(server.client, "new", partitions=5).get("a") == 7


def test_what_is_no_such_table(server):
    count(url_of(server), "--partitions", "4", stdin="a\tk\t1\n")
    by_id = Spread(server.client, "t")
    for refused in (lambda: by_id.take("k", 1, 5), lambda: by_id.hold("k", 1, 5), lambda: by_id.peek("k", 5),
                    lambda: by_id.claim("i"), lambda: by_id.claimed(id=lambda: "i")):
        with pytest.raises(ValueError, match="spread by id"):
            refused()
    with pytest.raises(ValueError, match="there is no table"):
        Spread(server.client, "none")
    server.client.set("s", "something")
    with pytest.raises(ValueError, match="not a table"):
        Spread(server.client, "s")
    server.client.set("n", "lethe-table 9 partitions 4")
    with pytest.raises(ValueError, match="newer"):
        Spread(server.client, "n")
    Spread(server.client, "t5", partitions=5)
    with pytest.raises(ValueError, match="has 5 partitions"):
        Spread(server.client, "t5", partitions=6)
    Once(server.client, "plain").incrby("k", 1)
    assert Spread(server.client, "plain").take("k", 1, 2).granted # one partition


@pytest.mark.parametrize("options", [
    {"partitions": 0}, {"partitions": -1}, {"partitions": 1025}, {"partitions": "many"}, {"partitions": 2.5}, {"partitions": True},
    {"per": "fortnight"}, {"per": 99}, {"per": ("hour", 0)}, {"per": ("hour", 10**6)}, {"per": []}, {"per": ["hour", 3_600_000]},
    {"per": ["hour", "day", "month", 100, 200]}, {"per": "hour:3,day"}, {"error": "much"}, {"error": 0}, {"error": 0.2}, {"error": 1e-13}, {"error": float("nan")},
    {"window_ms": 999}, {"window_ms": "1h"}, {"window_ms": 10**12}, {"kind": "other"}], ids=str)
def test_what_cannot_be_made_leaves_nothing(server, options):
    with pytest.raises(ValueError):
        Spread(server.client, "t", **{"partitions": 4, **options})
    assert server.client.keys() == []


@pytest.mark.parametrize("options", [{"error": "1e-9"}, {"partitions": "4"}, {"per": ["HOUR", ("86400000", "7"), 100]}, {"kind": "forgetful"},
                                     {"window_ms": "100000"}, {"partitions": 2, "error": 1e-12, "window_ms": 30 * 86_400_000},
                                     {"error": 0.1}, {"window_ms": 1000}], ids=str)
def test_what_is_made_can_be_used(server, options):
    """By Python, and by lethe."""
    table = Spread(server.client, "t", **{"partitions": 4, **options})
    assert table.incrby("k", 5).applied and Spread(server.client, "t").get("k") == 5 and listed(url_of(server)) == {"k": 5}


def test_one_partition_is_a_plain_table(server):
    table = Spread(server.client, "t", partitions=1, per="hour", window_ms=100_000)
    assert table.take("k", 1, (2, "hour")).granted and server.client.keys() == [b"t"]
    assert Once(server.client, "t").get("k") == 1 and Spread(server.client, "t", partitions=1).get("k") == 1
    with pytest.raises(ValueError, match="has 1 partition"):
        Spread(server.client, "t", partitions=4)


def test_a_cluster(tmp_path):
    with Cluster(tmp_path, addresses=("127.0.0.1",) * 3, prefixes=((),) * 3, replicas=0) as cluster:
        client = redis.cluster.RedisCluster(cluster.nodes[0].address, cluster.nodes[0].port)
        table = Spread(client, "quota", partitions=6)
        for i in range(30):
            granted = [table.take(f"k{i}", 1, 3).granted for _ in range(5)]
            assert granted == [True] * 3 + [False] * 2
        assert listed(url_of(*cluster.nodes), "quota") == {f"k{i}": 3 for i in range(30)}
        assert sum(len(node.client.keys("quota:{*}")) for node in cluster.nodes) == 6
        assert max(len(node.client.keys("quota:{*}")) for node in cluster.nodes) == 2
