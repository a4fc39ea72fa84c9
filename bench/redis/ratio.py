#!/usr/bin/python3
"""How near ONCE.INCRBY comes to HINCRBY in the same server, at a pipeline of 50.

usage: bench/redis/ratio.py [--module FILE]... [--operations N] [--rounds N] [--seconds N] [--case NAME]... [--json]

For each case a server of its own, started for this and killed at the end, no replica; redis-benchmark sends from this
machine, with four connections. In each round every server does HINCRBY and ONCE.INCRBY, one right after the other, in
every second round the other way round. Each begins with the same keys, and with fresh ids of the length of a UUID.

    one       all operations on one counter
    many      each on one of a million counters, which are there before; HINCRBY's are fields of one hash
    log       one counter, and an append-only log, which is synced once a second

CPU is what the server counts of its main thread, in microseconds for an operation: the least of all rounds. Operations
a second: the most of all rounds; the sender shares the machine, so the server does not have all of it. "of HINCRBY"
compares those; "each round" is the median of what single rounds gave by CPU: how far it is from the other says how much
the machine was disturbed. With several modules each has its own servers, and all take turns: that is how to compare
versions."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import redis

from run import HERE, UUID, main_thread_s, measure, start

COUNTERS, AT_ONCE = 1_000_000, 10_000
# Each __rand_int__ is a number of twelve digits below the limit that is given: two of them make an id that is fresh.
TWO_NUMBERS = "550e8400-__rand_int__-0-__rand_int__"
LOG = ["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"]
# The id, the counter, the limit of random numbers, and options of the server.
CASES = {"one": (UUID, "clicks", 2_000_000_000, []),
         "many": (TWO_NUMBERS, "__rand_int__", COUNTERS, []),
         "log": (UUID, "clicks", 2_000_000_000, LOG)}
WAYS = ("HINCRBY", "ONCE.INCRBY")


class Server:
    def __init__(self, folder, module, case, operations):
        self.id, self.counter, self.limit, options = CASES[case]
        self.operations, self.rates, self.costs = operations, {way: [] for way in WAYS}, {way: [] for way in WAYS}
        os.mkdir(folder)
        self.process, self.client, self.port = start(folder, module, options=options)
        self.fill()

    def fill(self):
        """What each measurement begins with, under names of its own."""
        self.client.execute_command("ONCE.CREATE", "table-before", "CAPACITY", self.operations)
        self.client.hset("hash-before", "clicks", 0)
        for first in range(0, COUNTERS if self.limit == COUNTERS else 0, AT_ONCE):
            pairs = [word for i in range(first, first + AT_ONCE) for word in (f"{i:012}", 0)]
            self.client.execute_command("HSET", "hash-before", *pairs)
            self.client.execute_command("ONCE.INCRBY", "table-before", f"fill-{first}", *pairs)

    def run(self, way):
        self.client.copy("hash-before", "hash", replace=True)
        self.client.copy("table-before", "table", replace=True)
        words = ["HINCRBY", "hash"] if way == "HINCRBY" else ["ONCE.INCRBY", "table", self.id]
        before = main_thread_s(self.client)
        rate = measure(self.port, [*words, self.counter, "1"], self.operations, 4, 50, self.limit)
        self.costs[way].append((main_thread_s(self.client) - before) / self.operations * 1e6)
        self.rates[way].append(rate)
        self.client.unlink("hash", "table")

    def found(self):
        one, other = (self.costs[way] for way in WAYS)
        return {"operations_per_second": {way: max(self.rates[way]) for way in WAYS},
                "cpu_us": {way: min(self.costs[way]) for way in WAYS},
                "rate_of_hincrby": max(self.rates[WAYS[1]]) / max(self.rates[WAYS[0]]),
                "cpu_of_hincrby": min(one) / min(other),
                "cpu_of_hincrby_each_round": statistics.median(a / b for a, b in zip(one, other))}

    def stop(self):
        self.process.kill()
        self.process.wait()


def show(results, arguments, version, load):
    print(f"redis {version}, {os.cpu_count()} cores, load before the run {load:.1f}; {arguments.rounds} rounds of "
          f"{arguments.operations} operations")
    print(f"{'case':6} {'way':12} {'operations/s':>14} {'of HINCRBY':>11} {'CPU us':>8} {'of HINCRBY':>11} "
          f"{'each round':>11}")
    for (module, case), found in results.items():
        if case == arguments.case[0] and len(arguments.module) > 1:
            print(module)
        for way in WAYS:
            rates, costs = found["operations_per_second"], found["cpu_us"]
            shares = (1, 1, 1) if way == "HINCRBY" else (found["rate_of_hincrby"], found["cpu_of_hincrby"],
                                                         found["cpu_of_hincrby_each_round"])
            print(f"{case:6} {way:12} {rates[way]:14,.0f} {shares[0]:11.0%} {costs[way]:8.3f} {shares[1]:11.0%} "
                  f"{shares[2]:11.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--module", action="append", type=pathlib.Path, help="may be given several times")
    parser.add_argument("--operations", default=1_000_000, type=int, help="in each round")
    parser.add_argument("--rounds", default=7, type=int)
    parser.add_argument("--seconds", default=86400, type=int, help="no round begins after that time")
    parser.add_argument("--case", action="append", choices=list(CASES), help="may be given several times")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arguments.module = arguments.module or [HERE.parents[1] / "build/release/lethe.so"]
    arguments.case = arguments.case or list(CASES)
    for module in arguments.module:
        if not module.exists():
            sys.exit(f"no {module}: make builds it")
    load, servers = os.getloadavg()[0], {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for module in arguments.module:
                for case in arguments.case:
                    servers[str(module), case] = Server(f"{folder}/{len(servers)}", module.resolve(), case,
                                                        arguments.operations)
            most, arguments.rounds, end = arguments.rounds, 0, time.monotonic() + arguments.seconds
            while arguments.rounds < most and (arguments.rounds == 0 or time.monotonic() < end):
                for server in servers.values():
                    for way in WAYS if arguments.rounds % 2 == 0 else reversed(WAYS):
                        server.run(way)
                arguments.rounds += 1
            results = {key: server.found() for key, server in servers.items()}
            version = next(iter(servers.values())).client.info("server")["redis_version"]
        finally:
            for server in servers.values():
                server.stop()
    if arguments.json:
        print(json.dumps({"server": version, "cores": os.cpu_count(), "load": load, "rounds": arguments.rounds,
                          "operations": arguments.operations,
                          "found": [{"module": module, "case": case, **found}
                                    for (module, case), found in results.items()]}))
    else:
        show(results, arguments, version, load)


if __name__ == "__main__":
    try:
        main()
    except (redis.RedisError, subprocess.CalledProcessError) as error:
        sys.exit(f"ratio.py: {error}")
