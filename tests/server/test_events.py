"""Goal: POST /v1/events counts what it is sent, once, in every form; and nothing of a body that is wrong.

Method: bodies of each form against a real server; then what the same store says to the command line, which
must agree about ids."""

import gzip
import json
import subprocess

import pytest

from conftest import ask

NDJSON = "application/x-ndjson"
CLOUD = "application/cloudevents+json"
CLOUDS = "application/cloudevents-batch+json"


def lines(events):
    return "".join(json.dumps(event) + "\n" for event in events)


def test_all_forms_count_the_same_event_once(serve):
    server = serve()
    event = {"id": "a", "key": "k", "delta": 3}
    forms = [(json.dumps(event), "application/json", {}), (json.dumps([event]), "application/json", {}),
             (lines([event]), NDJSON, {}), (gzip.compress(lines([event]).encode()), NDJSON, {"Content_Encoding": "gzip"})]
    outcomes = []
    for body, kind, headers in forms:
        status, answer = server.post("/v1/events", body, kind, **headers)
        assert status == 200, answer
        outcomes += [one["outcome"] for one in answer["events"]]
    assert outcomes == ["applied", "duplicate", "duplicate", "duplicate"]
    assert server.value("k") == 3


def test_zstd_bodies(serve):
    server = serve()
    packed = subprocess.run(["zstd", "-q", "-c"], input=lines([{"id": "a", "key": "k"}]).encode(),
                            stdout=subprocess.PIPE, check=True).stdout
    assert server.post("/v1/events", packed, NDJSON, Content_Encoding="zstd")[0] == 200
    assert server.post("/v1/events", packed[:-3], NDJSON, Content_Encoding="zstd")[0] == 400
    assert server.post("/v1/events", packed, NDJSON, Content_Encoding="gzip")[0] == 400
    assert server.post("/v1/events", packed, NDJSON, Content_Encoding="br")[0] == 415
    assert server.value("k") == 1


def test_a_cloud_event_counts_once_through_every_door(serve, lethe, tmp_path):
    server = serve("--cloud-fields", "key=data.user,delta=data.bytes")
    event = {"specversion": "1.0", "source": "s:1", "id": "7", "type": "t", "data": {"user": "u", "bytes": 5}}
    assert server.post("/v1/events", event, CLOUD)[1]["counts"]["applied"] == 1
    assert server.post("/v1/events", [event], CLOUDS)[1]["counts"]["duplicate"] == 1
    status, answer = server.post("/v1/events", event["data"], ce_specversion="1.0", ce_source="s%3A1", ce_id="7",
                                 ce_type="t")
    assert (status, answer["counts"]["duplicate"]) == (200, 1), answer
    server.stop()
    done = subprocess.run([lethe, "count", "--db", tmp_path / "db", "--json", "--cloudevents", "--fields",
                           "key=data.user,delta=data.bytes"], input=json.dumps(event).encode() + b"\n",
                          stdout=subprocess.PIPE, check=True)
    assert json.loads(done.stdout)["duplicates"] == 1
    server.start()
    assert server.value("u") == 5


AMOUNT = "key=subject,delta=data.amount"
IN_HEADERS = {"ce_specversion": "1.0", "ce_source": "s", "ce_type": "t", "ce_subject": "k"}


def test_data_of_any_json_type_is_read(serve):
    """A type that is JSON by another name must not make a delta of 5 one of 1."""
    server = serve("--cloud-fields", AMOUNT)
    kinds = ["application/json", "application/vnd.shop+json", "application/ld+json; profile=x", "text/json",
             "Application/JSON;charset=utf-8", "APPLICATION/X+JSON ; a=b"]
    for number, kind in enumerate(kinds):
        status, answer = server.post("/v1/events", {"amount": 5}, kind, ce_id=str(number), **IN_HEADERS)
        assert (status, answer["events"][0]["value"]) == (200, str(5 * number + 5)), kind


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/jsonx", "json", "application/x-ndjson", None])
def test_data_that_is_no_json_is_refused_where_it_is_needed(serve, kind):
    server = serve("--cloud-fields", AMOUNT)
    headers = {name.replace("_", "-"): text for name, text in IN_HEADERS.items()}
    if kind is not None:
        headers["Content-Type"] = kind
    for name, body in (("1", '{"amount":5}'), ("2", "")):
        status, _, answer = ask(server.port, "POST", "/v1/events", body, **{"ce-id": name}, **headers)
        assert status == 400, answer
    assert server.value("k") is None


