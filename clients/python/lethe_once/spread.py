"""A table that is spread over several keys, so that the servers of a cluster share it.

    >>> quota = Spread(redis.cluster.RedisCluster(...), "quota", partitions=16, per="month")
    >>> quota.take("alice", 1, (100, "month"))

It is the same table that `lethe count --redis --partitions 16 --partition-by key` makes and reads.
The description under the table's name says so; it is written once. By key, each counter is whole in
one partition and can keep a limit. An id then belongs to the partition of its counter: with another
counter the same id is a duplicate if that is in the same partition, and otherwise another
operation. So one id is for one operation; whoever changes several counters for one event puts the
counter into the id. By id, every partition has a part of each counter, so that one counter may be
as busy as all servers together allow; such a table has no limits, holds and claims.

What is read rests on partitions that are there: missing.py."""

import binascii
import ctypes
import functools
import heapq
import secrets

from .claims import decorator
from .delivery import Item
from .description import PARTITIONS_MOST, compare, describe, places, read, suspects, whole
from .errors import NotATable, NoTable
from .holds import Hold
from .missing import Complete
from .steps import Items, listing, operation
from .table import plain, together
from .words import as_text, dictionary

__all__ = ["Partitions"]


@functools.cache
def _hash_function():
    """XXH3 of 128 bits with a seed, by the package xxhash or by the library itself."""
    try:
        from xxhash import xxh3_128_intdigest
        return lambda data, seed: xxh3_128_intdigest(data, seed) >> 64
    except ImportError:
        pass
    class Hash(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]
    try:
        function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits_withSeed
    except (OSError, AttributeError):
        raise ImportError("a table that is spread by id needs the package xxhash, or libxxhash "
                          "0.8 or later") from None
    function.restype = Hash
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return lambda data, seed: function(data, len(data), seed).high


