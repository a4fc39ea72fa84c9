"""Counters that take every operation once: Lethe's module in a Redis or Valkey server, or a cluster of them.

    >>> likes = Once(redis.Redis(), "likes")
    >>> likes.incrby("post:1", 1)
    Result(applied=True, values=(1,), id='...')

An operation that got no answer is sent again with the same id, which is safe: the server applies it once. So time-outs,
lost connections and failovers are retried here, until there is an answer or the time is up.
"""

import collections
import functools
import random
import time
import uuid

import redis
from redis.exceptions import (AskError, BusyLoadingError, ClusterDownError, ConnectionError, MovedError,
                              ReadOnlyError, ResponseError, TimeoutError, TryAgainError)

__all__ = ["Once", "Result", "Unacknowledged"]

Result = collections.namedtuple("Result", "applied values id")

# Answers that say "not here" or "not now". MASTERDOWN and the like come as plain response errors.
_PASSING = (ConnectionError, TimeoutError, BusyLoadingError, ReadOnlyError, ClusterDownError, TryAgainError,
            MovedError, AskError)
_PASSING_WORDS = ("MOVED", "ASK", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "LOADING", "READONLY",
                  "UNKILLABLE", "FAILOVER")


class Unacknowledged(Exception):
    """No answer within the time, or too few replicas: the operation may have been applied or not. Sent again with
    this id it is applied once all the same."""

    def __init__(self, identity, reason):
        super().__init__(f"not acknowledged in time ({reason}); id {identity}")
        self.id = identity


def _is_passing(error):
    if isinstance(error, _PASSING):
        return True
    return isinstance(error, ResponseError) and str(error).split(" ", 1)[0] in _PASSING_WORDS


class Once:
    """One once-table. client is a redis.Redis or a redis.cluster.RedisCluster; wait is how many replicas must have
    an operation before it counts as acknowledged, timeout for how many seconds to try."""

    def __init__(self, client, table, wait=0, timeout=30.0, wait_ms=1000):
        self.client = client
        self.table = table
        self.wait = wait
        self.timeout = timeout
        self.wait_ms = wait_ms

    def create(self, window_ms=None, error=None, capacity=None, slack=None, seed=None, max_memory=None,
               policy=None):
        """Makes the table; it is no error if it exists. Without this it is made with the server's defaults."""
        words = []
        for name, value in (("WINDOW", window_ms), ("ERROR", error), ("CAPACITY", capacity), ("SLACK", slack),
                            ("SEED", seed), ("MAXMEMORY", max_memory), ("POLICY", policy)):
            if value is not None:
                words += [name, value]
        try:
            self._run("create", 0, None, "ONCE.CREATE", self.table, *words)
        except ResponseError as error_:
            if "exists already" not in str(error_):
                raise

    def incrby(self, counter, delta=1, *more, id=None, wait=None, timeout=None):
        """Adds to one counter or, with more counters and deltas, to several at once. Without an id it makes one."""
        identity = id if id is not None else uuid.uuid4().hex
        answer, attempts = self._run(identity, wait, timeout, "ONCE.INCRBY", self.table, identity, counter, delta,
                                     *more)
        # A copy of an id that was made here can only be a copy of this very operation.
        applied = bool(answer[0]) or (id is None and attempts > 1)
        return Result(applied, tuple(answer[1:]), identity)

    def call(self, *command, id=None, wait=None, timeout=None):
        """Runs a write command once: (True, its reply), or (False, None) if it was done before."""
        identity = id if id is not None else uuid.uuid4().hex
        answer, _ = self._run(identity, wait, timeout, "ONCE.CALL", self.table, identity, *command)
        return bool(answer[0]), answer[1]

    def idempotent(self, id, **options):
        """Decorates a function that returns a write command: calling it runs that command once for each id, which
        the function id makes of the same arguments."""
        def decorate(function):
            @functools.wraps(function)
            def run(*words, **named):
                return self.call(*function(*words, **named), id=id(*words, **named), **options)
            return run
        return decorate

    def add(self, *ids, **options):
        """Remembers ids: for each whether it is new."""
        answer, _ = self._run(ids[0], options.get("wait"), options.get("timeout"), "ONCE.ADD", self.table, *ids)
        return [bool(one) for one in answer]

    def get(self, counter):
        return self._read("ONCE.GET", self.table, counter)

    def top(self, count):
        flat = self._read("ONCE.TOP", self.table, count)
        return list(zip(flat[::2], flat[1::2]))

    def seen(self, *ids):
        return [bool(one) for one in self._read("ONCE.SEEN", self.table, *ids)]

    # What follows is how a command gets to the server that has the table.

    def _node(self, is_lost):
        """The client of the server that has the table now."""
        if not hasattr(self.client, "get_node_from_key"):
            return self.client
        try:
            if is_lost:
                self.client.nodes_manager.initialize()
            node = self.client.get_node_from_key(self.table)
            return self.client.get_redis_connection(node)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            # redis-py stumbles so when it asks a cluster that is just changing.
            raise ConnectionError("the cluster's layout is not known") from error

    def _attempt(self, wait, is_lost, words):
        """Once there and back. The operation and its WAIT go down one connection."""
        with self._node(is_lost).client() as one:
            answer = one.execute_command(*words)
            enough = wait == 0 or one.execute_command("WAIT", wait, self.wait_ms) >= wait
            return answer, enough

    def _run(self, identity, wait, timeout, *words):
        wait = self.wait if wait is None else wait
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        attempts, is_lost, pause = 0, False, 0.01
        while True:
            attempts += 1
            reason, cause = f"fewer than {wait} replicas", None
            try:
                answer, is_enough = self._attempt(wait, is_lost, words)
                if is_enough:
                    return answer, attempts
                is_lost = False
            except redis.RedisError as error:
                if not _is_passing(error) and not isinstance(error, redis.exceptions.RedisClusterException):
                    raise
                is_lost, reason, cause = True, str(error) or type(error).__name__, error
            if time.monotonic() > end:
                raise Unacknowledged(identity, reason) from cause
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, 0.5)

    def _read(self, *words):
        return self._run(None, 0, None, *words)[0]
