"""Goal:   masters of a cluster are killed one after another under load, and the counters are exact: nothing is
        lost, nothing is counted twice.
Method: concurrent clients of the Python package, each operation retried until one replica has it (WAIT 1), a few
        kills here and twenty in test-long. After each kill the node comes back and the cluster is whole again before
        the next."""

import random
import sys
import threading
import time

import pytest
from cluster import Cluster
from redis.cluster import ClusterNode, RedisCluster
from servers import SOURCE, wait_for

sys.path.insert(0, str(SOURCE / "clients/python"))
from lethe_once import Once # noqa: E402


class Load:
    """Clients that count, each into one of several tables, and remember what was acknowledged."""

    def __init__(self, addresses, clients=4, tables=6):
        self.addresses, self.tables = addresses, [f"table-{i}" for i in range(tables)]
        self.acknowledged = [dict.fromkeys(self.tables, 0) for _ in range(clients)]
        self.failures, self.stop = [], threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(i,)) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def connect(self):
        nodes = [ClusterNode(*address) for address in self.addresses]
        return RedisCluster(startup_nodes=nodes, socket_timeout=1, socket_connect_timeout=1)

    def check(self):
        """After finish: what the cluster has is what was acknowledged."""
        expected = {table: sum(one[table] for one in self.acknowledged) for table in self.tables}
        client = self.connect()
        found = {table: client.execute_command("ONCE.GET", table, "n") or 0 for table in self.tables}
        assert found == expected
        return sum(expected.values())

    def work(self, number):
        chance = random.Random(number)
        try:
            client = self.connect()
            tables = {table: Once(client, table, wait=1, timeout=120, wait_ms=500) for table in self.tables}
            while not self.stop.is_set():
                table = chance.choice(self.tables)
                delta = chance.randrange(1, 5)
                tables[table].incrby("n", delta)
                self.acknowledged[number][table] += delta
        except Exception as error: # a thread's failure must reach the test
            self.failures.append(error)

    def done(self):
        return sum(sum(tables.values()) for tables in self.acknowledged)

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert not self.failures, self.failures


def kill_masters(tmp_path, kills, seed):
    chance = random.Random(seed)
    with Cluster(tmp_path) as cluster:
        load = Load(cluster.addresses())
        try:
            for _ in range(kills):
                before = load.done()
                wait_for(lambda: load.done() > before + 300 or load.failures, 120, "some load")
                victim = chance.choice(cluster.masters())
                victim.kill()
                others = [node for node in cluster.nodes if node is not victim]
                def has_failed_over():
                    roles = [node.client.info("replication")["role"] for node in others]
                    return roles.count("master") == 3
                # Now and then it is back before the others have noticed.
                if chance.random() < 0.75:
                    wait_for(has_failed_over, 60, "the failover")
                victim.start()
                cluster.wait_until_whole()
        finally:
            load.finish()
        print(f"{kills} kills, {load.check()} counted")


def test_a_few_masters_are_killed(tmp_path):
    kill_masters(tmp_path, 2, 1)


@pytest.mark.long
def test_twenty_masters_are_killed(tmp_path):
    kill_masters(tmp_path, 20, int(time.time()))


def test_a_table_moves_to_another_node(tmp_path):
    """Resharding under load: MIGRATE carries the ids along."""
    with Cluster(tmp_path) as cluster:
        load = Load(cluster.addresses(), clients=2, tables=1)
        try:
            wait_for(lambda: load.done() > 50 or load.failures, 60, "some load")
            slot = cluster.nodes[0].call("CLUSTER", "KEYSLOT", "table-0")
            client = load.connect()
            source_port = client.get_node_from_key("table-0").port
            masters = cluster.masters()
            source = next(node for node in masters if node.port == source_port)
            target = next(node for node in masters if node.port != source_port)
            source_id, target_id = source.call("CLUSTER", "MYID"), target.call("CLUSTER", "MYID")
            target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
            source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
            source.call("MIGRATE", "127.0.0.1", target.port, "table-0", 0, 10000)
            for node in (target, source):
                node.call("CLUSTER", "SETSLOT", slot, "NODE", target_id)
            before = load.done()
            wait_for(lambda: load.done() > before + 50 or load.failures, 60, "load at the new place")
        finally:
            load.finish()
        assert target.call("ONCE.GET", "table-0", "n") == load.check()
