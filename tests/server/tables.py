"""What the tests of lethe serve --redis share: servers of Redis with the module, and what is asked."""

import re
import subprocess
import sys
import time
import urllib.parse

import pytest
from conftest import BINARIES, SOURCE, ask

pytest.importorskip("redis", reason="no redis-py here")
sys.path.insert(0, str(SOURCE / "tests/module"))
from certificates import certificates  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from cluster import Cluster  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from servers import IS_SANITIZED, PROGRAM, Server as Redis, table_info  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import

if PROGRAM is None:
    pytest.skip("no redis-server here", allow_module_level=True)


def url_of(redis, database=""):
    return f"redis://127.0.0.1:{redis.port}{database}"


def count(url, table, lines, *words):
    subprocess.run([BINARIES / "lethe", "count", "-q", "--redis", url, "--table", table, *words], input=lines, check=True)


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.05)


def names(server):
    return [one["name"] for one in server.get("/v1/status")[1]["tables"]]


def status_of(server, table):
    return server.get(f"/v1/status?table={urllib.parse.quote(table, safe='')}")[1]


def figures(server, **headers):
    """The samples of /metrics: (name, labels) -> value. Each may be there once."""
    status, _, text = ask(server.port, "GET", "/metrics", **headers)
    assert status == 200
    found = {}
    for line in text.decode().splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP|TYPE) lethe_\w+ .+", line), line
            continue
        name, labels, value = re.fullmatch(r'(lethe_\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\})? ([0-9.e+-]+)', line).groups()
        assert (name, labels) not in found, line
        found[name, labels] = float(value)
    return found
