"""Reserve now, settle when it is known how much it was: holds.

    >>> quota = Once(redis.Redis(), "quota", per="month")
    >>> with quota.hold("alice", 60, (100, "month"), lease=30) as hold:
    ...     hold.settle(generate(most=60).tokens)

Leaving the block without settle or release settles the whole amount; an exception releases it. If settle was limited, and nothing
came after that, leaving the block raises Limited, and the hold stays open until its lease ends. With `async with`, the same for
coroutines."""

import asyncio
import collections
import uuid

__all__ = ["Hold", "Limited", "Settled"]


class Limited(Exception):
    """A hold, or what was to be settled beyond its amount, did not fit under the limit."""

    def __init__(self, identity, value, left, resets_ms):
        super().__init__(f"{identity}: limited; the value is {value}, and {left} are left")
        self.id, self.value, self.left, self.resets_ms = identity, value, left, resets_ms


class Settled(collections.namedtuple("Settled", "outcome value left resets_ms")):
    """What became of a settlement: its outcome is "settled", "duplicate" or "limited"; the rest is of the hold's limit."""

    @property
    def is_settled(self):
        """Whether it is counted, by this call or an earlier one."""
        return self.outcome != "limited"


class Hold:
    """An amount that is set aside. outcome is "held", "duplicate" or "limited"; lease_ms is what was left of the lease when the
    answer came, 0 if a hold of that id has ended. A hold that is known by its id may be settled without having been asked
    for again: Hold(once, id)."""

    def __init__(self, once, identity, counter=None, amount=None):
        self.once, self.id, self.counter, self.amount = once, identity, counter, amount
        self.outcome = self.value = self.left = self.resets_ms = self.lease_ms = None
        self.has_ended, self.refused = False, None

    @property
    def granted(self):
        return self.outcome == "held" or self.outcome == "duplicate" and self.lease_ms > 0

    def begin(self, words, is_own, wait=None, timeout=None):
        answer, attempts = self.once._limited(self.once._run, self.id, wait, timeout, "ONCE.HOLD", self.once.table, self.id,
                                              self.counter, self.amount, *words, *self.once._unless_lost("NOCREATE"))
        self.outcome = {1: "held", 0: "duplicate", -1: "limited"}[answer[0]]
        self.value, self.left, self.resets_ms, self.lease_ms = answer[1:]
        if self.outcome == "duplicate" and is_own and attempts > 1 and self.lease_ms > 0:
            self.outcome = "held"
        return self

    def settle(self, actual, force=False, wait=None, timeout=None):
        """Counts what it really was, once. Beyond the amount, the hold's limit must leave room, unless force is True; otherwise
        the outcome is "limited", and the hold stays. Another amount than before, a hold that was released and one that nobody
        knows are errors of the server."""
        answer, attempts = self.once._run(self.id, wait, timeout, "ONCE.SETTLE", self.once.table, self.id, actual,
                                          *(["FORCE"] if force else []))
        outcome = {1: "settled", 0: "duplicate", -1: "limited"}[answer[0]]
        if outcome == "duplicate" and attempts > 1:
            outcome = "settled"
        self.has_ended = self.has_ended or outcome != "limited"
        self.refused = Settled(outcome, *answer[1:]) if outcome == "limited" else None
        return Settled(outcome, *answer[1:])

    def release(self, wait=None, timeout=None):
        """Gives all of it back. False if it was released before."""
        answer, attempts = self.once._run(self.id, wait, timeout, "ONCE.RELEASE", self.once.table, self.id)
        self.has_ended = True
        return bool(answer) or attempts > 1

    def _give_back(self):
        """After a failure of the work. If there is no answer, the lease ends by itself."""
        try:
            self.release()
        except Exception:  # noqa: BLE001 - what the work raised is what counts
            pass

    def __enter__(self):
        if not self.granted:
            raise Limited(self.id, self.value, self.left, self.resets_ms)
        return self

    def __exit__(self, kind, *_):
        if self.has_ended:
            return
        if kind is not None:
            self._give_back()
            return
        if self.refused is not None:  # the work took more than was held, which is counted nowhere: not to be passed over
            raise Limited(self.id, *self.refused[1:])
        settled = self.settle(self.amount)
        if not settled.is_settled:  # its lease was over, and somebody else has taken the room
            raise Limited(self.id, *settled[1:])

    async def __aenter__(self):
        return self.__enter__()

    async def __aexit__(self, kind, *_):
        await asyncio.shield(asyncio.to_thread(self.__exit__, kind))


def begin(once, counter, amount, limit, lease, id, wait, timeout):
    """Once.hold."""
    most, per = limit if isinstance(limit, tuple) else (limit, None)
    words = ["LIMIT", most] + (["PER", per] if per is not None else []) + ["LEASE", max(1, int(lease * 1000))]
    hold = Hold(once, id if id is not None else uuid.uuid4().hex, counter, amount)
    return hold.begin(words, id is None, wait, timeout)
