"""Goal: lethe serve --redis shows once-tables as a server with a store shows itself: figures, counters and usage are those of
Redis, partitions are added up, tables come and go, names are data. It changes nothing.

Method: real servers with the module; the answers against ONCE.INFO, the commands of the command line and sums that the test
knows; a thousand tables. test_tables_lists.py has lists page by page, test_tables_redis.py what goes wrong with Redis, and
clusters."""

import base64
import concurrent.futures
import json
import re
import subprocess
import time
import urllib.parse

import pytest
import transcript
from conftest import BINARIES, SOURCE, ask
from tables import count, figures, names, status_of, table_info, until, url_of


def test_the_sessions_of_the_document(start, show, tmp_path):
    """And every address is in it."""
    redis = start()
    server = show(url_of(redis))
    document = (SOURCE / "docs/http-redis.md").read_text(encoding="utf-8")
    first, rest = document.split("## Reading", 1)
    ports = {"-p 6379": f"-p {redis.port}", "127.0.0.1:8420": f"127.0.0.1:{server.port}"}
    for part in (first, rest):
        for text, instead in ports.items():
            part = part.replace(text, instead)
        problems = transcript.run(part, "docs/http-redis.md", tmp_path, BINARIES)
        assert problems == "", problems
        until(lambda: len(names(server)) == 2)
    asked = set(re.findall(r"http://127\.0\.0\.1:8420(/[^\s'?]*)", document))
    for path in server.get("/openapi.json")[1]["paths"]:
        pattern = re.escape(path).replace(re.escape("{name}"), "[^/]+")
        assert any(re.fullmatch(pattern, one) for one in asked), path


def test_figures_counters_and_usage_are_those_of_redis(start, show):
    redis = start()
    url = url_of(redis)
    count(url, "likes", b"".join(b"id-%d\tpage-%d\t%d\n" % (i % 900, i % 7, 5) for i in range(1000)), "--per", "1h,1mo", "--window", "1h")
    redis.call("ONCE.INCRBY", "orders", "o1", "paid", 9223372036854775807)
    server = show(url)
    assert names(server) == ["likes", "orders"]
    until(lambda: status_of(server, "likes")["top"])
    status, info = status_of(server, "likes"), table_info(redis.client, "likes")
    assert status["totals"] == {"applied": "900", "duplicate": "100", "refused": "0"}
    assert status["table"] == {"name": "likes", "partitions": 1, "missing": 0}
    window = status["window"]
    assert (int(window["ids"]), window["window_ms"]) == (info["ids"], 3600000) and window["kind"] == "quotient"
    assert window["error_target"] == info["error_target"] and window["error_now"] <= window["error_target"]
    assert int(window["ages"][0]["ids"]) == info["ids"] and status["counters"] == "7"
    assert (status["disk_bytes"], status["commit"], status["ledger"], status["strain"]) == (None, None, None, [])
    assert status["memory_bytes"] == info["memory_bytes"] and window["memory_bytes"] == info["window_bytes"]
    assert status["meters"] == {"per": ["1h", "1mo"], "zone": "UTC"}
    redis_top = redis.call("ONCE.TOP", "likes", 20)
    assert [(one["key"], one["value"]) for one in status["top"]] == [
        (key.decode(), str(value)) for key, value in zip(redis_top[::2], redis_top[1::2])]
    assert server.get("/v1/counters/paid?table=orders")[1] == {"key": "paid", "value": "9223372036854775807"}
    assert server.get("/v1/top?table=likes")[1]["counters"] == status["top"]
    assert server.get("/v1/top?table=likes&by=1mo&limit=2")[1]["counters"] == status["top"][:2]
    listed, cursor = [], ""
    while cursor is not None:
        answer = server.get(f"/v1/counters?table=likes&limit=3&prefix=page-&cursor={cursor}")[1]
        listed, cursor = listed + answer["counters"], answer["cursor"]
    assert listed == sorted(status["top"], key=lambda one: one["key"])
    usage = server.get("/v1/usage?table=likes&by=1mo&key=page-3")[1]
    value = next(one["value"] for one in status["top"] if one["key"] == "page-3")
    assert [row["value"] for row in usage["usage"]] == [value] and usage["rest"] == [{"key": "page-3", "value": "0"}]
    assert (usage["by"], usage["zone"], usage["is_cut"]) == ("1mo", "UTC", False)
    assert server.get("/v1/usage?table=likes")[1]["by"] == "1h"


