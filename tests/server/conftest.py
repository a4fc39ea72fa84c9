"""What the tests of the server share: a real server (page/serving.py), and requests to it."""

import http.client
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "page"))
from serving import BINARIES, SOURCE, Server  # noqa: E402  pylint: disable=wrong-import-position

sys.path.insert(0, str(SOURCE / "tests/support"))
sys.path.insert(0, str(SOURCE / "tests/cli"))


def ask(port, method, path, body=None, **headers):
    """The status, headers and bytes of an answer. Words of a header's name are joined with _."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


class Asked:
    """A server, and short ways to ask it."""

    def __init__(self, server):
        self.server = server

    def __getattr__(self, name):
        return getattr(self.server, name)

    def get(self, path, **headers):
        status, _, text = ask(self.server.port, "GET", path, **headers)
        return status, json.loads(text)

    def post(self, path, body, kind="application/json", **headers):
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        status, _, text = ask(self.server.port, "POST", path, body, Content_Type=kind, **headers)
        return status, json.loads(text)

    def value(self, key):
        status, answer = self.get(f"/v1/counters/{key}")
        return int(answer["value"]) if status == 200 else None


@pytest.fixture
def serve(tmp_path):
    """Starts a server with the given options; it is ended, and must end well, after the test."""
    servers = []

    def start(*words, **more):
        servers.append(Server(tmp_path, *words, **more))
        return Asked(servers[-1])

    yield start
    for server in servers:
        ended = server.process.poll()
        server.stop()
        assert ended is not None or server.process.returncode == 0, (tmp_path / "server.log").read_text()


@pytest.fixture
def lethe():
    return BINARIES / "lethe"


@pytest.fixture
def ended():
    """Takes a server that a test starts itself, so that it does not outlive a test that fails."""
    servers = []

    def add(server):
        servers.append(server)
        return server

    yield add
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


@pytest.fixture
def start(tmp_path):
    """Starts servers of Redis, with the module."""
    from tables import Redis  # pylint: disable=import-outside-toplevel
    started = []

    def run(**options):
        started.append(Redis(tmp_path / f"redis-{len(started)}", **options))
        return started[-1].start()
    yield run
    for one in started:
        one.kill()


@pytest.fixture
def show(tmp_path):
    """Shows the tables at a URL; the server must end well after the test."""
    servers = []

    def run(url, *words, **more):
        servers.append(Server(tmp_path, *words, redis=url, **more))
        return Asked(servers[-1])
    yield run
    for server in servers:
        ended = server.process.poll()
        server.stop()
        assert ended is not None or server.process.returncode == 0, (tmp_path / "server.log").read_text()
