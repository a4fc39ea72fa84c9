"""Goal: what is wrong with a request below JSON is answered so that its sender sees it, once, and nothing of it is counted;
old TLS is refused; figures come at once while the disk is slow.

Method: real servers; bodies sent to the end by http.client, raw bytes over sockets, openssl, and a disk whose syncs wait."""

import http.client
import json
import socket
import ssl
import subprocess
import time

import pytest
from conftest import BINARIES, Asked, ask
from test_access import raw
from test_faults import FAULTS, Faulty, Secure, certificate

EVENT = b'{"id":"a","key":"k"}'


@pytest.mark.parametrize("mib", [2, 9, 20])
def test_a_body_that_is_too_large_is_answered(serve, mib):
    """The sender sends all of it before it looks for the answer."""
    server = serve("--max-body", "1MiB")
    body = EVENT + b" " * (mib << 20)
    for _ in range(5):
        assert server.post("/v1/events", body)[0] == 413
        assert ask(server.port, "POST", "/v1/events", iter([body]), Content_Type="application/json")[0] == 413  # in pieces
    assert server.value("k") is None


def test_a_large_body_with_a_wrong_token_is_answered(serve, tmp_path):
    (tmp_path / "tokens").write_text("0123456789abcdef read,write\n")
    server = Asked(serve("--token-file", str(tmp_path / "tokens")).server)
    for _ in range(5):
        assert server.post("/v1/events", EVENT + b" " * (6 << 20), Authorization="Bearer wrong")[0] == 401


def test_a_sender_that_does_not_stop_is_cut_off(serve):
    """And delays neither others nor the end of the server."""
    server = serve("--max-body", "64KiB")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as endless:
        endless.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        b"Content-Length: 1000000000000\r\n\r\n")
        assert endless.recv(12) == b"HTTP/1.1 413"
        assert server.get("/healthz")[0] == 200
        with pytest.raises(OSError):
            while True:
                endless.sendall(bytes(1 << 20))
    server.stop()


@pytest.mark.parametrize("coding", ["gzip, chunked", "gzip", "xchunked", "identity"])
def test_other_codings_are_refused_at_once(serve, coding):
    server = serve()
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(EVENT), EVENT)
    answer = raw(server.port, b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Transfer-Encoding: " + coding.encode() + b"\r\n\r\n" + chunks)
    assert answer.count(b"HTTP/1.1 ") == 1 and answer[9:12] in (b"400", b"501"), answer
    assert server.value("k") is None


@pytest.mark.parametrize("hosts,status", [(b"Host: localhost\r\nHost: localhost\r\n", 400), (b"Host: localhost\r\nHost: evil\r\n", 400),
                                          (b"Host: localhost:8420:x\r\n", 421),
                                          (b"Host: localhost:8x\r\n", 421), (b"Host: [::1]x\r\n", 421), (b"Host: localhost:1\r\n", 200),
                                          (b"Host: [::1]:1\r\n", 200), (b"Host: 127.0.0.1:\r\n", 200)])
def test_hosts_that_can_be_read_in_two_ways(serve, hosts, status):
    server = serve()
    answer = raw(server.port, b"GET /healthz HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 %d" % status), answer


@pytest.mark.parametrize("version,works", [("-tls1", False), ("-tls1_1", False), ("-tls1_2", True), ("-tls1_3", True)])
def test_old_tls_is_refused(tmp_path, ended, version, works):
    certificate(tmp_path, "one")
    server = ended(Secure(tmp_path, "--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")))
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", version, "-cipher", "ALL:@SECLEVEL=0"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    assert (done.returncode == 0) == works, done.stdout
    server.stop()


def test_a_large_body_over_tls_is_answered(tmp_path, ended):
    certificate(tmp_path, "one")
    server = ended(Secure(tmp_path, "--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"),
                          "--max-body", "1MiB"))
    trusted = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    with trusted.wrap_socket(socket.create_connection(("127.0.0.1", server.port), timeout=60), server_hostname="localhost") as link:
        link.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: 6000000\r\n\r\n" + bytes(6000000))
        assert link.recv(12) == b"HTTP/1.1 413"
    server.stop()


