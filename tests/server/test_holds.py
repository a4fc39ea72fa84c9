"""Goal: holds over HTTP: what each call is answered, who may ask, what is shown, and that settling and releasing are never refused
for lack of room.

Method: single cases against a real server; test_model.py has random ones."""

import base64
import json
import re
import socket
import subprocess
import time

import pytest
from conftest import ask

READ, WRITE, TENANT, OTHER = (name * 6 for name in ("read", "writ", "tena", "othe"))


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def place(server, name, key="k", amount=10, limit=100, **more):
    headers = more.pop("headers", {})
    return server.post(f"/v1/holds/{name}/place", {"key": key, "amount": amount, "limit": limit, **more}, **headers)


def test_what_is_wrong_changes_nothing(serve):
    server = serve("--per", "1h")
    right = {"key": "k", "amount": 5, "limit": 10}
    for wrong in ({"key": ""}, {"key": "x" * 1025}, {"key": None}, {"amount": 0}, {"amount": -1}, {"amount": "x"}, {"amount": 1.5},
                  {"amount": 2**63}, {"amount": None}, {"limit": None}, {"limit": "10,20"}, {"limit": "10/1y"}, {"limit": "x"},
                  {"lease_ms": 0}, {"lease_ms": -1}, {"lease_ms": 31 * 86400000}, {"lease_ms": "x"}, {"key": True}, {"key": {}}):
        status, answer = server.post("/v1/holds/a/place", {**right, **wrong})
        assert status == 400 and answer["title"] == "Bad request", (wrong, answer)
    for body in ("", "[]", "7", "{", '{"key":"a","key":"b"}'):
        assert server.post("/v1/holds/a/place", body)[0] == 400, body
    assert server.get("/v1/holds?all=1")[1] == {"holds": [], "cursor": None}
    assert server.post("/v1/holds/a/place", {**right, "limit": "10/1h"})[0] == 201
    for wrong in ({}, {"actual": -1}, {"actual": "x"}, {"actual": 1, "force": 1}, {"actual": 1, "force": "true"}, {"actual": None}):
        assert server.post("/v1/holds/a/settle", wrong)[0] == 400, wrong
    assert server.get("/v1/holds/a")[1]["state"] == "open" and server.value("k") is None
    assert server.get("/v1/holds/a")[1]["period"] == "1h"
    for path, body in (("settle", {"actual": 1}), ("release", {})):
        assert server.post("/v1/holds/none/" + path, body)[0] == 404
    assert server.get("/v1/holds/none")[0] == 404
    for wrong in ("limit=0", "limit=x", "cursor=x", "all=2", "prefix=%"):
        assert server.get(f"/v1/holds?{wrong}")[0] == 400, wrong
    assert ask(server.port, "POST", "/v1/holds/a", "{}", Content_Type="application/json")[0] == 405


def test_a_duplicate_says_whether_anything_is_held(serve):
    server = serve()
    assert "state" not in place(server, "open", lease_ms=600000)[1]
    answer = place(server, "open", lease_ms=5)[1]
    assert (answer["answer"], answer["state"]) == ("duplicate", "open") and 500000 < answer["left_ms"] <= 600000
    for name, end, body in (("settled", "settle", {"actual": 1}), ("released", "release", {})):
        place(server, name)
        assert server.post(f"/v1/holds/{name}/{end}", body)[0] == 200
        again = place(server, name)
        assert again[0] == 200 and (again[1]["answer"], again[1]["state"]) == ("duplicate", name), again
    place(server, "lapsed", lease_ms=100)
    until(lambda: place(server, "lapsed")[1]["state"] == "lapsed")
    assert place(server, "lapsed", amount=11)[1] == {**place(server, "open", amount=11)[1]}  # a mismatch has none


