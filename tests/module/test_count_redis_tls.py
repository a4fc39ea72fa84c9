"""Goal:   lethe reaches servers over TLS, as the user and in the database that are meant; it trusts nobody who is not to be
        trusted, says what is wrong and what to do, and does not try what will fail again.
Method: real servers and a cluster with TLS, with certificates that are right, foreign, expired and for other hosts; servers
        that are killed, come late, or do not answer."""

import json
import os
import signal
import socket
import subprocess
import time

import pytest
import redis
from certificates import certificates
from cluster import Cluster
from counting import (BAD_DATA, count, DONE, ENVIRONMENT, Feed, LETHE, lethe, listed, make_events, NEGATIVE, url_of,
                      USAGE)
from servers import free_port, Server, wait_for


def has_tls(tmp_path_factory):
    """Whether the server was built with TLS."""
    server = Server(tmp_path_factory.mktemp("look"), module=False, tls=certificates().server)
    try:
        server.start()
    except AssertionError:
        return False
    server.kill()
    return True


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    if not has_tls(tmp_path_factory):
        pytest.skip("this server has no TLS")
    return certificates()


@pytest.fixture
def secure(made, start):
    return start(tls=made.server, tls_auth_clients="no")


def tls_url(*servers, host=None):
    return "rediss://" + ",".join(f"{host or server.address}:{server.port}" for server in servers)


def trust(made):
    return ["--tls-ca", made.authority.cert]


def identity(certificate):
    return ["--tls-cert", certificate.cert, "--tls-key", certificate.key]


def refusal(command, url, *words, **more):
    """What is said when the environment is at fault; it is said at once."""
    began = time.monotonic()
    result = lethe(command, url, *words, stdin="a\tk\n", **more)
    assert result.returncode == ENVIRONMENT, (result.returncode, result.stderr)
    assert time.monotonic() - began < 30 and "trying again" not in result.stderr
    return result.stderr


# --- TLS

def test_all_commands(made, secure):
    lines, totals = make_events(30000, 31)
    for host in ("127.0.0.1", "localhost"):
        url = tls_url(secure, host=host)
        summary = count(url, *trust(made), stdin="".join(lines), table=host)
        assert summary["applied"] == 30000 and summary["doubtful"] == 0
        words = {"table": host}
        assert lethe("list", url, *trust(made), **words).stdout == "".join(
            f"{key}\t{totals[key]}\n" for key in sorted(totals))
        assert lethe("get", url, *trust(made), "key 3", **words).stdout == f"key 3\t{totals['key 3']}\n"
        best = max(totals, key=lambda key: totals[key])
        assert lethe("top", url, *trust(made), "-n", "1", **words).stdout == f"{best}\t{totals[best]}\n"
        assert json.loads(lethe("stat", url, "--json", *trust(made), **words).stdout)["applied"] == 30000
        assert lethe("del", url, *trust(made), "key 3", **words).returncode == DONE
        assert lethe("get", url, *trust(made), "key 3", **words).returncode == NEGATIVE
    assert count(tls_url(secure).replace("rediss", "valkeys"), *trust(made), stdin="a\tk\n")["applied"] == 1


def test_large_answers(made, secure):
    """More than fits into a record, and than a socket takes at once."""
    lines = [f"{i}\t{'x' * 200}-{i}\t1\n" for i in range(20000)]
    count(tls_url(secure), *trust(made), "--batch", "4096", stdin="".join(lines))
    assert len(lethe("list", tls_url(secure), *trust(made)).stdout.splitlines()) == 20000


def test_whom_to_trust(made, start, tmp_path):
    server = start(tls=made.server, tls_auth_clients="no")
    url = tls_url(server)
    text = refusal("count", url)
    assert "is not trusted" in text and "--tls-ca" in text
    assert "is not trusted" in refusal("get", url, "k", "--tls-ca", made.stranger.cert)
    # A folder as openssl leaves it, the system's own place, and the server's certificate itself.
    folder = tmp_path / "authorities"
    folder.mkdir()
    (folder / "one.pem").write_bytes(open(made.authority.cert, "rb").read())
    assert "is not trusted" in refusal("count", url, "--tls-ca", folder)
    subprocess.run(["openssl", "rehash", folder], check=True)
    assert count(url, "--tls-ca", folder, stdin="a\tk\n")["applied"] == 1
    assert count(url, stdin="b\tk\n", environment={"SSL_CERT_FILE": made.authority.cert})["applied"] == 1
    assert count(url, "--tls-ca", made.server.cert, stdin="c\tk\n")["applied"] == 1
    assert server.call("ONCE.GET", "t", "k") == 3


