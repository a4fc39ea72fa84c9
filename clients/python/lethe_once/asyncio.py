"""The same tables for programs with asyncio: clients are those of redis.asyncio, methods are
coroutines, and lists are asynchronous.

    >>> likes = Once(redis.asyncio.Redis(), "likes")
    >>> await likes.incrby("post:1", 1)
    Result(applied=True, values=(1,), id='...')
    >>> [pair async for pair in likes.scan()]
    [(b'post:1', 1)]

Many tasks may use one table. A task that is cancelled closes the connection that it used; what it
had sent may have been applied."""

import asyncio
import inspect
import os
import time

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, RedisError, ResponseError, TimeoutError

from .batches import Batch
from .claims import Claim, decorator
from .holds import Hold, Holding
from .links import shorter
from .routes import Servers
from .spread import Partitions
from .steps import Exchange, Items, Pause, Reply
from .table import Table

__all__ = ["Batch", "Claim", "Hold", "Once", "Spread"]


class Links:
    """Connections to one server, as links.py has them, of the loop that runs."""

    def __init__(self, connection_class, settings):
        self.connection_class, self.settings = connection_class, settings
        self.idle, self.owner = [], None

    def _take(self):
        owner = os.getpid(), asyncio.get_running_loop()
        if self.owner != owner: # connections belong to a loop, and to a process
            self.idle, self.owner = [], owner
        while self.idle:
            connection = self.idle.pop()
            if not self._is_stale(connection):
                return connection, False
            self._drop(connection)
        connection = self.connection_class(**self.settings)
        connection.retry = Retry(NoBackoff(), 0)
        return connection, True

    @staticmethod
    def _is_stale(connection):
        """Closed by the server, or left with something to read."""
        reader, writer = connection._reader, connection._writer
        return (reader is None or writer is None or reader.at_eof() or
                reader.exception() is not None or writer.transport.is_closing() or
                bool(getattr(reader, "_buffer", b"")))

    async def _talk(self, reply, connection, commands):
        await connection.connect()
        if reply.is_new and isinstance(connection, redis.asyncio.SSLConnection):
            await self._greet(connection)
        packed = connection.pack_commands(commands)
        reply.was_sent = True # as in links.py
        await connection.send_packed_command(packed)
        while len(reply.answers) < len(commands):
            try:
                reply.answers.append(await connection.read_response())
            except ResponseError as error:
                reply.answers.append(error)
            except BusyLoadingError as error: # an answer, after which redis-py hangs up
                reply.answers.append(error)
                raise

    @staticmethod
    async def _greet(connection):
        """As in links.py."""
        await connection.send_packed_command(connection.pack_commands([("PING",)]))
        try:
            await connection.read_response()
        except ResponseError:
            pass

    async def exchange(self, end, commands):
        """Sends commands together and reads the answers, all on one connection."""
        reply, left = Reply(), end - time.monotonic()
        if left <= 0:
            reply.failure = TimeoutError("no answer in time")
            return reply
        connection, reply.is_new = self._take()
        limit = self.settings.get("socket_timeout")
        connection.socket_timeout = shorter(limit, left)
        connection.socket_connect_timeout = shorter(
            self.settings.get("socket_connect_timeout", limit), left)
        # Not wait_for: before Python 3.12 that passes over a cancellation if the connection breaks
        # at the same moment, and leaves errors that nobody looks at.
        talk = asyncio.ensure_future(self._talk(reply, connection, commands))
        try:
            await asyncio.wait([talk], timeout=left)
            if not talk.done():
                raise TimeoutError("no answer in time")
            talk.result()
        except BaseException as error:
            await self._end(talk, connection)
            if isinstance(error, asyncio.TimeoutError) and not isinstance(error, RedisError):
                error = TimeoutError("no answer in time")
            elif not isinstance(error, (RedisError, OSError)):
                raise
            reply.failure = error
            return reply
        if self.owner == (os.getpid(), asyncio.get_running_loop()):
            self.idle.append(connection)
        else: # another loop has taken over meanwhile
            self._drop(connection)
        return reply

    async def _end(self, talk, connection):
        """Drops a connection, and what may still be said on it."""
        self._drop(connection)
        talk.add_done_callback(lambda done: done.cancelled() or done.exception()) # looked at
        talk.cancel()
        try:
            await asyncio.wait([talk])
        finally:
            self._drop(connection) # or what was connected at the last moment would stay

    @staticmethod
    def _drop(connection):
        """At once: to close it in an orderly way could take longer than there is time."""
        writer = getattr(connection, "_writer", None)
        if writer is not None:
            writer.transport.abort()
        connection._reader = connection._writer = None

    def close(self):
        if self.owner == (os.getpid(), asyncio.get_running_loop()):
            for connection in self.idle:
                self._drop(connection)
        self.idle = []


class _Client:
    """The driver, and what differs from the tables of lethe_once."""

    _is_async = True

    @staticmethod
    def _servers_of(client, cluster):
        if not inspect.iscoroutinefunction(getattr(client, "initialize", None)):
            raise TypeError("this is no client of redis.asyncio; its tables are in lethe_once")
        return Servers(client, cluster, Links, redis.asyncio.Redis)

    async def _perform(self, wanted):
        if isinstance(wanted, Pause):
            return await asyncio.sleep(wanted.seconds)
        assert isinstance(wanted, Exchange)
        exchanges = [self._servers.links(address).exchange(end, commands)
                     for address, end, commands in wanted.parts]
        if len(exchanges) == 1:
            return [await exchanges[0]]
        return await asyncio.gather(*exchanges)

    async def _drive(self, steps):
        async for _ in self._blocks(steps, result := []):
            pass
        return result[0]

    async def _iterate(self, steps):
        async for items in self._blocks(steps, []):
            for item in items:
                yield item

    async def _blocks(self, steps, result):
        """As steps.blocking; what the generator returns is appended to result."""
        try:
            wanted = next(steps)
            while True:
                try:
                    if isinstance(wanted, Items):
                        yield wanted.items
                        found = None
                    else:
                        found = await self._perform(wanted)
                except BaseException as error:
                    wanted = steps.throw(error)
                else:
                    wanted = steps.send(found)
        except StopIteration as end:
            result.append(end.value)
        finally:
            steps.close()

    def batch(self):
        """Operations to be sent together: a Batch, whose send is a coroutine."""
        return Batch(self)

    def hold(self, counter, amount, limit, lease=30.0, id=None, wait=None, timeout=None):
        """As hold of lethe_once: `await table.hold(...)`, or `async with table.hold(...) as
        hold:`."""
        made = []
        steps = self._hold(counter, amount, limit, lease=lease, id=id, wait=wait, timeout=timeout,
                           tell=made.append)
        return Holding(self._drive(steps), made, id is None)

    async def close(self):
        """Closes the connections that are not in use; the next operation makes new ones."""
        for links in list(self._servers.links_by_address.values()):
            links.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()


class Once(_Client, Table):
    """One once-table, as lethe_once.Once. client is a redis.asyncio.Redis or a
    redis.asyncio.cluster.RedisCluster."""

    def claimed(self, id, lease=30.0, fingerprint=None, running="wait", patience=60.0, gone=None):
        """As claimed of lethe_once, for coroutines."""
        return decorator(lambda _: self, id, lease, fingerprint, running, patience, gone, True)


class Spread(_Client, Partitions):
    """A table that is spread over several keys, as lethe_once.Spread. It is opened, or made, by its
    first operation or by `await table.open()`; a batch and claimed need an open one."""

    _once = Once
