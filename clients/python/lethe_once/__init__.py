"""Counters that take every operation once: Lethe's module in a Redis or Valkey server, or a cluster of them.

    >>> likes = Once(redis.Redis(), "likes")
    >>> likes.incrby("post:1", 1)
    Result(applied=True, values=(1,), id='...')

An operation that got no answer is sent again with the same id, which is safe: the server applies it once. So time-outs,
lost connections and failovers are retried here, until there is an answer or the time is up.
"""

import collections
import functools
import math
import random
import time
import uuid

import redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, ConnectionError, ReadOnlyError, ResponseError, TimeoutError
from redis.retry import Retry

__all__ = ["Once", "Result", "Unacknowledged"]

Result = collections.namedtuple("Result", "applied values id")

# What a server's answer begins with that says "not here" or "not now". The last two come when a master is made a replica
# between an operation and the end of its WAIT.
_PASSING = ("MOVED ", "ASK ", "CLUSTERDOWN ", "TRYAGAIN ", "MASTERDOWN ", "NOREPLICAS ", "LOADING ", "READONLY ",
            "FAILOVER ", "BUSY ", "UNBLOCKED ", "WAIT cannot be used ")
# Newer versions of redis-py make classes of some of these words and cut them off; older ones lack some of the classes.
_WORDS = {"MovedError": "MOVED", "AskError": "ASK", "ClusterDownError": "CLUSTERDOWN", "TryAgainError": "TRYAGAIN",
          "MasterDownError": "MASTERDOWN"}


class Unacknowledged(Exception):
    """No answer within the time, or too few replicas: the operation may have been applied or not. Sent again with
    this id it is applied once all the same."""

    def __init__(self, identity, reason):
        super().__init__(f"not acknowledged in time ({reason}); id {identity}")
        self.id = identity


class _TooLate(Exception):
    """The time was up before a copy went out."""


def _text(error):
    """What the server said, but for ERR."""
    word, text = _WORDS.get(type(error).__name__), str(error)
    if word is not None and not text.startswith(word):
        return f"{word} {text}"
    return text.removeprefix("ERR ")


def _is_passing(error):
    if isinstance(error, (ConnectionError, TimeoutError, BusyLoadingError, ReadOnlyError)):
        return True
    return isinstance(error, ResponseError) and (_text(error) + " ").startswith(_PASSING)


def _host(name, asked):
    """A node that does not know how it is called is where it was asked."""
    return asked if name in (None, "", "?") else name


def _is_applied(answer, given_id, attempts):
    """A copy of an id that was made here can only be a copy of this very operation."""
    return bool(answer[0]) or (given_id is None and attempts > 1)


def _exchange(connection, *commands):
    """Sends commands at once and reads an answer to each. They share one connection, or fail together; execute_command
    might send one of them again on a new connection, where a WAIT has nothing to wait for."""
    answers, unread = [], len(commands)
    try:
        connection.send_packed_command(connection.pack_commands(commands))
        while unread > 0:
            unread -= 1
            answers.append(connection.read_response())
    except BaseException:
        if unread > 0:
            connection.disconnect() # or another command would be given the answers that are still to come
        raise
    return answers


