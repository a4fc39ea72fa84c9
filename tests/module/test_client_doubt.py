"""Goal:   the Python package never says that something was done, or was not, when it does not know: errors inside an
        answer, errors after an attempt in doubt, a WAIT that fails, and what is left of the time.
Method: each test runs with both kinds of tables on a real server, whose answers are changed or lost on purpose."""

import asyncio
import time

import pytest
import redis
from clients import Awaited, Kind

import lethe_once.asyncio
from lethe_once import Full, Incomplete, OutOfMemory, Unacknowledged


@pytest.fixture(params=["sync", "asyncio"])
def kind(request):
    one = Kind(request.param)
    yield one
    one.close()


@pytest.fixture
def client(kind, server):
    return kind.client(port=server.port)


def meddle(table, change):
    """Calls change(names, reply, commands, end) after each exchange with a server."""
    inner = table.inner if isinstance(table, Awaited) else table
    real = inner._perform
    def changed(wanted, replies):
        for part, reply in zip(getattr(wanted, "parts", ()), replies or ()):
            change([words[0] for words in part[2]], reply, part[2], part[1])
        return replies
    async def later(wanted):
        return changed(wanted, await real(wanted))
    inner._perform = later if isinstance(table, Awaited) else lambda wanted: changed(wanted, real(wanted))


def lose_first(table, name, then=lambda: None):
    """The first answer to a command is lost, and then something happens."""
    left = [1]
    def change(names, reply, *_):
        if name in names and left and left.pop():
            reply.answers = reply.answers[:names.index(name)]
            reply.failure = redis.TimeoutError("lost")
            then()
    meddle(table, change)


def fill(table):
    for i in range(1000):
        batch = table.batch()
        for j in range(500):
            batch.incrby("x", 1, id=f"{i}-{j}")
        if any(isinstance(one, Full) for one in batch.send(return_errors=True)):
            return
    raise AssertionError("it is never full")


def test_an_error_for_an_id(kind, client, server):
    """An exception in a list is true."""
    table = kind.once(client, "small", max_memory=65536, policy="refuse", capacity=100)
    fill(table)
    assert table.seen("a", "b", "0-0") == [False, False, True]
    for act in (lambda: table.add("a"), lambda: table.add("a", "b"), lambda: table.give_up("a")):
        with pytest.raises(Full):
            act()
    with pytest.raises(Incomplete) as caught:
        table.add("0-0", "a")
    assert caught.value.results[0] is False and isinstance(caught.value.results[1], Full)
    (error,) = table.batch().add("a").send(return_errors=True)
    assert isinstance(error, Full)
    assert table.seen("a", "b") == [False, False]
    assert table.give_up("0-0") is False


def test_an_error_for_an_id_of_partitions(kind, client, server):
    table = kind.spread(client, "parts", partitions=2, by="id")
    def refuse(names, reply, commands, _):
        for i, words in enumerate(commands):
            if names[i] == "ONCE.ADD" and words[-1] in refused:
                reply.answers[i] = [redis.ResponseError("FULL the table has reached its cap")]
    meddle(table, refuse)
    refused = {b"b", b"d"}
    with pytest.raises(Incomplete) as caught:
        table.add("a", "b", "c", "d")
    assert caught.value.results[::2] == [True, True]
    assert all(isinstance(one, Full) for one in caught.value.results[1::2])
    with pytest.raises(Full):
        table.add("b", "d")


def test_an_error_for_an_id_and_no_memory(kind, client, server):
    """Also when an attempt before it is in doubt, of which the id says so."""
    table = kind.once(client, "t")
    table.add("known")
    def no_memory(names, reply, *_):
        if "ONCE.ADD" in names and reply.answers:
            reply.answers = [[redis.ResponseError("OOM command not allowed")]]
    meddle(table, no_memory)
    with pytest.raises(OutOfMemory):
        table.give_up("a")
    lose_first(table, "ONCE.ADD")
    with pytest.raises(Unacknowledged) as caught:
        table.add("b")
    assert caught.value.id == "b" and isinstance(caught.value.__cause__, OutOfMemory)


