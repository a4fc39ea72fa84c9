"""Goal: who may not ask gets no answer; and who sends too much, too slowly or too oddly harms nobody.

Method: tokens of each kind against each address; Host and Origin of other sites; bodies, headers and
connections beyond each cap, while another client must still be served."""

import gzip
import json
import os
import pathlib
import socket
import subprocess
import time

import pytest
from conftest import BINARIES, ask
from sizes import sized

READ, WRITE, TENANT, ADMIN = (name * 6 for name in ("read", "writ", "tena", "admi"))


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def guarded(serve, tmp_path):
    (tmp_path / "tokens").write_text(f"# tokens\n{READ} read\n{WRITE}  write\n{TENANT} read,write prefix=t/\n"
                                     f"{ADMIN} admin\n")
    return serve("--token-file", str(tmp_path / "tokens"), "--backups", str(tmp_path / "b"), token=READ)


def test_scopes(guarded):
    event = {"id": "a", "key": "k"}
    assert guarded.post("/v1/events", event)[0] == 401
    for token, status in ((READ, 403), (WRITE, 200), (TENANT, 403), (ADMIN, 403), ("x" * 24, 401), (WRITE[:-1], 401)):
        assert guarded.post("/v1/events", event, **bearer(token))[0] == status, token
    for path in ("/metrics", "/v1/status", "/v1/counters", "/v1/top", "/v1/usage", "/v1/live", "/v1/claims/x"):
        assert ask(guarded.port, "GET", path)[0] == 401, path
        assert ask(guarded.port, "GET", path, **bearer(WRITE))[0] == 403, path
    for path in ("/metrics", "/v1/status", "/v1/top", "/v1/live"):
        assert ask(guarded.port, "GET", path, **bearer(TENANT))[0] == 403, path
    for path in ("/", "/healthz", "/readyz", "/openapi.json"):
        assert ask(guarded.port, "GET", path)[0] == 200, path
    assert guarded.post("/v1/backup", {}, **bearer(WRITE))[0] == 403
    assert guarded.post("/v1/backup", {}, **bearer(ADMIN))[0] == 200
    assert ask(guarded.port, "GET", "/v1/counters")[1]["WWW-Authenticate"] == "Bearer"


def test_a_prefix_keeps_tenants_apart(guarded):
    own = bearer(TENANT)
    assert guarded.post("/v1/events", {"id": "a", "key": "secret"}, **bearer(WRITE))[0] == 200
    assert guarded.post("/v1/events", {"id": "b", "key": "t/1"}, **own)[0] == 200
    assert guarded.post("/v1/events", [{"id": "c", "key": "t/1"}, {"id": "d", "key": "u/1"}], **own)[0] == 403
    assert guarded.post("/v1/take", {"id": "e", "key": "u", "limit": "5"}, **own)[0] == 403
    assert guarded.get("/v1/counters/secret", **own)[0] == 403
    assert guarded.get("/v1/counters?prefix=s", **own)[0] == 403
    assert guarded.get("/v1/counters", **own)[1]["counters"] == [{"key": "t/1", "value": "1"}]


def test_ids_are_common_to_all_tokens(guarded):
    assert guarded.post("/v1/events", {"id": "order-1", "key": "u/1"}, **bearer(WRITE))[1]["counts"]["applied"] == 1
    own = bearer(TENANT)
    assert guarded.post("/v1/events", {"id": "order-1", "key": "t/1"}, **own)[1]["counts"]["duplicate"] == 1
    assert guarded.post("/v1/take", {"id": "order-1", "key": "t/1", "limit": 5}, **own)[1]["outcome"] == "duplicate"


def test_tokens_are_read_again(guarded, tmp_path):
    fresh = "fresh-token-fresh-token"
    (tmp_path / "tokens").write_text("too-short read\n")
    guarded.send(1)
    while "tokens:1: a token has 16" not in (tmp_path / "server.log").read_text():
        time.sleep(0.02)
    assert guarded.get("/v1/status", **bearer(READ))[0] == 200
    (tmp_path / "tokens").write_text(f"{fresh} read\n")
    guarded.send(1)
    while guarded.get("/v1/status", **bearer(fresh))[0] != 200:
        time.sleep(0.02)
    assert guarded.get("/v1/status", **bearer(READ))[0] == 401
    guarded.server.token = fresh


