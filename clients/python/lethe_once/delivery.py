"""How operations reach the servers that have their tables, until there is an answer to each.

One operation is a batch of one. In each round, what has no answer yet is sent: one pipeline to each
server, with WAIT at its end on the same connection. What is answered is done with. The rest is sent
again in the next round, with the same ids, so that nothing is applied twice.

I1  An operation is not sent again later than half its table's window after the first time: a
    duplicate that arrives when its original is forgotten would be applied.
I2  An attempt is in doubt if it may have been carried out though nobody heard so: something was
    sent, and no answer came, or too few replicas have it. Only then may a duplicate be one's own;
    and an error that ends it afterwards is raised with the id, as the cause of Unacknowledged.
I3  What is answered counts only if enough replicas acknowledged it on the same connection.
I4  An answer that too few replicas have is believed only as long as the same server answers, with
    the same history: who that is, is asked on the same connection. Another one may have lost it,
    and have given the same answer to somebody else meanwhile.
I5  Nothing is applied to a table that has another window than the caller named, or something else
    of what `lethe count` compares: it is asked before the first operation, and once.
"""

import math
import random
import re
import time

from redis.exceptions import RedisError, ResponseError

from .errors import (Mismatch, NoHold, NoTable, Unacknowledged, _is_denied, _is_passing,
                     _is_untrusted, _named, _text)
from .steps import Exchange, Pause
from .words import as_text

# Seconds to wait for an answer before the operation is sent again, unless the client has a
# socket_timeout.
_PATIENCE = 5.0
# How many operations go to one server in one round.
_MOST_AT_ONCE = 1000
# Who answers: a process, and what it has a copy of. Both change when a server starts again; the
# second one also when a replica is promoted, or a master made a replica.
_WHO = ("INFO", "server", "replication")


class Item:
    """One operation on its way. words is its command: it is encoded here, so that what cannot be
    sent is refused before anything is. id is None for what only reads. finish is a generator that
    makes the result of the item. may_repeat says whether it may be sent again after an attempt in
    doubt; asks_who, whether it matters who answers: then who is that server, if it said so. It is
    asked for what only reads, and where there may be several answers: with WAIT. An item whose
    delivery was cancelled may be delivered again, and keeps its answer and its doubt. is_nothing
    says of a result whether a partition that is missing would give the same."""

    is_nothing = None

    def __init__(self, table, id, words, finish, is_own=False, may_repeat=True, asks_who=False):
        self.table, self.id, self.finish = table, id, finish
        self.words = table._servers.encoded_command(words)
        self.is_own, self.may_repeat, self.asks_who = is_own, may_repeat, asks_who
        self.answer = self.first = self.error = self.asked = self.result = None
        self.who = self.first_who = None
        self.is_done = self.is_doubtful = self.is_new = self.is_given_up = False
        self.attempts, self.begin, self.end = 0, None, math.inf
        self.reason, self.cause = "no time was left", None
        self.wait, self.until = 0, math.inf # of its delivery

    def is_applied(self, answer):
        """Whether this call applied it: an answer said so, or an attempt in doubt with an id that
        nobody else has. If a failover has lost the first attempt, and somebody else with the same
        id was faster then, both are told so; it counts once."""
        return (bool(answer[0]) or self.first is not None and bool(self.first[0]) or
                self.is_own and self.is_doubtful)

    def take(self, answer, who=None):
        self.answer, self.who = answer, who
        if self.first is None:
            self.first, self.first_who = answer, who

    def fail(self, error):
        self.error, self.is_done = self.doubted(error), True

    def doubted(self, error, id=None):
        """What to raise for an error: after an attempt in doubt, one that says so. Some errors
        are an answer to earlier attempts, too."""
        if (not self.is_doubtful or self.id is None or
                isinstance(error, (Unacknowledged, Mismatch, NoHold, NoTable))):
            return error
        doubt = Unacknowledged(self.id if id is None else id,
                               f"an attempt is in doubt, and then: {error}")
        doubt.__cause__ = error
        return doubt

    def each(self, *ids):
        """Of an answer with one number or error for each of several ids: whether each was new. An
        error means that it is not remembered. If the first answer said that it was new, and the
        newest one does not, it is our own, unless the server is another one (I4)."""
        is_same = self.who is not None and self.who == self.first_who
        found = []
        for id, first, now in zip(ids, self.first, self.answer):
            was_new = not isinstance(first, Exception) and bool(first)
            if isinstance(now, Exception):
                found.append(self.doubted(_named(now, id), id))
            elif was_new and not now and not is_same:
                found.append(Unacknowledged(id, "it was new to a server that has not kept it for "
                                            "certain, and is not new to the next one"))
            else:
                found.append(bool(now) or was_new)
        return found

    @property
    def rest(self):
        """How many seconds its delivery has left, and its table's window."""
        return max(0, min(self.until, self.end) - time.monotonic())

    def put_off(self, reason, cause=None):
        """To be sent again, if there is time."""
        self.answer, self.reason, self.cause = None, reason, cause

    def give_up(self):
        error = Unacknowledged(self.id, self.reason)
        error.__cause__ = self.cause
        self.fail(error)