def test_figures_have_the_table_as_their_label(start, show):
    redis = start()
    for i in range(30):
        redis.call("ONCE.INCRBY", "a", f"id-{i % 20}", "secret-key", 1)
    redis.call("ONCE.INCRBY", "b", "x", "secret-key", 1)
    server = show(url_of(redis))
    found = figures(server)
    assert found["lethe_events_total", 'table="a",outcome="applied"'] == 20
    assert found["lethe_events_total", 'table="a",outcome="duplicate"'] == 10
    assert found["lethe_events_total", 'table="b",outcome="applied"'] == 1
    assert found["lethe_window_ids", 'table="a"'] == 20 and found["lethe_counters", 'table="b"'] == 1
    assert found["lethe_error_ratio", 'table="a"'] <= found["lethe_error_target", 'table="a"']
    assert found["lethe_window_kept_seconds", 'table="a"'] <= found["lethe_window_seconds", 'table="a"']
    assert (found["lethe_redis_up", None], found["lethe_tables", None], found["lethe_redis_lost_total", None]) == (1, 2, 0)
    assert found["lethe_strain", 'table="a",kind="eviction"'] == 0
    text = ask(server.port, "GET", "/metrics")[2].decode()
    assert "secret-key" not in text
    for name in re.findall(r"^# TYPE (\S+) counter", text, re.MULTILINE):
        assert name.endswith("_total"), name
    # The dashboard's figures, without those of disks, commits and folds.
    board = json.loads((SOURCE / "docs/serve/grafana.json").read_text())
    asked = {name for panel in board["panels"] for target in panel["targets"]
             for name in re.findall(r"lethe_\w+", target["expr"])}
    assert {name for name in asked if not re.search("commit|disk|fold|store", name)} <= {name for name, _ in found}


def test_nothing_is_changed(start, show):
    redis = start()
    redis.call("ONCE.INCRBY", "t", "a", "k", 1)
    server = show(url_of(redis))

    def seen():  # not the digest: the module's timer may give a table another stamp of its clock
        info = table_info(redis.client)
        return (redis.call("ONCE.SCAN", "t", 0), redis.client.dbsize(),
                [info[name] for name in ("ids", "fresh", "duplicates", "refused", "counters")])

    before = seen()
    for path in ("/v1/events", "/v1/take", "/v1/claims/x/begin", "/v1/claims/x/done", "/v1/backup"):
        status, problem = server.post(path, {"id": "b", "key": "k"})
        assert (status, problem["title"]) == (403, "Read only") and "lethe count --redis" in problem["detail"], path
    for path in ("/v1/counters/k", "/v1/status", "/metrics", "/"):
        status, headers, _ = ask(server.port, "POST", path, "{}", Content_Type="application/json")
        assert (status, headers["Allow"]) == (405, "GET"), path
    assert server.get("/v1/claims/x")[0] == 404 and server.get("/v1/none")[0] == 404
    assert server.get("/healthz") == (200, {"status": "ok"}) and server.get("/readyz") == (200, {"status": "ready"})
    routes = server.get("/openapi.json")[1]["paths"]
    assert set(routes) == {"/v1/counters/{name}", "/v1/counters", "/v1/top", "/v1/usage", "/v1/status", "/v1/live",
                           "/metrics", "/healthz", "/readyz", "/openapi.json"}
    assert all(list(route) == ["get"] for route in routes.values())
    assert {one["name"] for one in routes["/v1/usage"]["get"]["parameters"]} > {"table", "by", "key"}
    time.sleep(1.2)  # another look
    assert seen() == before and redis.client.dbsize() == 1
    writes = [name for name in map(str.lower, redis.client.info("commandstats"))
              if name not in ("cmdstat_once.incrby", "cmdstat_ping", "cmdstat_info", "cmdstat_dbsize", "cmdstat_once.scan", "cmdstat_type")]
    assert all(re.fullmatch(r"cmdstat_(scan|get|select|auth|hello|client.*|cluster\|slots|once\.(info|top|mget))", name)
               for name in writes), writes


