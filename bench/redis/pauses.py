#!/usr/bin/python3
"""How long a server keeps others waiting while a once-table fills, rotates, grows, meets a jump of time, or is unlinked.

usage: bench/redis/pauses.py [--module build/release/lethe.so] [--ids N] [--window SECONDS] [--together N]

Ids come in commands of a hundred, so many of them together (--together) as a client may have in its pipeline: the server
answers those one after another before it looks at other clients.

Two things are shown for each phase. "loop" is the longest time, in milliseconds of CPU, that the server's main thread worked
between two waits for clients, and how often that was more than 5 (loop.c, which is compiled for this and preloaded): what
the server itself is to blame for. "ping" is what another process saw that sends PING all the time, in milliseconds on the wall, the
longest and the 99.99th percentile: that has in it whatever else the machine does, as "idle" shows, the same server with
nothing to do."""

import argparse
import multiprocessing
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import redis
from run import HERE, start

BATCH = 100
ID = b"$12\r\n%012d\r\n"


def ping(port, phase, results):
    """Latencies of PING, by phase."""
    link = redis.Redis(port=port, socket_timeout=600)
    link.ping()
    found = {}
    while phase.value >= 0:
        begin = time.perf_counter()
        link.ping()
        found.setdefault(phase.value, []).append(time.perf_counter() - begin)
        time.sleep(0.0002)
    results.put(found)


class Loop:
    """What loop.c shares."""

    def __init__(self, folder):
        self.path, library = pathlib.Path(folder) / "loop", pathlib.Path(folder) / "loop.so"
        self.path.write_bytes(bytes(24))
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library,
                        HERE / "loop.c", "-ldl"], check=True)
        self.environment = dict(os.environ, LD_PRELOAD=str(library), LOOP_FILE=str(self.path))

    def take(self):
        """The longest in milliseconds and how many were above five, since this was last asked."""
        with open(self.path, "r+b") as file:
            longest, _, over = struct.unpack("<QQQ", file.read(24))
            file.seek(0)
            file.write(bytes(24))
        return longest / 1e6, over


def add(port, first, count, together):
    """So many ids, in commands that are short themselves."""
    head = b"*%d\r\n$8\r\nONCE.ADD\r\n$1\r\nt\r\n" % (2 + BATCH)
    template, answer = (head + BATCH * ID) * together, together * (len(b"*100\r\n") + BATCH * len(b":1\r\n"))
    with socket.create_connection(("127.0.0.1", port)) as link:
        for at in range(first, first + count, BATCH * together):
            link.sendall(template % tuple(range(at, at + BATCH * together)))
            left = answer
            while left > 0:
                left -= len(link.recv(left))


def phases(client, process, port, ids, window, together):
    """Name and what is done."""
    def fill():
        client.execute_command("ONCE.CREATE", "t", "WINDOW", window * 1000, "CAPACITY", ids)
        add(port, 0, ids, together)
    def jump():
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1.2 * window)
        os.kill(process.pid, signal.SIGCONT)
        add(port, 3 * ids, 40 * BATCH * together, together)
        time.sleep(5)
    def grow():
        client.unlink("t")
        client.execute_command("ONCE.CREATE", "t", "WINDOW", window * 1000)
        add(port, 0, ids, together)
    return [("idle", lambda: time.sleep(3)), ("fill", fill), ("rotate", lambda: time.sleep(1.3 * window)),
            ("fill again", lambda: add(port, ids, ids, together)), ("jump", jump), ("grow", grow),
            ("unlink", lambda: (client.unlink("t"), time.sleep(2)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--module", default=HERE.parents[1] / "build/release/lethe.so", type=pathlib.Path)
    parser.add_argument("--ids", default=2000000, type=int)
    parser.add_argument("--window", default=10, type=int)
    parser.add_argument("--together", default=1, type=int)
    arguments = parser.parse_args()
    if not arguments.module.exists():
        sys.exit(f"no {arguments.module}: make builds it")
    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(folder)
        process, client, port = start(folder, arguments.module.resolve(), loop.environment)
        phase, results = multiprocessing.Value("i", 0), multiprocessing.Queue()
        pinger = multiprocessing.Process(target=ping, args=(port, phase, results))
        pinger.start()
        try:
            names, loops = [], []
            loop.take()
            todo = phases(client, process, port, arguments.ids, arguments.window, arguments.together)
            for number, (name, work) in enumerate(todo):
                phase.value = number
                work()
                names.append(name)
                loops.append(loop.take())
            phase.value = -1
            found = results.get()
        finally:
            pinger.kill()
            process.kill()
            process.wait()
    print(f"{arguments.ids} ids, window {arguments.window} s, milliseconds\n"
          f"{'phase':12} {'loop':>9} {'over 5':>7}   {'pings':>8} {'99.99%':>9} {'longest':>9}")
    for number, (name, (longest, over)) in enumerate(zip(names, loops)):
        times = sorted(found.get(number, [0]))
        if name == "jump":
            times = times[:-1] # the one that waited for the server that was stopped
        print(f"{name:12} {longest:9.2f} {over:7}   {len(times):8} "
              f"{times[int(0.9999 * (len(times) - 1))] * 1000:9.2f} {times[-1] * 1000:9.2f}")


if __name__ == "__main__":
    main()
