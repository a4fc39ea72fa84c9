"""Goal: who may not ask gets no answer; and who sends too much, too slowly or too oddly harms nobody.

Method: tokens of each kind against each address; Host and Origin of other sites; bodies, headers and
connections beyond each cap, while another client must still be served."""

import gzip
import socket
import subprocess
import time

import pytest
from conftest import BINARIES, ask

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
    assert server.post("/v1/take", {"id": "t1", "key": "another", "limit": 5})[0] == 403
    assert server.post("/v1/take", {"id": "t1", "key": "k1", "limit": 5})[0] == 200
    assert server.value("another") is None


@pytest.mark.parametrize("wrong", [{"id": ""}, {"key": ""}, {"id": "x" * 1025}, {"id": 1.0}, {"id": 1e300}, {"key": 2.5}, {"id": True}])
def test_what_cannot_be_an_id_or_a_key_is_taken_from_nothing(serve, wrong):
    server = serve()
    assert server.post("/v1/take", {"id": "a", "key": "k", "limit": 5, **wrong})[0] == 400
    assert server.post("/v1/take", {"id": "a", "key": "k", "limit": 5}, Content_Encoding="gzip")[0] == 415
    assert server.value("k") is None


@pytest.mark.parametrize("lengths", ["Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nTransfer-Encoding: chunked"])
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