def test_questions_that_make_no_sense(start, show):
    redis = start()
    server = show(url_of(redis))
    assert server.get("/v1/status")[1]["table"] is None and names(server) == []
    assert server.get("/v1/top") == (404, {"type": "about:blank", "title": "Not found", "status": 404, "detail": "there is no table"})
    redis.call("ONCE.INCRBY", "a", "x", "k", 1)
    until(lambda: names(server) == ["a"])
    assert server.get("/v1/counters/k")[1]["value"] == "1"  # the only table need not be named
    redis.call("ONCE.INCRBY", "b", "x", "k", 2)
    until(lambda: names(server) == ["a", "b"])
    for path in ("/v1/counters/k", "/v1/counters", "/v1/top", "/v1/usage"):
        status, problem = server.get(path)
        assert status == 400 and "name one, as ?table=NAME" in problem["detail"]
    redis.client.set("string", "x")
    for table in ("none", "x" * 600, "a%00b"):
        assert server.get(f"/v1/counters/k?table={table}")[0] == 404, table
        assert server.get(f"/v1/status?table={table}")[0] == 404, table
    redis.client.rpush("list", "x")
    redis.call("QF.RESERVE", "filter", "CAPACITY", 1000)
    absent = server.get("/v1/counters/k?table=none")
    for table in ("string", "list", "filter"):  # nobody learns which keys there are
        assert server.get(f"/v1/counters/k?table={table}") == absent == server.get(f"/v1/counters?table={table}"), table
    assert server.get("/v1/counters/none?table=a")[0] == 404
    status, problem = server.get("/v1/usage?table=a")
    assert status == 400 and "does not count per period" in problem["detail"]
    assert server.get("/v1/top?table=a&by=1h")[0] == 400
    assert server.get("/v1/counters?table=a&cursor=xyz")[0] == 400
    assert server.get("/v1/status?table=%zz")[0] == 400


def test_partitions_are_one_table(start, show, tmp_path):
    redis = start()
    url = url_of(redis)
    lines = b"".join(b"id-%d\tk-%d\t2\n" % (i % 400, i % 400 % 3) for i in range(500))
    count(url, "spread", lines, "--partitions", "4", "--per", "1d")
    redis.call("ONCE.INCRBY", "odd:{7}", "a", "k", 1)  # looks like a partition, and is none
    server = show(url)
    assert names(server) == ["odd:{7}", "spread"]
    status = status_of(server, "spread")
    assert status["table"] == {"name": "spread", "partitions": 4, "missing": 0}
    assert status["totals"] == {"applied": "400", "duplicate": "100", "refused": "0"}
    keys = redis.client.keys("spread:*")
    infos = [table_info(redis.client, key) for key in keys]
    assert len(infos) == 4 and int(status["window"]["ids"]) == sum(info["ids"] for info in infos)
    assert status["window"]["error_now"] == pytest.approx(max(info["error_estimate"] for info in infos))
    assert status["memory_bytes"] == sum(info["memory_bytes"] for info in infos)
    window = status_of(server, "spread")["window"]
    later = [table_info(redis.client, key)["oldest_age_ms"] for key in keys]
    assert 0 < window["kept_ms"] <= window["ages"][0]["to_ms"] <= max(later) and window["kept_ms"] <= min(later)
    until(lambda: status_of(server, "spread")["top"])
    expected = {f"k-{k}": str(2 * sum(i % 3 == k for i in range(400))) for k in range(3)}
    assert {one["key"]: one["value"] for one in status_of(server, "spread")["top"]} == expected
    for key, value in expected.items():
        assert server.get(f"/v1/counters/{key}?table=spread")[1]["value"] == value
        rows = server.get(f"/v1/usage?table=spread&key={key}")[1]["usage"]
        assert sum(int(row["value"]) for row in rows) == int(value)
    assert ("lethe_events_total", 'table="spread",outcome="applied"') in figures(server)
    # One partition is gone: that is a strain. Then all of them are.
    redis.client.delete(keys[0])
    until(lambda: status_of(server, "spread")["table"]["missing"] == 1)
    assert [one["code"] for one in status_of(server, "spread")["strain"]] == ["partitions"]
    assert figures(server)["lethe_strain", 'table="spread",kind="partitions"'] == 1
    assert status_of(server, "spread")["top"]
    redis.client.delete("spread", *keys)
    until(lambda: names(server) == ["odd:{7}"])
    # Made again, with other partitions, among which are old ones.
    count(url, "spread", lines, "--partitions", "2")
    until(lambda: names(server) == ["odd:{7}", "spread"] and status_of(server, "spread")["table"]["partitions"] == 2)
    until(lambda: status_of(server, "spread")["totals"] == {"applied": "400", "duplicate": "100", "refused": "0"})
    # Both of these are among those of a table with six.
    redis.client.set("spread", redis.client.get("spread").replace(b"partitions 2 ", b"partitions 6 "))
    until(lambda: "spread" in names(server) and status_of(server, "spread")["table"] == {"name": "spread", "partitions": 6, "missing": 4})
    # Without its description it is what its partitions are.
    redis.client.delete("spread")
    until(lambda: len(names(server)) == 3)


