"""Goal: a store counts every operation once, on every path that Python has to it.
Method: a dict and a set beside it; every kind of outcome, mode and error that Python passes on."""

import random

import pytest

import lethe
from lethe import Outcome

numpy = pytest.importorskip("numpy")
HOUR = 3_600_000


@pytest.fixture
def store(tmp_path):
    with lethe.Store(tmp_path / "store", create=True) as opened:
        yield opened


def test_one_operation(store):
    assert store.apply("id 1", "clicks") is Outcome.APPLIED
    assert store.apply("id 1", "clicks") is Outcome.DUPLICATE
    assert store.apply("id 2", b"clicks", 41) == 0
    assert store.apply(id=3, key="likes", delta=-5) is Outcome.APPLIED
    assert store.get("clicks") == store["clicks"] == 42 and store.get(b"likes") == -5
    assert store.get("none") is None and store.get("none", 7) == 7
    assert "clicks" in store and "none" not in store
    with pytest.raises(KeyError):
        store["none"]
    assert store.apply("", "clicks") is Outcome.INVALID
    assert store.apply("id 4", "k" * 1025) is Outcome.INVALID
    assert store.apply("id 5", "clicks", 2**63 - 1) is Outcome.OVERFLOW


def test_several_changes_are_one_operation(store):
    assert store.apply_changes("a", {"x": 2, b"y": -1}) is Outcome.APPLIED
    assert store.apply_changes("a", {"x": 2, b"y": -1}) is Outcome.DUPLICATE
    assert store.apply_changes("b", [("x", 1), ("x", 1)]) is Outcome.APPLIED
    assert store.apply_changes("c", {"x": 1, "y": 2**63 - 1, "z": 2**63 - 1}) is Outcome.APPLIED
    assert store.apply_changes("d", {"x": 1, "z": 1}) is Outcome.OVERFLOW
    assert (store["x"], store["y"]) == (5, 2**63 - 2)
    assert store.apply_changes("e", {}) is Outcome.INVALID
    for wrong in (None, 5, ["x"], [("x",)], [("x", 1, 2)], {"x": "1"}, {"x": None}, {None: 1},
                  {"x": 2**63}):
        with pytest.raises((TypeError, ValueError)):
            store.apply_changes("f", wrong)
    assert store.apply_changes("f", {"x": 1}) is Outcome.APPLIED


@pytest.mark.parametrize("form", ["lists", "arrays", "text", "integers"])
def test_columns(store, form):
    source = random.Random(5)
    n = 40_000
    ids = [source.randrange(30_000) for _ in range(n)]
    keys = [source.randrange(100) for _ in range(n)]
    deltas = [source.randrange(-5, 10) for _ in range(n)]
    names = [f"key {key}" for key in keys]
    if form == "lists":
        columns = [f"id {id}" for id in ids], names, deltas
    elif form == "arrays":
        columns = numpy.array(ids), numpy.array(names, dtype="S"), numpy.array(deltas)
    elif form == "text":
        columns = (numpy.array([f"id {id}" for id in ids]), numpy.array(names),
                   numpy.array(deltas, dtype="i1"))
    else:
        columns = numpy.array(ids, dtype="u4"), numpy.array(keys, dtype="i2"), deltas
    values = numpy.zeros(n, dtype="i8")
    outcomes = store.apply_many(*columns, values=values)
    seen, totals, expected, after = set(), {}, [], []
    for id, key, delta in zip(ids, keys, deltas):
        expected.append(int(id in seen))
        if id not in seen:
            seen.add(id)
            totals[key] = totals.get(key, 0) + delta
        after.append(totals.get(key, 0))
    assert list(outcomes) == expected and values.tolist() == after
    wanted = sorted(totals)
    found = numpy.zeros(len(wanted) + 1, dtype=bool)
    asked = wanted + [999] if form == "integers" else [f"key {key}" for key in wanted] + ["none"]
    answers = store.get_many(asked, found=found)
    assert list(answers) == [totals[key] for key in wanted] + [0]
    assert found.tolist() == [True] * len(wanted) + [False]
    assert store.info()["applied"] == len(seen)
    again = store.apply_many(*columns)
    assert set(again) == {Outcome.DUPLICATE}


