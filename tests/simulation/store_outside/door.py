"""The server as a door to the store: commands about takes, claims and holds are sent over HTTP, and answered as the command line
does.

A door that is killed answers with code -9 what was under way, and nothing after that."""

import decimal
import http.client
import json
import re
import signal
import urllib.parse

from world import Result

NUMBERS = ("value", "left", "amount", "limit", "actual")


def as_printed(answer):
    """An answer with numbers where the command line has numbers."""
    return {name: float(text) if name in NUMBERS and isinstance(text, str) else text for name, text in answer.items()}


class Door:
    def __init__(self, world, faults=None):
        self.world, self.faults = world, faults
        self.words, self.process = world.start("serve", "--db", "store", "--listen", "127.0.0.1:0", faults=faults)
        line = b"lethe: "
        while line and b"serving" not in line:
            line = self.process.stderr.readline()
        self.is_open = bool(line)
        self.port = int(re.search(rb":(\d+)$", line.strip()).group(1)) if line else 0

    def close(self):
        """Returns how the server ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.world.finish(self.words, self.process)

    def request(self, method, path, body=None):
        """The status and the answer; None if the server is not there any more."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            self.is_open = False
            return None
        finally:
            connection.close()

    @staticmethod
    def translate(words):
        """The path and the body of a command; None for one that the server does not have."""
        options, operands, at = {}, [], 0
        while at < len(words):
            word = words[at]
            if not word.startswith("--") or word in ("--json", "--force"):
                operands += [] if word == "--json" else [word]
                at += 1
            else:
                options[word] = words[at + 1]
                at += 2
        force, operands = "--force" in operands, [word for word in operands if word != "--force"]
        lease = {"lease_ms": int(options["--lease"][:-2])} if "--lease" in options else {}
        if operands[0] == "take":
            bound = {name[2:]: options[name] for name in ("--limit", "--min") if name in options}
            return "/v1/take", {"id": operands[1], "key": operands[2], "delta": operands[3], **bound}
        name = urllib.parse.quote(operands[2], safe="")
        if operands[0] == "claim":
            reply = {"reply": options["--reply"]} if "--reply" in options else {}
            return f"/v1/claims/{name}/{operands[1]}", {"token": options["--token"], **lease, **reply}
        if operands[1] == "place":
            return f"/v1/holds/{name}/place", {"key": operands[3], "amount": operands[4], "limit": options["--limit"], **lease}
        return f"/v1/holds/{name}/{operands[1]}", {"actual": operands[3], "force": force} if operands[1] == "settle" else {}

    def lethe(self, *words, faults=None):
        """Does what the command does. The faults are the door's own."""
        assert faults is None or faults is self.faults
        path, body = self.translate(words)
        self.world.trace(f"    POST {path} {json.dumps(body)}")
        answer = self.request("POST", path, body) if self.is_open else None
        if answer is None:
            return Result(words, -9, "", "the server is gone")
        self.world.trace(f"    {answer[0]} {answer[1]}")
        status, said = answer
        word = said.get("outcome", said.get("answer"))
        if word is None and status != 422:
            return Result(words, 4, "", json.dumps(said))
        code = 3 if status == 422 else 1 if status >= 400 or word == "limited" else 0
        return Result(words, code, json.dumps(as_printed(said)), said.get("detail", ""))

    def holds(self):
        """All holds, by id, as `lethe hold list --all --json` has them; None if the server is gone."""
        rows, cursor = {}, ""
        while cursor is not None:
            answer = self.request("GET", f"/v1/holds?all=1&limit=3&cursor={cursor}") if self.is_open else None
            if answer is None:
                return None
            assert answer[0] == 200, answer
            cursor = answer[1]["cursor"]
            for row in answer[1]["holds"]:
                rows[row["id"]] = row | {name: decimal.Decimal(row[name]) for name in NUMBERS if name in row}
        return rows
