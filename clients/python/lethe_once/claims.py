"""Work that must happen once, with its answer kept: claims, and a decorator for functions and
coroutines.

    >>> orders = Once(redis.Redis(), "orders", window_ms=86400000)
    >>> @orders.claimed(id=lambda order: f"order-{order}", lease=30)
    ... def charge(order):
    ...     return {"receipt": pay(order)}
    >>> charge(7)
    {'receipt': 'r-1'}
    >>> charge(7)                     # here or elsewhere: not run again
    {'receipt': 'r-1'}

There is one recorded completion, not one execution. A holder that is slower than its lease, because
its machine stood still, may work at the same time as the next one; then one of both learns that it
has lost."""

import asyncio
import functools
import inspect
import json
import threading
import time
import uuid

from .delivery import Item
from .errors import Lost, Mismatch, NoTable, ReplyGone, Running
from .steps import operation
from .words import lease_ms

__all__ = ["Claim", "decorator"]

# Seconds between two looks at a claim that somebody else has.
_LONGEST_PAUSE = 1.0


class Claim:
    """One attempt to claim some work, under a token of its own. Made by Once.claim, which begins
    it. state is "new": do the work, then call done or abort; "running": somebody else does, for
    left_ms; "done": reply is the answer as bytes, or None if it is gone; "mismatch". The methods of
    a claim in a table of lethe_once.asyncio are coroutines."""

    def __init__(self, once, identity, lease, fingerprint=None):
        self._once, self.id, self.token = once, identity, uuid.uuid4().hex
        self._lease_ms, self._fingerprint = lease_ms(lease), fingerprint
        self.state, self.left_ms, self.reply = None, None, None

    def _drive(self, steps):
        return self._once._drive(steps)

    @operation
    def begin(self):
        """Asks for the claim; again, if somebody else had it. Sent twice, because an answer was
        lost, it is the same."""
        words = ["ONCE.BEGIN", self._once.table, self.id, self.token]
        if self._fingerprint is not None:
            words += ["FINGERPRINT", self._fingerprint]
        words += ["LEASE", self._lease_ms, *self._once._unless_lost("NOCREATE")]
        word, *rest = yield from self._ask(*words)
        self.state = word
        self.left_ms = rest[0] if word == "running" else None
        self.reply = rest[0] if word == "done" else None
        if isinstance(self.reply, str):
            self.reply = self.reply.encode()
        return word

    @operation
    def renew(self, lease=None):
        """Extends the lease. False: the claim is not this one's any more."""
        length = self._lease_ms if lease is None else lease_ms(lease)
        answer = yield from self._tell("ONCE.RENEW", "LEASE", length)
        return answer[0] in ("renewed", "done")

    @operation
    def done(self, reply=b""):
        """Records that the work is done. Returns whether the reply is kept. Raises Lost if the
        claim is another's."""
        word, *rest = yield from self._tell("ONCE.DONE", reply)
        if word not in ("done", "duplicate"):
            raise Lost(self.id)
        return bool(rest[0])

    @operation
    def abort(self):
        """Gives the claim back: the work was not done. False: it was not this one's."""
        answer = yield from self._tell("ONCE.ABORT")
        return answer[0] == "aborted"

    def _ask(self, *words):
        def finish(item):
            word, *rest = item.answer
            return [word.decode() if isinstance(word, bytes) else word, *rest]
            yield
        return self._once._one(Item(self._once, self.id, words, finish))

    def _tell(self, command, *words):
        try:
            return (yield from self._ask(command, self._once.table, self.id, self.token, *words))
        except NoTable:
            return ["unknown"] # the table is lost, and the claim with it


class _Work:
    """What is the same for functions and coroutines: what a claim's state means, and what becomes
    of a result. find_table is given the id."""

    def __init__(self, find_table, identify, lease, fingerprint, running, patience, gone):
        if running not in ("wait", "raise"):
            raise ValueError('running is "wait" or "raise"')
        lease_ms(lease) # refuses what is none
        self.find_table, self.identify, self.lease = find_table, identify, lease
        self.fingerprint, self.running, self.patience, self.gone = (fingerprint, running, patience,
                                                                    gone)

    def claim(self, words, named):
        fingerprint = self.fingerprint(*words, **named) if self.fingerprint is not None else None
        identity = self.identify(*words, **named)
        return Claim(self.find_table(identity), identity, self.lease, fingerprint)

    def pause(self, claim, end):
        """How long to wait before the next look at a claim that is running. None: it is not."""
        if claim.state == "mismatch":
            raise Mismatch(claim.id, "the id stands for other work")
        if claim.state != "running":
            return None
        left = end - time.monotonic()
        if self.running == "raise" or left <= 0:
            raise Running(claim.id, claim.left_ms)
        return max(0.001, min(claim.left_ms / 1000, left, _LONGEST_PAUSE, self.lease / 10))

    def result(self, claim):
        """Of a claim that is done. An empty reply is no JSON: the result could not be kept."""
        if not claim.reply:
            raise ReplyGone(claim.id, "it is done, and its answer is gone")
        return json.loads(claim.reply)

    @staticmethod
    def record(claim, result):
        """Steps that complete the claim with the result. One that is no JSON is an error, but the
        work is done, and recorded so."""
        try:
            reply = json.dumps(result, separators=(",", ":"), allow_nan=False).encode()
        except (TypeError, ValueError):
            yield from claim.done.steps(claim)
            raise
        try:
            yield from claim.done.steps(claim, reply)
        except Lost:
            raise Lost(claim.id, result) from None
        return json.loads(reply) # what everybody else gets


