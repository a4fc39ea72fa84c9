"""Goal:   the Python package does what its README says, and its example prints what it should.
Method: the example against a server; clients that retry by themselves and lose connection, answer or replica at each
        step of an operation; servers that die, come back, or change places; errors as older and newer versions of
        redis-py make them."""

import contextlib
import functools
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from redis.cluster import ClusterNode, ClusterParser, RedisCluster
from redis.exceptions import AskError, ClusterDownError, MasterDownError, MovedError, ReadOnlyError, TryAgainError
from servers import SOURCE, table_info, wait_for

PACKAGE = SOURCE / "clients/python"
sys.path.insert(0, str(PACKAGE))
from lethe_once import Once, Unacknowledged # noqa: E402
from lethe_once.errors import _is_passing # noqa: E402
from lethe_once.links import Links # noqa: E402
from lethe_once.routes import Route, Servers # noqa: E402

EXPECTED = """\
click-1 post:1 counted 1
click-2 post:2 counted 1
click-2 post:2 seen before 1
click-3 post:1 counted 2
order 7 shipped, 1 in all
order 8 shipped, 2 in all
order 7 shipped before
[(b'post:1', 2), (b'post:2', 1)]
"""


def test_the_example(server):
    run = subprocess.run([sys.executable, PACKAGE / "example.py", f"redis://127.0.0.1:{server.port}"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert run.stdout == EXPECTED


def test_the_package(server):
    table = Once(server.client, "t")
    first = table.incrby("x", 2)
    assert first.applied and first.values == (2,)
    assert table.incrby("x", 2, id=first.id) == (False, (2,), first.id)
    assert table.incrby("x", 1, "y", 5, id="both") == (True, (3, 5), "both")
    assert table.get("x") == 3 and table.get("none") is None
    assert table.add("a", "b", "a") == [True, True, False]
    assert table.seen("a", "z") == [True, False]
    assert table.call("SET", "k", "v", id="c") == (True, b"OK")
    assert table.call("SET", "k", "w", id="c") == (False, None)
    with pytest.raises(redis.ResponseError):
        table.incrby("x", "many")
    with pytest.raises(Unacknowledged) as caught:
        table.incrby("x", 1, wait=1, timeout=0.1) # there is no replica
    assert table.incrby("x", 1, id=caught.value.id).applied is False


def test_a_server_that_dies_and_comes_back(start):
    server = start(appendonly="yes", appendfsync="always")
    table = Once(redis.Redis(port=server.port, socket_timeout=2), "t")
    done = []
    def work():
        while len(done) < 400:
            done.append(table.incrby("n", 1).applied)
            time.sleep(0.003)
    worker = threading.Thread(target=work)
    worker.start()
    for _ in range(3):
        time.sleep(0.3)
        server.restart()
    worker.join()
    assert all(done)
    assert table.get("n") == 400


# What redis-py does by itself when it is told to retry, and newer versions untold.
RETRIES = {"retry_on_timeout": True, "retry_on_error": [redis.ConnectionError]}


def plain(port, **options):
    return redis.Redis(port=port, **options)


def pooled(port, **options):
    return redis.Redis(connection_pool=redis.ConnectionPool(port=port, **options))


def pooled_and_blocking(port, **options):
    return redis.Redis(connection_pool=redis.BlockingConnectionPool(port=port, max_connections=1, **options))


def clustered(port, **options):
    options.pop("retry_on_error", None) # which this one does not take
    return RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", port)], **options)


CLIENTS = [plain, pooled, pooled_and_blocking, clustered]


@pytest.fixture
def small_cluster(start):
    """One master that has all slots, and its replica."""
    master, replica = (start(cluster_enabled="yes", cluster_announce_ip="127.0.0.1") for _ in range(2))
    master.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    replica.call("CLUSTER", "MEET", "127.0.0.1", master.port)
    wait_for(lambda: b"cluster_state:ok" in replica.call("CLUSTER", "INFO"), what="the same cluster")
    replica.call("CLUSTER", "REPLICATE", master.call("CLUSTER", "MYID"))
    wait_for(replica.is_synced, what="link to the master")
    return master, replica


@pytest.fixture
def servers_of(request, monkeypatch):
    """The master and replica that a kind of client is for."""
    def find(connect):
        if connect is clustered: # then the package makes clients of its own
            monkeypatch.setattr(redis, "Redis", functools.partial(redis.Redis, **RETRIES))
        return request.getfixturevalue("small_cluster" if connect is clustered else "pair")
    return find


@contextlib.contextmanager
def stopped(server):
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


class Proxy:
    """Stands between clients and a server. Of the answers it loses as many as it is told to, each with its connection."""

    def __init__(self, server):
        self.target, self.to_lose = ("127.0.0.1", server.port), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError): # when the listener is closed
            while True:
                threading.Thread(target=self.carry, args=(self.listener.accept()[0],), daemon=True).start()

    def carry(self, near):
        with near, socket.create_connection(self.target) as far, contextlib.suppress(OSError):
            while True:
                for one in select.select([near, far], [], [])[0]:
                    content = one.recv(65536)
                    if not content:
                        return
                    if one is far and self.to_lose > 0:
                        self.to_lose -= 1
                        return
                    (near if one is far else far).sendall(content)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def calls(server, command):
    return server.client.info("commandstats").get("cmdstat_" + command, {"calls": 0})["calls"]


def waiting(server):
    return server.client.info("clients")["blocked_clients"]


@pytest.mark.parametrize("connect", CLIENTS)
def test_a_wait_that_times_out_is_no_success(servers_of, connect):
    """Sent again alone, on a new connection, WAIT has nothing to wait for, and says that all is well."""
    master, replica = servers_of(connect)
    table = Once(connect(master.port, socket_timeout=0.3, **RETRIES), "t", wait=1)
    assert table.incrby("n", 1).values == (1,)
    with stopped(replica), pytest.raises(Unacknowledged) as caught:
        table.incrby("n", 1, timeout=1)
    assert table.incrby("n", 1, id=caught.value.id) == (False, (2,), caught.value.id)


@pytest.mark.parametrize("connect", CLIENTS)
def test_the_operation_goes_before_each_wait(servers_of, connect):
    """The connection is cut during WAIT."""
    master, replica = servers_of(connect)
    table = Once(connect(master.port, **RETRIES), "t", wait=1, wait_ms=60000)
    table.incrby("n", 1)
    with ThreadPoolExecutor() as background:
        with stopped(replica):
            result = background.submit(table.incrby, "n", 1)
            for attempt in range(2, 5):
                wait_for(lambda: (calls(master, "ONCE.INCRBY"), waiting(master)) == (attempt, 1) or result.done())
                assert not result.done()
                master.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        assert result.result() == (True, (2,), result.result().id)
    assert calls(master, "ONCE.INCRBY") == 5


@pytest.mark.parametrize("options", [{}, RETRIES])
def test_an_answer_is_lost(server, options):
    """What was made here and applied is not taken for somebody else's, whoever sent it again."""
    with Proxy(server) as proxy:
        table = Once(redis.Redis(port=proxy.port, **options), "t")
        for lost in range(3):
            proxy.to_lose = lost
            result = table.incrby("n", 1)
            assert result.applied and result.values == (lost + 1,)
        for lost in range(3):
            proxy.to_lose = lost
            assert table.call("INCR", "k") == (True, 1 if lost == 0 else None)
        assert server.call("GET", "k") == b"3"
        proxy.to_lose = 1
        assert table.call("INCR", "k", id="mine") == (False, None) # who knows whose it was
        assert server.call("GET", "k") == b"4"


def test_no_duplicate_is_sent_when_the_first_may_be_forgotten(server):
    """Answers are lost for longer than ids are remembered."""
    with Proxy(server) as proxy:
        table = Once(redis.Redis(port=proxy.port), "t", timeout=10)
        table.create(window_ms=1000)
        proxy.to_lose = 1000000
        threading.Timer(2.5, setattr, (proxy, "to_lose", 0)).start()
        with pytest.raises(Unacknowledged):
            table.incrby("n", 1)
        assert proxy.to_lose == 0 # it came to an end because of the window, not of the time
        assert table.get("n") == 1


def test_the_time_is_half_the_window_at_most(server):
    table = Once(server.client, "t", wait_ms=50)
    table.create(window_ms=1000)
    begin = time.monotonic()
    with pytest.raises(Unacknowledged):
        table.incrby("n", 1, wait=1) # there is no replica
    assert 0.3 < time.monotonic() - begin < 15
    assert calls(server, "ONCE.INCRBY") > 1


def locked(server):
    """With a password."""
    server.client.config_set("requirepass", "secret")
    server.client = redis.Redis(port=server.port, password="secret")
    return server


def ends_in_time(server, action):
    """What an action raises while the server's process is stopped: connections are made, and nobody answers."""
    with ThreadPoolExecutor() as background, stopped(server):
        result = background.submit(action)
        error = result.exception(timeout=20) # of a second; if it takes longer, the server goes on, and so does the test
        return error


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("connect", CLIENTS)
def test_a_server_that_stops_answering(start, connect, is_known):
    """The time is kept although the client has no time-outs of its own, on a connection that is there and on a new one."""
    options = {"cluster_enabled": "yes", "cluster_announce_ip": "127.0.0.1"} if connect is clustered else {}
    server = locked(start(**options))
    if connect is clustered:
        server.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        wait_for(lambda: b"cluster_state:ok" in server.call("CLUSTER", "INFO"))
    table = Once(connect(server.port, password="secret"), "t")
    if is_known:
        table.incrby("n", 1)
    error = ends_in_time(server, lambda: table.incrby("n", 1, id="late", timeout=0.5))
    assert isinstance(error, Unacknowledged) and error.id == "late"
    assert isinstance(ends_in_time(server, lambda: table.incrby("n", 1, wait=1, timeout=0.3)), Unacknowledged)
    table.timeout = 0.3
    assert isinstance(ends_in_time(server, lambda: table.get("n")), Unacknowledged)
    table.timeout = 30
    assert table.incrby("n", 1).applied


def test_one_of_two_servers_of_a_cluster_stops_answering(small_cluster):
    """The other one is asked where the table is."""
    master, replica = small_cluster
    table = Once(clustered(master.port), "t")
    assert table.incrby("n", 1).applied
    table._route.forget() # as after a lost connection
    with stopped(replica):
        assert table.incrby("n", 1, timeout=30).applied


@pytest.mark.parametrize("password", ["wrong", None])
@pytest.mark.parametrize("connect", [plain, pooled])
def test_a_wrong_password_is_not_retried(start, connect, password):
    server = locked(start())
    before = server.client.info("stats")["total_connections_received"]
    with pytest.raises(redis.AuthenticationError, match="(?i)auth|pass"):
        Once(connect(server.port, password=password), "t", timeout=3).incrby("n", 1)
    assert server.client.info("stats")["total_connections_received"] == before + 1


@pytest.mark.parametrize("error", [redis.AuthenticationError("invalid"), redis.ResponseError("WRONGPASS invalid"),
                                   redis.exceptions.AuthorizationError("no"), redis.ResponseError("NOAUTH required"),
                                   redis.exceptions.NoPermissionError("may not")])
def test_errors_of_rights_do_not_pass(error):
    assert not _is_passing(error)


def test_a_lost_table_is_made_again_with_its_own_window(server):
    for table in (Once(server.client, "t", window_ms=5000), Once(server.client, "t")):
        table.create(**({} if table._creation else {"window_ms": 5000}))
        for operate in (lambda: table.incrby("n", 1), lambda: table.incrby("n", 1, "m", 1), lambda: table.add("a"),
                        lambda: table.call("SET", "k", 1)):
            server.client.flushall()
            answer = operate()
            assert answer[0] is True
            assert table_info(server.client)["window_ms"] == 5000
    server.client.flushall()
    assert Once(server.client, "t").incrby("n", 1).applied # with the server's, as ever
    assert table_info(server.client)["window_ms"] == 600000


def test_a_reply_with_errors_inside(server):
    table = Once(server.client, "t")
    server.call("ONCE.INCRBY", "u", "a", "full", (1 << 63) - 1)
    done, (error, other) = table.call("ONCE.MINCRBY", "u", "x", "full", 1, "y", "n", 1, id="once")
    assert done and isinstance(error, redis.ResponseError) and other == [1, 1]
    assert table.call("ONCE.MINCRBY", "u", "x", "full", 1, "y", "n", 1, id="once") == (False, None)


def test_a_window_that_may_not_be_asked_for(server):
    server.call("ACL", "SETUSER", "counter", "on", "nopass", "~*", "+@all", "-once.info")
    client = redis.Redis(port=server.port, username="counter", password="any")
    with pytest.raises(Unacknowledged):
        Once(client, "t", wait=1, wait_ms=50, timeout=0.5).incrby("n", 1)
    assert server.call("ONCE.GET", "t", "n") == 1


@pytest.mark.parametrize("error, is_passing", [
    (redis.ResponseError("MOVED 3999 127.0.0.1:6381"), True), (MovedError("3999 127.0.0.1:6381"), True),
    (redis.ResponseError("ASK 3999 127.0.0.1:6381"), True), (AskError("3999 127.0.0.1:6381"), True),
    (redis.ResponseError("TRYAGAIN Multiple keys request"), True), (TryAgainError("Multiple keys request"), True),
    (redis.ResponseError("CLUSTERDOWN The cluster is down"), True), (ClusterDownError("The cluster is down"), True),
    (redis.ResponseError("MASTERDOWN Link with MASTER is down"), True), (MasterDownError("Link is down"), True),
    (redis.ResponseError("READONLY You can't write"), True), (ReadOnlyError("You can't write"), True),
    (redis.ResponseError("UNBLOCKED force unblock from blocking operation, instance state changed"), True),
    (redis.ResponseError("ERR WAIT cannot be used with replica instances."), True),
    (redis.ResponseError("WAIT cannot be used with replica instances."), True), # ERR is cut off, too
    (redis.ResponseError("NOREPLICAS Not enough good replicas to write."), True),
    (redis.ResponseError("BUSY Redis is busy running a script."), True), (redis.ResponseError("TRYAGAIN"), True),
    (redis.ResponseError("BUSYKEY Target key name already exists."), False),
    (redis.ResponseError("WRONGTYPE Operation against a key"), False), (redis.ResponseError("ERR FULL"), False),
    (redis.ResponseError("wrong number of arguments for 'wait' command"), False)])
def test_errors_that_pass(error, is_passing):
    assert _is_passing(error) is is_passing


@pytest.mark.parametrize("named, meant", [("10.0.0.7:6381", ("10.0.0.7", 6381)), (":6381", ("asked", 6381)),
                                          ("?:6381", ("asked", 6381)), ("fe80::1:6381", ("fe80::1", 6381))])
def test_where_an_error_points_to(named, meant):
    class Cluster:
        get_nodes = staticmethod(list)
        get_connection_kwargs = staticmethod(dict)
    route = Route(Servers(Cluster(), False, Links, redis.Redis), "t")
    for error in redis.ResponseError("ASK 3999 " + named), AskError("3999 " + named):
        assert route.lose(error, ("asked", 1)) == meant and route.address is None
    for error in redis.ResponseError("MOVED 3999 " + named), MovedError("3999 " + named):
        assert route.lose(error, ("asked", 1)) is None and route.address == meant
        assert route.lose(redis.ConnectionError("gone"), meant) is None and route.address is None


def test_the_slot_of_what_is_sent():
    servers = Servers(redis.Redis(encoding="latin-1"), True, Links, redis.Redis)
    assert Route(servers, "\xe9").slot == Route(servers, b"\xe9").slot != Route(servers, "\xe9".encode()).slot


@pytest.mark.parametrize("endpoint", ["ip", "unknown-endpoint"])
@pytest.mark.parametrize("has_classes", [False, True])
def test_a_table_moves(start, monkeypatch, has_classes, endpoint):
    """Errors as they come, and as a newer redis-py makes them; with a host, and without."""
    source, target = (start(cluster_enabled="yes", cluster_announce_ip="127.0.0.1") for _ in range(2))
    source.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    target.call("CLUSTER", "MEET", "127.0.0.1", source.port)
    wait_for(lambda: b"cluster_state:ok" in target.call("CLUSTER", "INFO"), what="one cluster")
    wait_for(lambda: b"cluster_known_nodes:2" in source.call("CLUSTER", "INFO"), what="one cluster")
    table = Once(clustered(source.port), "t")
    if has_classes:
        monkeypatch.setattr(redis.connection.DefaultParser, "EXCEPTION_CLASSES", ClusterParser.EXCEPTION_CLASSES)
    for node in (source, target):
        node.call("CONFIG", "SET", "cluster-preferred-endpoint-type", endpoint)
    assert table.incrby("n", 1).values == (1,)
    slot = source.call("CLUSTER", "KEYSLOT", "t")
    source_id, target_id = source.call("CLUSTER", "MYID"), target.call("CLUSTER", "MYID")
    target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
    source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
    source.call("MIGRATE", "127.0.0.1", target.port, "t", 0, 10000)
    assert table.incrby("n", 1, timeout=5).values == (2,)
    for node in (target, source):
        node.call("CLUSTER", "SETSLOT", slot, "NODE", target_id)
    assert table.incrby("n", 1, timeout=5).values == (3,)
    assert target.call("ONCE.GET", "t", "n") == 3


def fail_over(master, replica):
    """A planned one: the two change places, and nothing is lost."""
    wait_for(lambda: master.call("FAILOVER", "TO", "127.0.0.1", replica.port), what="a replica to take over")
    wait_for(lambda: replica.client.info("replication")["role"] == "master", what="the failover")
    wait_for(master.is_synced, what="link to the new master")


def test_planned_failovers(pair):
    """Clients stay with one server, which is a replica every other time; they wait until it is the master again."""
    master, replica = pair
    stop = threading.Event()
    def work(port):
        table, done = Once(redis.Redis(port=port, socket_timeout=5), "t", wait=1, wait_ms=500, timeout=60), 0
        while not stop.is_set():
            assert table.incrby("n", 1).applied
            done += 1
        return done
    with ThreadPoolExecutor() as background:
        results = [background.submit(work, port) for port in 2 * [master.port] + 2 * [replica.port]]
        try:
            for one, other in 2 * [(master, replica), (replica, master)]:
                before = one.call("ONCE.GET", "t", "n") or 0
                wait_for(lambda: (one.call("ONCE.GET", "t", "n") or 0) > before + 100, what="some load")
                fail_over(one, other)
        finally:
            stop.set()
            wait_for(lambda: all(one.done() for one in results[:2]), what="the clients of the master")
            fail_over(master, replica) # so that the others come to an end as well
        total = sum(one.result() for one in results)
    assert replica.call("ONCE.GET", "t", "n") == total


def test_a_failover_during_wait(pair, start):
    """The server lets go of whoever waits for more replicas than there are."""
    master, replica = pair
    table = Once(redis.Redis(port=master.port), "t", wait=2, wait_ms=60000, timeout=60)
    with ThreadPoolExecutor() as background:
        result = background.submit(table.incrby, "n", 1)
        wait_for(lambda: waiting(master) == 1)
        fail_over(master, replica)
        fail_over(replica, master)
        start().follow(master)
        assert result.result()[:2] == (True, (1,))


def test_a_failover_between_two_answers(pair, start):
    """An id was new to a master whose replica has not got it, and then to the replica, for another caller."""
    master, replica = pair
    replica.call("REPLICAOF", "NO", "ONE")
    start().follow(replica)
    with Proxy(master) as proxy, ThreadPoolExecutor() as background:
        table = Once(redis.Redis(port=proxy.port), "t", wait=1, wait_ms=50, timeout=60)
        other = Once(redis.Redis(port=replica.port), "t", wait=1, wait_ms=1000, timeout=60)
        for act in (table.add, table.give_up):
            proxy.target = ("127.0.0.1", master.port)
            replica.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            before = calls(master, "ONCE.ADD")
            result = background.submit(act, act.__name__)
            wait_for(lambda: calls(master, "ONCE.ADD") > before + 1, what="an answer")
            assert other.add(act.__name__) == [True]
            proxy.target = ("127.0.0.1", replica.port)
            master.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            with pytest.raises(Unacknowledged) as caught:
                result.result()
            assert caught.value.id == act.__name__