class Delivery:
    """Of items, with one time for all."""

    def __init__(self, items, wait, wait_ms, timeout):
        self.items, self.wait, self.wait_ms = items, wait, wait_ms
        self.begin = time.monotonic()
        self.end = self.begin + timeout
        for item in items:
            if item.is_done and item.error is None and item.wait < wait: # of a cancelled delivery
                item.is_done, item.is_doubtful, item.result = False, True, None
                item.put_off("it was answered, and not waited for")
            item.wait, item.until = wait, self.end
            if item.begin is None:
                item.begin = self.begin

    def run(self):
        """Until each item has an answer or an error."""
        pause, at, active = 0.01, 0, []
        while active or at < len(self.items):
            most = _MOST_AT_ONCE * max(1, len(self.items[0].table._servers.known))
            fresh = self.items[at:at + most - len(active)]
            active, at = active + fresh, at + len(fresh)
            now = time.monotonic()
            for item in active:
                if not item.is_done and now > min(self.end, item.end):
                    item.give_up()
            sent = yield from self._round([item for item in active if not item.is_done])
            active = [item for item in active if not item.is_done]
            if any(not item.is_done and item.asked is None for item in sent):
                rest = max(0, self.end - time.monotonic())
                yield Pause(min(pause * random.uniform(0.5, 1), rest))
                pause = min(2 * pause, 0.5)

    def _round(self, pending):
        """Sends to each server what belongs there. Returns the items that had their turn."""
        groups = yield from self._group(pending)
        yield from self._ask_tables(groups)
        parts, chunks = [], []
        now = time.monotonic()
        for address, items in groups.items():
            chunk = [item for item in items if not item.is_done][:_MOST_AT_ONCE]
            if not chunk:
                continue
            left = self.end - now
            # WAIT ends a little before the time does, so that its answer still comes; 0 would be
            # for ever.
            wait_ms = max(1, int(min(self.wait_ms, left * 900)))
            is_asked = any(item.asks_who and (self.wait > 0 or item.id is None) for item in chunk)
            commands = [_WHO] if is_asked else []
            for item in chunk:
                item.attempts += 1
                commands += ([("ASKING",)] if item.asked is not None else []) + [item.words]
            if self.wait > 0:
                commands.append(("WAIT", self.wait, wait_ms))
            patience = _PATIENCE + (wait_ms / 1000 if self.wait > 0 else 0)
            ends = [self.end, now + patience] + [item.end for item in chunk]
            parts.append((address, min(ends), commands))
            chunks.append((address, chunk, is_asked))
        if not parts:
            return pending
        sent = [item for _, chunk, _ in chunks for item in chunk]
        try:
            replies = yield Exchange(parts)
        except BaseException: # cancelled: who knows what was sent
            for item in sent:
                item.is_doubtful = True
            raise
        lost_tables = {}
        for (address, chunk, is_asked), reply in zip(chunks, replies):
            self._take(address, chunk, is_asked, reply, lost_tables)
        yield from self._create_again(lost_tables)
        return sent

    def _group(self, pending):
        """Which server has which items."""
        groups, lost = {}, {}
        for item in pending:
            route = item.table._route
            try:
                if item.asked is None and route.slot in lost:
                    raise lost[route.slot]
                address = item.asked or (yield from route.locate(self.end))
            except RedisError as error:
                if not _is_passing(error):
                    item.fail(error)
                    continue
                lost[route.slot] = error # the others of the slot need not ask again
                item.put_off(_text(error) or type(error).__name__, error)
                continue
            groups.setdefault(address, []).append(item)
        return groups

    def _ask_tables(self, groups):
        """I1: before anything is sent again, each table is asked for its window. A table that does
        not exist has nothing to forget; without the right to ask, only the time limits retries.
        I5: before anything is sent at all, one of which the caller named what it has."""
        parts, asked = [], []
        for address, items in groups.items():
            tables = {}
            for item in items:
                is_asked = item.attempts > 0 or not item.table._is_checked
                if is_asked and item.id is not None:
                    tables.setdefault(item.table.table, []).append(item)
            if not tables:
                continue
            commands = []
            for again in tables.values():
                commands += [("ASKING",)] if again[0].asked is not None else []
                commands.append(("ONCE.INFO", again[0].table.table))
            parts.append((address, min(self.end, time.monotonic() + _PATIENCE), commands))
            asked.append((address, commands, list(tables.values())))
        if not parts:
            return
        replies = yield Exchange(parts)
        for (address, commands, tables), reply in zip(asked, replies):
            answers = [answer for command, answer in zip(commands, reply.answers)
                       if command[0] == "ONCE.INFO"]
            for items, answer in zip(tables, answers + [reply.failure] * len(tables)):
                if answer is None or isinstance(answer, Exception) and _is_passing(answer):
                    self._lose(groups, address, items, answer)
                elif isinstance(answer, Exception) and not isinstance(answer, ResponseError):
                    for item in items:
                        item.fail(_named(answer, item.id))
                elif isinstance(answer, ResponseError):
                    for item in items:
                        item.table._is_checked = item.table._is_checked or _is_denied(answer)
                else:
                    for item in items:
                        self._take_info(item, answer)

    def _take_info(self, item, info):
        error = item.table._differs(info) if not item.table._is_checked else None
        if error is not None:
            item.fail(error)
        elif item.attempts > 0:
            item.end = item.begin + _window_of(info) / 2
            if time.monotonic() > item.end:
                item.give_up()

    def _lose(self, groups, address, items, error):
        """Nothing is sent to where not even the window could be asked for."""
        for item in items:
            item.asked = item.table._route.lose(error, address)
            item.put_off(_text(error) if error is not None else "no answer", error)
        lost = set(items)
        groups[address] = [item for item in groups[address] if item not in lost]

    def _take(self, address, chunk, is_asked, reply, lost_tables):
        """What came of one pipeline."""
        answers, items = iter(reply.answers), []
        who = _who(address, next(answers, None)) if is_asked else None
        for item in chunk:
            item.is_new = reply.is_new
            if item.asked is not None:
                next(answers, None)
            answer = next(answers, reply)
            if answer is not reply:
                items.append(item)
                self._take_one(address, item, answer, who, lost_tables)
                continue
            self._put_off(address, item, reply.failure, reply.was_sent)
        acknowledged = next(answers, reply) if self.wait > 0 else self.wait
        if isinstance(acknowledged, int) and acknowledged >= self.wait:
            return
        for item in items: # I3
            if item.is_done and item.error is None:
                item.is_done = False
                self._put_off(address, item, acknowledged if acknowledged is not reply
                              else reply.failure, True)

    def _take_one(self, address, item, answer, who, lost_tables):
        if not isinstance(answer, Exception):
            item.asked = None
            item.take(answer, who)
            item.is_done = True
        elif _is_passing(answer):
            item.asked = item.table._route.lose(answer, address)
            item.put_off(_text(answer), answer)
        elif item.table._creation is not None and _text(answer).startswith("NOTABLE"):
            lost_tables.setdefault((address, item.asked is not None, item.table.table), []).append(
                item)
        else:
            item.fail(_named(answer, item.id))

    def _put_off(self, address, item, error, was_sent):
        """An attempt that failed with its connection, or that too few replicas have."""
        is_error = isinstance(error, Exception)
        # Who is not let in has done nothing. Some learn it only when an answer is read.
        is_refused = (is_error and item.answer is None and item.is_new and
                      (_is_denied(error) or _is_untrusted(error)))
        item.is_doubtful = item.is_doubtful or was_sent and not is_refused
        if is_error and not _is_passing(error):
            if item.answer is None:
                item.fail(_named(error, item.id))
            else: # it was carried out, and only WAIT failed
                item.put_off(f"carried out, but replicas could not be waited for: {_text(error)}",
                             error)
                item.give_up()
            return
        item.asked = item.table._route.lose(error if is_error else None, address)
        item.put_off((_text(error) or type(error).__name__) if is_error else
                     f"fewer than {self.wait} replicas", error if is_error else None)
        if was_sent and not item.may_repeat:
            item.give_up()

    def _create_again(self, lost_tables):
        """Tables that are lost are made with their own options. Another client may be faster."""
        for (address, is_asked, _), items in lost_tables.items():
            commands = [("ASKING",)] if is_asked else []
            commands.append(items[0].table._creation)
            (reply,) = yield Exchange([(address, min(self.end, time.monotonic() + _PATIENCE),
                                        commands)])
            error = reply.failure
            if error is None and isinstance(reply.answers[-1], Exception):
                error = reply.answers[-1]
            is_made = error is None or "exists already" in str(error)
            items[0].table._is_checked = items[0].table._is_checked or error is None
            for item in items:
                if is_made:
                    item.asked = address if is_asked else None
                    item.put_off("the table was lost")
                    item.attempts = 0 # not sent yet: there is nothing that could be forgotten
                elif _is_passing(error):
                    item.asked = item.table._route.lose(error, address)
                    item.put_off(_text(error) or type(error).__name__, error)
                else:
                    item.fail(_named(error, item.id))


def _who(address, info):
    """Which server that is, by its answer to _WHO; None if it does not say."""
    if not isinstance(info, (bytes, str)):
        return None
    found = dict(re.findall(r"^(run_id|master_replid):(\w+)", as_text(info), re.MULTILINE))
    return (address, found["run_id"], found["master_replid"]) if len(found) == 2 else None


def _window_of(info):
    if not isinstance(info, dict):
        info = dict(zip(info[::2], info[1::2]))
    return info.get(b"window_ms", info.get("window_ms", math.inf)) / 1000
