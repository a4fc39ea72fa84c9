"""Goal: a server that is killed at any moment, while several clients send, loses nothing and counts nothing twice.

Method: clients (Python, curl, and the load generator's manner: many events a request) send events with ids and send
again whatever was not answered. The server is killed with SIGKILL again and again and started again. At the end every
counter has exactly what was sent to it. What was answered before a kill is there after it. SIGTERM under load ends
the server well, with everything that it received answered."""

import http.client
import json
import random
import subprocess
import threading
import time

from sizes import sized

KILLS = sized(6, 200, 1000)
SEED = 20


class Client(threading.Thread):
    """Sends numbered events to its own counter, each request until it is answered."""

    def __init__(self, server, name, batch, by_curl=False):
        super().__init__(daemon=True)
        self.server, self.name_of, self.batch, self.by_curl = server, name, batch, by_curl
        self.sent = self.answered = self.applied = self.resent = 0
        self.ends = threading.Event()
        self.failure = None

    def send(self, body):
        path = "/v1/events"
        if self.by_curl:
            done = subprocess.run(["curl", "-s", "-m", "20", "-H", "Content-Type: application/x-ndjson", "--data-binary", "@-",
                                   f"http://127.0.0.1:{self.server.port}{path}"], input=body, stdout=subprocess.PIPE, check=False)
            answer = json.loads(done.stdout) if done.returncode == 0 else {"status": 503}
            return None if answer.get("status") == 503 else answer
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/x-ndjson"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status == 503:
                return None
            assert answer.status == 200, text
            return json.loads(text)
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def run(self):
        try:
            while not self.ends.is_set():
                events = [{"id": f"{self.name_of}-{self.sent + i}", "key": f"key-{self.name_of}", "delta": 3}
                          for i in range(self.batch)]
                body = "".join(json.dumps(event) + "\n" for event in events).encode()
                self.sent += self.batch
                while (answer := self.send(body)) is None:
                    self.resent += 1
                    time.sleep(0.01)
                counts = answer["counts"]
                assert counts["applied"] + counts["duplicate"] == self.batch, counts
                self.answered = self.sent
        except Exception as failure:  # it is raised where the client is ended
            self.failure = failure


def clients_of(server):
    return [Client(server, "a", 1), Client(server, "b", 1), Client(server, "c", 500), Client(server, "d", 3000),
            Client(server, "e", 20, by_curl=True)]


def finish(clients):
    for one in clients:
        one.ends.set()
    for one in clients:
        one.join(120)
        assert not one.is_alive()
        if one.failure is not None:
            raise one.failure


def test_kills_under_load(serve):
    server = serve("--window", "1h", "--per", "1h")
    draw = random.Random(SEED)
    clients = clients_of(server)
    for one in clients:
        one.start()
    for _ in range(KILLS):
        time.sleep(draw.random() * 0.25)
        before = {one.name_of: one.answered for one in clients}
        server.stop(9)
        server.start()
        for name, answered in before.items():
            assert (server.value(f"key-{name}") or 0) >= 3 * answered
    finish(clients)
    assert sum(one.resent for one in clients) > 0
    for one in clients:
        assert server.value(f"key-{one.name_of}") == 3 * one.sent, one.name_of
    assert int(server.status()["totals"]["applied"]) == sum(one.sent for one in clients)


def test_sigterm_under_load_answers_what_it_received(serve, tmp_path):
    server = serve()
    clients = clients_of(server)
    for one in clients:
        one.start()
    for _ in range(sized(2, 10, 50)):
        time.sleep(0.3)
        server.stop()
        assert server.server.process.returncode == 0, (tmp_path / "server.log").read_text()
        server.start()
    finish(clients)
    for one in clients:
        assert server.value(f"key-{one.name_of}") == 3 * one.sent