class _Route:
    """Where a table is. In a cluster its slot is asked for anew when a server is gone or says that it moved."""

    def __init__(self, client, table):
        self.client, self.table = client, table
        self.is_cluster = hasattr(client, "get_nodes")
        self.address, self.servers = None, {}
        if self.is_cluster:
            self.known = [(node.host, node.port) for node in client.get_nodes()]
            self.options = {name: value for name, value in client.get_connection_kwargs().items()
                            if name in ("username", "password", "socket_timeout", "socket_connect_timeout", "ssl",
                                        "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")}

    def server(self, address):
        if address not in self.servers:
            self.servers[address] = redis.Redis(*address, retry=Retry(NoBackoff(), 0), **self.options)
        return self.servers[address]

    @staticmethod
    def _slots(server):
        """CLUSTER SLOTS as it comes, without what redis-py makes of it."""
        with server.client() as one:
            return _exchange(one.connection, ("CLUSTER", "SLOTS"))[0]

    def find(self):
        """Asks one server after another for the slot's owner."""
        slot = self.client.keyslot(self.table)
        random.shuffle(self.known)
        for asked in list(self.known):
            try:
                ranges = self._slots(self.server(asked))
            except (redis.RedisError, OSError):
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

    def locate(self):
        """The table's server; None if there is no cluster."""
        address = self.address # another thread may lose it meanwhile
        if self.is_cluster and address is None:
            address = self.address = self.find()
        return address

    def connect(self, address):
        return self.client.client() if address is None else self.server(address).client()

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
    """One once-table. client is a redis.Redis or a redis.cluster.RedisCluster; wait is how many replicas must have
    an operation before it counts as acknowledged, timeout for how many seconds to try: at most half the table's
    window, whatever it says."""

    def __init__(self, client, table, wait=0, timeout=30.0, wait_ms=1000):
        self.client = client
        self.table = table
        self.wait = wait
        self.timeout = timeout
        self.wait_ms = wait_ms
        self._route = _Route(client, table)

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
        return Result(_is_applied(answer, id, attempts), tuple(answer[1:]), identity)

    def call(self, *command, id=None, wait=None, timeout=None):
        """Runs a write command once: (True, its reply), or (False, None) if it was done before. Without an id it makes
        one; then it is (True, None) if it was done by this very call, and the reply was lost on the way."""
        identity = id if id is not None else uuid.uuid4().hex
        answer, attempts = self._run(identity, wait, timeout, "ONCE.CALL", self.table, identity, *command)
        return _is_applied(answer, id, attempts), answer[1]

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
        """Remembers ids: for each whether it is new. One whose first answer was lost on the way is told as old."""
        answer, _ = self._run(ids[0], options.get("wait"), options.get("timeout"), "ONCE.ADD", self.table, *ids)
        return [bool(one) for one in answer]

    def get(self, counter):
        return self._read("ONCE.GET", self.table, counter)

    def top(self, count):
        flat = self._read("ONCE.TOP", self.table, count)
        return list(zip(flat[::2], flat[1::2]))

    def seen(self, *ids):
        return [bool(one) for one in self._read("ONCE.SEEN", self.table, *ids)]

    # What follows is how a command gets to the server that has the table, until there is an answer.

    def _attempt(self, wait, address, is_asked, words, end=math.inf):
        """Once there and back: whether enough replicas have it, and the answer."""
        commands = [words]
        if is_asked:
            commands.insert(0, ("ASKING",))
        if wait > 0:
            commands.append(("WAIT", wait, self.wait_ms))
        with self._route.connect(address) as one:
            if time.monotonic() > end:
                raise _TooLate
            answers = _exchange(one.connection, *commands)
        return wait == 0 or answers[-1] >= wait, answers[is_asked]

    def _window(self, address, is_asked):
        """For how many seconds the table remembers ids. A table that does not exist has none to forget, and a user who
        may not ask is trusted to have chosen the time well."""
        try:
            info = self._attempt(0, address, is_asked, ("ONCE.INFO", self.table))[1]
        except ResponseError as error:
            if _is_passing(error):
                raise
            return math.inf
        if not isinstance(info, dict):
            info = dict(zip(info[::2], info[1::2]))
        return info.get(b"window_ms", info.get("window_ms", math.inf)) / 1000

    def _run(self, identity, wait, timeout, *words):
        wait = self.wait if wait is None else wait
        begin = time.monotonic()
        end = begin + (self.timeout if timeout is None else timeout)
        attempts, asked, pause = 0, None, 0.01
        while True:
            attempts += 1
            address = asked
            try:
                address = asked or self._route.locate()
                if attempts > 1 and identity is not None:
                    # A copy that comes when the first is forgotten would be applied again.
                    end = min(end, begin + self._window(address, asked is not None) / 2)
                is_enough, answer = self._attempt(wait, address, asked is not None, words,
                                                  end if attempts > 1 else math.inf)
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
                time.sleep(pause * random.uniform(0.5, 1))
                pause = min(2 * pause, 0.5)

    def _read(self, *words):
        return self._run(None, 0, None, *words)[0]
