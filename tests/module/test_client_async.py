"""Goal:   the asyncio tables keep every total exact while connections and servers die, keep the
        time, and leave nothing behind when a task is cancelled.
Method: a model that counts what was acknowledged, beside tasks that increment, take, hold, claim
        and send batches, while connections are killed (CLIENT KILL), cut within an answer,
        and a server with an AOF is killed (SIGKILL)."""

import asyncio
import gc
import random
import signal
import time

import pytest
import redis
import redis.asyncio
from clients import Cutter
from servers import wait_for

from lethe_once import Limited, Lost, Running, Unacknowledged
from lethe_once.asyncio import Hold, Links, Once, Spread


class Model:
    """What was acknowledged."""

    def __init__(self, table, seed):
        self.table, self.chance = table, random.Random(seed)
        self.totals, self.done, self.is_over, self.works = {}, 0, False, {}

    def add(self, counter, delta):
        self.totals[counter] = self.totals.get(counter, 0) + delta
        self.done += 1

    async def step(self):
        table, chance = self.table, self.chance
        counter, delta = f"k{chance.randrange(20)}", chance.randrange(1, 9)
        kind = chance.choice(["incrby", "batch", "take", "hold", "claim", "call"])
        if kind == "incrby":
            assert (await table.incrby(counter, delta)).applied
            self.add(counter, delta)
        elif kind == "batch":
            batch = table.batch()
            deltas = [chance.randrange(1, 9) for _ in range(chance.randrange(1, 60))]
            for one in deltas:
                batch.incrby(counter, one)
            assert all(one.applied for one in await batch.send())
            self.add(counter, sum(deltas))
        elif kind == "take":
            taken = await table.take(counter, delta, 10**6)
            assert taken.outcome == "applied"
            self.add(counter, delta)
        elif kind == "hold":
            async with table.hold(counter, delta, 10**6, lease=600) as hold:
                assert hold.granted
                await hold.settle(delta - 1)
            self.add(counter, delta - 1)
        elif kind == "claim":
            @table.claimed(id=lambda: f"work-{counter}", lease=600)
            async def work():
                self.works[counter] = self.works.get(counter, 0) + 1
                return counter
            assert await work() == counter
        else:
            assert (await table.call("INCRBY", "{t}" + counter, delta))[0]
            self.add("called " + counter, delta)

    async def work(self):
        while not self.is_over:
            await self.step()

    async def run(self, disturb, tasks=8):
        """Works until the disturbance is over."""
        running = [asyncio.create_task(self.work()) for _ in range(tasks)]
        try:
            await disturb(self)
        finally:
            self.is_over = True
            await asyncio.gather(*running)

    async def check(self, client):
        found = {name.decode(): value async for name, value in self.table.scan()}
        for name in await client.keys("{t}k*"):
            found["called " + name.decode()[3:]] = int(await client.get(name))
        assert found == {name: value for name, value in self.totals.items()
                         if value or name in found}
        assert all(number == 1 for number in self.works.values())
        assert [one async for one in self.table.holds()] == []


async def load(model, more):
    """Until so many operations more are done."""
    aim, end = model.done + more, time.monotonic() + 120
    while model.done < aim:
        assert time.monotonic() < end, "no progress"
        await asyncio.sleep(0.01)


def test_killed_connections(server):
    async def disturb(model):
        for _ in range(15):
            await load(model, 20)
            server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    async def main():
        client = redis.asyncio.Redis(port=server.port)
        model = Model(Once(client, "{t}", timeout=120, window_ms=600_000, error=1e-12), 1)
        await model.run(disturb)
        await model.check(client)
        await model.table.close()
        await client.close()
    asyncio.run(main())


def test_cut_answers(server):
    """Connections end in the middle of an answer, or of a pipeline's."""
    async def main(port, cutter):
        async def disturb(model):
            while cutter.cuts < 40:
                await load(model, 10)
        client = redis.asyncio.Redis(port=port)
        direct = redis.asyncio.Redis(port=server.port)
        model = Model(Once(client, "{t}", timeout=120, window_ms=600_000, error=1e-12), 2)
        await model.run(disturb)
        cutter.is_cutting = False
        await model.check(direct)
        await direct.close()
        await client.close()
    with Cutter(server, 3, 2000) as cutter:
        asyncio.run(main(cutter.port, cutter))
        assert cutter.cuts >= 40