def test_certificates_that_are_wrong(made, start):
    expired = start(tls=made.expired, tls_auth_clients="no")
    assert "has expired" in refusal("count", tls_url(expired), *trust(made))
    foreign = start(tls=made.foreign, tls_auth_clients="no")
    assert "is not trusted" in refusal("count", tls_url(foreign), *trust(made))
    named = start(tls=made.named, tls_auth_clients="no")
    for host in ("127.0.0.1", "localhost"):
        text = refusal("count", tls_url(named, host=host), *trust(made))
        assert f"is for redis.example.com, *.nodes.example.com and not for {host}" in text and "--tls-name" in text
    for name in ("redis.example.com", "a.nodes.example.com"):
        assert lethe("count", tls_url(named), *trust(made), "--tls-name", name, stdin="a\tk\n").returncode == DONE
    assert "and not for example.com" in refusal("count", tls_url(named), *trust(made), "--tls-name", "example.com")
    assert [one.client.dbsize() for one in (expired, foreign)] == [0, 0]


def test_certificates_of_clients(made, start):
    server = start(tls=made.server)
    url = tls_url(server)
    assert "client certificate" in refusal("count", url, *trust(made))
    assert "client certificate" in refusal("count", url, *trust(made), *identity(made.foreign))
    assert "client certificate" in refusal("list", url, *trust(made), *identity(made.expired))
    assert count(url, *trust(made), *identity(made.client), stdin="a\tk\n")["applied"] == 1
    # TLS 1.2 refuses during the handshake, 1.3 after it.
    older = start(tls=made.server, tls_protocols="TLSv1.2")
    assert "client certificate" in refusal("count", tls_url(older), *trust(made))
    assert "client certificate" in refusal("count", tls_url(older), *trust(made), *identity(made.foreign))
    assert count(tls_url(older), *trust(made), *identity(made.client), stdin="a\tk\n")["applied"] == 1


def test_files_that_are_wrong(made, secure, tmp_path):
    url = tls_url(secure)
    nonsense, phrase = tmp_path / "nonsense", tmp_path / "phrase"
    nonsense.write_text("no certificate\n")
    subprocess.run(["openssl", "pkcs8", "-topk8", "-in", made.client.key, "-out", phrase, "-passout", "pass:secret"], check=True)
    other = made.folder / "rsa.key"
    subprocess.run(["openssl", "genrsa", "-out", other, "2048"], check=True, stderr=subprocess.DEVNULL)
    for words, code, text in (
            (["--tls-ca", nonsense], BAD_DATA, "is not a file of certificates"),
            (["--tls-ca", tmp_path / "none"], ENVIRONMENT, "No such file"),
            (["--tls-cert", nonsense, "--tls-key", made.client.key], BAD_DATA, "is not a certificate"),
            (["--tls-cert", made.client.cert, "--tls-key", nonsense], BAD_DATA, "is not a private key"),
            (["--tls-cert", made.client.cert, "--tls-key", phrase], BAD_DATA, "without a pass phrase"),
            (["--tls-cert", made.client.cert, "--tls-key", made.server.key], BAD_DATA, "is not the key of"),
            (["--tls-cert", made.client.cert, "--tls-key", other], BAD_DATA, "is not the key of"),
            (["--tls-cert", tmp_path / "none", "--tls-key", other], ENVIRONMENT, "No such file")):
        result = lethe("count", url, *words, stdin="a\tk\n")
        assert result.returncode == code and text in result.stderr, (words, result.stderr)
    assert secure.client.dbsize() == 0


def test_plain_and_tls_confused(made, secure, server):
    text = refusal("count", url_of(secure))
    assert "rediss://" in text
    # A plain server may wait for the end of a line that never comes: then there is no answer, until time is up.
    result = lethe("count", tls_url(server), *trust(made), "--retry", "1s", stdin="a\tk\n")
    assert result.returncode == ENVIRONMENT and "write redis://" in result.stderr, result.stderr
    assert server.client.dbsize() == 0