def test_other_sites_are_refused(serve):
    server = serve("--hosts", "counts.example")
    event = b'{"id":"a","key":"k"}'
    kind = {"Content_Type": "application/json"}
    for host, status in (("evil.example", 421), ("evil.example:80", 421), ("127.0.0.1.evil", 421), ("localhost", 200),
                         ("counts.example:9", 200), ("[::1]:1", 200)):
        assert ask(server.port, "GET", "/healthz", Host=host)[0] == status, host
    for origin, status in (("http://evil.example", 403), ("null", 403), (f"http://127.0.0.1:{server.port}", 200),
                           (f"https://127.0.0.1:{server.port}", 403)):
        assert ask(server.port, "POST", "/v1/events", event, Origin=origin, **kind)[0] == status, origin
    for form in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert ask(server.port, "POST", "/v1/events", event, Content_Type=form)[0] == 415, form
    assert ask(server.port, "POST", "/v1/events", event)[0] == 415
    status, headers, _ = ask(server.port, "OPTIONS", "/v1/events", Origin="http://evil.example")
    assert status in (403, 405) and "Access-Control-Allow-Origin" not in headers
    status, headers, _ = ask(server.port, "GET", "/")
    assert "default-src 'none'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
    assert ask(server.port, "GET", "/", If_None_Match=headers["ETag"])[0] == 304


@pytest.mark.parametrize("path", ["/../etc/passwd", "/page/../../etc/passwd", "/page/", "/%2e%2e/", "//", "/page/%00"])
def test_no_address_reaches_the_file_system(serve, path):
    assert ask(serve().port, "GET", path)[0] == 404


@pytest.mark.parametrize("words", [("--listen", "0.0.0.0:0"), ("--listen", "nonsense"), ("--tls-cert", "x"),
                                   ("--token-file", "/none"), ("--fields", "id=a"), ("--log", "xml")])
