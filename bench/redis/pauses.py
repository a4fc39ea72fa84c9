#!/usr/bin/python3
"""How long a server keeps others waiting while a once-table fills, rotates, grows, meets a jump of time, or is unlinked.

usage: bench/redis/pauses.py [--module build/release/lethe.so] [--ids N] [--window SECONDS] [--runs N] [--together N]

Ids come in commands of fifty, a number of them in a client's pipeline (--together): the server may answer those one after
another before it looks at other clients.

A loop is what the server's main thread worked between two waits for clients, in milliseconds of CPU (loop.c, which is compiled
for this and preloaded): what the server itself is to blame for. But where the CPU is virtual, time in which the host did
something else counts as the server's. So there is a phase without the module, "plain": as many commands of EXISTS with fifty
keys that are not there; and the whole can be repeated, each time with a new server (--runs). The work is the same each
time, so what the server needs is in every run and what befell it isn't: of the longest loops of the runs, "least" is the
shortest, "most" the longest. "over 5" is the number of loops above five milliseconds, in all runs. "faulting" is the same of
loops with page faults only: those that took memory, or touched it for the first time; the last line says what a first touch
costs on this machine. "CPU" is the seconds that the thread worked, in all runs.

"ping" is what another process saw that sends PING every millisecond, in milliseconds on the wall, the 99.99th percentile and
the longest: that has in it whatever else the machine does."""

import argparse
import mmap
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

BATCH = 50
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
        time.sleep(0.001)
    results.put(found)


class Loop:
    """What loop.c shares."""

    def __init__(self, folder):
        self.path, library = pathlib.Path(folder) / "loop", pathlib.Path(folder) / "loop.so"
        self.path.write_bytes(bytes(40))
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library,
                        HERE / "loop.c", "-ldl"], check=True)
        self.environment = dict(os.environ, LD_PRELOAD=str(library), LOOP_FILE=str(self.path))

    def take(self):
        """The longest in milliseconds and how many were above five, the same of those with page faults, and the sum in seconds, since
        this was last asked."""
        with open(self.path, "r+b") as file:
            longest, over, faulting, faulting_over, total = struct.unpack("<5Q", file.read(40))
            file.seek(0)
            file.write(bytes(40))
        return longest / 1e6, over, faulting / 1e6, faulting_over, total / 1e9


def send(port, head, answer, first, count, together):
    """Sends `count` ids in short commands, of which `together` are on their way at a time."""
    template, left = head + BATCH * ID, 0
    with socket.create_connection(("127.0.0.1", port)) as link:
        for at in range(first, first + count, BATCH):
            link.sendall(template % tuple(range(at, at + BATCH)))
            left += answer
            while left > (together - 1) * answer:
                left -= len(link.recv(left))
        while left > 0:
            left -= len(link.recv(left))


def add(port, first, count, together):
    send(port, b"*%d\r\n$8\r\nONCE.ADD\r\n$1\r\nt\r\n" % (2 + BATCH), len(b"*50\r\n") + BATCH * len(b":1\r\n"), first, count,
         together)


def phases(client, process, port, ids, window, together):
    """Name and what is done."""
    def plain():
        send(port, b"*%d\r\n$6\r\nEXISTS\r\n" % (1 + BATCH), len(b":0\r\n"), 0, ids, together)
    def fill():
        client.execute_command("ONCE.CREATE", "t", "WINDOW", window * 1000, "CAPACITY", ids)
        add(port, 0, ids, together)
    def jump():
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1.2 * window)
        os.kill(process.pid, signal.SIGCONT)
        add(port, 3 * ids, 4000 * BATCH, together)
        time.sleep(5)
    def grow():
        client.unlink("t")
        client.execute_command("ONCE.CREATE", "t", "WINDOW", window * 1000)
        add(port, 0, ids, together)
    return [("plain", plain), ("fill", fill), ("rotate", lambda: time.sleep(1.3 * window)),
            ("fill again", lambda: add(port, ids, ids, together)), ("jump", jump), ("grow", grow),
            ("unlink", lambda: (client.unlink("t"), time.sleep(2)))]


def first_touch_us():
    """What it costs to touch a page for the first time, and not the second."""
    pages, step = 16384, mmap.PAGESIZE
    with mmap.mmap(-1, pages * step) as memory:
        times = [time.perf_counter()]
        for _ in range(2):
            for at in range(0, pages * step, step):
                memory[at] = 1
            times.append(time.perf_counter())
    return (times[1] - times[0] - (times[2] - times[1])) / pages * 1e6


def run(module, ids, window, together):
    """For each phase its name, what Loop.take says, and the times of pings."""
    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(folder)
        process, client, port = start(folder, module, loop.environment)
        phase, results = multiprocessing.Value("i", 0), multiprocessing.Queue()
        pinger = multiprocessing.Process(target=ping, args=(port, phase, results))
        pinger.start()
        try:
            rows = []
            loop.take()
            for number, (name, work) in enumerate(phases(client, process, port, ids, window, together)):
                phase.value = number
                work()
                rows.append((name, loop.take()))
            phase.value = -1
            found = results.get()
        finally:
            pinger.kill()
            process.kill()
            process.wait()
    return [(name, loops, found.get(number, [0])) for number, (name, loops) in enumerate(rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--module", default=HERE.parents[1] / "build/release/lethe.so", type=pathlib.Path)
    parser.add_argument("--ids", default=2000000, type=int)
    parser.add_argument("--window", default=10, type=int)
    parser.add_argument("--runs", default=1, type=int)
    parser.add_argument("--together", default=2, type=int)
    arguments = parser.parse_args()
    if not arguments.module.exists():
        sys.exit(f"no {arguments.module}: make builds it")
    runs = []
    for number in range(arguments.runs):
        runs.append(run(arguments.module.resolve(), arguments.ids, arguments.window, arguments.together))
        print(f"run {number + 1}:", ", ".join(f"{name} {loops[0]:.2f}" for name, loops, _ in runs[-1]), file=sys.stderr)
    print(f"{arguments.ids} ids, window {arguments.window} s, runs: {arguments.runs}, commands in the pipeline: {arguments.together}\n"
          f"{'':12} {'all loops, ms':^23}  {'faulting, ms':^15}  {'':7} {'ping, ms':^18}\n"
          f"{'phase':12} {'least':>7} {'most':>7} {'over 5':>7}  {'most':>7} {'over 5':>7}  {'CPU, s':>7} {'99.99%':>9} {'longest':>8}")
    for rows in zip(*runs):
        longest, over, faulting, faulting_over, total = zip(*(loops for _, loops, _ in rows))
        name, times = rows[0][0], []
        for _, _, found in rows: # of a jump without the one that waited for the server that was stopped
            times += sorted(found)[:-1] if name == "jump" else found
        times.sort()
        print(f"{name:12} {min(longest):7.2f} {max(longest):7.2f} {sum(over):7}  {max(faulting):7.2f} {sum(faulting_over):7}  "
              f"{sum(total):7.1f} {times[int(0.9999 * (len(times) - 1))] * 1000:9.2f} {times[-1] * 1000:8.2f}")
    print(f"the first touch of a page: {first_touch_us():.1f} us")


if __name__ == "__main__":
    main()
