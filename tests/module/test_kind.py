"""Goal:   a table keeps the kind of its window, wherever it goes; and one of the forgetful kind, from which no id can be
        taken back, counts as right as the other.
Method: what only this kind could get wrong, on real servers: commands that fail, refused ids on replicas that become
        masters, and everything through which a table is made again. test_replication and test_persistence compare
        digests under load."""

import json
import struct
import sys

import pytest
import redis
from counting import USAGE, count, lethe, listed, url_of
from servers import SOURCE, table_info, wait_for
from stream import Stream, decode_effect
from ways import AGAIN, make_again

sys.path.insert(0, str(SOURCE / "clients/python"))
from lethe_once import Once  # noqa: E402

KIND = ["KIND", "forgetful"]


def kind_of(server, key="t"):
    return table_info(server.client, key)["kind"]


def error_of(server, *words):
    with pytest.raises(redis.ResponseError) as caught:
        server.call(*words)
    return str(caught.value)


def test_the_kind_is_an_option(server):
    server.call("ONCE.CREATE", "t", *KIND)
    server.call("ONCE.CREATE", "u", "kind", "QUOTIENT")
    server.call("ONCE.INCRBY", "v", "a", "k", 1)
    assert [kind_of(server, key) for key in "tuv"] == [b"forgetful", b"quotient", b"quotient"]
    assert "KIND is out of its range: quotient or forgetful" in error_of(server, "ONCE.CREATE", "w", "KIND", "bloom")
    assert "POLICY, KIND, PER and KEEP" in error_of(server, "ONCE.CREATE", "w", "NAME", 1)
    assert "SEED and POLICY" in error_of(server, "FBF.RESERVE", "w", *KIND)


def test_the_kind_of_tables_that_their_first_use_makes(pair):
    """A replica goes by what its master made, not by its own settings."""
    master, replica = pair
    for one, kind in (master, "forgetful"), (replica, "forgetful"), (master, "quotient"):
        one.call("CONFIG", "SET", "lethe.window-kind", kind)
        if one is replica:
            continue
        key = "t-" + kind
        master.call("ONCE.INCRBY", key, "a", "k", 1)
        master.call("FBF.ADD", "f-" + kind, "a")
        replica.catch_up_with(master)
        assert kind_of(master, key).decode() == kind_of(replica, key).decode() == kind
        assert master.digest(key) == replica.digest(key)


def test_no_single_id_is_forgotten(server):
    server.call("ONCE.CREATE", "t", *KIND)
    server.call("ONCE.INCRBY", "t", "a", "k", 1)
    before = server.digest()
    assert "can't forget a single id" in error_of(server, "ONCE.FORGET", "t", "a")
    assert server.digest() == before
    assert server.call("ONCE.INCRBY", "t", "a", "k", 1) == [0, 1]


def test_what_overflows_is_not_remembered(server):
    server.call("ONCE.CREATE", "t", *KIND)
    server.call("ONCE.INCRBY", "t", "a", "k", 2**63 - 1)
    assert "overflow" in error_of(server, "ONCE.INCRBY", "t", "b", "k", 1)
    assert "overflow" in error_of(server, "ONCE.INCRBY", "t", "b", "k", 1, "other", 1)
    answers = server.call("ONCE.MINCRBY", "t", "b", "k", 1, "c", "k", -5, "b", "k", 1, "b", "k", 1)
    assert "overflow" in str(answers[0]) and answers[1:] == [[1, 2**63 - 6], [1, 2**63 - 5], [0, 2**63 - 5]]


def test_a_call_that_fails_is_not_remembered(pair):
    master, replica = pair
    master.call("ONCE.CREATE", "t", *KIND)
    master.client.set("s", "text")
    for _ in range(3):
        assert "WRONGTYPE" in error_of(master, "ONCE.CALL", "t", "a", "LPUSH", "s", 1)
    replica.catch_up_with(master)
    assert master.digest() == replica.digest()
    assert master.call("ONCE.CALL", "t", "a", "APPEND", "s", "!") == [1, 5]
    assert master.call("ONCE.CALL", "t", "a", "APPEND", "s", "!") == [0, None]
    replica.catch_up_with(master)
    assert master.digest() == replica.digest()
    replica.call("REPLICAOF", "NO", "ONE")
    assert replica.call("ONCE.CALL", "t", "a", "APPEND", "s", "!") == [0, None]
    assert replica.client.get("s") == b"text!"


