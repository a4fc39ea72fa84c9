"""What a store should hold, by the promises alone.

The model keeps every id for ever, with the times between which it was last applied. A duplicate that comes within W of that must
be a duplicate, one that comes later than W and the slack must be applied; in between the store decides, and the model
follows. Every id has a counter of its own, its witness, to which every event of that id adds 1, or in a store with a
scale another amount: so an event that was lost or counted twice is known by name."""

import copy
import dataclasses

SLACK = 0.25
HELD_KEYS = ["s-7", "s-8"]  # counters that amounts are held of, and whose periods are the wall clock's


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
    scale: int = 0  # digits after the point, for the store's whole life
    amount: str = "1"  # what every event adds to its witness
    is_forgetful: bool = False  # the window is of the forgetful kind, for the store's whole life
    has_sketch: bool = False  # so large for so few keys that its estimates are exact


@dataclasses.dataclass
class Meters:
    """Which periods a store counts in; they only become more."""
    per: list = dataclasses.field(default_factory=list)
    offset_s: int = 0  # of the zone, whose clocks are never changed
    keep_ms: dict = dataclasses.field(default_factory=dict)  # by period; what is not there is kept for ever
    dropped_ms: dict = dataclasses.field(default_factory=dict)  # by period: what ended by then may be dropped


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
        # Of each time that it was applied: between which moments, by the clock that decides on periods; and how many
        # resolutions there were.
        self.spans = []


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
        self.wall = (world.wall_ms(), world.wall_ms())

    def end(self, world, is_sure=True):
        """It has ended. Returns the bounds of the store's time while it ran."""
        ended_ms = world.elapsed_ms()
        self.wall = (self.wall[0], world.wall_ms())
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
        self.settings = {}  # counters that only `set`, `del` and what is taken touch
        self.takes = {}  # ids that were taken or given up (take_steps.py)
        self.clock_ms = 0  # with event time: the latest event's
        self.meters = Meters()
        # (format, bytes, whether any event was counted or a duplicate): what was read of files, from their start
        self.read = []
        # Events on which the store could decide, and which a run that failed may have read or not: the next one may
        # read them, though the model knows no more of them.
        self.unsure = []

    def snapshot(self):
        return copy.deepcopy(self)

    def totals(self):
        """Every counter, exactly."""
        found = {"w-" + identity: known.count for identity, known in self.known.items()
                 if known.count > 0}
        total = sum(known.count for known in self.known.values() if known.is_double)
        return {**found, **self.settings, **({"sum": total} if total > 0 else {})}

    # Periods.

    def span(self, event):
        """Where an event of the current run is counted."""
        moments = (event.time_ms, event.time_ms) if self.modes.event_time else self.clock.wall
        return (*moments, len(self.meters.per))

    def note_dropped(self):
        """What is over for longer than it is kept may be gone, from now on."""
        now_ms = self.clock_ms if self.modes.event_time else self.clock.last[1]
        for by, keep_ms in self.meters.keep_ms.items():
            self.meters.dropped_ms[by] = max(self.meters.dropped_ms.get(by, 0), now_ms - keep_ms)

    # Reading files.

    def resume_at(self, form, content, counts_late=False):
        """How many bytes of a file with this content were read before. If nothing of them was counted, because all was
        late, --late count reads them again."""
        size, is_taken = max(((len(read), is_taken) for read_form, read, is_taken in self.read
                              if read_form == form and content.startswith(read)), default=(0, False))
        return size if is_taken or not counts_late else 0

    def note_read(self, form, content, outcomes):
        """It was read to its end, the last part with these outcomes."""
        is_taken = any(outcome not in ("late", "unreadable") for outcome in outcomes)
        kept = []
        for read_form, read, was_taken in self.read:
            if read_form == form and content.startswith(read):
                is_taken = is_taken or was_taken
            else:
                kept.append((read_form, read, was_taken))
        self.read = [*kept, (form, content, is_taken)]

    # Judging events.

    def judge(self, event, since, until, counts_late=False):
        """One of applied, applied late, duplicate, late, unreadable, either."""
        if event.is_broken:
            return "unreadable"
        modes, is_late = self.modes, False
        if modes.event_time:
            is_late = event.time_ms + modes.window_ms < self.clock_ms and not modes.forever
            if is_late and not counts_late:
                return "late"
            self.clock_ms = max(self.clock_ms, event.time_ms)
            since = until = self.clock_ms
        known = self.known.setdefault(event.identity, Known())
        known.is_double, known.time_ms = event.is_double, event.time_ms
        applied = "applied late" if is_late else "applied"
        if known.count == 0:
            self.apply(known, since, until, self.span(event))
            return applied
        if modes.forever or until - known.since <= modes.window_ms:
            return "duplicate"
        # Of a late event whatever is left of its id makes it a duplicate.
        slack = 0 if modes.exact and not is_late else modes.window_ms * SLACK
        if since - known.until > modes.window_ms + slack:
            self.apply(known, since, until, self.span(event))
            return applied
        known.until = max(known.until, until)  # it may have been now
        return "either"

    @staticmethod
    def apply(known, since, until, span):
        known.count += 1
        known.spans.append(span)
        known.since, known.until = since, until