def test_beyond_what_was_held(serve):
    server = serve("--scale", "2")
    assert place(server, "a", amount="7.50", limit=10)[1] == {"answer": "held", "value": "0.00", "left": "2.50", "resets_ms": None}
    assert place(server, "a", amount=7.5, limit="10.00")[1]["answer"] == "duplicate"
    assert place(server, "a", amount=7)[0] == 422
    assert server.post("/v1/take", {"id": "t", "key": "k", "delta": 3, "limit": 10})[1]["outcome"] == "limited"
    assert server.post("/v1/holds/a/settle", {"actual": "10.01"})[1]["answer"] == "limited"
    assert server.post("/v1/holds/a/settle", {"actual": 12, "force": True})[1] == \
        {"answer": "settled", "value": "12.00", "left": "0.00", "resets_ms": None}
    assert server.post("/v1/holds/a/settle", {"actual": 12})[1]["answer"] == "duplicate"
    assert server.post("/v1/holds/a/release", {})[0] == 422
    figures = ask(server.port, "GET", "/metrics")[2].decode()
    assert "lethe_holds_forced_total 1\n" in figures and "lethe_holds_open 0\n" in figures and "lethe_holds_ended 1\n" in figures


def test_figures_of_what_is_held(serve):
    server = serve("--scale", "1")
    place(server, "a", "x", 1.5)
    place(server, "b", "y", 2)
    figures = ask(server.port, "GET", "/metrics")[2].decode()
    assert "lethe_holds_open 2\n" in figures and "lethe_holds_held 3.5\n" in figures
    assert server.get("/v1/status")[1]["holds"] == {"open": "2", "ended": "0", "forced": "0", "held": "3.5"}
    server.stop(9)
    server.start()
    assert server.get("/v1/status")[1]["holds"]["held"] == "3.5"
    server.post("/v1/holds/a/release", {})
    assert server.get("/v1/status")[1]["holds"] == {"open": "1", "ended": "1", "forced": "0", "held": "2.0"}


def test_ids_and_keys_of_any_bytes(serve):
    server = serve()
    key = base64.b64encode(b"\xff/\x00").decode()
    assert server.post("/v1/holds/%FF%2F/place", {"key_base64": key, "amount": 4, "limit": 9})[0] == 201
    assert server.post("/v1/holds/%FF%2F/place", {"key": "passed over", "key_base64": key, "amount": 4, "limit": 9})[0] == 200
    shown = server.get("/v1/holds/%FF%2F")[1]
    assert (shown["id_base64"], shown["key_base64"]) == ("/y8=", key)
    assert server.post("/v1/holds/%FF%2F/settle", {"actual": 3})[1]["value"] == "3"
    assert server.value("%FF%2F%00") == 3
    assert server.post("/v1/holds/x/place", {"key_base64": "x", "amount": 4, "limit": 9})[0] == 400


@pytest.fixture
def guarded(serve, tmp_path):
    (tmp_path / "tokens").write_text(f"{READ} read\n{WRITE} write\n{TENANT} read,write prefix=t/\n{OTHER} read,write prefix=u/\n")
    return serve("--token-file", str(tmp_path / "tokens"), token=READ)


def test_tenants_do_not_see_each_other(guarded):
    own, other = bearer(TENANT), bearer(OTHER)
    assert place(guarded, "a", "t/1", headers=own)[0] == 201
    assert place(guarded, "b", "u/1", headers=own)[0] == 403
    assert place(guarded, "b", "u/1", headers=other)[0] == 201
    assert place(guarded, "b", "t/1", headers=own)[0] == 422  # ids are those of the whole store
    assert place(guarded, "c", "v/1", headers=bearer(READ))[0] == 403
    assert place(guarded, "c", "v/1", headers=bearer(WRITE))[0] == 201
    for path, body in (("settle", {"actual": 1}), ("release", {})):
        status, answer = guarded.post(f"/v1/holds/b/{path}", body, **own)
        assert (status, answer) == guarded.post(f"/v1/holds/none/{path}", body, **own) and status == 404
        assert guarded.post(f"/v1/holds/b/{path}", body, **bearer(READ))[0] == 403
        assert guarded.post(f"/v1/holds/b/{path}", body)[0] == 401
    assert guarded.get("/v1/holds/b", **own)[0] == 404 and guarded.get("/v1/holds/b", **other)[0] == 200
    assert guarded.get("/v1/holds/b", **bearer(WRITE))[0] == 403
    assert [row["id"] for row in guarded.get("/v1/holds", **own)[1]["holds"]] == ["a"]
    assert [row["id"] for row in guarded.get("/v1/holds", **bearer(READ))[1]["holds"]] == ["a", "b", "c"]
    assert [row["id"] for row in guarded.get("/v1/holds?prefix=u", **bearer(READ))[1]["holds"]] == ["b"]
    assert guarded.get("/v1/holds?prefix=u", **own)[0] == 403
    assert guarded.post("/v1/holds/a/settle", {"actual": 1}, **own)[1]["answer"] == "settled"
    assert guarded.post("/v1/holds/b/release", {}, **bearer(WRITE))[1]["answer"] == "released"


