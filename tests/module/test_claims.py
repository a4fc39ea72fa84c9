"""Goal:   a claim has one holder at a time, by the table's own clock; what is done stays done, with its first reply, for W, on
        every way on which a table is made again; and nobody who asks for something impossible changes anything.
Method: real servers whose clocks the test sets; effects, hostile arguments and forged payloads. The simulators draw everything
        at once."""

import random
import struct
import time

import pytest
import redis
from servers import SOURCE, table_info, wait_for
from stream import Stream
from test_hostile import xxhash
from test_replication import same_digest
from ways import AGAIN, RESTARTED, make_again

W = 600_000


def error_of(server, *words):
    with pytest.raises(redis.ResponseError) as caught:
        server.call(*words)
    return str(caught.value)


def begin(server, identity="i", token="a", *words, lease=60_000, key="t"):
    return server.call("ONCE.BEGIN", key, identity, token, *words, "LEASE", lease)


def done(server, identity="i", token="a", *reply, key="t"):
    return server.call("ONCE.DONE", key, identity, token, *reply)


def claims(server, *words, key="t"):
    found, cursor = {}, 0
    while True:
        cursor, listed = server.call("ONCE.CLAIMS", key, cursor, *words)
        found.update((one[0].decode(), one[1:]) for one in listed)
        if cursor == b"0":
            return found


def test_from_begin_to_done(server):
    assert begin(server) == [b"new"]
    assert begin(server) == [b"new"] # its answer was lost, perhaps
    word, left = begin(server, token="b")
    assert word == b"running" and 0 < left <= 60_001
    assert done(server, "i", "b", "wrong") == [b"lost"]
    assert done(server, "i", "a", "first") == [b"done", 1]
    assert done(server, "i", "a", "second") == [b"duplicate", 1]
    assert done(server, "i", "b", "wrong") == [b"lost"]
    assert begin(server, token="b") == begin(server) == [b"done", b"first"]
    assert server.call("ONCE.ABORT", "t", "i", "a") == [b"done"]
    assert server.call("ONCE.RENEW", "t", "i", "a", "LEASE", 5) == [b"done"]
    assert server.call("ONCE.ABORT", "t", "i", "b") == [b"lost"]


def test_an_empty_reply_is_a_reply(server):
    begin(server)
    assert done(server) == [b"done", 1]
    assert begin(server) == [b"done", b""]
    begin(server, "j")
    assert done(server, "j", "a", b"\0\r\n\xff") == [b"done", 1]
    assert begin(server, "j") == [b"done", b"\0\r\n\xff"]


def test_abort_gives_it_back(server):
    begin(server)
    assert server.call("ONCE.ABORT", "t", "i", "b") == [b"lost"]
    assert server.call("ONCE.ABORT", "t", "i", "a") == [b"aborted"]
    assert server.call("ONCE.ABORT", "t", "i", "a") == [b"unknown"]
    assert done(server) == server.call("ONCE.RENEW", "t", "i", "a", "LEASE", 5) == [b"unknown"]
    assert begin(server, token="b") == [b"new"]


def test_a_lease_that_is_over_goes_to_the_next_one(timed, clock):
    begin(timed, lease=5000)
    begin(timed, "late", lease=5000)
    clock.pass_time(4000)
    assert begin(timed, token="b")[0] == b"running"
    assert timed.call("ONCE.RENEW", "t", "i", "a", "LEASE", 5000)[0] == b"renewed"
    clock.pass_time(4000)
    assert begin(timed, token="b", lease=100_000)[0] == b"running"
    clock.pass_time(1001)
    assert claims(timed)["i"][0] == b"expired"
    assert timed.call("ONCE.RENEW", "t", "i", "a", "LEASE", 1)[0] == b"renewed" # nobody else has come
    clock.pass_time(10)
    assert begin(timed, token="b", lease=100_000) == [b"new"]
    assert done(timed) == timed.call("ONCE.RENEW", "t", "i", "a", "LEASE", 5) == [b"lost"]
    assert done(timed, "late") == [b"done", 1] # nobody else has come
    assert done(timed, "i", "b", "reply") == [b"done", 1]
    assert begin(timed) == [b"done", b"reply"]
    assert done(timed) == [b"lost"]


