"""What claims should answer: one holder at a time, by the table's own time; what is done stays done, with its first reply, for
the table's window; near the borders, where clocks are not read at one moment, either answer is right."""

import dataclasses

from fleet import UNSURE_MS, Wrong


@dataclasses.dataclass(frozen=True)
class Claim:
    holder: str
    at_ms: int  # by the table's time: when the lease began, or when it was done
    slow_ms: int  # by how much the table's time might have been behind then, and ahead
    fast_ms: int
    lease_ms: int = 0  # at least
    longest_ms: int = 0  # at most
    reply: str = None  # of one that is done


def is_over(table, claim, more_ms, now_ms):
    """Whether the lease, and so much time more, is over: None is perhaps."""
    passed_ms = now_ms + table.base_ms - claim.at_ms
    if passed_ms + table.fast_ms - claim.fast_ms + UNSURE_MS <= claim.lease_ms + more_ms:
        return False
    if passed_ms - (table.slow_ms - claim.slow_ms) - UNSURE_MS > claim.longest_ms + more_ms:
        return True
    return None


def made(table, holder, now_ms, **more):
    return Claim(holder, now_ms + table.base_ms, table.slow_ms, table.fast_ms, **more)


class Claims:
    """The steps that a simulation does with claims; `call` sends a command about a claim to the master."""

    def __init__(self, call):
        self.call = call
        self.replies = 0

    def step(self, draw, key, table, now_ms):
        for _ in range(draw.randint(1, 12)):
            identity = f"c{draw.randrange(6)}"
            claim = table.claims.get(identity)
            holder = claim.holder if claim and draw.random() < 0.5 else f"h{draw.randrange(3)}"
            verb = draw.choice([self.begin, self.begin, self.done, self.done, self.abort, self.renew, self.keep])
            verb(draw, key, table, identity, holder, now_ms)

    def ask(self, verb, key, *words):
        answer = self.call(f"ONCE.{verb}", key, *words)
        if isinstance(answer, Exception):
            raise Wrong(f"ONCE.{verb} {key} {words}: {answer}")
        return answer[0].decode(), answer[1:]

    def begin(self, draw, key, table, identity, holder, now_ms):
        claim = table.claims.get(identity)
        lease_ms = int(table.window_ms * draw.choice([0.05, 0.3, 0.8]))
        word, rest = self.ask("BEGIN", key, identity, holder, "LEASE", lease_ms)
        forgotten = claim is None or is_over(table, claim, table.window_ms, now_ms)
        is_done = claim is not None and claim.reply is not None
        is_mine = claim is not None and not is_done and claim.holder == holder
        over = claim is None or (not is_done and is_over(table, claim, 0, now_ms))
        if word == "new":
            right = forgotten is not False or is_mine or over is not False
            left_ms = claim.longest_ms - (now_ms + table.base_ms - claim.at_ms) + UNSURE_MS + table.slow_ms if is_mine else 0
            table.claims[identity] = made(table, holder, now_ms, lease_ms=lease_ms, longest_ms=max(lease_ms, left_ms))
        elif word == "running":
            right = claim is not None and not is_done and not is_mine and over is not True
        else:
            right = is_done and forgotten is not True and rest == [claim.reply.encode()]
        if not right:
            raise Wrong(f"{key} {identity}: {holder} is answered with {word} {rest}; it was {claim}, at {now_ms + table.base_ms}")

    def of_holder(self, verb, key, table, identity, holder, now_ms, *words):
        """What is answered to who says to be the holder: the word, and whether he is."""
        claim = table.claims.get(identity)
        word, rest = self.ask(verb, key, identity, holder, *words)
        forgotten = claim is None or is_over(table, claim, table.window_ms, now_ms)
        if word == "unknown":
            right = forgotten is not False
            table.claims.pop(identity, None)
        else:
            right = forgotten is not True and (word == "lost") == (claim.holder != holder)
        if not right:
            raise Wrong(f"{key} {identity}: {verb} of {holder} is answered with {word}; it was {claim}")
        return word, rest, claim if word not in ("unknown", "lost") else None

    def done(self, draw, key, table, identity, holder, now_ms):
        self.replies += 1
        reply = f"reply-{self.replies}" * draw.choice([0, 1, 50])
        word, rest, claim = self.of_holder("DONE", key, table, identity, holder, now_ms, reply)
        if claim is None:
            return
        if (word, rest) != ("done" if claim.reply is None else "duplicate", [1]):
            raise Wrong(f"{key} {identity}: DONE is answered with {word} {rest}; it was {claim}")
        if word == "done":
            table.claims[identity] = made(table, holder, now_ms, reply=reply)

    def abort(self, draw, key, table, identity, holder, now_ms):
        word, _, claim = self.of_holder("ABORT", key, table, identity, holder, now_ms)
        if claim is not None and word != ("aborted" if claim.reply is None else "done"):
            raise Wrong(f"{key} {identity}: ABORT is answered with {word}; it was {claim}")
        if word == "aborted":
            del table.claims[identity]

    def renew(self, draw, key, table, identity, holder, now_ms):
        lease_ms = draw.randint(1, table.window_ms)
        word, rest, claim = self.of_holder("RENEW", key, table, identity, holder, now_ms, "LEASE", lease_ms)
        if claim is not None and word != ("renewed" if claim.reply is None else "done"):
            raise Wrong(f"{key} {identity}: RENEW is answered with {word}; it was {claim}")
        if word == "renewed":
            if rest[0] < lease_ms:
                raise Wrong(f"{key} {identity}: a lease of {lease_ms} ms ends in {rest[0]}")
            table.claims[identity] = made(table, holder, now_ms, lease_ms=rest[0], longest_ms=rest[0])

    def keep(self, draw, key, table, identity, holder, now_ms):
        """A command whose reply is kept: the same again within the window, and never another's. Its ids are its own."""
        identity = "k" + identity
        claim = table.claims.get(identity)
        command = ["RPUSH", "list", identity]
        answer = self.call("ONCE.CALL", key, identity, "KEEP", *command)
        if isinstance(answer, Exception):
            raise Wrong(f"ONCE.CALL {key} {identity}: {answer}")
        code, length = answer
        forgotten = claim is None or is_over(table, claim, table.window_ms, now_ms)
        if code != 1 and (code != 0 or forgotten is True or str(length) != claim.reply) or code == 1 and forgotten is False:
            raise Wrong(f"{key} {identity}: {command} is answered with {answer}; it was {claim}")
        if code == 1:
            table.claims[identity] = made(table, "call", now_ms, reply=str(length))
        elif forgotten is None:
            return  # it may be over at any moment
        other = self.call("ONCE.CALL", key, identity, "KEEP", *command, "more")
        if not str(other).startswith("MISMATCH"):
            raise Wrong(f"{key} {identity}: another command is answered with {other}")

    def check(self, key, table, now_ms):
        """What is done, or held, is listed so; what is over is not."""
        listed, cursor = {}, 0
        while True:
            cursor, some = self.call("ONCE.CLAIMS", key, cursor, "COUNT", 100)
            listed.update((one[0].decode(), one[1]) for one in some)
            if cursor == b"0":
                break
        for identity, claim in table.claims.items():
            forgotten = is_over(table, claim, table.window_ms, now_ms)
            state = listed.pop(identity, None)
            if forgotten is False and (state == b"done") != (claim.reply is not None) or forgotten is True and state:
                raise Wrong(f"{key} {identity}: is listed as {state}; it was {claim}")
        if listed:
            raise Wrong(f"{key}: {listed} are listed, and were never begun")