@pytest.mark.parametrize("listen", ["127.0.0.1:99999", "127.0.0.1:65536", "127.0.0.1:4294967297", "127.0.0.1", "127.0.0.1:", ":80",
                                    "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:80x"])
def test_ports_that_there_are_not(tmp_path, listen):
    done = subprocess.run([BINARIES / "lethe", "serve", "--db", tmp_path / "d", "--listen", listen], stderr=subprocess.PIPE,
                          timeout=60, check=False)
    assert done.returncode == 2 and b"65535" in done.stderr, done.stderr
    assert not (tmp_path / "d").exists()


@pytest.mark.skipif(not FAULTS.exists(), reason="the disk that waits is not built")
def test_figures_come_while_the_disk_waits(tmp_path, ended):
    (tmp_path / "db").mkdir()
    gate = tmp_path / "gate"
    server = Asked(ended(Faulty(tmp_path, LD_PRELOAD=str(FAULTS), LETHE_FAULT_FOLDER=str(tmp_path / "db"),
                                LETHE_FAULT_GATE=str(gate))))
    assert server.post("/v1/events", EVENT)[0] == 200
    assert 'lethe_events_total{outcome="applied"} 1\n' in ask(server.port, "GET", "/metrics")[2].decode()
    gate.touch()  # from now on no sync ends
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as waiting:
        waiting.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n"
                        b'{"id":"b","key":"k"}')
        while not (tmp_path / "gate.met").exists():
            time.sleep(0.02)
        text = ask(server.port, "GET", "/metrics")[2].decode()
        assert 'lethe_events_total{outcome="applied"} 1\n' in text  # what is durable, and no more
        assert server.get("/v1/status")[1]["totals"]["applied"] == "1"
        assert server.get("/readyz")[0] == 200
        gate.unlink()
        assert waiting.recv(12) == b"HTTP/1.1 200"
    assert server.value("k") == 2
    server.stop()
    assert server.server.process.returncode == 0


@pytest.mark.skipif(not FAULTS.exists(), reason="the disk that waits is not built")
def test_others_are_answered_while_the_disk_waits(tmp_path, ended):
    """However many requests wait, and though the store takes no more events until then."""
    (tmp_path / "db").mkdir()
    gate = tmp_path / "gate"
    server = Asked(ended(Faulty(tmp_path, LD_PRELOAD=str(FAULTS), LETHE_FAULT_FOLDER=str(tmp_path / "db"),
                                LETHE_FAULT_GATE=str(gate))))
    assert server.post("/v1/events", EVENT)[0] == 200
    gate.touch()
    waiting = []

    def post(path, body, kind):
        one = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        waiting.append(one)
        one.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
                    % (path, kind, len(body), body))

    post(b"/v1/events", b'{"id":"b","key":"k"}', b"application/json")
    while not (tmp_path / "gate.met").exists():
        time.sleep(0.02)
    time.sleep(0.2)  # by now it takes long
    for number in range(2):
        post(b"/v1/events", b"".join(b'{"id":"%d/%d","key":"k"}\n' % (number, i) for i in range(80000)), b"application/x-ndjson")
    for number in range(20):
        post(b"/v1/take", b'{"id":"t%d","key":"k","limit":1000000}' % number, b"application/json")
        post(b"/v1/events", b'{"id":"c%d","key":"k"}' % number, b"application/json")
        for path in ("/healthz", "/readyz", "/metrics", "/v1/status", "/"):
            assert ask(server.port, "GET", path)[0] == 200, path
        time.sleep(0.15)
    gate.unlink()
    for one in waiting:
        assert one.recv(12) == b"HTTP/1.1 200"
        one.close()
    assert server.value("k") == 2 + 160000 + 40
    server.stop()
    assert server.server.process.returncode == 0


