"""Goal:   the server of docs/claims.md answers every case of the HTTP draft on Idempotency-Key as the page's table says.
Method: the program itself, and requests to it; a claim that another worker holds, and answers that are too large."""

import base64
import contextlib
import hashlib
import http.client
import json
import re
import select
import socket
import subprocess
import sys
import threading

import pytest
from servers import SOURCE
from test_client import Proxy

PROGRAM = SOURCE / "clients/python/http_example.py"
sys.path.insert(0, str(PROGRAM.parent))
from lethe_once import Once  # noqa: E402


@contextlib.contextmanager
def example(port):
    """Sends a request to a server of its own, and returns status, body and headers."""
    process = subprocess.Popen([sys.executable, PROGRAM, f"redis://127.0.0.1:{port}", "0"], stdout=subprocess.PIPE, text=True)
    port = int(re.search(r":(\d+)/", process.stdout.readline()).group(1))
    def send(body, key='"k-1"', user="alice", path="/payments"):
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Authorization": "Basic " + base64.b64encode(f"{user}:x".encode()).decode()}
        if key is not None:
            headers["Idempotency-Key"] = key
        link.request("POST", path, body, headers)
        answer = link.getresponse()
        found = answer.status, json.loads(answer.read()), dict(answer.getheaders())
        link.close()
        return found
    try:
        yield send
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def ask(server):
    with example(server.port) as send:
        yield send


class Thief(Proxy):
    """Loses the answer to the first payment, which was made."""

    has_stolen = False

    def carry(self, near):
        with near, socket.create_connection(self.target) as far, contextlib.suppress(OSError):
            while True:
                for one in select.select([near, far], [], [])[0]:
                    content = one.recv(65536)
                    if not content:
                        return
                    (near if one is far else far).sendall(content)
                    if one is near and b"payments:" in content and not self.has_stolen:
                        self.has_stolen = True
                        far.recv(65536)
                        return


BODY = '{"amount": 10}'


def paid(server, user="alice"):
    return server.client.llen("payments:" + user)


def test_the_first_one_and_again(server, ask):
    status, body, headers = ask(BODY)
    assert (status, body) == (201, {"payment": 1, "amount": 10}) and "Idempotent-Replay" not in headers
    for _ in range(3):
        status, body, headers = ask(BODY)
        assert (status, body) == (201, {"payment": 1, "amount": 10}) and headers["Idempotent-Replay"] == "true"
    assert paid(server) == 1
    assert ask(BODY, '"k-2"')[1]["payment"] == 2 and paid(server) == 2


@pytest.mark.parametrize("key", [None, "", "unquoted", '""', '"a', '"a" "b"', '"' + "x" * 300 + '"'])
def test_without_a_key(server, ask, key):
    status, problem, headers = ask(BODY, key)
    assert status == problem["status"] == 400 and headers["Content-Type"] == "application/problem+json"
    assert paid(server) == 0


def test_another_payload(server, ask):
    ask(BODY)
    assert ask('{"amount": 11}')[0] == 422 and ask(BODY, path="/other")[0] == 422
    assert ask(BODY)[0] == 201 and paid(server) == 1


def test_while_it_is_being_worked_on(server, ask):
    """Another worker, whose answer everybody gets."""
    table = Once(server.client, "requests", window_ms=24 * 3600 * 1000)
    claim = table.claim("alice:k-1", 30, hashlib.sha256(b"/payments\n" + BODY.encode()).hexdigest())
    status, problem, headers = ask(BODY)
    assert status == 409 and headers["Retry-After"] == "1" and paid(server) == 0
    assert ask('{"amount": 11}')[0] == 422
    claim.done(json.dumps([201, {"payment": 99}]))
    assert ask(BODY)[:2] == (201, {"payment": 99}) and paid(server) == 0


def test_many_at_once(server, ask):
    found = []
    threads = [threading.Thread(target=lambda: found.append(ask(BODY)[0])) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) <= {201, 409} and 201 in found and paid(server) == 1


def test_an_error_of_the_clients_is_an_answer(server, ask):
    for _ in range(2):
        assert ask('{"amount": 5000}')[:2] == (402, {"declined": 5000})


def test_a_failure_is_none(server, ask):
    assert ask("no JSON")[0] == 500
    assert ask("no JSON")[0] == 500
    assert ask(BODY)[0] == 201 and paid(server) == 1 # the key was given back


def test_a_lost_answer_is_no_failure(server):
    """The payment was made: it is not made again, and its number is the answer."""
    with Thief(server) as thief, example(thief.port) as ask:
        found = ask(BODY)[:2]
        assert thief.has_stolen and found == (201, {"payment": 1, "amount": 10})
        assert ask(BODY)[:2] == found and paid(server) == 1


def test_two_users_with_one_key(server, ask):
    assert ask(BODY)[1]["payment"] == ask(BODY, user="bob")[1]["payment"] == 1
    assert paid(server) == paid(server, "bob") == 1


def test_an_answer_that_is_not_kept(server, ask):
    server.client.config_set("lethe.largest-reply", 5)
    try:
        assert ask(BODY)[0] == 201
        assert ask(BODY)[0] == 410 and paid(server) == 1
    finally:
        server.client.config_set("lethe.largest-reply", 65536)
