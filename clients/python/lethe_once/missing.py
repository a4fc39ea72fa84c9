"""Partitions that are missing: deleted, evicted, or gone with a server that came back empty.

Whoever makes a table makes all of its partitions at once. So one that is missing later was lost,
with what was counted in it, and a server answers for it as for an empty one. What is read is no
answer then, but an exception.

I1  A partition that has something is there. Only one that answered that there is nothing, and one
    that was read in several steps, is asked whether it is there; and that after it was read, so
    that one that is lost meanwhile is noticed.
"""

from .delivery import Item
from .errors import MissingPartitions, NoTable
from .steps import Pause
from .table import Runner, plain
from .words import as_text

__all__ = ["Complete"]

# Seconds in which somebody who has just described the table makes its partitions.
_MAKING = 0.25


class Complete(Runner):
    """What a table in partitions reads is complete."""

    def _gone(self, tables):
        """Which of these partitions are missing, or cannot be asked: what to raise for each."""
        asked, found = list(tables), {}
        for pause in (0, _MAKING):
            if not asked or len(self.partitions) == 1: # a once-table may be missing
                break
            if pause:
                yield Pause(pause)
            answers = yield from self._deliver([Item(one, None, ("ONCE.INFO", one.table), plain)
                                                for one in asked], wait=0)
            found.update(zip(asked, answers))
            asked = [one for one in asked if isinstance(found[one], NoTable)]
        missing = MissingPartitions(as_text(self.table), [as_text(one.table) for one in asked],
                                    len(self.partitions))
        return {one: missing if one in asked else answer for one, answer in found.items()
                if isinstance(answer, Exception)}

    def _require(self, tables):
        """These partitions are there, or an exception is raised."""
        for error in (yield from self._gone(tables)).values():
            raise error

    def _review(self, items, results):
        """The results of items, with an exception for what a partition that is missing did not
        have."""
        silent = {item: item.table for item, result in zip(items, results)
                  if item.is_nothing is not None and not isinstance(result, Exception) and
                  item.is_nothing(result)}
        if not silent:
            return results
        gone = yield from self._gone(dict.fromkeys(silent.values()))
        return [gone.get(item.table, result) if item in silent else result
                for item, result in zip(items, results)]

    def _all_there(self, items):
        """The results of items that read; the first failure is raised."""
        results = yield from self._deliver(items, wait=0)
        results = yield from self._review(items, results)
        for result in results:
            if isinstance(result, Exception):
                raise result
        return results
