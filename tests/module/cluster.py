"""A Redis Cluster on this machine: three masters, each with a replica unless told otherwise, with the module."""

import subprocess

from certificates import certificates
from servers import Server, wait_for


class Cluster:
    def __init__(self, folder, addresses=("127.0.0.1",) * 6, prefixes=((),) * 6, replicas=1, tls=None, **options):
        settings = {"cluster_enabled": "yes", "cluster_node_timeout": 1500, "appendonly": "yes",
                    "appendfsync": "always", "cluster_replica_validity_factor": 0,
                    "cluster_allow_replica_migration": "no"}
        if tls is not None:
            settings.update({"tls_cluster": "yes", "tls_replication": "yes"})
        settings.update(options)
        self.replicas, self.tls = replicas, tls
        # Told, since on one machine a node can't see by which address another one came.
        self.nodes = [Server(folder / f"node-{i}", address=address, prefix=prefix, cluster_announce_ip=address,
                             tls=tls, **settings) for i, (address, prefix) in enumerate(zip(addresses, prefixes))]

    def __enter__(self):
        try:
            for node in self.nodes:
                node.start()
            addresses = [f"{node.address}:{node.port}" for node in self.nodes]
            words = []
            if self.tls is not None:
                made = certificates()
                words = ["--tls", "--cacert", made.authority.cert, "--cert", made.client.cert, "--key", made.client.key]
            subprocess.run(["redis-cli", *words, "--cluster", "create", *addresses, "--cluster-replicas",
                            str(self.replicas), "--cluster-yes"], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.wait_until_whole()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.kill()

    def addresses(self):
        return [(node.address, node.port) for node in self.nodes]

    def is_whole(self):
        """Every slot served, and every replica linked to its master."""
        for node in self.nodes:
            if b"cluster_state:ok" not in node.call("CLUSTER", "INFO"):
                return False
            replication = node.client.info("replication")
            if replication["role"] == "slave" and replication["master_link_status"] != "up":
                return False
            if replication["role"] == "master" and replication["connected_slaves"] < self.replicas:
                return False
        return True

    def wait_until_whole(self):
        wait_for(self.is_whole, 90, "a whole cluster")

    def masters(self):
        return [node for node in self.nodes if node.client.info("replication")["role"] == "master"]
