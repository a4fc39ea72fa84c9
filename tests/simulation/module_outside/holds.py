"""What holds should answer: value and held never pass the limit together, except by FORCE; a lease never ends early, and ends; a
hold ends once, and how it ended is known for the table's window. Near the borders, where clocks are not read at one moment, either
answer is right."""

import dataclasses

from fleet import UNSURE_MS, Wrong

MOST = 40
COUNTER = "held"


@dataclasses.dataclass(frozen=True)
class Hold:
    state: str  # open, expired, settled, released
    amount: int
    at_ms: int  # by the table's time: when the lease began, or when it ended
    slow_ms: int  # by how much the table's time might have been behind then, and ahead
    fast_ms: int
    lease_ms: int = 0  # at least
    longest_ms: int = 0  # at most
    actual: int = None


def is_over(table, hold, more_ms, now_ms):
    """Whether the lease, and so much time more, is over: None is perhaps."""
    passed_ms = now_ms + table.base_ms - hold.at_ms
    if passed_ms + table.fast_ms - hold.fast_ms + UNSURE_MS <= hold.lease_ms + more_ms:
        return False
    if passed_ms - (table.slow_ms - hold.slow_ms) - UNSURE_MS > hold.longest_ms + more_ms:
        return True
    return None


def made(table, state, amount, now_ms, **more):
    return Hold(state, amount, now_ms + table.base_ms, table.slow_ms, table.fast_ms, **more)


