"""Goal:   the blocking and the asyncio tables of the Python package do the same: counting, batches,
        lists, deletion, meters, limits, claims and holds; on one server and in partitions.
Method: each test runs with both kinds of tables on a real server; answers are lost on purpose; the
        methods and their arguments are compared with each other and with the type stubs."""

import array
import ast
import enum
import inspect
import subprocess
import sys
import time
import uuid
from decimal import Decimal

import pytest
import redis
from clients import Awaited, Kind, lose
from counting import count, listed, url_of
from servers import SOURCE, wait_for

import lethe_once
import lethe_once.asyncio
from lethe_once import (Full, Incomplete, Mismatch, NoHold, NoTable, NotATable, Overflow,
                        Result, ServerError, Unacknowledged)

PACKAGE = SOURCE / "clients/python/lethe_once"


@pytest.fixture(params=["sync", "asyncio"])
def kind(request):
    one = Kind(request.param)
    yield one
    one.close()


@pytest.fixture
def client(kind, server):
    return kind.client(port=server.port)


def lose_of(table, name, times):
    """As lose, for both kinds."""
    if not isinstance(table, Awaited):
        return lose(table, name, times)
    real, left = table.inner._perform, {"times": times}
    async def perform(wanted):
        replies = await real(wanted)
        for part, reply in zip(getattr(wanted, "parts", ()), replies or ()):
            names = [words[0] for words in part[2]]
            if name in names and left["times"] > 0:
                left["times"] -= 1
                reply.answers = reply.answers[:names.index(name)]
                reply.failure = redis.TimeoutError("lost")
        return replies
    table.inner._perform = perform
    return left


def test_counting(kind, client, server):
    table = kind.once(client, "t")
    first = table.incrby("x", 2)
    assert first.applied and first.values == (2,)
    assert table.incrby("x", 2, id=first.id) == (False, (2,), first.id)
    assert table.incrby("x", 1, "y", 5, id="both") == (True, (3, 5), "both")
    assert table.get("x") == 3 and table.get("none") is None
    assert table.mget("y", "none", "x") == [5, None, 3]
    assert table.add("a", "b", "a") == [True, True, False] and table.seen("a", "z") == [True, False]
    assert table.call("SET", "k", "v", id="c") == (True, b"OK")
    assert table.call("SET", "k", "w", id="c") == (False, None)
    assert table.call_and_keep("INCR", "n", id="d") == table.call_and_keep("INCR", "n", id="d") == 1
    assert table.top(1) == [(b"y", 5)] and table.info()["counters"] == 2
    table.wait_ms = 20
    with pytest.raises(Unacknowledged) as caught:
        table.incrby("x", 1, wait=1, timeout=0.5) # there is no replica
    assert table.incrby("x", 1, id=caught.value.id).applied is False


def test_errors_by_reason(kind, client, server):
    table = kind.once(client, "t")
    table.incrby("full", (1 << 63) - 1)
    server.client.set("s", "text")
    server.call("ACL", "SETUSER", "reader", "on", "nopass", "~*", "-@all", "+once.get")
    reader = kind.once(kind.client(port=server.port, username="reader", password="any"), "t")
    for raised, act in (
            (ServerError, lambda: table.incrby("x", "many")),
            (Overflow, lambda: table.incrby("full", 1)),
            (NotATable, lambda: kind.once(client, "s").incrby("x", 1)),
            (NoHold, lambda: hold_of(kind, table, "none").settle(1)),
            (redis.exceptions.NoPermissionError, lambda: reader.incrby("x", 1))):
        with pytest.raises(raised) as caught:
            act()
        assert isinstance(caught.value, redis.RedisError)
    small = kind.once(client, "small", max_memory=65536, policy="refuse", capacity=100)
    with pytest.raises(Full):
        for i in range(100_000):
            batch = small.batch()
            for j in range(500):
                batch.incrby("x", 1, id=f"{i}-{j}")
            failed = [one for one in batch.send(return_errors=True) if isinstance(one, Exception)]
            if failed:
                raise failed[0]
    server.call("ONCE.CALL", "t", "kept", "KEEP", "SET", "k", "v")
    with pytest.raises(Mismatch):
        table.call_and_keep("SET", "k", "other", id="kept")
    with pytest.raises(NoTable):
        kind.once(client, "none").info()


