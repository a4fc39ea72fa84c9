"""Goal: lethe serve --redis says what goes wrong with Redis, and goes on when that is over; it reaches Redis in every way.

Method: servers that are killed and started again, or stopped; wrong words on the command line; users with few rights, TLS,
tokens; a cluster, and one of its masters that fails."""

import json
import select
import signal
import socket
import subprocess
import time

import pytest
from conftest import BINARIES, ask
from tables import certificates, Cluster, count, figures, names, Redis, status_of, until, url_of

USAGE, ENVIRONMENT = 2, 4


def test_redis_is_lost_and_found(start, show, tmp_path):
    redis = start(appendonly="yes", appendfsync="always")
    redis.call("ONCE.INCRBY", "t", "a", "k", 5)
    server = show(url_of(redis), "--log", "json")
    assert server.get("/v1/counters/k")[1]["value"] == "5"
    redis.kill()
    until(lambda: server.get("/readyz")[0] == 503)
    status, problem = server.get("/readyz")
    assert problem["title"] == "Redis is lost" and str(redis.port) in problem["detail"]
    status, answer = server.get("/v1/status")
    assert status == 200 and answer["redis"]["is_lost"] and str(redis.port) in answer["redis"]["reason"]
    assert answer["totals"]["applied"] == "1" and 0 < answer["redis"]["seen_ms"] <= answer["time_ms"]
    for path in ("/v1/counters/k", "/v1/top", "/v1/counters", "/v1/usage"):
        status, headers, _ = ask(server.port, "GET", path)
        assert (status, headers["Retry-After"]) == (503, "1"), path
    found = figures(server)
    assert found["lethe_redis_up", None] == 0 and found["lethe_redis_lost_total", None] == 1
    assert not any(label is not None and "table=" in label for _, label in found)
    assert server.get("/healthz")[0] == 200
    redis.start()
    until(lambda: server.get("/readyz")[0] == 200)
    redis.call("ONCE.INCRBY", "t", "b", "k", 5)
    until(lambda: server.get("/v1/status")[1]["totals"]["applied"] == "2")
    assert server.get("/v1/counters/k")[1]["value"] == "10"
    assert figures(server)["lethe_redis_up", None] == 1
    # It comes back empty.
    redis.kill()
    redis.options["appendonly"] = "no"
    redis.start()
    until(lambda: names(server) == [] and server.get("/readyz")[0] == 200)
    # It comes back with a password, and then without the module.
    redis.restart().client.config_set("requirepass", "secret")
    until(lambda: "NOAUTH" in (server.get("/v1/status")[1]["redis"]["reason"] or ""))
    redis.module = False
    redis.restart()
    until(lambda: "has not loaded the module" in (server.get("/v1/status")[1]["redis"]["reason"] or ""))
    redis.module = True
    redis.restart()
    until(lambda: server.get("/readyz")[0] == 200)
    events = [json.loads(line)["event"] for line in (tmp_path / "server.log").read_text().splitlines()]
    assert events[:3] == ["started", "redis_lost", "redis_found"] and set(events) <= {"started", "redis_lost", "redis_found"}


def test_redis_is_silent(start, show):
    """It takes connections, and does not answer."""
    redis = start()
    redis.call("ONCE.INCRBY", "t", "a", "k", 5)
    server = show(url_of(redis))
    assert server.get("/v1/counters/k")[0] == 200
    redis.process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: server.get("/readyz")[0] == 503, 30)
        assert server.get("/v1/counters/k")[0] == 503
        began = time.monotonic()
        assert server.get("/v1/status")[1]["redis"]["is_lost"] and time.monotonic() - began < 2
    finally:
        redis.process.send_signal(signal.SIGCONT)
    until(lambda: server.get("/readyz")[0] == 200 and server.get("/v1/counters/k")[0] == 200)
    redis.process.send_signal(signal.SIGSTOP)
    server.stop()  # within 30 seconds
    redis.process.send_signal(signal.SIGCONT)


def test_figures_do_not_wait_behind_slow_reads(start, show):
    """Redis is silent, and more readers wait for it than there are threads for slow requests."""
    redis = start()
    redis.call("ONCE.INCRBY", "t", "a", "k", 5)
    server = show(url_of(redis))
    readers = []
    redis.process.send_signal(signal.SIGSTOP)
    try:
        for _ in range(30):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            one.sendall(b"GET /v1/counters HTTP/1.1\r\nHost: localhost\r\n\r\n")
            readers.append(one)
        # When one has been answered, after seconds, all of them are in the queue.
        until(lambda: select.select(readers, [], [], 1)[0])
        assert ("lethe_tables", None) in figures(server)
        answered = len(select.select(readers, [], [], 0)[0])
    finally:
        redis.process.send_signal(signal.SIGCONT)
    for one in readers:
        assert one.recv(12) in (b"HTTP/1.1 503", b"HTTP/1.1 200")
        one.close()
    assert answered < 20  # behind them, with eight threads, it would come after 22