@pytest.mark.parametrize("data", [{}, {"data": None}, {"data_base64": "eyJhbW91bnQiOjV9"}, {"data": "5"}])
def test_both_doors_refuse_events_whose_data_is_not_there(serve, lethe, tmp_path, data):
    event = {"specversion": "1.0", "source": "s", "id": "1", "type": "t", "subject": "k", **data}
    server = serve("--cloud-fields", AMOUNT)
    assert server.post("/v1/events", event, CLOUD)[0] == 400
    assert server.post("/v1/events", [event], CLOUDS)[0] == 400
    assert server.post("/v1/events", {**event, "data": {}}, CLOUD)[1]["events"][0]["value"] == "1"
    server.stop()
    done = subprocess.run([lethe, "count", "--db", tmp_path / "other", "--cloudevents", "--fields", AMOUNT],
                          input=json.dumps(event).encode() + b"\n", stderr=subprocess.PIPE, check=False)
    assert done.returncode != 0 and b"data" in done.stderr, done.stderr


def test_data_that_nobody_looks_at_may_be_anything(serve):
    server = serve("--cloud-fields", "key=subject")
    assert server.post("/v1/events", "a,b", "text/csv", ce_id="1", **IN_HEADERS)[0] == 200
    assert server.value("k") == 1


@pytest.mark.parametrize("headers,body", [
    ({"ce_specversion": "0.3", "ce_id": "1", "ce_source": "s", "ce_type": "t"}, "{}"),
    ({"ce_specversion": "1.0", "ce_source": "s", "ce_type": "t"}, "{}"),
    ({"ce_specversion": "1.0", "ce_id": "%zz", "ce_source": "s", "ce_type": "t"}, "{}"),
    ({"ce_specversion": "1.0", "ce_id": "1", "ce_source": "s", "ce_type": "t"}, '1,"id":"2"'),
    ({"ce_specversion": "1.0", "ce_id": "1", "ce_source": "s", "ce_type": "t"}, '{"a":1'),
])
def test_wrong_cloud_events_in_binary_mode(serve, headers, body):
    server = serve()
    status, answer = server.post("/v1/events", body, **headers)
    assert status == 400, answer
    assert server.value("t") is None


@pytest.mark.parametrize("body,kind,line", [
    (b'{"id":"a","key":"k"}\n{"id":"b","key":"k"\n', NDJSON, 2),
    (b'{"id":"a","key":"k"}\n\n{"id":"b","key":"k"}\n', NDJSON, 2),
    (b'[{"id":"a","key":"k"},\n{"id":"b","key":"k"}', "application/json", 2),
    (b'[{"id":"a","key":"k"},\n{"id":"b","kex":"k"}]', "application/json", 2),
    (b'[{"id":"a","key":"k"}] x', "application/json", 1),
    (b'[{"id":"a","key":"k"} {"id":"b","key":"k"}]', "application/json", 1),
    (b'[1]', "application/json", 1), (b'', "application/json", 1), (b'7', "application/json", 1),
    (b'{"id":"a","key":"k","changes":[{"key":"j"}]}', "application/json", 1),
    (b'{"id":"a","changes":[]}', "application/json", 1), (b'{"id":"a","changes":7}', "application/json", 1),
    (b'{"id":"a","changes":[{"key":"k"},{"delta":2}]}', "application/json", 1),
    (b'{"id":"a","changes":[{"key":"k"},3]}', "application/json", 1),
    (b'{"id":"a","key":"k","delta":"x"}', "application/json", 1),
    (b'{"id":"a","key":"k","x":' + b"[" * 2000 + b"]" * 2000 + b"}", "application/json", 1),
    (b'{"id":"' + b"a" * 1025 + b'","key":"k"}', "application/json", 1),
    (b'{"id":"a","key":"k","x":"' + b"a" * (1 << 20) + b'"}', "application/json", 1),
    (b'{"id":"a","key":"\xff"}', "application/json", 1),
], ids=lambda value: "body" if isinstance(value, bytes) else None)
def test_nothing_of_a_wrong_body_is_counted(serve, body, kind, line):
    server = serve()
    status, answer = server.post("/v1/events", body, kind)
    assert (status, answer["line"]) == (400, line), answer
    assert server.get("/v1/counters")[1]["counters"] == []


