"""Goal:   a master that is cut off from the rest of its cluster, but not from its clients, does no harm: what it takes
        alone is never acknowledged, and is counted once on the other side.
Method: in a network namespace, each node with an address and a user of its own; routing rules that keep one user from
        the others' addresses, and the others from its own, are the cut, and clients are free to go everywhere. They use WAIT 1
        all along; afterwards the network is whole again and the totals are compared. Needs root."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

import pytest

ADDRESSES = [f"10.9.0.{i}" for i in range(1, 7)]
FIRST_USER = 31001


def may_have_namespaces():
    return os.getuid() == 0 and subprocess.run(
        ["unshare", "-n", "ip", "rule", "add", "pref", "9", "uidrange", "1-1", "blackhole"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0


@pytest.mark.long
def test_a_master_alone_with_its_clients():
    if not may_have_namespaces():
        pytest.skip("no network namespaces here")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        run = subprocess.run(["unshare", "-n", sys.executable, __file__, folder], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
    print(run.stdout)
    assert run.returncode == 0, run.stdout


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def prepare(folder):
    """Addresses, room for rules before the one that delivers what is local, and folders that each user may write."""
    ip("link", "set", "lo", "up")
    ip("rule", "add", "pref", "1000", "lookup", "local")
    ip("rule", "del", "pref", "0")
    for number, address in enumerate(ADDRESSES):
        ip("addr", "add", address, "dev", "lo")
        (folder / f"node-{number}").mkdir()
        os.chown(folder / f"node-{number}", FIRST_USER + number, -1)


def cut(change, victim):
    """Adds or removes the cut between one node and all others."""
    def forbid(user, address):
        users = f"{FIRST_USER + user}-{FIRST_USER + user}"
        ip("rule", change, "pref", "10", "uidrange", users, "to", address, "blackhole")
    for other, address in enumerate(ADDRESSES):
        if other != victim:
            forbid(victim, address)
            forbid(other, ADDRESSES[victim])


def scenario(folder):
    from cluster import Cluster
    from servers import wait_for
    from test_cluster import Load
    prepare(folder)
    prefixes = [["setpriv", "--reuid", str(FIRST_USER + number), "--clear-groups", "--pdeathsig", "KILL"]
                for number in range(6)]
    with Cluster(folder, ADDRESSES, prefixes) as cluster:
        load = Load(cluster.addresses())
        try:
            for _ in range(3):
                before = load.done()
                wait_for(lambda: load.done() > before + 200 or load.failures, 120, "some load")
                victim = cluster.masters()[0]
                cut("add", cluster.nodes.index(victim))
                others = [node for node in cluster.nodes if node is not victim]
                wait_for(lambda: [node.client.info("replication")["role"]
                                  for node in others].count("master") == 3, 60, "the failover")
                # Clients go on with whoever answers them, the master that is alone too.
                time.sleep(2)
                cut("del", cluster.nodes.index(victim))
                cluster.wait_until_whole()
        finally:
            load.finish()
        print(f"3 cuts, {load.check()} counted")


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    scenario(pathlib.Path(sys.argv[1]))