@pytest.mark.parametrize("kind", ["plain", "spread"])
def test_killed_servers(start, kind):
    """SIGKILL, and back from the AOF."""
    server = start(appendonly="yes", appendfsync="always")
    async def disturb(model):
        for _ in range(3):
            await load(model, 60)
            await asyncio.to_thread(server.restart)
        await load(model, 20)
    async def spread_work(client):
        table = Spread(client, "s", partitions=5, by="id", timeout=120, window_ms=600_000,
                       error=1e-12)
        model = Model(table, 4)
        async def step():
            batch = (await table.open()).batch()
            counter, number = f"k{model.chance.randrange(9)}", model.chance.randrange(1, 80)
            for _ in range(number):
                batch.incrby(counter, 1)
            assert all(one.applied for one in await batch.send())
            model.add(counter, number)
        model.step = step
        await model.run(disturb, 3)
        assert {name.decode(): value async for name, value in table.scan()} == model.totals
    async def main():
        client = redis.asyncio.Redis(port=server.port)
        if kind == "spread":
            await spread_work(client)
        else:
            model = Model(Once(client, "{t}", timeout=120, window_ms=600_000, error=1e-12), 3)
            await model.run(disturb)
            await model.check(client)
        await client.close()
    asyncio.run(main())


def test_the_time_is_kept(start):
    """On a server that stands still, for a known connection and for a new one, and with WAIT."""
    server = start()
    async def main():
        client = redis.asyncio.Redis(port=server.port)
        known, fresh = Once(client, "t"), Once(client, "t")
        await known.incrby("n", 1)
        server.process.send_signal(signal.SIGSTOP)
        try:
            for table, wait in ((known, 0), (fresh, 0), (known, 1)):
                begin = time.monotonic()
                with pytest.raises(Unacknowledged) as caught:
                    await table.incrby("n", 1, id="late", wait=wait, timeout=0.3)
                assert caught.value.id == "late" and time.monotonic() - begin < 20
            batch = known.batch().incrby("n", 1).incrby("n", 1)
            found = await batch.send(timeout=0.3, return_errors=True)
            assert [type(one) for one in found] == [Unacknowledged] * 2
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert (await known.incrby("n", 1)).applied
        await client.close()
    asyncio.run(main())


def test_a_cancelled_task_leaves_its_connection_to_nobody(server):
    """An answer that comes later is not taken for somebody else's."""
    async def main():
        client = redis.asyncio.Redis(port=server.port)
        table = Once(client, "t")
        await table.incrby("n", 1)
        for i in range(10):
            server.call("CLIENT", "PAUSE", 600_000, "WRITE")
            task = asyncio.create_task(table.incrby("n", 1000, id=f"cancelled-{i}"))
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.call("CLIENT", "UNPAUSE")
            assert (await table.get("other")) is None
        await client.close()
    asyncio.run(main())


class Breaking:
    """A connection that breaks when its task is cancelled, or when it is told to."""

    _reader = _writer = None

    def __init__(self, **_):
        self.broken = asyncio.get_running_loop().create_future()
        Breaking.made.append(self)

    async def connect(self):
        try:
            await self.broken
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            raise redis.ConnectionError("it broke as well") from None


def complaints_of(run):
    """What a loop says of exceptions that nobody looked at."""
    said, Breaking.made = [], []
    gc.collect() # or connections of other tests would be closed by this loop, which is not theirs
    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context["message"]))
        await run()
        gc.collect()
    asyncio.run(main())
    gc.collect()
    return said


def test_a_cancelled_task_leaves_no_exception():
    """One whose connection breaks as well, before or after; or whose time was over."""
    async def run():
        links = Links(Breaking, {})
        task = asyncio.ensure_future(links.exchange(time.monotonic() + 60, [("PING",)]))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        reply = await links.exchange(time.monotonic() + 0.01, [("PING",)])
        assert isinstance(reply.failure, redis.TimeoutError) and not reply.was_sent
    assert complaints_of(run) == []


@pytest.mark.parametrize("turns", range(4))
def test_a_task_is_cancelled_at_the_moment_when_its_connection_breaks(turns):
    """It ends, and does not take the one for the other and try again."""
    async def run():
        links = Links(Breaking, {})
        task = asyncio.ensure_future(links.exchange(time.monotonic() + 60, [("PING",)]))
        await asyncio.sleep(0.01)
        (connection,) = Breaking.made
        connection.broken.set_exception(redis.ConnectionError("it broke"))
        for _ in range(turns):
            await asyncio.sleep(0)
        if task.cancel(): # or it was over already
            with pytest.raises(asyncio.CancelledError):
                await task
    assert complaints_of(run) == []


def test_cancelled_tasks_while_connections_break(server):
    async def run():
        with Cutter(server, seed=7, most=2000) as cutter:
            chance, table = random.Random(7), Once(redis.asyncio.Redis(port=cutter.port), "t", timeout=20)
            for _ in range(40):
                tasks = [asyncio.ensure_future(table.incrby("n", 1)) for _ in range(8)]
                await asyncio.sleep(chance.uniform(0, 0.01))
                for task in chance.sample(tasks, 6):
                    task.cancel()
                await asyncio.wait(tasks)
                for task in tasks:
                    assert task.cancelled() or task.result().applied
            cutter.is_cutting = False
            assert await table.get("n") >= 80
            await table.close()
    assert complaints_of(run) == []