def test_a_secure_server_that_dies_and_comes_back(made, start):
    server = start(tls=made.server, appendonly="yes", appendfsync="always")
    words = [*trust(made), *identity(made.client)]
    lines, totals = make_events(20000, 32)
    feed = Feed(tls_url(server), *words, "--retry", "2m", lines=lines) # from the first contact on
    feed.write_while_it_dies(server)
    summary = feed.finish()
    assert summary["applied"] + summary["doubtful"] == 20000
    result = lethe("list", tls_url(server), *words)
    assert result.stdout == "".join(f"{key}\t{totals[key]}\n" for key in sorted(totals))


def test_a_server_that_comes_back_as_another(made, start):
    """With a certificate that is not trusted: nothing is sent to it, and nobody waits for it to get better."""
    server = start(tls=made.server, tls_auth_clients="no", appendonly="yes")
    lines, _ = make_events(4000, 33)
    feed = Feed(tls_url(server), *trust(made), lines=lines)
    feed.write(0.5)
    wait_for(lambda: server.call("ONCE.GET", "t", "key 1") is not None)
    server.kill()
    server.options["tls-cert-file"], server.options["tls-key-file"] = made.foreign.cert, made.foreign.key
    server.client.connection_pool.connection_kwargs["ssl_cert_reqs"] = "none"
    server.start()
    try:
        feed.write(1)
    except BrokenPipeError:
        pass
    feed.finish(code=ENVIRONMENT)
    assert "is not trusted" in feed.errors and "run the same command again" in feed.errors
    assert "no acknowledgement" not in feed.errors, "it was tried until time was up"


@pytest.mark.parametrize("certificate, names", [("server", []), ("named", ["--tls-name", "a.nodes.example.com"])])
def test_a_cluster_with_tls_whose_node_is_killed(made, tmp_path, certificate, names):
    """Redirections keep TLS, user and password; a node that comes back has all that was acknowledged. The nodes tell each
    other's addresses, which their certificates need not have."""
    with Cluster(tmp_path, addresses=("127.0.0.1",) * 3, replicas=0, tls=getattr(made, certificate),
                 user="app on >pass%word ~* +@all") as cluster:
        first, victim = cluster.nodes[0], cluster.nodes[1]
        words = [*trust(made), *identity(made.client), *names]
        environment = {"LETHE_REDIS_PASSWORD": "pass%word"}
        lines, totals = make_events(20000, 34)
        url = tls_url(first).replace("rediss://", "rediss://app@")
        feed = Feed(url, *words, "--wait", "0", lines=lines, environment=environment)
        feed.write(0.4)
        victim.kill()
        feed.write_during(0.5, victim.start)
        feed.write(1)
        summary = feed.finish()
        assert summary["applied"] + summary["doubtful"] == 20000
        result = lethe("list", tls_url(first), "--user", "app", *words, environment=environment)
        assert result.stdout == "".join(f"{key}\t{totals[key]}\n" for key in sorted(totals))
        result = lethe("list", url + "/1", *words, environment=environment)
        assert result.returncode == USAGE and "only the database 0" in result.stderr
        assert "WRONGPASS" in refusal("count", url, *words, environment={"LETHE_REDIS_PASSWORD": "other"})


# --- Users, passwords and databases

@pytest.fixture
def guarded(start):
    server = start()
    server.call("ACL", "SETUSER", "app@x", "on", ">secret word", "~*", "+@all")
    server.call("ACL", "SETUSER", "open", "on", "nopass", "~*", "+@all")
    server.call("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+once.get", "+once.mget", "+once.info", "+get", "+cluster|slots")
    server.call("CONFIG", "SET", "requirepass", "secret word")
    server.client = redis.Redis(port=server.port, password="secret word")
    return server


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_password_files(guarded, tmp_path, end):
    path = tmp_path / "password"
    path.write_bytes(b"secret word" + end)
    path.chmod(0o600)
    result = lethe("count", url_of(guarded), "--password-file", path, "--user", "app@x", stdin="a\tk\n",
                   environment={"LETHE_REDIS_PASSWORD": "wrong"})
    assert result.returncode == DONE and "chmod" not in result.stderr, result.stderr
    path.chmod(0o644)
    result = lethe("get", url_of(guarded), "k", "--password-file", path)
    assert result.stdout == "k\t1\n" and "every user of this machine can read" in result.stderr


