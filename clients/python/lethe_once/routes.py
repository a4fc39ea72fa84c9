"""Where tables are: the servers of a client, the slots of a cluster, and what errors say of them.
It asks nobody by itself (steps.py)."""

import random
import time

import redis
from redis.exceptions import ConnectionError, DataError

from .errors import _is_denied, _is_untrusted, _named, _text
from .steps import Exchange

# Seconds to wait for a server to say where a table is, before the next one is asked.
_PATIENCE_OF_A_SEARCH = 1.0
# Settings of a cluster's client that hold for the connections made here.
_SETTINGS = ("username", "password", "socket_timeout", "socket_connect_timeout", "socket_keepalive",
             "socket_keepalive_options", "client_name", "decode_responses", "encoding",
             "encoding_errors", "ssl", "ssl_ca_certs", "ssl_ca_data", "ssl_ca_path", "ssl_certfile",
             "ssl_keyfile", "ssl_password", "ssl_cert_reqs", "ssl_check_hostname",
             "ssl_min_version", "ssl_ciphers")


def _host(name, asked):
    """A node that does not know its own name is where it was asked."""
    name = name.decode() if isinstance(name, bytes) else name
    return asked if name in (None, "", "?") else name


def _address_of(node):
    """Of a ClusterNode, or of a dictionary as some versions have them."""
    if isinstance(node, dict):
        return node["host"], int(node["port"])
    return node.host, int(node.port)


def slot_of(key):
    from redis.crc import key_slot
    return key_slot(key)


class Servers:
    """All servers of a client. make_links makes the connections to one, of a class and settings of
    redis-py; plain is the class of a client for one server, which knows these."""

    def __init__(self, client, is_cluster, make_links, plain):
        self.is_cluster = is_cluster or hasattr(client, "get_nodes")
        self.links_by_address, self.owners, self.known = {}, {}, []
        self._make_links, self._plain = make_links, plain
        if hasattr(client, "get_nodes"):
            nodes = list(client.get_nodes())
            manager = getattr(client, "nodes_manager", None)
            if not nodes and manager is not None: # one of asyncio that was not used yet
                nodes = list(manager.startup_nodes.values())
            self.known = [_address_of(node) for node in nodes]
            given = client.get_connection_kwargs()
            self.settings = {name: given[name] for name in _SETTINGS if name in given}
            made = str(getattr(given.get("connection_class"), "__name__", ""))
            if "SSL" in made or any(name.startswith("ssl_") for name in self.settings):
                self.settings.setdefault("ssl", True)
            self.connection_class = None
        else:
            pool = client.connection_pool
            self.connection_class, self.settings = pool.connection_class, pool.connection_kwargs
            if self.is_cluster:
                self.known = [(self.settings.get("host", "localhost"),
                               int(self.settings.get("port", 6379)))]

    def encoded(self, word):
        """A word as redis-py sends it, and as nobody can change it meanwhile. DataError for what
        cannot be sent: it is said before anything is, and of one operation, not of all that go with
        it."""
        if isinstance(word, str):
            try:
                return word.encode(self.settings.get("encoding") or "utf-8",
                                   self.settings.get("encoding_errors") or "strict")
            except UnicodeError as error:
                raise DataError(f"{word!r} cannot be sent: {error}") from error
        if isinstance(word, (bytes, bytearray, memoryview)):
            return bytes(word)
        if isinstance(word, (int, float)) and not isinstance(word, bool):
            return repr(word).encode()
        raise DataError(f"{word!r} cannot be sent: make a str, bytes, int or float of it first")

    def encoded_command(self, words):
        name, *rest = words
        return (name, *map(self.encoded, rest))

    def links(self, address):
        """To the server at an address; without a cluster there is one."""
        links = self.links_by_address.get(address)
        if links is None:
            links = self.links_by_address.setdefault(address, self._new_links(address))
        return links

    def _new_links(self, address):
        if address is None:
            return self._make_links(self.connection_class, self.settings)
        if self.connection_class is not None:
            settings = {**self.settings, "host": address[0], "port": address[1]}
            return self._make_links(self.connection_class, settings)
        pool = self._plain(host=address[0], port=address[1], **self.settings).connection_pool
        return self._make_links(pool.connection_class, pool.connection_kwargs)

    def _take_map(self, ranges, asked):
        owners = {}
        for first, last, *nodes in ranges:
            places = [(_host(node[0], asked[0]), int(node[1])) for node in nodes]
            self.known += [place for place in places if place not in self.known]
            owners.update(dict.fromkeys(range(int(first), int(last) + 1), places[0]))
        self.owners = owners

    def find(self, slot, end):
        """Asks one server after another for the slot's owner."""
        asked_in_turn = random.sample(self.known, len(self.known))
        for asked in asked_in_turn:
            # CLUSTER SLOTS as it comes, without what redis-py makes of it
            end_of_one = min(end, time.monotonic() + _PATIENCE_OF_A_SEARCH)
            (reply,) = yield Exchange([(asked, end_of_one, [("CLUSTER", "SLOTS")])])
            error = reply.failure
            if error is None and isinstance(reply.answers[0], Exception):
                error = reply.answers[0]
            if error is not None and (_is_denied(error) or _is_untrusted(error)):
                raise _named(error, None)
            if error is None:
                self._take_map(reply.answers[0], asked)
                if slot in self.owners:
                    return self.owners[slot]
        raise ConnectionError("no server of the cluster knows where the table is")


class Route:
    """The way to one key."""

    def __init__(self, servers, key):
        self.servers = servers
        encoded = servers.encoded(key)
        self.slot = slot_of(encoded) if servers.is_cluster else None

    @property
    def address(self):
        return self.servers.owners.get(self.slot)

    def forget(self):
        self.servers.owners.pop(self.slot, None)

    def locate(self, end):
        """The key's server; None if there is no cluster."""
        if not self.servers.is_cluster:
            return None
        return self.address or (yield from self.servers.find(self.slot, end))

    def lose(self, error, address):
        """After an error at an address: where to ask next, if it says so for this once."""
        self.forget()
        text = _text(error) if error is not None else ""
        if address is None or not text.startswith(("MOVED ", "ASK ")):
            return None
        host, port = getattr(error, "node_addr", None) or text.split(" ")[-1].rsplit(":", 1)
        named = (_host(host, address[0]), int(port))
        if text.startswith("ASK "):
            return named
        self.servers.owners[self.slot] = named
        return None
