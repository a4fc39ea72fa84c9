"""Many operations at once: one pipeline to each server, and an outcome for each, in order.

    >>> batch = likes.batch()
    >>> batch.incrby("post:1", 1, id="click-1")
    >>> batch.incrby("post:2", 5, id="click-2")
    >>> batch.send()
    [Result(applied=True, values=(1,), id='click-1'),
     Result(applied=True, values=(5,), id='click-2')]

If a connection is lost in between, only what has no answer is sent again. Operations on one server
are carried out in the order in which they were added, except those that had to be sent again."""

from .errors import Incomplete
from .steps import operation

__all__ = ["Batch"]


class Batch:
    """What is to be sent together. Made by Once.batch and Spread.batch. Each method takes what the
    method of the same name of the table takes, except wait and timeout, which are those of send."""

    def __init__(self, table):
        self._table, self._items = table, []

    def _drive(self, steps):
        return self._table._drive(steps)

    def __len__(self):
        return len(self._items)

    def _add(self, item):
        self._items.append(item)
        return self

    def incrby(self, counter, delta=1, *more, id=None):
        """As incrby of the table; its outcome is a Result."""
        return self._add(self._table._incrby_item(counter, delta, *more, id=id))

    def take(self, counter, amount, *limits, floor=None, id=None):
        """As take of the table; its outcome is a Taken."""
        return self._add(self._table._take_item(counter, amount, *limits, floor=floor, id=id))

    def peek(self, counter, *limits, floor=None):
        """As peek of the table; its outcome is a Standing."""
        return self._add(self._table._peek_item(counter, *limits, floor=floor))

    def call(self, *command, id=None):
        """As call of the table; its outcome is a pair."""
        return self._add(self._table._call_item(*command, id=id))

    def add(self, *ids):
        """As add of the table; its outcome is a list."""
        return self._add(self._table._add_item(*ids))

    def get(self, counter):
        """As get of the table; its outcome is the value. A table that is spread by id is not asked
        in a batch."""
        return self._add(self._table._get_item(counter))

    @operation
    def send(self, wait=None, timeout=None, return_errors=False):
        """Sends all, and returns the outcome of each, in order; then the batch is empty. If some
        failed, Incomplete is raised, whose results has the outcomes with the exceptions among them;
        with return_errors these are returned. Operations that were not acknowledged in time may be
        sent again with the ids that their exceptions carry. timeout is for all of them together. If
        it is cancelled or interrupted, the batch has its operations still: send goes on with them,
        with the same ids, and does not send again what was answered."""
        items, self._items = self._items, []
        if not items:
            return []
        try:
            results = yield from self._table._deliver(items, wait, timeout)
            results = yield from self._table._review(items, results)
        except BaseException:
            self._items = items + self._items
            raise
        if not return_errors and any(isinstance(one, Exception) for one in results):
            raise Incomplete(results)
        return results
