"""A real server and a load on it, for the tests of the live page and for its picture."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", pathlib.Path(__file__).parents[3]))
BINARIES = pathlib.Path(os.environ.get("LETHE_BUILD_DIR", SOURCE / "build/release")).resolve()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """lethe serve on a port of its own, with the same folder and port each time it is started. The
    lines, if there are any, are counted by lethe count before: their keys may have any bytes. With
    redis, a URL, it shows the tables there."""

    inside = ()  # the words of a program that starts it

    def __init__(self, folder, *words, token=None, lines=None, redis=None, environment=None):
        self.folder, self.words, self.token, self.port = folder, words, token, free_port()
        self.place = ["--db", folder / "db"] if redis is None else ["--redis", redis]
        self.environment = {**os.environ, **(environment or {})}
        if lines is not None:
            subprocess.run([BINARIES / "lethe", "count", "-q", "--db", folder / "db"], input=lines,
                           check=True)
        self.process = None
        self.start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}/"

    def start(self):
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.inside, BINARIES / "lethe", "serve", *self.place, "--listen", f"127.0.0.1:{self.port}",
                 *self.words], stdout=log, stderr=log, env=self.environment)
        end = time.monotonic() + 30
        while True:
            try:
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > end or self.process.poll() is not None:
                self.process.kill()
                self.process.wait()
                raise RuntimeError((self.folder / "server.log").read_text(errors="replace"))
            time.sleep(0.02)

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.send(number)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def ask(self, method, path, body=None, kind="application/x-ndjson"):
        """The status and the JSON of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {"Content-Type": kind} if body is not None else {}
            if self.token is not None:
                headers["Authorization"] = f"Bearer {self.token}"
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def count(self, events):
        """Counts events (id, key, delta)."""
        lines = [json.dumps({"id": name, "key": key, "delta": delta}) for name, key, delta in events]
        status, answer = self.ask("POST", "/v1/events", "\n".join(lines).encode() + b"\n")
        assert status == 200, answer
        return answer

    def status(self):
        status, answer = self.ask("GET", "/v1/status")
        assert status == 200, answer
        return answer


class Load:
    """Counts in the background, every fourth event twice, until it is ended."""

    def __init__(self, server, keys=12, batch=400, pause=0.02):
        self.server, self.keys, self.batch, self.pause = server, keys, batch, pause
        self.applied = self.duplicates = self.sum = 0
        self.failure = None
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        number = 0
        try:
            while not self.ends.is_set():
                events = [(f"load-{number + i}", f"requests/{(number + i) ** 2 % 97 % self.keys:02}", 1 + i % 3)
                          for i in range(self.batch)]
                self.server.count(events + events[::4])
                self.applied += len(events)
                self.sum += sum(delta for _, _, delta in events)
                self.duplicates += len(events[::4])
                number += len(events)
                time.sleep(self.pause)
        except Exception as failure:  # it is raised where the load is ended
            self.failure = failure

    def end(self):
        self.ends.set()
        self.thread.join(60)
        if self.failure is not None:
            raise self.failure
