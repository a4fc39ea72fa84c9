"""Goal: a disk that fails or fills up under a server costs nothing that was answered, and the server goes on by itself
when the disk does. Certificates are read again while it serves.

Method: the disk of tests/faults/preload.c fails for some operations under load; and a small file system is filled up and
emptied again. Clients send again what was not answered with 200. A certificate is replaced, and SIGHUP sent."""

import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request

import pytest
from conftest import BINARIES, Asked
from serving import Server

FAULTS = BINARIES / "tests/liblethe_faults.so"


class Faulty(Server):
    """A server whose environment has more; started by another program, if there is one."""

    def __init__(self, folder, *words, inside=(), **environment):
        self.inside = inside
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            super().__init__(folder, *words)
        finally:
            for name, text in before.items():
                if text is None:
                    del os.environ[name]
                else:
                    os.environ[name] = text


def events(number, count=1):
    return [{"id": f"e{number}/{i}", "key": "k"} for i in range(count)]


def send_until_answered(server, number, statuses, count=1):
    """Sends events until they are answered with 200."""
    end = time.monotonic() + 60
    while True:
        status, answer = server.post("/v1/events", events(number, count))
        statuses.add(status)
        if status == 200:
            return
        assert status in (503, 507), answer
        assert time.monotonic() < end, answer
        time.sleep(0.05)


@pytest.mark.skipif(not FAULTS.exists(), reason="the disk that fails is not built")
@pytest.mark.parametrize("action,expected", [("enospc", 507), ("eio", 503)])
def test_a_disk_that_fails_for_a_while(tmp_path, ended, action, expected):
    (tmp_path / "db").mkdir()
    server = Asked(ended(Faulty(tmp_path, LD_PRELOAD=str(FAULTS), LETHE_FAULT_FOLDER=str(tmp_path / "db"),
                                LETHE_FAULT_ACTION=action, LETHE_FAULT_AT="200", LETHE_FAULT_TIMES="8")))
    statuses = set()
    for number in range(120):
        send_until_answered(server, number, statuses)
    assert expected in statuses, statuses
    if action == "enospc":  # the reason stays the same while the store is opened again
        assert statuses == {200, 507}
    assert server.value("k") == 120
    assert server.get("/readyz")[0] == 200
    assert "lethe_store_open 1\n" in urllib.request.urlopen(f"{server.address}metrics").read().decode()
    server.stop()
    assert server.server.process.returncode == 0


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 24 MiB; the test is left out where none can be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk(small_disk, ended):
    server = Asked(ended(Server(small_disk)))
    filler = small_disk / "filler"
    many = 1500
    send_until_answered(server, 0, set(), count=many)
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 12))
        except OSError:
            pass
    status, number = 200, 1
    while status == 200:
        status, answer = server.post("/v1/events", events(number, many))
        number += status == 200
    assert status in (503, 507), answer
    filler.unlink()
    for again in range(number + 1):
        send_until_answered(server, again, set(), count=many)
    assert server.value("k") == many * (number + 1)
    server.stop()


def test_a_store_that_is_moved_away_and_back(serve, tmp_path):
    """What is at the path meanwhile is left alone, and when the store is back the server goes on."""
    server, statuses = serve(), set()
    send_until_answered(server, 0, statuses)
    (tmp_path / "db").rename(tmp_path / "away")
    assert server.post("/v1/events", {"id": "e1", "key": "k"})[0] == 503
    assert not (tmp_path / "db").exists() or not (tmp_path / "db/data").exists()
    if (tmp_path / "db").exists():
        (tmp_path / "db").rmdir()
    (tmp_path / "away").rename(tmp_path / "db")
    send_until_answered(server, 1, statuses)
    send_until_answered(server, 0, statuses)
    assert server.value("k") == 2


def test_an_older_store_that_takes_the_place_has_no_rates(serve, tmp_path):
    """A backup that was restored while the server runs: its totals are less than those of a moment ago."""
    server, statuses = serve(), set()
    send_until_answered(server, 0, statuses, count=10)
    server.stop()
    shutil.copytree(tmp_path / "db", tmp_path / "copy")
    server.start()
    send_until_answered(server, 1, statuses, count=1000)
    while (status := server.status())["totals"]["applied"] != "1010" or status["rate"]["applied"] > 0:
        time.sleep(0.05)
    (tmp_path / "db").rename(tmp_path / "away")
    assert server.post("/v1/events", {"id": "e2", "key": "k"})[0] == 503
    if (tmp_path / "db").exists():
        shutil.rmtree(tmp_path / "db")
    (tmp_path / "copy").rename(tmp_path / "db")
    end = time.monotonic() + 30
    while (status := server.status())["totals"]["applied"] != "10":
        assert time.monotonic() < end
    assert max(status["rate"].values()) < 1e6, status["rate"]
    assert server.value("k") == 10


def certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, stderr=subprocess.DEVNULL)