def test_a_body_of_many_batches_is_whole_or_not_at_all(serve):
    server = serve()
    events = [{"id": f"e{i}", "key": f"k{i % 7}", "delta": i} for i in range(10000)]
    wrong = lines(events) + '{"id":"x"}\n'
    status, answer = server.post("/v1/events", wrong, NDJSON)
    assert (status, answer["line"]) == (400, 10001)
    assert server.get("/v1/counters")[1]["counters"] == []
    for expected in ("applied", "duplicate"):
        status, answer = server.post("/v1/events", lines(events), NDJSON)
        assert status == 200 and answer["counts"][expected] == 10000
        assert [one["outcome"] for one in answer["events"]] == [expected] * 10000
    assert server.value("k3") == sum(range(3, 10000, 7))
    status, answer = server.post("/v1/events", json.dumps(events), Prefer="return=minimal")
    assert answer == {"counts": {"applied": 0, "duplicate": 10000}}


def test_the_idempotency_key_only_supplies_ids(serve):
    server = serve()
    key = {"Idempotency_Key": "K"}
    assert server.post("/v1/events", {"key": "a"}, **key)[1]["counts"]["applied"] == 1
    assert server.post("/v1/events", {"key": "a"}, **key)[1]["counts"]["duplicate"] == 1
    assert server.post("/v1/events", {"id": "K", "key": "a"}, **key)[1]["counts"]["duplicate"] == 1
    status, answer = server.post("/v1/events", {"id": "other", "key": "a"}, **key)
    assert status == 400 and "other" in answer["detail"]
    assert server.post("/v1/events", [{"key": "a"}, {"key": "a"}], **key)[1]["counts"]["applied"] == 2
    assert server.post("/v1/events", [{"id": "K/0", "key": "a"}, {"id": "K/1", "key": "a"}])[1]["counts"]["duplicate"] == 2
    assert server.post("/v1/events", {"key": "a"}, Idempotency_Key="x" * 1025)[0] == 400
    assert server.post("/v1/events", {"key": "a"})[0] == 400
    assert server.value("a") == 3


def test_values_are_exact_beyond_doubles(serve):
    server = serve()
    most = 2**63 - 1
    assert server.post("/v1/events", {"id": "a", "key": "k", "delta": most})[1]["events"][0]["value"] == str(most)
    answer = server.post("/v1/events", {"id": "b", "key": "k", "delta": 1})[1]
    assert answer["events"] == [{"outcome": "overflow", "value": str(most)}] and answer["counts"]["overflow"] == 1
    assert server.get("/v1/counters/k")[1] == {"key": "k", "value": str(most)}


def test_scale_event_time_and_payloads(serve):
    server = serve("--scale", "2", "--event-time", "--check-payload", "--window", "1h")
    event = {"id": "a", "key": "k", "delta": 1.5, "time": "2023-11-14T22:13:20Z"}
    assert server.post("/v1/events", event)[1]["events"][0]["value"] == "1.50"
    assert server.post("/v1/events", {**event, "delta": 2})[0] == 422
    assert server.post("/v1/events", [{**event, "delta": 2}])[1]["events"][0]["outcome"] == "mismatch"
    late = {**event, "id": "b", "time": "2023-11-14T20:00:00Z"}
    assert server.post("/v1/events", late)[1]["events"] == [{"outcome": "late", "value": "1.50"}]
    assert server.post("/v1/events", {"id": "c", "key": "k"})[0] == 400


def test_keys_of_any_bytes(serve, lethe, tmp_path):
    subprocess.run([lethe, "count", "-q", "--db", tmp_path / "db"], input=b"1\ta/b\n2\t\\0\xff\\n\n3\t<script>\n", check=True)
    server = serve()
    assert server.value("a%2Fb") == 1 and server.value("%00%FF%0A") == 1 and server.value("%3Cscript%3E") == 1
    assert server.get("/v1/counters/%0")[0] == 400 and server.get("/v1/counters/a/b")[0] == 404
    first = server.get("/v1/counters?limit=1")[1]["counters"][0]
    assert first == {"key": "\0\ufffd\n", "key_base64": "AP8K", "value": "1"}
    assert [one["key"] for one in server.get("/v1/counters?prefix=a%2F")[1]["counters"]] == ["a/b"]
    for prefix in ("prefix_base64=AP8K", "prefix_base64=AP8", "prefix_base64=AA%3D%3D", "prefix=%00"):
        assert [one["value"] for one in server.get(f"/v1/counters?{prefix}")[1]["counters"]] == ["1"], prefix
    for wrong in ("A", "AP8K!", "%"):
        assert server.get(f"/v1/counters?prefix_base64={wrong}")[0] == 400, wrong


