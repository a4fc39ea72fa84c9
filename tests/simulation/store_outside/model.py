"""What a store should hold, by the promises alone.

The model keeps every id for ever, with the times between which it was last applied. A duplicate that comes within W of that must
be a duplicate, one that comes later than W and the slack must be applied; in between the store decides, and the model
follows. Every id has a counter of its own, its witness, to which every event of that id adds 1: so an event that was
lost or counted twice is known by name."""

import copy
import dataclasses

SLACK = 0.25


class Wrong(Exception):
    """The store is not what it should be."""


@dataclasses.dataclass
class Modes:
    """What belongs to a store and is kept until somebody changes it."""
    window_ms: int
    event_time: bool = False
    exact: bool = False
    check_payload: bool = False
    forever: bool = False
    is_forgetful: bool = False  # the window is of the forgetful kind, for the store's whole life
    has_sketch: bool = False  # so large for so few keys that its estimates are exact


@dataclasses.dataclass
class Event:
    identity: str
    time_ms: int | None = None
    is_double: bool = False  # changes the counter "sum" in the same operation
    is_broken: bool = False  # a line that is no event

    @property
    def witness(self):
        return "w-" + self.identity


class Known:
    """An id: how often it was applied, and when that was last, by the store's clock."""

    def __init__(self):
        self.count = 0
        self.is_double = False
        self.time_ms = None
        self.since = self.until = None


class Clock:
    """A store's own time, by the wall clock: the true time and a base, of which only bounds are known.

    While the machine runs, the store's time goes on with it. After a restart only the wall clock says how long the machine
    was off, and the store's time never goes back."""

    def __init__(self):
        self.boots = 0
        self.low = self.high = 0  # of the base
        self.last = (0, 0)  # the store's time at its last commit

    def begin(self, world):
        """A command that writes begins."""
        self.began_ms = world.elapsed_ms()
        self.skew = world.wall_ms() - self.began_ms

    def end(self, world, is_sure=True):
        """It has ended. Returns the bounds of the store's time while it ran."""
        ended_ms = world.elapsed_ms()
        if world.boots != self.boots:
            low = max(self.skew, self.last[0] - ended_ms)
            high = max(self.skew, self.last[1] - self.began_ms)
            is_known = getattr(self, "tried", None) == world.boots
            self.low = min(low, self.low) if is_known else low
            self.high = max(high, self.high) if is_known else high
            self.tried = world.boots
            if is_sure:
                self.boots = world.boots
        bounds = (self.began_ms + self.low, ended_ms + self.high)
        self.last = bounds if is_sure else (min(self.last[0], bounds[0]), bounds[1])
        return bounds


class Model:
    def __init__(self, modes):
        self.modes = modes
        self.clock = Clock()
        self.known = {}
        self.settings = {}  # counters that only `set` and `del` touch
        self.clock_ms = 0  # with event time: the latest event's
        self.read = []  # (format, bytes): what was read of files, from their start

    def snapshot(self):
        return copy.deepcopy(self)

    def totals(self):
        """Every counter, exactly."""
        found = {"w-" + identity: known.count for identity, known in self.known.items()
                 if known.count > 0}
        total = sum(known.count for known in self.known.values() if known.is_double)
        return {**found, **self.settings, **({"sum": total} if total > 0 else {})}

    # Reading files.

    def resume_at(self, form, content):
        """How many bytes of a file with this content were read before."""
        return max((len(read) for read_form, read in self.read
                    if read_form == form and content.startswith(read)), default=0)

    def note_read(self, form, content):
        self.read = [(read_form, read) for read_form, read in self.read
                     if not (read_form == form and content.startswith(read))]
        self.read.append((form, content))

    # Judging events.

    def judge(self, event, since, until):
        """One of applied, duplicate, late, unreadable, either."""
        if event.is_broken:
            return "unreadable"
        modes = self.modes
        if modes.event_time:
            if event.time_ms + modes.window_ms < self.clock_ms and not modes.forever:
                return "late"
            self.clock_ms = max(self.clock_ms, event.time_ms)
            since = until = self.clock_ms
        known = self.known.setdefault(event.identity, Known())
        known.is_double, known.time_ms = event.is_double, event.time_ms
        if known.count == 0:
            return self.apply(known, since, until)
        if modes.forever or until - known.since <= modes.window_ms:
            return "duplicate"
        slack = 0 if modes.exact else modes.window_ms * SLACK
        if since - known.until > modes.window_ms + slack:
            return self.apply(known, since, until)
        return "either"

    @staticmethod
    def apply(known, since, until):
        known.count += 1
        known.since, known.until = since, until
        return "applied"


class Expectation:
    """What a run over a list of events may leave."""

    def __init__(self, model, events, since, until):
        self.model, self.events, self.since, self.until = model, events, since, until
        self.before = model.snapshot()
        self.outcomes = [model.judge(event, since, until) for event in events]
        self.open = {event.identity for event, outcome in zip(events, self.outcomes)
                     if outcome == "either"}

    def counts(self, outcome):
        return self.outcomes.count(outcome)

    def settle(self, found):
        """Follows the store where the promises leave it free; then everything must agree."""
        for identity in self.open:
            known = self.model.known[identity]
            count = found.get("w-" + identity, 0)
            attempts = sum(event.identity == identity for event in self.events)
            if not known.count <= count <= known.count + attempts:
                raise Wrong(f"{identity} was counted {count} times, before {known.count}")
            if count > known.count:
                known.count, known.since, known.until = count, self.since, self.until
        compare(self.model.totals(), found)

    def settle_killed(self, found):
        """After a kill: some first part of the events was applied, the rest not. Returns the model of the longest
        such part."""
        model, fitting = self.before, None
        for event in [*self.events, None]:
            if disagreement(model.totals(), found, self.open) is None:
                fitting = model.snapshot()
            if event is not None:
                model.judge(event, self.since, self.until)
        if fitting is None:
            raise Wrong("after a kill the counters hold no first part of the events: "
                        + disagreement(self.model.totals(), found, self.open))
        return fitting


def disagreement(expected, found, except_for=()):
    for key in sorted(set(expected) | set(found)):
        if except_for and (key[2:] in except_for or key == "sum"):
            continue
        if expected.get(key, 0) != found.get(key, 0):
            return f"{key} is {found.get(key, 0)}, and should be {expected.get(key, 0)}"
    return None


def compare(expected, found):
    wrong = disagreement(expected, found)
    if wrong is not None:
        raise Wrong(wrong)
