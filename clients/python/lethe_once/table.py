"""One once-table: what can be asked of it, without anything that blocks or waits (steps.py)."""

import functools
import re
import uuid

from redis.exceptions import NoPermissionError

from .claims import Claim, decorator
from .delivery import Delivery, Item
from .description import difference
from .errors import Incomplete, NotATable, ReplyGone, ServerError, Unacknowledged
from .holds import Hold
from .results import Result, Standing, Taken
from .routes import Route
from .steps import Items, listing, operation
from .words import (as_text, creation_of, dictionary, hold_words, limit_words, milliseconds,
                    replicas, seconds)

__all__ = ["Runner", "Table", "plain", "together"]

_OUTCOMES = {1: "applied", 0: "duplicate", -1: "limited"}
_APPLIED_OR_GIVEN_UP = "an answer was lost: either it was applied, or it has been given up"
# How often a list begins again because its server is another one.
_MOST_RESTARTS = 5


def plain(item):
    """The answer itself."""
    return item.answer
    yield


def together(results):
    """The results of several ids, some of which may be exceptions."""
    failed = [one for one in results if isinstance(one, Exception)]
    if failed:
        raise failed[0] if len(failed) == len(results) else Incomplete(results)
    return results


class Runner:
    """What tables and tables in partitions share: settings, and sending."""

    def _set_up(self, client, table, wait, timeout, wait_ms):
        self.client = client
        self.table = bytes(table) if isinstance(table, (bytearray, memoryview)) else table
        self.wait, self.timeout = replicas(wait), seconds("timeout", timeout)
        self.wait_ms = milliseconds(wait_ms)

    def _deliver(self, items, wait=None, timeout=None):
        """Sends items, and returns what became of each: its result or its exception."""
        wait = replicas(self.wait if wait is None else wait)
        timeout = seconds("timeout", self.timeout if timeout is None else timeout)
        yield from Delivery(items, wait, milliseconds(self.wait_ms), timeout).run()
        results = []
        for item in items:
            if item.result is None: # or it was there before its delivery was cancelled
                try:
                    item.result = (item.error if item.error is not None else
                                   (yield from item.finish(item)))
                except Exception as error: # of one item; the others have theirs
                    item.result = error
            results.append(item.result)
        return results

    def _review(self, items, results):
        """The results of a batch, as they are for a table of one partition: missing.py has more."""
        return results
        yield

    def _one(self, item, wait=None, timeout=None):
        (result,) = yield from self._deliver([item], wait, timeout)
        if isinstance(result, Exception):
            raise result
        return result

    def _all(self, items, wait=None, timeout=None):
        """As _deliver, but the first failure is raised."""
        results = yield from self._deliver(items, wait, timeout)
        for result in results:
            if isinstance(result, Exception):
                raise result
        return results

    def _read(self, table, *words):
        return self._one(Item(table, None, words, plain), wait=0)


