#!/usr/bin/python3
"""Counting in a Redis server: plain, with the Lua script that people use against retries, and with Lethe's module.

usage: bench/redis/run.py [--module build/release/lethe.so] [--operations N] [--ids N] [--runs N] [--json]

One server, started for this and killed at the end, no persistence, no replica; redis-benchmark sends from this machine.
Each way is measured in turn, and the whole round is repeated: the best of all runs counts. Ids are of the length of a
UUID.

    HINCRBY        counts duplicates of an operation again
    Lua            SET id NX EX 600, and HINCRBY if that was new
    ONCE.INCRBY    one operation per command
    ONCE.MINCRBY   fifty operations per command; its figures are operations, not commands
    Lua, LPUSH     SET id NX EX 600, and LPUSH if that was new; ONCE.CALL LPUSH is the same with the module

Beside the operations per second there is what one takes of the CPU in the server's main thread, as the server counts
it, in microseconds: that depends less on what else the machine does, and on how fast the client is.

Memory is how much more the server says it uses after a number of different ids (--ids), per id, and what is resident
of it; and what MEMORY USAGE says of the table. The allocator rounds the window's slabs up and never touches the
rest, so the first is more than the other two. The window knew how many would come (CAPACITY), with an error of 1e-6."""

import argparse
import json
import os
import pathlib
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time

import redis

HERE = pathlib.Path(__file__).resolve().parent
UUID = "550e8400-e29b-41d4-a716-__rand_int__"
SCRIPT = """
if redis.call('SET', KEYS[1], 1, 'NX', 'EX', 600) then
    return {1, redis.call('HINCRBY', KEYS[2], ARGV[1], ARGV[2])}
end
return {0, redis.call('HGET', KEYS[2], ARGV[1])}
"""
PUSH = """
if redis.call('SET', KEYS[1], 1, 'NX', 'EX', 600) then
    return {1, redis.call('LPUSH', KEYS[2], ARGV[1])}
end
return {0, false}
"""
BATCH = 50


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(folder, module, environment=None, options=()):
    port = free_port()
    words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder,
             "--logfile", "log", *options, "--loadmodule", str(module)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment)
    client = redis.Redis(port=port, socket_timeout=600)
    for _ in range(500):
        try:
            client.ping()
            return process, client, port
        except redis.ConnectionError:
            time.sleep(0.02)
    process.kill()
    sys.exit("the server did not start")


def ways(client):
    """Name, command, and operations per command."""
    sha, push = client.script_load(SCRIPT), client.script_load(PUSH)
    pairs = [word for _ in range(BATCH) for word in (UUID, "clicks", "1")]
    return [("HINCRBY", ["HINCRBY", "plain", "clicks", "1"], 1),
            ("Lua", ["EVALSHA", sha, "2", UUID, "lua", "clicks", "1"], 1),
            ("ONCE.INCRBY", ["ONCE.INCRBY", "table", UUID, "clicks", "1"], 1),
            ("ONCE.MINCRBY", ["ONCE.MINCRBY", "table", *pairs], BATCH),
            ("Lua, LPUSH", ["EVALSHA", push, "2", UUID, "list", "x"], 1),
            ("ONCE.CALL LPUSH", ["ONCE.CALL", "table", UUID, "LPUSH", "list", "x"], 1)]


def measure(port, command, commands, clients, pipeline, limit=2_000_000_000):
    """Commands a second; random numbers are below the limit."""
    words = ["redis-benchmark", "-p", str(port), "-c", str(clients), "-P", str(pipeline), "-n",
             str(commands), "-r", str(limit), "-q", "--precision", "3", *command]
    output = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    return float(re.findall(r"([0-9.]+) requests per second", output)[-1])


def main_thread_s(client):
    """What the server's main thread has used of the CPU."""
    found = client.info("cpu")
    return found["used_cpu_user_main_thread"] + found["used_cpu_sys_main_thread"]


