"""Goal:   lethe usage and lethe top --by print what a table in a server got in each period, as they do for a store; tables
        that are spread over partitions, by id or by key, are made, found again and added up.
Method: lethe on real servers whose wall clocks the test sets, and on a cluster; sums in all forms of output against a
        model."""

import collections
import csv
import io
import json
import random

import pytest
from cluster import Cluster
from counting import count, DONE, lethe, listed, url_of, USAGE
from test_meters import set_wall

DAYS = [f"2024-02-{day}" for day in (27, 28, 29)] + ["2024-03-01", "2024-03-04"]


def count_days(url, clock, *words, seed=1, keys=("alice", "bob", "a,b\"c")):
    """Counts on several days. Returns day -> key -> sum."""
    chance, sums = random.Random(seed), collections.defaultdict(collections.Counter)
    for day in DAYS:
        set_wall(clock, f"{day}T{chance.randrange(24):02}:30:00")
        lines = []
        for i in range(40):
            key, delta = chance.choice(keys), chance.randrange(-2, 9)
            lines.append(f"{day}-{i}\t{key}\t{delta}\n")
            sums[day][key] += delta
        assert count(url, *words, stdin="".join(lines))["applied"] == 40
    return sums


def rows_of(url, *words, code=DONE):
    result = lethe("usage", url, "--json", *words)
    assert result.returncode == code, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("words", [("--partitions", "1"), ("--partitions", "5"),
                                   ("--partitions", "5", "--partition-by", "key")], ids=["one", "by id", "by key"])
def test_usage(timed, clock, words):
    url = url_of(timed)
    sums = count_days(url, clock, "--per", "1d,1mo,1h", *words)
    keys = sorted(["alice", "bob", "a,b\"c"])
    # Days in which nothing was counted are 0; without --by, the first resolution.
    calendar = DAYS[:4] + ["2024-03-02", "2024-03-03", "2024-03-04"]
    expected = [{"key": key, "by": "1d", "from": f"{day}T00:00:00+00:00", "value": sums[day][key]}
                for day in calendar for key in keys]
    assert [row for row in rows_of(url) if "rest" not in row] == expected
    assert all(row["rest"] == 0 for row in rows_of(url) if "rest" in row)
    assert rows_of(url, "--by", "24h", "--from", "2024-02-29", "--to", "2024-03-02", "bob", "bob") == [
        {"key": "bob", "by": "1d", "from": f"{day}T00:00:00+00:00", "value": sums[day]["bob"]} for day in DAYS[2:4]]
    months = rows_of(url, "--by", "1mo", "--prefix", "al")
    assert [(row["from"], row["value"]) for row in months if "value" in row] == [
        ("2024-02-01T00:00:00+00:00", sum(sums[day]["alice"] for day in DAYS[:3])),
        ("2024-03-01T00:00:00+00:00", sum(sums[day]["alice"] for day in DAYS[3:]))]
    assert rows_of(url, "--by", "1mo", "--from", "2024-02-01", "--to", "2024-04-01", "none") == [
        {"key": "none", "by": "1mo", "from": f"2024-0{month}-01T00:00:00+00:00", "value": 0} for month in (2, 3)]
    assert sum(row.get("value", 0) for row in rows_of(url, "--by", "1h", "bob")) == listed(url)["bob"]
    # The other forms.
    table = list(csv.reader(io.StringIO(lethe("usage", url, "--csv").stdout)))
    assert table[0] == ["key", "by", "from", "value"] and len(table) == 1 + 7 * 3
    assert table[1] == ["a,b\"c", "1d", "2024-02-27T00:00:00+00:00", str(sums[DAYS[0]]["a,b\"c"])]
    text = lethe("usage", url, "alice").stdout.splitlines()
    assert text[0] == f"2024-02-27\talice\t{sums[DAYS[0]]['alice']}"
    assert "alice, per 1mo" in lethe("usage", url, "--by", "1mo", "--plot").stdout
    svg = timed.folder / "usage.svg"
    assert lethe("usage", url, "--svg", str(svg)).returncode == DONE and svg.read_text().startswith("<svg")
    # The largest of one period.
    top = [line.split("\t") for line in lethe("top", url, "--by", "1d", "--at", "2024-02-28T05:00:00").stdout.splitlines()]
    largest = sorted(keys, key=lambda key: (-sums["2024-02-28"][key], key))
    assert top == [[key, str(sums["2024-02-28"][key])] for key in largest]
    one = json.loads(lethe("top", url, "--by", "1mo", "--at", "2024-03-31", "-n", "1", "--json").stdout)
    assert one["value"] == max(sum(sums[day][key] for day in DAYS[3:]) for key in keys)
    # Counting goes on without naming anything again; something else is refused.
    assert count(url, stdin="x\tbob\t1\n")["applied"] == 1
    for other in ("--per", "1h"), ("--per", "1d,1mo,1h", "--keep", "1h=2h"):
        result = lethe("count", url, *other, stdin="")
        assert result.returncode == USAGE and "cannot be changed" in result.stderr
    assert count(url, "--per", "1d,1mo,1h", stdin="")["events"] == 0
    assert json.loads(lethe("stat", url, "--json").stdout)["per"] == "day:100000,month:100000,hour:100000"


