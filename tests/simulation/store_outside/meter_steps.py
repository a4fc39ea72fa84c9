"""The steps of the simulation of a store that are about periods: asked for at the start or later, more of them, kept for
longer or shorter; and what `lethe usage` must say of every counter.

The rule: of each counter and each resolution, rest and periods add up to the value. An event that was applied is in the period
of its time, or, where events have none, in one of the wall clock's while its run lasted; in the rest, if it was counted
before there was such a period, or if the period may have been dropped."""

import collections
import datetime
import decimal
import json

from model import HELD_KEYS, Wrong

MINUTE_MS, DAY_MS = 60_000, 86_400_000
LENGTHS_MS = {"1m": MINUTE_MS, "15m": 15 * MINUTE_MS, "1h": 60 * MINUTE_MS, "1d": DAY_MS, "1w": 7 * DAY_MS, "1mo": 31 * DAY_MS,
              "1y": 366 * DAY_MS}
# By the window: so that there are some periods, and not too many.
POOLS = {60_000: ["1m", "15m", "1h", "1d", "1mo"], 600_000: ["15m", "1h", "1d", "1mo"]}
LONG_POOL = ["1d", "1w", "1mo", "1y"]


def start_of(by, time_ms, offset_s):
    """The start of the period that a moment is in, in ms; the zone's clocks are never changed."""
    if LENGTHS_MS[by] < DAY_MS:
        return time_ms // LENGTHS_MS[by] * LENGTHS_MS[by]
    local = datetime.datetime.fromtimestamp(time_ms // 1000 + offset_s, datetime.timezone.utc)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0)
    if by == "1w":
        day -= datetime.timedelta(days=day.weekday())
    elif by == "1mo":
        day = day.replace(day=1)
    elif by == "1y":
        day = day.replace(month=1, day=1)
    return (int(day.timestamp()) - offset_s) * 1000


class MeterSteps:
    meter_checks = 0

    def open_with(self, *words):
        """A run without events, which only gives the store what it is asked for. A store by the events' time keeps that."""
        self.model.clock.begin(self.world)
        result = self.world.lethe("count", "--db", "store", "-q", *words, data=b"")
        self.model.clock.end(self.world)
        return result

    def begin_meters(self, draw):
        """A new store with periods."""
        result = self.open_with(*self.mode_words(draw), *self.draw_per(draw))
        if result.code != 0:
            raise Wrong(str(result))
        self.exists = True

    def draw_per(self, draw):
        meters = self.model.meters
        pool = POOLS.get(self.modes.window_ms, LONG_POOL)
        left = [by for by in pool if by not in meters.per]
        is_first = not meters.per
        meters.per = meters.per + draw.sample(left, min(len(left), draw.randint(1, 2)))
        words = ["--per", ",".join(meters.per)]
        if is_first and draw.random() < 0.5:
            meters.offset_s = 9 * 3600
            words += ["--zone", draw.choice(["Asia/Tokyo", "+09:00"])]
        return words

    def draw_keep(self, draw):
        meters = self.model.meters
        by = draw.choice(meters.per)
        lengths = draw.choice([1, 2, 10, None])
        # What was dropped by now stays so.
        self.model.note_dropped()
        if lengths is None:
            meters.keep_ms.pop(by, None)
            return ["--keep", f"{by}=ever"]
        meters.keep_ms[by] = lengths * LENGTHS_MS[by]
        return ["--keep", f"{by}={meters.keep_ms[by] // MINUTE_MS}m"]

    def step_meter(self, draw):
        if not self.exists:
            return
        if self.modes.has_sketch:
            result = self.open_with("--per", "1d")
            if result.code != 2:
                raise Wrong(f"a sketch has no periods: {result}")
            return
        if not self.model.meters.per or draw.random() < 0.5:
            words = self.draw_per(draw)
        else:
            words = self.draw_keep(draw)
        result = self.open_with(*words)
        if result.code != 0:
            raise Wrong(str(result))
        self.check_meters()
        if len(self.model.meters.per) > 1:
            result = self.open_with("--per", self.model.meters.per[-1])
            if result.code != 2:
                raise Wrong(f"periods are taken away: {result}")
        result = self.open_with("--per", ",".join(self.model.meters.per), "--zone", "America/Lima")
        if result.code != 2:
            raise Wrong(f"the zone is changed: {result}")

    def usage_lines(self, by, folder, keys):
        """What lethe usage prints. Counters that are held have periods by the wall clock, and the periods between those
        and the events', years before, would be millions of lines: such a counter is asked for by itself."""
        alone = [key for key in keys if key in HELD_KEYS and self.modes.event_time]
        asked = [["--prefix", "w-"], *[[key] for key in sorted(keys) if not key.startswith("w-")]] if alone else [[]]
        for words in asked:
            result = self.world.lethe("usage", "--db", folder, "--by", by, "--json", *words)
            if result.code != 0:
                raise Wrong(str(result))
            yield from result.output.splitlines()

    def read_usage(self, by, folder, keys):
        """By key: what is in each period, and the rest."""
        amount = decimal.Decimal(self.modes.amount)
        found, rests = collections.defaultdict(dict), collections.Counter()
        for line in self.usage_lines(by, folder, keys):
            row = json.loads(line, parse_float=decimal.Decimal, parse_int=decimal.Decimal)
            unit = 1 if row["key"].startswith("s-") else amount
            if "rest" in row:
                rests[row["key"]] = row["rest"] / unit
            elif row["value"] != 0:
                start_ms = int(datetime.datetime.fromisoformat(row["from"]).timestamp()) * 1000
                found[row["key"]][start_ms] = row["value"] / unit
        return found, rests

    def check_counter(self, key, by, periods, rest, value, spans):
        meters = self.model.meters
        if sum(periods.values()) + rest != value:
            raise Wrong(f"{key} is {value}, and per {by} it is {periods} and a rest of {rest}")
        if spans is None:
            return  # what is taken has a period too, and the model knows only its sum
        least, most = collections.Counter(), collections.Counter()
        place = meters.per.index(by)
        for since_ms, until_ms, count in spans:
            if place >= count:
                continue  # it was counted before there was such a period
            starts = {start_of(by, moment, meters.offset_s) for moment in (since_ms, until_ms)}
            for start in starts:
                most[start] += 1
            start = max(starts)
            may_be_dropped = start + LENGTHS_MS[by] <= self.model.meters.dropped_ms.get(by, 0) + DAY_MS
            least[start] += len(starts) == 1 and not may_be_dropped
        for start in set(periods) | set(least):
            if not least[start] <= periods.get(start, 0) <= most[start]:
                raise Wrong(f"{key} per {by} is {periods.get(start, 0)} at {start}, and should be {least[start]} to "
                            f"{most[start]}; rest {rest}, value {value}, {spans}, {meters}")

    def check_meters(self, folder="store"):
        """The sums agree, and each witness is where it belongs; one resolution in turn."""
        if not self.model.meters.per:
            return
        self.model.note_dropped()
        totals = self.model.totals()
        self.meter_checks += 1
        by = self.model.meters.per[self.meter_checks % len(self.model.meters.per)]
        found, rests = self.read_usage(by, folder, totals)
        for key in sorted(set(totals) | set(found) | set(rests)):
            known = self.model.known.get(key[2:]) if key.startswith("w-") else None
            if key == "sum":
                spans = [span for each in self.model.known.values() if each.is_double for span in each.spans]
            elif key in self.taken_keys:
                spans = None
            else:
                spans = known.spans if known is not None else []
            self.check_counter(key, by, found[key], rests[key], totals.get(key, 0), spans)
