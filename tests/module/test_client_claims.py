"""Goal:   the Python package's claims: a decorated function or coroutine does its work once per id, everybody gets its result,
        and whoever can't have it learns why.
Method: threads and tasks that call at once, leases that run out, functions that fail, results that are no JSON, answers that
        are dropped, and a table that is lost."""

import asyncio
import math
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from clients import lose
from servers import SOURCE, wait_for

sys.path.insert(0, str(SOURCE / "clients/python"))
from lethe_once import Claim, Lost, Mismatch, Once, ReplyGone, Running, Unacknowledged  # noqa: E402


@pytest.fixture
def table(server):
    return Once(server.client, "t", window_ms=600000)


def test_a_function_is_run_once(table):
    calls = []
    @table.claimed(id=lambda order, note="": f"order-{order}")
    def charge(order, note=""):
        """Charges."""
        calls.append((order, note))
        return {"receipt": [order, note], "paid": 1.5, "nothing": None}
    assert charge(7, note="first") == charge(7) == {"receipt": [7, "first"], "paid": 1.5, "nothing": None}
    assert charge(8)["receipt"] == [8, ""]
    assert calls == [(7, "first"), (8, "")] and charge.__name__ == "charge" and charge.__doc__ == "Charges."
    listed = [sorted((name, state, size) for name, state, _, size in table.claims(*words)) for words in ([], ["done"])]
    assert listed[0] == listed[1] and len(listed[0]) == 2 # time passes between the two lists
    assert {one[0] for one in table.claims(match="*-7")} == {b"order-7"} and list(table.claims("running")) == []


def test_everybody_gets_the_same(table):
    """What JSON makes of the result, also the one that did the work."""
    @table.claimed(id=lambda: "i")
    def work():
        return {1: (2, 3)}
    assert work() == work() == {"1": [2, 3]}


def test_cancelled_while_it_begins(server, table):
    """The claim is given back, though its answer was not waited for."""
    @table.claimed(id=lambda: "i", lease=1000)
    async def work():
        return 1
    async def cancel():
        server.client.client_pause(300)
        task = asyncio.create_task(work())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    asyncio.run(cancel())
    assert list(table.claims()) == []


def test_threads_wait_for_the_one_that_works(table):
    calls, may_end = [], threading.Event()
    @table.claimed(id=lambda: "i")
    def work():
        calls.append(1)
        may_end.wait(60)
        return len(calls)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(work) for _ in range(8)]
        wait_for(lambda: calls, what="the one that works")
        time.sleep(0.1)
        may_end.set()
        assert [one.result(60) for one in futures] == [1] * 8
    assert calls == [1]


@pytest.fixture
def renewals(monkeypatch):
    """Of all claims: a list of when."""
    renew, found = Claim.renew, []
    def note(self):
        found.append(time.monotonic())
        return renew(self)
    monkeypatch.setattr(Claim, "renew", note)
    return found


def test_a_lease_is_renewed_while_the_work_lasts(table, renewals):
    """The work lasts longer than the lease, and there are others who would have it."""
    calls = []
    @table.claimed(id=lambda: "i", lease=2)
    def work():
        calls.append(1)
        wait_for(lambda: len(renewals) >= 4, 60, "renewals")
        return "result"
    with ThreadPoolExecutor(3) as pool:
        assert {one.result(60) for one in [pool.submit(work) for _ in range(3)]} == {"result"}
    assert len(calls) == 1


def test_who_does_not_want_to_wait_is_told(table):
    mine = table.claim("i", lease=50)
    @table.claimed(id=lambda: "i", running="raise")
    def now():
        return 1
    @table.claimed(id=lambda: "i", patience=0.2, lease=0.1)
    def soon():
        return 1
    for function in now, soon:
        with pytest.raises(Running) as caught:
            function()
        assert caught.value.id == "i" and 0 < caught.value.left_ms <= 50001
    assert mine.state == "new" and mine.done(b"3")
    assert now() == soon() == 3
    with pytest.raises(ValueError):
        table.claimed(id=lambda: "i", running="hope")


def test_a_failure_gives_the_claim_back(table):
    attempts = []
    @table.claimed(id=lambda: "i")
    def work():
        attempts.append(1)
        if len(attempts) < 3:
            raise OSError("not yet")
        return "at last"
    for _ in range(2):
        with pytest.raises(OSError, match="not yet"):
            work()
    assert work() == work() == "at last" and len(attempts) == 3


def test_a_result_that_is_no_json(table):
    """The work is done, and must not be done again; but there is no answer."""
    calls = []
    @table.claimed(id=lambda what: what)
    def work(what):
        calls.append(what)
        return {"object": object(), "number": math.nan}[what]
    for what, error in (("object", TypeError), ("number", ValueError)):
        with pytest.raises(error):
            work(what)
        with pytest.raises(ReplyGone):
            work(what)
    assert calls == ["object", "number"]


