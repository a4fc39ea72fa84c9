"""Goal:   lethe count --redis counts every event exactly once on a cluster, while slots move and masters are killed.
Method: lethe on real clusters, fed by pipes; its totals and the counters are compared with a model."""

import json
import pathlib
import random
import threading
import time

import pytest
from cluster import Cluster
from counting import count, Feed, lethe, listed, make_events, url_of
from servers import wait_for


def test_a_cluster(tmp_path):
    """Partitions are spread evenly; a master is killed in the middle; a slot moves, and then another half-way."""
    with Cluster(tmp_path) as cluster:
        url = url_of(*cluster.nodes[:2])
        lines, totals = make_events(30000, 13)
        feed = Feed(url, "--wait", "1", "--partitions", "12", lines=lines)
        feed.write(0.2)
        spread = [len(node.client.keys("t:{*}")) for node in cluster.masters()]
        assert spread == [4, 4, 4]
        victim = cluster.masters()[1]
        victim.kill()
        feed.write(0.25) # the pipe takes it, lethe or not
        def has_failed_over():
            roles = [node.client.info("replication")["role"] for node in cluster.nodes if node is not victim]
            return roles.count("master") == 3
        wait_for(has_failed_over, 60, "the failover")
        feed.write(0.3) # the new master has no replica yet, so nothing is acknowledged
        victim.start()
        feed.write(0.6)
        cluster.wait_until_whole()
        move(cluster, feed)
        feed.write(1)
        summary = feed.finish()
        assert summary["applied"] + summary["doubtful"] == 30000
        assert summary["duplicates"] == summary["doubtful"]
        assert listed(url) == totals
        assert json.loads(lethe("stat", url, "--json").stdout)["partitions"] == 12


@pytest.mark.long
def test_a_cluster_whose_masters_are_killed(tmp_path):
    """Ten kills, one after another, while one lethe counts."""
    chance = random.Random(15)
    with Cluster(tmp_path) as cluster:
        url = url_of(*cluster.nodes)
        lines, totals = make_events(400000, 15)
        feed = Feed(url, "--wait", "1", "--partitions", "12", lines=lines, pause=0.005)
        writer = threading.Thread(target=feed.write, args=(1,))
        writer.start()
        for _ in range(10):
            before = feed.written
            wait_for(lambda: feed.written >= min(before + 5000, len(lines)), 120, "some load")
            victim = chance.choice(cluster.masters())
            victim.kill()
            time.sleep(chance.choice([0, 1, 4]))
            victim.start()
            cluster.wait_until_whole()
        writer.join()
        summary = feed.finish()
        assert summary["applied"] + summary["doubtful"] == 400000
        assert listed(url) == totals


def move(cluster, feed):
    """Moves two partitions to another master, while the load goes on."""
    for number, (until, done) in enumerate(((0.7, 0.75), (0.8, 0.9))):
        source, target = cluster.masters()[:2] if number == 0 else cluster.masters()[1:]
        key = sorted(source.client.keys("t:{*}"))[0]
        slot = source.call("CLUSTER", "KEYSLOT", key)
        source_id, target_id = source.call("CLUSTER", "MYID"), target.call("CLUSTER", "MYID")
        target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        feed.write(until)
        source.call("MIGRATE", target.address, target.port, key, 0, 10000)
        feed.write(done) # answered by ASK
        for node in (target, source):
            node.call("CLUSTER", "SETSLOT", slot, "NODE", target_id)


def test_a_partition_that_is_lost_while_it_moves(tmp_path):
    """Who is asked for it instead makes it, and with the table's window."""
    with Cluster(tmp_path) as cluster:
        lines, _ = make_events(4000, 30)
        feed = Feed(url_of(cluster.nodes[0]), "--window", "1h", "--partitions", "6", lines=lines)
        feed.write(0.5)
        source, target = cluster.masters()[:2]
        key = wait_for(lambda: sorted(source.client.keys("t:{*}")), what="a partition")[0]
        slot = source.call("CLUSTER", "KEYSLOT", key)
        source_id, target_id = source.call("CLUSTER", "MYID"), target.call("CLUSTER", "MYID")
        target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        source.call("DEL", key)
        feed.write(1)
        feed.finish()
        for node in (target, source):
            node.call("CLUSTER", "SETSLOT", slot, "NODE", target_id)
        assert target.call("ONCE.INFO", key)[1] == 3600000


def test_a_cluster_by_default(tmp_path):
    """Without --partitions there are sixteen; without --wait, all goes well as long as nobody dies."""
    with Cluster(tmp_path) as cluster:
        url = url_of(cluster.nodes[-1])
        lines, totals = make_events(20000, 14)
        path = pathlib.Path(tmp_path) / "events"
        path.write_text("".join(lines))
        summary = count(url, path)
        assert summary["applied"] + summary["doubtful"] == 20000
        assert count(url, path)["events"] == 0
        assert listed(url) == totals
        spread = sorted(len(node.client.keys("t:{*}")) for node in cluster.masters())
        assert spread == [5, 5, 6]
