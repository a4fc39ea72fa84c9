"""Goal:   a master that is cut off from the rest of its cluster, but not from its clients, does no harm: what it takes
        alone is never acknowledged, and is counted once on the other side.
Method: in a network namespace of its own, each node with its own address on the loopback device; a rule between two
        addresses is the cut. Clients use WAIT 1 all along; afterwards the network is whole again and the totals are
        compared."""

import pathlib
import subprocess
import sys
import time

import pytest

ADDRESSES = [f"10.9.0.{i}" for i in range(1, 7)]


def may_have_namespaces():
    return subprocess.run(["unshare", "-rn", "ip", "link", "set", "lo", "up"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


@pytest.mark.long
def test_a_master_alone_with_its_clients(tmp_path):
    if not may_have_namespaces():
        pytest.skip("no network namespaces here")
    run = subprocess.run(["unshare", "-rn", sys.executable, __file__, tmp_path], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
    print(run.stdout)
    assert run.returncode == 0, run.stdout


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def prepare():
    """Addresses, and room for rules before the one that delivers what is local."""
    ip("link", "set", "lo", "up")
    for address in ADDRESSES:
        ip("addr", "add", address, "dev", "lo")
    ip("rule", "add", "pref", "1000", "lookup", "local")
    ip("rule", "del", "pref", "0")


def cut(change, address):
    """Adds or removes the cut between one node and all others. Clients have the address of whom they talk to."""
    for other in ADDRESSES:
        if other != address:
            ip("rule", change, "pref", "10", "from", address, "to", other, "blackhole")
            ip("rule", change, "pref", "10", "from", other, "to", address, "blackhole")


def scenario(folder):
    from cluster import Cluster
    from servers import wait_for
    from test_cluster import Load
    prepare()
    with Cluster(folder, ADDRESSES) as cluster:
        load = Load(cluster.addresses())
        try:
            for _ in range(3):
                before = load.done()
                wait_for(lambda: load.done() > before + 200 or load.failures, 120, "some load")
                victim = cluster.masters()[0]
                cut("add", victim.address)
                others = [node for node in cluster.nodes if node is not victim]
                wait_for(lambda: [node.client.info("replication")["role"]
                                  for node in others].count("master") == 3, 60, "the failover")
                # Clients go on with whoever answers them, the master that is alone too.
                time.sleep(2)
                cut("del", victim.address)
                cluster.wait_until_whole()
        finally:
            load.finish()
        print(f"{load.check()} counted")


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    scenario(pathlib.Path(sys.argv[1]))
