"""Goal:   what becomes of acknowledged operations when a master dies and is back before its replica takes over: with
        its own log all are there; with an older one those since are lost, on the replica too, although WAIT had it; nothing is
        counted twice, and whoever sends the same operations again within the window makes the totals right.
Method: a cluster that is slow to notice; lethe count --wait 1; the master's log is put back to what it was at some
        time while the server was down."""

import shutil

from cluster import Cluster
from servers import wait_for
from counting import count, listed, make_events, url_of


def add_up(*parts):
    totals = {}
    for part in parts:
        for key, value in part.items():
            totals[key] = totals.get(key, 0) + value
    return totals


def test_a_master_is_back_before_its_failover(tmp_path):
    with Cluster(tmp_path, cluster_node_timeout=20000) as cluster:
        url = url_of(*cluster.nodes)
        first, second = make_events(3000, 21), make_events(3000, 22)
        words = ["--partitions", "1", "--wait", "1"]
        assert count(url, *words, stdin="".join(first[0]))["applied"] == 3000
        master = next(node for node in cluster.masters() if b"t" in node.client.keys("t"))
        log, kept = master.folder / "appendonlydir", tmp_path / "kept"
        shutil.copytree(log, kept)
        assert count(url, *words, stdin="".join(second[0]))["applied"] == 3000

        def bring_back():
            master.start()
            cluster.wait_until_whole()
            assert master.client.info("replication")["role"] == "master"
            replica = next(node for node in cluster.nodes
                           if node.client.info("replication").get("master_port") == master.port)
            wait_for(lambda: master.digest() == replica.digest(), what="the same on both")

        master.kill()
        bring_back()
        assert listed(url) == add_up(first[1], second[1]) # its own log, written before each answer

        master.kill()
        shutil.rmtree(log)
        shutil.copytree(kept, log)
        bring_back()
        assert listed(url) == first[1] # what was acknowledged since is gone, and nothing else
        again = count(url, *words, stdin="".join(first[0] + second[0]))
        assert (again["applied"], again["duplicates"]) == (3000, 3000)
        assert listed(url) == add_up(first[1], second[1])
