"""How a command reaches the server that has a table: connections, the nodes of a cluster, and which errors pass."""

import os
import random
import time

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (AuthenticationError, AuthorizationError, BusyLoadingError, ConnectionError, ReadOnlyError,
                              ResponseError, TimeoutError)
from redis.retry import Retry

# Seconds to wait for a server to say where a table is, before the next one is asked.
_PATIENCE_OF_A_SEARCH = 1.0

# How answers begin that mean "not here" or "not now". The last two come when a master becomes a replica between an
# operation and the end of its WAIT.
_PASSING = ("MOVED ", "ASK ", "CLUSTERDOWN ", "TRYAGAIN ", "MASTERDOWN ", "NOREPLICAS ", "LOADING ", "READONLY ",
            "FAILOVER ", "BUSY ", "UNBLOCKED ", "WAIT cannot be used ")
# Newer versions of redis-py make classes of some of these words and cut them off; older ones lack some of the classes.
_WORDS = {"MovedError": "MOVED", "AskError": "ASK", "ClusterDownError": "CLUSTERDOWN", "TryAgainError": "TRYAGAIN",
          "MasterDownError": "MASTERDOWN"}


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