def test_wrong_options_are_refused(tmp_path, words):
    done = subprocess.run([BINARIES / "lethe", "serve", "--db", tmp_path / "d", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode in (2, 4) and done.stderr.startswith(b"lethe: "), done


def test_bodies_beyond_the_caps(serve):
    server = serve("--max-body", "64KiB")
    line = b'{"id":"a","key":"k"}\n'
    kind = "application/x-ndjson"
    assert server.post("/v1/events", line * 4000, kind)[0] == 413
    assert server.post("/v1/events", gzip.compress(line * 30000), kind, Content_Encoding="gzip")[0] == 413
    assert server.post("/v1/events", gzip.compress(line * 20000), kind, Content_Encoding="gzip")[0] == 200
    chunked = iter([line * 1000] * 10)
    status, _, _ = ask(server.port, "POST", "/v1/events", chunked, Content_Type=kind)
    assert status == 413
    assert ask(server.port, "GET", "/healthz", X_Long="x" * 100000)[0] in (413, 431)
    assert server.value("k") == 1


def test_new_counters_have_a_cap(serve):
    server = serve("--max-counters", "3")
    server.post("/v1/events", [{"id": f"a{i}", "key": f"k{i}"} for i in range(3)])
    deadline = time.monotonic() + 20
    while server.post("/v1/events", {"id": f"n{time.monotonic()}", "key": f"n{time.monotonic()}"})[0] != 403:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert server.post("/v1/events", {"id": "old", "key": "k1"})[0] == 200
    status, answer = server.post("/v1/take", {"id": "t1", "key": "another", "limit": 5})
    assert status == 403 and "--max-counters 3 " in answer["detail"], answer
    assert server.post("/v1/take", {"id": "t1", "key": "k1", "limit": 5})[0] == 200
    assert server.value("another") is None


@pytest.mark.parametrize("wrong", [{"id": ""}, {"key": ""}, {"id": "x" * 1025}, {"id": 1.0}, {"id": 1e300}, {"key": 2.5}, {"id": True}])
def test_what_cannot_be_an_id_or_a_key_is_taken_from_nothing(serve, wrong):
    server = serve()
    assert server.post("/v1/take", {"id": "a", "key": "k", "limit": 5, **wrong})[0] == 400
    assert server.post("/v1/take", {"id": "a", "key": "k", "limit": 5}, Content_Encoding="gzip")[0] == 415
    assert server.value("k") is None


@pytest.mark.parametrize("lengths", ["Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nTransfer-Encoding: chunked",
                                     "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip"])
def test_a_body_whose_end_is_not_clear(serve, lengths):
    """Whoever stands between could see another request in what comes after it."""
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as one:
        one.sendall(f"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{lengths}\r\n\r\n[]\r\n".encode())
        answer = b""
        while piece := one.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1") == 1


def test_names_that_begin_like_loopback(lethe):
    result = subprocess.run([lethe, "serve", "--db", "d", "--listen", "127.example.com:0"], capture_output=True, check=False)
    assert result.returncode == 2 and b"can be reached from other machines" in result.stderr


def test_slow_and_odd_senders_keep_nobody_waiting(serve):
    server = serve()
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    for i, one in enumerate(idle):
        one.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"
                    if i % 2 else b"GET /healthz HT")
    for junk in (b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Length: -5\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=1) as one:
            one.sendall(junk)
            one.shutdown(socket.SHUT_WR)
            try:
                while one.recv(65536):
                    pass
            except TimeoutError:
                pass  # the library may notice the end of what is sent only when the connection's time is over
    assert server.post("/v1/events", {"id": "a", "key": "k"})[0] == 200
    for one in idle:
        one.close()


def test_streams_have_a_cap_and_end_with_the_server(serve):
    server = serve()
    streams = []
    for i in range(33):
        one = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        one.sendall(b"GET /v1/live?interval=100 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one.recv(12) == (b"HTTP/1.1 200" if i < 32 else b"HTTP/1.1 503")
        streams.append(one)
    server.stop()
    assert server.server.process.returncode == 0
    for one in streams:
        while one.recv(65536):
            pass
        one.close()


def test_a_stream_keeps_no_body(serve):
    """Bodies that were sent with streams would take, as long as these last, the memory of all others."""
    server = serve("--max-bodies", "1MiB")
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as one:
        one.sendall(b"GET /v1/live?interval=60000 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + bytes(1000000))
        assert one.recv(12) == b"HTTP/1.1 200"
        assert "lethe_http_body_bytes 0\n" in ask(server.port, "GET", "/metrics")[2].decode()
        lines = "".join(f'{{"id":"{i}","key":"k"}}\n' for i in range(2000))
        assert server.post("/v1/events", lines, "application/x-ndjson")[0] == 200


def raw(port, text):
    """All that is answered to these bytes, until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as one:
        one.sendall(text)
        answer = b""
        while piece := one.recv(65536):
            answer += piece
    return answer


def test_what_a_sender_that_does_not_wait_sent_is_a_duplicate_later(serve):
    """It may get no answer, since the HTTP library takes it for gone; what counts is that it may send again."""
    server, event = serve(), '{"id":"a","key":"k"}'
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as one:
        one.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (len(event), event.encode()))
        one.shutdown(socket.SHUT_WR)
        while one.recv(65536):
            pass
    assert server.post("/v1/events", event)[1]["counts"]["duplicate"] == 1


def test_a_token_may_be_in_the_file_once(tmp_path, guarded):
    (tmp_path / "twice").write_text(f"{READ} read\n# a comment\n{WRITE} write\n{READ} read,write\n")
    done = subprocess.run([BINARIES / "lethe", "serve", "--db", tmp_path / "other", "--listen", "127.0.0.1:0", "--token-file",
                           tmp_path / "twice"], stderr=subprocess.PIPE, timeout=20, check=False)
    assert done.returncode == 4 and b"twice:4: this token is in line 1, too" in done.stderr, done.stderr
    assert READ.encode() not in done.stderr
    (tmp_path / "tokens").write_text((tmp_path / "twice").read_text())
    guarded.send(1)
    while "tokens:4: this token is in line 1, too" not in (tmp_path / "server.log").read_text():
        time.sleep(0.02)
    assert guarded.get("/v1/status", **bearer(READ))[0] == 200


def test_a_stream_ends_with_its_token(guarded, tmp_path):
    """When its token is gone, or may do something else; and not when another one is."""
    names = {name: name * 6 for name in ("stay", "gone", "more", "less")}
    tokens = "".join(f"{token} {'read,write' if name == 'less' else 'read'}\n" for name, token in names.items())
    (tmp_path / "tokens").write_text(tokens + f"{READ} read\n")
    guarded.send(1)
    while guarded.get("/v1/status", **bearer(names["stay"]))[0] != 200:
        time.sleep(0.02)
    streams = {}
    for name, token in names.items():
        one = socket.create_connection(("127.0.0.1", guarded.port), timeout=30)
        one.sendall(f"GET /v1/live?interval=100 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert one.recv(12) == b"HTTP/1.1 200"
        streams[name] = one
    (tmp_path / "tokens").write_text(f"{names['less']} read\n{names['more']} read,admin\n{READ} read\n{names['stay']} read\n")
    guarded.send(1)
    for name in ("gone", "more", "less"):
        with streams[name] as one:
            text = b""
            while not text.endswith(b"\r\n0\r\n\r\n"):  # the last piece
                piece = one.recv(65536)
                assert piece, name
                text = text[-100:] + piece
    for _ in range(3):
        assert streams["stay"].recv(65536)
    streams["stay"].close()
    assert guarded.get("/v1/live", **bearer(names["gone"]))[0] == 401


def test_addresses_in_absolute_form(serve):
    server = serve()
    ours = f"127.0.0.1:{server.port}"
    for target, host, status in ((f"http://{ours}/healthz", ours, 200), (f"HTTP://LOCALHOST:{server.port}/healthz", ours, 200),
                                 (f"http://{ours}/v1/counters?limit=1", ours, 200), (f"http://{ours}", ours, 200),
                                 (f"http://{ours}/none", ours, 404), ("http://evil.example/healthz", ours, 421),
                                 (f"http://{ours}/healthz", "evil.example", 421), (f"http://{ours}@evil.example/healthz", ours, 421),
                                 (f"http://localhost:1@{ours}/healthz", ours, 421), (f"https://{ours}/healthz", ours, 421),
                                 ("http:///healthz", ours, 421), ("ftp://localhost/healthz", ours, 421),
                                 ("http://" + "a" * 300 + "/", ours, 421)):
        text = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        assert raw(server.port, text.encode()).startswith(f"HTTP/1.1 {status}".encode()), target
    event = '{"id":"a","key":"k"}'
    for origin, status in ((f"http://{ours}", 200), ("http://evil.example", 403)):
        text = (f"POST http://{ours}/v1/events HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nConnection: close\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(event)}\r\n\r\n{event}")
        assert raw(server.port, text.encode()).startswith(f"HTTP/1.1 {status}".encode()), origin


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 2**64, 2**64 + 5, 10**40, "5x", "0x10", "+5", "-1", ""])
def test_lengths_that_no_body_has(serve, length):
    """They are answered, or cut off, at once: nobody waits for such a body."""
    server = serve()
    began = time.monotonic()
    answer = raw(server.port, f"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 f"Content-Length: {length}\r\n\r\n[]".encode())
    assert answer == b"" or answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 413"), answer
    assert time.monotonic() - began < 15
    assert server.get("/v1/counters")[1]["counters"] == []


def test_a_body_that_never_ends_does_not_keep_the_server(serve):
    server = serve()
    senders = []
    for length in ("Content-Length: 4000000", "Transfer-Encoding: chunked"):
        one = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        one.sendall(f"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode())
        one.sendall(b"4\r\n[   \r\n")
        senders.append(one)
    assert server.post("/v1/events", {"id": "a", "key": "k"})[0] == 200
    began = time.monotonic()
    server.stop()
    assert server.server.process.returncode == 0 and time.monotonic() - began < 20
    for one in senders:
        one.close()


def sockets(server):
    """How many sockets the server has open."""
    folder = pathlib.Path(f"/proc/{server.server.process.pid}/fd")
    found = 0
    for link in folder.iterdir():
        try:
            found += os.readlink(link).startswith("socket:")
        except FileNotFoundError:
            pass  # closed meanwhile
    return found


@pytest.mark.skipif(sized(True, False, False), reason="it takes minutes, and is run by make test-all")
def test_readers_that_are_too_slow_are_cut_off(serve):
    """An answer larger than what the kernel keeps for a reader, of which that takes a little now and then."""
    server = serve()
    for first in range(0, 6000, 1000):
        server.post("/v1/events", [{"id": f"e{i}", "key": f"{i:06}" + "k" * 994} for i in range(first, first + 1000)])
    time.sleep(3)  # connections of before are closed
    before = sockets(server)
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(30)
        one.connect(("127.0.0.1", server.port))
        one.sendall(b"GET /v1/counters?limit=6000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one.recv(12) == b"HTTP/1.1 200"
        assert sockets(server) == before + 1
        end = time.monotonic() + 400
        while sockets(server) > before:
            assert time.monotonic() < end
            one.recv(2048)
            time.sleep(0.2)
    assert server.value("000000" + "k" * 994) == 1


def test_answers_have_a_cap(serve):
    """Each byte of such a key takes six in JSON. A list ends early and goes on at its cursor, and nothing is lost."""
    most = (8 << 20) + (16 << 10)
    server = serve("--per", "1h")
    names = [b"\1" * 1005 + b"%05d" % i for i in range(2000)]
    for first in range(0, len(names), 500):
        server.post("/v1/events", [{"id": f"e{i}", "key": names[i].decode()} for i in range(first, first + 500)])

    def read(path):
        status, _, text = ask(server.port, "GET", path)
        assert len(text) < most
        return status, json.loads(text)
    found, cursor, pages = [], "", 0
    while cursor is not None:
        status, answer = read(f"/v1/counters?limit=10000&cursor={cursor}")
        assert status == 200
        found += [row["key"].encode() for row in answer["counters"]]
        cursor, pages = answer["cursor"], pages + 1
    assert found == names and pages == 2
    status, answer = read("/v1/top?limit=10000")
    assert status == 400 and "ask for less" in answer["detail"]
    assert len(read("/v1/top?limit=1000")[1]["counters"]) == 1000
    status, answer = read("/v1/usage?limit=10000")
    assert status == 200 and answer["is_cut"] and 1000 < len(answer["usage"]) < 2000
    changes = [{"key": "k", "delta": 10 ** 12}] * 1000
    lines = "".join(json.dumps({"id": f"m{i}", "changes": changes}) + "\n" for i in range(600))
    status, answer = server.post("/v1/events", gzip.compress(lines.encode(), 1), "application/x-ndjson", Content_Encoding="gzip")
    assert status == 200 and answer == {"counts": {"applied": 600, "duplicate": 0}}


def test_lists_of_holds_have_a_cap(serve):
    server = serve()
    names = [b"\1" * 1005 + b"%05d" % i for i in range(800)]
    for name in names:
        status, _, text = ask(server.port, "POST", "/v1/holds/" + "%01" * 1005 + name[-5:].decode() + "/place",
                              json.dumps({"key": name.decode(), "amount": 1, "limit": 5}), Content_Type="application/json")
        assert status == 201, text
    status, answer = server.get("/v1/holds?limit=10000")
    rest = server.get(f"/v1/holds?limit=10000&cursor={answer['cursor']}")[1]
    assert [row["id"].encode() for row in answer["holds"] + rest["holds"]] == names and rest["holds"]
