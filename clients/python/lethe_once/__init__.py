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
import os
import random
import time
import uuid

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (AuthenticationError, AuthorizationError, BusyLoadingError, ConnectionError, ReadOnlyError,
                              ResponseError, TimeoutError)
from redis.retry import Retry

__all__ = ["Once", "Result", "Unacknowledged"]

# Seconds to wait for an answer before the operation is sent again, unless the client has a socket_timeout.
_PATIENCE = 5.0
# Seconds to wait for a server to say where a table is, before the next one is asked.
_PATIENCE_OF_A_SEARCH = 1.0

Result = collections.namedtuple("Result", "applied values id")

# How answers begin that mean "not here" or "not now". The last two come when a master becomes a replica between an
# operation and the end of its WAIT.
_PASSING = ("MOVED ", "ASK ", "CLUSTERDOWN ", "TRYAGAIN ", "MASTERDOWN ", "NOREPLICAS ", "LOADING ", "READONLY ",
            "FAILOVER ", "BUSY ", "UNBLOCKED ", "WAIT cannot be used ")
# Newer versions of redis-py make classes of some of these words and cut them off; older ones lack some of the classes.
_WORDS = {"MovedError": "MOVED", "AskError": "ASK", "ClusterDownError": "CLUSTERDOWN", "TryAgainError": "TRYAGAIN",
          "MasterDownError": "MASTERDOWN"}


class Unacknowledged(Exception):
    """No answer in time, or too few replicas: the operation may or may not have been applied. Sent again with this
    id, within the table's window, it is still applied once."""

    def __init__(self, identity, reason):
        super().__init__(f"not acknowledged in time ({reason}); id {identity}")
        self.id = identity


class _TooLate(Exception):
    """The time was up before the operation was sent again."""


def _text(error):
    """What the server said, without ERR."""
    word, text = _WORDS.get(type(error).__name__), str(error)
    if word is not None and not text.startswith(word):
        return f"{word} {text}"
    return text.removeprefix("ERR ")


def _is_denied(error):
    """A missing or wrong password: trying again could lock the user out. redis-py takes these for lost connections."""
    return (isinstance(error, (AuthenticationError, AuthorizationError)) or
            _text(error).startswith(("NOAUTH ", "WRONGPASS ", "NOPERM ")))


def _is_passing(error):
    if _is_denied(error):
        return False
    if isinstance(error, (ConnectionError, TimeoutError, BusyLoadingError, ReadOnlyError)):
        return True
    return isinstance(error, ResponseError) and (_text(error) + " ").startswith(_PASSING)


def _host(name, asked):
    """A node that does not know its own name is where it was asked."""
    return asked if name in (None, "", "?") else name


def _is_applied(answer, given_id, attempts):
    """Whether this call applied it. A duplicate of an id that was made here can only be this call's own retry."""
    return bool(answer[0]) or (given_id is None and attempts > 1)


def _shorter(limit, seconds):
    """A time-out of at most so many seconds; None means no time-out."""
    return seconds if limit is None else min(limit, seconds)


class _Links:
    """Connections to one server, made with the settings of a pool of redis-py, but not taken from it: nothing waits
    longer than the time allows, and nothing is sent a second time behind our back."""

    def __init__(self, pool):
        self.pool, self.idle, self.process = pool, [], os.getpid()

    def _take(self):
        if self.process != os.getpid(): # a child's connections are its own
            self.idle, self.process = [], os.getpid()
        try:
            return self.idle.pop()
        except IndexError:
            connection = self.pool.connection_class(**self.pool.connection_kwargs)
            connection.retry = Retry(NoBackoff(), 0)
            return connection

    def _limit(self, connection, end):
        """Limits the time-outs of a connection to what is left until the end."""
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        settings = self.pool.connection_kwargs
        connection.socket_timeout = _shorter(settings.get("socket_timeout"), left)
        connection.socket_connect_timeout = _shorter(
            settings.get("socket_connect_timeout", settings.get("socket_timeout")), left)
        if getattr(connection, "_sock", None) is not None:
            connection._sock.settimeout(connection.socket_timeout)

    def _open(self, connection, end):
        self._limit(connection, end)
        connection.connect()
        try: # an idle one may have been closed by the server, or have been left with something to read
            is_stale = connection.can_read()
        except (ConnectionError, OSError):
            is_stale = True
        if is_stale:
            connection.disconnect()
            connection.connect()

    def exchange(self, end, *commands):
        """Sends commands together and reads an answer to each. They share one connection, or fail together: a WAIT
        sent again alone, on a new connection, would have nothing to wait for."""
        connection, answers, unread = self._take(), [], len(commands)
        try:
            self._open(connection, end)
            self._limit(connection, end)
            connection.send_packed_command(connection.pack_commands(commands))
            while unread > 0:
                self._limit(connection, end)
                unread -= 1
                answers.append(connection.read_response())
        except BaseException:
            if unread > 0:
                connection.disconnect() # or another command would be given the answers that are still to come
            raise
        finally:
            self.idle.append(connection)
        return answers