def test_an_answer_that_is_gone(server, table):
    @table.claimed(id=lambda size: "i", gone=lambda size: "looked up")
    def work(size):
        return "x" * size
    assert work(70000) == "x" * 70000 # more than lethe.largest-reply
    assert work(70000) == "looked up"
    claim = table.claim("i")
    assert claim.state == "done" and claim.reply is None
    empty = table.claim("j")
    assert empty.done() and table.claim("j").reply == b""


def test_another_fingerprint(table):
    @table.claimed(id=lambda order, amount: f"order-{order}", fingerprint=lambda order, amount: str(amount))
    def charge(order, amount):
        return amount
    assert charge(7, 10) == charge(7, 10) == 10
    with pytest.raises(Mismatch):
        charge(7, 11)


def test_a_claim_that_went_to_another(table):
    """The lease is over, and the next one has begun: the result is not recorded, and who did the work learns that."""
    @table.claimed(id=lambda: "i", lease=50)
    def work():
        table.client.delete("t")
        assert table.claim("i").state == "new"
        return {"done": "here"}
    with pytest.raises(Lost) as caught:
        work()
    assert caught.value.result == {"done": "here"}
    mine = table.claim("j", lease=0.001)
    wait_for(lambda: table.claim("j", lease=50).state == "new", what="the lease's end")
    assert not mine.renew() and not mine.abort()
    with pytest.raises(Lost):
        mine.done(b"1")


def test_a_table_that_is_lost(server):
    """Without options there is nothing to make it with: the claim is lost with it."""
    table = Once(server.client, "t")
    claim = table.claim("i")
    server.client.delete("t")
    assert not claim.renew() and not claim.abort()
    with pytest.raises(Lost):
        claim.done(b"1")


def test_a_lost_answer_locks_nobody_out(server, table):
    """Every answer but the last is dropped, after the server has done what it was asked for."""
    dropped = [lose(table, name, 1) for name in ("ONCE.BEGIN", "ONCE.DONE", "ONCE.ABORT")]
    calls = []
    @table.claimed(id=lambda: "i")
    def work():
        calls.append(1)
        return 5
    assert work() == 5 and work() == 5 and calls == [1]
    assert [one["times"] for one in dropped] == [0, 0, 1]
    claim = table.claim("j")
    assert claim.abort() is False # it was aborted, by the attempt whose answer was lost
    assert table.claim("j").state == "new"


def test_replicas_are_waited_for(table):
    table.wait, table.timeout = 1, 0.2
    with pytest.raises(Unacknowledged): # there is none
        table.claim("i")


def test_a_call_whose_reply_is_kept(table):
    assert table.call_and_keep("RPUSH", "l", "a", id="i") == 1
    assert table.call_and_keep("RPUSH", "l", "a", id="i") == 1
    with pytest.raises(Mismatch):
        table.call_and_keep("RPUSH", "l", "b", id="i")
    table.client.set("s", "x" * 70000)
    assert len(table.call_and_keep("GETDEL", "s", id="j")) == 70000
    with pytest.raises(ReplyGone):
        table.call_and_keep("GETDEL", "s", id="j")


# --- Coroutines

def test_coroutines(table, renewals):
    calls = []
    @table.claimed(id=lambda order: f"order-{order}", lease=2)
    async def charge(order):
        calls.append(order)
        while len(renewals) < 8: # longer than the lease
            await asyncio.sleep(0.05)
        return {"order": order}
    async def main():
        return await asyncio.gather(*(charge(order) for order in (7, 8, 7, 8, 7)))
    assert asyncio.run(main()) == [{"order": order} for order in (7, 8, 7, 8, 7)]
    assert sorted(calls) == [7, 8]


def test_coroutines_that_fail_or_are_cancelled(table):
    begun = []
    @table.claimed(id=lambda kind: kind, running="raise")
    async def work(kind):
        begun.append(kind)
        if kind == "fails" and begun.count(kind) == 1:
            raise OSError("not yet")
        if kind == "cancelled" and begun.count(kind) == 1:
            await asyncio.sleep(600)
        return kind
    async def main():
        with pytest.raises(OSError):
            await work("fails")
        assert await work("fails") == "fails"
        task = asyncio.create_task(work("cancelled"))
        while "cancelled" not in begun:
            await asyncio.sleep(0.01)
        with pytest.raises(Running):
            await work("cancelled")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await work("cancelled") == "cancelled"
        claim = await asyncio.to_thread(table.claim, "huge")
        claim.done()
        with pytest.raises(ReplyGone):
            await work("huge")
        return await table.claimed(id=lambda kind: kind, gone=lookup)(other)("huge")
    async def lookup(kind):
        return "looked up"
    async def other(kind):
        return kind
    assert asyncio.run(main()) == "looked up"


def test_only_json_is_read(server, table):
    """What somebody else has put there is read as JSON, and as nothing else."""
    claim = Claim(table, "i", 30)
    claim.begin()
    claim.done(b"\x80\x04N.") # a pickled None
    @table.claimed(id=lambda: "i")
    def work():
        return 1
    with pytest.raises(ValueError):
        work()
