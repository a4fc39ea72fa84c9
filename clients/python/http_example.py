#!/usr/bin/python3
"""A server that takes payments once per Idempotency-Key, however often a request is sent.

usage: http_example.py [redis://host:port] [port]

    curl -i localhost:8080/payments -u alice:x -H 'Idempotency-Key: "k-1"' -d '{"amount": 10}'

It answers as the IETF's draft "The Idempotency-Key HTTP Header Field" asks for. Several such servers may share a table."""

import base64
import hashlib
import http.server
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import redis

from lethe_once import Once

LEASE = 30 # seconds; longer than a payment takes
LINK = "https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/"


def pay(table, identity, user, request):
    """The work itself: its status and body. A declined payment is an answer like any other. The payment has an id of its own, as
    payment services take one too: if its answer is lost, asking again does not pay again. (Ids of claims end with a key, which
    has no blank in it.)"""
    if request["amount"] > 1000:
        return 402, {"declined": request["amount"]}
    number = table.call_and_keep("RPUSH", "payments:" + user, json.dumps(request), id=identity + " payment")
    return 201, {"payment": number, "amount": request["amount"]}


class Payments(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body, kind="application/json", **headers):
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": len(data), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, title, **headers):
        problem = {"type": LINK, "title": title, "status": status}
        self.answer(status, problem, "application/problem+json", **headers)

    def user(self):
        """Who asks; a real server would look at the password. Keys of two users are two keys."""
        words = self.headers.get("Authorization", "").split()
        return base64.b64decode(words[1]).decode().split(":")[0] if len(words) == 2 else "nobody"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = re.fullmatch(r'"([!#-~]{1,200})"', self.headers.get("Idempotency-Key", "").strip())
        if key is None:
            self.refuse(400, "Idempotency-Key is missing, or is no quoted string")
            return
        fingerprint = hashlib.sha256(f"{self.path}\n".encode() + body).hexdigest()
        claim = self.server.table.claim(f"{self.user()}:{key.group(1)}", LEASE, fingerprint)
        if claim.state == "mismatch":
            self.refuse(422, "Idempotency-Key was used for another request")
        elif claim.state == "running":
            self.refuse(409, "A request with this Idempotency-Key is outstanding", Retry_After=1)
        elif claim.state == "done" and not claim.reply:
            self.refuse(410, "The request was processed, and its answer is not kept any more")
        elif claim.state == "done":
            self.answer(*json.loads(claim.reply), Idempotent_Replay="true")
        else:
            self.work(claim, body)

    def work(self, claim, body):
        try:
            result = pay(self.server.table, claim.id, self.user(), json.loads(body))
        except (ValueError, TypeError, LookupError, redis.ResponseError) as error: # surely nothing was paid
            claim.abort() # so the next attempt may begin at once
            self.refuse(500, f"Nothing was done: {type(error).__name__}")
            return
        except Exception as error: # it may have been paid: whoever begins after the lease asks for the same payment
            self.refuse(503, f"Not known yet: {type(error).__name__}", Retry_After=LEASE)
            return
        claim.done(json.dumps(result)) # Lost, if it took longer than the lease and another has begun
        self.answer(*result)

    def log_message(self, *words):
        """Prints nothing."""


def main():
    client = redis.Redis.from_url(sys.argv[1] if len(sys.argv) > 1 else "redis://127.0.0.1:6379")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 8080), Payments)
    server.table = Once(client, "requests", window_ms=24 * 3600 * 1000)
    print(f"http://127.0.0.1:{server.server_port}/payments", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