def test_each_id_has_an_error_of_its_own(kind, client, server):
    table = kind.once(client, "t", wait=1, wait_ms=10)
    left = [b"a", b"b"]
    def change(names, reply, *_):
        if "ONCE.ADD" in names:
            who = b"run_id:%b\r\nmaster_replid:1\r\n" % left.pop(0)
            error = redis.ResponseError("FULL the table has reached its cap")
            reply.answers = [who, [1, 1, 0] if left else [1, 0, error], 0 if left else 1]
    meddle(table, change)
    with pytest.raises(Incomplete) as caught:
        table.add("x", "y", "z")
    assert caught.value.results[0] is True
    assert [one.id for one in caught.value.results[1:]] == ["y", "z"]


def test_a_wait_that_is_denied(kind, server):
    """The operation was applied: whoever does not learn its id counts it again."""
    server.call("ACL", "SETUSER", "hasty", "on", "nopass", "~*", "+@all", "-wait")
    table = kind.once(kind.client(port=server.port, username="hasty", password="any"), "t", wait=1)
    for act in (lambda: table.incrby("n", 1), lambda: table.take("n", 1, 10), lambda: table.call("INCR", "k")):
        with pytest.raises(Unacknowledged) as caught:
            act()
        assert isinstance(caught.value.__cause__, redis.exceptions.NoPermissionError)
        assert server.call("ONCE.SEEN", "t", caught.value.id) == [1]
    with pytest.raises(Unacknowledged):
        table.delete("n")
    assert server.call("ONCE.GET", "t", "n") is None


def test_a_right_that_is_lost_after_a_lost_answer(kind, server):
    server.call("ACL", "SETUSER", "late", "on", "nopass", "~*", "+@all")
    client = kind.client(port=server.port, username="late", password="any")
    for name in ("ONCE.INCRBY", "ONCE.TAKE"):
        table = kind.once(client, "t")
        lose_first(table, name, lambda: server.call("ACL", "SETUSER", "late", "-" + name.lower()))
        with pytest.raises(Unacknowledged, match="in doubt") as caught:
            table.incrby("n", 1) if name == "ONCE.INCRBY" else table.take("n", 1, 10)
        assert isinstance(caught.value.__cause__, redis.exceptions.NoPermissionError)
        assert server.call("ONCE.SEEN", "t", caught.value.id) == [1]
        with pytest.raises(redis.exceptions.NoPermissionError): # without a doubt, as it is
            table.incrby("n", 1)


def test_a_password_that_changes_after_a_lost_answer(kind, start):
    server = start()
    table = kind.once(kind.client(port=server.port), "t")
    def lock():
        server.client.config_set("requirepass", "secret")
        server.client = redis.Redis(port=server.port, password="secret")
        server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    lose_first(table, "ONCE.INCRBY", lock)
    with pytest.raises(Unacknowledged, match="in doubt") as caught:
        table.incrby("n", 1)
    assert server.call("ONCE.SEEN", "t", caught.value.id) == [1]


def test_giving_up_has_what_is_left(kind, client, server):
    """Of the time, and as many replicas as the caller asked for."""
    table = kind.once(client, "t", wait_ms=10)
    table.incrby("n", 10)
    lose_first(table, "ONCE.TAKE")
    seen = []
    def note(names, reply, commands, end):
        if "ONCE.ADD" in names:
            seen.append((commands[-1][:2], end))
        if "WAIT" in names and len(reply.answers) == len(names):
            reply.answers[-1] = 2
    meddle(table, note)
    end = time.monotonic() + 20
    assert table.take("n", 1, 10, wait=2, timeout=20).outcome == "limited"
    ((command, until),) = seen
    assert command == ("WAIT", 2) and until <= end + 0.5


