"""Goal:   GBF.* has no false negative, is the same on master, replica and in files, and holds the Bloom filter that it says.
Method: sessions; random additions and merges, with the items kept beside; each way in which a server writes and reads its
        data; the Bloom filter that is taken out against the one that lethe(1) builds of the same items."""

import os
import pathlib
import random
import struct
import subprocess

import pytest
import redis
from servers import IS_SANITIZED, is_bound_deeply, MODULE, table_info, wait_for
from stream import Stream
from test_commands import raw
from test_types import error_of

SHAPES = [[], ["SLOTS", 3000, "HASHES", 5], ["CAPACITY", 500, "ERROR", 0.001, "BITS", 2],
          ["SLOTS", 3000, "HASHES", 3, "BITS", 1], ["SLOTS", 3000, "BITS", 8, "SPACING", "published"],
          ["SLOTS", 3000, "HASHES", 4, "BITS", 32], ["SLOTS", 3000, "HASHES", 4, "BITS", 64, "SPACING", "PUBLISHED"]]


def test_a_session(server):
    assert server.call("GBF.RESERVE", "g", "capacity", 1000, "ERROR", 0.001, "SEED", 7) == b"OK"
    assert server.call("GBF.ADD", "g", "a") == 1
    assert server.call("GBF.ADD", "g", "a") == 0
    assert server.call("GBF.MADD", "g", "b", "a", "b", "") == [1, 0, 0, 1]
    assert server.call("GBF.TEST", "g", "a") == 1
    assert server.call("GBF.MTEST", "g", "a", "z", "b") == [1, 0, 1]
    info = table_info(server.client, "g")
    assert (info["capacity"], info["additions"], info["slot_bits"]) == (1000, 6, 4)
    assert abs(info["items_estimate"] - 3) < 0.1 and info["error_target"] <= 0.001
    assert info["error_estimate"] <= info["bloom_error_estimate"] < 1e-9
    assert server.client.memory_usage("g") >= info["slots"] // 2


def test_keys_that_are_not_there(server):
    assert server.call("GBF.TEST", "none", "a") == 0
    assert server.call("GBF.MTEST", "none", "a", "b") == [0, 0]
    for name in ("INFO", "EXTRACT"):
        assert "no such" in error_of(server, "GBF." + name, "none")
    assert server.client.keys() == []
    assert server.call("GBF.MADD", "made", "a", "b") == [1, 1]
    assert table_info(server.client, "made")["capacity"] == 65536


@pytest.mark.parametrize("words", [
    ["CAPACITY", 0], ["CAPACITY", -1], ["CAPACITY", 1 << 62], ["ERROR", 0], ["ERROR", 0.6], ["ERROR", "nan"],
    ["SLOTS", 0], ["SLOTS", 1], ["SLOTS", (1 << 40) + 1], ["SLOTS", 100, "CAPACITY", 10], ["SLOTS", 100, "ERROR", 0.1],
    ["HASHES", 3], ["SLOTS", 100, "HASHES", 0], ["SLOTS", 100, "HASHES", 65], ["SLOTS", 100, "HASHES", (1 << 32) + 3],
    ["BITS", 0], ["BITS", 9], ["BITS", 16], ["BITS", (1 << 32) + 4], ["SPACING", "odd"], ["SPACING"], ["SEED", 0],
    ["SEED", "x"], ["WINDOW", 1000], ["SLOTS", 30, "HASHES", 5, "BITS", 64, "SPACING", "published"]])
def test_bad_options_make_nothing(server, words):
    error_of(server, "GBF.RESERVE", "g", *words)
    assert server.client.keys() == []


def test_filters_merge(server):
    for key, items in (("g", "ab"), ("h", "bc")):
        server.call("GBF.RESERVE", key, "SEED", 3, "SLOTS", 5000, "HASHES", 5)
        server.call("GBF.MADD", key, *items)
    others = {"seed": ["SEED", 4, "SLOTS", 5000, "HASHES", 5], "size": ["SEED", 3, "SLOTS", 5001, "HASHES", 5],
              "bits": ["SEED", 3, "SLOTS", 5000, "HASHES", 5, "BITS", 3],
              "spacing": ["SEED", 3, "SLOTS", 5000, "HASHES", 5, "SPACING", "published"]}
    for key, words in others.items():
        server.call("GBF.RESERVE", key, *words)
    assert server.call("GBF.MERGE", "g", "h") == b"OK"
    assert server.call("GBF.MTEST", "g", *"abcd") == [1, 1, 1, 0]
    before = server.call("DEBUG", "DIGEST")
    for words in [["g", key] for key in others] + [["g", "g"], ["g", "none"], ["none", "g"]]:
        error_of(server, "GBF.MERGE", *words)
    assert server.call("DEBUG", "DIGEST") == before