class Holds:
    """The steps that a simulation does with holds; `call` sends a command to the master. The limit is on the total, so that
    the model needs no wall clock; buckets are added up."""

    def __init__(self, call):
        self.call = call
        self.next_id = 0

    def step(self, draw, key, table, now_ms):
        for _ in range(draw.randint(1, 12)):
            self.observe(key, table, now_ms)
            verb = draw.choice([self.hold, self.hold, self.hold, self.settle, self.settle, self.release, self.take, self.take_away])
            verb(draw, key, table, f"h{draw.randrange(6)}", now_ms)
            self.check_sums(key, table)

    def listed(self, key):
        found, cursor = set(), 0
        while True:
            cursor, some = self.call("ONCE.HOLDS", key, cursor, "COUNT", 100)
            found.update(one[0].decode() for one in some)
            if cursor == b"0":
                return found

    def observe(self, key, table, now_ms):
        """Whose leases have ended meanwhile. One that the timer may end at any moment is released, so that the model knows."""
        listed = self.listed(key)
        for identity, hold in table.holds.items():
            if identity in listed and hold.state != "open":
                raise Wrong(f"{key} {identity}: is open again; it was {hold}")
            if identity not in listed and hold.state == "open":
                if is_over(table, hold, 0, now_ms) is False:
                    raise Wrong(f"{key} {identity}: its lease ended early; it was {hold}, at {now_ms + table.base_ms}")
                longest_ms = now_ms + table.base_ms - hold.at_ms + UNSURE_MS + table.fast_ms - hold.fast_ms
                table.holds[identity] = dataclasses.replace(hold, state="expired", longest_ms=longest_ms)
            elif hold.state == "open" and is_over(table, hold, 0, now_ms) is not False:
                if self.call("ONCE.RELEASE", key, identity) != 1:
                    raise Wrong(f"{key} {identity}: cannot be released; it was {hold}")
                table.holds[identity] = made(table, "released", hold.amount, now_ms)
        unknown = listed - set(table.holds)
        if unknown:
            raise Wrong(f"{key}: {unknown} are listed, and were never held")

    @staticmethod
    def held(table):
        return sum(hold.amount for hold in table.holds.values() if hold.state == "open")

    def left(self, table):
        return MOST - table.counters.get(COUNTER, 0) - self.held(table)

    @staticmethod
    def add(table, amount):
        table.counters[COUNTER] = table.counters.get(COUNTER, 0) + amount

    def check_sums(self, key, table):
        value, left, _ = self.call("ONCE.PEEK", key, COUNTER, "LIMIT", MOST)
        if (value, left) != (table.counters.get(COUNTER, 0), max(0, self.left(table))):
            raise Wrong(f"{key}: {value} are counted and {left} left, not {table.counters.get(COUNTER, 0)} and {self.left(table)}")

    @staticmethod
    def forgotten(table, identity, now_ms):
        hold = table.holds.get(identity)
        if hold is None:
            return True
        return False if hold.state == "open" else is_over(table, hold, table.window_ms, now_ms)

    def hold(self, draw, key, table, identity, now_ms):
        hold, forgotten = table.holds.get(identity), self.forgotten(table, identity, now_ms)
        amount = hold.amount if hold and draw.random() < 0.7 else draw.randint(1, 15)
        lease_ms = int(table.window_ms * draw.choice([0.05, 0.3, 0.8, 1.5]))
        answer = self.call("ONCE.HOLD", key, identity, COUNTER, amount, "LIMIT", MOST, "LEASE", lease_ms)
        if isinstance(answer, Exception):
            right = str(answer).startswith("MISMATCH") and forgotten is not True and amount != hold.amount
        elif answer[0] == 0:
            right = forgotten is not True and amount == hold.amount
        else:
            right = forgotten is not False and (answer[0] == 1) == (amount <= self.left(table))
            table.holds.pop(identity, None)
            if answer[0] == 1:
                table.holds[identity] = made(table, "open", amount, now_ms, lease_ms=lease_ms, longest_ms=lease_ms)
        if not right:
            raise Wrong(f"{key} {identity}: to hold {amount} is answered with {answer}; it was {hold}, {self.left(table)} are left")

    def known(self, key, table, identity, now_ms, answer, is_mismatch):
        """Whether the answer is about a hold that is known and agrees."""
        hold, forgotten = table.holds.get(identity), self.forgotten(table, identity, now_ms)
        if isinstance(answer, Exception) and str(answer).startswith("NOHOLD"):
            right = forgotten is not False
            table.holds.pop(identity, None)
        else:
            right = forgotten is not True and is_mismatch == (isinstance(answer, Exception) and str(answer).startswith("MISMATCH"))
        if not right:
            raise Wrong(f"{key} {identity}: {answer}; it was {hold}, at {now_ms + table.base_ms}")
        return not isinstance(answer, Exception)

    def settle(self, draw, key, table, identity, now_ms):
        hold = table.holds.get(identity)
        actual = hold.amount if hold and draw.random() < 0.5 else draw.randint(0, 25)
        if hold and hold.state == "settled" and draw.random() < 0.6:
            actual = hold.actual
        force = ["FORCE"] if draw.random() < 0.1 else []
        answer = self.call("ONCE.SETTLE", key, identity, actual, *force)
        is_mismatch = hold is not None and (hold.state == "released" or hold.state == "settled" and actual != hold.actual)
        if not self.known(key, table, identity, now_ms, answer, is_mismatch):
            return
        more = actual - (hold.amount if hold.state == "open" else 0)
        expected = 0 if hold.state == "settled" else 1 if more <= max(0, self.left(table)) or force else -1
        if answer[0] != expected:
            raise Wrong(f"{key} {identity}: to settle {actual} is answered with {answer}; it was {hold}, {self.left(table)} are left")
        if expected == 1:
            table.holds[identity] = made(table, "settled", hold.amount, now_ms, actual=actual)
            self.add(table, actual)

    def release(self, draw, key, table, identity, now_ms):
        hold = table.holds.get(identity)
        answer = self.call("ONCE.RELEASE", key, identity)
        if self.known(key, table, identity, now_ms, answer, hold is not None and hold.state == "settled"):
            if answer != int(hold.state != "released"):
                raise Wrong(f"{key} {identity}: RELEASE is answered with {answer}; it was {hold}")
            if answer == 1:
                table.holds[identity] = made(table, "released", hold.amount, now_ms)

    def change(self, key, table, amount, *words):
        self.next_id += 1
        answer = self.call("ONCE.TAKE", key, f"th-{self.next_id}", COUNTER, amount, *words)
        fits = amount <= self.left(table) if amount > 0 else table.counters.get(COUNTER, 0) + amount >= 0
        if isinstance(answer, Exception) or answer[0] != (1 if fits else -1):
            raise Wrong(f"{key}: to take {amount} is answered with {answer}; {self.left(table)} are left")
        if fits:
            self.add(table, amount)

    def take(self, draw, key, table, _identity, _now_ms):
        self.change(key, table, draw.randint(1, 8), "LIMIT", MOST)

    def take_away(self, draw, key, table, _identity, _now_ms):
        self.change(key, table, -draw.randint(1, 30), "FLOOR", 0)

    def check(self, key, table, now_ms):
        self.observe(key, table, now_ms)
        self.check_sums(key, table)