def test_lists_go_on_at_their_cursor(serve):
    server = serve()
    server.post("/v1/events", [{"id": f"e{i}", "key": f"k{i:03}", "delta": i} for i in range(1, 101)])
    keys, cursor = [], ""
    while cursor is not None:
        status, answer = server.get(f"/v1/counters?prefix=k&limit=7&cursor={cursor}")
        assert status == 200
        keys += [one["key"] for one in answer["counters"]]
        cursor = answer["cursor"]
    assert keys == [f"k{i:03}" for i in range(1, 101)]
    assert [one["value"] for one in server.get("/v1/top?limit=3")[1]["counters"]] == ["100", "99", "98"]
    for wrong in ("limit=0", "limit=x", "limit=10001", "cursor=x", "cursor=0", "prefix=%"):
        assert server.get(f"/v1/counters?{wrong}")[0] == 400, wrong


def cloud(server, **attributes):
    """What becomes of an event in binary mode, with these values of its headers."""
    headers = {"ce_specversion": "1.0", "ce_source": "s", "ce_type": "t", **attributes}
    status, answer = server.post("/v1/events", "{}", **headers)
    return answer["events"][0]["outcome"] if status == 200 else status


def test_headers_of_cloud_events(serve):
    """Quotes and blanks around a value are no part of it; what is not UTF-8 is refused, and not taken for something else."""
    server = serve()
    assert cloud(server, ce_id="q1") == "applied"
    for same in ('"q1"', "q1 ", "q1\t", '"q\\1"', "%711"):
        assert cloud(server, ce_id=same) == "duplicate"
    for bad in ("%ff", "%fe", b"\xe9", "%c3"):
        assert cloud(server, ce_id=bad) == 400
    assert cloud(server, ce_id='"q2') == "applied" and cloud(server, ce_id="q2") == "applied"
    assert server.value("t") == 3


def test_blanks_around_an_idempotency_key(serve):
    server = serve()
    for key in ("w1", "w1 ", "w1\t", '"w1"'):
        assert server.post("/v1/events", {"key": "k"}, Idempotency_Key=key)[0] == 200
    assert server.value("k") == 1
    assert server.post("/v1/events", {"key": "k"}, Idempotency_Key='""')[0] == 400


def test_very_many_events_are_answered_by_their_counts(serve):
    """A small compressed body may hold very many events, whose outcomes one by one would be much larger."""
    server = serve()
    body = gzip.compress(b'{"id":"a","key":"k"}\n' * 150_000)
    status, answer = server.post("/v1/events", body, NDJSON, Content_Encoding="gzip")
    assert status == 200 and answer == {"counts": {"applied": 1, "duplicate": 149_999}}


def test_ids_and_keys_in_base64(serve):
    """What is read in base64 can be sent so, in every form, and is the same key and id as in any other way."""
    server = serve()
    events = [({"id": "a", "key_base64": "/wA="}, "applied"), ({"id_base64": "YQ==", "key": "other"}, "duplicate"),
              ({"id_base64": "YQ", "key": "other"}, "duplicate"), ({"id_base64": "/w==", "key_base64": "escaped"}, "applied"),
              ({"id": "passed over", "id_base64": "/w==", "key": "k"}, "duplicate"),
              ({"id": "b", "changes": [{"key_base64": "/wA="}, {"key": "x", "key_base64": "/wE=", "delta": 3}]}, "applied"),
              ({"id": "c", "id_base64": None, "key": "k", "key_base64": None}, "applied")]
    texts = [json.dumps(event).replace("escaped", "\\/wA=") for event, _ in events]
    for form in ("one", "array", "lines"):
        bodies = [(text, "application/json") for text in texts] if form == "one" else \
            [("[" + ",".join(texts) + "]", "application/json")] if form == "array" else [("\n".join(texts), NDJSON)]
        outcomes = []
        for body, kind in bodies:
            status, answer = server.post("/v1/events", body, kind)
            assert status == 200, answer
            outcomes += [one["outcome"] for one in answer["events"]]
        assert outcomes == [outcome if form == "one" else "duplicate" for _, outcome in events]
    assert server.value("%FF%00") == 3 and server.value("%FF%01") == 3 and server.value("k") == 1 and server.value("other") is None
    rows = server.get("/v1/counters?prefix=%FF")[1]["counters"]
    sent = [{"id": f"again-{i}", **row, "value": None} for i, row in enumerate(rows)]
    assert server.post("/v1/events", sent)[1]["counts"]["applied"] == 2 and server.value("%FF%00") == 4
    for wrong in ({"id": "d", "key_base64": "x"}, {"id": "d", "key_base64": ""}, {"id": "d", "key_base64": 7}, {"id": "d", "key_base64": "!!!!"},
                  {"id_base64": "YQ=", "key": "k"}, {"id_base64": "====", "key": "k"}, {"id": "d", "changes": [{"key_base64": "x"}]},
                  {"id": "d", "key_base64": "/wA=", "changes": [{"key": "k"}]}, {"id": "d", "key_base64": ["/wA="]}):
        assert server.post("/v1/events", wrong)[0] == 400, wrong
    taken = {"id_base64": "/w==", "key_base64": "/wI=", "limit": 5}
    assert server.post("/v1/take", taken)[1]["outcome"] == "duplicate"
    assert server.post("/v1/take", {**taken, "id_base64": "/g=="})[1]["outcome"] == "applied" and server.value("%FF%02") == 1