@pytest.mark.parametrize("is_cluster", [False, True])
def test_whoever_is_not_let_in(kind, start, is_cluster):
    """A wrong password has the class of redis-py, whose older versions do not know the server's word for it."""
    server = start(**({"cluster_enabled": "yes", "cluster_announce_ip": "127.0.0.1"} if is_cluster else {}))
    if is_cluster:
        server.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        wait_for(lambda: b"cluster_state:ok" in server.call("CLUSTER", "INFO"), what="a cluster")
    server.call("ACL", "SETUSER", "counter", "on", ">secret", "~*", "+@all", "-once.incrby")
    server.client.config_set("requirepass", "secret")
    for username, password, raised in ((None, "wrong", redis.AuthenticationError), (None, None, redis.AuthenticationError),
                                       ("nobody", "secret", redis.AuthenticationError),
                                       ("counter", "secret", redis.exceptions.NoPermissionError)):
        table = kind.once(kind.client(port=server.port, username=username, password=password), "t", cluster=is_cluster)
        with pytest.raises(raised):
            table.incrby("n", 1)
        (error,) = table.batch().incrby("n", 1).send(return_errors=True)
        assert isinstance(error, raised)


@pytest.mark.parametrize("bad", [0, -1, -0.001, float("nan"), float("inf"), "30", None, True, Decimal(0)], ids=repr)
def test_no_lease(kind, client, server, bad):
    """It would be a hold, or a claim, that is over when its answer comes."""
    table = kind.once(client, "t")
    claim = table.claim("done")
    for act in [lambda: table.hold("n", 1, 5, lease=bad), lambda: table.claim("c", lease=bad),
                lambda: table.claimed(id=str, lease=bad),
                *([lambda: claim.renew(bad)] if bad is not None else [])]: # that is the claim's own
        with pytest.raises(ValueError, match="lease"):
            act()
    assert list(table.holds()) == [] and [one[0] for one in table.claims()] == [b"done"]
    for good in 0.5, Decimal("0.5"), 1:
        assert table.hold("n", 1, 5, lease=good).granted and table.claim(f"c-{good!r}", lease=good).state == "new"


def test_no_replicas_and_no_time(kind, client, server):
    table = kind.once(client, "t")
    batch = table.batch().incrby("n", 1)
    for name, values in {"wait": (-1, 1.5, "1", True), "timeout": ("1", True, float("nan"), [])}.items():
        for bad in values:
            for act in (lambda: table.incrby("n", 1, **{name: bad}), lambda: batch.send(**{name: bad}),
                        lambda: kind.once(client, "t", **{name: bad}),
                        lambda: kind.spread(client, "s", partitions=2, **{name: bad})):
                with pytest.raises(ValueError, match=f"{name} is not"):
                    act()
    for name, bad in (("wait", None), ("timeout", None), ("wait_ms", None), ("wait_ms", 0), ("wait_ms", -1)):
        with pytest.raises(ValueError, match=name):
            kind.once(client, "t", **{name: bad})
    assert server.client.keys() == [] and len(batch) == 1
    table.timeout = None
    with pytest.raises(ValueError, match="timeout is not"):
        table.incrby("n", 1)
    table.timeout = float("inf") # half the window is the end anyway
    assert table.incrby("n", 1).applied and batch.send()[0].values == (2,)
    with pytest.raises(Unacknowledged):
        table.incrby("n", 1, timeout=-1) # it is over
    assert table.get("n") == 2


class Colour(enum.Enum):
    RED = "red"


UNSENDABLE = [uuid.UUID(int=1), Decimal(1), True, ["a"], Colour.RED, object(), "half a character: \ud800"]


