"""The steps of the simulation of a store that are about claims: begun, renewed, done and aborted by several, some of whom are
killed.

A claim is held to a list of what it may be. A command that ends keeps what explains its answer; one that is killed adds what it
may have made. Leases and W are judged by the true time, whatever was done to the clocks."""

import dataclasses
import json

from model import Wrong

# What a command takes, at most, between reading a clock here and there.
BLUR_MS = 5


@dataclasses.dataclass(frozen=True)
class Claim:
    kind: str = "none"  # none, open, done
    token: str = ""
    reply: str = ""
    least_ms: int = 0  # true time: the end of the lease, or when it was done
    most_ms: int = 0
    boots: int = 0

    def may_be_past(self, after_ms, to_ms):
        return self.kind == "none" or to_ms + BLUR_MS > self.least_ms + after_ms

    def must_be_past(self, after_ms, from_ms, boots):
        return self.kind == "none" or (self.boots == boots and from_ms > self.most_ms + after_ms + BLUR_MS)


class ClaimSteps:
    def forget_claims(self):
        """Nothing is known of them: the store is another one."""
        self.claims = {f"work-{number}": [] for number in range(3)}

    def explain(self, claim, answer, call):
        """What the claim is after a call that is answered so; None if it can't be."""
        window, is_own = self.modes.window_ms, claim.token == call["token"]
        may_be_old = claim.may_be_past(window, call["to"])
        must_be_old = claim.must_be_past(window, call["from"], call["boots"])
        is_open, is_done = claim.kind == "open", claim.kind == "done"
        if answer in ("new", "renewed"):
            least, most, boots = call["from"] + call["lease"], call["to"] + call["lease"], call["boots"]
            if is_open and is_own:
                least, most = max(least, claim.least_ms), max(most, claim.most_ms)
                boots = boots if claim.boots == boots else -1
            holds = is_open and is_own and not must_be_old
            can_be = holds if answer == "renewed" else \
                may_be_old or holds or (is_open and claim.may_be_past(0, call["to"]))
            return Claim("open", call["token"], "", least, most, boots) if can_be else None
        if answer == "running":
            can_be = is_open and not is_own and not claim.must_be_past(0, call["from"], call["boots"])
            return claim if can_be else None
        if answer == "done":
            can_be = is_done and not must_be_old and call.get("told") in (None, claim.reply)
            return claim if can_be else None
        if answer == "recorded":
            can_be = is_open and is_own and not must_be_old
            return Claim("done", call["token"], call["reply"], call["from"], call["to"], call["boots"]) if can_be else None
        if answer == "duplicate":
            return claim if is_done and is_own and not must_be_old else None
        if answer == "aborted":
            return Claim() if is_open and is_own and not must_be_old else None
        if answer == "lost":
            return claim if not is_own and not must_be_old and (is_open or call["verb"] == "done") else None
        if answer == "unknown":
            return Claim() if may_be_old else None
        return None

    def step_claim(self, draw):
        if not self.exists:
            return
        self.open_door(draw)
        try:
            for _ in range(draw.randint(1, 4)):
                if self.door is None or self.door.is_open:
                    self.claim_once(draw)
        finally:
            self.close_door()
        if draw.random() < 0.3:
            self.look_at_claims()

    def claim_once(self, draw):
        name = draw.choice(sorted(self.claims))
        self.next_id += 1
        call = {"verb": draw.choice(["begin", "begin", "renew", "done", "abort"]), "token": draw.choice("abc"),
                "lease": draw.choice([1, 2000, self.modes.window_ms // 2, 3 * self.modes.window_ms]),
                "reply": f"reply-{self.next_id}", "boots": self.world.boots, "from": self.world.elapsed_ms()}
        words = ["claim", call["verb"], "--db", "store", "--json", "--token", call["token"]]
        words += ["--lease", f"{call['lease']}ms"] if call["verb"] in ("begin", "renew") else []
        words += ["--reply", call["reply"]] if call["verb"] == "done" else []
        faults = {"LETHE_FAULT_AT": str(draw.randint(1, 40)), "LETHE_FAULT_ACTION": "kill"} if draw.random() < 0.2 else None
        faults = faults if self.door is None else self.door.faults
        result = self.command(*words, name, faults=faults)
        call["to"] = self.world.elapsed_ms()
        if result.code in (0, 1):
            answer = result.json()
            call["told"] = answer.get("reply") if call["verb"] == "begin" else None
            after = [self.explain(claim, answer["answer"], call) for claim in self.claims[name]]
            if self.claims[name] and not any(after):
                raise Wrong(f"{name} was one of {self.claims[name]}, and {call} is answered {answer}")
            self.claims[name] = [claim for claim in after if claim is not None]
        elif faults is None:
            raise Wrong(str(result))
        else:
            made = {"begin": "new", "renew": "renewed", "done": "recorded", "abort": "aborted"}[call["verb"]]
            after = [self.explain(claim, made, call) for claim in self.claims[name]]
            self.claims[name] += [claim for claim in after if claim is not None and claim not in self.claims[name]]

    def look_at_claims(self):
        """A reader sees what was acknowledged."""
        before = self.world.elapsed_ms()
        result = self.world.lethe("claim", "list", "--db", "store", "--all", "--json")
        after = self.world.elapsed_ms()
        if result.code != 0:
            raise Wrong(str(result))
        shown = {claim["id"]: claim for claim in map(json.loads, result.output.splitlines())}
        for name, claims in self.claims.items():
            if claims and not any(self.is_shown(claim, shown.get(name), before, after) for claim in claims):
                raise Wrong(f"{name} is shown as {shown.get(name)}, and was one of {claims}")

    def is_shown(self, claim, shown, from_ms, to_ms):
        if shown is None:
            return claim.may_be_past(self.modes.window_ms, to_ms)
        if claim.kind == "none" or shown["token"] != claim.token:
            return False
        if shown["state"] == "done":
            return claim.kind == "done" and shown["reply_bytes"] == len(claim.reply)
        if claim.kind != "open":
            return False
        if shown["state"] == "running":
            return not claim.must_be_past(0, from_ms, self.world.boots)
        return claim.may_be_past(0, to_ms)