def test_names_in_base64_follow_fields(serve):
    server = serve("--fields", "id=meta.id,id=n,key=user")
    event = {"meta": {"id_base64": "/w=="}, "n_base64": "MQ==", "user_base64": "/w=="}
    assert server.post("/v1/events", event)[1]["counts"]["applied"] == 1
    assert server.post("/v1/events", {**event, "n_base64": None, "n": 1})[1]["counts"]["duplicate"] == 1
    assert server.value("%FF") == 1
    assert server.post("/v1/events", {"meta": {"id_base64": "/w=="}, "n": 2, "key_base64": "/w=="})[0] == 400


def test_messages_name_what_is_there(serve):
    """Which option names the members, and that a body is empty where there are no lines."""
    server = serve()
    event = {"specversion": "1.0", "source": "s", "id": "1"}
    assert "--cloud-fields" in server.post("/v1/events", event, CLOUD)[1]["detail"]
    assert "in --fields" in server.post("/v1/events", {"id": "1"})[1]["detail"]
    for path in ("/v1/events", "/v1/take", "/v1/holds/h/release"):
        for body in ("", " \n"):
            status, answer = server.post(path, body)
            assert status == 400 and "the body is empty" in answer["detail"], answer


def test_wrong_options_are_called_by_their_names(lethe, tmp_path):
    for option in ("--fields", "--cloud-fields"):
        done = subprocess.run([lethe, "serve", "--db", tmp_path / "db", "--listen", "127.0.0.1:0", option, "nonsense"],
                              stderr=subprocess.PIPE, timeout=60, check=False)
        assert done.returncode == 2 and f" {option} ".encode() in done.stderr, done.stderr


def test_times_as_numbers(serve):
    """Milliseconds, unless the size says that they are seconds or microseconds: as lethe count takes them."""
    server = serve("--event-time", "--window", "1h", "--per", "1d")
    for name, at in (("a", 1700000000000), ("b", 1700000000), ("c", 1700000000000000), ("d", "2023-11-14T22:13:20Z")):
        assert server.post("/v1/events", {"id": name, "key": "k", "time": at})[1]["events"][0]["outcome"] == "applied"
    for before in (1699000000, 1699000000000, 1699000000000000):
        assert server.get(f"/v1/usage?key=k&to={before}")[1]["usage"] == []
    row, = server.get("/v1/usage?key=k")[1]["usage"]
    assert row["from"].startswith("2023-11-14") and row["value"] == "4"


def test_fields_that_only_look_as_if_they_named_a_time(serve):
    """A literal may have "time=" in it. The time of an event is read all the same, and missed where there is none."""
    server = serve("--event-time", "--window", "1h", "--fields", "id=id,key=key,key=:uptime=x")
    assert server.post("/v1/events", {"id": "a", "key": "k"})[0] == 400
    for name, at in (("a", 1700007200000), ("b", 1700000000000)):
        status, answer = server.post("/v1/events", {"id": name, "key": "k", "time": at})
        assert status == 200 and answer["events"][0]["outcome"] == ("applied" if name == "a" else "late"), answer
    assert server.value("k") == 1 and server.value("uptime%3Dx") == 1