@pytest.mark.parametrize("bad", UNSENDABLE + [None], ids=lambda bad: type(bad).__name__)
def test_what_cannot_be_sent(kind, client, server, bad):
    """It is said of that operation, and before anything is sent: nothing is in doubt, and the rest of a batch is
    counted."""
    spread, by_id = kind.spread(client, "s", partitions=2), kind.spread(client, "i", partitions=2, by="id")
    table, calls = kind.once(client, "t"), []
    of = getattr(table, "inner", table)
    perform = of._perform
    of._perform = lambda wanted: calls.append(wanted) or perform(wanted)
    batch = table.batch().incrby("n", 1, id="first")
    with_ids = [] if bad is None else [
        lambda: table.incrby("n", 1, id=bad), lambda: table.take("n", 1, 5, id=bad), lambda: batch.incrby("n", 1, id=bad),
        lambda: table.call("SET", "k", 1, id=bad), lambda: table.hold("n", 1, 5, id=bad),
        lambda: by_id.incrby("n", 1, id=bad), lambda: table.claim("id", fingerprint=bad),
        lambda: table.claims(state=bad), lambda: table.scan(match=bad), lambda: kind.once(client, "u", error=bad)]
    for act in [
            *with_ids,
            lambda: table.incrby(bad, 1), lambda: table.incrby("n", bad), lambda: table.incrby("n", 1, "m", bad),
            lambda: batch.incrby(bad, 1), lambda: batch.incrby("n", bad), lambda: batch.take("n", 1, (5, bad) if bad else bad),
            lambda: batch.add("a", bad), lambda: batch.call("SET", "k", bad), lambda: batch.get(bad),
            lambda: table.take("n", bad, 5), lambda: table.take("n", 1, bad), lambda: table.peek("n", bad),
            lambda: table.call("SET", "k", bad), lambda: table.call_and_keep("SET", "k", 1, id=bad),
            lambda: table.hold("n", bad, 5), lambda: table.claim(bad), lambda: table.add("a", bad),
            lambda: table.seen(bad), lambda: table.get(bad), lambda: table.mget("n", bad), lambda: table.top(bad),
            lambda: table.delete("n", bad), lambda: table.give_up(bad), lambda: list(table.range(bad, "hour")),
            lambda: kind.once(client, bad), lambda: spread.incrby(bad, 1), lambda: spread.get(bad),
            lambda: by_id.add("a", bad)]:
        with pytest.raises(redis.DataError, match="cannot be sent"):
            listed = act()
            if kind.loop is None and inspect.isgenerator(listed):
                list(listed)
    assert calls == [] and server.client.exists("t") == 0
    batch.incrby("n", 2, id="last")
    assert [one.values for one in batch.send()] == [(1,), (3,)]
    assert table.seen("first", "last", "a") == [True, True, False]


def test_bytes_of_all_kinds(kind, client, server):
    """A copy is sent, byte by byte."""
    changing = bytearray(b"\xff1")
    table = kind.once(client, bytearray(b"t\xff"), window_ms=5000)
    batch = table.batch().incrby("n", 1, id=changing).incrby("n", 1, id=memoryview(array.array("I", [1, 2])))
    changing[:] = b"\xff2"
    batch.incrby("n", 1.0, id=changing).incrby("n", 1, id=1.5)
    results = batch.send(return_errors=True)
    assert isinstance(results[2], ServerError) # no whole number
    lose_of(table, "ONCE.INCRBY", 1)
    assert table.incrby("n", 1, id="again").applied is False
    assert table.seen(b"\xff1", array.array("I", [1, 2]).tobytes(), b"\xff2", "1.5") == [True, True, False, True]
    assert server.client.keys() == [b"t\xff"]


def test_a_word_that_redis_py_refuses(kind, client, server):
    """Whatever the reason: it was not sent, so it is not in doubt."""
    table = kind.once(client, "t")
    links, end = getattr(table, "inner", table)._servers.links(None), time.monotonic() + 10
    commands = [("SET", "k", 1), ("SET", "k", object())]
    if kind.loop is None:
        reply = lethe_once.steps.Reply()
        assert links.send(reply, end, commands) is None
    else:
        reply = kind.loop.run_until_complete(links.exchange(end, commands))
    assert isinstance(reply.failure, redis.DataError) and not reply.was_sent and not reply.answers
    assert server.client.exists("k") == 0 and table.incrby("n", 1).applied


def hold_of(kind, table, identity):
    """Of an id, without asking for it."""
    if kind.loop is None:
        return lethe_once.Hold(table, identity)
    return Awaited(kind.loop, lethe_once.Hold(table.inner, identity))


@pytest.mark.parametrize("name", ["ONCE.INCRBY", "ONCE.CALL"])
def test_lost_answers(kind, client, server, name):
    table = kind.once(client, "t")
    for lost in range(3):
        lose_of(table, name, lost)
        if name == "ONCE.INCRBY":
            result = table.incrby("n", 1)
            assert result.applied and result.values == (lost + 1,)
        else:
            assert table.call("INCR", "k") == (True, 1 if lost == 0 else None)
    lose_of(table, name, 1)
    if name == "ONCE.INCRBY": # who knows whose it was
        assert table.incrby("n", 1, id="mine").applied is False
    else:
        assert table.call("INCR", "k", id="mine") == (False, None)