def served_name(port):
    """The name in the certificate that the server shows; None while it does not answer, as when it takes a new one."""
    try:
        text = ssl.get_server_certificate(("127.0.0.1", port))
    except OSError:
        return None
    shown = subprocess.run(["openssl", "x509", "-noout", "-subject"], input=text.encode(), stdout=subprocess.PIPE, check=True)
    return shown.stdout.decode().strip().rpartition("=")[2].strip()


class Secure(Server):
    def ask(self, method, path, body=None, kind="application/x-ndjson"):
        request = urllib.request.Request(f"https://localhost:{self.port}{path}", body, {"Content-Type": kind}, method=method)
        trusted = ssl.create_default_context(cafile=self.folder / "cert.pem")
        with urllib.request.urlopen(request, context=trusted, timeout=30) as answer:
            return answer.status, json.loads(answer.read())


def test_tls_and_new_certificates(tmp_path, ended):
    certificate(tmp_path, "first")
    server = ended(Secure(tmp_path, "--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")))
    assert server.count([("a", "k", 2)])["counts"]["applied"] == 1
    assert served_name(server.port) == "first"
    for name in ("second", "third"):
        certificate(tmp_path, name)
        server.send(1)
        end = time.monotonic() + 30
        while served_name(server.port) != name:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert server.count([("a", "k", 2)])["counts"]["duplicate"] == 1
    (tmp_path / "cert.pem").write_text("nonsense")
    server.send(1)
    while "the old ones stay" not in (tmp_path / "server.log").read_text():
        time.sleep(0.05)
    while served_name(server.port) is None:
        assert time.monotonic() < end + 60
    assert served_name(server.port) == "third"
    server.stop()
    assert server.process.returncode == 0


@pytest.fixture
def secure(tmp_path, ended):
    """Starts a server with a certificate called first."""
    certificate(tmp_path, "first")

    def start(*words):
        return ended(Secure(tmp_path, "--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"), *words))
    return start


def change(server, name):
    """Has the server read a new certificate, and waits until it shows it."""
    certificate(server.folder, name)
    server.send(1)
    end = time.monotonic() + 30
    while served_name(server.port) != name:
        assert time.monotonic() < end, (server.folder / "server.log").read_text()
        time.sleep(0.02)


def shake_hands(server):
    """A connection that does nothing."""
    context = ssl._create_unverified_context()  # pylint: disable=protected-access
    return context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), timeout=30))


def is_open(connection):
    """Whether a connection is still served."""
    try:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return b" 200 " in connection.recv(4096)
    except OSError:
        return False


def test_idle_connections_do_not_keep_an_old_certificate(secure):
    """Each change leaves a connection behind, which a stranger may keep open for as long as the server lets it."""
    server = secure()
    kept = [shake_hands(server)]
    stream = shake_hands(server)
    stream.sendall(b"GET /v1/live?interval=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b" 200 " in stream.recv(4096)
    for number in range(12):
        change(server, f"name-{number}")
        kept.append(shake_hands(server))
    assert not is_open(kept[0]) and is_open(kept[-1]) and is_open(kept[-2])
    while stream.recv(65536):  # it ends
        pass
    for connection in [*kept, stream]:
        connection.close()
    server.stop()
    assert server.process.returncode == 0
    assert "reload_failed" not in (server.folder / "server.log").read_text()


def test_a_certificate_that_is_the_same_stays(secure):
    server = secure()
    threads = pathlib.Path(f"/proc/{server.process.pid}/task")
    connection, before = shake_hands(server), len(list(threads.iterdir()))
    for number in range(12):
        server.send(1)
        end = time.monotonic() + 30
        while (server.folder / "server.log").read_text().count("were read again") <= number:
            assert time.monotonic() < end
            time.sleep(0.01)
    assert len(list(threads.iterdir())) == before
    assert is_open(connection)
    connection.close()
    server.stop()
    assert server.process.returncode == 0


def count_connections(server):
    """How many connections the server has accepted and not closed. Those that wait to be accepted have no inode yet."""
    found = 0
    with open("/proc/net/tcp", encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if words[1].endswith(f":{server.port:04X}"):
                found += words[3] == "01" and words[9] != "0"
    return found


def test_connections_have_one_cap_over_all_certificates(secure):
    server = secure("--max-connections", "10")
    sockets = []
    for number in range(4):
        if number > 0:
            certificate(server.folder, f"name-{number}")
            server.send(1)
            end = time.monotonic() + 30
            while (server.folder / "server.log").read_text().count("were read again") < number:
                assert time.monotonic() < end
                time.sleep(0.01)
        sockets += [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    end = time.monotonic() + 30
    while count_connections(server) < 10:  # one that was being closed had a place meanwhile
        assert time.monotonic() < end
        time.sleep(0.05)
        sockets.append(socket.create_connection(("127.0.0.1", server.port)))
    time.sleep(0.5)
    opened = count_connections(server)
    assert 10 <= opened < 28, opened  # threads that accept at the same moment, at most 16, accept one each
    for one in sockets:
        one.close()
    server.stop()
    assert server.process.returncode == 0
