"""Goal:   what docs/redis-python.md shows is what Python answers.
Method: its sessions are typed in by doctest, on one server and a cluster of one; the lines about
        TLS run against a server with certificates."""

import doctest
import re
import sys

import pytest
import redis
import redis.asyncio
import redis.cluster
from certificates import certificates
from servers import SOURCE, wait_for

sys.path.insert(0, str(SOURCE / "clients/python"))
import lethe_once  # noqa: E402

PAGE = (SOURCE / "docs/redis-python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def here(monkeypatch, start):
    """Clients without an address are connected to these."""
    server = start()
    node = start(cluster_enabled="yes", cluster_announce_ip="127.0.0.1")
    node.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    wait_for(lambda: b"cluster_state:ok" in node.call("CLUSTER", "INFO"), what="a cluster")
    class Redis(redis.Redis):
        def __init__(self, host="127.0.0.1", port=server.port, **options):
            super().__init__(host, port, **options)
    class Asyncio(redis.asyncio.Redis):
        def __init__(self, host="127.0.0.1", port=server.port, **options):
            super().__init__(host=host, port=port, **options)
    class RedisCluster(redis.cluster.RedisCluster):
        def __init__(self, host="127.0.0.1", port=node.port, **options):
            super().__init__(host, port, **options)
    monkeypatch.setattr(redis, "Redis", Redis)
    monkeypatch.setattr(redis.asyncio, "Redis", Asyncio)
    monkeypatch.setattr(redis.cluster, "RedisCluster", RedisCluster)
    return server


def test_the_sessions(here):
    sessions = [block for block in BLOCKS if block.startswith(">>>")]
    assert len(sessions) >= 12 and len(sessions) == len(BLOCKS) - 1
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, "redis-python.md", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_the_lines_about_tls(start):
    server = start(tls=certificates().server)
    (lines,) = [block for block in BLOCKS if not block.startswith(">>>")]
    for name, real in (("redis.example.com", "127.0.0.1"), ("6380", str(server.port)),
                       ("ca.crt", certificates().authority.cert)):
        assert name in lines
        lines = lines.replace(name, real)
    lines = lines.replace("ssl=True", f"ssl=True, ssl_certfile={certificates().client.cert!r}, "
                          f"ssl_keyfile={certificates().client.key!r}")
    names = {"redis": redis, "Once": lethe_once.Once}
    exec(lines, names)
    assert names["likes"].incrby("post:1", 1).applied


def test_the_readme(here):
    text = (SOURCE / "clients/python/README.md").read_text()
    (sample,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    names = {}
    exec(sample.replace(", wait=1", ""), names) # there is no replica
    assert names["likes"].get("post:1") == 3
