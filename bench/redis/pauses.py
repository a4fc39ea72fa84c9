#!/usr/bin/python3
"""How long a server keeps others waiting while a once-table fills, rotates, grows, meets a jump of time, or is unlinked.

usage: bench/redis/pauses.py [--module build/release/lethe.so] [--ids N] [--window SECONDS]

A second process sends PING without pause and notes how long each answer takes. "idle" is the same server with nothing to
do: what this machine adds by itself. The longest and the 99.99th percentile are shown, in milliseconds."""

import argparse
import multiprocessing
import os
import pathlib
import signal
import sys
import tempfile
import time

import redis
from run import HERE, start

BATCH = 100


def ping(port, phase, results):
    """Latencies of PING, by phase."""
    link = redis.Redis(port=port, socket_timeout=600)
    link.ping()
    found = {}
    while phase.value >= 0:
        begin = time.perf_counter()
        link.ping()
        found.setdefault(phase.value, []).append(time.perf_counter() - begin)
    results.put(found)


def add(client, first, count):
    """So many ids, in commands that are short themselves, one after another."""
    for at in range(first, first + count, BATCH):
        client.execute_command("ONCE.ADD", "t", *range(at, at + BATCH))


def phases(client, process, ids, window):
    """Name and what is done."""
    def fill():
        client.execute_command("ONCE.CREATE", "t", "WINDOW", window * 1000, "CAPACITY", ids)
        add(client, 0, ids)
    def jump():
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1.2 * window)
        os.kill(process.pid, signal.SIGCONT)
        add(client, 3 * ids, 10 * BATCH)
        time.sleep(1)
    def grow():
        client.unlink("t")
        client.execute_command("ONCE.CREATE", "t", "WINDOW", window * 1000)
        add(client, 0, ids)
    return [("idle", lambda: time.sleep(3)), ("fill", fill), ("rotate", lambda: time.sleep(1.3 * window)),
            ("fill again", lambda: add(client, ids, ids)), ("jump", jump), ("grow", grow),
            ("unlink", lambda: (client.unlink("t"), time.sleep(1)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--module", default=HERE.parents[1] / "build/release/lethe.so", type=pathlib.Path)
    parser.add_argument("--ids", default=2000000, type=int)
    parser.add_argument("--window", default=10, type=int)
    arguments = parser.parse_args()
    if not arguments.module.exists():
        sys.exit(f"no {arguments.module}: make builds it")
    with tempfile.TemporaryDirectory() as folder:
        process, client, port = start(folder, arguments.module.resolve())
        phase, results = multiprocessing.Value("i", 0), multiprocessing.Queue()
        pinger = multiprocessing.Process(target=ping, args=(port, phase, results))
        pinger.start()
        try:
            names = []
            for number, (name, work) in enumerate(phases(client, process, arguments.ids, arguments.window)):
                phase.value = number
                names.append(name)
                work()
            phase.value = -1
            found = results.get()
        finally:
            pinger.kill()
            process.kill()
            process.wait()
    print(f"{arguments.ids} ids, window {arguments.window} s\n{'phase':12} {'pings':>8} {'99.99%':>9} {'longest':>9}")
    for number, name in enumerate(names):
        times = sorted(found.get(number, [0]))
        if name == "jump":
            times = times[:-1] # the one that waited for the server that was stopped
        print(f"{name:12} {len(times):8} {times[int(0.9999 * (len(times) - 1))] * 1000:9.2f} {times[-1] * 1000:9.2f}")


if __name__ == "__main__":
    main()