WHEN = "2026-11-01T12:00:00Z"
FORMS = [({"id": "1", "key": "t", "time": WHEN}, "application/json", {}),
         ([{"id": "1", "key": "t", "time": 1793534400000}], "application/json", {}),
         ('{"id":"0","key":"t"}\n' * 100 + '{"id":"1","key":"t","time":"%s"}\n' % WHEN, NDJSON, {}),
         ({"id": "1", "changes": [{"key": "t"}], "time": WHEN}, "application/json", {}),
         ({"specversion": "1.0", "source": "s", "id": "1", "type": "t", "time": WHEN}, CLOUD, {}),
         ([{"specversion": "1.0", "source": "s", "id": "1", "type": "t", "time": WHEN}], CLOUDS, {}),
         ({}, "application/json", {"ce_specversion": "1.0", "ce_source": "s", "ce_id": "1", "ce_type": "t", "ce_time": WHEN})]


@pytest.mark.parametrize("body,kind,headers", FORMS, ids=range(len(FORMS)))
def test_a_time_that_would_not_be_used(serve, body, kind, headers):
    """By the store's own clock, an event of another day would be counted in the period of today."""
    server = serve("--per", "1d")
    status, answer = server.post("/v1/events", body, kind, **headers)
    assert status == 400 and all(word in answer["detail"] for word in ("own clock", "--event-time", "--ignore-time")), answer
    assert server.get("/v1/counters")[1]["counters"] == []
    server.stop()
    server.server.words = ("--ignore-time",)
    server.start()
    assert server.post("/v1/events", body, kind, **headers)[0] == 200 and server.value("t") in (1, 2)
    assert server.get("/v1/usage?key=t")[1]["rest"][0]["value"] == "0"


@pytest.mark.parametrize("body,kind,headers", FORMS, ids=range(len(FORMS)))
def test_a_time_that_nothing_depends_on(serve, body, kind, headers):
    server = serve()
    assert server.post("/v1/events", body, kind, **headers)[0] == 200


def test_times_that_are_none_or_something_else(serve):
    server = serve("--per", "1d", "--fields", "id=id,key=time")
    assert server.post("/v1/events", {"id": "1", "key": "k", "time": "t"})[0] == 200 and server.value("t") == 1
    server.stop()
    server.server.words = ()
    server.start()
    assert server.post("/v1/events", {"id": "2", "key": "t", "time": None})[0] == 200 and server.value("t") == 2


@pytest.mark.parametrize("option,fields", [("--fields", "id=id,key=key,time=at"), ("--cloud-fields", "key=type,time=time")])
def test_fields_with_a_time_need_a_store_that_goes_by_it(lethe, tmp_path, option, fields):
    done = subprocess.run([lethe, "serve", "--db", tmp_path / "db", "--listen", "127.0.0.1:0", option, fields],
                          stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 2 and f"{option} names a time".encode() in done.stderr, done.stderr


def test_times_in_the_zone_of_the_store(serve):
    """The zone that the server was given is that of times without one, also when it is started without it."""
    server = serve("--event-time", "--per", "1d", "--zone", "America/New_York")
    assert server.post("/v1/events", {"id": "1", "key": "k", "time": "2024-03-01T22:00:00"})[0] == 200
    row, = server.get("/v1/usage?key=k")[1]["usage"]
    assert row["period"] == "2024-03-01"
    server.stop()
    server.server.words = ()
    server.start()
    assert server.post("/v1/events", {"id": "1", "key": "k", "time": "2024-03-02T03:00:00Z"})[1]["counts"]["duplicate"] == 1
    assert server.post("/v1/events", {"id": "2", "key": "k", "time": "2024-03-01T22:00:00"})[1]["counts"]["applied"] == 1


def test_a_time_without_a_zone(serve):
    server = serve("--event-time", "--per", "1d")
    status, answer = server.post("/v1/events", {"id": "1", "key": "k", "time": "2024-03-01T22:00:00"})
    assert status == 400 and "write it, as +01:00 or Z" in answer["detail"], answer


@pytest.mark.parametrize("version", ["0.3", "2.0", "1", "", 1, 1.0, True])
def test_cloud_events_of_another_version(serve, version):
    event = {"specversion": version, "source": "s", "id": "1", "type": "t"}
    server = serve()
    for body, kind in ((event, CLOUD), ([event], CLOUDS)):
        status, answer = server.post("/v1/events", body, kind)
        assert status == 400 and "specversion" in answer["detail"], answer
    assert server.value("t") is None
