"""Goal:   `lethe count` decides every stream as an exact model in Python does.

Method: hypothesis makes up streams: duplicates near and far, bursts, late and future events, several counters an operation,
lines that are wrong, overflows, deltas of either sign, restarts between any two events. The model keeps all ids for ever, with
their times. In exact mode every number must agree; otherwise duplicates between W and W (1 + slack) may go either way, and
the model follows."""

import collections
import decimal
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from hypothesis import HealthCheck, given, settings, strategies

SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BINARIES = pathlib.Path(os.environ.get("LETHE_BIN_DIR", SOURCE / "build/release")).resolve()
sys.path.insert(0, str(SOURCE / "tests/support"))
from sizes import sized  # noqa: E402

# Thousands of small stores, which would wait for the disk nine tenths of the time, and are not about it.
PLACE = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
START = 1_600_000_000_000
WINDOW = 60_000
SMALLEST, LARGEST = -2**63, 2**63 - 1
OUTCOMES = ("applied", "duplicates", "late", "future", "overflow", "invalid", "refused", "mismatched", "limited",
            "unreadable")


def payload(changes):
    """What makes an event the same: its changes, without those of 0 beside another one of their key."""
    others = collections.Counter(key for key, delta in changes if delta != 0)
    zeros = {key for key, delta in changes if delta == 0 and others[key] == 0}
    return sorted([change for change in changes if change[1] != 0] + [(key, 0) for key in zeros])


class Model:
    """What the store should hold. Every event is judged by the clock that the events before it set."""

    def __init__(self):
        self.clock = 0
        self.applied_at = {}
        self.changes_of = {}
        self.totals = {}

    def believes(self, time, following):
        """Whether the clock may jump to this time, by the times of the events that follow."""
        heard = [other for other in following if other <= 4 * START and other + WINDOW >= self.clock]
        behind = sum(other + WINDOW < time for other in heard)
        return len(heard) - behind >= behind

    def judge(self, identity, changes, time, following):
        if time is not None:
            if time > 4 * START:
                return "future"
            if time + WINDOW < self.clock:
                return "late"
            if time > self.clock + WINDOW and not self.believes(time, following):
                return "future"
            self.clock = max(self.clock, time)
        before = self.applied_at.get(identity)
        if before is not None and self.clock - before <= WINDOW:
            return "duplicates" if self.changes_of[identity] == payload(changes) else "mismatched"
        totals = dict(self.totals)
        for key, delta in changes:
            totals[key] = totals.get(key, 0) + delta
        if any(not SMALLEST <= totals[key] <= LARGEST for key, _ in changes):  # as they end up
            return "overflow"
        self.totals = totals
        self.applied_at[identity] = self.clock
        self.changes_of[identity] = payload(changes)
        return "applied"


def run(folder, words, lines):
    events = folder.with_name(f"events-{len(os.listdir(folder.parent))}")
    events.write_bytes("".join(lines).encode())
    result = subprocess.run([BINARIES / "lethe", "count", "--db", folder, "--json", "--window", "60s",
                             "--check-payload", "--sync", "always", "--from-start", *words, events],
                            stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False, timeout=60)
    assert result.returncode in (0, 5) and result.stdout != b"", (result.returncode, result.stderr.decode())
    summary = json.loads(result.stdout)
    skipped = summary["events"] - summary["applied"] - summary["duplicates"]
    assert result.returncode == (5 if skipped > 0 else 0), result.stderr.decode()
    return summary


def totals(folder, scale):
    """In units of 10^-scale."""
    result = subprocess.run([BINARIES / "lethe", "list", "--db", folder], stdout=subprocess.PIPE,
                            check=True, timeout=60)
    return {key: int(decimal.Decimal(value).scaleb(scale)) for key, value in
            (line.split("\t") for line in result.stdout.decode().splitlines())}