def test_a_cancelled_claim_and_hold_are_given_back(server):
    async def main():
        client = redis.asyncio.Redis(port=server.port)
        table = Once(client, "t")
        begun = asyncio.Event()
        @table.claimed(id=lambda: "i", running="raise")
        async def work():
            begun.set()
            await asyncio.sleep(600)
        task = asyncio.create_task(work())
        await begun.wait()
        with pytest.raises(Running):
            await work()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [one async for one in table.claims()] == []
        begun.clear()
        async def hold():
            async with table.hold("k", 5, 10):
                begun.set()
                await asyncio.sleep(600)
        task = asyncio.create_task(hold())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [one async for one in table.holds()] == [] and await table.get("k") is None
        async with table.hold("k", 5, 10):
            pass
        with pytest.raises(Limited):
            async with table.hold("k", 6, 10):
                pass
        held = await table.hold("k", 5, 10, id="h")
        assert held.granted and await Hold(table, "h").release()
        with pytest.raises(TypeError):
            with held:
                pass
        with pytest.raises(TypeError):
            table.claimed(id=lambda: "i")(lambda: 1)
        @table.claimed(id=lambda: "j", lease=600)
        async def lost():
            await client.delete("t")
            await table.claim("j")
            return 5
        with pytest.raises(Lost) as caught:
            await lost()
        assert caught.value.result == 5
        await client.close()
    asyncio.run(main())


@pytest.mark.parametrize("way", ["await", "block", "spread", "no answer"])
def test_a_hold_that_is_cancelled_while_it_is_placed(server, way):
    """Nobody has it, so nobody would release it."""
    async def main():
        client = redis.asyncio.Redis(port=server.port)
        table = await Spread(client, "t", partitions=2).open() if way == "spread" else Once(client, "t")
        placed, go, real = asyncio.Event(), asyncio.Event(), table._perform
        async def perform(wanted):
            replies = await real(wanted)
            for part, reply in zip(getattr(wanted, "parts", ()), replies or ()):
                if part[2][0][0] == "ONCE.HOLD":
                    placed.set()
                    await go.wait()
                    if way == "no answer":
                        reply.answers, reply.failure = [], redis.TimeoutError("lost")
            return replies
        async def cancel(**options):
            placed.clear()
            go.clear()
            async def hold():
                if way == "block":
                    async with table.hold("k", 5, 10, **options):
                        raise AssertionError("it was cancelled")
                await table.hold("k", 5, 10, **options)
            task = asyncio.create_task(hold())
            await placed.wait()
            task.cancel()
            await asyncio.sleep(0.01)
            go.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            return [one async for one in table.holds()]
        table._perform = perform
        if way == "no answer":
            assert await cancel(timeout=0.3) == []
        else:
            assert await cancel() == [] and await cancel(id="mine") == []
            assert (await table.hold("k", 5, 10, id="other")).granted
            ((name, *_),) = await cancel(id="other") # it is of another call
            assert name == b"other"
        await client.close()
    asyncio.run(main())


def test_two_loops(server):
    """Connections belong to the loop that made them."""
    client = redis.asyncio.Redis(port=server.port)
    table = Once(client, "t")
    for number in (1, 2, 3):
        async def count():
            return await table.incrby("n", 1)
        assert asyncio.run(count()).values == (number,)


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_wrong_password_is_not_retried(start, password):
    server = start()
    server.client.config_set("requirepass", "secret")
    server.client = redis.Redis(port=server.port, password="secret")
    before = server.client.info("stats")["total_connections_received"]
    async def main():
        client = redis.asyncio.Redis(port=server.port, password=password)
        with pytest.raises(redis.RedisError, match="(?i)auth|pass"):
            await Once(client, "t", timeout=3).incrby("n", 1)
    asyncio.run(main())
    assert server.client.info("stats")["total_connections_received"] == before + 1


def test_wait_is_on_the_same_connection(pair):
    master, replica = pair
    async def main():
        client = redis.asyncio.Redis(port=master.port)
        table = Once(client, "t", wait=1, wait_ms=60_000, timeout=60)
        batch = table.batch()
        for _ in range(50):
            batch.incrby("n", 1)
        await batch.send()
        assert replica.call("ONCE.GET", "t", "n") == 50
        replica.process.send_signal(signal.SIGSTOP)
        try:
            task = asyncio.create_task(table.incrby("n", 1))
            for attempt in range(2):
                await asyncio.to_thread(wait_for, lambda: master.client.info("clients")[
                    "blocked_clients"] == 1 and not task.done())
                master.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        finally:
            replica.process.send_signal(signal.SIGCONT)
        assert (await task).applied and await table.get("n") == 51
        await client.close()
    asyncio.run(main())
