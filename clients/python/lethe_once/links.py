"""Connections that block, and the driver that uses them."""

import os
import time

from redis import SSLConnection
from redis.backoff import NoBackoff
from redis.exceptions import (BusyLoadingError, ConnectionError, RedisError, ResponseError,
                              TimeoutError)
from redis.retry import Retry

from .steps import Exchange, Pause, Reply, blocking


def shorter(limit, seconds):
    """A time-out of at most so many seconds; None means no time-out."""
    return seconds if limit is None else min(limit, seconds)


class Links:
    """Connections to one server, made with the settings of a pool of redis-py, but not taken from
    it: nothing waits longer than the time allows, and nothing is sent a second time behind our
    back."""

    def __init__(self, connection_class, settings):
        self.connection_class, self.settings = connection_class, settings
        self.idle, self.process = [], os.getpid()

    def _take(self):
        if self.process != os.getpid(): # a child's connections are its own
            self.idle, self.process = [], os.getpid()
        try:
            return self.idle.pop()
        except IndexError:
            connection = self.connection_class(**self.settings)
            connection.retry = Retry(NoBackoff(), 0)
            return connection

    def _limit(self, connection, end):
        """Limits the time-outs of a connection to what is left until the end."""
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        settings = self.settings
        connection.socket_timeout = shorter(settings.get("socket_timeout"), left)
        connection.socket_connect_timeout = shorter(
            settings.get("socket_connect_timeout", settings.get("socket_timeout")), left)
        if getattr(connection, "_sock", None) is not None:
            connection._sock.settimeout(connection.socket_timeout)

    def _open(self, connection, end):
        """Returns whether the connection is a new one."""
        self._limit(connection, end)
        was_open = getattr(connection, "_sock", None) is not None
        connection.connect()
        try: # an idle one may have been closed by the server, or have been left with something
            is_stale = connection.can_read()
        except (ConnectionError, OSError):
            is_stale = True
        if is_stale:
            connection.disconnect()
            connection.connect()
        is_new = is_stale or not was_open
        if is_new and isinstance(connection, SSLConnection):
            self._greet(connection)
        return is_new

    @staticmethod
    def _greet(connection):
        """With TLS 1.3 a server says that it does not trust this side only when something is read:
        an operation that was sent by then would be in doubt."""
        connection.send_packed_command(connection.pack_commands([("PING",)]))
        try:
            connection.read_response()
        except ResponseError: # it may be denied
            pass

    def send(self, reply, end, commands):
        """Sends commands together, on one connection, which it returns; None if that failed."""
        connection = self._take()
        try:
            reply.is_new = self._open(connection, end)
            self._limit(connection, end)
            packed = connection.pack_commands(commands)
            reply.was_sent = True # and not before: what cannot be packed is not in doubt
            connection.send_packed_command(packed)
        except BaseException as error:
            self._drop(connection)
            if not isinstance(error, (RedisError, OSError)):
                raise
            reply.failure = error
            return None
        return connection

    def receive(self, reply, connection, end, count):
        """Reads the answers to what was sent. They come on this connection, or not at all: a WAIT
        sent again alone, on a new connection, would have nothing to wait for."""
        try:
            while len(reply.answers) < count:
                self._limit(connection, end)
                try:
                    reply.answers.append(connection.read_response())
                except ResponseError as error:
                    reply.answers.append(error)
                except BusyLoadingError as error: # an answer, after which redis-py hangs up
                    reply.answers.append(error)
                    raise
        except BaseException as error:
            self._drop(connection)
            if not isinstance(error, (RedisError, OSError)):
                raise
            reply.failure = error
            return
        self.idle.append(connection)

    @staticmethod
    def _drop(connection):
        """Or another command would be given the answers that are still to come."""
        try:
            connection.disconnect()
        except (RedisError, OSError):
            pass

    def close(self):
        while self.idle:
            self._drop(self.idle.pop())


class Blocking:
    """The driver. Whoever inherits it has servers."""

    def _perform(self, wanted):
        if isinstance(wanted, Pause):
            return time.sleep(wanted.seconds)
        assert isinstance(wanted, Exchange)
        under_way = []
        replies = [Reply() for _ in wanted.parts]
        try: # send to all before the first answer is read
            for reply, (address, end, commands) in zip(replies, wanted.parts):
                links = self._servers.links(address)
                connection = links.send(reply, end, commands)
                under_way.append((links, reply, connection, end, len(commands)))
            while under_way:
                links, reply, connection, end, count = under_way.pop(0)
                if connection is not None:
                    links.receive(reply, connection, end, count)
        finally: # after an interruption
            for links, _, connection, _, _ in under_way:
                if connection is not None:
                    links._drop(connection)
        return replies

    def _drive(self, steps):
        run = blocking(self._perform, steps)
        try:
            while True:
                next(run)
        except StopIteration as end:
            return end.value

    def _iterate(self, steps):
        for items in blocking(self._perform, steps):
            yield from items

    def close(self):
        """Closes the connections that are not in use; the next operation makes new ones."""
        for links in list(self._servers.links_by_address.values()):
            links.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
