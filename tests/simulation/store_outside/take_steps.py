"""The steps of the simulation of a store that are about limits: taking, giving up, counting under a limit.

What is taken goes to the counters s-0 to s-5, beside what `set` and `del` do to them. The model knows their values, so it knows
what every limit must lead to: a bound is never passed, and nothing is refused that fits."""

import dataclasses
import decimal
import json

from model import SLACK, Wrong, compare


@dataclasses.dataclass
class Taken:
    """An id that was applied or given up, and between which times that was, by the store's clock."""
    key: str
    amount: decimal.Decimal
    since: int
    until: int
    is_given_up: bool = False


class TakeSteps:
    def draw_amount(self, draw):
        return decimal.Decimal(draw.randint(1, 60) * draw.choice([1, 1, -1])).scaleb(-self.modes.scale)

    def value_of(self, key):
        return decimal.Decimal(self.model.settings.get(key, 0))

    def draw_bound(self, draw, key, amount):
        """A limit that is just kept, or just not, or far away."""
        unit = decimal.Decimal(1).scaleb(-self.modes.scale)
        room = unit * draw.choice([-1, -1, 0, 0, 30])
        sign = 1 if amount > 0 else -1
        return self.value_of(key) + amount + sign * room, room >= 0

    def refuse_take(self):
        result = self.world.lethe("take", "--db", "store", "--limit", "5", "t-refused", "s-0", "1")
        if result.code != 2:
            raise Wrong(f"a limit is not refused: {result}")
        compare(self.model.totals(), self.totals())

    def age_of(self, taken, since, until):
        """Whether the id must be known, need not be, or either."""
        window = self.modes.window_ms
        if self.modes.forever or until - taken.since <= window:
            return "known"
        return "unknown" if since - taken.until > window * (1 if self.modes.exact else 1 + SLACK) else "either"

    def step_take(self, draw):
        if not self.exists:
            return
        if self.modes.event_time and not self.model.known:
            return  # the first event that is applied decides on the kind of time
        if self.modes.has_sketch or self.modes.event_time:
            self.refuse_take()
            return
        if self.model.meters.per and draw.random() < 0.25:
            self.take_in_period(draw)
            return
        takes = self.model.takes
        if takes and draw.random() < 0.4:
            identity = draw.choice(sorted(takes))
            key, amount = takes[identity].key, takes[identity].amount
        else:
            self.next_id += 1
            identity, key, amount = f"t{self.next_id:06d}", f"s-{draw.randrange(6)}", self.draw_amount(draw)
        bound, fits = self.draw_bound(draw, key, amount)
        gives_up = draw.random() < 0.2
        words = ["give-up", "--json", "--db", "store", identity] if gives_up else [
            "take", "--json", "--db", "store", "--limit" if amount > 0 else "--min", str(bound), identity, key, str(amount)]
        self.taken_keys.add(key)
        faults = self.draw_faults(draw) if draw.random() < 0.3 and not gives_up and identity not in takes else None
        cuts = faults is not None and faults.pop("cut", None) is not None
        if cuts:
            faults.update(self.world.shadow_begin())
        self.model.clock.begin(self.world)
        if faults is None and not gives_up:
            self.open_door(draw, may_kill=identity not in takes)
        if self.door is not None:
            faults = self.door.faults
        try:
            result = self.command(*words, faults=faults)
        finally:
            self.close_door()
        since, until = self.model.clock.end(self.world, faults is None)
        new = Taken(key, amount, since, until, gives_up)
        if faults is not None:
            self.take_after_fault(draw, result, identity, new, fits, cuts)
            return
        before = takes.get(identity)
        age = self.age_of(before, since, until) if before else "unknown"
        fresh = ("given up", 0) if gives_up else ("applied", 0) if fits else ("limited", 1)
        allowed = ([fresh] if age != "known" else []) + ([self.repeated(before, gives_up)] if age != "unknown" else [])
        outcome = result.json()["outcome"] if result.code in (0, 1) else "mismatch"
        if (outcome, result.code) not in allowed:
            raise Wrong(f"{result}\n{outcome}, expected {allowed}")
        if (outcome, result.code) == fresh and outcome != "limited":
            takes[identity] = new
            if not gives_up:
                self.model.settings[key] = self.value_of(key) + amount
        compare(self.model.totals(), self.totals())

    def take_in_period(self, draw):
        """A limit on the present period: what is said of it agrees with what it led to, and with what the counter gets."""
        self.next_id += 1
        identity, key, amount = f"t{self.next_id:06d}", f"s-{draw.randrange(6)}", abs(self.draw_amount(draw))
        limit = decimal.Decimal(draw.randint(0, 150)).scaleb(-self.modes.scale)
        by = draw.choice(self.model.meters.per)
        self.taken_keys.add(key)
        self.model.clock.begin(self.world)
        result = self.world.lethe("take", "--json", "--db", "store", "--limit", f"{limit}/{by}", identity, key, str(amount))
        since, until = self.model.clock.end(self.world)
        if result.code not in (0, 1):
            raise Wrong(str(result))
        said = json.loads(result.output, parse_float=decimal.Decimal)
        value, left, is_applied = decimal.Decimal(said["value"]), decimal.Decimal(said["left"]), said["outcome"] == "applied"
        if is_applied != (result.code == 0) or is_applied != (said["outcome"] != "limited"):
            raise Wrong(f"{result}\n{said}")
        if is_applied and (value > limit or left != limit - value) or not is_applied and left >= amount or \
                said["resets_ms"] is None:
            raise Wrong(f"{result}\n{said} under a limit of {limit}, with {amount} more")
        if is_applied:
            self.model.takes[identity] = Taken(key, amount, since, until)
            self.model.settings[key] = self.value_of(key) + amount
        compare(self.model.totals(), self.totals())

    def repeated(self, before, gives_up):
        """What an id that is known is called. What was applied differs from what was given up in its payload."""
        differs = self.modes.check_payload and before.is_given_up != gives_up
        if gives_up:
            return ("applied" if differs else "duplicate", 1)
        return ("mismatch", 3) if differs else ("duplicate", 0)

    def take_after_fault(self, draw, result, identity, new, fits, cuts):
        """It was applied, if it fits, or not; for certain if the command said so."""
        if result.code not in (0, 1, -9, 4):
            raise Wrong(f"{result}\nafter a fault expected exit 4")
        if cuts:
            self.world.cut_power(draw)
        after = self.value_of(new.key) + new.amount
        found = self.totals()
        is_there = found.get(new.key) == after and fits
        if is_there:
            self.model.takes[identity] = new
            self.model.settings[new.key] = after
        elif result.code == 0:
            raise Wrong(f"{result}\nit was acknowledged, and {new.key} is {found.get(new.key)}")
        compare(self.model.totals(), found)

    def step_limit(self, draw):
        """Events under a limit: those that would pass it are skipped, and no others."""
        if not self.exists:
            return
        limit = decimal.Decimal(draw.randint(-50, 200)).scaleb(-self.modes.scale)
        values, lines, limited, new = {}, [], 0, {}
        time_ms = max(self.model.clock_ms, self.time_ms)
        for _ in range(draw.randint(1, 20)):
            self.next_id += 1
            identity, key, amount = f"u{self.next_id:06d}", f"s-{draw.randrange(6)}", self.draw_amount(draw)
            lines.append("\t".join([identity, key, str(amount), str(time_ms)]) + "\n")
            self.taken_keys.add(key)
            value = values.get(key, self.value_of(key))
            if amount > 0 and value + amount > limit:
                limited += 1
            else:
                values[key] = value + amount
                new[identity] = (key, amount)
        fields = "id=1,key=2,delta=3" + (",time=4" if self.modes.event_time else "")
        words = ["count", "--db", "store", "--json", "--fields", fields, "--limit", str(limit), *self.other_words(draw),
                 *(["--time-unit", "ms"] if self.modes.event_time else [])]
        self.model.clock.begin(self.world)
        result = self.world.lethe(*words, data="".join(lines).encode())
        since, until = self.model.clock.end(self.world)
        if self.modes.has_sketch:
            if result.code != 2:
                raise Wrong(f"a limit is not refused: {result}")
        else:
            self.was_cut_off = False
            if result.json()["limited"] != limited or (limited > 0 and result.code != 5):
                raise Wrong(f"{limited} events should be limited: {result}\n{result.output}")
            self.model.settings.update(values)
            if self.modes.event_time:
                self.model.clock_ms = self.time_ms = time_ms
            else:
                for identity, (key, amount) in new.items():
                    self.model.takes[identity] = Taken(key, amount, since, until)
        compare(self.model.totals(), self.totals())