def test_submit_and_wait(store):
    tickets = []
    for i in range(10):
        ticket, outcomes = store.submit_many(numpy.arange(i * 100, i * 100 + 150), ["n"] * 150)
        tickets.append((ticket, outcomes))
    for ticket, outcomes in tickets:
        store.wait(ticket)
        assert store.is_done(ticket)
    assert sum(list(outcomes).count(0) for _, outcomes in tickets) == 1050 == store["n"]
    for wrong in (None, -1, "x", 1.5):
        with pytest.raises((TypeError, ValueError)):
            if wrong is None:
                store.wait()
            store.wait(wrong)


def test_marks_are_durable_with_their_operations(store, tmp_path):
    store.apply_many(["a"], ["n"], marks={"log": "100", b"other": b"x"})
    ticket, _ = store.submit_many(["b"], ["n"], marks={"log": "200", "other": ""})
    store.wait(ticket)
    assert store.marks() == {b"log": b"200"}
    store.apply_many([], [], marks={"more": "1"})
    store.close()
    with lethe.Store(tmp_path / "store") as again:
        assert again.marks() == {b"log": b"200", b"more": b"1"} and again["n"] == 2
        with pytest.raises(lethe.InvalidError):
            again.apply_many(["c"], ["n"], marks={"": "1"})
        with pytest.raises((TypeError, AttributeError)):
            again.apply_many(["c"], ["n"], marks=5)


def test_columns_of_other_lengths(store):
    for ids, keys, more in ((["a"], [], {}), ([], ["a"], {}), (["a"], ["b"], {"deltas": [1, 2]}),
                            (["a"], ["b"], {"times_ms": []}), (["a"], ["b"], {"out": bytearray(2)}),
                            (["a"], ["b"], {"deltas": [2**63]}), (["a"], ["b"], {"deltas": ["1"]}),
                            (["a"], ["b"], {"deltas": numpy.array([2**63], dtype="u8")}),
                            (["a"], ["b"], {"times_ms": numpy.array([-1])}),
                            (["a"], ["b"], {"values": bytearray(8)}), ("a", ["b"], {}),
                            (["a"], [None], {})):
        with pytest.raises((TypeError, ValueError)):
            store.apply_many(ids, keys, **more)
    assert store.info()["applied"] == 0
    assert list(store.apply_many([], [])) == []


def test_set_and_delete(store):
    store.set("a", 5)
    store.set_many(["b", "c"], numpy.array([6, -7]))
    store.set_many(["d"], 9)
    assert list(store.items()) == [(b"a", 5), (b"b", 6), (b"c", -7), (b"d", 9)]
    assert list(store) == [b"a", b"b", b"c", b"d"]
    assert store.delete("a") is True and store.delete("a") is False
    assert list(store.delete_many(["b", "x"])) == [True, False]
    assert store.top() == [(b"d", 9), (b"c", -7)] and store.top(1) == [(b"d", 9)]
    for wrong in (("a",), ("a", None), ("a", "1"), (None, 1), ("a", 2**63), ("", 1)):
        with pytest.raises((TypeError, ValueError)):
            store.set(*wrong)


def test_all_items_come_once(store):
    keys = [f"{i:05}" for i in range(5000)]
    store.apply_many(range(5000), keys)
    assert [key.decode() for key, value in store.items()] == keys
    assert [key.decode() for key, value in store.items("04998")] == keys[4998:]
    for key, value in store.items():  # the store may be changed meanwhile
        store.apply(key, "00000")
        if key == b"00010":
            break


def test_event_time(tmp_path):
    with lethe.Store(tmp_path / "s", create=True, event_time=True, window_ms=HOUR) as store:
        now = 1_700_000_000_000
        assert store.apply("a", "n", time_ms=now) is Outcome.APPLIED
        assert store.apply("b", "n", time_ms=now - 2 * HOUR) is Outcome.LATE
        assert store.apply("b", "n", time_ms=now - 2 * HOUR, count_late=True) is \
            Outcome.APPLIED_LATE
        times = [now + i for i in range(40_000)]
        # One wrong time, at the end of what is submitted at once: what follows shows it.
        times[16383] = now + 30 * HOUR
        outcomes = store.apply_many(range(40_000), ["m"] * 40_000, times_ms=times)
        assert [i for i, outcome in enumerate(outcomes) if outcome] == [16383]
        assert outcomes[16383] == Outcome.FUTURE
        assert store["m"] == 39_999


