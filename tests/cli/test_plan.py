"""Goal: `lethe plan` plans stores and servers both ways, refuses what makes no sense with a message that says what
would, and simulates the same in every run.

Method: JSON of many combinations, compared with each other and with the text; hostile arguments; windows that --memory
finds, planned again; a real store that `lethe count` has made; figures drawn twice."""

import json
import math
import os
import re
import shutil
import xml.etree.ElementTree

import pytest

from conftest import SOURCE, run_lethe

SIZES = ["window_bytes", "counters_memory_bytes", "buckets_memory_bytes", "index_memory_bytes", "ledger_memory_bytes",
         "fixed_memory_bytes"]
DISKS = ["log_bytes", "changes_bytes", "unmerged_bytes", "counters_bytes", "buckets_bytes", "index_bytes", "ledger_bytes"]


def plan(*words):
    done = run_lethe("plan", "--json", *words)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("words", [
    ["--rate", "50k/s", "--window", "24h"],
    ["--rate", "1/d"],
    ["--rate", "10M/h", "--keys", "10M", "--per", "1h,1d", "--keep", "1h=90d"],
    ["--rate", "200k/m", "--exact", "--keys", "1k", "--key-bytes", "1024"],
    ["--rate", "50k/s", "--window", "1h", "--forever", "--after", "100d"],
    ["--rate", "1M/s", "--window", "1s", "--error", "10%"],
])
def test_sums_of_a_store(words):
    found = plan(*words)
    assert found["plan"] == "store"
    assert found["memory_bytes"] == sum(found[name] for name in SIZES)
    assert found["disk_bytes"] == sum(found[name] for name in DISKS)
    assert found["window_peak_bytes"] >= found["window_bytes"] > 0
    assert found["log_bytes"] >= 10 * found["log_ids"]
    assert (found["ledger_bytes"] > 0) == ("--forever" in words)
    assert (found["index_memory_bytes"] > 0) == ("--exact" in words)
    assert (found["buckets"] > 0) == ("--per" in words)


def test_what_grows_with_what():
    base = plan("--rate", "100k/s", "--window", "1h", "--keys", "1M")
    twice = plan("--rate", "200k/s", "--window", "1h", "--keys", "1M")
    longer = plan("--rate", "100k/s", "--window", "2h", "--keys", "1M")
    assert twice["ids"] == longer["ids"] == 2 * base["ids"]
    assert twice["window_bytes"] == pytest.approx(2 * base["window_bytes"], rel=0.25)
    assert twice["counters_bytes"] == longer["counters_bytes"] == base["counters_bytes"]
    finer = plan("--rate", "100k/s", "--window", "1h", "--keys", "1M", "--error", "1e-3")
    assert finer["window_bytes"] < 0.5 * base["window_bytes"] and finer["log_bytes"] == base["log_bytes"]
    metered = plan("--rate", "100k/s", "--window", "1h", "--keys", "1M", "--per", "1h", "--after", "10d")
    assert metered["buckets"] == pytest.approx(240e6, rel=0.01)
    kept = plan("--rate", "100k/s", "--window", "1h", "--keys", "1M", "--per", "1h", "--keep", "1h=1d", "--after", "10d")
    assert kept["buckets"] == pytest.approx(25e6, rel=0.01)
    # Keys that are used once a day have no bucket in most hours.
    rare = plan("--rate", "1M/d", "--window", "1h", "--keys", "1M", "--per", "1h", "--after", "10d")
    assert rare["buckets"] == pytest.approx(240e6 * (1 - math.exp(-1 / 24)), rel=0.01)


@pytest.mark.parametrize("memory", ["100MiB", "2GiB", "300GiB"])
@pytest.mark.parametrize("more", [[], ["--error", "1e-6"], ["--keys", "100k"], ["--redis"],
                                  ["--redis", "--keys", "1k", "--partitions", "4"]])
def test_the_window_that_fits(memory, more):
    limit = {"100MiB": 100 << 20, "2GiB": 2 << 30, "300GiB": 300 << 30}[memory]
    found = plan("--rate", "20k/s", "--memory", memory, *more)
    used = "used_bytes" if "--redis" in more else "memory_bytes"
    assert found[used] <= limit
    if found["window_ms"] == 30 * 86400000:
        return
    again = plan("--rate", "20k/s", "--window", f"{found['window_ms']}ms", *more)
    assert again == found
    # A little more does not fit. Memory has steps where remainders get longer.
    more_ms = int(found["window_ms"] * 1.02) + 1000
    assert plan("--rate", "20k/s", "--window", f"{more_ms}ms", *more)[used] > limit


def test_no_window_fits():
    done = run_lethe("plan", "--rate", "1G/s", "--memory", "64MiB")
    assert done.returncode == 1 and b"not even a window of 1 s fits" in done.stderr
    done = run_lethe("plan", "--rate", "10k/s", "--memory", "1MiB")
    assert done.returncode == 1