def test_the_rest(timed, clock):
    """What KEEP has dropped is shown apart: without --from, and with it where some of it was dropped."""
    url = url_of(timed)
    sums = count_days(url, clock, "--per", "1d", "--keep", "1d=2d", keys=["k"])
    total = sum(sums[day]["k"] for day in DAYS)
    kept = sums[DAYS[3]]["k"] + sums[DAYS[4]]["k"]
    assert listed(url) == {"k": total}
    for words in (), ("--from", "2024-02-28"):
        assert rows_of(url, *words)[-1] == {"key": "k", "by": "1d", "rest": total - kept}
    assert all("rest" not in row for row in rows_of(url, "--from", "2024-03-02"))
    assert lethe("usage", url).stdout.splitlines()[-1].startswith("rest\tk\t")


def test_many_counters_and_buckets(timed, clock):
    """More counters than are asked about at once, and more buckets than one answer has."""
    timed.call("ONCE.CREATE", "t", "PER", 1000)
    set_wall(clock, "2024-05-05T12:00:00")
    timed.call("ONCE.MINCRBY", "t", *(word for i in range(600) for word in (f"i{i}", f"k{i:03}", i)))
    rows = rows_of(url_of(timed))
    assert [row["value"] for row in rows if "value" in row][:600] == list(range(600))
    timed.call("ONCE.CREATE", "long", "PER", 100)
    for i in range(0, 1_050):
        clock.set_wall(100 * i)
        timed.call("ONCE.INCRBY", "long", f"x{i}", "k", 1)
    rows = [json.loads(line) for line in lethe("usage", url_of(timed), "--json", table="long").stdout.splitlines()]
    assert sum(row.get("value", 0) for row in rows) == 1_050 and len(rows) >= 1_050


def test_what_cannot_be_asked(server):
    url = url_of(server)
    count(url, stdin="a\tk\t1\n")
    result = lethe("usage", url)
    assert result.returncode == USAGE and "does not count per period" in result.stderr
    server.call("ONCE.CREATE", "m", "PER", "hour", "PER", 90_000)
    for by in "1d", "1w", "x", "0h":
        result = lethe("usage", url, "--by", by, table="m")
        assert result.returncode == USAGE and "it counts per 1h, 90s" in result.stderr
    server.call("ONCE.INCRBY", "m", "a", "k", 1)
    result = lethe("usage", url, "--by", "90s", "--from", "1975-01-01", table="m")
    assert result.returncode == USAGE and "periods to print" in result.stderr
    for words in ("--per", "1w"), ("--per", "1h,1h"), ("--per", "1y"), ("--per", "1s,2s,3s,4s,5s"), ("--per", ""), \
            ("--keep", "1h=1d"), ("--per", "1h", "--keep", "1d=9d"), ("--per", "1h", "--keep", "1h=900y"), \
            ("--per", "1h", "--keep", "1h"), ("--per", "1h", "--keep", "1h=ever"), ("--zone", "Europe/Berlin"):
        assert lethe("count", url, *words, table="new", stdin="").returncode == USAGE, words
    assert server.client.keys("new*") == []


def test_a_table_spread_by_key(server):
    """A counter is whole in one partition. An event whose keys are in several is not counted, and that is said."""
    url = url_of(server)
    lines = "".join(f"i{i}\tk{i % 50}\t1\n" for i in range(500))
    count(url, "--partitions", "8", "--partition-by", "key", stdin=lines)
    assert b" by key" in server.client.get("t") and server.client.get("t").startswith(b"lethe-table 3 ")
    partitions = server.client.keys("t:{*}")
    assert len(partitions) == 8
    homes = collections.Counter(key for partition in partitions for key in server.call("ONCE.TOP", partition, 99)[::2])
    assert set(homes.values()) == {1} and len(homes) == 50
    split = count(url, stdin="a\tk0\t1\tk1\t1\tk2\t1\tk3\t1\nb\tk0\t5\tk0\t1\n", code=5)
    assert (split["invalid"], split["applied"]) == (1, 1)
    assert listed(url)["k0"] == 16 and listed(url)["k1"] == 10
    assert json.loads(lethe("stat", url, "--json").stdout)["partition_by"] == "key"
    assert "8, by key" in lethe("stat", url).stdout
    result = lethe("count", url, "--partition-by", "id", stdin="")
    assert result.returncode == USAGE and "is spread by key" in result.stderr
    server.client.set("t", server.client.get("t").replace(b"table 3", b"table 4"))
    assert "newer lethe" in lethe("count", url, stdin="").stderr


def test_a_cluster(tmp_path):
    with Cluster(tmp_path, addresses=("127.0.0.1",) * 3, prefixes=((),) * 3, replicas=0) as cluster:
        url = url_of(*cluster.nodes[:2])
        for by in "id", "key":
            lines = "".join(f"i{i}\tk{i % 7}\t{i % 5}\n" for i in range(700))
            result = lethe("count", url, "--json", "--per", "1h,1mo", "--partition-by", by, table=by, stdin=lines)
            assert result.returncode == DONE, result.stderr
            for words in (), ("--by", "1mo"):
                found = lethe("usage", url, "--json", *words, table=by)
                rows = [json.loads(line) for line in found.stdout.splitlines()]
                sums = collections.Counter()
                for row in rows:
                    sums[row["key"]] += row.get("value", 0) + row.get("rest", 0)
                assert sums == {f"k{k}": sum(i % 5 for i in range(700) if i % 7 == k) for k in range(7)}
