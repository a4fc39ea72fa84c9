"""Counters that apply every operation exactly once: Lethe's module in a Redis or Valkey server, or in a cluster.

    >>> likes = Once(redis.Redis(), "likes")
    >>> likes.incrby("post:1", 1)
    Result(applied=True, values=(1,), id='...')

An operation that got no answer is sent again with the same id. That is safe: the server applies it once. So time-outs,
lost connections and failovers are retried until there is an answer or the time is up.
"""

import collections
import functools
import math
import random
import re
import time
import uuid

import redis
from redis.exceptions import ResponseError

from .claims import Claim, ClaimError, Lost, Mismatch, ReplyGone, Running, decorator
from .holds import Hold, Limited, Settled, begin as begin_hold
from .routes import _is_passing, _Route, _text
from .spread import Spread

__all__ = ["Claim", "ClaimError", "Hold", "Limited", "Lost", "Mismatch", "Once", "ReplyGone", "Result",
           "Running", "Settled", "Spread", "Standing", "Taken", "Unacknowledged"]

# Seconds to wait for an answer before the operation is sent again, unless the client has a socket_timeout.
_PATIENCE = 5.0

Result = collections.namedtuple("Result", "applied values id")
# Of the limit that leaves least: what it is on, how much is left, and milliseconds until it is reset, or -1 for never.
Standing = collections.namedtuple("Standing", "value left resets_ms")


class Taken(collections.namedtuple("Taken", "outcome value left resets_ms id")):
    """What became of a take: its outcome is "applied", "duplicate" or "limited". The rest is as in Standing; of a limit
    that refused, if one did."""

    @property
    def granted(self):
        """Whether the caller has what it took, by this call or an earlier one with the same id."""
        return self.outcome != "limited"


class Unacknowledged(Exception):
    """No answer in time, or too few replicas: the operation may or may not have been applied. Sent again with this
    id, within the table's window, it is still applied once."""

    def __init__(self, identity, reason):
        super().__init__(f"not acknowledged in time ({reason}); id {identity}")
        self.id = identity


class _TooLate(Exception):
    """The time was up before the operation was sent again."""


def _is_applied(answer, given_id, attempts):
    """Whether this call applied it. A duplicate of an id that was made here can only be this call's own retry."""
    return bool(answer[0]) or (given_id is None and attempts > 1)


def _per_words(per):
    """The words of one period, of a pair of a period and how many buckets to keep, or of a list of these."""
    words = []
    for one in per if isinstance(per, list) else [per]:
        period, keep = one if isinstance(one, tuple) else (one, None)
        words += ["PER", period] + (["KEEP", keep] if keep is not None else [])
    return words


def _limit_words(limits, floor=None):
    """The words of limits: each a number, or a tuple of a number, a period, and perhaps "sliding"."""
    words = []
    floors = [] if floor is None else floor if isinstance(floor, list) else [floor]
    for word, one in [("LIMIT", one) for one in limits] + [("FLOOR", one) for one in floors]:
        bound, per, sliding = (*(one if isinstance(one, tuple) else (one,)), None, None)[:3]
        words += [word, bound] + (["PER", per] if per is not None else []) + (["SLIDING"] if sliding else [])
    if not words:
        raise ValueError("at least one limit is needed")
    return words