def test_password_files_that_are_wrong(guarded, tmp_path):
    path = tmp_path / "password"
    for content, text in ((b"", "is empty"), (b"\r\n", "is empty"), (b"a\nb\n", "not one line"), (b"a\0b", "not one line"),
                          (b"x" * 9000, "too long")):
        path.write_bytes(content)
        result = lethe("count", url_of(guarded), "--password-file", path, stdin="a\tk\n")
        assert result.returncode == BAD_DATA and text in result.stderr, (content[:9], result.stderr)
    for wrong in (tmp_path / "none", tmp_path):
        result = lethe("count", url_of(guarded), "--password-file", wrong, stdin="a\tk\n")
        assert result.returncode == ENVIRONMENT and "cannot read" in result.stderr
    result = lethe("get", url_of(guarded), "k", environment={"LETHE_REDIS_PASSWORD": "x" * 9000})
    assert result.returncode == BAD_DATA and "too long" in result.stderr
    reading, writing = os.pipe()
    os.write(writing, b"secret word\n")
    os.close(writing)
    result = subprocess.run([LETHE, "count", "--redis", url_of(guarded), "--table", "t", "--password-file", f"/dev/fd/{reading}"],
                            input="a\tk\n", text=True, pass_fds=[reading], capture_output=True, check=False)
    os.close(reading)
    assert result.returncode == DONE, result.stderr


def test_users_and_passwords(guarded):
    url, right = url_of(guarded), {"LETHE_REDIS_PASSWORD": "secret word"}
    assert count(url, stdin="a\tk\n", environment=right)["applied"] == 1
    assert count(url.replace("//", "//app%40x@"), stdin="b\tk\n", environment=right)["applied"] == 1
    assert count(url.replace("redis", "valkey").replace("//", "//app%40x:@"), "--user", "app@x", stdin="c\tk\n", environment=right)["applied"] == 1
    assert count(url, "--user", "open", stdin="d\tk\n")["applied"] == 1
    assert lethe("get", url, "k", environment={"REDISCLI_AUTH": "secret word"}).stdout == "k\t4\n"
    assert lethe("get", url, "k", environment={**right, "REDISCLI_AUTH": "wrong"}).stdout == "k\t4\n"
    assert lethe("get", url, "k", "--user", "reader", environment={"LETHE_REDIS_PASSWORD": "secret"}).stdout == "k\t4\n"
    # A password on the command line is read by everybody.
    for secret in (":hush@", "app:hush@", "app:hu/sh@"):
        result = lethe("get", url.replace("//", "//" + secret), "k")
        assert result.returncode == USAGE and "LETHE_REDIS_PASSWORD" in result.stderr
        assert "hush" not in result.stderr and "hu/sh" not in result.stderr
    result = lethe("get", url.replace("//", "//app@"), "k", "--user", "other")
    assert result.returncode == USAGE and "two users" in result.stderr


def test_the_rules_of_the_documents_suffice(guarded, tmp_path):
    """docs/acl.md says what each command needs."""
    url, password = url_of(guarded) + "/2", {"LETHE_REDIS_PASSWORD": "pw"}
    common = "+cluster|slots +get +select +once.info".split()
    guarded.call("ACL", "SETUSER", "writer", "on", ">pw", "~t", "~t:*", *common,
                 *"+once.incrby +once.mincrby +once.create +set +del +hgetall +hset".split())
    guarded.call("ACL", "SETUSER", "looker", "on", ">pw", "~t", "~t:*", *common, "+once.mget", "+once.scan", "+once.top")
    path = tmp_path / "events"
    path.write_text("".join(make_events(3000, 36)[0]))
    for _ in range(2):
        result = lethe("count", url, "--partitions", "3", "--user", "writer", path, environment=password)
        assert result.returncode == DONE, result.stderr
    for command, words in (("get", ["key 1"]), ("list", []), ("top", ["-n", "3"]), ("stat", [])):
        result = lethe(command, url, "--user", "looker", *words, environment=password)
        assert result.returncode == DONE and result.stdout, result.stderr
    assert "NOPERM" in refusal("del", url, "--user", "looker", "key 1", environment=password)
    guarded.call("ACL", "SETUSER", "looker", "+once.del")
    assert lethe("del", url, "--user", "looker", "key 1", environment=password).returncode == DONE


