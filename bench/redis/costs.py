#!/usr/bin/python3
"""What `lethe plan --redis` and its simulations rest on, measured in Redis servers on this machine.

usage: bench/redis/costs.py [--module build/release/lethe.so] [--ids N] [--runs N] [--out FILE]

Starts servers on loopback and kills them at the end. Prints a table, and with --out writes it as JSON; each row has
the name of a constant in cli/plan/costs.h, what was measured and what the constant is. Best of some runs each. All
except the last three are CPU time, of the threads and processes that work one after the other: on a machine that does
nothing else they take that long.

    command_s, event_s      the main thread: commands of one event and of 512, in a pipeline; 100,000 counters
    copying                 the same of 512 while a snapshot is made, over that without
    copy_bytes_per_s        a new replica: the process that makes the snapshot, and the replica, by the table's bytes
    move_bytes_per_s        MIGRATE: the main threads of both servers
    fork_s_per_byte         BGSAVE: how long the fork stops the server, per byte that is resident
    lag_s                   WAIT 1 after a write, an idle replica on the same machine: the median
    effect_bytes            sent to one replica for an event: a size, which a test measures too"""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import sys
import tempfile
import time

import redis

import run as counting

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH, COUNTERS = 512, 100_000


def words_of(numbers):
    return [word for i in numbers for word in (f"550e8400-e29b-41d4-a716-{i:012}", f"counter-{i % COUNTERS:08}", 1)]


def send(client, first, commands, events, pipeline):
    """Sends commands of so many events, each with other ids; returns the next number."""
    name = "ONCE.MINCRBY" if events > 1 else "ONCE.INCRBY"
    for begin in range(0, commands, pipeline):
        pipe = client.pipeline(transaction=False)
        for i in range(begin, min(begin + pipeline, commands)):
            pipe.execute_command(name, "table", *words_of(range(first + i * events, first + (i + 1) * events)))
        pipe.execute()
    return first + commands * events


def fill(client, ids):
    """A table with so many ids, of which no page is empty."""
    client.flushall()
    client.execute_command("ONCE.CREATE", "table", "CAPACITY", ids, "WINDOW", 86400000, "ERROR", 1e-12)
    return send(client, 0, ids // BATCH, BATCH, 8)


def cpu_of(client, first, commands, events, pipeline):
    """Seconds of the main thread for one event, and the next number."""
    before = counting.main_thread_s(client)
    after = send(client, first, commands, events, pipeline)
    return (counting.main_thread_s(client) - before) / (commands * events), after


def wait_until(condition):
    while not condition():
        time.sleep(0.01)


def is_saved(client):
    return client.info("persistence")["rdb_bgsave_in_progress"] == 0


def all_cpu_s(client):
    found = client.info("cpu")
    return sum(found[name] for name in ("used_cpu_user", "used_cpu_sys"))


def children_cpu_s(client):
    found = client.info("cpu")
    return found["used_cpu_user_children"] + found["used_cpu_sys_children"]


def measure_work(client, ids, runs):
    first = fill(client, ids)
    singles, batches, copying = [], [], []
    for _ in range(runs):
        single, first = cpu_of(client, first, 50000, 1, 100)
        batch, first = cpu_of(client, first, 400, BATCH, 8)
        client.bgsave()
        during, first = cpu_of(client, first, 200, BATCH, 8)
        copying.append(during / batch)
        wait_until(lambda: is_saved(client))
        singles.append(single)
        batches.append(batch)
    command = (min(singles) - min(batches)) / (1 - 1 / BATCH)
    return {"command_s": command, "event_s": min(singles) - command, "copying": statistics.median(copying)}


def measure_fork(client, runs):
    """How much longer a fork takes with much memory than with little."""
    def fork():
        taken = []
        for _ in range(runs + 2):
            client.bgsave()
            taken.append(client.info("stats")["latest_fork_usec"] * 1e-6)
            wait_until(lambda: is_saved(client))
        return min(taken), client.info("memory")["used_memory_rss"]
    client.flushall()
    little, small = fork()
    for i in range(512):
        client.set(f"page-{i}", os.urandom(1 << 20))
    much, large = fork()
    client.flushall()
    return {"fork_s_per_byte": (much - little) / (large - small)}


def measure_moves(folder, module, client, port, ids, runs):
    fill(client, ids)
    size = client.memory_usage("table")
    moves, copies, found = [], [], {}
    process, other, other_port = counting.start(folder, module)
    try:
        for _ in range(runs):
            other.flushall()
            before = counting.main_thread_s(client) + counting.main_thread_s(other)
            client.execute_command("MIGRATE", "127.0.0.1", other_port, "table", 0, 600000, "COPY")
            moves.append(size / (counting.main_thread_s(client) + counting.main_thread_s(other) - before))
            before = children_cpu_s(client) + all_cpu_s(other)
            other.replicaof("127.0.0.1", port)
            wait_until(lambda: other.info("replication").get("master_link_status") == "up")
            wait_until(lambda: client.info("persistence")["rdb_bgsave_in_progress"] == 0)
            copies.append(size / (children_cpu_s(client) + all_cpu_s(other) - before))
            if not found:
                found = measure_lag(client)
            other.execute_command("REPLICAOF", "NO", "ONE")
    finally:
        process.kill()
        process.wait()
    return {"move_bytes_per_s": max(moves), "copy_bytes_per_s": max(copies), **found}


def measure_lag(client):
    """With a replica that is connected: how long WAIT 1 takes, and bytes of an event."""
    taken = []
    for i in range(500):
        client.execute_command("ONCE.INCRBY", "small", f"lag-{i}", "clicks", 1)
        began = time.monotonic()
        client.execute_command("WAIT", 1, 1000)
        taken.append(time.monotonic() - began)
    words = [word for i in range(BATCH) for word in (f"bytes-{i}", f"key-{i % 100:012}", 1)]
    before = client.info("replication")["master_repl_offset"]
    client.execute_command("ONCE.MINCRBY", "small", *words)
    after = client.info("replication")["master_repl_offset"]
    return {"lag_s": statistics.median(taken), "effect_bytes": (after - before) / BATCH}


def stated():
    text = (ROOT / "cli/plan/costs.h").read_text()
    return {name.lower(): float(value) for name, value in re.findall(r"#define COST_(\w+) ([-0-9.e]+)", text)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default=str(ROOT / "build/release/lethe.so"))
    parser.add_argument("--ids", type=int, default=4_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        module = pathlib.Path(options.module).resolve()
        process, client, port = counting.start(folder, module)
        try:
            client.config_set("repl-diskless-sync-delay", 0)
            found = measure_work(client, options.ids, options.runs)
            found.update(measure_fork(client, options.runs))
            found.update(measure_moves(folder, module, client, port, options.ids, options.runs))
            version = client.info("server")["redis_version"]
        finally:
            process.kill()
            process.wait()
    constants = stated()
    print(f"redis {version}, {platform.machine()}, {os.cpu_count()} cores, load before the run {load:.1f}")
    print(f"{'cost':20} {'measured':>12} {'costs.h':>12}")
    for name, value in found.items():
        print(f"{name:20} {value:12.4g} {constants.get(name, float('nan')):12.4g}")
    if options.out:
        machine = {"redis": version, "machine": platform.machine(), "cores": os.cpu_count(), "load": load,
                   "ids": options.ids, "runs": options.runs}
        pathlib.Path(options.out).write_text(json.dumps({**machine, "costs": found}, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except redis.RedisError as error:
        sys.exit(f"costs.py: {error}")