def test_many_read_at_the_same_time(start, show):
    """Tables with different partitions, each by several threads, while the server looks at all of them."""
    redis = start()
    url = url_of(redis)
    counts = {f"table-{i}": i for i in (2, 3, 5, 7)}
    for table, partitions in counts.items():
        count(url, table, b"".join(b"id-%d\tk\t%d\n" % (i, partitions) for i in range(100)), "--partitions", str(partitions), "--per", "1h")
    server = show(url)

    def read(table):
        for _ in range(12):
            value = server.get(f"/v1/counters/k?table={table}")[1]["value"]
            assert value == str(100 * counts[table])
            assert server.get(f"/v1/top?table={table}")[1]["counters"] == [{"key": "k", "value": value}]
            assert sum(int(row["value"]) for row in server.get(f"/v1/usage?table={table}")[1]["usage"]) == int(value)
            assert status_of(server, table)["totals"]["applied"] == "100"
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        for done in [pool.submit(read, table) for table in counts for _ in range(3)]:
            done.result()


def test_tables_appear_and_vanish(start, show, tmp_path):
    redis = start()
    server = show(url_of(redis), "--table", "one", "--table", "two", "--table", "one")
    assert names(server) == []
    status = server.get("/v1/status")[1]
    assert [(one["name"], one["why"]) for one in status["absent"]] == [
        ("one", "there is no such table"), ("two", "there is no such table")]
    assert server.get("/readyz")[0] == 200
    redis.call("ONCE.INCRBY", "two", "a", "k", 5)
    redis.call("ONCE.INCRBY", "three", "a", "k", 5)  # nobody asked for it
    until(lambda: names(server) == ["two"])
    assert [one["name"] for one in server.get("/v1/status")[1]["absent"]] == ["one"]
    redis.call("ONCE.INCRBY", "one", "a", "k", 5)
    until(lambda: names(server) == ["one", "two"])
    # Made again: it begins at 0, and so does what is expected to be lost.
    redis.client.delete("two")
    until(lambda: names(server) == ["one"])
    redis.call("ONCE.INCRBY", "two", "b", "k", 1)
    until(lambda: names(server) == ["one", "two"])
    assert status_of(server, "two")["totals"]["applied"] == "1"
    assert calls(redis, "scan") == 0
    assert (tmp_path / "server.log").read_text().count("not shown") >= 1