def test_what_is_refused_is_not_tried_again(guarded):
    url = url_of(guarded)
    assert "--password-file" in refusal("count", url)
    guarded.call("CONFIG", "RESETSTAT")
    for words, environment in ((["--user", "app@x"], {"LETHE_REDIS_PASSWORD": "wrong"}), (["--user", "nobody"], {}),
                               ([], {"REDISCLI_AUTH": "secret"})):
        text = refusal("count", url, "--retry", "1m", *words, environment=environment)
        assert "WRONGPASS" in text and "--password-file" in text
        assert "secret" not in text.replace("--password-file", "")
    assert "3" in str(guarded.client.info("errorstats")["errorstat_WRONGPASS"])
    text = refusal("count", url, "--user", "reader", environment={"LETHE_REDIS_PASSWORD": "secret"})
    assert "NOPERM" in text and "docs/acl.md" in text
    guarded.call("CONFIG", "SET", "requirepass", "")
    assert "has no password" in refusal("count", url, environment={"REDISCLI_AUTH": "x"})


def test_databases(start):
    server = start(databases=8)
    url = url_of(server)
    lines, totals = make_events(2000, 35)
    assert count(url + "/7", "--partitions", "3", stdin="".join(lines))["applied"] == 2000
    assert server.client.dbsize() == 0
    assert count(url + "/7", stdin="".join(lines))["duplicates"] == 2000
    assert listed(url + "/7") == totals
    assert count(url + "/0", stdin="".join(lines))["applied"] == 2000
    assert lethe("list", url + "/").stdout == lethe("list", url).stdout
    # After a lost connection too.
    feed = Feed(url + "/5", lines=lines)
    feed.write(0.5)
    end = time.monotonic() + 60
    while "db5" not in server.client.info("keyspace"):  # before its first contact it would give up
        assert time.monotonic() < end
        time.sleep(0.02)
    server.call("CLIENT", "KILL", "TYPE", "normal")
    feed.write(1)
    feed.finish()
    assert listed(url + "/5") == totals
    result = lethe("count", url + "/8", stdin="a\tk\n")
    assert result.returncode == USAGE and "DB index is out of range" in result.stderr and "databases" in result.stderr
    assert "/7" in lethe("list", url + "/7", table="none").stderr
    for wrong in ("/x", "/1/2", "/-1", "/1234567", "/1?a=b"):
        assert lethe("list", url + wrong).returncode == USAGE


def test_addresses_of_version_6(made, start):
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    server = start(address="::1", tls=made.server, tls_auth_clients="no")
    url = f"rediss://[::1]:{server.port}"
    assert count(url, *trust(made), stdin="a\tk\n")["applied"] == 1
    assert f"none at [::1]:{server.port}" in lethe("list", url, *trust(made), table="none").stderr


# --- The first contact

def test_a_server_that_comes_late(tmp_path):
    server = Server(tmp_path)
    try:
        result = lethe("count", url_of(server), stdin="a\tk\n")
        assert result.returncode == ENVIRONMENT and "Connection refused" in result.stderr
        feed = Feed(url_of(server), "--retry", "2m", lines=["a\tk\n"])
        assert "trying again for 120 s" in feed.process.stderr.readline()
        server.start()
        feed.write(1)
        assert feed.finish()["applied"] == 1
    finally:
        server.kill()


def test_a_server_that_is_stopped_at_first(start):
    server = start()
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        result = lethe("count", url_of(server), "--retry", "3s", stdin="a\tk\n")
        assert result.returncode == ENVIRONMENT and "does not answer" in result.stderr
        assert time.monotonic() - began >= 3
        feed = Feed(url_of(server), lines=["a\tk\n"])
        assert "does not answer; trying again for 60 s" in feed.process.stderr.readline()
    finally:
        os.kill(server.process.pid, signal.SIGCONT)
    feed.write(1)
    assert feed.finish()["applied"] == 1


def test_a_handshake_that_is_not_answered():
    """Whoever listens and says nothing is given up in time, and an interrupt is heeded at once."""
    with socket.create_server(("127.0.0.1", free_port())) as listener:
        url = f"rediss://127.0.0.1:{listener.getsockname()[1]}"
        result = lethe("count", url, "--retry", "1s", stdin="a\tk\n")
        assert result.returncode == ENVIRONMENT and "does not answer the TLS handshake" in result.stderr
        feed = Feed(url, lines=["a\tk\n"])
        assert "trying again" in feed.process.stderr.readline()
        feed.process.send_signal(signal.SIGINT)
        feed.finish(code=130)
