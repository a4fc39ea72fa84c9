"""Goal:   FBF.*, FID.*; of all types the shape of every command, and access control.
Method: every command with every wrong number of arguments and on keys of another type; what COMMAND tells."""

import random
import time

import pytest
import redis
from servers import SOURCE, table_info, wait_for
from test_commands import raw

COMMANDS = {
    "ONCE.CREATE": ["t"], "ONCE.INCRBY": ["t", "i", "c", 1], "ONCE.MINCRBY": ["t", "i", "c", 1],
    "ONCE.GET": ["t", "c"], "ONCE.MGET": ["t", "c"], "ONCE.SCAN": ["t", 0], "ONCE.TOP": ["t", 1],
    "ONCE.DEL": ["t", "c"], "ONCE.ADD": ["t", "i"], "ONCE.SEEN": ["t", "i"], "ONCE.FORGET": ["t", "i"],
    "ONCE.INFO": ["t"], "ONCE.CALL": ["t", "i", "SET", "k", "v"], "ONCE.EFFECT": ["t", "x"],
    "ONCE.RANGE": ["t", "c", "-", "+", "PER", "hour"], "ONCE.TAKE": ["t", "i", "c", 1, "LIMIT", 9],
    "ONCE.PEEK": ["t", "c", "LIMIT", 9], "ONCE.BEGIN": ["t", "i", "a", "LEASE", 5],
    "ONCE.RENEW": ["t", "i", "a", "LEASE", 5], "ONCE.DONE": ["t", "i", "a", "r"], "ONCE.ABORT": ["t", "i", "a"],
    "ONCE.CLAIMS": ["t", 0], "ONCE.HOLD": ["t", "i", "c", 1, "LIMIT", 9, "LEASE", 5],
    "ONCE.SETTLE": ["t", "i", 1], "ONCE.RELEASE": ["t", "i"], "ONCE.HOLDS": ["t", 0],
    "ONCE.LOAD": ["t", 0, 1, "x"], "ONCE.DUMP": ["t", 0], "FBF.RESERVE": ["t"], "FBF.ADD": ["t", "i"],
    "FBF.MADD": ["t", "i"], "FBF.TEST": ["t", "i"], "FBF.MTEST": ["t", "i"], "FBF.MERGE": ["t", "u"],
    "FID.RESERVE": ["t"], "FID.ADD": ["t", "i", 1], "FID.REMOVE": ["t", "i", 1], "FID.COUNT": ["t", "i"],
    "FID.TOP": ["t", 1], "FID.MERGE": ["t", "u"], "FID.INFO": ["t"], "FID.EFFECT": ["t", "x"],
    "FID.LOAD": ["t", 0, 1, "x"], "FID.DUMP": ["t", 0], "FBF.INFO": ["t"], "FBF.EFFECT": ["t", "x"],
    "FBF.LOAD": ["t", 0, 1, "x"], "FBF.DUMP": ["t", 0], "QF.RESERVE": ["t"], "QF.ADD": ["t", "i"],
    "QF.MADD": ["t", "i"], "QF.TEST": ["t", "i"], "QF.MTEST": ["t", "i"], "QF.REMOVE": ["t", "i"],
    "QF.MREMOVE": ["t", "i"], "QF.COUNT": ["t", "i"], "QF.MERGE": ["t", "u"], "QF.INFO": ["t"],
    "QF.EFFECT": ["t", "x"], "QF.LOAD": ["t", 0, 1, "x"], "QF.DUMP": ["t", 0],
    "GBF.RESERVE": ["t"], "GBF.ADD": ["t", "i"], "GBF.MADD": ["t", "i"], "GBF.TEST": ["t", "i"], "GBF.MTEST": ["t", "i"],
    "GBF.EXTRACT": ["t"], "GBF.MERGE": ["t", "u"], "GBF.INFO": ["t"], "GBF.EFFECT": ["t", "x"],
    "GBF.LOAD": ["t", 0, 1, "x"], "GBF.DUMP": ["t", 0]}


def error_of(server, *words):
    with pytest.raises(redis.ResponseError) as caught:
        server.call(*words)
    return str(caught.value)