def refused(*words, **environment):
    """What lethe serve says and ends with."""
    done = subprocess.run([BINARIES / "lethe", "serve", "--listen", "127.0.0.1:0", *words], stderr=subprocess.PIPE, text=True,
                          timeout=60, check=False, env={"PATH": "/usr/bin:/bin", **environment})
    return done.returncode, done.stderr


def test_what_is_wrong_is_said_at_once(start, tmp_path):
    redis, bare, locked = start(), start(module=False), start()
    locked.client.config_set("requirepass", "secret")
    code, text = refused("--redis", url_of(bare))
    assert code == ENVIRONMENT and "the server has not loaded the module" in text
    code, text = refused("--redis", url_of(locked))
    assert code == ENVIRONMENT and "NOAUTH" in text
    code, text = refused("--redis", url_of(locked), LETHE_REDIS_PASSWORD="wrong")
    assert code == ENVIRONMENT and "WRONGPASS" in text and "wrong" not in text.replace("WRONGPASS", "")
    code, text = refused("--redis", "redis://127.0.0.1:1")
    assert code == ENVIRONMENT and "cannot reach a server" in text
    code, text = refused("--redis", url_of(redis, "/99"))
    assert code == USAGE and "choose another database" in text
    code, text = refused("--redis", url_of(redis), "--table", "x" * 513)
    assert code == USAGE and "513 bytes" in text
    for words, expected in ((("--redis", "redis://h", "--db", "d"), "--db and --redis cannot be used together"),
                            ((), "--db DIR is missing"), (("--db", "d", "--table", "t"), "--table needs --redis"),
                            (("--redis", "redis://h", "--window", "1h"), "--window needs --db"),
                            (("--redis", "redis://h", "--redis-tls-ca", "x"), "--redis-tls-ca needs TLS"),
                            (("--db", "d", "--redis-tls-ca", "x"), "--redis-tls-ca needs --redis"),
                            (("--redis", "redis://h", "--per", "1h"), "--per needs --db"),
                            (("--redis", "redis://h", "--max-body", "1MiB"), "--max-body needs --db"),
                            (("--redis", "redis://h", "--max-bodies", "9MiB"), "--max-bodies needs --db"),
                            (("--redis", "redis://u:p@h"), "the URL has a password")):
        code, text = refused(*words)
        assert code == USAGE and expected in text, words


def test_passwords_users_and_databases(start, show, tmp_path):
    redis = start()
    redis.call("SELECT", 3)
    redis.client.connection_pool.disconnect()
    pipe = redis.client.pipeline(transaction=True)
    pipe.execute_command("SELECT", 3)
    pipe.execute_command("ONCE.INCRBY", "deep", "a", "k", 5)
    pipe.execute_command("ONCE.INCRBY", "other", "a", "k", 5)
    pipe.execute_command("SELECT", 0)
    pipe.execute()
    redis.call("ACL", "SETUSER", "viewer", "on", ">secret", "~deep", "+scan", "+get", "+select", "+cluster|slots", "+once.info",
               "+once.top", "+once.mget", "+once.scan")
    redis.call("ACL", "SETUSER", "narrow", "on", ">secret", "~deep", "+get", "+select", "+cluster|slots", "+once.info")
    redis.call("CONFIG", "SET", "requirepass", "other")
    (tmp_path / "password").write_text("secret\n")
    (tmp_path / "password").chmod(0o600)
    url = url_of(redis, "/3")
    words = ("--user", "viewer", "--password-file", tmp_path / "password")
    server = show(url, *words)
    assert names(server) == ["deep"]  # what the user may not read is not shown
    assert until(lambda: server.get("/v1/status")[1]["top"]) == [{"key": "k", "value": "5"}]
    assert server.get("/v1/counters/k")[1]["value"] == "5"
    named = show(url, "--table", "deep", "--table", "other", environment={"LETHE_REDIS_PASSWORD": "secret"}, *("--user", "narrow"))
    assert names(named) == ["deep"]
    absent = named.get("/v1/status")[1]["absent"]
    assert absent[0]["name"] == "other" and absent[0]["why"].startswith("NOPERM")
    code, text = refused("--redis", url, "--user", "narrow", LETHE_REDIS_PASSWORD="secret")
    assert code == ENVIRONMENT and "NOPERM" in text and "scan" in text