def test_giving_up_is_within_the_window(kind, client, server):
    """When the original may be forgotten, nobody can say any more whether it was applied."""
    table = kind.once(client, "t")
    table.create(window_ms=6000)
    table.incrby("n", 10)
    lose_first(table, "ONCE.TAKE")
    seen = []
    meddle(table, lambda names, reply, commands, end: seen.append(end) if "ONCE.ADD" in names else None)
    end = time.monotonic() + 3
    try:
        assert table.take("n", 1, 10, timeout=60).outcome == "limited"
    except Unacknowledged:
        assert time.monotonic() > end # a very slow machine
    assert all(one <= end + 0.5 for one in seen)


HISTORIES = {"same": ("a", "a", True), "other": ("a", "b", Unacknowledged), "unknown": (None, None, Unacknowledged)}


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("way", ["add", "give_up", "batch", "spread"])
def test_an_answer_of_another_server(kind, client, server, way, history):
    """An id was new, too few replicas have it, and it is not new any more: to the same server, it is our own."""
    table = (kind.spread(client, "t", partitions=2, by="id") if way == "spread" else kind.once(client, "t"))
    table.wait, table.wait_ms = 1, 10
    first, second, meant = HISTORIES[history]
    attempts = []
    def change(names, reply, *_):
        if "ONCE.ADD" not in names:
            return
        assert names[0] == "INFO" and reply.answers[names.index("ONCE.ADD")] == [int(not attempts)]
        who = second if attempts else first
        reply.answers[0] = (redis.ResponseError("NOPERM") if who is None else
                            b"run_id:%b\r\nmaster_replid:1\r\n" % who.encode())
        if attempts:
            reply.answers[-1] = 1 # replicas
        attempts.append(who)
    meddle(table, change)
    act = {"add": lambda: table.add("i")[0], "give_up": lambda: table.give_up("i"), "spread": lambda: table.add("i")[0],
           "batch": lambda: table.batch().add("i").send(return_errors=True)[0]}[way]
    if meant is True:
        assert act() in (True, [True])
    elif way == "batch":
        assert isinstance(act(), meant)
    else:
        with pytest.raises(meant) as caught:
            act()
        assert caught.value.id == "i"
    assert len(attempts) == 2


def test_the_acknowledged_answer_counts(kind, client, server):
    """Known to a server that has lost it, and new to the next one."""
    table = kind.once(client, "t", wait=1, wait_ms=10)
    left = [0, 1]
    def change(names, reply, *_):
        if "ONCE.ADD" in names:
            reply.answers = [b"", [left.pop(0)], 0 if left else 1]
    meddle(table, change)
    assert table.add("i") == [True]
    left = [0, 1]
    assert table.give_up("i") is True


def test_nobody_is_asked_without_wait(kind, client, server):
    table = kind.once(client, "t")
    seen = []
    meddle(table, lambda names, *_: seen.extend(names))
    assert table.add("i") == [True] and table.give_up("j") is True and table.get("n") is None
    assert seen == ["ONCE.ADD", "ONCE.ADD", "ONCE.GET"]


def interrupt(kind, table, name, at=1):
    """An answer to a command has come, the one at this place, when its reader is interrupted."""
    left = [at]
    def change(names, *_):
        if name in names:
            left[0] -= 1
            if left[0] == 0:
                raise asyncio.CancelledError if kind.loop else KeyboardInterrupt
    meddle(table, change)


INTERRUPTED = (asyncio.CancelledError, KeyboardInterrupt)


def test_an_interrupted_batch(kind, client, server):
    """It has its operations still, with their ids and what is known of them."""
    table = kind.once(client, "t")
    interrupt(kind, table, "ONCE.INCRBY")
    batch = table.batch().incrby("n", 1).incrby("n", 1, id="mine").get("n")
    with pytest.raises(INTERRUPTED):
        batch.send()
    assert len(batch) == 3 and server.call("ONCE.GET", "t", "n") == 2
    batch.incrby("n", 5)
    one, mine, value, other = batch.send()
    assert one.applied and not mine.applied and other.applied # it cannot know whose that was
    assert value == 2 and server.call("ONCE.GET", "t", "n") == 7 and len(batch) == 0


