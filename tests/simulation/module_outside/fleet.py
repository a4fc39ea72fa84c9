"""Three real servers, each on a host of its own, and what their once-tables should answer.

Time is the true time that the simulation lets pass. A table's age of an id is what has elapsed on its masters since it
was applied: kills, failovers, wall clocks that are set and payloads that are kept for later change nothing of that. Only
while a machine is off is the wall clock the one to say how long that was, and a step of it then counts."""

import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "module"))
import servers  # noqa: E402

SLACK = 0.25
# What passes between asking a clock and a server's acting on it, on a machine that is busy.
UNSURE_MS = 30_000


class Wrong(Exception):
    """A server answered what it must not, or two disagree."""


class Table:
    """What a once-table has applied: id -> (how often, when last, by the table's time)."""

    def __init__(self, window_ms, now_ms, is_metered=False):
        self.window_ms = window_ms
        self.is_metered = is_metered  # it counts per period, too
        self.base_ms = -now_ms  # the table's time is the true time and this
        self.slow_ms = self.fast_ms = 0  # by how much it may be behind or ahead of that
        self.applied = {}
        self.counters = {}
        self.claims = {}  # claims.py
        self.holds = {}  # holds.py

    def copy(self):
        other = Table(self.window_ms, 0, self.is_metered)
        other.base_ms, other.slow_ms, other.fast_ms = self.base_ms, self.slow_ms, self.fast_ms
        other.applied, other.counters, other.claims = dict(self.applied), dict(self.counters), dict(self.claims)
        other.holds = dict(self.holds)
        return other

    def expected(self, identity, now_ms):
        """1 applied, 0 duplicate, None either."""
        if identity not in self.applied:
            return 1
        _, before_ms = self.applied[identity]
        age_ms = now_ms + self.base_ms - before_ms
        if age_ms + UNSURE_MS + self.fast_ms <= self.window_ms:
            return 0
        if age_ms - UNSURE_MS - self.slow_ms > self.window_ms * (1 + SLACK):
            return 1
        return None

    def note(self, identity, counter, delta, now_ms):
        times, _ = self.applied.get(identity, (0, 0))
        self.applied[identity] = (times + 1, now_ms + self.base_ms)
        self.counters[counter] = self.counters.get(counter, 0) + delta


class Host:
    def __init__(self, folder, number):
        self.clock = servers.Clock(folder / f"clock-{number}", wall_ms=number * 7_000_000)
        self.server = servers.Server(folder / f"server-{number}", clock=self.clock, host=f"host-{number}",
                                     appendonly="yes", appendfsync="always", repl_timeout=3600,
                                     repl_diskless_load="disabled").start()
        self.number = number

    def wall_ms(self):
        return int(time.time() * 1000) + self.clock.wall_ms + self.clock.passed_ms


class Fleet:
    def __init__(self, trace):
        self.trace = trace
        self.temporary = tempfile.TemporaryDirectory(prefix="lethe-fleet-", ignore_cleanup_errors=True)
        folder = pathlib.Path(self.temporary.name)
        self.hosts = [Host(folder, number) for number in range(3)]
        self.true_ms = 0

    def close(self):
        for host in self.hosts:
            host.server.kill()
        self.temporary.cleanup()

    def pass_time(self, milliseconds):
        self.trace(f"{milliseconds / 1000:g} s pass")
        self.true_ms += milliseconds
        for host in self.hosts:
            host.clock.pass_time(milliseconds)
        time.sleep(0.25)  # no real hour is so short that a server does nothing in it

    def call(self, host, *words):
        try:
            answer = host.server.call(*words)
        except servers.redis.ResponseError as error:
            answer = error
        shown = " ".join(str(word)[:60] for word in words)
        self.trace(f"host {host.number}: {shown} -> {str(answer)[:100]}")
        return answer
