"""Counts a stream in asyncio: each event once, whatever its sender repeats.

Events are gathered while the disk is busy, and submitted together. An event is acknowledged when it
is durable, so a sender that got no answer sends it again, and nothing is counted twice. Waiting for
the disk happens in a thread; the loop goes on meanwhile.
"""

import asyncio
import operator

import lethe


class Counter:
    """async with Counter(folder) as counter: outcome = await counter.count(id, key)"""

    def __init__(self, folder, most=10_000, **options):
        self.store = lethe.Store(folder, create=True, **options)
        self.most = most
        self.waiting = []
        self.wake = asyncio.Event()
        self.worker = None
        self.closing = False

    async def __aenter__(self):
        self.worker = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *error):
        self.closing = True
        self.wake.set()
        await self.worker
        await asyncio.to_thread(self.store.close)

    def count(self, id, key, delta=1):
        """A future of the event's outcome, which is done when the event is durable.

        What is no key or no number raises here, and not for others in the same batch."""
        lethe.hash(id), lethe.hash(key), operator.index(delta)
        done = asyncio.get_running_loop().create_future()
        if self.closing or self.worker.done():
            done.set_exception(lethe.ClosedError("the counter is closed"))
            return done
        self.waiting.append((id, key, delta, done))
        self.wake.set()
        return done

    async def _work(self):
        while self.waiting or not self.closing:
            await self.wake.wait()
            self.wake.clear()
            while self.waiting:
                batch, self.waiting = self.waiting[:self.most], self.waiting[self.most:]
                await self._apply(batch)

    async def _apply(self, batch):
        ids, keys, deltas, futures = zip(*batch)
        try:
            outcomes = await asyncio.to_thread(self.store.apply_many, ids, keys, deltas)
        except Exception as error:
            for future in futures:
                if not future.done():
                    future.set_exception(error)
            return
        for future, outcome in zip(futures, outcomes):
            if not future.done():  # whoever asked may have gone
                future.set_result(lethe.Outcome(outcome))
