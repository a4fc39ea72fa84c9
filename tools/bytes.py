#!/usr/bin/python3
"""Measures how many bytes a remembered id takes, here and elsewhere, and draws the chart.

usage: tools/bytes.py measure [--ids N]    measure, write bench/results/bytes.json, draw
       tools/bytes.py draw                 draw docs/bytes.svg from bench/results/bytes.json again

The ids are UUIDs as text, a million of them by default. Each way has all of them before it is asked
what it takes: the memory of a window or a server grows by that, or a file has that size. How busy
the machine is does not matter to any of it. A way whose program is not installed is left out.

Nobody edits the results or the chart by hand; a test draws the chart again and compares.
"""

import argparse
import datetime
import html
import json
import pathlib
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import speed

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/release"
RESULTS = ROOT / "bench/results/bytes.json"
CHART = ROOT / "docs/bytes.svg"
WIDTH, LEFT, SCALE, ROW = 780, 320, 300, 26


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE,
                          **options).stdout


def in_store(folder, ids):
    """What a store has on disk for ids, besides its counters."""
    events = folder / "events.tsv"
    events.write_text("".join(f"{one}\tk\n" for one in ids))
    run(BUILD / "lethe", "count", "-q", "--db", folder / "store", events)
    told = json.loads(run(BUILD / "lethe", "stat", "--json", "--db", folder / "store"))
    return told["log_bytes"]


def in_sqlite(folder, ids):
    base = sqlite3.connect(folder / "ids.sqlite")
    base.execute("CREATE TABLE seen (id TEXT PRIMARY KEY) WITHOUT ROWID")
    base.executemany("INSERT INTO seen VALUES (?)", ((one,) for one in ids))
    base.commit()
    base.close()
    return (folder / "ids.sqlite").stat().st_size


