"""Work that must happen once, with its answer kept: claims, and a decorator for functions and coroutines.

    >>> orders = Once(redis.Redis(), "orders", window_ms=86400000)
    >>> @orders.claimed(id=lambda order: f"order-{order}", lease=30)
    ... def charge(order):
    ...     return {"receipt": pay(order)}
    >>> charge(7)
    {'receipt': 'r-1'}
    >>> charge(7)                     # here or elsewhere: not run again
    {'receipt': 'r-1'}

There is one recorded completion, not one execution. A holder that is slower than its lease, because its machine stood still,
may work at the same time as the next one; then one of both learns that it has lost."""

import asyncio
import functools
import inspect
import json
import threading
import time
import uuid

from redis.exceptions import ResponseError

__all__ = ["Claim", "ClaimError", "Lost", "Mismatch", "ReplyGone", "Running"]

# Seconds between two looks at a claim that somebody else has.
_LONGEST_PAUSE = 1.0


class ClaimError(Exception):
    """Something about a claim; id is its id."""

    def __init__(self, identity, text):
        super().__init__(f"{identity}: {text}")
        self.id = identity


class Running(ClaimError):
    """Somebody else has the claim, for left_ms milliseconds at least unless it is done before."""

    def __init__(self, identity, left_ms):
        super().__init__(identity, f"somebody else is doing it, for {left_ms} ms at least")
        self.left_ms = left_ms


class Mismatch(ClaimError):
    """The id stands for other work: another fingerprint."""


class ReplyGone(ClaimError):
    """The work is done, and its answer is not kept any more, or never was."""


class Lost(ClaimError):
    """The work was done here, but the claim had been given to another, or was forgotten: what is recorded is the other's.
    result is what was done here."""

    def __init__(self, identity, result=None):
        super().__init__(identity, "the lease was over, and the claim has gone to another")
        self.result = result


class Claim:
    """One attempt to claim some work, under a token of its own. Made by Once.claim, which begins it. state is "new": do the
    work, then call done or abort; "running": somebody else does, for left_ms; "done": reply is the answer as bytes, or None
    if it is gone; "mismatch"."""

    def __init__(self, once, identity, lease, fingerprint=None):
        self._once, self.id, self.token = once, identity, uuid.uuid4().hex
        self._lease_ms, self._fingerprint = max(1, int(lease * 1000)), fingerprint
        self.state, self.left_ms, self.reply = None, None, None

    def begin(self):
        """Asks for the claim; again, if somebody else had it. Sent twice, because an answer was lost, it is the same."""
        words = ["ONCE.BEGIN", self._once.table, self.id, self.token]
        if self._fingerprint is not None:
            words += ["FINGERPRINT", self._fingerprint]
        word, *rest = self._ask(*words, "LEASE", self._lease_ms, *self._once._unless_lost("NOCREATE"))
        self.state = word
        self.left_ms = rest[0] if word == "running" else None
        self.reply = rest[0] if word == "done" else None
        if isinstance(self.reply, str):
            self.reply = self.reply.encode()
        return word

    def renew(self, lease=None):
        """Extends the lease. False: the claim is not this one's any more."""
        lease_ms = self._lease_ms if lease is None else max(1, int(lease * 1000))
        return self._tell("ONCE.RENEW", "LEASE", lease_ms)[0] in ("renewed", "done")

    def done(self, reply=b""):
        """Records that the work is done. Returns whether the reply is kept. Raises Lost if the claim is another's."""
        word, *rest = self._tell("ONCE.DONE", reply)
        if word not in ("done", "duplicate"):
            raise Lost(self.id)
        return bool(rest[0])

    def abort(self):
        """Gives the claim back: the work was not done. False: it was not this one's."""
        return self._tell("ONCE.ABORT")[0] == "aborted"

    def _ask(self, *words):
        answer, _ = self._once._run(self.id, None, None, *words)
        return [answer[0].decode() if isinstance(answer[0], bytes) else answer[0], *answer[1:]]

    def _tell(self, command, *words):
        try:
            return self._ask(command, self._once.table, self.id, self.token, *words)
        except ResponseError as error:
            if not str(error).startswith("NOTABLE"):
                raise
            return ["unknown"]  # the table is lost, and the claim with it


class _Work:
    """What is the same for functions and coroutines: what a claim's state means, and what becomes of a result."""

    def __init__(self, once, identify, lease, fingerprint, running, patience, gone):
        if running not in ("wait", "raise"):
            raise ValueError('running is "wait" or "raise"')
        self.once, self.identify, self.lease, self.fingerprint = once, identify, lease, fingerprint
        self.running, self.patience, self.gone = running, patience, gone

    def claim(self, words, named):
        fingerprint = self.fingerprint(*words, **named) if self.fingerprint is not None else None
        return Claim(self.once, self.identify(*words, **named), self.lease, fingerprint)

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
        """Completes the claim with the result. One that is no JSON is an error, but the work is done, and recorded so."""
        try:
            reply = json.dumps(result, separators=(",", ":"), allow_nan=False).encode()
        except (TypeError, ValueError):
            claim.done()
            raise
        try:
            claim.done(reply)
        except Lost:
            raise Lost(claim.id, result) from None
        return json.loads(reply)  # what everybody else gets


def _give_back(claim):
    """After a failure of the work. If there is no answer, the lease ends by itself."""
    try:
        claim.abort()
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
            except Exception:  # noqa: BLE001 - the next attempt may do better; DONE decides in the end
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
            _give_back(claim)
            raise
        renewer.stop()
        return work.record(claim, result)
    return run


async def _renew_for_ever(claim, lease):
    while True:
        await asyncio.sleep(lease / 3)
        try:
            if not await asyncio.to_thread(claim.renew):
                return
        except Exception:  # noqa: BLE001 - as above
            continue


async def _begin(claim):
    """Asks for the claim. If the caller is cancelled meanwhile, it is given back once there is an answer."""
    begun = asyncio.ensure_future(asyncio.to_thread(claim.begin))
    async def undo():
        await asyncio.wait([begun])
        begun.exception()  # is of no interest any more
        await asyncio.to_thread(_give_back, claim)
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
            await asyncio.shield(asyncio.to_thread(_give_back, claim))
            raise
        renewer.cancel()
        return await asyncio.shield(asyncio.to_thread(work.record, claim, result))
    return run


def decorator(once, id, lease, fingerprint, running, patience, gone):
    """Once.claimed."""
    work = _Work(once, id, lease, fingerprint, running, patience, gone)
    def decorate(function):
        is_coroutine = inspect.iscoroutinefunction(function)
        return (_decorate_coroutine if is_coroutine else _decorate_function)(work, function)
    return decorate