def test_lists_go_on_at_their_cursor(serve):
    server = serve()
    for i in range(23):
        assert place(server, f"job-{i:02}", f"k{i % 3}")[0] == 201
    for i in range(0, 23, 4):
        server.post(f"/v1/holds/job-{i:02}/release", {})
    for more, expected in (("", [i for i in range(23) if i % 4]), ("&all=1", list(range(23))), ("&prefix=k1", [i for i in range(1, 23, 3) if i % 4])):
        ids, cursor = [], ""
        while cursor is not None:
            status, answer = server.get(f"/v1/holds?limit=4{more}&cursor={cursor}")
            assert status == 200 and len(answer["holds"]) <= 4
            ids += [row["id"] for row in answer["holds"]]
            cursor = answer["cursor"]
        assert ids == [f"job-{i:02}" for i in expected]


def test_caps_never_keep_a_hold_open(serve):
    """Neither the cap of counters, nor that of bodies, nor a full window stands in the way of an end."""
    server = serve("--max-counters", "2", "--max-body", "1MiB", "--max-bodies", "2MiB", "--memory", "64KiB", "--error", "1e-3")
    assert place(server, "a", "new", 5, lease_ms=3600000)[0] == 201
    server.post("/v1/events", [{"id": f"e{i}", "key": f"k{i}"} for i in range(2)])
    end = time.monotonic() + 20
    others = 0
    while place(server, f"other-{others}", "another", 5)[0] != 403:
        assert time.monotonic() < end
        assert place(server, f"other-{others}", "another", 5)[1]["answer"] == "duplicate"
        others += 1
        time.sleep(0.2)
    assert place(server, "a", "new", 5)[1]["answer"] == "duplicate"
    number = 0
    while True:  # until the window is full
        events = [{"id": f"full-{number}-{i}", "key": "k1"} for i in range(2000)]
        counts = server.post("/v1/events", events)[1]["counts"]
        number += 1
        if counts.get("refused", 0) > 0:
            break
        assert number < 200
    senders = fill_bodies(server, 1 << 20)
    assert server.post("/v1/holds/a/settle", {"actual": 4})[1] == {"answer": "settled", "value": "4", "left": "96", "resets_ms": None}
    for one in senders:
        one.close()
    assert server.value("new") == 4


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.05)


def test_open_holds_have_a_cap(serve):
    server = serve("--max-holds", "3")
    for name in "abc":
        assert place(server, name, lease_ms=3600000)[0] == 201
    status, problem = place(server, "d")
    assert (status, problem["title"]) == (403, "Too many holds") and server.get("/v1/holds/d")[0] == 404
    assert place(server, "a", lease_ms=3600000)[1]["answer"] == "duplicate"
    assert server.post("/v1/holds/a/settle", {"actual": 1})[1]["answer"] == "settled"
    assert place(server, "d", lease_ms=1)[0] == 201
    until(lambda: place(server, "e", lease_ms=3600000)[0] == 201)  # a lease that has ended makes room
    assert place(server, "f")[0] == 403
    server.stop(9)
    server.start()
    assert place(server, "f")[0] == 403
    assert server.post("/v1/holds/b/release", {})[1]["answer"] == "released" and place(server, "f")[0] == 201


def test_open_holds_count_as_counters(serve):
    """Where a hold would begin one: otherwise the cap of counters could be passed by settling."""
    server = serve("--max-counters", "3")
    assert server.post("/v1/events", {"id": "e", "key": "there"})[0] == 200
    until(lambda: server.get("/v1/status")[1]["counters"] == "1")
    for name in "ab":
        assert place(server, name, f"new-{name}", lease_ms=3600000)[0] == 201
    status, problem = place(server, "c", "new-c")
    assert (status, problem["title"]) == (403, "Too many counters")
    assert place(server, "c", "there")[0] == 201
    for name in "ab":
        assert server.post(f"/v1/holds/{name}/settle", {"actual": 1})[1]["answer"] == "settled"
    assert len(server.get("/v1/counters")[1]["counters"]) == 3


