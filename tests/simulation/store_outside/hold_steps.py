"""The steps of the simulation of a store that are about holds: placed, settled and released, beside takes from the same counters,
by commands some of which are killed.

What is held is of the counters s-7 and s-8. Whether a lease has ended is judged by the true time, whatever was done to the
clocks: near its end, either may be. After a command that was killed the store is looked at: it is as before, or as the command
would have made it, the counter and the hold together."""

import dataclasses
import decimal
import json

from claim_steps import BLUR_MS
from model import HELD_KEYS, Wrong, compare


@dataclasses.dataclass(frozen=True)
class Hold:
    state: str = "none"  # none, open (also after the lease), settled, released
    key: str = ""
    amount: decimal.Decimal = decimal.Decimal(0)
    limit: decimal.Decimal = decimal.Decimal(0)
    actual: decimal.Decimal = None
    least_ms: int = 0  # true time: the end of the lease, or when it was settled or released
    most_ms: int = 0
    boots: int = 0

    def may_be_past(self, after_ms, to_ms):
        return self.state == "none" or to_ms + BLUR_MS > self.least_ms + after_ms

    def must_be_past(self, after_ms, from_ms, boots):
        return self.state == "none" or (self.boots == boots and from_ms > self.most_ms + after_ms + BLUR_MS)