def test_the_table_above_is_complete(server):
    listed = [name.decode().upper() for name in server.call("COMMAND", "LIST", "FILTERBY", "MODULE", "lethe")]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_numbers_of_arguments(server, name):
    arity = server.call("COMMAND", "INFO", name)[0][1]
    for count in range(1, abs(arity)):
        words = ([name] + COMMANDS[name])[:count]
        assert "wrong number of arguments" in error_of(server, *words)
    if arity > 0:
        assert "wrong number of arguments" in error_of(server, name, *COMMANDS[name], "more")
    assert server.client.keys() == []


def test_counters_and_deltas_come_in_pairs(server):
    for words in (["ONCE.INCRBY", "t", "i", "c", 1, "d"], ["ONCE.MINCRBY", "t", "i", "c", 1, "j"],
                  ["ONCE.MINCRBY", "t", "i", "c", 1, "j", "d"]):
        assert "wrong number of arguments" in error_of(server, *words)
    for delta in ("", "x", "1.5", " 1", "9223372036854775808", "-9223372036854775809", "1e3", "0x10"):
        assert "of delta is out of its range" in error_of(server, "ONCE.INCRBY", "t", "i", "c", delta)
        assert "of delta is out of its range" in error_of(server, "ONCE.MINCRBY", "t", "i", "c", 1, "j", "c", delta)
    assert server.client.keys() == []


@pytest.mark.parametrize("name", COMMANDS)
def test_keys_of_another_type(server, name):
    server.client.rpush("t", 1)
    if name.endswith((".LOAD", ".EFFECT")):
        error_of(server, name, *COMMANDS[name])
    elif name.endswith(".MERGE"):
        server.call(name.replace("MERGE", "RESERVE"), "u")
        assert "WRONGTYPE" in error_of(server, name, "t", "u")
        assert "WRONGTYPE" in error_of(server, name, "u", "t")
    else:
        assert "WRONGTYPE" in error_of(server, name, *COMMANDS[name])
    assert server.client.lrange("t", 0, -1) == [b"1"]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_the_server_knows_of_a_command(server, name):
    docs = server.call("COMMAND", "DOCS", name)[1]
    docs = dict(zip(docs[::2], docs[1::2]))
    assert docs[b"summary"] and docs[b"complexity"] and docs[b"module"] == b"lethe"
    assert docs[b"arguments"]
    keys = server.call("COMMAND", "GETKEYS", name, *COMMANDS[name])
    more = [b"k"] if name == "ONCE.CALL" else [b"u"] if name.endswith(".MERGE") else []
    assert keys == [b"t"] + more
    flags = server.call("COMMAND", "INFO", name)[0][2]
    assert (b"write" in flags) != (b"readonly" in flags)


def test_access_is_by_key_and_command(server):
    server.call("ACL", "SETUSER", "u", "on", "nopass", "~t*", "+@all", "-del")
    server.call("ACL", "SETUSER", "reader", "on", "nopass", "%R~t", "+@all")
    link = redis.Redis(port=server.port, username="u", password="x")
    assert link.execute_command("ONCE.INCRBY", "t", "a", "x", 1) == [1, 1]
    def denied(one, *words):
        with pytest.raises(redis.ResponseError, match="may not run|permissions|access") as caught:
            one.execute_command(*words)
        return str(caught.value)
    denied(link, "ONCE.INCRBY", "other", "a", "x", 1)
    denied(link, "ONCE.CALL", "t", "c", "SET", "other", 1)
    denied(link, "ONCE.CALL", "t", "c", "DEL", "t2")
    assert link.execute_command("ONCE.SEEN", "t", "c") == [0]
    assert link.execute_command("ONCE.CALL", "t", "c", "SET", "t2", 1) == [1, b"OK"]
    reader = redis.Redis(port=server.port, username="reader", password="x")
    assert reader.execute_command("ONCE.GET", "t", "x") == 1
    denied(reader, "ONCE.INCRBY", "t", "b", "x", 1)
    server.call("ACL", "SETUSER", "merger", "on", "nopass", "~into", "%R~from", "+@all")
    merger = redis.Redis(port=server.port, username="merger", password="x")
    server.call("FBF.RESERVE", "into", "SEED", 1)
    server.call("FBF.RESERVE", "from", "SEED", 1)
    assert merger.execute_command("FBF.MERGE", "into", "from") == b"OK"
    denied(merger, "FBF.MERGE", "from", "into")
    server.call("ACL", "DELUSER", "u", "reader", "merger")