class _Route:
    """Where a table is. In a cluster, the owner of its slot is looked up again when a server is gone or says that it moved."""

    def __init__(self, client, table):
        self.client, self.table = client, table
        self.is_cluster = hasattr(client, "get_nodes")
        self.address, self.servers = None, {}
        if not self.is_cluster:
            self.only = _Links(client.connection_pool)
        else:
            self.known = [(node.host, node.port) for node in client.get_nodes()]
            self.options = {name: value for name, value in client.get_connection_kwargs().items()
                            if name in ("username", "password", "socket_timeout", "socket_connect_timeout", "ssl",
                                        "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")}

    def links(self, address):
        """To the server at an address; without a cluster there is one."""
        if address is None:
            return self.only
        if address not in self.servers:
            self.servers[address] = _Links(redis.Redis(*address, **self.options).connection_pool)
        return self.servers[address]

    def find(self, end):
        """Asks one server after another for the slot's owner."""
        slot = self.client.keyslot(self.table)
        random.shuffle(self.known)
        for asked in list(self.known):
            try: # CLUSTER SLOTS as it comes, without what redis-py makes of it
                end_of_one = min(end, time.monotonic() + _PATIENCE_OF_A_SEARCH)
                ranges = self.links(asked).exchange(end_of_one, ("CLUSTER", "SLOTS"))[0]
            except (redis.RedisError, OSError) as error:
                if _is_denied(error):
                    raise
                continue
            owner = None
            for first, last, *nodes in ranges:
                places = [(_host(node[0] and node[0].decode(), asked[0]), node[1]) for node in nodes]
                self.known += [place for place in places if place not in self.known]
                if first <= slot <= last:
                    owner = places[0]
            if owner is not None:
                return owner
        raise ConnectionError("no server of the cluster knows where the table is")

    def locate(self, end):
        """The table's server; None if there is no cluster."""
        address = self.address # another thread may lose it meanwhile
        if self.is_cluster and address is None:
            address = self.address = self.find(end)
        return address

    def lose(self, error, address):
        """After an error at an address: where to ask next, if it says so for this once."""
        self.address = None
        text = _text(error)
        if address is None or not text.startswith(("MOVED ", "ASK ")):
            return None
        host, port = getattr(error, "node_addr", None) or text.split(" ")[-1].rsplit(":", 1)
        named = (_host(host, address[0]), int(port))
        if text.startswith("ASK "):
            return named
        self.address = named
        return None


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
                     policy=None, kind=None):
        words = ["ONCE.CREATE", self.table]
        for name, value in (("WINDOW", window_ms), ("ERROR", error), ("CAPACITY", capacity), ("SLACK", slack),
                            ("SEED", seed), ("MAXMEMORY", max_memory), ("POLICY", policy), ("KIND", kind)):
            if value is not None:
                words += [name, value]
        return words

    def create(self, **options):
        """Creates the table with window_ms, error, capacity, slack, seed, max_memory, policy and kind ("quotient" or
        "forgetful"), or with those given before. It is no error if the table exists. If the table is lost later, it is created again in the same way."""
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

    def call(self, *command, id=None, wait=None, timeout=None):
        """Runs a write command once: returns (True, its reply), or (False, None) if it was done before. Without an id, it
        makes one; then (True, None) means that this call did it and the reply was lost. If a reply contains errors among
        other things, part of the command was done. An error of the whole command is raised, and nothing is done."""
        identity = id if id is not None else uuid.uuid4().hex
        answer, attempts = self._run(identity, wait, timeout, "ONCE.CALL", self.table, identity,
                                     *self._unless_lost("NOCREATE"), *command)
        return _is_applied(answer, id, attempts), answer[1]

    def idempotent(self, id, **options):
        """Decorates a function that returns a write command: calling it runs that command once per id. The function id
        makes the id from the same arguments."""
        def decorate(function):
            @functools.wraps(function)
            def run(*words, **named):
                return self.call(*function(*words, **named), id=id(*words, **named), **options)
            return run
        return decorate

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