def test_lists(kind, client, server):
    table = kind.once(client, "t", per="hour")
    batch = table.batch()
    for i in range(2500):
        batch.incrby(f"k{i}", i)
    assert len(batch) == 2500 and all(one.applied for one in batch.send()) and len(batch) == 0
    assert dict(table.scan()) == {b"k%d" % i: i for i in range(2500)}
    assert dict(table.scan(match="k249*", count=10)) == {
        b"k%d" % i: i for i in [249, *range(2490, 2500)]}
    ((start, value),) = table.range("k7", "hour")
    assert value == 7 and start % 3_600_000 == 0
    assert list(table.claims()) == list(table.holds()) == []
    for i in range(250):
        assert table.claim(f"c{i}").state == "new"
    assert len(list(table.claims("running", count=10))) == 250


def test_a_scan_goes_on_after_its_connection_was_lost(kind, client, server):
    """A server that hangs up on slow readers has its cursors still: the list goes on, however often it does."""
    table = many(kind, client)
    found = read(kind, table, lambda number: number % 20 == 0 and
                 server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
    assert sorted(name for name, _ in found) == sorted(b"k%d" % i for i in range(500))


def many(kind, client):
    """A table of 500 counters."""
    table = kind.once(client, "t")
    batch = table.batch()
    for i in range(500):
        batch.incrby(f"k{i}", 1)
    batch.send()
    return table


def read(kind, table, then):
    """All counters, a few at a time; then is called with how many there are, after each."""
    found = []
    if kind.loop is None:
        for one in table.scan(count=20):
            found.append(one)
            then(len(found))
        return found
    async def gather():
        async for one in table.inner.scan(count=20):
            found.append(one)
            then(len(found))
    kind.loop.run_until_complete(gather())
    return found


def test_a_scan_begins_again_on_another_server(kind, start):
    """A cursor is the server's that gave it, until that starts again: the list misses nothing."""
    server = start(appendonly="yes", appendfsync="always")
    table = many(kind, kind.client(port=server.port))
    found = read(kind, table, lambda number: number == 200 and server.restart())
    assert {name for name, _ in found} == {b"k%d" % i for i in range(500)} and len(found) > 500


@pytest.mark.parametrize("why", ["other servers", "nobody says who it is"])
def test_a_list_that_never_ends(kind, start, why):
    """It is always another server; or it does not say, and the connection is always another one."""
    server = start()
    server.call("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@all", *(["-info"] if "nobody" in why else []))
    table = many(kind, kind.client(port=server.port, username="reader", password="any"))
    def disturb(number):
        assert number < 2000, "it does not end"
        if number % 20 != 0:
            return
        if "nobody" in why:
            server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        else: # as after a promotion
            server.call("REPLICAOF", "127.0.0.1", 1)
            server.call("REPLICAOF", "NO", "ONE")
    with pytest.raises(Unacknowledged, match="begin again"):
        read(kind, table, disturb)
    assert len(read(kind, table, lambda _: None)) == 500


def test_deleting(kind, client, server):
    table = kind.once(client, "t")
    table.incrby("a", 1, "b", 2, id="i")
    assert table.delete("a", "none") == 1 and table.get("a") is None and table.delete() == 0
    assert table.incrby("a", 1, "b", 2, id="i").applied is False
    lose_of(table, "ONCE.DEL", 1)
    with pytest.raises(Unacknowledged) as caught: # once more could remove what came meanwhile
        table.delete("b")
    assert caught.value.id is None and "id" not in str(caught.value).split() # there is none to send again
    assert table.get("b") is None
    assert table.delete_table() is True and server.client.keys() == [] and not table.delete_table()


def test_limits(kind, client, server):
    table = kind.once(client, "t", per="hour")
    assert table.take("k", 60, (100, "hour")).granted
    refused = table.take("k", 60, (100, "hour"), id="mine")
    assert not refused.granted and refused.left == 40 and refused.resets_ms > 0
    assert table.give_up("mine") is True and table.peek("k", 100)[:2] == (60, 40)
    lose_of(table, "ONCE.TAKE", 1)
    assert table.take("k", 10, 100).outcome == "applied"
    lose_of(table, "ONCE.TAKE", 1)
    refused = table.take("k", 50, 100)
    assert refused.outcome == "limited" and table.seen(refused.id) == [True]
    with pytest.raises(ValueError, match="limit is needed"):
        table.take("k", 1)
    with pytest.raises(ValueError, match="one partition"):
        kind.once(client, "t:{4711}").take("k", 1, 5)
    server.client.set("s", "a description")
    with pytest.raises(ValueError, match="one partition"):
        kind.once(client, "s").take("k", 1, 5)


def test_holds(kind, client, server):
    table = kind.once(client, "t")
    hold = table.hold("k", 60, 100, lease=50)
    assert hold.granted and hold.left == 40 and not table.hold("k", 41, 100).granted
    assert [row[:3] for row in table.holds()] == [(hold.id.encode(), b"k", 60)]
    assert hold.settle(150).outcome == "limited"
    assert hold.settle(25).outcome == "settled" and hold.settle(25).outcome == "duplicate"
    with pytest.raises(Mismatch):
        hold.settle(26)
    lose_of(table, "ONCE.HOLD", 1)
    other = table.hold("k", 5, 100)
    assert other.outcome == "held"
    lose_of(table, "ONCE.RELEASE", 1)
    assert other.release() is True and other.release() is False and table.get("k") == 25


def test_claims(kind, client, server):
    table = kind.once(client, "t")
    claim = table.claim("i", fingerprint="f")
    assert claim.state == "new" and table.claim("i").state == "mismatch" and claim.renew()
    assert table.claim("i", fingerprint="f").state == "running"
    assert claim.done(b"1") is True and table.claim("i", fingerprint="f").reply == b"1"
    other = table.claim("j")
    assert other.abort() is True and table.claim("j").state == "new"


def test_batches(kind, client, server):
    """Outcomes in order, errors in their places."""
    table = kind.once(client, "t")
    batch = table.batch()
    batch.incrby("a", 1, id="i").incrby("a", 1, id="i").take("a", 5, 3).take("a", 2, 3, id="j")
    batch.call("SET", "k", "v").get("a").peek("a", 10).add("x", "i").incrby("a", "many")
    with pytest.raises(Incomplete) as caught:
        batch.send()
    found = caught.value.results
    assert found[:2] == [Result(True, (1,), "i"), Result(False, (1,), "i")]
    assert [one.outcome for one in found[2:4]] == ["limited", "applied"]
    assert found[4:8] == [(True, b"OK"), 3, (3, 7, -1), [True, False]]
    assert isinstance(found[8], ServerError) and len(found) == 9
    assert table.batch().send() == []
    batch = table.batch().incrby("a", 1, id="z")
    with pytest.raises(Incomplete) as caught:
        batch.send(wait=1, timeout=0.1)
    assert isinstance(caught.value.results[0], Unacknowledged)


def test_a_batch_resends_only_what_has_no_answer(kind, client, server):
    table = kind.once(client, "t")
    def calls():
        return server.client.info("commandstats")["cmdstat_ONCE.INCRBY"]["calls"]
    table.incrby("warm", 1)
    before = calls()
    batch = table.batch()
    for i in range(100):
        batch.incrby("n", 1, id=f"i{i}") if i != 60 else batch.call("INCR", "k")
    lose_of(table, "ONCE.CALL", 1) # the answers from there on
    found = batch.send()
    assert calls() - before == 60 + 39 + 39
    assert all(one.applied for one in found[:60]) and found[60] == (True, None)
    assert not any(one.applied for one in found[61:]) # ids of the caller's: who knows whose
    assert table.get("n") == 99


def test_a_lost_table_is_made_again_with_its_own_window(kind, client, server):
    table = kind.once(client, "t", window_ms=5000)
    for operate in (lambda: table.incrby("n", 1), lambda: table.add("a"), lambda: table.claim("i"),
                    lambda: table.take("k", 1, 5), lambda: table.batch().incrby("n", 1).send()):
        server.client.flushall()
        operate()
        assert table.info()["window_ms"] == 5000


# --- Partitions

@pytest.mark.parametrize("by", ["key", "id"])
def test_partitions(kind, client, server, by):
    """lethe and Python find the same in it."""
    table = kind.spread(client, "t", partitions=8, by=by, per="hour", error=1e-12)
    url = url_of(server)
    batch = table.batch()
    for i in range(400):
        batch.incrby(f"k{i % 40}", 1, id=f"i{i}")
    assert all(one.applied for one in batch.send())
    lines = "".join(f"i{i}\tk{i % 40}\t1\n" for i in range(440))
    assert count(url, stdin=lines)["duplicates"] == 400 # the same partitions, for lethe
    assert listed(url) == {f"k{i}": 11 for i in range(40)}
    assert dict(table.scan()) == {b"k%d" % i: 11 for i in range(40)}
    assert table.get("k3") == 11 and table.get("none") is None
    assert table.mget("k1", "none", "k2") == [11, None, 11]
    assert table.incrby("k1", 5, id="i1").applied is False and table.incrby("k1", 5).applied
    assert table.top(2) == [(b"k1", 16), (b"k0", 11)]
    assert sum(value for _, value in table.range("k1", "hour")) == 16
    assert len(table.info()) == 8 and sum(one["fresh"] for one in table.info()) == 441
    assert table.delete("k1", "none") == 1 and table.get("k1") is None
    assert table.incrby("k1", 1, id="i1").applied is False
    if by == "id":
        assert table.seen("i1", "none") == [True, False] and table.add("new") == [True]
        with pytest.raises(ValueError, match="spread by id"):
            table.take("k", 1, 5)
    else:
        assert table.take("k2", 1, 12).granted and not table.take("k2", 1, 12).granted
        assert table.give_up("gone", "k2") and table.peek("k2", 20).left == 8
        table.hold("k2", 3, 20, id="h")
        assert len(list(table.holds())) == 1 and table.held("h", "k2").settle(2).is_settled
        claim = table.claim("c")
        assert claim.done(b"1") and table.claim("c").reply == b"1"
        assert [one[0] for one in table.claims()] == [b"c"]
    with pytest.raises(ValueError, match="once-table"):
        table.batch().call("SET", "k", "v")
    assert table.delete_table() is True and server.client.keys() == []


def test_what_is_left_of_a_table(kind, client, server):
    """Without its description, a table is not made anew: ids would go elsewhere."""
    table = kind.spread(client, "t", partitions=6, by="id")
    table.batch().incrby("k", 1, id="a").incrby("k", 1, id="b").incrby("k", 1, id="c").send()
    for i in range(20):
        table.incrby("k", 1)
    server.client.delete("t")
    for number in 6, 7:
        with pytest.raises(ValueError, match="is gone"):
            kind.spread(client, "t", partitions=number)
    with pytest.raises(ValueError, match="braces"):
        kind.spread(client, "{t}", partitions=2)
    with pytest.raises(ValueError, match="spread by key"):
        kind.spread(client, "u", partitions=2)
        kind.spread(client, "u", partitions=2, by="id")


def test_an_id_belongs_to_the_partition_of_its_counter(kind, client, server):
    """Of this client and of lethe, which send the same ids: an event that comes both ways counts once."""
    table, users = kind.spread(client, "t", partitions=16), [f"user-{i}" for i in range(100)]
    mine = {user for user in users if table.incrby(user, 1, id="order").applied}
    assert len(mine) == 16
    assert count(url_of(server), stdin="".join(f"order\t{user}\t1\n" for user in users))["duplicates"] == 100
    assert count(url_of(server), stdin="".join(f"other\t{user}\t1\n" for user in users))["applied"] == 16
    assert listed(url_of(server)) == {user: 2 for user in mine}
    taken = [table.take(user, 1, 10, id="take") for user in users]
    assert sum(one.outcome == "applied" for one in taken) == 16 and all(one.granted for one in taken)
    assert all(table.take(user, 1, 10, id=f"take/{user}").outcome == "applied" for user in users)
    with pytest.raises(ValueError, match="partition of its counter"):
        table.seen("order")


@pytest.mark.parametrize("by", ["key", "id"])
def test_partitions_go_by_what_is_sent(kind, client, server, by):
    """The client's encoding decides, here and in lethe."""
    other = kind.client(port=server.port, encoding="latin-1")
    table = kind.spread(other, "t", partitions=16, by=by)
    for i in range(40):
        assert table.incrby(f"\xe9{i}", 1, id=f"\xe8{i}").applied
    same = kind.spread(client, "t")
    for i in range(40):
        result = same.incrby(b"\xe9%d" % i, 1, id=b"\xe8%d" % i)
        assert not result.applied and same.get(b"\xe9%d" % i) == 1
    strict = kind.client(port=server.port, encoding="ascii", encoding_errors="ignore")
    assert kind.spread(strict, "u", partitions=16).incrby("\xe97", 1).applied
    assert kind.spread(client, "u").get("7") == 1


def test_names_of_tables_that_are_no_text(kind, client, server):
    tables = [kind.spread(client, name, partitions=2) for name in (b"\xff", b"\xfe")]
    for table in tables:
        assert table.incrby("k", 1, id="i").applied and table.get("k") == 1
    assert tables[0].partitions[0].table.startswith(b"\xff:{")
    assert sorted(key[:1] for key in server.client.keys()) == [b"\xfe"] * 3 + [b"\xff"] * 3


def test_ids_are_spread_as_lethe_does_it(server):
    """Ids of all lengths, which are hashed in different ways."""
    table = lethe_once.Spread(server.client, "t", partitions=100, by="id", error=1e-12)
    ids = [f"{i}-".ljust(i, "x") for i in [*range(4, 300, 3), 1000]]
    batch = table.batch()
    for one in ids:
        batch.incrby("k", 1, id=one)
    assert all(one.applied for one in batch.send())
    lines = "".join(f"{one}\tk\t1\n" for one in ids)
    assert count(url_of(server), stdin=lines)["duplicates"] == len(ids)


def test_without_a_hash_function(server, monkeypatch):
    from lethe_once import spread
    spread._hash_function.cache_clear()
    monkeypatch.setitem(sys.modules, "xxhash", None)
    monkeypatch.setattr(spread.ctypes, "CDLL", lambda name: (_ for _ in ()).throw(OSError(name)))
    with pytest.raises(ImportError, match="libxxhash"):
        lethe_once.Spread(server.client, "t", partitions=2, by="id")
    assert lethe_once.Spread(server.client, "u", partitions=2).incrby("k", 1).applied
    spread._hash_function.cache_clear()


# --- The two kinds

def methods_of(one):
    return {name: inspect.signature(value) for name, value in inspect.getmembers(one, callable)
            if not name.startswith("_")}


@pytest.mark.parametrize("name", ["Once", "Spread"])
def test_both_kinds_have_the_same_methods(name):
    blocking, other = getattr(lethe_once, name), getattr(lethe_once.asyncio, name)
    assert methods_of(blocking) == methods_of(other)
    assert all(getattr(blocking, one).__doc__ for one in methods_of(blocking))


@pytest.mark.parametrize("module", ["__init__", "asyncio"])
def test_the_stubs_have_all_names_and_arguments(module):
    tree = ast.parse((PACKAGE / f"{module}.pyi").read_text())
    package = lethe_once if module == "__init__" else lethe_once.asyncio
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    imported = {alias.asname or alias.name for node in tree.body
                if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(package.__all__) <= set(classes) | imported
    def inherited(node):
        found = {}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in classes:
                found.update(inherited(classes[base.id]))
        for one in node.body:
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[one.name] = one
        return found
    for name in ("Once", "Spread", "Batch", "Claim", "Hold"):
        if name not in classes:
            continue
        stubs = inherited(classes[name])
        for method, signature in methods_of(getattr(package, name)).items():
            arguments = stubs[method].args
            shown = [one.arg for one in [*arguments.posonlyargs, *arguments.args,
                                         *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
                     if one is not None]
            assert set(shown) == set(signature.parameters), (name, method)


def test_a_client_of_the_other_kind(server):
    with pytest.raises(TypeError, match=r"lethe_once\.asyncio"):
        lethe_once.Once(redis.asyncio.Redis(port=server.port), "t")
    with pytest.raises(TypeError, match="no client of redis.asyncio"):
        lethe_once.asyncio.Once(server.client, "t")


def test_asyncio_is_not_loaded_unasked():
    script = "import sys; sys.path.insert(0, sys.argv[1]); import lethe_once; " \
             "assert 'lethe_once.asyncio' not in sys.modules"
    subprocess.run([sys.executable, "-c", script, PACKAGE.parent], check=True)


def test_after_a_fork_and_after_close(kind, client, server):
    table = kind.once(client, "t")
    assert table.incrby("n", 1).applied
    before = server.client.info("clients")["connected_clients"]
    table.close()
    wait_for(lambda: server.client.info("clients")["connected_clients"] < before, what="closing")
    assert table.incrby("n", 1).values == (2,)
