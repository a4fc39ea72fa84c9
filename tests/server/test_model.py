"""Goal: takes, claims and holds over HTTP are what their model says, whatever the order, also of those that were under way when
the server was killed; and tokens of the server can be replaced meanwhile.

Method: random calls, from a fixed seed, against a model in Python that knows every answer: its status, its word, its numbers.
Leases last an hour, or have ended when the next call comes. Some calls meet kill -9: what was not answered is sent again, and
is answered as the first time or as a repetition. Now and then all counters, claims and holds are compared, and the file of
tokens is written anew and read again. Keys and ids have bytes that are not UTF-8."""

import base64
import copy
import dataclasses
import http.client
import json
import random
import threading
import time
import urllib.parse

import pytest
from conftest import ask
from sizes import sized

STEPS, ROUNDS = sized(220, 600, 6000), sized(1, 2, 3)
LONG_MS, SHORT_MS = 3_600_000, 1
MODES = [(), ("--check-payload",), ("--forever",), ("--per", "1h,1d"), ("--exact", "--memory", "1MiB")]
KEYS = [b"alice", b"bob", b"\xff\x00key", "schlüssel".encode()]


@dataclasses.dataclass
class Claim:
    token: str
    is_done: bool = False
    reply: bytes = b""
    has_lapsed: bool = False


@dataclasses.dataclass
class Hold:
    key: bytes
    amount: int
    limit: int
    has_lapsed: bool
    state: str = "open"  # also after the lease
    actual: int = 0


def answered(status, word, **numbers):
    return {"status": status, "word": word, **numbers}


class Model:
    def __init__(self):
        self.values, self.taken, self.claims, self.holds = {}, set(), {}, {}

    def value(self, key):
        return self.values.get(key, 0)

    def held(self, key, without=None):
        return sum(hold.amount for name, hold in self.holds.items()
                   if name != without and hold.key == key and hold.state == "open" and not hold.has_lapsed)

    def standing(self, key, limit):
        return {"value": self.value(key), "left": max(0, limit - self.value(key) - self.held(key))}

    def do(self, call):
        """What the call is answered, after it was done."""
        return getattr(self, "do_" + call["verb"])(call)

    def do_take(self, call):
        key, amount, bound = call["key"], call["amount"], call["bound"]
        if call["id"] in self.taken:
            word = "duplicate"
        elif self.value(key) + amount + self.held(key) > bound if amount > 0 else self.value(key) + amount < bound:
            word = "limited"
        else:
            word = "applied"
            self.taken.add(call["id"])
            self.values[key] = self.value(key) + amount
        left = self.standing(key, bound)["left"] if amount > 0 else max(0, self.value(key) - bound)
        return answered(200, word, value=self.value(key), left=left)

    def do_begin(self, call):
        claim, token, is_short = self.claims.get(call["id"]), call["token"], call["lease_ms"] == SHORT_MS
        if claim is not None and claim.is_done:
            return answered(200, "done", reply=claim.reply)
        if claim is not None and claim.token != token and not claim.has_lapsed:
            return answered(409, "running")
        if claim is not None and claim.token == token:
            claim.has_lapsed = claim.has_lapsed and is_short
        else:
            self.claims[call["id"]] = Claim(token, has_lapsed=is_short)
        return answered(201, "new")

    def not_own(self, call, if_done):
        """What is answered if the token does not hold the claim; None if it does."""
        claim = self.claims.get(call["id"])
        if claim is None:
            return answered(404, "unknown")
        if claim.is_done and if_done is not None:
            return if_done
        return answered(409, "lost") if claim.token != call["token"] else None

    def do_renew(self, call):
        refused = self.not_own(call, answered(200, "done"))
        if refused is not None:
            return refused
        claim = self.claims[call["id"]]
        claim.has_lapsed = claim.has_lapsed and call["lease_ms"] == SHORT_MS
        return answered(200, "renewed")

    def do_done(self, call):
        refused = self.not_own(call, None)
        if refused is not None:
            return refused
        claim = self.claims[call["id"]]
        if claim.is_done:
            return answered(200, "duplicate")
        claim.is_done, claim.reply = True, call["reply"]
        return answered(200, "recorded")

    def do_abort(self, call):
        refused = self.not_own(call, answered(200, "done"))
        if refused is not None:
            return refused
        del self.claims[call["id"]]
        return answered(200, "aborted")

    def do_place(self, call):
        key, amount, limit, hold = call["key"], call["amount"], call["limit"], self.holds.get(call["id"])
        if hold is not None and (hold.key, hold.amount, hold.limit) != (key, amount, limit):
            return answered(422, "mismatch")
        if hold is not None:
            return answered(200, "duplicate", **self.standing(key, limit))
        if self.value(key) + self.held(key) + amount > limit:
            return answered(200, "limited", **self.standing(key, limit))
        self.holds[call["id"]] = Hold(key, amount, limit, call["lease_ms"] == SHORT_MS)
        # The answer is of the moment in which the lease runs, however short.
        left = limit - self.value(key) - self.held(key) - (amount if call["lease_ms"] == SHORT_MS else 0)
        return answered(201, "held", value=self.value(key), left=left)

    def do_settle(self, call):
        hold, actual = self.holds.get(call["id"]), call["actual"]
        if hold is None:
            return answered(404, "unknown")
        if hold.state != "open":
            if hold.state == "settled" and hold.actual == actual:
                return answered(200, "duplicate", **self.standing(hold.key, hold.limit))
            return answered(422, "mismatch")
        fits = self.value(hold.key) + self.held(hold.key, call["id"]) + actual <= hold.limit
        is_free = call["force"] or actual <= (0 if hold.has_lapsed else hold.amount)
        if not fits and not is_free:
            return answered(200, "limited", **self.standing(hold.key, hold.limit))
        hold.state, hold.actual = "settled", actual
        if actual > 0 or hold.key in self.values:
            self.values[hold.key] = self.value(hold.key) + actual
        return answered(200, "settled", **self.standing(hold.key, hold.limit))

    def do_release(self, call):
        hold = self.holds.get(call["id"])
        if hold is None:
            return answered(404, "unknown")
        if hold.state == "settled":
            return answered(422, "mismatch")
        word, hold.state = "duplicate" if hold.state == "released" else "released", "released"
        return answered(200, word)


