"""Goal: what `lethe plan --redis` says of tables agrees, within a tenth, with tables in a real server: their memory by
ONCE.INFO and MEMORY USAGE, what the server counts for it, and what is sent to replicas.

Method: tables are filled as `lethe count --redis` fills them, at a steady rate of their own clock: a table whose window
is as long as the filling takes. Counters, buckets and batches of several sizes; larger ones with LETHE_SIZE=large."""

import json
import os
import pathlib
import subprocess
import time

import pytest

from servers import MODULE, Clock, Server, is_bound_deeply, wait_for
from sizes import sized

LETHE = pathlib.Path(os.environ.get("LETHE_BUILD_DIR", MODULE.parent)) / "lethe"


def plan(**options):
    words = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), str(value))]
    done = subprocess.run([LETHE, "plan", "--json", "--redis", *words], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def info(client, key):
    found = client.execute_command("ONCE.INFO", key)
    return {found[i].decode(): found[i + 1] for i in range(0, len(found), 2)}


def near(planned, found, what):
    assert planned == pytest.approx(found, rel=0.1), f"{what}: planned {planned}, found {found}"


@pytest.fixture(name="client", scope="module")
def fixture_client(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("plan")) as server:
        yield server.client


@pytest.mark.parametrize("error", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("ids", sized([20000, 150000], [20000, 150000, 1000000], [2000000]))
def test_windows_that_know_how_many(client, ids, error):
    """With CAPACITY there is no growth. What lethe count makes grows: the next test."""
    client.flushall()
    client.execute_command("ONCE.CREATE", "t", "WINDOW", 3600000, "ERROR", error, "CAPACITY", ids)
    for first in range(0, ids, 5000):
        client.execute_command("ONCE.ADD", "t", *[f"i{i}" for i in range(first, first + 5000)])
    found = info(client, "t")
    planned = plan(rate=f"{ids}/h", window="1h", error=error)
    # Grown windows take a little more: 10% headroom, and a smaller share of the error.
    assert found["window_bytes"] < planned["window_bytes"] < 1.45 * found["window_bytes"]


@pytest.mark.skipif(is_bound_deeply(), reason="this server cannot be given other clocks")
@pytest.mark.parametrize("error", [1e-3, 1e-9, 1e-12])
@pytest.mark.parametrize("ids", sized([30000], [30000, 400000], [1000000]))
def test_windows_that_grow(tmp_path, ids, error):
    """At a steady rate by the server's clock, which is made to run, for two windows and a half."""
    clock = Clock(tmp_path / "clock")
    with Server(tmp_path / "server", clock=clock) as server:
        server.client.execute_command("ONCE.CREATE", "t", "WINDOW", 36000000, "ERROR", error)
        # So many that a period, a thirtieth of the window, has two hundred: a table that has just met its first few
        # ids of a period would take the rate for a higher one.
        steps, sent = 6000, 0
        for step in range(1, 5 * steps // 2):
            due = ids * step // steps
            server.client.execute_command("ONCE.ADD", "t", *[f"i{i}" for i in range(sent, due)])
            sent = due
            clock.pass_time(36000000 // steps)
        wait_for(lambda: info(server.client, "t")["parts"] == 1, what="parts that expired are gone")
        found = info(server.client, "t")
        assert ids * 0.9 < found["ids"] < ids * 1.1
        planned = plan(rate=f"{ids * 24 // 10}/d", window="10h", error=error)
        near(planned["window_bytes"], found["window_bytes"], "window")


@pytest.mark.parametrize("length", [1, 16, 40, 200])
def test_counters(client, length):
    client.flushall()
    keys = sized(20000, 200000, 200000)
    names = [f"{i:0{max(length, 6)}}"[:max(length, 6)] for i in range(keys)]
    for first in range(0, keys, 1000):
        words = [word for i in range(first, first + 1000) for word in (f"i{i}", names[i], 1)]
        client.execute_command("ONCE.MINCRBY", "t", *words)
    found = info(client, "t")
    planned = plan(rate="100M/d", keys=keys, key_bytes=max(length, 6), partitions=1)
    near(planned["counters_bytes"], found["memory_bytes"] - found["window_bytes"], "counters")
    near(client.memory_usage("t"), found["memory_bytes"], "MEMORY USAGE")


@pytest.mark.parametrize("keep", [2, 10, 48, 1000])
def test_buckets(client, keep):
    """Buckets of a tenth of a second, as many as are kept and some more."""
    client.flushall()
    keys, periods = 200, min(keep + 3, 30)
    client.execute_command("ONCE.CREATE", "t", "PER", 100, "KEEP", keep)
    for period in range(periods):
        words = [word for i in range(keys) for word in (f"{period}-{i}", f"counter-{i:08}", 1)]
        client.execute_command("ONCE.MINCRBY", "t", *words)
        time.sleep(0.1 - time.time() % 0.1 + 0.001)
    found = info(client, "t")
    each = found["buckets"] / keys
    # Periods here are days, of which as many have passed as there are buckets.
    planned = plan(rate="100M/d", keys=keys, key_bytes=16, per="1d", keep=f"1d={keep}d", partitions=1,
                   after=f"{round(each)}d")
    assert planned["buckets"] == round(each) * keys
    near(planned["counters_bytes"], found["memory_bytes"] - found["window_bytes"], "counters and buckets")


def test_what_the_server_counts(client):
    """used_memory has more than the table: jemalloc rounds slabs up."""
    client.flushall()
    ids = sized(600000, 4000000, 4000000)
    before = client.info("memory")["used_memory"]
    client.execute_command("ONCE.CREATE", "t", "WINDOW", 3600000, "ERROR", 1e-12, "CAPACITY", ids)
    for first in range(0, ids, 10000):
        client.execute_command("ONCE.ADD", "t", *[f"i{i}" for i in range(first, first + 10000)])
    found = info(client, "t")
    used = client.info("memory")["used_memory"] - before
    planned = plan(rate=f"{ids}/h", window="1h", error=1e-12, partitions=1)
    ratio = planned["used_bytes"] / planned["memory_bytes"]
    near(found["memory_bytes"] * ratio, used, "used_memory")


@pytest.mark.parametrize("batch", [1, 20, 512])
@pytest.mark.parametrize("per", [None, "1h"])
def test_what_is_sent_to_replicas(tmp_path, batch, per):
    with Server(tmp_path / "master") as master, Server(tmp_path / "replica") as replica:
        client = master.client
        replica.client.replicaof("127.0.0.1", master.port)
        end = time.monotonic() + 60
        while replica.client.info("replication").get("master_link_status") != "up" and time.monotonic() < end:
            time.sleep(0.01)
        table, keys, commands = "clicks:{1234567}.1234567", 100, 40
        create = ["ONCE.CREATE", table] + (["PER", "hour"] if per else [])
        client.execute_command(*create)

        def send(first):
            words = [word for i in range(batch) for word in (f"i{first}-{i}", f"counter-{i % keys:08}", 1)]
            client.execute_command("ONCE.MINCRBY" if batch > 1 else "ONCE.INCRBY", table, *words)
        for warm in range(2):
            send(-1 - warm)
        client.config_set("repl-ping-replica-period", 1000)
        client.config_set("lethe.tick-ms", 60000)
        before = client.info("replication")["master_repl_offset"]
        for first in range(commands):
            send(first)
        found = (client.info("replication")["master_repl_offset"] - before) / (batch * commands)
        options = {"per": per} if per else {}
        planned = plan(rate="100/d", keys=keys, key_bytes=16, batch=batch, after="60d", **options)
        near(planned["effect_bytes"], found, "bytes of an event")
