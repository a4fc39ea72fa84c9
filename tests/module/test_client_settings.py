"""Goal:   a table of the Python client is what the caller named, or the caller is told; as lethe count does it.
Method: tables that exist with another window, error, kind or periods, on a real server, by both kinds of tables; lethe is
        asked the same."""

import pytest
import redis
from clients import Kind
from counting import count, lethe, url_of, USAGE

import lethe_once
from lethe_once import Incomplete

HOUR = 3_600_000
# What the table has, what is wanted, what lethe is told, and what is said.
CASES = [
    ({"window_ms": 600_000}, {"window_ms": HOUR}, ["--window", "1h"], "has a window of 600000 ms, not 3600000.*leave window_ms out"),
    ({"window_ms": HOUR}, {"window_ms": 600_000}, ["--window", "10min"], "has a window of 3600000 ms, not 600000"),
    ({"error": 1e-9}, {"error": 1e-6}, ["--error", "1e-6"], "has an error of .*, not 1e-06"),
    ({"kind": "quotient"}, {"kind": "forgetful"}, ["--window-kind", "forgetful"], "has a window of the quotient kind, not forgetful"),
    ({}, {"per": "hour"}, ["--per", "1h"], "counts per no period, not per hour:100000"),
    ({"per": "day"}, {"per": "hour"}, ["--per", "1h"], "counts per day:100000, not per hour:100000"),
    ({"per": ("hour", 48)}, {"per": ("hour", 24)}, ["--per", "1h", "--keep", "1h=1d"], "counts per hour:48, not per hour:24"),
]


@pytest.fixture(params=["sync", "asyncio"])
def kind(request):
    one = Kind(request.param)
    yield one
    one.close()


@pytest.fixture
def client(kind, server):
    return kind.client(port=server.port)


@pytest.mark.parametrize("has, wants, words, says", CASES)
def test_a_table_is_another_than_was_named(kind, client, server, has, wants, words, says):
    lethe_once.Once(server.client, "t").create(**has)
    table = kind.once(client, "t", **wants)
    for operate in (lambda: table.incrby("k", 1), lambda: table.take("k", 1, 5), lambda: table.add("a"), lambda: table.claim("c"),
                    lambda: table.call("SET", "{t}x", 1), lambda: table.hold("k", 1, 5), lambda: table.create(**wants), table.create):
        with pytest.raises(ValueError, match=says):
            operate()
    with pytest.raises(Incomplete, match=says):
        table.batch().incrby("k", 1).send()
    kind.once(client, "t").create() # nothing is named
    info = kind.once(client, "t").info()
    assert info["fresh"] == info["counters"] == info["claims_running"] == 0
    assert lethe("count", url_of(server), *words, stdin="a\tk\n").returncode == USAGE
    assert table.get("k") is None # reading needs none of it
    with pytest.raises(ValueError, match=says):
        kind.spread(client, "t", partitions=1, **wants).incrby("k", 1)
    with pytest.raises(ValueError, match=says):
        kind.spread(client, "t", **wants).incrby("k", 1)


@pytest.mark.parametrize("has, wants, words, says", CASES)
@pytest.mark.parametrize("by", ["key", "id"])
def test_a_spread_table_is_another_than_was_named(kind, client, server, has, wants, words, says, by):
    lethe_once.Spread(server.client, "t", partitions=2, by=by, **has)
    for partitions in (None, 2):
        with pytest.raises(ValueError, match=says):
            kind.spread(client, "t", partitions=partitions, **wants)
        assert kind.spread(client, "t", partitions=partitions, **has).by == by
    assert lethe("count", url_of(server), *words, stdin="a\tk\n").returncode == USAGE


def test_what_is_the_same_is_accepted(kind, client, server):
    """Whichever way it is written, by whoever made the table; and what is not named is not compared."""
    options = {"window_ms": HOUR, "error": 1e-7, "kind": "forgetful", "per": [("hour", 48), "month", 900_000]}
    written = {"window_ms": str(HOUR), "error": "1e-7", "kind": "forgetful", "per": ["MONTH", (str(HOUR), "48"), 900_000]}
    count(url_of(server), "--window", "1h", "--error", "1e-7", "--window-kind", "forgetful", "--per", "1h,1mo,15min", "--keep", "1h=2d",
          stdin="a\tk\n")
    for number, one in enumerate([options, written, {"window_ms": HOUR}, {"per": options["per"]}, {"max_memory": 10_000_000},
                                  {"capacity": 7, "policy": "refuse"}, {}]):
        table = kind.once(client, "t", **one)
        table.create()
        assert table.incrby("k", 1).values == (number + 2,)
    kind.spread(client, "s", partitions=2, **options)
    assert kind.spread(client, "s", partitions=2, **written).incrby("k", 1).applied
    assert kind.spread(client, "t", **written).incrby("k", 1).applied


def commands_of(server, act):
    """How often the server was asked what, by the client's own names for it."""
    server.client.config_resetstat()
    act()
    stats = server.client.info("commandstats")
    return {name.removeprefix("cmdstat_").upper(): one["calls"] for name, one in stats.items()}


def test_it_is_asked_once(kind, client, server):
    table = kind.once(client, "t", window_ms=HOUR)
    table.incrby("k", 1)
    asked = commands_of(server, lambda: [table.incrby("k", 1) for _ in range(20)])
    assert asked.get("ONCE.INFO", 0) == 0 and asked["ONCE.INCRBY"] == 20
    again = kind.once(client, "t", window_ms=HOUR)
    asked = commands_of(server, lambda: [again.incrby("k", 1) for _ in range(20)])
    assert asked["ONCE.INFO"] == 1 and asked["ONCE.INCRBY"] == 20
    free = kind.once(client, "t")
    assert "ONCE.INFO" not in commands_of(server, lambda: free.incrby("k", 1))


def test_somebody_else_makes_it_at_the_same_moment(kind, client, server):
    """It was not there when it was asked for, and is another one when it is made."""
    table = kind.once(client, "t", window_ms=HOUR)
    real = lethe_once.delivery.Delivery._create_again
    def create_again(self, lost):
        if lost:
            server.call("ONCE.CREATE", "t", "WINDOW", 600_000)
        yield from real(self, lost)
    lethe_once.delivery.Delivery._create_again = create_again
    try:
        with pytest.raises(ValueError, match="has a window of 600000 ms"):
            table.incrby("k", 1)
    finally:
        lethe_once.delivery.Delivery._create_again = real
    assert server.call("ONCE.GET", "t", "k") is None


def test_without_the_right_to_ask(kind, server):
    """Then only the server knows, as before a retry."""
    server.call("ONCE.CREATE", "t", "WINDOW", 600_000)
    server.call("ACL", "SETUSER", "counter", "on", ">password", "~*", "+once.incrby", "+once.create")
    client = kind.client(port=server.port, username="counter", password="password")
    table = kind.once(client, "t", window_ms=HOUR)
    assert table.incrby("k", 1).applied and table.incrby("k", 1).applied
    table.create()
    with pytest.raises(redis.exceptions.NoPermissionError):
        table.get("k")
    server.call("ACL", "DELUSER", "counter")