def in_redis(folder, commands, *options):
    """By how much the memory of a server grows with the commands; None without a server."""
    if shutil.which("redis-server") is None:
        return None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(folder / "redis.log", "wb") as log:
        server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1",
                                   "--save", "", "--dir", str(folder), *map(str, options)],
                                  stdout=log)
    try:
        def ask(*words):
            return run("redis-cli", "-p", port, *words).decode()
        for _ in range(100):
            if subprocess.run(["redis-cli", "-p", str(port), "PING"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0:
                break
            time.sleep(0.1)
        def used():
            return int(ask("INFO", "memory").split("used_memory:")[1].split()[0])
        before = used()
        packed = bytearray()
        for words in commands:
            packed += b"*%d\r\n" % len(words)
            for word in words:
                packed += b"$%d\r\n%s\r\n" % (len(word), word.encode())
        run("redis-cli", "-p", port, "--pipe", input=bytes(packed))
        return used() - before
    finally:
        server.terminate()
        server.wait()


# Runs in an interpreter of its own, whose memory is compared with that of one without ids.
IN_PYTHON = r"""
import re, sys
seen = set()
for line in open(sys.argv[1], "rb"):
    seen.add(line[:36])
print(int(re.search(r"VmRSS:\s+(\d+)", open("/proc/self/status").read()).group(1)) * 1024)
"""


# Prints the largest memory of awk, the only child that this interpreter has.
IN_AWK = """
import resource, subprocess, sys
subprocess.run(["awk", "!seen[$0]++ { n++ } END { print n }", sys.argv[1]],
               stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def in_process(folder, ids, script):
    """By how much the memory of a process grows with the ids."""
    (folder / "ids").write_text("".join(f"{one}\n" for one in ids))
    (folder / "none").write_text("")
    least, most = (int(run(sys.executable, "-c", script, folder / name))
                   for name in ("none", "ids"))
    return most - least


def measure(count):
    """All ways. Returns the results as they are kept."""
    draws = random.Random(1)
    ids = [f"{draws.getrandbits(32):08x}-{draws.getrandbits(16):04x}-4{draws.getrandbits(12):03x}-"
           f"9{draws.getrandbits(12):03x}-{draws.getrandbits(48):012x}" for _ in range(count)]
    rows = []

    def add(way, where, total):
        if total is not None:
            rows.append({"way": way, "where": where, "bytes_per_id": round(total / count, 2)})
    for error in ("1e-6", "1e-12"):
        add(f"lethe window, error {error}", "memory",
            int(run(sys.executable, "-B", "-c", IN_WINDOW, error, count,
                    env={"PYTHONPATH": str(BUILD / "python/package")})))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        add("lethe store", "disk, for W", in_store(folder, ids))
        batches = [["ONCE.ADD", "t", "IDS", *ids[at:at + 500]] for at in range(0, count, 500)]
        planned = [["ONCE.CREATE", "t", "CAPACITY", str(count)]]
        for create, note in (([], ""), (planned, ", CAPACITY given")):
            add(f"ONCE.ADD in Redis{note}", "memory",
                in_redis(folder, create + batches, "--loadmodule", BUILD / "lethe.so"))
        add("SET id 1 NX EX in Redis", "memory",
            in_redis(folder, (["SET", one, "1", "NX", "EX", "86400"] for one in ids)))
        add("SQLite, ids as primary keys", "disk", in_sqlite(folder, ids))
        add("a set in Python", "memory", in_process(folder, ids, IN_PYTHON))
        if shutil.which("awk"):
            add("awk '!seen[$0]++'", "memory", in_process(folder, ids, IN_AWK))
    return {"ids": count, "id": "UUIDs as text, 36 bytes",
            "date": datetime.date.today().isoformat(),
            "commit": speed.git("rev-parse", "--short=12", "HEAD") or "unknown", "results": rows}


# A steady stream for one window: what a window takes that is as full as it gets.
IN_WINDOW = """
import sys, lethe
error, count = float(sys.argv[1]), int(sys.argv[2])
window = lethe.Window(window_ms=1000000, error=error, capacity=count)
steps = 1000
for step in range(2 * steps):
    first, last = step * (count // steps), (step + 1) * (count // steps)
    window.add_many(range(first, last), now_ms=step * 1000000 // steps)
info = window.info(now_ms=2 * 1000000)
print(int(info["memory_bytes"]))
"""


def draw(results):
    """The chart as the text of an SVG file."""
    rows = sorted(results["results"], key=lambda row: row["bytes_per_id"])
    longest = max(row["bytes_per_id"] for row in rows)
    at = 30
    out = [f'<text class="title" x="16" y="{at}">Bytes for an id that is remembered</text>',
           f'<text class="note" x="16" y="{at + 22}">{results["ids"] / 1e6:g} million ids, {results["id"]}</text>']
    at += 32
    for row in rows:
        kind = "lethe" if row["way"].startswith(("lethe", "ONCE")) else "peer"
        width, middle = max(row["bytes_per_id"] / longest * SCALE, 1), at + ROW / 2
        name_class = ' class="lethe-name"' if kind == "lethe" else ""
        out += [f'<text x="{LEFT - 10}" y="{middle + 5:g}" text-anchor="end"{name_class}>'
                f'{html.escape(row["way"])}</text>',
                f'<rect class="{kind}" x="{LEFT}" y="{middle - 8:g}" width="{width:.1f}" height="16" rx="2"/>',
                f'<text class="note" x="{LEFT + width + 8:.1f}" y="{middle + 4:g}">'
                f'{row["bytes_per_id"]:.3g}, {html.escape(row["where"])}</text>']
        at += ROW
    out.append(f'<text class="note" x="16" y="{at + 26}">Measured by tools/bytes.py at {results["commit"]}, '
               f'{results["date"]}.</text>')
    height = at + 42
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                      f'height="{height}" role="img" aria-label="Bytes for a remembered id, here and elsewhere">',
                      f"<!-- drawn by tools/bytes.py from bench/results/bytes.json -->\n<style>{speed.STYLE}</style>",
                      *out, "</svg>\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("measure", "draw"))
    parser.add_argument("--ids", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.command == "measure":
        RESULTS.write_text(json.dumps(measure(options.ids), indent=1) + "\n", encoding="utf-8")
    CHART.write_text(draw(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
    print(CHART.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