@pytest.mark.parametrize("words", [
    [["--rate", "1T/d", "--window", "1h"]],
    [["--rate", "1T/d", "--window", "24h"]],
    [["--rate", "50k/s", "--keys", "1M", "--per", "1h", "--keep", "1h=2d"]],
    [["--rate", "50k/s", "--keys", "1M", "--partition-by", "key", "--batch", "1"]],
])
def test_servers(words):
    found = plan("--redis", *words[0])
    assert found["plan"] == "redis"
    assert 1 <= found["partitions"] <= 1024 and found["partitions"] & (found["partitions"] - 1) == 0
    assert found["memory_bytes"] == found["partition_bytes"] * found["partitions"]
    assert found["used_bytes"] >= found["memory_bytes"]
    assert found["masters"] == max(found["masters_for_work"], found["masters_for_memory"])
    assert found["busy"] <= 0.5001
    assert found["used_bytes"] / found["masters"] <= found["server_memory_bytes"] / 2
    if "--keys" not in words[0]:
        assert found["partitions"] == 1024 or found["partition_bytes"] <= 256 << 20
    # Half the servers' memory is twice the servers, where memory decides.
    half = plan("--redis", *words[0], "--server-memory", "16GiB")
    if found["masters_for_memory"] > 1:
        assert half["masters_for_memory"] in (2 * found["masters_for_memory"] - 1, 2 * found["masters_for_memory"])


def test_counters_are_in_every_partition_by_id():
    words = ["--rate", "50k/s", "--window", "24h", "--keys", "1M", "--per", "1h", "--keep", "1h=2d"]
    by_id, by_key = plan("--redis", *words), plan("--redis", *words, "--partition-by", "key")
    assert by_id["counters"] == 1000000 * by_id["partitions"] and by_key["counters"] < 1001000
    assert by_key["memory_bytes"] < by_id["memory_bytes"] / 2
    assert by_id["partitions"] < 128 # more would not make them smaller
    # Where keys are seldom used, most partitions have not met them.
    rare = plan("--redis", "--rate", "1M/d", "--keys", "1M", "--after", "10d", "--partitions", "100")
    assert rare["counters"] == pytest.approx(1e8 * (1 - math.exp(-0.1)), rel=0.01)


def test_replication_and_batches():
    single = plan("--redis", "--rate", "50k/s", "--batch", "1")
    many = plan("--redis", "--rate", "50k/s", "--batch", "512")
    assert single["effect_bytes"] > many["effect_bytes"]
    assert single["busy"] * single["masters"] > many["busy"] * many["masters"]
    two = plan("--redis", "--rate", "50k/s", "--replicas", "2")
    assert two["replicated_bytes_per_s"] == pytest.approx(2 * many["replicated_bytes_per_s"])


BAD = [
    ([], "give --rate"),
    (["--rate", "0/s"], "is zero"),
    (["--rate", "0"], "is zero"),
    (["--rate", "-5/s"], "is negative"),
    (["--rate", "50k"], "needs its unit"),
    (["--rate", "50k/y"], "needs its unit"),
    (["--rate", "/s"], "is not a number"),
    (["--rate", "50k/s/s"], "50k/s"),
    (["--rate", "nan/s"], "is not a number"),
    (["--rate", "1e300/s"], "is too large"),
    (["--rate", "2T/s"], "more than 1T/s"),
    (["--rate", "9" * 200 + "/s"], "too long"),
    (["--rate", "0.5/s"], "whole"),
    (["--rate", "1/s", "--window", "36500d"], "30d"),
    (["--rate", "1/s", "--window", "10ms"], "1s"),
    (["--rate", "1/s", "--window", "1"], "unit"),
    (["--rate", "1/s", "--error", "0"], "zero"),
    (["--rate", "1/s", "--error", "1"], "--error"),
    (["--rate", "1/s", "--error", "1e-13"], "1e-12"),
    (["--rate", "1/s", "--error", "nan"], "not a number"),
    (["--rate", "1/s", "--keys", "0"], "zero"),
    (["--rate", "1/s", "--keys", "99999999999999999999999"], "--keys"),
    (["--rate", "1/s", "--key-bytes", "1025"], "1024"),
    (["--rate", "1/s", "--after", "100000d"], "36500d"),
    (["--rate", "1/s", "--memory", "0"], "zero"),
    (["--rate", "1/s", "--memory", "99999999TiB"], "--memory"),
    (["--rate", "1/s", "--memory", "1GiB", "--window", "1h"], "leave --window out"),
    (["--rate", "1/s", "--per", "1h"], "--per needs --keys"),
    (["--rate", "1/s", "--keep", "1h=1d"], "--keep needs --per"),
    (["--rate", "1/s", "--keys", "1", "--per", "7m"], "no period"),
    (["--rate", "1/s", "--keys", "1", "--per", "1h", "--keep", "1d=1y"], "does not count"),
    (["--rate", "1/s", "--exact", "--forever"], "cannot be used"),
    (["--rate", "1/s", "--partitions", "4"], "needs --redis"),
    (["--rate", "1/s", "--replicas", "1"], "needs --redis"),
    (["--rate", "1/s", "--redis", "--forever"], "for stores"),
    (["--rate", "1/s", "--redis", "--partitions", "1025"], "1024"),
    (["--rate", "1/s", "--redis", "--keys", "1", "--per", "1y"], ""),
    (["--rate", "1/s", "--redis", "--server-memory", "1MiB"], "64"),
    (["--rate", "1T/s", "--window", "30d"], "more than one window can hold"),
    (["--rate", "1T/s", "--window", "30d", "--redis"], "several tables"),
    (["--rate", "20G/s", "--window", "1s", "--keys", "1T", "--per", "1s", "--after", "36500d"], "buckets are not planned"),
    (["--rate", "20G/s", "--window", "1s", "--keys", "1T", "--per", "1h", "--redis", "--partitions", "1024",
      "--partition-by", "id", "--after", "36500d"], "several tables"),
    (["--rate", "1M/s", "--window", "1s", "--forever", "--after", "36500d"], "ledger"),
    (["--rate", "1/s", "extra"], "too many"),
    (["--rate", "1/s", "--out", "x"], "--out needs --simulate"),
    (["--simulate", "--rate", "1/s"], "cannot be used"),
    (["--simulate", "scale-que"], "did you mean 'scale-queue'"),
    (["--simulate", "zzz"], "lists them"),
]