def escaped(data):
    return urllib.parse.quote_from_bytes(data, safe="")


def member(name, data):
    """A member as it is sent: as text, or in base64 if it has to be."""
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {name + "_base64": base64.b64encode(data).decode()}


def read_member(row, name):
    return base64.b64decode(row[name + "_base64"]) if name + "_base64" in row else row[name].encode()


class Run:
    """A server, its model, and what is drawn."""

    def __init__(self, serve, folder, words, seed):
        self.draw, self.model = random.Random(seed), Model()
        self.tokens = folder / "tokens"
        self.token = "first-token-of-the-run"
        self.tokens.write_text(f"{self.token} read,write\n")
        self.server = serve("--token-file", str(self.tokens), "--window", "1h", *words, token=self.token)
        self.number = self.kills = self.lost = 0
        self.connection = None

    # Requests.

    @staticmethod
    def request_of(call):
        """The path and the body of a call."""
        verb, name = call["verb"], escaped(call["id"])
        if verb == "take":
            return "/v1/take", {**member("id", call["id"]), **member("key", call["key"]), "amount": call["amount"],
                                "limit" if call["amount"] > 0 else "min": call["bound"]}
        if verb == "place":
            return f"/v1/holds/{name}/place", {**member("key", call["key"]), "amount": call["amount"], "limit": str(call["limit"]),
                                               "lease_ms": call["lease_ms"]}
        if verb == "settle":
            return f"/v1/holds/{name}/settle", {"actual": call["actual"], "force": call["force"]}
        if verb == "release":
            return f"/v1/holds/{name}/release", {}
        body = {"token": call["token"]}
        if verb in ("begin", "renew"):
            body["lease_ms"] = call["lease_ms"]
        return f"/v1/claims/{name}/{verb}", {**body, **(member("reply", call["reply"]) if verb == "done" else {})}

    def send(self, call):
        """The status and the answer; None if there is none."""
        path, body = self.request_of(call)
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
            self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json",
                                                                     "Authorization": f"Bearer {self.token}"})
            answer = self.connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text)
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            return None

    def get(self, path):
        return self.server.get(path, Authorization=f"Bearer {self.token}")

    @staticmethod
    def is_answer(answer, expected):
        status, said = answer
        word = said.get("answer", said.get("outcome"))
        if (status, word) != (expected["status"], expected["word"]):
            return False
        if "reply" in expected and read_member(said, "reply") != expected["reply"]:
            return False
        return all(said[name] == str(expected[name]) for name in ("value", "left") if name in expected)

    def call(self, call, kills=False):
        """Sends a call until it is answered, and compares."""
        killer = threading.Timer(self.draw.random() * 0.004, self.server.server.process.kill) if kills else None
        before = copy.deepcopy(self.model)
        allowed = [self.model.do(call)]
        if kills:
            killer.start()
        answer = self.send(call)
        if kills:
            killer.join()
            self.server.server.process.wait()
            self.server.start()
            self.kills += 1
            if answer is None:
                self.lost += 1
                allowed.append(copy.deepcopy(self.model).do(call))
                answer = self.send(call)
        if answer is None:
            answer = self.send(call)  # a connection of before a kill
        assert answer is not None and any(self.is_answer(answer, one) for one in allowed), \
            f"{call} is answered {answer}, and not {allowed}; before: {vars(before)}"
        if call.get("lease_ms") == SHORT_MS:
            time.sleep(0.012)

    # What is drawn.

    def draw_take(self):
        draw, key = self.draw, self.draw.choice(KEYS)
        amount = draw.randint(1, 20) * draw.choice([1, 1, 1, -1])
        near = self.model.value(key) + amount + (self.model.held(key) if amount > 0 else 0)
        bound = near + (1 if amount > 0 else -1) * draw.choice([-1, 0, 0, 30])
        self.number += 1
        call = {"verb": "take", "id": b"take-%d\xfe" % self.number, "key": key, "amount": amount, "bound": bound}
        if self.model.taken and draw.random() < 0.2:  # the same again, under another bound
            call = {**self.takes[draw.choice(sorted(self.model.taken))], "bound": bound}
            if (call["amount"] > 0) != (amount > 0):
                call["bound"] = 0
        self.takes[call["id"]] = call
        return call

    takes: dict = {}

    def draw_claim(self):
        draw = self.draw
        self.number += 1
        return {"verb": draw.choice(["begin", "begin", "renew", "done", "abort"]), "id": b"work-%d\xff" % draw.randrange(6 + self.number // 60),
                "token": draw.choice("abc"), "lease_ms": draw.choice([LONG_MS, LONG_MS, SHORT_MS]),
                "reply": draw.choice([b"reply-%d" % self.number, b"\xf0\x00%d" % self.number])}

    def draw_hold(self):
        draw, key = self.draw, self.draw.choice(KEYS)
        self.number += 1
        name = b"job-%d\xc3" % draw.randrange(8 + self.number // 25)
        hold = self.model.holds.get(name)
        call = {"verb": draw.choice(["place", "place", "settle", "settle", "release"]), "id": name, "key": key,
                "amount": draw.randint(1, 30), "limit": self.model.value(key) + self.model.held(key) + draw.randint(-5, 60),
                "lease_ms": draw.choice([LONG_MS, LONG_MS, SHORT_MS]), "actual": draw.randint(0, 40), "force": draw.random() < 0.1}
        if hold is not None and draw.random() < 0.6:
            call.update(key=hold.key, amount=hold.amount, limit=hold.limit)
        if hold is not None and hold.state == "settled" and draw.random() < 0.5:
            call["actual"] = hold.actual
        return call

    # Looking at all of it.

    def compare(self):
        status, shown = self.get("/v1/counters")
        assert status == 200
        assert {read_member(row, "key"): int(row["value"]) for row in shown["counters"]} == self.model.values
        rows, cursor = [], ""
        while cursor is not None:
            status, shown = self.get(f"/v1/holds?all=1&limit=5&cursor={cursor}")
            assert status == 200, shown
            rows += shown["holds"]
            cursor = shown["cursor"]
        assert [read_member(row, "id") for row in rows] == sorted(self.model.holds)
        for row in rows:
            hold = self.model.holds[read_member(row, "id")]
            state = "lapsed" if hold.state == "open" and hold.has_lapsed else hold.state
            assert (row["state"], read_member(row, "key"), row["amount"], row["limit"]) == \
                (state, hold.key, str(hold.amount), str(hold.limit)), row
            assert row.get("actual") == (str(hold.actual) if state == "settled" else None)
        for name, claim in self.model.claims.items():
            status, shown = self.get(f"/v1/claims/{escaped(name)}")
            state = "done" if claim.is_done else "lapsed" if claim.has_lapsed else "running"
            assert status == 200 and shown["state"] == state, (name, shown, claim)
            assert not claim.is_done or read_member(shown, "reply") == claim.reply
        holds = self.get("/v1/status")[1]["holds"]
        assert int(holds["held"]) == sum(self.model.held(key) for key in KEYS)
        unsettled = [hold for hold in self.model.holds.values() if hold.state == "open"]
        assert sum(not hold.has_lapsed for hold in unsettled) <= int(holds["open"]) <= len(unsettled)

    def renew_token(self):
        """Another token takes the place of the one that was used so far."""
        old, self.token = self.token, f"token-number-{self.draw.randrange(10**9):09}"
        self.tokens.write_text(f"# renewed\n{self.token} read,write\n")
        self.server.send(1)
        end = time.monotonic() + 30
        while self.get("/v1/holds")[0] != 200:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert ask(self.server.port, "GET", "/v1/holds", Authorization=f"Bearer {old}")[0] == 401
        self.server.server.token = self.token


@pytest.mark.parametrize("seed", range(len(MODES) * ROUNDS))
def test_random_calls_against_a_model(serve, tmp_path, seed):
    run = Run(serve, tmp_path, MODES[seed % len(MODES)], seed)
    run.takes = {}
    for step in range(STEPS):
        draws = run.draw.choice([run.draw_take, run.draw_claim, run.draw_hold])
        run.call(draws(), kills=run.draw.random() < 0.03)
        if run.draw.random() < 0.02:
            run.compare()
        if run.draw.random() < 0.01:
            run.renew_token()
    run.compare()
    assert run.kills > 0
    run.server.stop()
    run.server.start()
    run.compare()