def test_limits(tmp_path):
    with lethe.Store(tmp_path / "s", create=True, per="1h,1d") as store:
        taken = store.take("a", "quota", 7, max=10)
        assert taken == (Outcome.APPLIED, 7, 3, None) and taken.left == 3
        assert store.take("b", "quota", 7, max=10).outcome is Outcome.LIMITED
        assert store.take("b", "quota", 3, max=10, min=-5).outcome is Outcome.APPLIED
        hourly = store.take("c", "calls", 1, max=2, per="1h")
        assert hourly.outcome is Outcome.APPLIED and 0 < hourly.resets_ms <= HOUR
        assert store.take("d", "free") == (Outcome.APPLIED, 1, None, None)
        assert store.give_up("e") is Outcome.APPLIED
        assert store.take("e", "quota", 0, max=10).outcome is Outcome.DUPLICATE
        for wrong in ({"per": "7h", "max": 1}, {"per": 5, "max": 1}, {"max": "1"}, {"min": 2**63}):
            with pytest.raises((TypeError, ValueError)):
                store.take("f", "quota", **wrong)


def test_usage(tmp_path):
    start = 1_700_000_000_000 // HOUR * HOUR
    with lethe.Store(tmp_path / "s", create=True, per="1h", event_time=True) as store:
        store.apply("a", "x", 3, time_ms=start)
        store.apply("b", "x", 4, time_ms=start + HOUR)
        store.apply("c", "y", -1, time_ms=start + HOUR)
        rows = store.usage("1h")
        assert [tuple(row) for row in rows] == [
            (b"x", start, start + HOUR, 0, 3), (b"y", start, start + HOUR, 0, 0),
            (b"x", start + HOUR, start + 2 * HOUR, 0, 4),
            (b"y", start + HOUR, start + 2 * HOUR, 0, -1),
            (b"x", None, None, 0, 0), (b"y", None, None, 0, 0)]
        assert rows[0].key == b"x" and rows[0].value == 3
        store.set("x", -2**63)
        assert store.usage(keys=["x"])[-1].value == -2**63 - 7
        assert len(store.usage(prefix="y", from_ms=start + HOUR)) == 1
        assert store.usage(keys=[]) == []
        assert store.top(1, per="1h", at_ms=start) == [(b"x", 3)]
        with pytest.raises(lethe.InvalidError, match="1d"):
            store.usage("1d")
        for wrong in ({"per": 5}, {"from_ms": -1}, {"keys": "x"}, {"prefix": None, "keys": 5}):
            with pytest.raises((TypeError, ValueError)):
                store.usage(**wrong)


def test_claims(store):
    claim = store.claim_begin("job", "token 1", 60_000, fingerprint="f")
    assert claim.answer == "new" and claim.reply is None
    running = store.claim_begin("job", "token 2", 60_000, "f")
    assert running.answer == "running" and 0 < running.left_ms <= 60_000
    assert store.claim_begin("job", "token 2", 60_000, "g").answer == "mismatch"
    assert store.claim_renew("job", "token 1", 90_000) == "renewed"
    assert store.claim_renew("job", "token 2", 90_000) == "lost"
    assert store.claim_done("job", "token 1", b"reply", changes={"jobs": 1}) == \
        ("recorded", Outcome.APPLIED)
    assert store.claim_done("job", "token 1") == "duplicate"
    assert store.claim_done("other", "token 1", changes={"jobs": 1}) == ("unknown", None)
    done = store.claim_begin("job", "token 2", 1000, "f")
    assert done.answer == "done" and done.reply == b"reply" and not done.reply_gone
    assert store.claim_get("job").answer == "done" and store.claim_get("none").answer == "none"
    assert store.claim_begin("second", b"t", 1000).answer == "new"
    assert store.claim_abort("second", b"t") == "aborted"
    assert store.claim_abort("second", b"t") == "unknown"
    assert [(id, state) for id, state, _ in store.claims()] == [(b"job", "done")]
    assert store.claims(start="k") == [] and store.claims_info()["done"] == 1
    store.claims_limit(0)
    assert store.claim_get("job").reply_gone and store.claim_get("job").reply is None
    assert store["jobs"] == 1
    for wrong in (("", "t", 1000), ("x", "t", 0), ("x", "", 1000), ("x", "t", 2**63)):
        with pytest.raises(lethe.InvalidError):
            store.claim_begin(*wrong)
    for wrong in ((), ("x",), (None, "t", 1), ("x", None, 1), ("x", "t", "1"), ("x", "t", -1)):
        with pytest.raises((TypeError, ValueError)):
            store.claim_begin(*wrong)