def test_no_other_table_is_reached_than_those_that_are_named(start, show):
    redis = start()
    for table in ("shown", "secret"):
        redis.call("ONCE.CREATE", table, "PER", "hour")
        redis.call("ONCE.INCRBY", table, "a", "k", 5)
    redis.client.set("password", "x")
    server = show(url_of(redis), "--table", "shown", "--table", "later")
    paths = ("/v1/counters/k", "/v1/counters", "/v1/top", "/v1/usage", "/v1/status")
    nothing = {"type": "about:blank", "title": "Not found", "status": 404, "detail": "there is no such table"}
    for path in paths:
        assert server.get(f"{path}?table=shown")[0] == 200
        for table in ("secret", "password", "none", "shown%00", "later", "show"):
            assert server.get(f"{path}?table={table}") == (404, nothing), (path, table)
        assert server.get(f"{path}?table_base64=c2VjcmV0") == (404, nothing), path
    assert server.get("/v1/counters/k")[1]["value"] == "5"
    # Of one that is named it is said what is wrong.
    redis.client.set("later", "x")
    status, problem = server.get("/v1/counters/k?table=later")
    assert status == 500 and "is not a table of counters" in problem["detail"]
    redis.client.delete("later")
    redis.call("ONCE.INCRBY", "later", "a", "k", 6)
    assert server.get("/v1/counters/k?table=later")[1]["value"] == "6"


def test_it_is_said_why_a_named_table_is_not_shown(start, show, tmp_path):
    redis = start()
    redis.client.set("plain", "x")
    redis.client.set("new\ner", "lethe-table 99 partitions 2")
    redis.client.rpush("list", "x")
    server = show(url_of(redis), *(word for name in ("plain", "new\ner", "none", "list") for word in ("--table", name)))
    why = {one["name"]: one["why"] for one in server.get("/v1/status")[1]["absent"]}
    assert why["plain"] == "it is not a table of counters" and "newer lethe" in why["new\ner"]
    assert why["none"] == "there is no such table" and why["list"] != why["none"]
    log = (tmp_path / "server.log").read_text()
    assert "'plain': it is not a table of counters, " in log and '{"name"' not in log and "new\ner" not in log, log
    # A stream of a table that is not there yet waits for it.
    redis.client.delete("plain")
    with subprocess.Popen(["curl", "-sN", f"http://127.0.0.1:{server.port}/v1/live?interval=100&table=plain"],
                          stdout=subprocess.PIPE) as stream:
        assert json.loads(stream.stdout.readline())["table"] is None
        redis.call("ONCE.INCRBY", "plain", "a", "k", 6)
        until(lambda: json.loads(stream.stdout.readline())["table"])
        stream.kill()


HOSTILE = [b'quote"', b"back\\slash", b"back\\xff", b"back\xff", b"line\nbreak", "ü→🦊".encode(), b"<script>alert(1)</script>",
           b"comma,\xc3", b" blank ", b"brace{", b"{}", b"a:{}", b":{5}", b"tab\tkey", b"x" * 512, b"%s%n", b"\xff\xfe", b"\\\\"]


def test_names_are_data(start, show):
    redis = start()
    for name in HOSTILE + [b"x" * 513, b"zero\x00byte"]:
        redis.call("ONCE.INCRBY", name, "a", b"key\xff<b>", len(name))
    server = show(url_of(redis))
    listed = server.get("/v1/status")[1]["tables"]
    raw = [base64.b64decode(one["name_base64"]) if "name_base64" in one else one["name"].encode() for one in listed]
    assert raw == sorted(HOSTILE)
    assert server.get("/v1/status")[1]["redis"]["skipped"] == 2
    for name in HOSTILE:
        quoted = urllib.parse.quote(name, safe="")
        status = server.get(f"/v1/status?table={quoted}")[1]
        assert status["totals"]["applied"] == "1"
        assert server.get(f"/v1/counters/key%FF%3Cb%3E?table={quoted}")[1]["value"] == str(len(name))
        packed = urllib.parse.quote(base64.b64encode(name), safe="")
        assert server.get(f"/v1/top?table_base64={packed}")[1]["counters"][0]["value"] == str(len(name))
    labels = [label for name, label in figures(server) if name == "lethe_window_ids"]
    assert len(set(labels)) == len(HOSTILE)
    assert 'table="quote\\""' in labels and 'table="line\\nbreak"' in labels and 'table="ü→🦊"' in labels
    assert 'table="back\\\\\\\\xff"' in labels and 'table="back\\\\xff"' in labels
    assert figures(server)["lethe_tables_skipped", None] == 2