def test_it_has_no_cap(server):
    """A copy of the window might not keep to the cap that the original kept to, and refuse ids that it has taken."""
    for words in [["MAXMEMORY", 80000], ["MAXMEMORY", 1 << 30, "POLICY", "degrade"]]:
        with pytest.raises(redis.ResponseError, match="contradict each other: KIND forgetful has no MAXMEMORY"):
            server.call("ONCE.CREATE", "t", *KIND, *words)
    assert server.client.exists("t") == 0
    server.call("CONFIG", "SET", "lethe.max-memory", 1 << 20)
    with pytest.raises(redis.ResponseError, match="contradict each other: KIND forgetful has no MAXMEMORY"):
        server.call("ONCE.CREATE", "t", *KIND)
    server.call("ONCE.CREATE", "t", *KIND, "MAXMEMORY", 0)
    server.call("CONFIG", "SET", "lethe.max-memory", 0)


def test_lethe_count_makes_the_kind_that_is_asked_for(server):
    """Whatever the server's own setting is."""
    server.call("CONFIG", "SET", "lethe.window-kind", "forgetful")
    for partitions in "1", "4":
        url = f"redis://127.0.0.1:{server.port}"
        table = f"t{partitions}"
        result = lethe("count", url, "--window-kind", "quotient", "--partitions", partitions, stdin="a\tk\t1\n", table=table)
        assert result.returncode == 0, result.stderr
        assert json.loads(lethe("stat", url, "--json", table=table).stdout)["window_kind"] == "quotient"
        keys = [key for key in server.client.keys(table + "*") if server.client.type(key) == b"lethe-onc"]
        assert keys and all(table_info(server.client, key)["kind"] == b"quotient" for key in keys)
    server.call("CONFIG", "SET", "lethe.window-kind", "quotient")


def test_a_master_without_memory_adds_nothing_to_its_replicas(pair):
    """What the master refused for lack of memory, a replica has room for: it must not take it in all the same."""
    master, replica = pair
    master.call("ONCE.CREATE", "t", *KIND)
    master.call("ONCE.ADD", "t", "first")
    master.call("CONFIG", "SET", "lethe.largest-value", table_info(master.client)["memory_bytes"] + 3000)
    refused = []
    for first in range(0, 20000, 50):
        ids = [f"i{number}" for number in range(first, first + 50)]
        try:
            answers = master.call("ONCE.ADD", "t", *ids)
        except redis.ResponseError as error: # all of them
            answers = [error] * len(ids)
        refused += [one for one, answer in zip(ids, answers) if isinstance(answer, redis.ResponseError)]
    assert 0 < len(refused) < 20000
    replica.catch_up_with(master)
    replica.call("REPLICAOF", "NO", "ONE")
    assert sum(replica.call("ONCE.SEEN", "t", *refused)) == 0


def test_only_the_other_kind_sends_what_older_replicas_do_not_know(server):
    stream = Stream(server.port)
    server.call("ONCE.CREATE", "t")
    server.call("ONCE.CREATE", "u", "KIND", "quotient", "SEED", 7, "ERROR", 1e-3, "CAPACITY", 9, "MAXMEMORY", 99999)
    server.call("ONCE.CREATE", "v", *KIND, "POLICY", "degrade")
    server.call("SET", "end", 1)
    found = stream.commands(until=lambda words: words[0].upper() == b"SET")
    stream.close()
    steps = [decode_effect(words[2])[1] for words in found]
    assert [each[0][0] for each in steps] == ["C", "C", "c"]
    assert steps[2][0][1][-2:] == (1, 1)
    # To the byte what every version has sent: docs/format/module.md.
    assert found[1][2][-50:] == b"C" + struct.pack("<QddQQQB", 600000, 1e-3, 0.25, 9, 99999, 7, 0)