def test_backups_in_the_store_are_refused(tmp_path, serve):
    serve().stop()
    (tmp_path / "link").symlink_to(tmp_path / "db")
    for place in ("db", "db/b", "db/b/c", "link/b", "db/../db/b"):
        done = subprocess.run([BINARIES / "lethe", "serve", "--db", tmp_path / "db", "--listen", "127.0.0.1:0", "--backups",
                               tmp_path / place], stderr=subprocess.PIPE, timeout=60, check=False)
        assert done.returncode == 2 and b"is in the store itself" in done.stderr, done.stderr
    done = subprocess.run([BINARIES / "lethe", "serve", "--db", ".", "--listen", "127.0.0.1:0", "--backups", "new"],
                          cwd=tmp_path / "db", stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 2 and b"is in the store itself" in done.stderr, done.stderr
    serve("--backups", str(tmp_path / "db-copies")).stop()


@pytest.mark.parametrize("given", [{}, {"Idempotency_Key": "x"}])
def test_an_empty_id_is_none(serve, given):
    server = serve()
    for body in ({"id": "", "key": "k"}, [{"id": "", "key": "k"}], {"id_base64": "", "key": "k"}):
        assert server.post("/v1/events", body, **given)[0] == 400, body
    assert server.value("k") is None
    assert server.post("/v1/events", {"id": None, "key": "k"}, Idempotency_Key="x")[0] == 200


def take(server, **members):
    return server.post("/v1/take", {"key": "k", "limit": 100, **members})


def test_an_idempotency_key_supplies_the_id_of_a_take(serve):
    server = serve()
    take = {"key": "k", "limit": 100}
    assert server.post("/v1/take", take, Idempotency_Key="t1")[1]["outcome"] == "applied"
    for body, key in (({**take, "id": "t1"}, "t1"), (take, '"t1"'), ({**take, "id": "t1"}, "t1 ")):
        assert server.post("/v1/take", body, Idempotency_Key=key)[1]["outcome"] == "duplicate"
    assert server.post("/v1/take", {**take, "id": "t1"})[1]["outcome"] == "duplicate"
    for name in ("t3", "", "t"):
        status, answer = server.post("/v1/take", {**take, "id": name}, Idempotency_Key="t2")
        assert status == 400, answer
    assert server.post("/v1/take", take, Idempotency_Key="k" * 1001)[0] == 400
    assert server.post("/v1/take", take, Idempotency_Key="k" * 1000)[1]["outcome"] == "applied"
    assert server.post("/v1/take", take)[0] == 400
    assert server.value("k") == 2


@pytest.mark.parametrize("path,body", [("/v1/take", '{"key":"k","limit":9}'), ("/v1/events", '{"key":"k"}')])
def test_two_idempotency_keys_are_refused(serve, path, body):
    server = serve()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest("POST", path)
    for name, text in (("Content-Type", "application/json"), ("Content-Length", str(len(body))),
                       ("Idempotency-Key", "a"), ("idempotency-key", "b")):
        connection.putheader(name, text)
    connection.endheaders(body.encode())
    assert connection.getresponse().status == 400
    connection.close()
    assert server.value("k") is None


def test_a_take_has_an_amount(serve):
    server = serve()
    assert take(server, id="a", amount=7)[1]["value"] == "7"
    assert take(server, id="a", amount=7)[1]["outcome"] == "duplicate"
    assert take(server, id="b", delta=2)[1]["value"] == "9"
    assert take(server, id="c")[1]["value"] == "10"
    assert take(server, id="d", amount="90")[1]["value"] == "100"
    assert take(server, id="e", amount=1)[1]["outcome"] == "limited"
    for wrong in ({"amount": 1, "delta": 1}, {"amount": "x"}, {"amount": 1.5}, {"amount": True}, {"amount_base64": "NQ=="}):
        assert take(server, id="f", **wrong)[0] == 400, wrong
    for name in ("Amount", "amout", "count", "n", "value", "limit_base64", "", 'a"b', "x" * 1000):
        status, answer = take(server, id="g", **{name: -50})
        assert status == 400 and "could mean" in answer["detail"], (name, answer)
    assert server.post("/v1/take", r'{"id":"h","k\u0065y":"k","limit":"200","\u0061mount":5}')[1]["value"] == "105"
    assert server.post("/v1/take", '{"id":"i{\\",\\"x","key_base64":"aw==" , "limit" : "200",\n"amount":5}')[1]["value"] == "110"
    assert server.value("k") == 110


def test_members_that_are_not_known(serve):
    """Each address refuses what it would have to pass over, by its name; nothing is changed."""
    server = serve()
    hold, claim = {"key": "k", "amount": 1, "limit": 5}, {"token": "t"}
    assert server.post("/v1/holds/h/place", hold)[0] == 201 and server.post("/v1/claims/c/begin", claim)[0] == 201
    calls = [("/v1/holds/new/place", hold, ["lease", "leas_ms", "force", "amount_base64"]),
             ("/v1/holds/h/settle", {"actual": 1}, ["forced", "amount", "actual_base64"]),
             ("/v1/holds/h/release", {}, ["force", "actual"]),
             ("/v1/claims/new/begin", claim, ["lease", "finger_print", "reply", "lease_ms_base64"]),
             ("/v1/claims/c/renew", claim, ["lease", "reply", "fingerprint"]),
             ("/v1/claims/c/done", claim, ["replay", "lease_ms", "operations"]),
             ("/v1/claims/c/abort", claim, ["reply", "lease_ms", "x"])]
    for path, body, names in calls:
        for name in names:
            status, answer = server.post(path, {**body, name: "1"})
            assert status == 400 and f"'{name}' could mean here" in answer["detail"], (path, answer)
    assert server.get("/v1/holds/new")[0] == server.get("/v1/claims/new")[0] == 404
    assert server.get("/v1/holds/h")[1]["state"] == "open" and server.get("/v1/claims/c")[1]["state"] == "running"
    for path, body in (("holds/h/place", {**hold, "lease_ms": 60000}), ("holds/h/settle", {"actual": 1, "force": False}),
                       ("claims/c/begin", {"token_base64": "dA==", "lease_ms": 60000, "fingerprint": None}),
                       ("claims/c/renew", {**claim, "lease_ms": "60000"}), ("claims/c/done", {**claim, "reply_base64": "eA=="})):
        assert server.post("/v1/" + path, body)[0] in (200, 201), path


def test_what_is_posted_is_described(serve):
    """Each address that is posted to has a body in /openapi.json, whose members the server takes."""
    server = serve()
    paths = json.loads(ask(server.port, "GET", "/openapi.json")[2])["paths"]
    posted = {path: what["post"] for path, what in paths.items() if "post" in what}
    assert len(posted) > 8 and "/v1/take" in posted
    for path, what in posted.items():
        assert "application/json" in what["requestBody"]["content"], path
    assert not [path for path, what in paths.items() if "requestBody" in what.get("get", {})]
    schema = posted["/v1/take"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(schema["properties"]) == {"id", "id_base64", "key", "key_base64", "amount", "delta", "limit", "min"}
    body = {name: 1 for name in schema["properties"] if not name.endswith("_base64") and name != "delta"}
    assert server.post("/v1/take", {**body, "id": "a", "key": "k"})[0] == 200
    hold = posted["/v1/holds/{name}/place"]["requestBody"]["content"]["application/json"]["schema"]
    for part in hold["allOf"]:  # what must be there must
        body = {"key": "k", "amount": 1, "limit": 5}
        for way in part["anyOf"]:
            body.pop(way["required"][0], None)
        assert server.post("/v1/holds/h/place", body)[0] == 400, part