def test_a_key_may_have_any_length(start, show):
    redis = start()
    for i in range(5):
        redis.call("ONCE.INCRBY", "t", f"id-{i}", b"%d" % i * 100000, i + 1)
    server = show(url_of(redis))
    top = until(lambda: server.get("/v1/status")[1]["top"])
    assert [(one["key"], one["is_cut"]) for one in top] == [(str(i) * 1024, True) for i in (4, 3, 2, 1, 0)]
    first = server.get("/v1/counters?limit=2")[1]
    assert [one["key"] for one in first["counters"]] == ["0" * 100000, "1" * 100000]
    rest = server.get(f"/v1/counters?cursor={first['cursor']}")[1]
    assert [one["value"] for one in rest["counters"]] == ["3", "4", "5"] and rest["cursor"] is None


def test_the_stream_is_of_the_table_that_is_asked_for(start, show):
    redis = start()
    for name in ("a", "b"):
        redis.call("ONCE.INCRBY", name, "x", name, 1)
    server = show(url_of(redis))

    def lines(query, most):
        with subprocess.Popen(["curl", "-sN", f"http://127.0.0.1:{server.port}/v1/live?interval=100{query}"],
                              stdout=subprocess.PIPE) as stream:
            found = [json.loads(stream.stdout.readline()) for _ in range(most)]
            stream.kill()
        return found
    for name in ("a", "b"):
        for line in lines(f"&table={name}", 3):
            assert line["table"]["name"] == name and [one["name"] for one in line["tables"]] == ["a", "b"]
    assert lines("", 1)[0]["table"]["name"] == "a" and lines("&table=none", 1)[0]["table"] is None
    assert server.get("/v1/live?table=%zz")[0] == 400


def test_strain_of_a_table(start, show):
    redis = start()
    redis.call("ONCE.CREATE", "small", "WINDOW", 3600000, "MAXMEMORY", 65536, "POLICY", "refuse")
    for i in range(0, 20000, 500):
        words = [word for k in range(i, i + 500) for word in (f"id-{k}", "k", 1)]
        redis.call("ONCE.MINCRBY", "small", *words)
    redis.client.config_set("maxmemory-policy", "allkeys-lru")
    redis.client.config_set("maxmemory", "1gb")
    server = show(url_of(redis))
    status = server.get("/v1/status")[1]
    assert int(status["totals"]["refused"]) > 0
    assert {one["code"] for one in status["strain"]} >= {"memory", "eviction"}
    assert figures(server)["lethe_strain", 'table="small",kind="eviction"'] == 1


def calls(redis, name):
    stats = {found.lower(): figure for found, figure in redis.client.info("commandstats").items()}
    return stats.get(f"cmdstat_{name}", {}).get("calls", 0)


def test_looking_costs_little(start, show):
    """Once a second for few tables; for many, as rarely as a thousand questions a second allow; SCAN in steps."""
    redis = start()
    pipe = redis.client.pipeline(transaction=False)
    for i in range(10):
        pipe.execute_command("ONCE.CREATE", f"t-{i}")
    for i in range(40000):
        pipe.set(f"string-{i}", i)
    pipe.execute()
    server = show(url_of(redis))
    until(lambda: len(names(server)) == 10)
    before, began = (calls(redis, "once.info"), calls(redis, "scan")), time.monotonic()
    time.sleep(3)
    passed = time.monotonic() - began
    assert calls(redis, "once.info") - before[0] <= 10 * (passed + 2)
    assert calls(redis, "scan") - before[1] <= 20 * (passed + 2)


def test_more_tables_than_are_shown(start, show):
    redis = start()
    pipe = redis.client.pipeline(transaction=False)
    for i in range(1010):
        pipe.execute_command("ONCE.INCRBY", f"t-{i:04}", "a", "k", i)
    pipe.execute()
    server = show(url_of(redis))
    until(lambda: len(names(server)) == 1000)
    until(lambda: server.get("/v1/status")[1]["redis"]["skipped"] == 10)
    last = names(server)[-1]
    assert server.get(f"/v1/counters/k?table={last}")[1]["value"] == str(int(last[2:]))
    assert figures(server)["lethe_tables", None] == 1000
    redis.client.flushall()
    until(lambda: names(server) == [])