class HoldSteps:
    def forget_holds(self):
        """The store is another one: what it has is read before the next step."""
        self.holds = None

    def read_holds(self):
        served = self.door.holds() if self.door is not None else None
        if served is not None:
            return served
        result = self.world.lethe("hold", "list", "--db", "store", "--all", "--json")
        if result.code != 0:
            raise Wrong(str(result))
        rows = (json.loads(line, parse_float=decimal.Decimal) for line in result.output.splitlines())
        return {row["id"]: row for row in rows}

    def learn_holds(self):
        """Takes over what the store shows; when leases end is not known."""
        now = self.world.elapsed_ms()
        self.holds = {f"job-{number}": Hold() for number in range(5)}
        for name, row in self.read_holds().items():
            is_open = row["state"] == "open"
            state = "open" if row["state"] == "lapsed" else row["state"]
            actual = decimal.Decimal(row["actual"]) if "actual" in row else None
            self.holds[name] = Hold(state, row["key"], decimal.Decimal(row["amount"]), decimal.Decimal(row["limit"]), actual,
                                    now + row["left_ms"] if is_open else 0, now, -1)

    def held_of(self, key, call, without):
        """What may be held at the least, and at the most."""
        least = most = decimal.Decimal(0)
        for name, hold in self.holds.items():
            if name == without or hold.state != "open" or hold.key != key:
                continue
            least += 0 if hold.may_be_past(0, call["to"]) else hold.amount
            most += 0 if hold.must_be_past(0, call["from"], call["boots"]) else hold.amount
        return least, most

    def room_for(self, key, more, limit, call, without=None):
        """Whether so much may be granted, and whether it may be refused."""
        least, most = self.held_of(key, call, without)
        return self.value_of(key) + least + more <= limit, self.value_of(key) + most + more > limit

    def allowed(self, name, call):
        """What may be answered, each with what the hold is afterwards, and what its counter gets."""
        hold, window = self.holds[name], self.modes.window_ms
        may_be_old = hold.may_be_past(window, call["to"])
        may_be_known = not hold.must_be_past(window, call["from"], call["boots"])
        amount, answers = call["amount"], {}
        if call["verb"] == "place":
            may_grant, may_refuse = self.room_for(call["key"], amount, call["limit"], call, name)
            is_same = (hold.key, hold.amount, hold.limit) == (call["key"], amount, call["limit"])
            if may_be_known:
                answers["duplicate" if is_same else "mismatch"] = (hold, 0)
            if may_be_old and may_refuse:
                answers["limited"] = (hold, 0)
            if may_be_old and may_grant:
                answers["held"] = (Hold("open", call["key"], amount, call["limit"], None, call["from"] + call["lease"],
                                        call["to"] + call["lease"], call["boots"]), 0)
            return answers
        if may_be_old:
            answers["unknown"] = (hold, 0)
        if not may_be_known:
            return answers
        ended = {"least_ms": call["from"], "most_ms": call["to"], "boots": call["boots"]}
        if call["verb"] == "release":
            word = {"open": "released", "released": "duplicate", "settled": "mismatch"}[hold.state]
            answers[word] = (dataclasses.replace(hold, state="released", **ended) if word == "released" else hold, 0)
        elif hold.state != "open":
            is_same = hold.state == "settled" and hold.actual == amount
            answers["duplicate" if is_same else "mismatch"] = (hold, 0)
        else:
            may_be_open = not hold.must_be_past(0, call["from"], call["boots"])
            may_have_lapsed = hold.may_be_past(0, call["to"])
            may_grant, may_refuse = self.room_for(hold.key, amount, hold.limit, call, name)
            is_free = call["force"] or may_be_open and amount <= hold.amount or may_have_lapsed and amount == 0
            is_judged = may_be_open and amount > hold.amount or may_have_lapsed and amount > 0
            if is_free or may_grant:
                answers["settled"] = (dataclasses.replace(hold, state="settled", actual=amount, **ended), amount)
            if not call["force"] and is_judged and may_refuse:
                answers["limited"] = (hold, 0)
        return answers

    def step_hold(self, draw):
        if not self.exists:
            return
        if self.modes.has_sketch:
            result = self.world.lethe("hold", "place", "--db", "store", "--limit", "5", "job-0", HELD_KEYS[0], "1")
            if result.code != 2:
                raise Wrong(f"a hold is not refused: {result}")
            return
        if self.holds is None:
            self.learn_holds()
        self.open_door(draw)
        try:
            for _ in range(draw.randint(1, 4)):
                if self.door is None or self.door.is_open:
                    self.hold_once(draw)
            if self.door is not None and self.door.is_open:
                self.look_at_holds()
        finally:
            self.close_door()
        self.look_at_holds()

    def draw_call(self, draw, name):
        unit = decimal.Decimal(1).scaleb(-self.modes.scale)
        key = draw.choice(HELD_KEYS)
        hold = self.holds[name]
        call = {"verb": draw.choice(["place", "place", "settle", "settle", "release"]), "key": key,
                "amount": draw.randint(1, 30) * unit, "limit": self.value_of(key) + draw.randint(0, 60) * unit,
                "lease": draw.choice([1, 2000, self.modes.window_ms // 2, 3 * self.modes.window_ms]),
                "force": draw.random() < 0.1}
        if call["verb"] == "place" and hold.state != "none" and draw.random() < 0.5:
            call.update(key=hold.key, amount=hold.amount, limit=hold.limit)
        if call["verb"] == "settle" and hold.state == "settled" and draw.random() < 0.5:
            call["amount"] = hold.actual
        return call

    def hold_once(self, draw):
        name = draw.choice(sorted(self.holds))
        call = self.draw_call(draw, name)
        words = ["hold", call["verb"], "--db", "store", "--json"]
        if call["verb"] == "place":
            words += ["--limit", str(call["limit"]), "--lease", f"{call['lease']}ms", name, call["key"], str(call["amount"])]
        elif call["verb"] == "settle":
            words += [*(["--force"] if call["force"] else []), name, str(call["amount"])]
        else:
            words += [name]
        self.taken_keys.update(HELD_KEYS)
        faults = {"LETHE_FAULT_AT": str(draw.randint(1, 40)), "LETHE_FAULT_ACTION": "kill"} if draw.random() < 0.2 else None
        faults = faults if self.door is None else self.door.faults
        call.update({"boots": self.world.boots, "from": self.world.elapsed_ms()})
        result = self.command(*words, faults=faults)
        call["to"] = self.world.elapsed_ms()
        allowed = self.allowed(name, call)
        if result.code in (0, 1, 3) and result.output:
            answer = json.loads(result.output)["answer"]
            if answer not in allowed:
                raise Wrong(f"{name} is {self.holds[name]}, and {call} is answered {answer}, not one of {sorted(allowed)}")
            self.take_over(name, *allowed[answer])
        elif faults is None:
            raise Wrong(str(result))
        else:
            self.hold_after_fault(name, call, allowed)

    def take_over(self, name, hold, more):
        self.holds[name] = hold
        if more != 0:
            self.model.settings[hold.key] = self.value_of(hold.key) + more

    def hold_after_fault(self, name, call, allowed):
        """It was done as a whole, or not at all."""
        made = {"place": "held", "settle": "settled", "release": "released"}[call["verb"]]
        row = self.read_holds().get(name)
        word = {"held": "open", "settled": "settled", "released": "released"}[made]
        is_made = made in allowed and row is not None and (row["state"] == word or made == "held" and row["state"] == "lapsed")
        if is_made and made == "held" and self.holds[name].state == "open":
            self.learn_holds()  # the one before, or a new one: no counter says which
        elif is_made:
            self.take_over(name, *allowed[made])

    def look_at_holds(self):
        before = self.world.elapsed_ms()
        shown = self.read_holds()
        after = self.world.elapsed_ms()
        for name, hold in self.holds.items():
            if not self.hold_is_shown(hold, shown.get(name), before, after):
                raise Wrong(f"{name} is shown as {shown.get(name)}, and was {hold}")
        compare(self.model.totals(), self.totals())

    def hold_is_shown(self, hold, row, from_ms, to_ms):
        if row is None:
            return hold.may_be_past(self.modes.window_ms, to_ms)
        if hold.state == "none" or (row["key"], row["amount"], row["limit"]) != (hold.key, hold.amount, hold.limit):
            return False
        if row["state"] == "open":
            return hold.state == "open" and not hold.must_be_past(0, from_ms, self.world.boots)
        if row["state"] == "lapsed":
            return hold.state == "open" and hold.may_be_past(0, to_ms)
        return row["state"] == hold.state and row.get("actual") == hold.actual
