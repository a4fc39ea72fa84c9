"""Goal:   what the Python client reads of a table lacks no partition without saying so.
Method: partitions of tables on a real server are deleted, and each way of reading is tried, by both
        kinds of tables; lethe reads the same tables."""

import pytest
from clients import Kind
from counting import BAD_DATA, lethe, url_of

import lethe_once
from lethe_once import Incomplete, MissingPartitions, NoTable, ServerError

KEYS = [f"k{i}" for i in range(40)]


@pytest.fixture(params=["sync", "asyncio"])
def kind(request):
    one = Kind(request.param)
    yield one
    one.close()


@pytest.fixture
def client(kind, server):
    return kind.client(port=server.port)


def make(kind, client, by):
    """A table with ten events for each of its counters."""
    table = kind.spread(client, "t", partitions=4, by=by, per="hour", error=1e-12)
    batch = table.batch()
    for i in range(400):
        batch.incrby(KEYS[i % 40], 1, id=f"i{i}")
    assert all(one.applied for one in batch.send())
    return table


@pytest.mark.parametrize("lost", [1, 3, 4])
def test_sums_over_partitions(kind, client, server, lost):
    table = make(kind, client, "id")
    names = [one.table for one in table.partitions]
    assert table.get("k1") == 10 and table.get("none") is None and table.seen("i1", "x") == [True, False]
    server.client.delete(*names[:lost])
    away = next(f"x{i}" for i in range(1000) if table.of_id(f"x{i}").table == names[0])
    for read in (lambda: table.get("k1"), lambda: table.get("none"), lambda: table.mget("k1", "k2"), lambda: table.top(3),
                 lambda: list(table.scan()), lambda: list(table.scan(match="k1*")), lambda: list(table.range("k1", "hour")),
                 table.info, lambda: table.seen(away)):
        with pytest.raises(MissingPartitions) as caught:
            read()
        assert caught.value.partitions[0] == names[0] and names[0] in str(caught.value)
        assert isinstance(caught.value, (NoTable, ServerError))
    with pytest.raises(MissingPartitions) as caught:
        table.get("k1")
    assert caught.value.partitions == names[:lost]
    # Nothing was made by asking; an operation makes its partition again, and lethe the others.
    assert server.client.exists(*names) == 4 - lost
    assert table.incrby("k1", 1, id=away).applied
    assert lethe("count", url_of(server)).returncode == 0
    left = sum(table.of_id(f"i{i}").table in names[lost:] for i in range(1, 400, 40))
    assert table.get("k1") == left + 1 and len(list(table.scan())) >= 1


def test_counters_of_one_partition(kind, client, server):
    """By key, a counter rests on its own partition alone, and a list on all."""
    table = make(kind, client, "key")
    victim = table.of("k1").table
    gone = [key for key in KEYS if table.of(key).table == victim]
    kept = [key for key in KEYS if key not in gone]
    server.client.delete(victim)
    assert kept and table.mget(*kept) == [10] * len(kept) and table.get(kept[0]) == 10
    nobody = next(f"x{i}" for i in range(1000) if table.of(f"x{i}").table != victim)
    assert table.get(nobody) is None and table.peek(nobody, 5).left == 5
    assert sum(value for _, value in table.range(kept[0], "hour")) == 10
    for read in (lambda: table.get("k1"), lambda: table.mget(kept[0], "k1"), lambda: table.top(3), lambda: list(table.scan()),
                 lambda: list(table.range("k1", "hour")), lambda: table.peek("k1", 5), lambda: list(table.holds()),
                 lambda: list(table.claims()), table.info):
        with pytest.raises(MissingPartitions) as caught:
            read()
        assert caught.value.partitions == [victim]
    # In a batch, that is the outcome of what rests on it, and of nothing else.
    batch = table.batch().get(kept[0]).get("k1").peek("k1", 5).peek(nobody, 5).incrby(kept[0], 1)
    with pytest.raises(Incomplete) as caught:
        batch.send()
    values = [type(one) for one in caught.value.results]
    assert values == [int, MissingPartitions, MissingPartitions, lethe_once.Standing, lethe_once.Result]
    # To delete what is not there needs no partition.
    assert table.delete("k1", kept[0]) == 1
    result = lethe("list", url_of(server))
    assert result.returncode == BAD_DATA and victim in result.stderr


def test_a_table_that_is_being_made(kind, client, server):
    """Its partitions are there a moment after its description."""
    table = make(kind, client, "id")
    names, dumps = [one.table for one in table.partitions], {}
    for name in names[:2]:
        dumps[name] = server.client.dump(name)
    server.client.delete(*dumps)
    inner = getattr(table, "inner", table)
    real, asked = inner._deliver, []
    def deliver(items, *words, **named):
        results = yield from real(items, *words, **named)
        asked.append(items[0].words[0])
        if asked.count(asked[-1]) == 1 and "INFO" in str(asked[-1]):
            for name, dump in dumps.items():
                server.client.restore(name, 0, dump)
        return results
    inner._deliver = deliver
    assert table.get("none") is None
    assert len(asked) == 3 # the counter, and twice whether the partitions are there


def test_one_partition_may_be_missing(kind, client, server):
    table = kind.spread(client, "t", partitions=1)
    assert table.get("k") is None and list(table.scan()) == []
    table.incrby("k", 1)
    server.client.delete("t")
    assert table.get("k") is None and table.top(1) == []