class Once:
    """One once-table. client is a redis.Redis or a redis.cluster.RedisCluster. wait is how many replicas must have an
    operation before it is acknowledged. timeout is how many seconds to try; it is never more than half the table's
    window. With options, which are those of create, a missing table is created with them; without, the server creates
    it with its own defaults."""

    def __init__(self, client, table, wait=0, timeout=30.0, wait_ms=1000, **options):
        self.client = client
        self.table = table
        self.wait = wait
        self.timeout = timeout
        self.wait_ms = wait_ms
        self._route = _Route(client, table)
        self._creation = self._creation_of(**options) if options else None

    def _creation_of(self, window_ms=None, error=None, capacity=None, slack=None, seed=None, max_memory=None,
                     policy=None, kind=None, per=None):
        words = ["ONCE.CREATE", self.table]
        for name, value in (("WINDOW", window_ms), ("ERROR", error), ("CAPACITY", capacity), ("SLACK", slack),
                            ("SEED", seed), ("MAXMEMORY", max_memory), ("POLICY", policy), ("KIND", kind)):
            if value is not None:
                words += [name, value]
        return words + (_per_words(per) if per is not None else [])

    def create(self, **options):
        """Creates the table with window_ms, error, capacity, slack, seed, max_memory, policy, kind ("quotient" or
        "forgetful") and per, or with those given before. per is a period ("hour", "day", "month" or milliseconds), a pair
        of a period and how many buckets to keep, or a list of these. It is no error if the table exists. If the table is
        lost later, it is created again in the same way."""
        if options or self._creation is None:
            self._creation = self._creation_of(**options)
        try:
            self._run("create", 0, None, *self._creation)
        except ResponseError as error:
            if "exists already" not in str(error):
                raise

    def _unless_lost(self, *words):
        """What to add to a command so that it does not make a table with the server's window."""
        return words if self._creation is not None else ()

    def incrby(self, counter, delta=1, *more, id=None, wait=None, timeout=None):
        """Adds to one counter or, with more counters and deltas, to several at once. Without an id, it makes one."""
        identity = id if id is not None else uuid.uuid4().hex
        answer, attempts = self._run(identity, wait, timeout, "ONCE.INCRBY", self.table, identity, counter, delta,
                                     *more, *self._unless_lost("NOCREATE"))
        return Result(_is_applied(answer, id, attempts), tuple(answer[1:]), identity)

    def call_and_keep(self, *command, id, wait=None, timeout=None):
        """Runs a write command once, and returns its reply, the same to everybody who sends the same command with the same
        id. Raises ReplyGone if the reply is not kept any more, and Mismatch if the id was used with another command."""
        try:
            answer, _ = self._run(id, wait, timeout, "ONCE.CALL", self.table, id, *self._unless_lost("NOCREATE"), "KEEP",
                                  *command)
        except ResponseError as error:
            if not _text(error).startswith("MISMATCH"):
                raise
            raise Mismatch(id, "the id was used with another command") from error
        if answer[0] == -1:
            raise ReplyGone(id, "it was done, and its reply is gone")
        return answer[1]

    def call(self, *command, id=None, wait=None, timeout=None):
        """Runs a write command once: returns (True, its reply), or (False, None) if it was done before. Without an id, it
        makes one; then (True, None) means that this call did it and the reply was lost. If a reply contains errors among
        other things, part of the command was done. An error of the whole command is raised, and nothing is done."""
        identity = id if id is not None else uuid.uuid4().hex
        answer, attempts = self._run(identity, wait, timeout, "ONCE.CALL", self.table, identity,
                                     *self._unless_lost("NOCREATE"), *command)
        return _is_applied(answer, id, attempts), answer[1]

    # A partition of a table that is spread by key: Spread.
    _is_whole = False

    def _refuse_partitions(self):
        """The key of a partition of a table that is spread by id. Such a table cannot keep a limit: each of its partitions
        sees only a part."""
        name = self.table.decode(errors="replace") if isinstance(self.table, bytes) else self.table
        if re.search(r":\{\d+\}$", name) and not self._is_whole:
            raise ValueError(f"{name} is a partition of a table that is spread by id; limits need a table of one partition")

    def _limited(self, run, *words):
        """Runs a command about limits. Under the name of a table in partitions there is a description of it instead."""
        self._refuse_partitions()
        try:
            return run(*words)
        except ResponseError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise
            raise ValueError(f"{self.table} is no once-table: a table that is spread over several keys by id cannot keep "
                             "a limit; limits need a table of one partition") from error

    def take(self, counter, amount, *limits, floor=None, id=None, wait=None, timeout=None):
        """Adds to a counter unless that would pass a limit. A limit is a number, which is on the total, or a tuple of a
        number and a period: (100, "hour"), or (100, "hour", "sliding"). A negative amount is taken away, unless the counter
        would fall below floor: a number, a tuple of a number and a period, or a list of these. Without an id, it makes one, and gives it up if
        the answer is "limited" and an attempt was lost on the way. With an id of the caller's, a limited operation may be
        sent again; whoever does not want to any more calls give_up."""
        identity = id if id is not None else uuid.uuid4().hex
        words = _limit_words(limits, floor)
        answer, attempts = self._limited(self._run, identity, wait, timeout, "ONCE.TAKE", self.table, identity, counter,
                                         amount, *words, *self._unless_lost("NOCREATE"))
        outcome = {1: "applied", 0: "duplicate", -1: "limited"}[answer[0]]
        if outcome == "duplicate" and _is_applied(answer, id, attempts):
            outcome = "applied"
        # A lost attempt may still be on its way, and find room when it arrives.
        if outcome == "limited" and id is None and attempts > 1 and not self.give_up(identity):
            outcome = "applied"
        return Taken(outcome, *answer[1:], identity)

    def give_up(self, identity, wait=None, timeout=None):
        """Says that an operation will not be sent again. True: it was not applied, and cannot be any more within the
        table's window. False: it was applied, so give back what it took, under a new id. Unacknowledged: an answer was
        lost, and it is not known which."""
        answer, attempts = self._run(identity, wait, timeout, "ONCE.ADD", self.table,
                                     *self._unless_lost("NOCREATE", "IDS"), identity)
        if not answer[0] and attempts > 1:
            raise Unacknowledged(identity, "an answer was lost: either it was applied, or it has been given up")
        return bool(answer[0])

    def peek(self, counter, *limits, floor=None):
        """How much is left until the limit that leaves least. It takes nothing."""
        words = _limit_words(limits, floor)
        return Standing(*self._limited(self._read, "ONCE.PEEK", self.table, counter, *words))

    def hold(self, counter, amount, limit, lease=30.0, id=None, wait=None, timeout=None):
        """Sets an amount aside under a limit, for so many seconds at least: a Hold, whose granted says whether it is. A limit is
        a number, which is on the total, or a tuple of a number and a period. Settle it or release it, or use it in a `with`
        block. Without an id, it makes one."""
        return begin_hold(self, counter, amount, limit, lease, id, wait, timeout)

    def holds(self, match=None, count=100):
        """Which holds are open: yields tuples of id, counter, amount, limit, period or "total", the beginning of its bucket or
        -1, and the milliseconds that are left of its lease."""
        words, cursor = (["MATCH", match] if match is not None else []), 0
        while True:
            cursor, found = self._read("ONCE.HOLDS", self.table, cursor, *words, "COUNT", count)
            for one in found:
                yield (*one[:4], one[4].decode() if isinstance(one[4], bytes) else one[4], *one[5:])
            if int(cursor) == 0:
                return

    def idempotent(self, id, **options):
        """Decorates a function that returns a write command: calling it runs that command once per id. The function id
        makes the id from the same arguments."""
        def decorate(function):
            @functools.wraps(function)
            def run(*words, **named):
                return self.call(*function(*words, **named), id=id(*words, **named), **options)
            return run
        return decorate

    def claim(self, id, lease=30.0, fingerprint=None):
        """Claims work that is to be done once, for so many seconds: a Claim that has begun, whose state says what to do. It is
        not renewed by itself. fingerprint says what the work is, such as a hash of the request."""
        claim = Claim(self, id, lease, fingerprint)
        claim.begin()
        return claim

    def claimed(self, id, lease=30.0, fingerprint=None, running="wait", patience=60.0, gone=None):
        """Decorates a function or coroutine whose work is to be done once per id, and whose result, which is kept as JSON, is
        everybody's answer. The functions id and fingerprint make these from the same arguments. The lease, in seconds, is
        renewed while the work is done. If somebody else does it, the call waits for the result, for patience seconds at most,
        or with running="raise" raises Running at once. If the work raises, the claim is given back. If it is done and the
        answer is not kept any more, gone is called with the same arguments, or ReplyGone is raised."""
        return decorator(self, id, lease, fingerprint, running, patience, gone)

    def claims(self, state=None, match=None, count=100):
        """Which claims there are: yields tuples of id, state ("running", "expired" or "done"), milliseconds left, and the
        size of the reply, or -1."""
        words = (["STATE", state] if state is not None else []) + (["MATCH", match] if match is not None else [])
        cursor = 0
        while True:
            cursor, found = self._read("ONCE.CLAIMS", self.table, cursor, *words, "COUNT", count)
            for one in found:
                yield (one[0], one[1].decode() if isinstance(one[1], bytes) else one[1], *one[2:])
            if int(cursor) == 0:
                return

    def add(self, *ids, **options):
        """Remembers ids. Returns for each whether it is fresh. An id whose first answer was lost is reported as a duplicate."""
        answer, _ = self._run(ids[0], options.get("wait"), options.get("timeout"), "ONCE.ADD", self.table,
                              *self._unless_lost("NOCREATE", "IDS"), *ids)
        return [bool(one) for one in answer]

    def get(self, counter):
        return self._read("ONCE.GET", self.table, counter)

    def top(self, count):
        flat = self._read("ONCE.TOP", self.table, count)
        return list(zip(flat[::2], flat[1::2]))

    def range(self, counter, per, begin="-", end="+", count=1000):
        """The buckets of a counter that begin from one time to another, in milliseconds: yields pairs of when a bucket
        begins and its value, the oldest first. It asks for count of them at a time."""
        while begin != 0:
            begin, flat = self._read("ONCE.RANGE", self.table, counter, begin, end, "PER", per, "COUNT", count)
            yield from zip(flat[::2], flat[1::2])

    def seen(self, *ids):
        return [bool(one) for one in self._read("ONCE.SEEN", self.table, *ids)]

    # From here on: how a command reaches the server that has the table, until there is an answer.

    def _attempt(self, wait, address, is_asked, words, end):
        """One attempt. Returns whether enough replicas have it, and the answer."""
        left = end - time.monotonic()
        if left <= 0:
            raise _TooLate
        # WAIT ends a little before the time does, so that its answer still comes; 0 would be for ever.
        commands, wait_ms = [words], max(1, min(self.wait_ms, int(left * 900)))
        patience = _PATIENCE
        if is_asked:
            commands.insert(0, ("ASKING",))
        if wait > 0:
            commands.append(("WAIT", wait, wait_ms))
            patience += wait_ms / 1000
        answers = self._route.links(address).exchange(min(end, time.monotonic() + patience), *commands)
        return wait == 0 or answers[-1] >= wait, answers[is_asked]

    def _window(self, address, is_asked, end):
        """How many seconds the table remembers ids. A table that does not exist has nothing to forget. If the user may
        not ask, only the timeout limits the retries."""
        try:
            info = self._attempt(0, address, is_asked, ("ONCE.INFO", self.table), end)[1]
        except ResponseError as error:
            if _is_passing(error):
                raise
            return math.inf
        if not isinstance(info, dict):
            info = dict(zip(info[::2], info[1::2]))
        return info.get(b"window_ms", info.get("window_ms", math.inf)) / 1000

    def _create_again(self, address, is_asked, end):
        try:
            self._attempt(0, address, is_asked, self._creation, end)
        except ResponseError as error:
            if "exists already" not in str(error): # another client was faster
                raise

    def _send(self, wait, address, is_asked, words, end):
        """One attempt; a table that is lost is created again first."""
        try:
            return self._attempt(wait, address, is_asked, words, end)
        except ResponseError as error:
            if self._creation is None or not _text(error).startswith("NOTABLE "):
                raise
        self._create_again(address, is_asked, end)
        return self._attempt(wait, address, is_asked, words, end)

    def _run(self, identity, wait, timeout, *words):
        wait = self.wait if wait is None else wait
        begin = time.monotonic()
        end = begin + (self.timeout if timeout is None else timeout)
        attempts, asked, pause = 0, None, 0.01
        reason, cause = "no time was left", None
        while True:
            attempts += 1
            address = asked
            try:
                address = asked or self._route.locate(end)
                if attempts > 1 and identity is not None:
                    # A retry that arrives when the id is forgotten would be applied again.
                    end = min(end, begin + self._window(address, asked is not None, end) / 2)
                is_enough, answer = self._send(wait, address, asked is not None, words, end)
                if is_enough:
                    return answer, attempts
                reason, cause = f"fewer than {wait} replicas", None
            except _TooLate:
                raise Unacknowledged(identity, reason) from cause
            except redis.RedisError as error:
                if not _is_passing(error):
                    raise
                reason, cause = _text(error) or type(error).__name__, error
            asked = self._route.lose(cause, address)
            if time.monotonic() > end:
                raise Unacknowledged(identity, reason) from cause
            if asked is None:
                time.sleep(max(0, min(pause * random.uniform(0.5, 1), end - time.monotonic())))
                pause = min(2 * pause, 0.5)

    def _read(self, *words):
        return self._run(None, 0, None, *words)[0]