def test_the_digest_is_of_the_content(server):
    def digest_of(*items, words=("SEED", 3, "SLOTS", 2000, "HASHES", 4)):
        server.client.delete("g")
        server.call("GBF.RESERVE", "g", *words)
        if items:
            server.call("GBF.MADD", "g", *items)
        return server.digest("g")
    assert digest_of("a", "b") == digest_of("b", "a")
    different = [digest_of(), digest_of("a"), digest_of("b"), digest_of("a", "b"),
                 digest_of("a", words=("SEED", 4, "SLOTS", 2000, "HASHES", 4)),
                 digest_of("a", words=("SEED", 3, "SLOTS", 2000, "HASHES", 4, "BITS", 5)),
                 digest_of("a", words=("SEED", 3, "SLOTS", 2000, "HASHES", 4, "SPACING", "published"))]
    assert len(set(different)) == len(different)


def begin(server):
    """Two filters of each shape, and what they hold."""
    held = {}
    for i, words in enumerate(SHAPES):
        for key in (f"g{i}", f"h{i}"):
            server.call("GBF.RESERVE", key, "SEED", 5, *words)
            held[key] = set()
    return held


def run(server, chance, held, steps):
    for _ in range(steps):
        key = chance.choice(sorted(held))
        items = [chance.randrange(100000) for _ in range(chance.choice([1, 5, 40]))]
        answers = server.call("GBF.MADD", key, *items)
        assert all(answer == 0 for item, answer in zip(items, answers) if item in held[key])
        held[key].update(items)
        if chance.random() < 0.03:
            other = key.translate(str.maketrans("gh", "hg"))
            assert server.call("GBF.MERGE", key, other) == b"OK"
            held[key] |= held[other]


def check(server, held):
    for key, items in held.items():
        assert server.call("GBF.MTEST", key, "", *items)[1:] == [1] * len(items)


def digests(server, held):
    return [server.digest(key) for key in sorted(held)]


def test_a_replica_is_the_same(pair):
    master, replica = pair
    held = begin(master)
    chance = random.Random(21)
    for step in range(6):
        run(master, chance, held, 80)
        master.call("GBF.ADD", "made", step)
        if step == 3: # a new copy by snapshot, and on from there
            replica.call("REPLICAOF", "NO", "ONE")
            replica.call("DEBUG", "CHANGE-REPL-ID")
            replica.follow(master)
        replica.catch_up_with(master)
        assert digests(master, held) == digests(replica, held)
        assert master.digest("made") == replica.digest("made")
    check(replica, held)


EXP = """
#include <math.h>
double exp(double x) { return expm1(x) * (1 + 0x1p-40) + 1; }
"""


def test_a_replica_with_another_exp(start, tmp_path):
    """Marks come from exp(), and its last bit is not the same on every machine: a replica has its master's all the same."""
    if IS_SANITIZED:
        pytest.skip("the sanitizer has to be the first library")
    if is_bound_deeply():
        pytest.skip("this server gives modules no other exp()")
    library = tmp_path / "exp.so"
    (tmp_path / "exp.c").write_text(EXP)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", library,
                    tmp_path / "exp.c", "-lm"], check=True)
    master, replica = start(), start(prefix=("env", f"LD_PRELOAD={library}"))
    for server in (master, replica): # without help they would differ
        server.call("GBF.RESERVE", "g5", "SEED", 5, *SHAPES[5])
        server.call("GBF.RESERVE", "g6", "SEED", 5, *SHAPES[6])
    assert master.digest("g6") != replica.digest("g6")
    master.client.flushall()
    replica.follow(master)
    replica.catch_up_with(master)
    held = begin(master)
    run(master, random.Random(24), held, 300)
    replica.catch_up_with(master)
    assert digests(master, held) == digests(replica, held)


def test_a_new_filters_marks_are_sent(start):
    """Whatever the filter's size, but not its slots."""
    server = start()
    stream = Stream(server.port)
    server.call("GBF.RESERVE", "g", "SLOTS", 50000000, "HASHES", 3, "SEED", 9)
    server.client.set("end", 1)
    (name, key, data), = stream.commands(lambda words: words[0] == b"SET")
    stream.close()
    assert (name, key, data[9:10]) == (b"GBF.EFFECT", b"g", b"C")
    slots, capacity, error, size = struct.unpack_from("<QQdI", data, 10)
    assert (slots, capacity, error, size) == (50000000, 0, 0, len(data) - 38)
    pattern = data[38:]
    assert pattern[:8] == b"\x89LETHE\r\n" and b"GAUS" in pattern[:40] and size < 1000