@pytest.mark.parametrize("way", [*AGAIN, "replica"])
def test_the_kind_goes_with_the_table(pair, way):
    server, replica = pair
    server.call("ONCE.CREATE", "t", *KIND)
    server.call("ONCE.INCRBY", "t", "a", "k", 1)
    before = server.digest()
    other = server
    if way == "replica":
        replica.catch_up_with(server)
        other = replica
    else:
        make_again(server, way)
    assert other.digest() == before
    assert kind_of(other) == b"forgetful"
    if way == "replica":
        replica.call("REPLICAOF", "NO", "ONE")
    assert other.call("ONCE.INCRBY", "t", "a", "k", 1) == [0, 1]


def test_it_forgets_and_gives_memory_back(timed, clock):
    timed.call("ONCE.CREATE", "t", *KIND, "WINDOW", 60000)
    for first in range(0, 20000, 1000):
        timed.call("ONCE.ADD", "t", *[f"i{number}" for number in range(first, first + 1000)])
    clock.pass_time(55000)
    assert timed.call("ONCE.SEEN", "t", "i0", "i19999") == [1, 1]
    full = table_info(timed.client)["window_bytes"]
    clock.pass_time(21000)
    assert timed.call("ONCE.SEEN", "t", "i0", "i19999") == [0, 0]
    wait_for(lambda: table_info(timed.client)["window_bytes"] < full / 10, what="memory is given back")


@pytest.mark.parametrize("partitions", ["1", "4"])
def test_lethe_count(server, partitions):
    url = url_of(server)
    events = "".join(f"{i}\tk\n" for i in range(500))
    words = ["--partitions", partitions, "--window-kind", "forgetful"]
    assert count(url, *words, stdin=events)["applied"] == 500
    key = "t" if partitions == "1" else server.client.keys("t:{*")[0]
    assert kind_of(server, key) == b"forgetful"
    assert count(url, stdin=events)["duplicates"] == 500
    assert count(url, *words, stdin=events)["duplicates"] == 500
    result = lethe("count", url, "--window-kind", "quotient", stdin=events)
    assert result.returncode == USAGE
    assert "has a window of the forgetful kind, which cannot be changed" in result.stderr
    assert json.loads(lethe("stat", url, "--json").stdout)["window_kind"] == "forgetful"
    assert "forgetful kind" in lethe("stat", url).stdout
    if partitions == "4": # a partition that is lost comes back as what it was
        server.client.delete(key)
        count(url, stdin="x\tk\n")
        assert kind_of(server, key) == b"forgetful"
    assert listed(url)["k"] > 0
    count(url, stdin="a\tk\n", table="plain")
    result = lethe("count", url, "--window-kind", "forgetful", stdin=events, table="plain")
    assert result.returncode == USAGE and "of the quotient kind" in result.stderr


def test_the_client(server):
    table = Once(server.client, "t", kind="forgetful")
    table.incrby("k", 1, id="a")
    assert kind_of(server) == b"forgetful"
    server.client.delete("t")
    table.incrby("k", 1, id="b")
    assert kind_of(server) == b"forgetful"


@pytest.mark.parametrize("kind", ["quotient", "forgetful"])
def test_saved_tables_stay_readable(server, kind):
    """What earlier versions saved: a counter k of 3 and another of -5, and the ids a and b."""
    server.call("ONCE.LOAD", "t", 0, 1, (SOURCE / f"tests/golden/once-{kind}-v2.bin").read_bytes())
    assert kind_of(server).decode() == kind
    assert server.call("ONCE.MGET", "t", "k", "other") == [3, -5]
    assert server.call("ONCE.SEEN", "t", "a", "b", "c") == [1, 1, 0]
    assert table_info(server.client)["window_ms"] == 60000