class Partitions(Complete):
    """Of Spread and of the class of the same name for asyncio. client is as for Once. With
    partitions, a table that is missing is made: options are by ("key" or "id"), window_ms, error,
    kind and per, as for Once; one partition is a once-table like any other."""

    def __init__(self, client, table, partitions=None, wait=0, timeout=30.0, wait_ms=1000,
                 cluster=False, **options):
        self._set_up(client, table, wait, timeout, wait_ms)
        if partitions is not None:
            partitions = whole("the number of partitions", partitions, 1, PARTITIONS_MOST)
            if partitions > 1:
                describe(partitions, **options) # refuses what cannot be made
        self._wanted, self._options, self._is_new = partitions, options, False
        self._name = self._once(client, table, wait, timeout, wait_ms, cluster)
        self._servers, self._seed, self._found = self._name._servers, None, None

    @property
    def partitions(self):
        """The tables that it consists of. An asyncio table knows them once it is open."""
        if self._found is None:
            raise ValueError(f"{as_text(self.table)} is not open yet; call open() first")
        return self._found

    @property
    def by(self):
        """"key" or "id"; "key" for one partition, where all counters are whole."""
        return "key" if self._seed is None else "id"

    @operation
    def open(self):
        """Reads what the table is, or makes it. Done by itself before the first operation."""
        yield from self._open()
        return self

    def _open(self):
        if self._found is not None:
            return
        text, name = (yield from self._description()), as_text(self.table)
        more = {"_servers": self._servers}
        settings = self.wait, self.timeout, self.wait_ms
        if text is None: # one once-table
            if self._wanted not in (None, 1):
                raise ValueError(f"{name} has 1 partition, which cannot be changed")
            options = {key: value for key, value in self._options.items() if key != "by"}
            if self._wanted == 1:
                more.update(options)
            self._found = [self._once(self.client, self.table, *settings, **more)]
            self._found[0]._expect(options)
            return
        count, seed, found = read(name, text)
        if self._wanted not in (None, count):
            raise ValueError(f"{name} has {count} partitions, which cannot be changed")
        if self._options.get("by", self._by_of(seed)) != self._by_of(seed):
            raise ValueError(f"{name} is spread by {self._by_of(seed)}, which cannot be changed")
        compare(name, self._options, {"per": None, **found})
        if seed is not None:
            _hash_function()
        parts = [self._once(self.client, self._part(tag), *settings, **more, **found)
                 for tag in places(count)]
        for one in parts:
            one._is_whole, one._is_checked = seed is None, True # they are made as described
        if self._is_new: # all of them, so that one that is missing later is known to be lost
            made = yield from self._deliver([Item(one, None, one._creation, plain)
                                             for one in parts])
            failed = [one for one in made if isinstance(one, Exception) and
                      "exists already" not in str(one)]
            if failed:
                raise failed[0]
        self._seed, self._found = seed, parts

    def _part(self, tag):
        """The key of a partition. A name of bytes need not be text."""
        if isinstance(self.table, bytes):
            return b"%b:{%d}" % (self.table, tag)
        return f"{self.table}:{{{tag}}}"

    @staticmethod
    def _by_of(seed):
        return "key" if seed is None else "id"

    def _description(self):
        """What is under the table's name; None for a once-table."""
        name, wanted = self._name, self._wanted
        try:
            text = yield from self._read(name, "GET", self.table)
            if text is None and wanted == 1:
                return None
            if text is None and wanted is not None:
                yield from self._refuse_leftovers()
                words = ("SET", self.table, describe(wanted, **self._options), "NX")
                self._is_new = True
                yield from self._one(Item(name, None, words, plain), wait=self.wait)
                text = yield from self._read(name, "GET", self.table) # of who was faster
        except NotATable:
            return None
        if text is None:
            raise ValueError(f"there is no table {as_text(self.table)}; say how many partitions it "
                             "is to have")
        return as_text(text)

    def _refuse_leftovers(self):
        """With a new description ids would go to other partitions, and duplicates be counted."""
        name = as_text(self.table)
        if "{" in name or "}" in name:
            raise ValueError(f"a table in partitions has no braces in its name: {name}")
        keys = [self._once(self.client, self._part(tag), _servers=self._servers)
                for tag in suspects(self._wanted)]
        there = yield from self._all([Item(one, None, ("EXISTS", one.table), plain) for one in
        keys],
                                     wait=0)
        left = [one.table for one, is_there in zip(keys, there) if is_there]
        if not left:
            return
        if (yield from self._read(self._name, "EXISTS", self.table)):
            return # somebody makes it at this moment
        raise ValueError(f"the key {name}, which describes the table, is gone, but its partition "
                         f"{as_text(left[0])} exists: restore that key, or delete {name}:{{*}}")

    # --- Which partition

    def of(self, counter):
        """The table that has a counter, if the table is spread by key."""
        if self._seed is not None:
            raise ValueError(f"{as_text(self.table)} is spread by id: each partition has a part of "
                             "a counter; this needs a table that is spread by key, or one "
                             "partition")
        number = binascii.crc_hqx(self._servers.encoded(counter), 0)
        return self._place(number * len(self.partitions) >> 16)

    def of_id(self, id):
        """The table that remembers an id, if the table is spread by id."""
        if self._seed is None:
            raise ValueError(f"{as_text(self.table)} is spread by key: an id belongs to the "
                             "partition of its counter")
        number = _hash_function()(self._servers.encoded(id), self._seed) >> 32
        return self._place(number * len(self.partitions) >> 32)

    def _place(self, number):
        return self.partitions[number]

    def _incrby_item(self, counter, delta=1, *more, id=None):
        if self._seed is not None:
            is_own, id = id is None, id if id is not None else secrets.token_hex(16)
            item = self.of_id(id)._incrby_item(counter, delta, *more, id=id)
            item.is_own = is_own
            def finish(item): # the values are those of one partition
                result = yield from found(item)
                return result._replace(values=None)
            found, item.finish = item.finish, finish
            return item
        if any(self.of(other) is not self.of(counter) for other in more[::2]):
            raise ValueError("counters of several partitions cannot be changed in one operation")
        return self.of(counter)._incrby_item(counter, delta, *more, id=id)

    def _take_item(self, counter, amount, *limits, **options):
        return self.of(counter)._take_item(counter, amount, *limits, **options)

    def _peek_item(self, counter, *limits, **options):
        item = self.of(counter)._peek_item(counter, *limits, **options)
        item.is_nothing = lambda standing: standing.value == 0
        return item

    def _get_item(self, counter):
        item = self.of(counter)._get_item(counter)
        item.is_nothing = lambda value: value is None
        return item

    def _call_item(self, *command, id=None):
        raise ValueError("a command is called once by a once-table: the keys of the command must "
                         "be in the slot of one partition")

    def _add_item(self, *ids):
        if len({self.of_id(id) for id in ids}) > 1:
            raise ValueError("ids of several partitions cannot be remembered in one operation")
        return self.of_id(ids[0])._add_item(*ids)

    # --- Operations

    @operation
    def incrby(self, counter, delta=1, *more, id=None, wait=None, timeout=None):
        """As Once.incrby. By key, several counters must be in one partition. By id, values of the
        Result is None: what the counters are is spread over all partitions."""
        yield from self._open()
        item = self._incrby_item(counter, delta, *more, id=id)
        return (yield from self._one(item, wait, timeout))

    @operation
    def take(self, counter, amount, *limits, floor=None, id=None, wait=None, timeout=None):
        """As Once.take, of a table that is spread by key."""
        yield from self._open()
        item = self._take_item(counter, amount, *limits, floor=floor, id=id)
        return (yield from self._one(item, wait, timeout))

    @operation
    def give_up(self, identity, counter, wait=None, timeout=None):
        """As Once.give_up, of an operation on a counter."""
        yield from self._open()
        one = self.of(counter)
        return (yield from one.give_up.steps(one, identity, wait, timeout))

    @operation
    def peek(self, counter, *limits, floor=None):
        """As Once.peek, of a table that is spread by key."""
        yield from self._open()
        item = self._peek_item(counter, *limits, floor=floor)
        return (yield from self._all_there([item]))[0]

    def _hold(self, counter, amount, limit, **options):
        yield from self._open()
        return (yield from self.of(counter)._hold(counter, amount, limit, **options))

    def held(self, id, counter):
        """The hold of an id and counter, to be settled or released by another than who made it."""
        return Hold(self.of(counter), id, counter)

    @operation
    def claim(self, id, lease=30.0, fingerprint=None):
        """As Once.claim, of a table that is spread by key: a claim is where a counter of the name
        of its id would be."""
        yield from self._open()
        one = self.of(id)
        return (yield from one.claim.steps(one, id, lease, fingerprint))

    def claimed(self, id, lease=30.0, fingerprint=None, running="wait", patience=60.0, gone=None):
        """As Once.claimed, of a table that is spread by key. A table of asyncio must be open."""
        if self._found is not None:
            self.of("") # refuses a table that is spread by id
        return decorator(self.of, id, lease, fingerprint, running, patience, gone, self._is_async)

    @listing
    def holds(self, match=None, count=100):
        """As Once.holds, of all partitions."""
        yield from self._each_listing("holds", match, count)

    @listing
    def claims(self, state=None, match=None, count=100):
        """As Once.claims, of all partitions."""
        yield from self._each_listing("claims", state, match, count)

    def _each_listing(self, name, *words):
        yield from self._open()
        for one in self.partitions:
            yield from getattr(one, name).steps(one, *words)
        yield from self._require(self.partitions)

    @operation
    def add(self, *ids, wait=None, timeout=None):
        """As Once.add, of a table that is spread by id."""
        yield from self._open()
        items = [self._add_item(id) for id in ids]
        found = yield from self._deliver(items, wait, timeout)
        return together([one if isinstance(one, Exception) else one[0] for one in found])

    @operation
    def seen(self, *ids):
        """As Once.seen, of a table that is spread by id."""
        yield from self._open()
        tables = [self.of_id(id) for id in ids]
        items = [Item(one, None, ("ONCE.SEEN", one.table, id), plain) for one, id in
                 zip(tables, ids)]
        for item in items:
            item.is_nothing = lambda found: not found[0]
        return [bool(found) for (found,) in (yield from self._all_there(items))]

    @operation
    def get(self, counter):
        """The value of a counter, or None; by id, the sum over all partitions."""
        return (yield from self.mget.steps(self, counter))[0]

    @operation
    def mget(self, *counters):
        """The values of counters, in order; None for those that do not exist."""
        yield from self._open()
        if self._seed is None:
            return (yield from self._all_there([self._get_item(one) for one in counters]))
        rows = yield from self._ask_all("ONCE.MGET", *counters)
        return [sum(value or 0 for value in column) if any(value is not None for value in column)
                else None for column in zip(*rows)]

    def _ask_all(self, command, *words):
        items = [Item(one, None, (command, one.table, *words), plain) for one in self.partitions]
        for item in items:
            item.is_nothing = lambda found: all(value is None for value in found)
        return self._all_there(items)

    @operation
    def top(self, count):
        """The largest counters: pairs of a name and its value. By id, all counters are read."""
        yield from self._open()
        if self._seed is None:
            rows = yield from self._ask_all("ONCE.TOP", count)
            pairs = [pair for flat in rows for pair in zip(flat[::2], flat[1::2])]
        else:
            pairs = list((yield from self._sums(None, 1000)).items())
        return heapq.nsmallest(count, pairs, key=lambda pair: (-pair[1], pair[0]))

    @listing
    def scan(self, match=None, count=1000):
        """All counters of all partitions: yields pairs of a name and its value, as Once.scan. By
        id, all of them are first added up, which takes memory for each; then each comes once."""
        yield from self._open()
        if self._seed is None:
            yield from self._each_listing("scan", match, count)
        else:
            yield Items(list((yield from self._sums(match, count)).items()))

    def _sums(self, match, count):
        sums = {}
        for one in self.partitions:
            values, pages = {}, one.scan.steps(one, match, count)
            wanted, found = next(pages, None), None
            while wanted is not None:
                if isinstance(wanted, Items):
                    values.update(wanted.items) # a name that comes twice counts once
                    found = None
                else:
                    found = yield wanted
                try:
                    wanted = pages.send(found)
                except StopIteration:
                    break
            for name, value in values.items():
                sums[name] = sums.get(name, 0) + value
        yield from self._require(self.partitions)
        return sums

    @listing
    def range(self, counter, per, begin="-", end="+", count=1000):
        """The buckets of a counter, as Once.range; by id, the sums over all partitions."""
        yield from self._open()
        if self._seed is None:
            one = self.of(counter)
            yield from one.range.steps(one, counter, per, begin, end, count)
            yield from self._require([one])
            return
        sums = {}
        for one in self.partitions:
            at = begin
            while at != 0:
                at, flat = yield from self._read(one, "ONCE.RANGE", one.table, counter, at, end,
                                                 "PER", per, "COUNT", count)
                for start, value in zip(flat[::2], flat[1::2]):
                    sums[start] = sums.get(start, 0) + value
        yield from self._require(self.partitions)
        yield Items(sorted(sums.items()))

    @operation
    def info(self):
        """What ONCE.INFO says of each partition: a list of dictionaries."""
        yield from self._open()
        try:
            found = yield from self._ask_all("ONCE.INFO")
        except NoTable:
            yield from self._require(self.partitions)
            raise
        return [dictionary(one) for one in found]

    @operation
    def delete(self, *counters, wait=None, timeout=None):
        """Removes counters, and returns how many there were. As Once.delete, it is not sent again
        after a lost answer."""
        yield from self._open()
        if not counters:
            return 0
        if self._seed is None:
            places = {}
            for counter in counters:
                places.setdefault(self.of(counter), []).append(counter)
            items = [one._delete_item("ONCE.DEL", one.table, *names)
                     for one, names in places.items()]
            return sum((yield from self._all(items, wait, timeout)))
        rows = yield from self._all([Item(one, None, ("ONCE.MGET", one.table, *counters), plain)
                                     for one in self.partitions], wait=0)
        yield from self._all([one._delete_item("ONCE.DEL", one.table, *counters)
                              for one in self.partitions], wait, timeout)
        return sum(any(value is not None for value in column) for column in zip(*rows))

    @operation
    def delete_table(self, wait=None, timeout=None):
        """Removes all partitions, and the description last. Returns whether there was any of it.
        Nobody may count meanwhile: partitions that somebody makes again would be left over."""
        yield from self._open()
        there = yield from self._all([one._delete_item("UNLINK", one.table)
                                      for one in self.partitions], wait, timeout)
        if self.partitions[0].table != self.table:
            there.append((yield from self._one(self._name._delete_item("UNLINK", self.table), wait,
                                               timeout)))
        self._found = None
        return any(there)
