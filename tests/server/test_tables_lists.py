"""Goal: the counters of a once-table, page by page: each page has what it should, the pages come to an end, and a page takes the
memory of a page and not of the table.

Method: real servers with the module; all pages against sums that the test knows; the most memory that the process ever had."""

import pathlib
import re

import pytest
from tables import count, IS_SANITIZED, url_of


def test_a_page_that_cannot_go_on_says_so(start, show):
    """A cursor holds 1024 bytes: if more keys than are asked for begin with the same ones, it leads nowhere."""
    redis = start()
    keys = [b"a"] + [b"long" * 300 + b"%d" % i for i in range(5)] + [b"z"]
    for i, key in enumerate(keys):
        redis.call("ONCE.INCRBY", "t", f"id-{i}", key, i)
    server = show(url_of(redis))
    first = server.get("/v1/counters?limit=3")[1]
    assert [one["value"] for one in first["counters"]] == ["0", "1", "2"]
    for limit in (3, 4):
        status, problem = server.get(f"/v1/counters?limit={limit}&cursor={first['cursor']}")
        assert status == 400 and f"more than {limit} keys begin with the same 1024 bytes" in problem["detail"]
    rest = server.get(f"/v1/counters?limit=5&cursor={first['cursor']}")[1]  # two of them were there before
    assert [one["value"] for one in rest["counters"]] == ["1", "2", "3", "4", "5"]
    rest = server.get(f"/v1/counters?limit=5&cursor={rest['cursor']}")[1]
    assert rest == {"counters": [{"key": "z", "value": "6"}], "cursor": None}


def test_pages_of_a_table_with_partitions(start, show):
    """Each counter is in several partitions, and there are more of them than a page keeps."""
    redis = start()
    values = {}
    lines = []
    for i in range(12000):
        key, delta = f"k{i * 7919 % 4000:x}", i % 5 - 1
        values[key] = values.get(key, 0) + delta
        lines.append(b"id-%d\t%s\t%d\n" % (i, key.encode(), delta))
    count(url_of(redis), "spread", b"".join(lines), "--partitions", "3")
    server = show(url_of(redis))
    for prefix, limit in (("", 700), ("k1", 100)):
        listed, cursor = [], ""
        while cursor is not None:
            answer = server.get(f"/v1/counters?prefix={prefix}&limit={limit}&cursor={cursor}")[1]
            assert len(answer["counters"]) == limit or answer["cursor"] is None
            listed, cursor = listed + answer["counters"], answer["cursor"]
        assert [(one["key"], int(one["value"])) for one in listed] == sorted(
            (key, value) for key, value in values.items() if key.startswith(prefix))
    first, last = min(values), max(values)
    assert server.get("/v1/counters?limit=1")[1]["counters"] == [{"key": first, "value": str(values[first])}]
    answer = server.get(f"/v1/counters?limit=1&cursor={last.encode().hex()}")[1]
    assert answer == {"counters": [{"key": last, "value": str(values[last])}], "cursor": None}


@pytest.mark.parametrize("by", ["id", "key"])
def test_nothing_is_read_without_a_partition_that_is_missing(start, show, by):
    redis = start()
    url = url_of(redis)
    count(url, "t", b"".join(b"e%d\tk%d\t1\n" % (i, i % 40) for i in range(400)), "--partitions", "4", "--per", "1h",
          "--partition-by", by)
    server = show(url, "--table", "t")
    victim = sorted(redis.client.keys("t:{*}"))[0]
    alone = [f"k{i}" for i in range(40) if redis.call("ONCE.GET", victim, f"k{i}") is not None]
    others = [f"k{i}" for i in range(40) if f"k{i}" not in alone]
    dump = redis.client.dump(victim)
    redis.client.delete(victim)
    lists = ["/v1/counters", "/v1/counters?prefix=k1", "/v1/top", "/v1/top?by=1h", "/v1/usage"]
    for path in [*lists, f"/v1/counters/{alone[0]}", f"/v1/usage?key={alone[0]}"]:
        status, problem = server.get(path)
        assert status == 503, path
        assert problem["title"] == "Incomplete table" and f"missing: {victim.decode()};" in problem["detail"]
    for key in others if by == "key" else []:
        assert server.get(f"/v1/counters/{key}")[1] == {"key": key, "value": "10"}
        assert server.get(f"/v1/usage?key={key}")[0] == 200
    redis.client.restore(victim, 0, dump)
    assert [server.get(path)[0] for path in lists] == [200] * len(lists)
    assert server.get(f"/v1/counters/{alone[0]}")[1]["value"] == "10"


@pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer keeps what was freed")
def test_a_short_list_of_a_large_table_takes_little_memory(start, show):
    redis = start()
    pipe = redis.client.pipeline(transaction=False)
    for i in range(0, 100000, 500):
        pipe.execute_command("ONCE.MINCRBY", "t", *[word for k in range(i, i + 500) for word in (f"id-{k}", f"{k:0300}", 1)])
    pipe.execute()
    server = show(url_of(redis))

    def most_bytes():
        text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        return 1024 * int(re.search(r"^VmHWM:\s+(\d+) kB", text, re.MULTILINE).group(1))
    assert server.get("/v1/counters/none")[0] == 404  # connects
    before = most_bytes()
    answer = server.get("/v1/counters?limit=1")[1]
    assert answer == {"counters": [{"key": "0" * 300, "value": "1"}], "cursor": f"{1:0300}".encode().hex()}
    assert most_bytes() - before < 12 << 20  # all keys are 30 MB