def merge(lists):
    """The order in which files are merged by the time of their events: (number of the file, event) in turn."""
    heads, merged = [list(reversed(events)) for events in lists], []
    while any(heads):
        for number, events in enumerate(heads):
            while events and events[-1].is_broken:
                merged.append((number, events.pop()))
        times = [(events[-1].time_ms, number) for number, events in enumerate(heads) if events]
        if times:
            number = min(times)[1]
            merged.append((number, heads[number].pop()))
    return merged


class Expectation:
    """What a run over a list of events may leave."""

    def __init__(self, model, events, since, until, counts_late=False):
        self.model, self.events, self.since, self.until = model, events, since, until
        self.counts_late = counts_late
        self.before = model.snapshot()
        self.outcomes = [model.judge(event, since, until, counts_late) for event in events]
        self.unsure, model.unsure = model.unsure, []
        self.open = {event.identity for event, outcome in zip(events, self.outcomes)
                     if outcome == "either"} | {event.identity for event in self.unsure}

    def counts(self, outcome):
        return self.outcomes.count(outcome)

    def follow(self, model, found):
        """Takes over what the store has decided, where the promises leave it free."""
        since, until = self.since, self.until
        if model.modes.event_time:
            since, until = self.before.clock_ms, model.clock_ms
        for identity in self.open & set(model.known):
            known, before = model.known[identity], self.before.known.get(identity)
            count = found.get("w-" + identity, 0)
            mine = [event for event in [*self.events, *self.unsure] if event.identity == identity]
            if not known.count <= count <= known.count + len(mine):
                raise Wrong(f"{identity} was counted {count} times, before {known.count}")
            if count > known.count:
                known.spans += [model.span(mine[0])] * int(count - known.count)
                known.count, known.since, known.until = count, since, until
            elif before is not None and count == before.count and count > 0:
                known.since, known.until = before.since, before.until

    def settle(self, found):
        """Follows the store where the promises leave it free; then everything must agree."""
        self.follow(self.model, found)
        compare(self.model.totals(), found)

    def settle_killed(self, found):
        """After a kill: some first part of the events was applied, the rest not. Returns the model of the longest
        such part, and the rest."""
        model, fitting, rest, first = self.before.snapshot(), None, [], None
        for place, event in enumerate([*self.events, None]):
            if disagreement(model.totals(), found, self.open) is None:
                fitting, rest = model.snapshot(), self.events[place:]
                first = place if first is None else first
            if event is not None:
                model.judge(event, self.since, self.until, self.counts_late)
        if fitting is None:
            raise Wrong("after a kill the counters hold no first part of the events: "
                        + disagreement(self.model.totals(), found, self.open))
        if self.counts_late:
            self.follow(fitting, found)
        tail = list(zip(self.events, self.outcomes))[first:len(self.events) - len(rest)]
        fitting.unsure = [event for event, outcome in tail if outcome == "either"]
        return fitting, rest


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