def listed_categories():
    """The lines of docs/acl.md: each category's commands."""
    found = {}
    for line in (SOURCE / "docs/acl.md").read_text().splitlines():
        if line.startswith("@"):
            name, *words = line.split()
            found.setdefault(name[1:], set()).update(word[1:] for word in words)
    return found


def expected_categories(server):
    """What they should be, from what the commands say of themselves."""
    found = {"read": set(), "write": set(), "dangerous": set()}
    for name in COMMANDS:
        flags = server.call("COMMAND", "INFO", name)[0][2]
        found["write" if b"write" in flags else "read"].add(name.lower())
        if name.endswith((".DUMP", ".EFFECT", ".FORGET", ".LOAD")):
            found["dangerous"].add(name.lower())
    return found


def test_the_lists_for_servers_without_categories_are_complete(server):
    assert listed_categories() == expected_categories(server)


def test_the_lists_grant_what_they_say(server):
    """As rules of a user, on every server."""
    lists = listed_categories()
    rules = {"reader": ["+" + name for name in lists["read"] - lists["dangerous"]],
             "writer": ["+" + name for name in (lists["read"] | lists["write"]) - lists["dangerous"]]}
    for user, words in rules.items():
        server.call("ACL", "SETUSER", user, "on", "nopass", "~*", *words)
    def may(user, name):
        return server.call("ACL", "DRYRUN", user, name, *COMMANDS[name]) == b"OK"
    allowed = {user: {name for name in COMMANDS if name != "ONCE.CALL" and may(user, name)} for user in rules}
    assert "ONCE.GET" in allowed["reader"] and "ONCE.INCRBY" not in allowed["reader"]
    assert {"ONCE.GET", "ONCE.INCRBY"} <= allowed["writer"]
    assert not {"ONCE.LOAD", "ONCE.DUMP", "ONCE.FORGET", "ONCE.EFFECT", "QF.LOAD"} & (allowed["writer"] | allowed["reader"])
    server.call("ACL", "DELUSER", *rules)


def test_categories_where_the_server_has_them(server):
    of = {name.lower(): {word.decode() for word in server.call("COMMAND", "INFO", name)[0][6]} for name in COMMANDS}
    version = tuple(map(int, server.client.info("server")["redis_version"].split(".")[:2]))
    if version < (7, 2):
        assert set().union(*of.values()) <= {"@fast", "@slow"}
        pytest.skip("this server's modules have no categories")
    found = {category: {name for name, words in of.items() if "@" + category in words}
             for category in ("read", "write", "dangerous")}
    assert found == expected_categories(server)
    assert "@fast" in of["once.incrby"] and "@slow" in of["once.top"]
    server.call("ACL", "SETUSER", "counter", "on", "nopass", "~*", "+@read", "+@write", "-@dangerous")
    assert server.call("ACL", "DRYRUN", "counter", "ONCE.INCRBY", *COMMANDS["ONCE.INCRBY"]) == b"OK"
    for name in ("ONCE.LOAD", "ONCE.DUMP", "ONCE.FORGET"):
        assert b"permissions" in server.call("ACL", "DRYRUN", "counter", name, *COMMANDS[name])
    server.call("ACL", "DELUSER", "counter")


def test_call_takes_plain_writes_only(server):
    server.client.set("k", 1)
    for words in (["GET", "k"], ["EVAL", "return 1", 0], ["EVALSHA", "x" * 40, 0], ["FCALL", "f", 0],
                  ["FLUSHALL"], ["FLUSHDB"], ["SWAPDB", 0, 1], ["DEL", "t"], ["RENAME", "k", "t"],
                  ["COPY", "t", "k"], ["MULTI"], ["EXEC"], ["SUBSCRIBE", "c"], ["CONFIG", "SET", "a", "b"],
                  ["BLPOP", "k", 0], ["SHUTDOWN"], ["NONSENSE"], ["SET", "k"], ["WAIT", 0, 0],
                  ["ONCE.CALL", "u", "i", "SET", "k", "v"], ["ONCE.INCRBY", "t", "i", "c", 1], [""],
                  ["PUBLISH", "c", "m"], ["SCRIPT", "FLUSH"], ["FUNCTION", "FLUSH"], ["XGROUP"], ["XGROUP", "HELP"],
                  ["XGROUP", "x" * 100], ["MIGRATE", "127.0.0.1", 1, "k", 0, 1]):
        error_of(server, "ONCE.CALL", "t", "id", *words)
    assert server.call("ONCE.SEEN", "t", "id") == [0]
    assert server.client.get("k") == b"1"