def test_no_lease_ends_early(timed, clock):
    """A wall clock that is set is no time that passes; a shorter renewal does not shorten."""
    begin(timed, lease=50_000)
    assert begin(timed, lease=1) == [b"new"]
    assert timed.call("ONCE.RENEW", "t", "i", "a", "LEASE", 1)[1] > 40_000
    clock.set_wall(10 * W)
    assert begin(timed, token="b")[0] == b"running"
    clock.set_wall(-10 * W)
    clock.pass_time(20_000)
    word, left = begin(timed, token="b")
    assert word == b"running" and 20_000 < left <= 30_001
    clock.pass_time(left)
    assert begin(timed, token="b") == [b"new"]


def test_the_window_runs_from_done(timed, clock):
    timed.call("ONCE.CREATE", "t", "WINDOW", W)
    begin(timed, lease=W)
    begin(timed, "abandoned", lease=1000)
    begin(timed, "long", lease=3 * W)
    clock.pass_time(W // 2)
    assert done(timed, "i", "a", "r") == [b"done", 1]
    clock.pass_time(W - 50_000)
    assert begin(timed, token="b") == [b"done", b"r"]
    assert claims(timed).keys() == {"i", "long"}
    assert done(timed, "abandoned") == [b"unknown"]
    clock.pass_time(60_000)
    assert begin(timed, token="b") == [b"new"]
    assert done(timed, "long") == [b"done", 1]


def test_another_fingerprint_is_a_mismatch(server):
    assert begin(server, "i", "a", "FINGERPRINT", "f") == [b"new"]
    before = server.digest()
    assert begin(server, "i", "a") == begin(server, "i", "a", "FINGERPRINT", "g") == [b"mismatch"]
    assert begin(server, "i", "b", "FINGERPRINT", "F") == [b"mismatch"]
    assert begin(server, "i", "b", "FINGERPRINT", "f")[0] == b"running"
    done(server, "i", "a", "r")
    assert begin(server, "i", "b", "FINGERPRINT", "g") == begin(server, "i", "b") == [b"mismatch"]
    assert begin(server, "i", "b", "FINGERPRINT", "f") == [b"done", b"r"]
    begin(server, "j")
    assert begin(server, "j", "a", "FINGERPRINT", "f") == [b"mismatch"]
    assert before != server.digest()


def test_claims_and_ids_are_separate(server):
    assert server.call("ONCE.INCRBY", "t", "i", "k", 1) == [1, 1]
    assert begin(server) == [b"new"]
    assert server.call("ONCE.SEEN", "t", "i", "j") == [1, 0]
    begin(server, "j")
    assert server.call("ONCE.INCRBY", "t", "j", "k", 1) == [1, 2]
    assert server.call("ONCE.CALL", "t", "x", "SET", "s", 1)[0] == 1
    assert begin(server, "x") == [b"new"]


@pytest.mark.parametrize("words, text", [
    (["", "a", "LEASE", 1], "an id is empty"), (["x" * 65536, "a", "LEASE", 1], "of id is out of its range: 1 to 65535 bytes"),
    (["i", "", "LEASE", 1], "token"), (["i", "x" * 256, "LEASE", 1], "token"),
    (["i", "a", "LEASE", 0], "of LEASE is out of its range"), (["i", "a", "LEASE", -5], "of LEASE is out of its range"), (["i", "a", "LEASE", 3_155_760_000_000], "of LEASE is out of its range"),
    (["i", "a", "LEASE", 2**64], "of LEASE is out of its range"), (["i", "a", "LEASE", "x"], "of LEASE is out of its range"), (["i", "a", "LEASE", 2_592_000_001], "of LEASE is out of its range"),
    (["i", "a", "LEASE", 5, "LEASE", 5], "syntax"), (["i", "a", "FINGERPRINT", "f"], "syntax"),
    (["i", "a", "FINGERPRINT", "", "LEASE", 5], "of FINGERPRINT is out of its range"), (["i", "a", "FINGERPRINT", "x" * 256, "LEASE", 5], "of FINGERPRINT is out of its range"),
    (["i", "a", "LEASE", 5, "FINGERPRINT"], "syntax"), (["i", "a", "LEASE", 5, "NOCREATE", "NOCREATE"], "syntax"),
    (["i", "a", "LEASE", 5, "NOCREATE"], "NOTABLE")])
def test_hostile_arguments_change_nothing(server, words, text):
    assert text in error_of(server, "ONCE.BEGIN", "t", *words)
    assert server.client.exists("t") == 0


def test_commands_that_make_no_table(server):
    for words in (["ONCE.DONE", "t", "i", "a"], ["ONCE.ABORT", "t", "i", "a"], ["ONCE.RENEW", "t", "i", "a", "LEASE", 5]):
        assert "NOTABLE" in error_of(server, *words)
    assert "of LEASE is out of its range" in error_of(server, "ONCE.RENEW", "t", "i", "a", "LEASE", 0)
    assert "syntax" in error_of(server, "ONCE.RENEW", "t", "i", "a", "FINGERPRINT", "f")
    assert server.call("ONCE.CLAIMS", "t", 0) == [b"0", []]
    for words in (["x"], [0, "STATE", "new"], [0, "COUNT", 0], [0, "MATCH"]):
        error_of(server, "ONCE.CLAIMS", "t", *words)
    assert server.client.exists("t") == 0


def test_replies_are_capped(server):
    server.client.config_set("lethe.largest-reply", 1000)
    server.client.config_set("lethe.kept-replies", 2500)
    try:
        for i, size in enumerate([1001, 1000, 1000, 0, 500, 1000, 300]):
            begin(server, f"i{i}")
            assert done(server, f"i{i}", "a", "x" * size) == [b"done", int(size <= 1000)]
        replies = [begin(server, f"i{i}", "b")[1] for i in range(7)]
        assert [None if reply is None else len(reply) for reply in replies] == [None, None, None, 0, 500, 1000, 300]
        assert done(server, "i1", "a", "again") == [b"duplicate", 0] # the first reply stays away
        info = table_info(server.client)
        assert (info["claims_done"], info["replies"], info["reply_bytes"], info["replies_dropped"]) == (7, 3, 1800, 3)
        server.client.config_set("lethe.kept-replies", 0)
        begin(server, "last")
        assert done(server, "last", "a", "x") == [b"done", 0]
        begin(server, "empty")
        assert done(server, "empty", "a", "") == [b"done", 1]
    finally:
        server.client.config_set("lethe.largest-reply", 65536)
        server.client.config_set("lethe.kept-replies", 67108864)


def test_a_reply_of_512_mb_is_not_kept(server):
    begin(server)
    assert done(server, "i", "a", b"x" * (512 << 20)) == [b"done", 0]
    assert begin(server) == [b"done", None]


def test_without_memory_whoever_holds_a_claim_completes_it(start):
    server = start()
    for i in range(4):
        begin(server, f"i{i}")
    done(server, "i0", "a", "kept")
    def check():
        assert "OOM" in error_of(server, "ONCE.BEGIN", "t", "new", "a", "LEASE", 5)
        assert begin(server, "i1") == [b"new"] and begin(server, "i1", "b")[0] == b"running"
        assert begin(server, "i0") == [b"done", b"kept"]
    server.client.config_set("maxmemory", 1)
    check()
    assert server.call("ONCE.RENEW", "t", "i1", "a", "LEASE", 70_000)[0] == b"renewed"
    assert done(server, "i1", "a", "reply") == [b"done", 0]
    assert begin(server, "i1") == [b"done", None]
    assert done(server, "i2") == [b"done", 1]
    assert server.call("ONCE.ABORT", "t", "i3", "a") == [b"aborted"]
    server.client.config_set("maxmemory", 0)
    for i in range(2):
        begin(server, f"j{i}")
    server.client.config_set("lethe.largest-value", 1)
    def is_full():
        try:
            begin(server, str(time.time()))
        except redis.ResponseError:
            return True
        return False
    wait_for(is_full, what="the timer")
    assert done(server, "j0", "a", "reply") == [b"done", 0]
    assert server.call("ONCE.ABORT", "t", "j1", "a") == [b"aborted"]
    assert "OOM" in error_of(server, "ONCE.BEGIN", "t", "j1", "a", "LEASE", 5)


def test_the_list(timed, clock):
    timed.call("ONCE.CREATE", "t", "WINDOW", W)
    for i in range(60):
        begin(timed, f"run-{i}", lease=100_000)
        begin(timed, f"old-{i}", lease=1000)
        begin(timed, f"done-{i}")
        done(timed, f"done-{i}", "a", "x" * i)
    clock.pass_time(2000)
    listed = claims(timed, "COUNT", 7)
    assert len(listed) == 180
    assert claims(timed, "STATE", "done", "MATCH", "*-1?").keys() == {f"done-{i}" for i in range(10, 20)}
    state, left, size = listed["run-7"]
    assert (state, size) == (b"running", -1) and 90_000 < left <= 98_001
    state, left, size = listed["old-7"]
    assert (state, size) == (b"expired", -1) and W - 10_000 < left < W
    assert listed["done-7"][0::2] == [b"done", 7]
    info = table_info(timed.client)
    assert (info["claims_running"], info["claims_done"], info["replies"]) == (120, 60, 59)
    clock.pass_time(2 * W)
    wait_for(lambda: table_info(timed.client)["claims_bytes"] < 5000, what="the timer")
    assert claims(timed) == {}


def test_bytes_per_claim(server):
    """What docs/claims.md says: about 160 bytes, and the id, the token and the fingerprint."""
    for i in range(2000):
        begin(server, f"{i:036}", f"{i:032}", "FINGERPRINT", "f" * 32)
    each = table_info(server.client)["claims_bytes"] / 2000
    assert 36 + 32 + 32 + 100 < each < 36 + 32 + 32 + 180


# --- Replies of commands

def test_a_call_that_keeps_its_reply(server):
    call = ["ONCE.CALL", "t", "i", "KEEP"]
    assert server.call(*call, "LPUSH", "l", "a", "b") == [1, 2]
    assert server.call(*call, "LPUSH", "l", "a", "b") == [0, 2]
    for other in (["LPUSH", "l", "a"], ["LPUSH", "l", "ab"], ["LPUSH", "l", "a", "b", ""], ["RPUSH", "l", "a", "b"]):
        assert "MISMATCH" in error_of(server, *call, *other)
    assert server.client.lrange("l", 0, -1) == [b"b", b"a"]
    assert begin(server, "i") == [b"mismatch"]
    assert done(server, "i") == [b"lost"]
    begin(server, "j")
    assert "MISMATCH" in error_of(server, "ONCE.CALL", "t", "j", "KEEP", "LPUSH", "l", "a")
    assert server.call("ONCE.CALL", "t", "i", "LPUSH", "l", "c")[0] == 1 # an id of the window
    assert claims(server)["i"][::2] == [b"done", 4]


def test_every_kind_of_reply_comes_again(server):
    server.client.rpush("l", "x", "y", "", "z")
    server.client.zadd("z", {"a": 1.5, "b": 2})
    calls = [["SET", "s", "v"], ["SET", "s", "w", "NX"], ["GETSET", "s", "u"], ["GETDEL", "none"], ["APPEND", "s", b"\0\r\n"],
             ["LPOP", "l", 3], ["LPOP", "none", 2], ["ZADD", "z", "INCR", 1, "a"], ["ZPOPMIN", "z", 2], ["INCRBY", "n", -5],
             ["LMPOP", 1, "l", "LEFT"], ["XADD", "x", "*", "f", "v"], ["SPOP", "none", 1], ["HINCRBYFLOAT", "h", "f", 0.5],
             ["ONCE.MINCRBY", "u", "1", "k", 2**62, "2", "k", 2**62, "3", "k", 2**62]]
    for number, words in enumerate(calls):
        def ask(words=words, number=number):
            return server.call("ONCE.CALL", "t", f"i{number}", "KEEP", *words)
        code, reply = ask()
        assert code == (2 if words[0] == "ONCE.MINCRBY" else 1), words
        again, kept = ask()
        assert again == 0 and str(kept) == str(reply), words
    assert server.client.get("s") == b"u\0\r\n" and server.client.get("n") == b"-5"


def test_a_call_that_fails_claims_nothing(server):
    server.client.set("s", "text")
    assert "WRONGTYPE" in error_of(server, "ONCE.CALL", "t", "i", "KEEP", "LPUSH", "s", 1)
    assert server.client.exists("t") == 0
    assert "NOTABLE" in error_of(server, "ONCE.CALL", "t", "i", "KEEP", "NOCREATE", "SET", "k", 1)
    server.call("ONCE.CREATE", "t")
    assert "WRONGTYPE" in error_of(server, "ONCE.CALL", "t", "i", "KEEP", "LPUSH", "s", 1)
    assert claims(server) == {}
    assert server.call("ONCE.CALL", "t", "i", "NOCREATE", "KEEP", "RPUSH", "l", 1) == [1, 1]
    assert "65535" in error_of(server, "ONCE.CALL", "t", "x" * 65536, "KEEP", "RPUSH", "l", 1)
    assert "unknown command" in error_of(server, "ONCE.CALL", "t", "k", "KEEP", "KEEP", "RPUSH", "l", 1)


def test_a_reply_too_large_is_returned_once(server):
    server.client.config_set("lethe.largest-reply", 10)
    try:
        server.client.set("s", "x" * 100)
        assert server.call("ONCE.CALL", "t", "i", "KEEP", "GETDEL", "s") == [1, b"x" * 100]
        assert server.call("ONCE.CALL", "t", "i", "KEEP", "GETDEL", "s") == [-1, None]
    finally:
        server.client.config_set("lethe.largest-reply", 65536)


def test_who_may_not_run_the_command_gets_no_reply(server):
    server.client.set("secret", "s3cret")
    assert server.call("ONCE.CALL", "t", "i", "KEEP", "GETDEL", "secret") == [1, b"s3cret"]
    server.call("ACL", "SETUSER", "spy", "on", "nopass", "~t", "~other", "+@all")
    server.call("ACL", "SETUSER", "mute", "on", "nopass", "~*", "+@all", "-getdel")
    for user in "spy", "mute":
        link = redis.Redis(port=server.port, username=user, password="x")
        for words in (["GETDEL", "secret"], ["GETDEL", "other"]):
            with pytest.raises(redis.RedisError, match="(?i)MISMATCH|permission|NOPERM|may not"):
                link.execute_command("ONCE.CALL", "t", "i", "KEEP", *words)
        assert link.execute_command("ONCE.BEGIN", "t", "i", "x", "LEASE", 5) == [b"mismatch"]
        link.close()
    server.call("ACL", "DELUSER", "spy", "mute")


def test_a_reply_is_for_the_same_user(server):
    """SORT looks at keys that no check of the command's words finds."""
    server.client.rpush("l", "1")
    server.client.set("s1", "s3cret")
    words = ["ONCE.CALL", "t", "i", "KEEP", "SORT", "l", "BY", "nosort", "GET", "s*", "STORE", "into"]
    assert server.call(*words)[0] == 1
    for user in "spy", "DEFAULT":
        server.call("ACL", "SETUSER", user, "on", "nopass", "~t", "~l", "~into", "+@all")
        link = redis.Redis(port=server.port, username=user, password="x")
        try:
            with pytest.raises(redis.RedisError, match="MISMATCH"):
                link.execute_command(*words)
        finally:
            link.close()
            server.call("ACL", "DELUSER", user)
    assert server.call(*words) == [0, 1]


# --- Copies of a table

def fill(server):
    """Claims of every kind, and what must be answered about them."""
    server.call("ONCE.CREATE", "t", "WINDOW", W, "PER", "hour")
    server.call("ONCE.INCRBY", "t", "x", "k", 3)
    begin(server, "running", "a", "FINGERPRINT", b"\0f", lease=300_000)
    begin(server, "aborted")
    server.call("ONCE.ABORT", "t", "aborted", "a")
    for i in range(5):
        begin(server, f"done-{i}")
        done(server, f"done-{i}", "a", f"reply {i}")
    begin(server, "empty")
    done(server, "empty")
    begin(server, "gone")
    done(server, "gone", "a", "x" * 65537)
    server.call("ONCE.CALL", "t", "called", "KEEP", "RPUSH", "l", "a", "b")


def check(server):
    assert begin(server, "running", "b", "FINGERPRINT", b"\0f")[0] == b"running"
    assert begin(server, "running", "b") == [b"mismatch"]
    assert begin(server, "running", "a", "FINGERPRINT", b"\0f") == [b"new"]
    for i in range(5):
        assert begin(server, f"done-{i}", "b") == [b"done", f"reply {i}".encode()]
        assert done(server, f"done-{i}", "a", "other") == [b"duplicate", 1]
    assert begin(server, "empty", "b") == [b"done", b""]
    assert begin(server, "gone", "b") == [b"done", None]
    assert server.call("ONCE.CALL", "t", "called", "KEEP", "RPUSH", "l", "a", "b") == [0, 2]
    assert begin(server, "aborted", "b") == [b"new"]
    assert server.call("ONCE.INCRBY", "t", "x", "k", 3) == [0, 3]


@pytest.mark.parametrize("way", AGAIN + RESTARTED + ["migrate", "replica"])
def test_claims_survive(start, way):
    server = other = start(appendonly="yes" if "log" in way else "no")
    fill(server)
    digest = server.digest()
    if way in AGAIN + RESTARTED:
        make_again(server, way)
    else:
        other = start()
        if way == "replica":
            other.follow(server)
            other.catch_up_with(server)
            assert other.digest() == digest == server.digest()
            other.call("REPLICAOF", "NO", "ONE")
        else:
            assert server.call("MIGRATE", "127.0.0.1", other.port, "t", 0, 30000) in (True, b"OK")
    check(other)
    other.client.config_set("lethe.kept-replies", 40) # the oldest go first, as they would have
    begin(other, "next")
    done(other, "next", "a", "x" * 15)
    kept = [begin(other, f"done-{i}", "b")[1] for i in range(5)]
    assert kept == [None, None, b"reply 2", b"reply 3", b"reply 4"]


def test_a_replica_follows_and_takes_over(timed_pair, clock):
    master, replica = timed_pair
    fill(master)
    begin(master, "short", lease=10_000)
    replica.catch_up_with(master)
    assert master.digest() == replica.digest()
    master.client.config_set("lethe.kept-replies", 50) # the replica keeps as many as its master
    begin(master, "more")
    done(master, "more", "a", "x" * 25)
    replica.catch_up_with(master)
    assert master.digest() == replica.digest()
    info = table_info(replica.client)
    assert info["reply_bytes"] <= 50 and info["reply_bytes"] == table_info(master.client)["reply_bytes"]
    clock.pass_time(5000)
    replica.call("REPLICAOF", "NO", "ONE")
    word, left = begin(replica, "short", "b")
    assert word == b"running" and left <= 10_001
    clock.pass_time(left)
    assert begin(replica, "short", "b") == [b"new"]
    assert begin(replica, "more", "b") == [b"done", b"x" * 25]


def test_what_is_over_is_over_everywhere(timed_pair, clock):
    """The timer says how late it is; the replica forgets by that, and both have the same digest and no sections."""
    master, replica = timed_pair
    master.call("ONCE.CREATE", "t", "WINDOW", W)
    for i in range(3000):
        begin(master, f"i{i}", lease=1)
    replica.catch_up_with(master)
    clock.pass_time(W + 1000)
    for one in master, replica:
        wait_for(lambda one=one: table_info(one.client)["claims_running"] == 0, what="the timers")
    replica.catch_up_with(master)
    wait_for(lambda: master.digest() == replica.digest(), what="the same digest")
    assert struct.unpack_from("<I", master.call("ONCE.DUMP", "t", 0)[2], 8) == (2,)


def load(server, chance, count):
    """Claims of many kinds, by three holders."""
    pipe = server.client.pipeline(transaction=False)
    for _ in range(count):
        identity, token = f"i{chance.randrange(60)}", chance.choice("abc")
        kind = chance.random()
        if kind < 0.5:
            pipe.execute_command("ONCE.BEGIN", "t", identity, token, "LEASE", chance.choice([1, 100, 5000]))
        elif kind < 0.7:
            pipe.execute_command("ONCE.DONE", "t", identity, token, "x" * chance.randrange(200))
        elif kind < 0.8:
            pipe.execute_command("ONCE.ABORT", "t", identity, token)
        elif kind < 0.9:
            pipe.execute_command("ONCE.RENEW", "t", identity, token, "LEASE", 200)
        else:
            pipe.execute_command("ONCE.CALL", "t", f"c{chance.randrange(60)}", "KEEP", "RPUSH", "{t}l", chance.randrange(2))
    pipe.execute(raise_on_error=False)


def test_a_replica_is_the_same_after_any_load(pair):
    master, replica = pair
    chance = random.Random(3)
    master.call("ONCE.CREATE", "t", "WINDOW", 1000)
    master.client.config_set("lethe.kept-replies", 2000)
    for step in range(6):
        load(master, chance, 400)
        if step == 2: # a full resynchronisation in between
            replica.call("REPLICAOF", "NO", "ONE")
            replica.call("DEBUG", "CHANGE-REPL-ID")
            replica.client.flushall()
            replica.follow(master)
        same_digest(master, replica)
        assert table_info(master.client)["reply_bytes"] <= 2000
        time.sleep(0.3)
    assert table_info(master.client)["replies_dropped"] > 0


def effects(stream, server):
    server.client.set("end", 1)
    found = stream.commands(lambda words: words[0].upper() == b"SET")
    return [words[2] for words in found if words[0] == b"ONCE.EFFECT"]


def test_only_tables_with_claims_send_what_is_new(server):
    server.call("ONCE.CREATE", "plain", "SEED", 7) # the bytes of a random seed may be any
    stream = Stream(server.port)
    server.call("ONCE.INCRBY", "plain", "i", "k", 1)
    begin(server, "id", "tok", "FINGERPRINT", "fp", lease=1000)
    begin(server, "id", "tok", "FINGERPRINT", "other")
    done(server, "id", "tok", "reply")
    begin(server, "id2", "tok")
    server.call("ONCE.ABORT", "t", "id2", "tok")
    plain, first, completed, _, aborted = effects(stream, server)
    assert b"K" + b"\x01" not in plain[9:]
    clock, = struct.unpack_from("<Q", first, 1)
    assert first.endswith(b"K\x01" + struct.pack("<QIBBI", clock + 1001, 2, 3, 2, 0) + b"idtokfp")
    clock, = struct.unpack_from("<Q", completed, 1)
    assert completed[9:] == b"K\x02" + struct.pack("<QIBBI", clock + 1, 2, 3, 2, 5) + b"idtokfpreply"
    assert aborted[9:] == b"k" + struct.pack("<I", 3) + b"id2"
    stream.close()


def test_an_answer_about_what_was_done_is_worth_waiting_for(server):
    """WAIT after `done`, `running` and `duplicate` waits for what they depend on."""
    begin(server)
    stream = Stream(server.port)
    for ask in (lambda: begin(server, token="b"), lambda: done(server), lambda: done(server), lambda: begin(server, token="b")):
        before = server.client.info("replication")["master_repl_offset"]
        ask()
        assert server.client.info("replication")["master_repl_offset"] > before
    stream.close()


# --- Saved tables

def saved(server):
    """A table with one claim of each kind, as bytes, and where its section begins."""
    server.call("ONCE.CREATE", "t", "WINDOW", W, "SEED", 7)
    begin(server, "run", "tok", "FINGERPRINT", "fp", lease=50_000)
    piece = server.call("ONCE.DUMP", "t", 0)[2]
    return piece, len(piece) - 8 - 10 - 8 - 19 - 8


def forged(piece, at, data):
    """With other bytes in one place, after the window, and its checksum made right."""
    body = piece[:-8]
    body = body[:at] + data + body[at + len(data):]
    return body + struct.pack("<Q", xxhash().XXH3_128bits_withSeed(body, len(body), 0).low)


def test_forged_claims_are_refused(server):
    """Only claims that commands could have left; sections that are known, once each, and of their length."""
    if xxhash() is None:
        pytest.skip("no libxxhash here")
    piece, at = saved(server)
    clock, = struct.unpack_from("<Q", piece, 24)
    assert struct.unpack_from("<IB", piece, 8)[0] == 4 and piece[80] == 0
    assert struct.unpack_from("<BBQQ", piece, at) == (1, 1, 8 + 19 + 8, 1)
    claim = at + 18
    assert piece[claim] == 1 and piece[claim + 19:-8] == b"runtokfp"
    until, = struct.unpack_from("<Q", piece, claim + 1)
    assert until == clock + 50_001
    long = struct.Struct("<Q")
    wrong = [(8, b"\2"), (8, b"\3"), (8, b"\5"), (80, b"\1"), (at, b"\0"), (at, b"\2"), (at + 1, b"\0"), (at + 1, b"\xff"),
             (at + 2, long.pack(34)), (at + 2, long.pack(36)), (at + 2, long.pack(2**63)), (at + 10, long.pack(0)),
             (at + 10, long.pack(2)), (at + 10, long.pack(2**64 - 1)), (claim, b"\0"), (claim, b"\4"),
             (claim, b"\x11"), (claim, b"\x12"), (claim, b"\x21"), (claim + 1, long.pack(0)), (claim + 1, long.pack(2**64 - 1)),
             (claim + 1, long.pack(clock + 2_592_000_002)), (claim + 1, long.pack(clock - W)), (claim + 9, struct.pack("<I", 0)),
             (claim + 9, struct.pack("<I", 2**32 - 1)), (claim + 13, b"\0"), (claim + 14, b"\5"), (claim + 15, struct.pack("<I", 1)),
             (claim + 15, struct.pack("<I", 2**31))]
    server.client.delete("t")
    for place, data in wrong:
        assert "not a saved value" in error_of(server, "ONCE.LOAD", "t", 0, 1, forged(piece, place, data)), (place - at, data)
    for body in piece[:-8] + b"x", piece[:-9]:
        whole = body + struct.pack("<Q", xxhash().XXH3_128bits_withSeed(body, len(body), 0).low)
        assert "not a saved value" in error_of(server, "ONCE.LOAD", "t", 0, 1, whole)
    server.call("ONCE.LOAD", "t", 0, 1, forged(piece, claim + 19, b"ran"))
    assert begin(server, "ran", "b", "FINGERPRINT", "fp")[0] == b"running"


def test_saved_tables_stay_readable(server):
    """What this version saved. The lease is a month, so the claim is still running."""
    server.call("ONCE.LOAD", "t", 0, 1, (SOURCE / "tests/golden/once-claims-v4.bin").read_bytes())
    assert server.call("ONCE.GET", "t", "k") == 3
    assert begin(server, "running", "b", "FINGERPRINT", "fp")[0] == b"running"
    assert begin(server, "done", "b") == [b"done", b"reply"] and begin(server, "empty", "b") == [b"done", b""]
    assert begin(server, "gone", "b") == [b"done", None]
    assert server.call("ONCE.CALL", "t", "called", "KEEP", "RPUSH", "l", "a", "b") == [0, 2]
    assert done(server, "done", "a", "x") == [b"duplicate", 1]