def speed(client, port, operations, runs):
    """The best rate of each way, and the least CPU time."""
    best, least = {}, {}
    for _ in range(runs):
        for pipeline in (1, 50):
            for name, command, each in ways(client):
                client.flushall()
                client.execute_command("ONCE.CREATE", "table", "CAPACITY", operations)
                # A batch is itself what a pipeline of as many single commands is.
                depth = 1 if each > 1 else pipeline
                if each > 1 and pipeline == 1:
                    continue
                count = max(operations // (20 if depth == 1 and each == 1 else each), 1000)
                before = main_thread_s(client)
                rate = measure(port, command, count, 1 if pipeline == 1 else 4, depth) * each
                used_us = (main_thread_s(client) - before) / (count * each) * 1e6
                best[name, pipeline] = max(best.get((name, pipeline), 0), rate)
                least[name, pipeline] = min(least.get((name, pipeline), used_us), used_us)
    return best, least


def memory(client, ids):
    """Bytes of the server's memory for each id."""
    def used_by(fill):
        client.flushall()
        client.execute_command("MEMORY", "PURGE")
        before = client.info("memory")
        for first in range(0, ids, 10000):
            fill([f"550e8400-e29b-41d4-a716-{i:012d}" for i in range(first, min(first + 10000, ids))])
        after = client.info("memory")
        return [(after[name] - before[name]) / ids for name in ("used_memory", "used_memory_rss")]

    def fill_lua(names):
        pipe = client.pipeline(transaction=False)
        for name in names:
            pipe.execute_command("SET", name, 1, "NX", "EX", 3600) # what the script does, without its time
        pipe.execute()

    def fill_once(names):
        if not client.exists("table"):
            client.execute_command("ONCE.CREATE", "table", "CAPACITY", ids, "ERROR", "1e-6")
        client.execute_command("ONCE.ADD", "table", *names)

    def fill_unhinted(names):
        client.execute_command("ONCE.ADD", "table", *names)

    found = {}
    for name, fill in (("ONCE", fill_once), ("ONCE without CAPACITY", fill_unhinted), ("Lua", fill_lua)):
        found[name], found[name + ", resident"] = used_by(fill)
        if name != "Lua":
            found[name + ", MEMORY USAGE"] = client.memory_usage("table") / ids
    return found


def show(best, least, bytes_each, arguments, version):
    print(f"redis {version}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
          f"best of {arguments.runs} runs")
    print(f"{'way':16} {'pipeline':>8} {'operations/s':>14} {'of HINCRBY':>11} {'CPU us':>8} {'of HINCRBY':>11}")
    for (name, pipeline), rate in sorted(best.items(), key=lambda item: item[0][1]):
        used = least[name, pipeline]
        print(f"{name:16} {pipeline:8} {rate:14,.0f} {rate / best['HINCRBY', pipeline]:11.0%} {used:8.2f} "
              f"{least['HINCRBY', pipeline] / used:11.0%}")
    print(f"\nmemory at {arguments.ids} ids, bytes per id")
    for name, size in bytes_each.items():
        print(f"{name:36} {size:8.2f}   1/{bytes_each['Lua'] / size:.1f} of the script's")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--module", default=HERE.parents[1] / "build/release/lethe.so", type=pathlib.Path)
    parser.add_argument("--operations", default=1000000, type=int, help="for each speed; fewer without a pipeline")
    parser.add_argument("--ids", default=1000000, type=int, help="for memory; the published figures have 10000000")
    parser.add_argument("--runs", default=3, type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.module.exists():
        sys.exit(f"no {arguments.module}: make builds it")
    with tempfile.TemporaryDirectory() as folder:
        process, client, port = start(folder, arguments.module.resolve())
        try:
            best, least = speed(client, port, arguments.operations, arguments.runs)
            bytes_each = memory(client, arguments.ids)
            version = client.info("server")["redis_version"]
        finally:
            process.kill()
            process.wait()
    if arguments.json:
        speeds = {f"{name} pipeline {pipeline}": rate for (name, pipeline), rate in best.items()}
        used = {f"{name} pipeline {pipeline}": us for (name, pipeline), us in least.items()}
        print(json.dumps({"server": version, "operations_per_second": speeds, "cpu_us": used, "ids": arguments.ids,
                          "bytes_per_id": bytes_each}))
    else:
        show(best, least, bytes_each, arguments, version)


if __name__ == "__main__":
    main()