@pytest.mark.parametrize("way", ["snapshot", "log", "log with a snapshot", "rewritten log"])
def test_restarts(start, way):
    server = start(appendonly="no" if way == "snapshot" else "yes", appendfsync="always",
                   aof_use_rdb_preamble="yes" if way == "log with a snapshot" else "no")
    held = begin(server)
    chance = random.Random(22)
    run(server, chance, held, 100)
    if way == "snapshot":
        server.call("SAVE")
    elif way != "log":
        server.call("BGREWRITEAOF")
        wait_for(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0 and
                 server.client.info("persistence")["aof_last_bgrewrite_status"] == "ok", 60, "rewriting")
        run(server, chance, held, 20)
    before = digests(server, held)
    server.restart()
    assert digests(server, held) == before
    run(server, chance, held, 50)
    check(server, held)


def test_copies_and_moves(start):
    server, other = start(), start()
    held = begin(server)
    run(server, random.Random(23), held, 60)
    for i in range(len(SHAPES)):
        key = f"g{i}"
        before = server.digest(key)
        assert server.client.copy(key, "copied", replace=True)
        server.client.restore("restored", 0, server.client.dump(key), replace=True)
        assert server.digest("copied") == server.digest("restored") == before
        server.call("GBF.ADD", "copied", "new")
        assert server.digest(key) == before != server.digest("copied")
        assert server.call("MIGRATE", "127.0.0.1", other.port, key, 0, 10000) == b"OK"
        assert server.client.exists(key) == 0 and other.digest(key) == before


def test_a_large_one_goes_in_pieces(server):
    server.call("GBF.RESERVE", "g", "SLOTS", 5000001, "HASHES", 5)
    server.call("GBF.MADD", "g", *range(20000))
    number, is_last = 0, 0
    while not is_last:
        _, is_last, data = server.call("GBF.DUMP", "g", number)
        assert server.call("GBF.LOAD", "copy", number, is_last, data) == b"OK"
        if not is_last:
            assert "pieces" in error_of(server, "GBF.TEST", "copy", "a")
        number += 1
    assert number > 1 and server.digest("copy") == server.digest("g")
    assert server.call("GBF.MTEST", "copy", *range(20000)) == [1] * 20000
    assert server.client.unlink("g", "copy") == 2


def test_the_bloom_filter_inside(server, tmp_path):
    """Byte for byte what the command line builds with that size, seed and items."""
    lethe = pathlib.Path(os.environ.get("LETHE_CLI", MODULE.with_name("lethe")))
    if not lethe.exists():
        pytest.skip("no lethe(1) beside the module")
    items = [f"item-{i}" for i in range(300)]
    (tmp_path / "items").write_text("".join(item + "\n" for item in items))
    server.call("GBF.RESERVE", "g", "SLOTS", 4001, "HASHES", 5, "SEED", 77)
    server.call("GBF.MADD", "g", *items)
    subprocess.run([lethe, "filter", "build", "--kind", "gaussian", "--slots", "4001", "--hashes", "5", "--seed", "77",
                    "--out", tmp_path / "gaussian", tmp_path / "items"], check=True)
    subprocess.run([lethe, "filter", "extract", "--out", tmp_path / "bloom", tmp_path / "gaussian"], check=True)
    assert server.call("GBF.EXTRACT", "g") == (tmp_path / "bloom").read_bytes()


def test_both_protocols(server):
    server.call("GBF.MADD", "g", "a", "b", "a")
    for protocol in (2, 3):
        assert raw(server, protocol, "GBF.MTEST g a z") == b"*2\r\n:1\r\n:0\r\n"
    assert raw(server, 3, "GBF.INFO g").startswith(b"%12\r\n")
    assert b"$4\r\nfill\r\n," in raw(server, 3, "GBF.INFO g")
    assert raw(server, 2, "GBF.INFO g").startswith(b"*24\r\n")


def test_in_transactions_and_scripts(server):
    pipe = server.client.pipeline(transaction=True)
    pipe.execute_command("GBF.ADD", "g", "a")
    pipe.execute_command("GBF.TEST", "g", "a")
    assert pipe.execute() == [1, 1]
    assert server.client.eval("return redis.call('GBF.MADD', KEYS[1], 'a', 'b')", 1, "g") == [0, 1]
    watcher = server.client.pipeline()
    watcher.watch("g")
    server.call("GBF.ADD", "g", "c")
    watcher.multi()
    watcher.execute_command("GBF.ADD", "g", "d")
    with pytest.raises(redis.WatchError):
        watcher.execute()


def test_when_memory_is_short(start):
    server = start(maxmemory="100kb", maxmemory_policy="noeviction")
    for words in (["GBF.ADD", "g", "a"], ["GBF.RESERVE", "g"], ["GBF.MADD", "g", "a"]):
        assert "maxmemory" in error_of(server, *words)