def test_calls_within_calls_end(server):
    """However deep: refused, and the keys of the outermost are found without going down."""
    deep = 20000 * ["ONCE.CALL", "t", "i"] + ["SET", "k", "v"]
    assert server.call("COMMAND", "GETKEYS", *deep) == [b"t", b"t"]
    error_of(server, *deep)
    error_of(server, "ONCE.CALL", "t", "i", "once.call", "u", "j", "SET", "k", "v")
    assert server.client.exists("u", "k") == 0
    assert server.call("ONCE.SEEN", "t", "i") == [0]
    server.call("ACL", "SETUSER", "limited", "on", "nopass", "~t", "+@all")
    with redis.Redis(port=server.port, username="limited", password="x") as link, pytest.raises(redis.ResponseError):
        link.execute_command(*deep)
    server.call("ACL", "DELUSER", "limited")
    assert server.client.ping()


def test_call_takes_commands_of_two_words(server):
    assert server.call("ONCE.CALL", "t", "a", "XGROUP", "CREATE", "s", "g", "$", "MKSTREAM") == [1, b"OK"]
    assert server.call("ONCE.CALL", "t", "a", "XGROUP", "CREATE", "s", "g", "$", "MKSTREAM") == [0, None]
    assert "BUSYGROUP" in error_of(server, "ONCE.CALL", "t", "b", "xgroup", "create", "s", "g", "$")
    assert server.client.type("s") == b"stream"


def test_call_remembers_only_what_succeeded(server):
    server.client.set("s", "text")
    assert "WRONGTYPE" in error_of(server, "ONCE.CALL", "t", "a", "LPUSH", "s", 1)
    assert "integer" in error_of(server, "ONCE.CALL", "t", "a", "INCR", "s")
    assert server.call("ONCE.CALL", "t", "a", "APPEND", "s", "!") == [1, 5]
    assert server.call("ONCE.CALL", "t", "a", "APPEND", "s", "!") == [0, None]
    assert server.call("ONCE.CALL", "t", "b", "SADD", "set", 1, 2, 3) == [1, 3]
    assert server.call("ONCE.CALL", "t", "c", "SPOP", "set", 3)[0] == 1
    assert server.call("ONCE.CALL", "t", "d", "ONCE.INCRBY", "u", "x", "n", 2) == [1, [1, 2]]
    assert server.call("ONCE.CALL", "t", "d", "ONCE.INCRBY", "u", "y", "n", 2) == [0, None]
    assert server.client.eval("return redis.call('ONCE.CALL', 't', 'e', 'SET', 's', 'new')", 2, "t", "s") == [1, b"OK"]
    assert server.client.get("s") == b"new"


def test_call_tells_errors_inside_a_reply(server):
    """Some of it is done, so the id is spent; the 2 says that not all of it is."""
    server.call("ONCE.INCRBY", "u", "first", "full", (1 << 63) - 1)
    words = ["ONCE.CALL", "t", "a", "ONCE.MINCRBY", "u", "x", "full", 1, "y", "n", 1]
    done, (first, second) = server.call(*words)
    assert done == 2 and "overflow" in str(first) and second == [1, 1]
    assert server.call(*words) == [0, None]
    server.call("QF.RESERVE", "q", "CAPACITY", 50)
    done, answers = server.call("ONCE.CALL", "t", "b", "QF.MADD", "q", *range(500))
    assert done == 2 and answers[0] == 1 and "FULL" in str(answers[-1])
    assert server.call("ONCE.CALL", "t", "c", "QF.MREMOVE", "q", 0, 1) == [1, [1, 1]]
    assert raw(server, 3, "ONCE.CALL t d ONCE.MINCRBY u z full 1").startswith(b"*2\r\n:2\r\n*1\r\n-ERR ")
    # An error at the top: nothing is done, and the id is free.
    assert "WRONGTYPE" in error_of(server, "ONCE.CALL", "t", "e", "ONCE.MINCRBY", "q", "x", "n", 1)
    assert server.call("ONCE.CALL", "t", "e", "SET", "k", 1) == [1, b"OK"]