def test_to_settle_after_the_lease_is_a_take_under_the_cap_of_counters(serve):
    server = serve("--max-counters", "2")
    for name, key in (("a", "new-a"), ("b", "new-b"), ("c", "k0")):
        assert place(server, name, key, lease_ms=1)[0] == 201
        until(lambda one=name: server.get(f"/v1/holds/{one}")[1]["state"] == "lapsed")
    server.post("/v1/events", [{"id": f"e{i}", "key": f"k{i}"} for i in range(2)])
    until(lambda: server.get("/v1/status")[1]["counters"] == "2")
    for force in (False, True):
        status, problem = server.post("/v1/holds/a/settle", {"actual": 1, "force": force})
        assert (status, problem["title"]) == (403, "Too many counters")
    assert server.get("/v1/holds/a")[1]["state"] == "lapsed" and server.value("new-a") is None
    assert server.post("/v1/holds/c/settle", {"actual": 4})[1]["answer"] == "settled" and server.value("k0") == 5
    assert server.post("/v1/holds/a/release", {})[1]["answer"] == "released"
    assert server.post("/v1/holds/b/release", {})[1]["answer"] == "released"


def fill_bodies(server, size):
    """Sends bodies without their ends until another one is refused."""
    senders = []
    line = b'{"id":"x","key":"k1","more":"' + b"x" * 2000 + b'"}\n'
    body = line * (size * 9 // 10 // len(line))
    for _ in range(40):
        one = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        one.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
                    b"Content-Length: %d\r\n\r\n" % (len(body) + 1) + body)
        senders.append(one)
        status, headers, text = ask(server.port, "POST", "/v1/events", line * 200, Content_Type="application/x-ndjson")
        if status == 503:
            assert headers["Retry-After"] == "1" and "memory" in json.loads(text)["detail"]
            return senders
        assert status == 200, text
        time.sleep(0.05)
    raise AssertionError("no body is ever refused")


def test_bodies_of_all_requests_have_a_budget(serve):
    server = serve("--max-body", "1MiB", "--max-bodies", "4MiB")
    senders = fill_bodies(server, 1 << 20)
    assert server.post("/v1/events", {"id": "small", "key": "small"})[0] == 200
    figures = ask(server.port, "GET", "/metrics")[2].decode()
    refused = re.search(r"^lethe_http_bodies_refused_total (\d+)$", figures, re.MULTILINE)
    assert int(refused.group(1)) >= 1  # a sender that fills the budget may be refused, too
    used = [int(row.split()[1]) for row in figures.splitlines() if row.startswith("lethe_http_body_bytes ")]
    assert (1 << 20) < used[0] <= (4 << 20)
    answers = []
    for one in senders:
        one.sendall(b"\n")
        answers.append(one.recv(12))
        one.close()
    assert answers[0] == b"HTTP/1.1 200" and set(answers) <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}, answers
    end = time.monotonic() + 20
    while "lethe_http_body_bytes 0\n" not in ask(server.port, "GET", "/metrics")[2].decode():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_stores_without_holds(serve, lethe, tmp_path):
    subprocess.run([lethe, "count", "-q", "--db", tmp_path / "db", "--sketch", "64KiB"], input=b"1\tk\n", check=True)
    server = serve()
    status, answer = place(server, "a")
    assert status == 400 and "sketch" in answer["detail"], answer
    status, answer = server.get("/v1/usage")
    assert status == 400 and "per period" in answer["detail"], answer
    status, answer = server.get("/v1/counters")  # and not the reason of what was asked before
    assert status == 400 and "does not know its keys" in answer["detail"], answer
    assert server.get("/v1/holds")[1] == {"holds": [], "cursor": None}


def test_a_reader_shows_holds(serve, lethe, tmp_path):
    subprocess.run([lethe, "hold", "place", "--db", tmp_path / "db", "--limit", "9", "--lease", "1h", "a", "k", "5"], check=True,
                   stdout=subprocess.DEVNULL)
    server = serve("--read-only")
    assert server.get("/v1/holds/a")[1]["amount"] == "5" and len(server.get("/v1/holds")[1]["holds"]) == 1
    assert place(server, "b")[0] == 403
