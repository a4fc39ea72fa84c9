"""Goal:   the Python client speaks TLS to servers and clusters, checks certificates, and does not
        retry what no certificate will mend.
Method: real servers with certificates that openssl made: the right one, one of another authority,
        one that has expired, one for another host; with and without a certificate of the client."""

import time

import pytest
from certificates import certificates
from clients import Kind
from cluster import Cluster

from lethe_once import Unacknowledged, Untrusted


@pytest.fixture(params=["sync", "asyncio"])
def kind(request):
    one = Kind(request.param)
    yield one
    one.close()


def settings(**more):
    made = certificates()
    return {"ssl": True, "ssl_ca_certs": made.authority.cert, "ssl_certfile": made.client.cert,
            "ssl_keyfile": made.client.key, "ssl_check_hostname": True, **more}


def test_a_server(kind, start):
    server = start(tls=certificates().server)
    table = kind.once(kind.client(host="127.0.0.1", port=server.port, **settings()), "t")
    assert table.incrby("n", 1).applied
    batch = table.batch()
    for i in range(3000): # several rounds, larger than a record of TLS
        batch.incrby("n", 1, id=f"{i:050}")
    assert all(one.applied for one in batch.send())
    server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert table.get("n") == 3001
    server.restart()
    assert table.incrby("n", 1, timeout=60).values == (1,)


@pytest.mark.parametrize("which", ["foreign", "expired", "named"])
def test_a_wrong_certificate_of_the_server(kind, start, which):
    server = start(tls=getattr(certificates(), which))
    client = kind.client(host="127.0.0.1", port=server.port, **settings())
    table = kind.once(client, "t", timeout=20)
    begin = time.monotonic()
    with pytest.raises(Untrusted):
        table.incrby("n", 1)
    assert time.monotonic() - begin < 20 and server.client.keys() == []


def test_a_missing_certificate_of_the_client(kind, start):
    server = start(tls=certificates().server)
    client = kind.client(host="127.0.0.1", port=server.port,
                         **settings(ssl_certfile=None, ssl_keyfile=None))
    with pytest.raises(Untrusted):
        kind.once(client, "t", timeout=60).incrby("n", 1)
    assert server.client.keys() == []


def test_only_one_side_has_tls(kind, start):
    """A server without TLS waits for the end of a line, and one with it closes the connection."""
    plain, secure = start(), start(tls=certificates().server)
    for client in (kind.client(host="127.0.0.1", port=plain.port, **settings()),
                   kind.client(host="127.0.0.1", port=secure.port)):
        with pytest.raises(Unacknowledged):
            kind.once(client, "t", timeout=0.5).incrby("n", 1)


def test_a_cluster(kind, tmp_path):
    """By one of its servers, whose settings hold for all."""
    with Cluster(tmp_path, addresses=("127.0.0.1",) * 3, prefixes=((),) * 3, replicas=0,
                 tls=certificates().server) as cluster:
        client = kind.client(host="127.0.0.1", port=cluster.nodes[0].port, **settings())
        table = kind.spread(client, "t", partitions=6, cluster=True)
        batch = table.batch()
        for i in range(300):
            batch.incrby(f"k{i}", 1)
        assert all(one.applied for one in batch.send())
        assert dict(table.scan()) == {b"k%d" % i: 1 for i in range(300)}
        assert table.take("k1", 1, 2).granted and not table.take("k1", 1, 2).granted
        untrusting = settings(ssl_ca_certs=certificates().stranger.cert)
        client = kind.client(host="127.0.0.1", port=cluster.nodes[0].port, **untrusting)
        with pytest.raises(Untrusted):
            kind.once(client, "u", cluster=True, timeout=60).incrby("n", 1)
        if kind.loop is None: # the client for clusters; of asyncio's only newer ones know TLS
            made = settings()
            made.pop("ssl_check_hostname")
            client = kind.cluster(host="127.0.0.1", port=cluster.nodes[1].port, **made)
            assert kind.once(client, "v").incrby("n", 1).applied