class Table(Runner):
    """Of Once and of the class of the same name for asyncio."""

    # A partition of a table that is spread by key: Spread.
    _is_whole = False

    def __init__(self, client, table, wait=0, timeout=30.0, wait_ms=1000, cluster=False, **options):
        servers = options.pop("_servers", None)
        self._set_up(client, table, wait, timeout, wait_ms)
        self._servers = self._servers_of(client, cluster) if servers is None else servers
        self._route = Route(self._servers, self.table)
        self._creation = self._creation_of(options) if options else None
        self._expect(options)

    def _creation_of(self, options):
        return self._servers.encoded_command(creation_of(self.table, **options))

    def _expect(self, options):
        """The table is to have these. Before the first operation it is asked whether it does."""
        self._options, self._is_checked = options, not options

    def _differs(self, info):
        """Of an answer to ONCE.INFO: what to raise if the table is another than the caller named.
        None: it is that one."""
        error = difference(as_text(self.table), self._options, dictionary(info))
        self._is_checked = error is None
        return error

    @operation
    def create(self, **options):
        """Creates the table with window_ms, error, capacity, slack, seed, max_memory, policy, kind
        ("quotient" or "forgetful") and per, or with those given before. per is a period ("hour",
        "day", "month" or milliseconds), a pair of a period and how many buckets to keep, or a list
        of these. It is no error if the table exists, unless it has another window, error, kind or
        periods than were named, which is a ValueError. If the table is lost later, it is created
        again in the same way."""
        if options or self._creation is None:
            self._creation = self._creation_of(options)
            self._expect(options)
        try:
            yield from self._one(Item(self, None, self._creation, plain), wait=0)
            self._is_checked = True
        except ServerError as error:
            if "exists already" not in str(error):
                raise
            yield from self._check()

    def _check(self):
        (info,) = yield from self._deliver([Item(self, None, ("ONCE.INFO", self.table), plain)],
                                           wait=0)
        error = info if isinstance(info, Exception) else self._differs(info)
        if error is not None and not isinstance(error, NoPermissionError): # as before operations
            raise error

    def _unless_lost(self, *words):
        """What to add to a command so that it does not make a table with the server's window."""
        return words if self._creation is not None else ()

    # --- Items: one operation each, for a call of its own or for a batch

    def _incrby_item(self, counter, delta=1, *more, id=None):
        identity = id if id is not None else uuid.uuid4().hex
        words = ("ONCE.INCRBY", self.table, identity, counter, delta, *more,
                 *self._unless_lost("NOCREATE"))
        def finish(item):
            return Result(item.is_applied(item.answer), tuple(item.answer[1:]), identity)
            yield
        return Item(self, identity, words, finish, is_own=id is None)

    def _call_item(self, *command, id=None):
        identity = id if id is not None else uuid.uuid4().hex
        words = ("ONCE.CALL", self.table, identity, *self._unless_lost("NOCREATE"), *command)
        def finish(item):
            reply = item.answer[1] if item.answer[0] else item.first[1] # or made anew
            return item.is_applied(item.answer), reply
            yield
        return Item(self, identity, words, finish, is_own=id is None)

    def _call_and_keep_item(self, *command, id):
        words = ("ONCE.CALL", self.table, id, *self._unless_lost("NOCREATE"), "KEEP", *command)
        def finish(item):
            if item.answer[0] == -1:
                raise ReplyGone(id, "it was done, and its reply is gone")
            return item.answer[1]
            yield
        return Item(self, id, words, finish)

    def _refuse_partitions(self):
        """The key of a partition of a table that is spread by id. Such a table cannot keep a limit:
        each of its partitions sees only a part."""
        name = as_text(self.table)
        if re.search(r":\{\d+\}$", name) and not self._is_whole:
            raise ValueError(f"{name} is a partition of a table that is spread by id; limits need "
                             "a table of one partition, or one that is spread by key (Spread)")

    def _limited(self, item):
        """An item about limits. Under the name of a table in partitions there is a description of
        it instead."""
        self._refuse_partitions()
        fail = item.fail
        def explain(error):
            if isinstance(error, NotATable):
                cause, error = error, ValueError(
                    f"{as_text(self.table)} is no once-table: limits need a table of one "
                    "partition, or one that is spread by key (Spread); a table that is spread by "
                    "id cannot keep a limit")
                error.__cause__ = cause
            fail(error)
        item.fail = explain
        return item

    def _take_item(self, counter, amount, *limits, floor=None, id=None):
        identity = id if id is not None else uuid.uuid4().hex
        words = ("ONCE.TAKE", self.table, identity, counter, amount, *limit_words(limits, floor),
                 *self._unless_lost("NOCREATE"))
        def finish(item):
            outcome = _OUTCOMES[item.answer[0]]
            if outcome == "duplicate" and (item.first[0] == 1 or id is None and item.is_doubtful):
                outcome = "applied"
            # A lost attempt may still be on its way, and find room when it arrives.
            if outcome == "limited" and id is None and item.is_doubtful:
                was_given_up, item.is_given_up = item.is_given_up, True
                is_given_up = yield from self.give_up.steps(self, identity, item.wait,
                                                           item.rest)
                if not is_given_up and was_given_up: # and cancelled before there was an answer
                    raise Unacknowledged(identity, _APPLIED_OR_GIVEN_UP)
                outcome = "limited" if is_given_up else "applied"
            return Taken(outcome, *item.answer[1:], identity)
        return self._limited(Item(self, identity, words, finish, is_own=id is None))

    def _peek_item(self, counter, *limits, floor=None):
        words = ("ONCE.PEEK", self.table, counter, *limit_words(limits, floor))
        def finish(item):
            return Standing(*item.answer)
            yield
        return self._limited(Item(self, None, words, finish))

    def _get_item(self, counter):
        return Item(self, None, ("ONCE.GET", self.table, counter), plain)

    def _add_item(self, *ids):
        def finish(item):
            return together(item.each(*ids))
            yield
        words = ("ONCE.ADD", self.table, *self._unless_lost("NOCREATE", "IDS"), *ids)
        return Item(self, ids[0], words, finish, asks_who=True)

    # --- Operations

    @operation
    def incrby(self, counter, delta=1, *more, id=None, wait=None, timeout=None):
        """Adds to one counter or, with more counters and deltas, to several at once. Without an id,
        it makes one."""
        item = self._incrby_item(counter, delta, *more, id=id)
        return (yield from self._one(item, wait, timeout))

    @operation
    def call_and_keep(self, *command, id, wait=None, timeout=None):
        """Runs a write command once, and returns its reply, the same to everybody who sends the
        same command with the same id. Raises ReplyGone if the reply is not kept any more, and
        Mismatch if the id was used with another command."""
        return (yield from self._one(self._call_and_keep_item(*command, id=id), wait, timeout))

    @operation
    def call(self, *command, id=None, wait=None, timeout=None):
        """Runs a write command once: returns (True, its reply), or (False, None) if it was done
        before. Without an id, it makes one; then (True, None) means that this call did it and the
        reply was lost. If a reply contains errors among other things, part of the command was done.
        An error of the whole command is raised, and nothing is done."""
        return (yield from self._one(self._call_item(*command, id=id), wait, timeout))

    @operation
    def take(self, counter, amount, *limits, floor=None, id=None, wait=None, timeout=None):
        """Adds to a counter unless that would pass a limit. A limit is a number, which is on the
        total, or a tuple of a number and a period: (100, "hour"), or (100, "hour", "sliding"). A
        negative amount is taken away, unless the counter would fall below floor: a number, a tuple
        of a number and a period, or a list of these. Without an id, it makes one, and gives it up
        if the answer is "limited" and an attempt was lost on the way. With an id of the caller's, a
        limited operation may be sent again; whoever does not want to any more calls give_up."""
        item = self._take_item(counter, amount, *limits, floor=floor, id=id)
        return (yield from self._one(item, wait, timeout))

    @operation
    def give_up(self, identity, wait=None, timeout=None):
        """Says that an operation will not be sent again. True: it was not applied, and cannot be
        any more within the table's window. False: it was applied, so give back what it took, under
        a new id. Unacknowledged: an answer was lost, and it is not known which."""
        def finish(item):
            (is_given_up,) = together(item.each(identity))
            if not is_given_up and item.is_doubtful:
                raise Unacknowledged(identity, _APPLIED_OR_GIVEN_UP)
            return is_given_up
            yield
        words = ("ONCE.ADD", self.table, *self._unless_lost("NOCREATE", "IDS"), identity)
        item = Item(self, identity, words, finish, asks_who=True)
        return (yield from self._one(item, wait, timeout))

    @operation
    def peek(self, counter, *limits, floor=None):
        """How much is left until the limit that leaves least. It takes nothing."""
        return (yield from self._one(self._peek_item(counter, *limits, floor=floor), wait=0))

    def _hold(self, counter, amount, limit, lease=30.0, id=None, wait=None, timeout=None,
              tell=None):
        """Steps that place a hold. tell is called with it before anything is sent."""
        hold = Hold(self, id if id is not None else uuid.uuid4().hex, counter, amount)
        if tell is not None:
            tell(hold)
        yield from hold._begin(hold_words(limit, lease), id is None, wait, timeout)
        return hold

    @listing
    def holds(self, match=None, count=100):
        """Which holds are open: yields tuples of id, counter, amount, limit, period or "total", the
        beginning of its bucket or -1, and the milliseconds that are left of its lease."""
        words = ["MATCH", match] if match is not None else []
        def row(one):
            return (*one[:4], as_text(one[4]), *one[5:])
        yield from self._pages("ONCE.HOLDS", [*words, "COUNT", count],
                               lambda found: [row(one) for one in found])

    def idempotent(self, id, **options):
        """Decorates a function that returns a write command: calling it runs that command once per
        id. The function id makes the id from the same arguments."""
        def decorate(function):
            @functools.wraps(function)
            def run(*words, **named):
                return self.call(*function(*words, **named), id=id(*words, **named), **options)
            return run
        return decorate

    @operation
    def claim(self, id, lease=30.0, fingerprint=None):
        """Claims work that is to be done once, for so many seconds: a Claim that has begun, whose
        state says what to do. It is not renewed by itself. fingerprint says what the work is, such
        as a hash of the request."""
        claim = Claim(self, id, lease, fingerprint)
        yield from claim.begin.steps(claim)
        return claim

    def claimed(self, id, lease=30.0, fingerprint=None, running="wait", patience=60.0, gone=None):
        """Decorates a function or coroutine whose work is to be done once per id, and whose result,
        which is kept as JSON, is everybody's answer. The functions id and fingerprint make these
        from the same arguments. The lease, in seconds, is renewed while the work is done. If
        somebody else does it, the call waits for the result, for patience seconds at most, or with
        running="raise" raises Running at once. If the work raises, the claim is given back. If it
        is done and the answer is not kept any more, gone is called with the same arguments, or
        ReplyGone is raised."""
        return decorator(lambda _: self, id, lease, fingerprint, running, patience, gone)

    @listing
    def claims(self, state=None, match=None, count=100):
        """Which claims there are: yields tuples of id, state ("running", "expired" or "done"),
        milliseconds left, and the size of the reply, or -1."""
        words = ["STATE", state] if state is not None else []
        words += ["MATCH", match] if match is not None else []
        yield from self._pages("ONCE.CLAIMS", [*words, "COUNT", count], lambda found: [
            (one[0], as_text(one[1]), *one[2:]) for one in found])

    @operation
    def add(self, *ids, wait=None, timeout=None):
        """Remembers ids. Returns for each whether it is fresh. An id whose first answer was lost is
        reported as a duplicate. With wait, no id is fresh for two callers: if it was fresh to a
        server whose replicas did not acknowledge it, and is not to the next one, Unacknowledged is
        its outcome. If some could not be remembered, Incomplete is raised, whose results has the
        outcome of each; if none could, the error of the first, such as Full."""
        return (yield from self._one(self._add_item(*ids), wait, timeout))

    @operation
    def get(self, counter):
        """The value of a counter, or None."""
        return (yield from self._one(self._get_item(counter), wait=0))

    @operation
    def mget(self, *counters):
        """The values of counters, in order; None for those that do not exist."""
        return (yield from self._read(self, "ONCE.MGET", self.table, *counters))

    @operation
    def top(self, count):
        """The largest counters: pairs of a name and its value."""
        flat = yield from self._read(self, "ONCE.TOP", self.table, count)
        return list(zip(flat[::2], flat[1::2]))

    @operation
    def info(self):
        """What ONCE.INFO says, as a dictionary. Raises NoTable if there is no such table."""
        return dictionary((yield from self._read(self, "ONCE.INFO", self.table)))

    @listing
    def scan(self, match=None, count=1000):
        """All counters: yields pairs of a name and its value. A counter that is there from the
        beginning to the end is yielded at least once; while counters come and go, perhaps twice."""
        words = ["MATCH", match] if match is not None else []
        yield from self._pages("ONCE.SCAN", [*words, "COUNT", count],
                               lambda flat: list(zip(flat[::2], flat[1::2])))

    def _pages(self, command, words, rows):
        """A cursor is valid only on the server that returned it, and until that starts again. So a
        listing whose server is another one begins anew, and yields some rows again; where servers
        do not say who they are, one whose connection is another one. A few times, or it might
        never end."""
        cursor, origin, restarts = 0, None, 0
        while True:
            is_first = int(cursor) == 0
            item = Item(self, None, (command, self.table, cursor, *words), plain,
                        asks_who=is_first or origin is not None)
            following, found = yield from self._one(item, wait=0)
            is_same = (item.who == origin if origin is not None else
                       not item.is_new and item.attempts == 1)
            if not is_first and not is_same:
                restarts += 1
                if restarts > _MOST_RESTARTS:
                    raise Unacknowledged(None, f"the list had to begin again {restarts} times")
                cursor = 0
                continue
            if is_first:
                origin = item.who
            cursor = following
            yield Items(rows(found))
            if int(cursor) == 0:
                return

    @listing
    def range(self, counter, per, begin="-", end="+", count=1000):
        """The buckets of a counter that begin from one time to another, in milliseconds: yields
        pairs of when a bucket begins and its value, the oldest first. It asks for count of them at
        a time."""
        while begin != 0:
            begin, flat = yield from self._read(self, "ONCE.RANGE", self.table, counter, begin, end,
                                                "PER", per, "COUNT", count)
            yield Items(list(zip(flat[::2], flat[1::2])))

    @operation
    def seen(self, *ids):
        """Whether each id is remembered."""
        answer = yield from self._read(self, "ONCE.SEEN", self.table, *ids)
        return [bool(one) for one in answer]

    def _delete_item(self, *words):
        return Item(self, None, words, plain, may_repeat=False)

    @operation
    def delete(self, *counters, wait=None, timeout=None):
        """Removes counters, and returns how many there were. Ids stay remembered. A deletion has no
        id: if its answer is lost it is not sent again, since that could remove what was counted
        meanwhile, and Unacknowledged is raised."""
        if not counters:
            return 0
        item = self._delete_item("ONCE.DEL", self.table, *counters)
        return (yield from self._one(item, wait, timeout))

    @operation
    def delete_table(self, wait=None, timeout=None):
        """Removes the whole table, with all that it remembers. Returns whether there was one. It is
        not sent again, as with delete."""
        item = self._delete_item("UNLINK", self.table)
        return bool((yield from self._one(item, wait, timeout)))
