"""A table that is spread over several keys by counter, so that each counter is whole in one of them and can keep a limit.

    >>> quota = Spread(redis.cluster.RedisCluster(...), "quota", partitions=16, per="month")
    >>> quota.take("alice", 1, (100, "month"))

It is the same table that `lethe count --redis --partitions 16 --partition-by key` makes and reads. The description under the table's
name says so; it is written once. An id belongs to its counter: the same id with a counter of another partition is another
operation."""

import binascii
import secrets

from redis.exceptions import ResponseError

__all__ = ["Spread"]

_SLOTS = 16384
_KEEP_MOST = 100_000
_WINDOW_MS, _ERROR = 600_000, 1e-9
# What servers and lethe take: a description that they refuse would be in the way for ever.
_PARTITIONS_MOST, _PERIODS_MOST, _LONGEST_PERIOD_MS, _LONGEST_WINDOW_MS = 1024, 4, 366 * 86_400_000, 30 * 86_400_000
_LENGTHS = {"hour": 3_600_000, "day": 86_400_000, "month": "month"}


def _places(count):
    """The tags of the partitions: their slots are spread evenly over a cluster's."""
    wanted = {(2 * place + 1) * _SLOTS // (2 * count): place for place in range(count)}
    tags, number = [None] * count, 0
    while wanted:
        place = wanted.pop(binascii.crc_hqx(b"%d" % number, 0) % _SLOTS, None)
        if place is not None:
            tags[place] = number
        number += 1
    return tags


def _whole(name, value, least, most):
    """A whole number of a range, also if it is given as a word."""
    text = str(value)
    number = int(text) if text.isascii() and text.isdigit() else -1
    if isinstance(value, bool) or not least <= number <= most:
        raise ValueError(f"{name} is not a whole number from {least} to {most}: {value!r}")
    return number


def _per_text(per):
    pairs, lengths = [], set()
    for one in per if isinstance(per, list) else [per]:
        period, keep = one if isinstance(one, tuple) and len(one) == 2 else (one, _KEEP_MOST)
        word = period.lower() if isinstance(period, str) else period
        if word not in _LENGTHS:
            word = _whole('a period that is not "hour", "day" or "month"', word, 100, _LONGEST_PERIOD_MS)
        lengths.add(_LENGTHS.get(word, word))
        pairs.append(f"{word}:{_whole('the number of buckets to keep', keep, 1, _KEEP_MOST)}")
    if not 0 < len(pairs) <= _PERIODS_MOST or len(lengths) < len(pairs):
        raise ValueError(f"per is not 1 to {_PERIODS_MOST} periods, each once: {per!r}")
    return ",".join(pairs)


def _describe(partitions, window_ms=_WINDOW_MS, error=_ERROR, kind="quotient", per=None):
    """The description of a new table. ValueError for what no server or lethe would take."""
    count = _whole("the number of partitions", partitions, 2, _PARTITIONS_MOST)
    window_ms = _whole("window_ms", window_ms, 1000, _LONGEST_WINDOW_MS)
    if not 1e-12 <= float(error) <= 0.1:
        raise ValueError(f"error is not a number from 1e-12 to 0.1: {error!r}")
    if kind not in ("quotient", "forgetful"):
        raise ValueError(f'kind is not "quotient" or "forgetful": {kind!r}')
    return (f"lethe-table 3 partitions {count} seed {secrets.randbits(64) or 1:#x} window_ms {window_ms} error {float(error)!r}" +
            (" kind forgetful" if kind == "forgetful" else "") + " by key" + (f" per {_per_text(per)}" if per is not None else ""))


def _read(name, text):
    """The number of partitions, and the options of each."""
    words = text.split(" ")
    if words[0] != "lethe-table":
        raise ValueError(f"{name} is not a table of counters")
    if int(words[1]) > 3:
        raise ValueError(f"{name} was made by a newer lethe")
    said = dict(zip(words[2::2], words[3::2]))
    if said.get("by") != "key":
        raise ValueError(f"{name} is spread by id; limits need a table that is spread by key, or one partition")
    options = {"window_ms": int(said["window_ms"]), "error": said["error"], "kind": said.get("kind", "quotient")}
    if "per" in said:
        options["per"] = [(period, int(keep)) for period, keep in (one.split(":") for one in said["per"].split(","))]
    return int(said["partitions"]), options


class Spread:
    """client is a redis.Redis or a redis.cluster.RedisCluster. With partitions, a table that is missing is made: options are
    window_ms, error, kind and per, as for Once; one partition is a once-table like any other. wait, timeout and wait_ms are those of Once."""

    def __init__(self, client, table, partitions=None, wait=0, timeout=30.0, wait_ms=1000, **options):
        from . import Once
        if partitions is not None:
            partitions = _whole("the number of partitions", partitions, 1, _PARTITIONS_MOST)
        text = self._description(client, table, partitions, options)
        settings = {"wait": wait, "timeout": timeout, "wait_ms": wait_ms}
        if text is None:  # one once-table
            if partitions not in (None, 1):
                raise ValueError(f"{table} has 1 partition, which cannot be changed")
            self.partitions = [Once(client, table, **settings, **(options if partitions == 1 else {}))]
            return
        count, found = _read(table, text)
        if partitions not in (None, count):
            raise ValueError(f"{table} has {count} partitions, which cannot be changed")
        self.partitions = [Once(client, f"{table}:{{{tag}}}", **settings, **found) for tag in _places(count)]
        for one in self.partitions:
            one._is_whole = True

    @staticmethod
    def _description(client, table, partitions, options):
        """What is under the table's name; None for a once-table."""
        try:
            text = client.get(table)
            if text is None and partitions == 1:
                return None
            if text is None and partitions is not None:
                client.set(table, _describe(partitions, **options), nx=True)
                text = client.get(table)  # somebody else may have been faster
        except ResponseError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise
            return None
        if text is None:
            raise ValueError(f"there is no table {table}; say how many partitions it is to have")
        return text.decode() if isinstance(text, bytes) else text

    def of(self, counter):
        """The Once that has a counter."""
        data = counter.encode() if isinstance(counter, str) else counter
        return self.partitions[binascii.crc_hqx(data, 0) * len(self.partitions) >> 16]

    def incrby(self, counter, delta=1, *more, **options):
        """As Once.incrby; several counters must be in one partition."""
        if any(self.of(other) is not self.of(counter) for other in more[::2]):
            raise ValueError("counters of several partitions cannot be changed in one operation")
        return self.of(counter).incrby(counter, delta, *more, **options)

    def take(self, counter, amount, *limits, **options):
        return self.of(counter).take(counter, amount, *limits, **options)

    def hold(self, counter, amount, limit, **options):
        return self.of(counter).hold(counter, amount, limit, **options)

    def peek(self, counter, *limits, **options):
        return self.of(counter).peek(counter, *limits, **options)

    def get(self, counter):
        return self.of(counter).get(counter)

    def range(self, counter, per, **options):
        return self.of(counter).range(counter, per, **options)
