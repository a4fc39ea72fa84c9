"""lethe count --redis for tests: run to its end or fed line by line, with totals to compare."""

import json
import os
import random
import subprocess
import threading
import time

from servers import MODULE

LETHE = MODULE.parent / "lethe"
DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT, SKIPPED = range(6)
PARTS = ["applied", "duplicates", "late", "future", "overflow", "invalid", "refused", "mismatched", "limited", "unreadable"]
KEYS = [f"key {i}" for i in range(20)]


def url_of(*servers):
    return "redis://" + ",".join(f"{server.address}:{server.port}" for server in servers)


def certain(words):
    """A table is made with so small an error that totals are not wrong by chance."""
    return list(words) if "--error" in words else ["--error", "1e-12", *words]


def lethe(command, url, *words, table="t", stdin="", environment=None):
    return subprocess.run([LETHE, command, "--redis", url, "--table", table, *words], input=stdin, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=300,
                          env=dict(os.environ, **(environment or {})))


def count(url, *words, code=DONE, **more):
    """Counts, and returns the summary, which must add up."""
    result = lethe("count", url, "--json", *words, **more)
    assert result.returncode == code, result.stderr
    summary = json.loads(result.stdout)
    assert summary["events"] == sum(summary[part] for part in PARTS)
    assert summary["doubtful"] <= summary["duplicates"]
    return summary


def listed(url, table="t"):
    result = lethe("list", url, table=table)
    assert result.returncode == DONE, result.stderr
    return {key: int(value) for key, value in (line.split("\t") for line in result.stdout.splitlines())}


def make_events(number, seed, first=0):
    """Lines with one counter and with several, and what they amount to."""
    chance = random.Random(seed)
    lines, totals = [], {}
    for i in range(first, first + number):
        pairs = [(chance.choice(KEYS), chance.randrange(-3, 9)) for _ in range(chance.choice([1, 1, 1, 3]))]
        lines.append("\t".join([f"id-{seed}-{i}"] + [f"{key}\t{delta}" for key, delta in pairs]) + "\n")
        for key, delta in pairs:
            totals[key] = totals.get(key, 0) + delta
    return lines, totals


class Feed:
    """lethe count at the end of a pipe, with lines that are written one after another."""

    def __init__(self, url, *words, lines=(), chunk=200, pause=0.01, environment=None):
        self.process = subprocess.Popen([LETHE, "count", "--redis", url, "--table", "t", "--json", *certain(words)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **(environment or {})))
        self.lines, self.chunk, self.pause, self.written = lines, chunk, pause, 0

    def write(self, until):
        """Feeds lines up to a fraction of all."""
        end = int(len(self.lines) * until)
        while self.written < end and self.process.poll() is None:
            self.process.stdin.write("".join(self.lines[self.written:self.written + self.chunk]))
            self.process.stdin.flush()
            self.written += self.chunk
            time.sleep(self.pause)

    def write_during(self, until, act):
        """Feeds lines while something is done. If it must be done before lethe can take more, that is no deadlock."""
        writer = threading.Thread(target=self.write, args=(until,))
        writer.start()
        act()
        writer.join()

    def write_while_it_dies(self, server):
        """Feeds all lines, while a server is killed and started again, twice."""
        for part in (0.3, 0.6):
            self.write(part)
            server.kill()
            self.write_during(part + 0.1, server.start)
        self.write(1)

    def finish(self, code=DONE):
        out, errors = self.process.communicate(timeout=200)
        assert self.process.returncode == code, errors
        self.errors = errors
        return json.loads(out) if out else None