NO_CREATE = [["ONCE.INCRBY", "t", "i", "c", 1, "NOCREATE"], ["ONCE.INCRBY", "t", "j", "c", 1, "d", 1, "nocreate"],
             ["ONCE.MINCRBY", "t", "k", "c", 1, "NOCREATE"], ["ONCE.MINCRBY", "t", "l", "c", 1, "m", "c", 1, "NoCreate"],
             ["ONCE.ADD", "t", "NOCREATE", "IDS", "n"], ["ONCE.CALL", "t", "o", "NOCREATE", "SET", "{t}k", "v"]]


@pytest.mark.parametrize("words", NO_CREATE)
def test_no_table_is_made_where_none_may_be(server, words):
    assert error_of(server, *words).startswith("NOTABLE ")
    assert server.client.keys() == []
    server.call("ONCE.CREATE", "t", "WINDOW", 5000)
    first, second = server.call(*words), server.call(*words)
    applied = [answer[0] if isinstance(answer, list) else answer for answer in (first, second)]
    applied = [answer[0] if isinstance(answer, list) else answer for answer in applied]
    assert applied == [1, 0]
    assert table_info(server.client)["window_ms"] == 5000
    keys = [b"t", b"{t}k"] if words[0] == "ONCE.CALL" else [b"t"]
    assert server.call("COMMAND", "GETKEYS", *words) == keys


def test_the_word_for_that_is_an_option_in_its_place_only(server):
    """Ids and counters may have any name."""
    assert server.call("ONCE.INCRBY", "t", "NOCREATE", "NOCREATE", 1) == [1, 1]
    assert server.call("ONCE.MINCRBY", "t", "NOCREATE", "NOCREATE", 1) == [[0, 1]]
    assert server.call("ONCE.ADD", "t", "NOCREATE", "IDS") == [0, 1]
    assert server.call("ONCE.ADD", "t", "a", "NOCREATE", "IDS") == [1, 0, 0]
    assert server.call("ONCE.CALL", "t", "NOCREATE", "SET", "k", "v") == [0, None]
    for words in (["INCRBY", "t", "b", "c", "NOCREATE"], ["MINCRBY", "t", "b", "c", "NOCREATE"],
                  ["INCRBY", "t", "b", "c", 1, "OTHER"], ["INCRBY", "t", "b", "NOCREATE"], ["MINCRBY", "t", "b", "NOCREATE"],
                  ["CALL", "t", "b", "NOCREATE"]):
        error_of(server, "ONCE." + words[0], *words[1:])
    assert server.call("ONCE.SEEN", "t", "b") == [0]


def test_call_in_a_cluster_keeps_to_one_slot(start):
    server = start(cluster_enabled="yes")
    server.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    wait_for(lambda: b"cluster_state:ok" in server.call("CLUSTER", "INFO"), 30)
    assert "same slot" in error_of(server, "ONCE.CALL", "t", "a", "SET", "k", 1)
    assert server.call("ONCE.CALL", "{x}t", "a", "SET", "{x}k", 1) == [1, b"OK"]


def test_the_forgetful_filter(timed, clock):
    server = timed
    server.call("FBF.RESERVE", "f", "WINDOW", 600000, "ERROR", "1e-4")
    assert server.call("FBF.ADD", "f", "a") == 1
    assert server.call("FBF.ADD", "f", "a") == 0
    assert server.call("FBF.MADD", "f", "b", "a", "b") == [1, 0, 0]
    assert server.call("FBF.TEST", "f", "a") == 1
    assert server.call("FBF.MTEST", "f", "a", "z") == [1, 0]
    assert server.call("FBF.TEST", "none", "a") == 0
    assert table_info(server.client, "f")["items"] == 2
    clock.pass_time(1200000)
    assert server.call("FBF.MTEST", "f", "a", "b") == [0, 0]
    wait_for(lambda: table_info(server.client, "f")["filters"] == 0, what="memory given back")


def test_filters_merge_and_move(server):
    for key, items in (("f", "ab"), ("g", "cd")):
        server.call("FBF.RESERVE", key, "SEED", 3)
        server.call("FBF.MADD", key, *items)
    server.call("FBF.RESERVE", "h", "SEED", 4)
    assert server.call("FBF.MERGE", "f", "g") == b"OK"
    assert server.call("FBF.MTEST", "f", *"abcde") == [1, 1, 1, 1, 0]
    for words in (["f", "h"], ["f", "f"], ["f", "none"], ["none", "f"]):
        error_of(server, "FBF.MERGE", *words)
    number, is_last = 0, 0
    while not is_last:
        _, is_last, data = server.call("FBF.DUMP", "f", number)
        server.call("FBF.LOAD", "copy", number, is_last, data)
        number += 1
    assert server.digest("copy") == server.digest("f")
    server.call("DEBUG", "RELOAD")
    assert server.call("FBF.MTEST", "copy", *"abcde") == [1, 1, 1, 1, 0]