@pytest.mark.parametrize("wait", [0, 1])
def test_an_interrupted_batch_does_not_send_again_what_was_answered(kind, client, server, wait):
    """Unless it is to be waited for, and was not."""
    table = kind.once(client, "t")
    interrupt(kind, table, "ONCE.INCRBY", 2)
    batch = table.batch()
    for i in range(1200):
        batch.incrby("n", 1, id=f"i{i}")
    with pytest.raises(INTERRUPTED):
        batch.send()
    assert len(batch) == 1200
    sent = []
    meddle(table, lambda names, *_: sent.append(names.count("ONCE.INCRBY")))
    found = batch.send(wait=wait, timeout=0.5 if wait else None, return_errors=True)
    assert len(found) == 1200 and server.call("ONCE.GET", "t", "n") == 1200
    if wait:
        assert all(isinstance(one, Unacknowledged) for one in found)
    else:
        assert all(one.applied for one in found[:1000]) and sum(sent) == 200


def test_an_interrupted_batch_is_not_sent_when_it_may_be_forgotten(kind, client, server):
    table = kind.once(client, "t")
    table.create(window_ms=1000)
    interrupt(kind, table, "ONCE.INCRBY")
    batch = table.batch().incrby("n", 1, id="i")
    with pytest.raises(INTERRUPTED):
        batch.send()
    time.sleep(1.5)
    (found,) = batch.send(return_errors=True)
    assert isinstance(found, Unacknowledged) and found.id == "i"
    assert server.call("ONCE.GET", "t", "n") == 1


def test_a_batch_that_is_interrupted_while_it_gives_up(kind, client, server):
    """Its own giving up is not taken for the operation."""
    table = kind.once(client, "t")
    table.incrby("n", 10)
    lose_first(table, "ONCE.TAKE")
    interrupt(kind, table, "ONCE.ADD")
    batch = table.batch().take("n", 1, 10).get("n")
    with pytest.raises(INTERRUPTED):
        batch.send()
    taken, value = batch.send(return_errors=True)
    assert isinstance(taken, Unacknowledged) and value == 10


def test_a_call_that_is_made_anew(kind, client, server):
    """A failover has lost the first: its reply is of nothing that exists any more."""
    table = kind.once(client, "t", wait=1)
    left = [[1, b"old"], [1, b"new"]]
    def change(names, reply, *_):
        if "ONCE.CALL" in names:
            reply.answers = [left.pop(0), 0 if left else 1]
    meddle(table, change)
    assert table.call("INCR", "k", id="i") == (True, b"new")


def test_a_server_that_is_loading_has_done_nothing(kind, client, server):
    """redis-py takes that answer for a lost connection."""
    table = kind.once(client, "t")
    table.incrby("n", 1, id="i")
    inner = table.inner if kind.loop else table
    (links,) = inner._servers.links_by_address.values()
    (connection,) = links.idle
    real, left = connection.read_response, [redis.BusyLoadingError("loading")]
    def first():
        connection.read_response = real
        return left.pop()
    async def refuse_later(*_, **__):
        await real()
        raise first()
    def refuse(*_, **__):
        real()
        raise first()
    connection.read_response = refuse_later if kind.loop else refuse
    items = []
    make = inner._incrby_item
    inner._incrby_item = lambda *words, **named: items.append(make(*words, **named)) or items[-1]
    assert table.incrby("n", 1, id="i").applied is False
    assert not left and items[0].attempts == 2 and not items[0].is_doubtful


def test_a_connection_goes_back_to_its_own_loop(server):
    """Another loop uses the table while an answer is under way."""
    table = lethe_once.asyncio.Once(redis.asyncio.Redis(port=server.port), "t")
    async def take_over():
        return (await table.incrby("n", 1)).values
    async def main():
        (await table.incrby("n", 1))
        (links,) = table._servers.links_by_address.values()
        real = links._talk
        async def talk(*words):
            links._talk = real
            await real(*words)
            assert await asyncio.to_thread(asyncio.run, take_over()) == (3,)
        links._talk = talk
        await table.incrby("n", 1)
        owner = links.owner[1]
        assert owner is not asyncio.get_running_loop() and len(links.idle) == 1
    asyncio.run(main())
    assert asyncio.run(take_over()) == (4,)