def test_sketches_in_place_of_counters(tmp_path):
    with lethe.Store(tmp_path / "s", create=True, sketch_bytes=1 << 20, sketch_top=5) as store:
        store.apply_many(range(100), ["a"] * 90 + ["b"] * 10)
        assert store.estimate("a")[0] >= 90 and store.top(1)[0][0] == b"a"
        with pytest.raises(lethe.InvalidError):
            store.set("a", 1)
    with lethe.Store(tmp_path / "t", create=True) as store:
        with pytest.raises(lethe.InvalidError):
            store.estimate("a")


def test_readers(store, tmp_path):
    store.apply("a", "n")
    with lethe.Store(tmp_path / "store", read_only=True) as reader:
        assert reader["n"] == 1
        store.apply("b", "n")
        reader.refresh()
        assert reader["n"] == 2 and reader.info()["applied"] == 2
        with pytest.raises(lethe.InvalidError):
            reader.apply("c", "n")
        with pytest.raises(lethe.InvalidError):
            reader.apply_many(["c"], ["n"])


def test_errors_have_their_text(tmp_path, store):
    with pytest.raises(FileNotFoundError, match="missing"):
        lethe.Store(tmp_path / "missing")
    with pytest.raises(lethe.BusyError) as caught:
        lethe.Store(tmp_path / "store")
    assert caught.value.status == 11 and "store" in str(caught.value)
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(lethe.Error):
        lethe.Store(tmp_path / "file", create=True)
    with pytest.raises(lethe.InvalidError, match="event"):
        store.apply("a", "n")
        store.close()
        lethe.Store(tmp_path / "store", event_time=True)


def test_modes_stay(tmp_path):
    with lethe.Store(tmp_path / "s", create=True, check_payload=True, scale=2, window_ms=HOUR,
                     error=1e-9, zone="Europe/Berlin", per="1d", keep="1d=2y") as store:
        store.apply("a", "n", 5)
    with lethe.Store(tmp_path / "s") as store:
        info = store.info()
        assert (info["exact"], info["check_payload"], info["scale"]) == (True, True, 2)
        assert (info["window_ms"], info["error_target"]) == (HOUR, 1e-9)
        assert (info["per"], info["zone"], info["keep"]) == ("1d", "Europe/Berlin", "1d=2y")
        assert store.apply("a", "n", 6) is Outcome.MISMATCH
    with lethe.Store(tmp_path / "s", exact=False, check_payload=False) as store:
        assert not store.info()["exact"]


def test_closed_stores(store):
    store.close()
    store.close()
    assert store.closed
    for call in (lambda: store.apply("a", "b"), lambda: store.apply_many(["a"], ["b"]),
                 lambda: store.get("a"), lambda: store.get_many(["a"]), store.top, store.marks,
                 lambda: store.set("a", 1), lambda: store.delete("a"), store.usage, store.info,
                 lambda: store.claim_begin("a", "b", 1), store.claims, lambda: store.wait(1),
                 lambda: list(store.items()), store.refresh, lambda: "a" in store,
                 lambda: store.take("a", "b"), store.__enter__):
        with pytest.raises(lethe.ClosedError):
            call()