def check_stat(folder, expected, counters):
    """The store itself knows what became of all events of all runs."""
    result = subprocess.run([BINARIES / "lethe", "stat", "--db", folder, "--json"], stdout=subprocess.PIPE,
                            check=True, timeout=60)
    stat = json.loads(result.stdout)
    known = [name for name in OUTCOMES if name != "unreadable"]
    assert {name: stat[name] for name in known} == {name: expected[name] for name in known}
    assert (stat["counters"], stat["counters_exact"]) == (counters, True)


def judge_run(model, events):
    """What becomes of each event. The times of the next 64 are known, whatever the batches are."""
    for place, (_, meaning) in enumerate(events):
        if meaning is None:
            yield "unreadable"
            continue
        times = [other[2] for _, other in events[place + 1:] if other is not None]
        yield model.judge(*meaning, times[:64])


def compare(words, runs, scale=0):
    """runs: lists of (line, what it means or None if it is no event)."""
    model, became = Model(), collections.Counter()
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        store = pathlib.Path(folder) / "store"
        for events in runs:
            expected = collections.Counter(judge_run(model, events))
            became += expected
            summary = run(store, words, [line for line, _ in events])
            assert summary["events"] == len(events)
            assert {name: summary[name] for name in OUTCOMES} == {
                name: expected[name] for name in OUTCOMES}
        assert totals(store, scale) == model.totals
        check_stat(store, became, len(model.totals))


identities = strategies.integers(0, 30).map(lambda number: f"id-{number}")
keys = strategies.integers(0, 5).map(lambda number: f"key-{number}")
deltas = strategies.one_of(strategies.integers(-9, 9), strategies.sampled_from(
    [SMALLEST, LARGEST, LARGEST // 2 + 1, -1]))
SCALES = (2, 18)
WRONG = strategies.sampled_from(["only-an-id\n", "a\tk\tone\n", "a\tk\t9223372036854775808\n",
                                 "a\t\t1\n", "\tk\t1\n", "a\tk\t1\t\n", "a\\q\tk\t1\n"])


def written(units, scale):
    """One of the ways to write a delta, without and with zeros that change nothing."""
    exact = decimal.Decimal(units).scaleb(-scale)
    return f"{exact:f}" if units % 2 == 0 else f"{units}e-{scale}"


@strategies.composite
def plain_event(draw, scale=0):
    """By the wall clock, which stands still as far as W is concerned; several counters an operation."""
    if draw(strategies.integers(0, 15)) == 0:
        return draw(WRONG), None
    identity = draw(identities)
    changes = draw(strategies.lists(strategies.tuples(keys, deltas), min_size=1, max_size=3))
    fields = "\t".join(f"{key}\t{written(delta, scale) if scale > 0 else delta}" for key, delta in changes)
    return f"{identity}\t{fields}\n", (identity, changes, None)


@strategies.composite
def timed_event(draw):
    identity, key, delta = draw(identities), draw(keys), draw(strategies.integers(-9, 9))
    offset = draw(strategies.one_of(strategies.integers(0, 2_000), strategies.integers(0, 400_000)))
    time = START + offset if draw(strategies.integers(0, 20)) else 8 * START + offset
    return f"{identity}\t{key}\t{delta}\t{time}\n", (identity, [(key, delta)], time)


EXAMPLES = min(sized(10, 30, 1500), int(os.environ.get("LETHE_EXAMPLES", "1500")))
COMMON = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
                  suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@COMMON
@given(strategies.lists(strategies.lists(plain_event(), max_size=60), min_size=1, max_size=3))
def test_by_the_wall_clock(runs):
    compare([], runs)


@COMMON
@given(strategies.sampled_from(SCALES).flatmap(lambda scale: strategies.tuples(
    strategies.just(scale),
    strategies.lists(strategies.lists(plain_event(scale), max_size=60), min_size=1, max_size=3))))
def test_decimals(drawn):
    scale, runs = drawn
    compare(["--scale", str(scale)], runs, scale=scale)


@COMMON
@given(strategies.lists(strategies.lists(timed_event(), max_size=60), min_size=1, max_size=3),
       strategies.sampled_from([1, 7, 65536]))
def test_by_the_time_of_events(runs, batch):
    compare(["--fields", "id=1,key=2,delta=3,time=4", "--batch", str(batch)], runs)
