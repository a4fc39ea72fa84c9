"""Goal:   in a cluster, totals of both kinds of tables are exact while a slot moves, and while a
        master is killed and comes back.
Method: a real cluster of three masters without replicas, with AOF; batches, single operations and
        limits in a table of twelve partitions, compared with what was acknowledged."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
import redis.asyncio
import redis.asyncio.cluster
from clients import Kind
from cluster import Cluster
from servers import wait_for

import lethe_once
import lethe_once.asyncio


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster"), addresses=("127.0.0.1",) * 3,
                 prefixes=((),) * 3, replicas=0) as one:
        yield one


def move_slot_of(cluster, key):
    """To the next master, key by key, as redis-cli does it."""
    slot = cluster.nodes[0].call("CLUSTER", "KEYSLOT", key)
    names = [node.call("CLUSTER", "MYID") for node in cluster.nodes]
    owner = next(i for i, node in enumerate(cluster.nodes)
                 if any(first <= slot <= last and address[2] == names[i]
                        for first, last, address in node.call("CLUSTER", "SLOTS")))
    source, target = cluster.nodes[owner], cluster.nodes[(owner + 1) % 3]
    target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", names[owner])
    source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", names[(owner + 1) % 3])
    while keys := source.call("CLUSTER", "GETKEYSINSLOT", slot, 10):
        for one in keys:
            source.call("MIGRATE", target.address, target.port, one, 0, 10000)
            time.sleep(0.05) # for a while the slot is in two places
    for node in (target, source, *cluster.nodes):
        node.call("CLUSTER", "SETSLOT", slot, "NODE", names[(owner + 1) % 3])
    return source, target


def disturb(cluster, progress):
    """A slot moves under load, and a master is killed under load."""
    progress(100)
    for tag in sorted(key.decode().split("{")[1].rstrip("}") for node in cluster.nodes
                      for key in node.client.keys("t:{*}"))[:2]:
        progress(50)
        move_slot_of(cluster, f"t:{{{tag}}}")
    progress(50)
    cluster.nodes[1].restart()
    cluster.wait_until_whole()
    progress(50)


def names_of(number, turn):
    return [f"k{(number * 31 + turn * i) % 50}" for i in range(20)]


def flush(cluster):
    for node in cluster.nodes:
        node.client.flushall()


@pytest.mark.parametrize("by", ["key", "id"])
def test_blocking_tables(cluster, by):
    flush(cluster)
    client = redis.cluster.RedisCluster(cluster.nodes[0].address, cluster.nodes[0].port)
    lethe_once.Spread(client, "t", partitions=12, by=by, window_ms=600_000, error=1e-12)
    totals, over, failures, lock = {}, threading.Event(), [], threading.Lock()
    def work(number):
        try:
            table = lethe_once.Spread(client, "t", timeout=120)
            turn = 0
            while not over.is_set():
                turn += 1
                batch, names = table.batch(), names_of(number, turn)
                for name in names:
                    batch.incrby(name, 1)
                assert all(one.applied for one in batch.send())
                if by == "key":
                    assert table.take(names[0], 1, 10**9).outcome == "applied"
                    names.append(names[0])
                with lock:
                    for name in names:
                        totals[name] = totals.get(name, 0) + 1
        except BaseException as error: # must reach the test
            failures.append(error)
            raise
    workers = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for one in workers:
        one.start()
    def progress(more):
        aim = sum(totals.values()) + more
        wait_for(lambda: failures or sum(list(totals.values())) >= aim, what="progress")
        assert not failures
    try:
        disturb(cluster, progress)
    finally:
        over.set()
        for one in workers:
            one.join()
    assert not failures
    found = dict(lethe_once.Spread(client, "t").scan())
    assert {name.decode(): value for name, value in found.items()} == totals


@pytest.mark.parametrize("way", ["RedisCluster", "one server"])
def test_asyncio_tables(cluster, way):
    """The loop is in a thread: a server dies with the thread that started it, which is this one."""
    flush(cluster)
    totals, over = {}, threading.Event()
    async def work(table, number):
        turn = 0
        while not over.is_set():
            turn += 1
            batch, names = table.batch(), names_of(number, turn)
            for name in names:
                batch.incrby(name, 1)
            assert all(one.applied for one in await batch.send())
            assert (await table.take(names[0], 1, 10**9)).outcome == "applied"
            for name in [*names, names[0]]:
                totals[name] = totals.get(name, 0) + 1
    async def main():
        place = {"host": cluster.nodes[0].address, "port": cluster.nodes[0].port}
        if way == "RedisCluster":
            client = redis.asyncio.cluster.RedisCluster(**place)
        else:
            client = redis.asyncio.Redis(**place)
        table = lethe_once.asyncio.Spread(client, "t", partitions=12, timeout=120, error=1e-12,
                                          window_ms=600_000, cluster=way == "one server")
        await table.open()
        await asyncio.gather(*(work(table, i) for i in range(4)))
        found = {name.decode(): value async for name, value in table.scan()}
        await table.close()
        await client.close()
        return found
    with ThreadPoolExecutor() as background:
        result = background.submit(asyncio.run, main())
        def progress(more):
            aim = sum(list(totals.values())) + more
            wait_for(lambda: sum(list(totals.values())) >= aim or result.done(), what="progress")
        try:
            disturb(cluster, progress)
        finally:
            over.set()
        assert result.result() == totals


@pytest.mark.parametrize("name", ["sync", "asyncio"])
def test_one_pipeline_for_each_server(cluster, name):
    flush(cluster)
    kind = Kind(name)
    client = kind.cluster(host=cluster.nodes[0].address, port=cluster.nodes[0].port)
    table = kind.spread(client, "t", partitions=12)
    table.batch().incrby("k", 1).send()
    def connections():
        return sum(node.client.info("stats")["total_connections_received"]
                   for node in cluster.nodes)
    batch = table.batch()
    for i in range(1000):
        batch.incrby(f"k{i}", 1)
    before = connections()
    assert [one.values for one in batch.send()] == [(1,)] * 1000
    assert connections() - before <= 3 # of those to which there was none yet
    kind.close()