def test_tls(tmp_path, show):
    made = certificates()
    redis = Redis(tmp_path / "redis", tls=made.server)
    try:
        redis.start()
    except AssertionError:
        pytest.skip("this server has no TLS")
    try:
        redis.call("ONCE.INCRBY", "t", "a", "k", 5)
        url = f"rediss://localhost:{redis.port}"
        words = ("--redis-tls-ca", made.authority.cert, "--redis-tls-cert", made.client.cert, "--redis-tls-key", made.client.key)
        server = show(url, *words)
        assert names(server) == ["t"] and server.get("/v1/counters/k")[1]["value"] == "5"
        code, text = refused("--redis", url, "--redis-tls-ca", made.stranger.cert)
        assert code == ENVIRONMENT and "certificate" in text
        code, text = refused("--redis", url_of(redis))
        assert code == ENVIRONMENT and "write rediss://" in text
    finally:
        redis.kill()


def test_tokens(start, show, tmp_path):
    redis = start()
    redis.call("ONCE.INCRBY", "t", "a", "mine/k", 5)
    redis.call("ONCE.INCRBY", "t", "b", "k", 5)
    tokens = tmp_path / "tokens"
    tokens.write_text("reader-0123456789abcdef read\nwriter-0123456789abcdef write\nprefix-0123456789abcdef read prefix=mine/\n")
    tokens.chmod(0o600)
    server = show(url_of(redis), "--token-file", tokens, token="reader-0123456789abcdef")

    def status(path, token=None):
        headers = {} if token is None else {"Authorization": f"Bearer {token}-0123456789abcdef"}
        return ask(server.port, "GET", path, **headers)[0]
    for path in ("/v1/status", "/v1/live", "/metrics", "/v1/top", "/v1/counters/k"):
        assert (status(path), status(path, "writer")) == (401, 403), path
    assert status("/v1/counters/k", "reader") == status("/metrics", "reader") == status("/readyz") == 200
    assert status("/v1/counters/mine%2Fk", "prefix") == status("/v1/counters", "prefix") == 200
    assert status("/v1/counters/k", "prefix") == status("/v1/status", "prefix") == status("/v1/top", "prefix") == 403
    listed = json.loads(ask(server.port, "GET", "/v1/counters", Authorization="Bearer prefix-0123456789abcdef")[2])
    assert [one["key"] for one in listed["counters"]] == ["mine/k"]


def test_a_cluster(tmp_path, show):
    with Cluster(tmp_path / "cluster", addresses=("127.0.0.1",) * 3, prefixes=((),) * 3, replicas=0) as cluster:
        url = f"redis://127.0.0.1:{cluster.nodes[0].port}"
        count(url, "wide", b"".join(b"id-%d\tk-%d\n" % (i, i % 4) for i in range(600)), "--partitions", "6", "--per", "1h")
        for i in range(9):
            count(url, f"plain-{i}", b"a\tk\t%d\n" % i, "--partitions", "1")
        server = show(url)
        expected = [f"plain-{i}" for i in range(9)] + ["wide"]
        until(lambda: names(server) == expected)
        status = status_of(server, "wide")
        assert status["totals"]["applied"] == "600" and status["table"]["partitions"] == 6
        assert {one["key"]: one["value"] for one in server.get("/v1/top?table=wide")[1]["counters"]} == {
            f"k-{k}": "150" for k in range(4)}
        rows = server.get("/v1/usage?table=wide&key=k-1")[1]["usage"]
        assert sum(int(row["value"]) for row in rows) == 150
        for i in range(9):
            assert server.get(f"/v1/counters/k?table=plain-{i}")[1]["value"] == str(i)
        code, text = refused("--redis", url + "/1")
        assert code == USAGE and "only the database 0" in text
        # A master is gone, and comes back with what it had.
        cluster.nodes[2].kill()
        until(lambda: server.get("/readyz")[0] == 503)
        cluster.nodes[2].start()
        cluster.wait_until_whole()
        until(lambda: server.get("/readyz")[0] == 200 and names(server) == expected)
        until(lambda: status_of(server, "wide")["totals"]["applied"] == "600")


def test_a_failover(tmp_path, show):
    with Cluster(tmp_path / "cluster") as cluster:
        url = ",".join(f"127.0.0.1:{node.port}" for node in cluster.nodes[:3])
        url = f"redis://{url}"
        count(url, "wide", b"".join(b"id-%d\tk\n" % i for i in range(300)), "--partitions", "6", "--wait", "1")
        server = show(url)
        until(lambda: names(server) == ["wide"])
        cluster.masters()[0].kill()
        until(lambda: server.get("/v1/counters/k?table=wide")[0] == 200, 90)
        assert server.get("/v1/counters/k?table=wide")[1]["value"] == "300"
        until(lambda: server.get("/readyz")[0] == 200)
        assert status_of(server, "wide")["totals"]["applied"] == "300"
