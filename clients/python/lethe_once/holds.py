"""Reserve now, settle when it is known how much it was: holds.

    >>> quota = Once(redis.Redis(), "quota", per="month")
    >>> with quota.hold("alice", 60, (100, "month"), lease=30) as hold:
    ...     hold.settle(generate(most=60).tokens)

Leaving the block without settle or release settles the whole amount; an exception releases it. If
settle was limited, and nothing came after that, leaving the block raises Limited, and the hold
stays open until its lease ends. With `async with`, the same for coroutines."""

import asyncio

from .delivery import Item
from .errors import Limited
from .results import Settled
from .steps import operation

__all__ = ["Hold"]


class Hold:
    """An amount that is set aside. outcome is "held", "duplicate" or "limited"; lease_ms is what
    was left of the lease when the answer came, 0 if a hold of that id has ended. A hold that is
    known by its id may be settled without having been asked for again: Hold(once, id). The methods
    of a hold in a table of lethe_once.asyncio are coroutines."""

    def __init__(self, once, identity, counter=None, amount=None):
        self.once, self.id, self.counter, self.amount = once, identity, counter, amount
        self.outcome = self.value = self.left = self.resets_ms = self.lease_ms = None
        self.has_ended, self.refused = False, None

    def _drive(self, steps):
        return self.once._drive(steps)

    @property
    def granted(self):
        return self.outcome == "held" or self.outcome == "duplicate" and self.lease_ms > 0

    def _begin(self, words, is_own, wait=None, timeout=None):
        once = self.once
        words = ("ONCE.HOLD", once.table, self.id, self.counter, self.amount, *words,
                 *once._unless_lost("NOCREATE"))
        def finish(item):
            outcome = {1: "held", 0: "duplicate", -1: "limited"}[item.answer[0]]
            self.value, self.left, self.resets_ms, self.lease_ms = item.answer[1:]
            was_here = item.first[0] == 1 or is_own and item.is_doubtful
            if outcome == "duplicate" and was_here and self.lease_ms > 0:
                outcome = "held"
            self.outcome = outcome
            return self
            yield
        item = once._limited(Item(once, self.id, words, finish, is_own))
        return (yield from once._one(item, wait, timeout))

    @operation
    def settle(self, actual, force=False, wait=None, timeout=None):
        """Counts what it really was, once. Beyond the amount, the hold's limit must leave room,
        unless force is True; otherwise the outcome is "limited", and the hold stays. Mismatch is
        raised for another amount than before and for a hold that was released, NoHold for one that
        nobody knows."""
        def finish(item):
            outcome = {1: "settled", 0: "duplicate", -1: "limited"}[item.answer[0]]
            if outcome == "duplicate" and (item.is_doubtful or item.first[0] == 1):
                outcome = "settled"
            settled = Settled(outcome, *item.answer[1:])
            self.has_ended = self.has_ended or settled.is_settled
            self.refused = None if settled.is_settled else settled
            return settled
            yield
        words = ("ONCE.SETTLE", self.once.table, self.id, actual, *(["FORCE"] if force else []))
        return (yield from self.once._one(Item(self.once, self.id, words, finish), wait, timeout))

    @operation
    def release(self, wait=None, timeout=None):
        """Gives all of it back. False if it was released before."""
        def finish(item):
            self.has_ended = True
            return bool(item.first) or item.is_doubtful
            yield
        words = ("ONCE.RELEASE", self.once.table, self.id)
        return (yield from self.once._one(Item(self.once, self.id, words, finish), wait, timeout))

    def _check(self):
        if not self.granted:
            raise Limited(self.id, self.value, self.left, self.resets_ms)
        return self

    def _leave(self, kind):
        """Steps at the end of a block."""
        if self.has_ended:
            return
        if kind is not None:
            yield from _give_back(self)
            return
        # The work took more than was held, which is counted nowhere: not to be passed over.
        if self.refused is not None:
            raise Limited(self.id, *self.refused[1:])
        settled = yield from self.settle.steps(self, self.amount)
        if not settled.is_settled:  # its lease was over, and somebody else has taken the room
            raise Limited(self.id, *settled[1:])

    def __enter__(self):
        if self.once._is_async:
            raise TypeError("a hold of lethe_once.asyncio takes `async with`")
        return self._check()

    def __exit__(self, kind, *_):
        self._drive(self._leave(kind))

    async def __aenter__(self):
        return self._check()

    async def __aexit__(self, kind, *_):
        if self.once._is_async:
            await asyncio.shield(self._drive(self._leave(kind)))
        else:
            await asyncio.shield(asyncio.to_thread(self._drive, self._leave(kind)))


def _give_back(hold):
    """Steps after a failure of the work. If there is no answer, the lease ends by itself."""
    try:
        yield from hold.release.steps(hold)
    except Exception:  # noqa: BLE001 - what the work raised is what counts
        pass


class Holding:
    """A hold that is asked for when this is awaited, or when its block is entered. made has the
    hold as soon as it may have been sent."""

    def __init__(self, coroutine, made, is_own):
        self._coroutine, self._made, self._is_own, self._hold = coroutine, made, is_own, None

    async def _place(self):
        """If the caller is cancelled meanwhile, the hold is released once there is an answer."""
        placed = asyncio.ensure_future(self._coroutine)
        async def undo():
            await asyncio.wait([placed])
            if not placed.cancelled():
                placed.exception()  # is of no interest any more
            for hold in self._made:
                # Another call may have made one of the same id. Nobody else has an id made here.
                if hold.outcome == "held" or hold.outcome is None and self._is_own:
                    await hold._drive(_give_back(hold))
        try:
            return await asyncio.shield(placed)
        except asyncio.CancelledError:
            await asyncio.shield(undo())
            raise

    def __await__(self):
        return self._place().__await__()

    async def __aenter__(self):
        self._hold = await self._place()
        return self._hold._check()

    async def __aexit__(self, *what):
        await self._hold.__aexit__(*what)
