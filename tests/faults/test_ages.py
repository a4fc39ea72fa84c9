"""Goal: the ages that `lethe stat` shows are ages now, however long nobody has written to the store.

Method: a store is written, and read with clocks that are set ahead (preload_time.c)."""

import json
import os
import re
import subprocess
import time

import pytest
from conftest import BINARIES, PRELOAD

HOUR_MS = 3600000
SLOW_MS = 300000  # what a busy machine may take between two commands


def run(folder, *words, stdin=b"", wall_ms=0, boot_ms=0, boot_id=None):
    environment = {**os.environ, "LD_PRELOAD": str(PRELOAD), "LETHE_CLOCK_WALL_MS": str(wall_ms),
                   "LETHE_CLOCK_BOOT_MS": str(boot_ms)}
    if boot_id is not None:
        environment["LETHE_CLOCK_BOOT_ID"] = str(boot_id)
    result = subprocess.run([BINARIES / "lethe", *words], cwd=folder, input=stdin, env=environment, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout.decode()


def clock_of(folder, **clocks):
    return json.loads(run(folder, "stat", "--db", "d", "--json", **clocks))["clock_ms"]


@pytest.mark.parametrize("way", ["idle", "restarted"])
def test_time_that_passes_while_nobody_writes(way, tmp_path):
    """By the machine's own clock, or, when the machine was started again, by the wall clock."""
    run(tmp_path, "count", "--db", "d", "--window", "1d", stdin=b"a\tk\t1\n")
    before = clock_of(tmp_path)
    clocks = {"wall_ms": HOUR_MS, "boot_ms": HOUR_MS}
    if way == "restarted":
        (tmp_path / "boot").write_text("f" * 32 + "\n")
        clocks = {"wall_ms": HOUR_MS, "boot_id": tmp_path / "boot"}
    assert HOUR_MS - 1000 <= clock_of(tmp_path, **clocks) - before <= HOUR_MS + SLOW_MS
    assert re.search(r"^\s+1:0\d:\d\d\s+1  ####", run(tmp_path, "stat", "--db", "d", **clocks), re.MULTILINE)


def test_a_period_that_is_added_by_a_clock_that_was_set_ahead(tmp_path):
    """The wall clock says which day it is, and so on which days something was counted before the store counted per day."""
    ahead = {"wall_ms": 30 * HOUR_MS}
    run(tmp_path, "count", "--db", "d", stdin=b"a\tk\t1\n")
    run(tmp_path, "count", "--db", "d", stdin=b"b\tk\t1\n", **ahead)
    before = time.time()
    run(tmp_path, "count", "--db", "d", "--per", "1d", stdin=b"c\tk\t1\n", **ahead)
    day = time.strftime("%Y-%m-%d", time.gmtime(before + 30 * 3600))
    assert run(tmp_path, "usage", "--db", "d", "--by", "1d", "--from", day, "k", **ahead).splitlines()[-1] == "rest\tk\t2"


def test_a_wall_clock_that_is_set_makes_nothing_older(tmp_path):
    run(tmp_path, "count", "--db", "d", stdin=b"a\tk\t1\n")
    before = clock_of(tmp_path)
    for step_ms in (-24 * HOUR_MS, 24 * HOUR_MS):
        assert 0 <= clock_of(tmp_path, wall_ms=step_ms) - before <= SLOW_MS


def test_events_with_times_have_the_age_of_the_latest(tmp_path):
    run(tmp_path, "count", "--db", "d", "--window", "1d", "--fields", "id=1,key=2,time=3",
        stdin=b"a\tk\t1600000000000\nb\tk\t1600000060000\n")
    assert clock_of(tmp_path, wall_ms=HOUR_MS, boot_ms=HOUR_MS) == 1600000060000
