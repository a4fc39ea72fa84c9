"""Goal:   GBF.* has no false negative, a replica has its master's marks, and it holds the Bloom filter that it says.
Method: sessions; a replica whose exp() is another; the Bloom filter that is taken out against the one that lethe(1) builds of
        the same items. What all filters have in common is tested by test_filters.py."""

import os
import pathlib
import random
import struct
import subprocess

import pytest
import redis
from filters import Gaussian, SHAPES
from servers import IS_SANITIZED, is_bound_deeply, MODULE, table_info
from stream import Stream
from test_types import error_of


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
    filters = Gaussian()
    filters.begin(master)
    filters.run(master, random.Random(24), 300)
    replica.catch_up_with(master)
    assert filters.digests(master) == filters.digests(replica)


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
