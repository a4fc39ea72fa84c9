"""What operations return."""

import collections

__all__ = ["Result", "Settled", "Standing", "Taken"]

Result = collections.namedtuple("Result", "applied values id")
# Of the limit that leaves least: what it is on, how much is left, and milliseconds until it is
# reset, or -1 for never.
Standing = collections.namedtuple("Standing", "value left resets_ms")


class Taken(collections.namedtuple("Taken", "outcome value left resets_ms id")):
    """What became of a take: its outcome is "applied", "duplicate" or "limited". The rest is as in
    Standing; of a limit that refused, if one did."""

    @property
    def granted(self):
        """Whether the caller has what it took, by this call or an earlier one with the same id."""
        return self.outcome != "limited"


class Settled(collections.namedtuple("Settled", "outcome value left resets_ms")):
    """What became of a settlement: its outcome is "settled", "duplicate" or "limited"; the rest is
    of the hold's limit."""

    @property
    def is_settled(self):
        """Whether it is counted, by this call or an earlier one."""
        return self.outcome != "limited"