def _give_back(claim):
    """Steps after a failure of the work. If there is no answer, the lease ends by itself."""
    try:
        yield from claim.abort.steps(claim)
    except Exception:  # noqa: BLE001 - what the work raised is what counts
        pass


class _Renewer(threading.Thread):
    """Renews a lease three times before it would be over, until it is stopped or lost."""

    def __init__(self, claim, lease):
        super().__init__(name=f"renews {claim.id}", daemon=True)
        self.claim, self.lease, self.is_over = claim, lease, threading.Event()

    def run(self):
        while not self.is_over.wait(self.lease / 3):
            try:
                if not self.claim.renew():
                    return
            except Exception:  # noqa: BLE001 - the next attempt may do better; DONE decides
                continue

    def stop(self):
        self.is_over.set()
        self.join()


def _decorate_function(work, function):
    @functools.wraps(function)
    def run(*words, **named):
        claim, end = work.claim(words, named), time.monotonic() + work.patience
        claim.begin()
        while (pause := work.pause(claim, end)) is not None:
            time.sleep(pause)
            claim.begin()
        if claim.state == "done":
            try:
                return work.result(claim)
            except ReplyGone:
                if work.gone is None:
                    raise
                return work.gone(*words, **named)
        renewer = _Renewer(claim, work.lease)
        renewer.start()
        try:
            result = function(*words, **named)
        except BaseException:
            renewer.stop()
            claim._drive(_give_back(claim))
            raise
        renewer.stop()
        return claim._drive(work.record(claim, result))
    return run


async def _await(claim, call, *words):
    """The result of a call, which for a table of lethe_once.asyncio is a coroutine, and for others
    blocks a thread."""
    if claim._once._is_async:
        return await call(*words)
    return await asyncio.to_thread(call, *words)


async def _renew_for_ever(claim, lease):
    while True:
        await asyncio.sleep(lease / 3)
        try:
            if not await _await(claim, claim.renew):
                return
        except Exception:  # noqa: BLE001 - as above
            continue


async def _begin(claim):
    """Asks for the claim. If the caller is cancelled meanwhile, it is given back once there is an
    answer."""
    begun = asyncio.ensure_future(_await(claim, claim.begin))
    async def undo():
        await asyncio.wait([begun])
        begun.exception()  # is of no interest any more
        await _await(claim, claim._drive, _give_back(claim))
    try:
        await asyncio.shield(begun)
    except asyncio.CancelledError:
        await asyncio.shield(undo())
        raise


def _decorate_coroutine(work, function):
    @functools.wraps(function)
    async def run(*words, **named):
        claim, end = work.claim(words, named), time.monotonic() + work.patience
        await _begin(claim)
        while (pause := work.pause(claim, end)) is not None:
            await asyncio.sleep(pause)
            await _begin(claim)
        if claim.state == "done":
            try:
                return work.result(claim)
            except ReplyGone:
                if work.gone is None:
                    raise
                found = work.gone(*words, **named)
                return await found if inspect.isawaitable(found) else found
        renewer = asyncio.create_task(_renew_for_ever(claim, work.lease))
        try:
            result = await function(*words, **named)
        except BaseException:  # a cancelled one has not done its work either
            renewer.cancel()
            await asyncio.shield(_await(claim, claim._drive, _give_back(claim)))
            raise
        renewer.cancel()
        return await asyncio.shield(_await(claim, claim._drive, work.record(claim, result)))
    return run


def decorator(find_table, id, lease, fingerprint, running, patience, gone, is_async=False):
    """Once.claimed."""
    work = _Work(find_table, id, lease, fingerprint, running, patience, gone)
    def decorate(function):
        is_coroutine = inspect.iscoroutinefunction(function)
        if is_async and not is_coroutine:
            raise TypeError("a table of lethe_once.asyncio decorates coroutines")
        return (_decorate_coroutine if is_coroutine else _decorate_function)(work, function)
    return decorate
