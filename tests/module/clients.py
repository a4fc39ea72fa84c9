"""What the tests of the Python client share: a way on which answers are lost, proxies that cut
connections, and asyncio tables as if they were others."""

import asyncio
import contextlib
import pathlib
import random
import select
import socket
import sys
import threading

import redis

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "clients/python"))


def lose(table, name, times):
    """The answers to some commands are lost, after the server has carried them out."""
    real, left = table._perform, {"times": times}
    def perform(wanted):
        replies = real(wanted)
        for part, reply in zip(getattr(wanted, "parts", ()), replies or ()):
            names = [words[0] for words in part[2]]
            if name in names and left["times"] > 0:
                left["times"] -= 1
                reply.answers = reply.answers[:names.index(name)]
                reply.failure = redis.TimeoutError("lost")
        return replies
    table._perform = perform
    return left


class Awaited:
    """An asyncio object whose coroutines are run to their end by a loop of its own, so that one
    test can ask both kinds of tables the same."""

    def __init__(self, loop, inner):
        self.__dict__.update(loop=loop, inner=inner)

    def __setattr__(self, name, value):
        setattr(self.inner, name, value)

    def _plain(self, value):
        if hasattr(value, "__aiter__"):
            async def gather():
                return [one async for one in value]
            return self.loop.run_until_complete(gather())
        if hasattr(value, "__await__"):
            async def wait():
                return await value
            return self._plain(self.loop.run_until_complete(wait()))
        is_ours = type(value).__module__.startswith("lethe_once") and not isinstance(
            value, (tuple, Exception))
        return Awaited(self.loop, value) if is_ours else value

    def __getattr__(self, name):
        value = getattr(self.inner, name)
        if not callable(value):
            return self._plain(value) if not isinstance(value, list) else value
        return lambda *words, **named: self._plain(value(*words, **named))

    def __len__(self):
        return len(self.inner)


class Kind:
    """Sync or asyncio: makes tables of a kind."""

    def __init__(self, name):
        self.name, self.loop = name, asyncio.new_event_loop() if name == "asyncio" else None

    def client(self, **options):
        return redis.asyncio.Redis(**options) if self.loop else redis.Redis(**options)

    def cluster(self, **options):
        if self.loop is None:
            return redis.cluster.RedisCluster(**options)
        async def make():
            return redis.asyncio.cluster.RedisCluster(**options)
        return self.loop.run_until_complete(make())

    def table(self, kind, client, /, *words, **named):
        import lethe_once
        import lethe_once.asyncio
        if self.loop is None:
            return getattr(lethe_once, kind)(client, *words, **named)
        async def make():
            table = getattr(lethe_once.asyncio, kind)(client, *words, **named)
            if kind == "Spread":
                await table.open()
            return table
        return Awaited(self.loop, self.loop.run_until_complete(make()))

    def once(self, client, /, *words, **named):
        return self.table("Once", client, *words, **named)

    def spread(self, client, /, *words, **named):
        return self.table("Spread", client, *words, **named)

    def close(self):
        if self.loop is not None:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()


class Cutter:
    """Stands between clients and a server. It cuts each connection after a random number of bytes
    of answers, as long as it is told to."""

    def __init__(self, server, seed, most):
        self.target, self.most = ("127.0.0.1", server.port), most
        self.chance, self.cuts, self.is_cutting = random.Random(seed), 0, True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError): # when the listener is closed
            while True:
                near = self.listener.accept()[0]
                threading.Thread(target=self.carry, args=(near,), daemon=True).start()

    def carry(self, near):
        left = self.chance.randrange(1, self.most)
        with near, contextlib.suppress(OSError), socket.create_connection(self.target) as far:
            while True:
                for one in select.select([near, far], [], [])[0]:
                    content = one.recv(65536)
                    if not content:
                        return
                    if one is near:
                        far.sendall(content)
                        continue
                    if self.is_cutting and len(content) >= left:
                        self.cuts += 1
                        near.sendall(content[:left])
                        return
                    left -= len(content)
                    near.sendall(content)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