@pytest.mark.parametrize("words, message", BAD)
def test_what_makes_no_sense(words, message):
    done = run_lethe("plan", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode(), done.stderr.decode()
    assert done.stderr.startswith(b"lethe")


def test_text_says_the_same():
    done = run_lethe("plan", "--rate", "50k/s", "--window", "24h", "--error", "1e-12", "--keys", "10M", "--per", "1h",
                     "--forever")
    text = done.stdout.decode()
    for row in ("events          50.0k a second, 4.3G a day", "window          1d, error 1e-12", "memory ", "  ids ",
                "  counters ", "  buckets ", "  ledger ", "disk ", "growth ", "opening "):
        assert row in text, text
    assert done.stderr == b""
    text = run_lethe("plan", "--redis", "--rate", "1T/d", "--window", "1h").stdout.decode()
    for row in ("partitions ", "slots ", "masters ", "replication ", "moving ", "fork ", "resync "):
        assert "\n" + row in text


def test_warnings():
    assert b"several stores" in run_lethe("plan", "--rate", "100M/s", "--window", "1s").stderr
    assert b"lethe.largest-value" in run_lethe("plan", "--redis", "--rate", "1T/d", "--window", "7d").stderr
    assert b"lethe.largest-value" in run_lethe("plan", "--redis", "--rate", "50k/s", "--window", "24h",
                                               "--partitions", "1").stderr
    assert b"by key" in run_lethe("plan", "--redis", "--rate", "50k/s", "--partition-by", "key").stderr


def test_beside_a_store(tmp_path):
    """A store as lethe count makes it, of events that carry their time."""
    keys, rate, seconds = 2000, 4000, 150
    lines = "".join(f"id{i}\tkey{i * 7919 % keys:021}\t1\t{1700000000 + i / rate:.3f}\n" for i in range(rate * seconds))
    done = run_lethe("count", "--quiet", "--db", str(tmp_path / "db"), "--window", "60s", "--error", "1e-9", "--fields",
                     "id=1,key=2,delta=3,time=4", "-", stdin=lines.encode())
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(run_lethe("stat", "--json", "--db", str(tmp_path / "db")).stdout)
    planned = plan("--rate", f"{rate}/s", "--window", "60s", "--error", "1e-9", "--keys", str(keys), "--key-bytes", "24")
    assert found["log_ids"] == pytest.approx(planned["log_ids"], rel=0.1)


def test_costs_are_what_was_measured():
    """bench/redis/costs.py wrote them; docs and figures rest on the constants."""
    measured = json.loads((SOURCE / "bench/results/costs.json").read_text())["costs"]
    text = (SOURCE / "cli/plan/costs.h").read_text()
    stated = {name.lower(): float(value) for name, value in re.findall(r"#define COST_(\w+) ([-0-9.e]+)", text)}
    compared = set(measured) & set(stated)
    assert compared == set(measured) - {"effect_bytes"}
    for name in compared:
        assert stated[name] == pytest.approx(measured[name], rel=0.05), name


def test_figures(tmp_path):
    listed = run_lethe("plan", "--simulate").stdout.decode().splitlines()
    names = [line.split()[0] for line in listed]
    assert names == ["scale-growth", "scale-queue", "scale-hot", "scale-failure", "scale-move"]
    outputs = []
    for folder in ("one", "two"):
        done = run_lethe("plan", "--simulate", "--quiet", "--out", str(tmp_path / folder), "scale-growth", "scale-failure")
        assert (done.returncode, done.stderr) == (0, b"")
        outputs.append(done.stdout)
        for name in ("scale-growth", "scale-failure"):
            assert (tmp_path / folder / f"{name}.csv").read_text().count("\n") > 10
            if shutil.which("gnuplot"):
                xml.etree.ElementTree.parse(tmp_path / folder / f"{name}.svg")
    assert outputs[0] == outputs[1]
    for name in os.listdir(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    text = outputs[0].decode()
    assert "no event is lost and none is counted twice" in text