def test_a_filters_replica_is_the_same(pair):
    master, replica = pair
    chance = random.Random(1)
    for key, window in (("f", 1000), ("g", 1000)):
        master.call("FBF.RESERVE", key, "WINDOW", window, "SEED", 5)
    for step in range(12):
        master.call("FBF.MADD", "f", *[chance.randrange(100000) for _ in range(500)])
        master.call("FBF.ADD", "g", chance.randrange(10))
        if step == 6:
            master.call("FBF.MERGE", "f", "g")
            replica.call("REPLICAOF", "NO", "ONE")
            replica.call("DEBUG", "CHANGE-REPL-ID")
            replica.follow(master)
        time.sleep(0.1)
        replica.catch_up_with(master)
        for key in "fg":
            wait_for(lambda: master.digest(key) == replica.digest(key), what="the same digest")


def test_the_sketch(server):
    server.call("FID.RESERVE", "s", "WIDTH", 1000, "DEPTH", 4, "TOP", 3, "SEED", 7)
    assert server.call("FID.ADD", "s", "a", 5, "b", 2) == [5, 2]
    assert server.call("FID.ADD", "s", "c", 9) == [9]
    assert server.call("FID.COUNT", "s", "a", "b", "none") == [5, 2, 0]
    assert server.call("FID.REMOVE", "s", "a", 4) == [1]
    assert server.call("FID.TOP", "s", 2)[:2] == [b"c", 9]
    assert server.call("FID.COUNT", "none", "a") == [0]
    server.call("FID.RESERVE", "other", "WIDTH", 1000, "DEPTH", 4, "TOP", 3, "SEED", 7)
    server.call("FID.ADD", "other", "a", 10)
    assert server.call("FID.MERGE", "s", "other") == b"OK"
    assert server.call("FID.COUNT", "s", "a") == [11]
    for words in (["RESERVE", "s"], ["RESERVE", "n", "WIDTH", 0], ["RESERVE", "n", "DEPTH", 99],
                  ["RESERVE", "n", "BITS", 7], ["RESERVE", "n", "WIDTH"], ["ADD", "s", "a", 0],
                  ["ADD", "s", "a", -1], ["ADD", "s", "x" * 65536, 1], ["TOP", "s", 0], ["MERGE", "s", "s"],
                  ["MERGE", "s", "none"], ["REMOVE", "none", "a", 1], ["INFO", "none"]):
        error_of(server, "FID." + words[0], *words[1:])
    before = server.digest("s")
    server.call("DEBUG", "RELOAD")
    assert server.digest("s") == before
    _, is_last, data = server.call("FID.DUMP", "s", 0)
    assert is_last == 1 and server.call("FID.LOAD", "u", 0, 1, data) == b"OK"
    assert server.digest("u") == before


def test_a_count_beyond_a_reply_is_told_as_the_most(server):
    """Sketches count in up to 64 bits, replies have 63."""
    server.call("FID.RESERVE", "s", "BITS", 64, "TOP", 2)
    most = (1 << 63) - 1
    assert server.call("FID.ADD", "s", "a", most, "a", most) == [most, most]
    assert server.call("FID.COUNT", "s", "a") == [most]
    assert server.call("FID.TOP", "s", 1) == [b"a", most]
    assert table_info(server.client, "s")["total"] == most


def test_a_sketchs_replica_is_the_same(pair):
    master, replica = pair
    chance = random.Random(4)
    master.call("FID.RESERVE", "s", "WIDTH", 500, "TOP", 10, "SEED", 5)
    for step in range(6):
        words = [word for _ in range(300) for word in (chance.randrange(50), chance.randrange(1, 9))]
        master.call("FID.ADD", "s", *words)
        master.call("FID.REMOVE", "s", words[0], 1)
        if step == 3:
            master.call("FID.ADD", "made", "a", 1)
            replica.call("REPLICAOF", "NO", "ONE")
            replica.call("DEBUG", "CHANGE-REPL-ID")
            replica.follow(master)
        replica.catch_up_with(master)
        assert master.digest("s") == replica.digest("s")
    assert master.digest("made") == replica.digest("made")
