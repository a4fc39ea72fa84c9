"""Counters that apply every operation exactly once: Lethe's module in a Redis or Valkey server, or
in a cluster.

    >>> likes = Once(redis.Redis(), "likes")
    >>> likes.incrby("post:1", 1)
    Result(applied=True, values=(1,), id='...')

An operation that got no answer is sent again with the same id. That is safe: the server applies it
once. So time-outs, lost connections and failovers are retried until there is an answer or the time
is up. lethe_once.asyncio has the same classes, whose methods are coroutines.
"""

import inspect

import redis

from .batches import Batch
from .claims import Claim
from .errors import (ClaimError, Full, Incomplete, Limited, Lost, Mismatch, MissingPartitions,
                     NoHold, NoTable, NotATable, OutOfMemory, Overflow, Partial, ReplyGone,
                     Running, ServerError, Unacknowledged, Untrusted)
from .holds import Hold
from .links import Blocking, Links
from .results import Result, Settled, Standing, Taken
from .routes import Servers
from .spread import Partitions
from .table import Table
from .version import __version__ # noqa: F401

__all__ = ["Batch", "Claim", "ClaimError", "Full", "Hold", "Incomplete", "Limited", "Lost",
           "Mismatch", "MissingPartitions", "NoHold", "NoTable", "NotATable", "Once",
           "OutOfMemory", "Overflow", "Partial", "ReplyGone", "Result", "Running", "ServerError",
           "Settled", "Spread", "Standing", "Taken", "Unacknowledged", "Untrusted"]


class _Client(Blocking):
    _is_async = False

    @staticmethod
    def _servers_of(client, cluster):
        if inspect.iscoroutinefunction(getattr(client, "initialize", None)):
            raise TypeError("this is a client of redis.asyncio; its tables are in "
                            "lethe_once.asyncio")
        return Servers(client, cluster, Links, redis.Redis)

    def batch(self):
        """Operations to be sent together: a Batch."""
        return Batch(self)

    def hold(self, counter, amount, limit, lease=30.0, id=None, wait=None, timeout=None):
        """Sets an amount aside under a limit, for so many seconds at least: a Hold, whose granted
        says whether it is. A limit is a number, which is on the total, or a tuple of a number and a
        period. Settle it or release it, or use it in a `with` block. Without an id, it makes
        one."""
        return self._drive(self._hold(counter, amount, limit, lease=lease, id=id, wait=wait,
                                      timeout=timeout))


class Once(_Client, Table):
    """One once-table. client is a redis.Redis or a redis.cluster.RedisCluster, or with cluster=True
    a redis.Redis of one server of a cluster, whose settings hold for all of them. wait is how many
    replicas must have an operation before it is acknowledged; each WAIT takes at most wait_ms.
    timeout is how many seconds to try; it is never more than half the table's window. With options,
    which are those of create, a missing table is created with them; without, the server creates it
    with its own defaults. A table that exists with another window, error, kind or per than is named
    is a ValueError of the first operation."""


class Spread(_Client, Partitions):
    """A table that is spread over several keys. client, wait, timeout, wait_ms and cluster are
    those of Once. With partitions, a table that is missing is made: options are by ("key" or "id"),
    window_ms, error, kind and per; one partition is a once-table like any other. A table that
    exists and is another than is named is a ValueError."""

    _once = Once

    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        self.open()
