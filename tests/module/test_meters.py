"""Goal:   a table counts per period what it counts in all, in one atomic step with the id, by the wall clock of the master
        that decided; and every server that has the table has the same buckets.
Method: real servers whose wall clocks the test sets; sums, effects byte by byte, every way on which a table is made
        again, hostile arguments and payloads. test_simulate_module draws everything at once."""

import datetime
import math
import random
import struct
import sys
import time

import pytest
import redis
from servers import SOURCE, Clock, is_bound_deeply, table_info
from stream import Stream, decode_effect
from test_hostile import resealed, xxhash
from test_replication import compare_under_load
from ways import AGAIN, RESTARTED, make_again

sys.path.insert(0, str(SOURCE / "clients/python"))
from lethe_once import Once  # noqa: E402

HOUR = 3_600_000
DAY = 24 * HOUR
PERS = ["PER", "hour", "KEEP", 48, "PER", "day", "PER", "month", "PER", 60000, "KEEP", 2]


def error_of(server, *words):
    with pytest.raises(redis.ResponseError) as caught:
        server.call(*words)
    return str(caught.value)


def buckets(server, counter="k", per="hour", key="t", begin="-", end="+"):
    next_one, flat = server.call("ONCE.RANGE", key, counter, begin, end, "PER", per)
    assert next_one == 0
    return dict(zip(flat[::2], flat[1::2]))


def set_wall(clock, date):
    """The wall clock is at a date, or less than a millisecond after it; it goes on by itself."""
    wanted = datetime.datetime.fromisoformat(date + "+00:00").timestamp()
    clock.set_wall(math.ceil((wanted - time.time()) * 1000) - clock.passed_ms)


def ms(date):
    return int(datetime.datetime.fromisoformat(date + "+00:00").timestamp() * 1000)


def test_each_period_has_its_bucket(timed, clock):
    set_wall(clock, "2024-02-29T22:30:00")
    timed.call("ONCE.CREATE", "t", *PERS)
    timed.call("ONCE.INCRBY", "t", "a", "k", 3, "other", 1)
    timed.call("ONCE.MINCRBY", "t", "b", "k", 4, "c", "k", 5, "b", "k", 4)
    set_wall(clock, "2024-02-29T23:30:00")
    timed.call("ONCE.INCRBY", "t", "d", "k", 10)
    set_wall(clock, "2024-03-01T00:30:00")
    assert timed.call("ONCE.INCRBY", "t", "e", "k", -2) == [1, 20]
    assert timed.call("ONCE.INCRBY", "t", "a", "k", 3) == [0, 20] # a duplicate counts nowhere
    assert buckets(timed) == {ms("2024-02-29T22:00:00"): 12, ms("2024-02-29T23:00:00"): 10,
                              ms("2024-03-01T00:00:00"): -2}
    assert buckets(timed, per="day") == {ms("2024-02-29T00:00:00"): 22, ms("2024-03-01T00:00:00"): -2}
    assert buckets(timed, per="MONTH") == {ms("2024-02-01T00:00:00"): 22, ms("2024-03-01T00:00:00"): -2}
    assert buckets(timed, per=HOUR) == buckets(timed) # the same period by another name
    assert list(buckets(timed, per=60000).values()) == [10, -2] # KEEP 2
    assert buckets(timed, counter="other", per="month") == {ms("2024-02-01T00:00:00"): 1}
    assert buckets(timed, counter="none") == buckets(timed, key="none") == {}


def test_a_span_of_time_and_its_cursor(timed, clock):
    timed.call("ONCE.CREATE", "t", "PER", "hour")
    for hour in range(20):
        set_wall(clock, f"2024-05-05T{hour:02}:10:00")
        timed.call("ONCE.INCRBY", "t", f"i{hour}", "k", hour + 1)
    starts = [ms(f"2024-05-05T{hour:02}:00:00") for hour in range(20)]
    assert list(buckets(timed)) == starts
    assert list(buckets(timed, begin=starts[3], end=starts[5])) == starts[3:6]
    assert list(buckets(timed, begin=starts[3] + 1, end=starts[5] - 1)) == [starts[4]]
    assert buckets(timed, begin=starts[5], end=starts[3]) == buckets(timed, begin=2**63 - 1, end=2**63 - 1) == {}
    assert buckets(timed, begin=0, end=2**63 - 1) == buckets(timed)
    found, begin = [], "-"
    while begin != 0:
        begin, flat = timed.call("ONCE.RANGE", "t", "k", begin, starts[16], "COUNT", 3, "PER", "hour")
        assert len(flat) <= 6
        found += flat[::2]
    assert found == starts[:17]
    assert list(Once(timed.client, "t").range("k", "hour", count=7)) == list(buckets(timed).items())
    assert list(Once(timed.client, "t").range("k", "hour", begin=starts[18])) == [(starts[18], 19), (starts[19], 20)]


def test_a_wall_clock_that_steps_back_moves_only_buckets(timed, clock):
    """Ids go by elapsed time: a duplicate stays one. Buckets go by the wall clock."""
    set_wall(clock, "2024-05-05T12:10:00")
    timed.call("ONCE.CREATE", "t", "PER", "hour", "WINDOW", 60000)
    timed.call("ONCE.INCRBY", "t", "a", "k", 1)
    set_wall(clock, "2024-05-05T10:10:00")
    assert timed.call("ONCE.INCRBY", "t", "a", "k", 1) == [0, 1]
    timed.call("ONCE.INCRBY", "t", "b", "k", 2)
    set_wall(clock, "2024-05-05T12:20:00")
    timed.call("ONCE.INCRBY", "t", "c", "k", 4)
    assert buckets(timed) == {ms("2024-05-05T10:00:00"): 2, ms("2024-05-05T12:00:00"): 5}
    clock.pass_time(80000)
    assert timed.call("ONCE.INCRBY", "t", "a", "k", 1) == [1, 8]


def test_a_clock_that_was_far_ahead_for_a_moment(timed, clock):
    """The present is kept, although it is older than what that moment left."""
    timed.call("ONCE.CREATE", "t", "PER", "hour", "KEEP", 2)
    set_wall(clock, "2099-01-01T00:10:00")
    timed.call("ONCE.INCRBY", "t", "a", "k", 1)
    set_wall(clock, "2099-01-01T01:10:00")
    timed.call("ONCE.INCRBY", "t", "b", "k", 1)
    for hour in range(4):
        set_wall(clock, f"2024-05-05T{hour:02}:10:00")
        timed.call("ONCE.INCRBY", "t", f"c{hour}", "k", 1)
        timed.call("ONCE.INCRBY", "t", f"d{hour}", "k", 1)
        assert buckets(timed)[ms(f"2024-05-05T{hour:02}:00:00")] == 2
    assert len(buckets(timed)) == 2


def test_sums_agree_and_the_rest_is_what_was_dropped(timed, clock):
    chance = random.Random(5)
    timed.call("ONCE.CREATE", "t", "PER", "hour", "KEEP", 5, "PER", "day", "PER", "month", "KEEP", 1)
    dropped = 0
    for day in range(1, 29, 3):
        for hour in (1, 5, 9):
            set_wall(clock, f"2024-05-{day:02}T{hour:02}:10:00")
            before = buckets(timed)
            timed.call("ONCE.MINCRBY", "t", *[word for i in range(9)
                                              for word in (f"{day}-{hour}-{i}", "k", chance.randrange(-50, 99))])
            after = buckets(timed)
            dropped += sum(value for start, value in before.items() if start not in after)
            total = timed.call("ONCE.GET", "t", "k")
            assert total == dropped + sum(after.values())
            assert total == sum(buckets(timed, per="day").values()) == sum(buckets(timed, per="month").values())
    assert len(buckets(timed)) == 5 and len(buckets(timed, per="day")) == 10
    assert timed.call("ONCE.DEL", "t", "k") == 1
    assert buckets(timed) == buckets(timed, per="month") == {} and table_info(timed.client)["buckets"] == 0
    timed.call("ONCE.INCRBY", "t", "new", "k", 1)
    assert list(buckets(timed).values()) == [1]


def test_an_overflow_of_a_bucket_is_the_operations(timed, clock):
    most = 2**63 - 1
    set_wall(clock, "2024-05-05T10:10:00")
    timed.call("ONCE.CREATE", "t", "PER", "hour")
    timed.call("ONCE.INCRBY", "t", "a", "k", -most)
    set_wall(clock, "2024-05-05T11:10:00")
    timed.call("ONCE.INCRBY", "t", "b", "k", most)
    before = timed.digest()
    for _ in range(2): # the total would be 1, the bucket 2^63
        assert "overflow" in error_of(timed, "ONCE.INCRBY", "t", "c", "k", 1)
    assert "overflow" in error_of(timed, "ONCE.INCRBY", "t", "c", "other", 1, "k", 1)
    assert "overflow" in error_of(timed, "ONCE.INCRBY", "t", "c", "k", -1, "k", 2)
    assert timed.digest() == before
    assert "overflow" in str(timed.call("ONCE.MINCRBY", "t", "c", "k", 1)[0])
    assert timed.call("ONCE.SEEN", "t", "c") == [0]
    answers = timed.call("ONCE.MINCRBY", "t", "d", "k", -5, "c", "k", 1, "e", "k", 5)
    assert answers[:2] == [[1, -5], [1, -4]] and "overflow" in str(answers[2])
    assert buckets(timed) == {ms("2024-05-05T10:00:00"): -most, ms("2024-05-05T11:00:00"): most - 4}
    # A counter whose total would overflow while its bucket would not.
    timed.call("ONCE.INCRBY", "t", "f", "big", most)
    set_wall(clock, "2024-05-05T12:10:00")
    assert "overflow" in error_of(timed, "ONCE.INCRBY", "t", "g", "big", 1)


HOSTILE = [["PER"], ["PER", "0"], ["PER", "99"], ["PER", "-1"], ["PER", str(100 * 366 * DAY)], ["PER", "century"],
           ["PER", ""], ["PER", "1.5"], ["PER", str(2**63)], ["PER", str(2**64 - 1)], ["PER", "hour", "PER", "hour"],
           ["PER", "hour", "PER", str(HOUR)], ["KEEP", "3"], ["KEEP", "3", "PER", "hour"], ["PER", "hour", "KEEP", "0"],
           ["PER", "hour", "KEEP", "100001"], ["PER", "hour", "KEEP", "-1"], ["PER", "hour", "KEEP", str(2**64)],
           ["PER", "hour", "KEEP"], ["PER", "hour", "PER", "day", "PER", "month", "PER", "100", "PER", "200"]]


@pytest.mark.parametrize("words", HOSTILE, ids=" ".join)
def test_hostile_options(server, words):
    error = error_of(server, "ONCE.CREATE", "t", *words)
    assert "out of its range: " in error or "options are" in error
    assert server.client.exists("t") == 0


def test_a_million_resolutions(server):
    words = [word for i in range(1_000_000) for word in ("PER", 1000 + i)]
    assert "PER is out of its range: hour, day, month or 100 to 31622400000 milliseconds; at most 4" in error_of(
        server, "ONCE.CREATE", "t", *words)


def test_hostile_ranges(server):
    server.call("ONCE.CREATE", "t", "PER", "hour")
    good = ["t", "k", "-", "+", "PER", "hour"]
    for at, word, text in [(2, "x", "of from is out"), (3, "-1", "of to is out"), (2, "", "of from is out"),
                           (3, str(2**63), "of to is out"), (5, "0", "of PER is out"), (5, "x", "of PER is out"),
                           (5, "day", "does not count per that period"), (4, "PAR", "syntax error")]:
        assert text in error_of(server, "ONCE.RANGE", *good[:at], word, *good[at + 1:])
    for words in ["COUNT", "0"], ["COUNT", "100001"], ["COUNT", "x"]:
        assert "of COUNT is out" in error_of(server, "ONCE.RANGE", *good, *words)
    for words in ["COUNT"], ["MORE", 1]:
        assert "syntax error" in error_of(server, "ONCE.RANGE", *good, *words)
    assert "syntax error" in error_of(server, "ONCE.RANGE", *good[:4], "COUNT", 1)
    server.call("ONCE.CREATE", "plain")
    assert "make it with ONCE.CREATE ... PER" in error_of(server, "ONCE.RANGE", "plain", *good[1:])


def test_info(server):
    server.call("ONCE.CREATE", "t", *PERS)
    server.call("ONCE.CREATE", "u")
    server.call("ONCE.INCRBY", "t", "a", "k", 1, "l", 1)
    info = table_info(server.client)
    assert info["per"] == b"hour:48,day:100000,month:100000,60000:2" and info["buckets"] == 8
    assert table_info(server.client, "u")["per"] == b"none"


def test_memory_of_buckets(timed, clock):
    """About 16 bytes each, as docs/design/module.md says."""
    timed.call("ONCE.CREATE", "t", "PER", "hour", "KEEP", 1000)
    def bytes_of_all():
        info = table_info(timed.client)
        return info["memory_bytes"] - info["window_bytes"]
    timed.call("ONCE.INCRBY", "t", "first", "k", 1)
    before = bytes_of_all()
    for i in range(1200):
        clock.set_wall(i * HOUR)
        timed.call("ONCE.INCRBY", "t", f"i{i}", "k", 1)
    assert 1000 * 16 <= bytes_of_all() - before <= 1000 * 16 * 1.5
    assert table_info(timed.client)["buckets"] == 1000


def test_effects_carry_the_wall_clock(timed, clock):
    stream = Stream(timed.port)
    timed.call("ONCE.CREATE", "t", "SEED", 9, "PER", "hour", "KEEP", 7, "PER", "month")
    set_wall(clock, "2024-05-05T10:10:00")
    timed.call("ONCE.INCRBY", "t", "a", "x", 5, "y" * 300, -6)
    timed.call("ONCE.MINCRBY", "t", "a", "x", 5, "b", "x", 2, "c", "x", 3)
    timed.call("ONCE.INCRBY", "t", "a", "x", 5)
    timed.call("ONCE.ADD", "t", "d")
    timed.call("ONCE.DEL", "t", "x")
    timed.call("PUBLISH", "the", "end")
    commands = stream.commands(lambda words: words[0].upper() == b"PUBLISH")
    stream.close()
    steps = [decode_effect(words[2])[1] for words in commands]
    assert [[step[0] for step in each] for each in steps] == [
        ["C", "P"], ["T", "w", "S", "b", "S", "b"], ["T", "w", "S", "b", "S", "b"], ["T"], ["T"], ["D"]]
    assert steps[0][1][1] == [(HOUR, 7), (2**64 - 1, 100000)]
    assert abs(steps[1][1][1] - ms("2024-05-05T10:10:00")) < 60000
    assert [step[1] for step in steps[1] if step[0] == "b"] == [[5, 5], [-6, -6]]
    assert [step[1] for step in steps[2] if step[0] == "b"] == [[7, 7], [10, 10]]


def test_tables_without_periods_send_what_they_always_sent(server):
    stream = Stream(server.port)
    server.call("ONCE.CREATE", "t", "SEED", 7)
    server.call("ONCE.INCRBY", "t", "a", "k", 1)
    server.call("ONCE.MINCRBY", "t", "b", "k", 1, "c", "k", 1)
    server.call("PUBLISH", "the", "end")
    found = stream.commands(lambda words: words[0].upper() == b"PUBLISH")
    stream.close()
    codes = [[step[0] for step in decode_effect(words[2])[1]] for words in found]
    assert codes == [["C"], ["T", "S"], ["T", "S", "S"]]
    assert struct.unpack_from("<I", server.call("ONCE.DUMP", "t", 0)[2], 8) == (2,)


@pytest.mark.parametrize("options", [["PER", "hour"], ["PER", 100, "KEEP", 3, "PER", "month", "KEEP", 1],
                                     ["PER", 100, "KEEP", 5, "KIND", "forgetful", "WINDOW", 1000],
                                     ["PER", 200, "KEEP", 2, "MAXMEMORY", 120000, "WINDOW", 2000]])
def test_a_replica_is_the_same_after_any_load(pair, options):
    master, replica = pair
    compare_under_load(master, replica, options, 150)
    for number in range(99):
        words = ["ONCE.RANGE", "t", f"n{number}", "-", "+", "PER", options[1]]
        assert master.call(*words) == replica.call(*words)
    replica.call("REPLICAOF", "NO", "ONE")
    assert replica.call("ONCE.INCRBY", "t", "after", "n1", 1)[0] == 1


def test_the_digest_tells_every_difference(timed, clock):
    set_wall(clock, "2024-05-05T10:10:00")
    for key, per in ("t", "hour"), ("u", "hour"), ("v", "day"):
        timed.call("ONCE.CREATE", key, "SEED", 1, "PER", per)
    timed.call("ONCE.INCRBY", "t", "a", "k", 1)
    timed.client.copy("t", "w")
    assert timed.digest("w") == timed.digest("t")
    set_wall(clock, "2024-05-05T11:10:00")
    timed.client.copy("t", "x")
    timed.call("ONCE.INCRBY", "w", "b", "k", 0) # another bucket of 0, and another id
    assert timed.digest("w") != timed.digest("t")
    assert len({timed.digest(key) for key in "uv"}) == 2


@pytest.mark.parametrize("kind", ["quotient", "forgetful"])
@pytest.mark.parametrize("way", [*AGAIN, *RESTARTED, "replica", "migrate"])
def test_buckets_go_with_the_table(start, clock, way, kind):
    server = start(clock=clock, appendonly="yes" if "log" in way else "no", appendfsync="always",
                   aof_use_rdb_preamble="no")
    server.call("ONCE.CREATE", "t", *PERS, "KIND", kind)
    for hour in range(6):
        set_wall(clock, f"2024-05-05T{hour:02}:10:00")
        server.call("ONCE.INCRBY", "t", f"i{hour}", "k", hour + 1, "l" * 300, -1)
    expected, digest = [buckets(server, per=per) for per in ("hour", "day", "month", 60000)], server.digest()
    other = server
    if way in AGAIN or way in RESTARTED:
        make_again(server, way)
    else:
        other = start(clock=clock)
        if way == "replica":
            other.follow(server)
            other.catch_up_with(server)
        else:
            assert server.call("MIGRATE", "127.0.0.1", other.port, "t", 0, 30000) in (True, b"OK")
    assert [buckets(other, per=per) for per in ("hour", "day", "month", 60000)] == expected
    assert table_info(other.client)["per"] == b"hour:48,day:100000,month:100000,60000:2"
    if way not in RESTARTED and way != "reload": # there the timer may move the clock
        assert other.digest() == digest
    if way == "replica":
        other.call("REPLICAOF", "NO", "ONE")
    set_wall(clock, "2024-05-05T05:20:00")
    assert other.call("ONCE.INCRBY", "t", "i5", "k", 6) == [0, 21]
    assert other.call("ONCE.INCRBY", "t", "new", "k", 1) == [1, 22]
    assert buckets(other)[ms("2024-05-05T05:00:00")] == 7


def test_a_promoted_replica_goes_by_its_own_wall_clock(start, tmp_path):
    """The first master's host is a day behind. What it counted stays where it was counted."""
    if is_bound_deeply():
        pytest.skip("this server gives modules no other clocks")
    early, right = Clock(tmp_path / "early"), Clock(tmp_path / "right")
    set_wall(early, "2024-05-04T10:10:00")
    set_wall(right, "2024-05-05T10:10:00")
    master, replica = start(clock=early, host="one"), start(clock=right, host="two")
    replica.follow(master)
    replica.catch_up_with(master)
    master.call("ONCE.CREATE", "t", "PER", "hour")
    master.call("ONCE.INCRBY", "t", "a", "k", 1)
    replica.catch_up_with(master)
    assert buckets(replica) == {ms("2024-05-04T10:00:00"): 1}
    replica.call("REPLICAOF", "NO", "ONE")
    assert replica.call("ONCE.INCRBY", "t", "a", "k", 1) == [0, 1]
    replica.call("ONCE.INCRBY", "t", "b", "k", 2)
    assert buckets(replica) == {ms("2024-05-04T10:00:00"): 1, ms("2024-05-05T10:00:00"): 2}


def test_without_memory_no_bucket_changes(start):
    server = start()
    server.call("ONCE.CREATE", "t", "PER", "hour")
    server.call("ONCE.INCRBY", "t", "a", "k", 1)
    before = buckets(server)
    server.call("CONFIG", "SET", "maxmemory", 1)
    assert server.call("ONCE.INCRBY", "t", "a", "k", 1) == [0, 1]
    assert "OOM" in error_of(server, "ONCE.INCRBY", "t", "b", "k", 1)
    assert buckets(server) == before
    server.call("CONFIG", "SET", "maxmemory", 0)
    server.call("CONFIG", "SET", "lethe.largest-value", 1)
    time.sleep(0.3) # the timer measures the table
    assert server.call("ONCE.INCRBY", "t", "a", "k", 1) == [0, 1]
    assert "OOM" in error_of(server, "ONCE.INCRBY", "t", "b", "k", 1)
    assert buckets(server) == before


def test_the_client(server):
    table = Once(server.client, "t", per=[("hour", 48), "month", 60000])
    table.incrby("k", 5, id="a")
    assert table_info(server.client)["per"] == b"hour:48,month:100000,60000:100000"
    server.client.delete("t") # it comes back as it was
    table.incrby("k", 5, id="b")
    assert table_info(server.client)["per"] == b"hour:48,month:100000,60000:100000"
    assert [value for _, value in table.range("k", "hour")] == [5]
    Once(server.client, "u", per="day").create()
    Once(server.client, "v", per=("day", 3)).create()
    assert table_info(server.client, "u")["per"] == b"day:100000"
    assert table_info(server.client, "v")["per"] == b"day:3"


def forged(piece, at, data):
    """A saved table with other bytes in one place, and its checksums made right."""
    return resealed(xxhash(), piece[:at] + data + piece[at + len(data):])


def test_forged_buckets_are_refused(timed, clock):
    """Only buckets that operations could have left: of their period, in order, each once, no more than are kept."""
    if xxhash() is None:
        pytest.skip("no libxxhash here")
    timed.call("ONCE.CREATE", "t", "PER", "hour", "KEEP", 3)
    for hour in 10, 11, 12:
        set_wall(clock, f"2024-05-05T{hour}:10:00")
        timed.call("ONCE.INCRBY", "t", f"i{hour}", "k", 1)
    piece = timed.call("ONCE.DUMP", "t", 0)[2]
    assert struct.unpack_from("<I", piece, 8) == (3,)
    count_at, first_at = 64 + 16 + 1 + 12 + 12 + 1, 64 + 16 + 1 + 12 + 12 + 1 + 4
    assert struct.unpack_from("<IqqQ", piece, count_at)[:3] == (3, ms("2024-05-05T10:00:00"), 1)
    long = struct.Struct("<q")
    wrong = [(8, struct.pack("<I", 2)), (8, struct.pack("<I", 4)), (80, b"\0"), (80, b"\5"), (81, long.pack(99)),
             (89, struct.pack("<I", 0)), (89, struct.pack("<I", 2)), (89, struct.pack("<I", 100001)),
             (count_at, struct.pack("<I", 4)), (count_at, struct.pack("<I", 2**32 - 1)),
             (first_at, long.pack(ms("2024-05-05T10:00:00") + 1)), (first_at, long.pack(-HOUR)),
             (first_at, long.pack(ms("2024-05-05T11:00:00"))), (first_at, long.pack(2**62 - 2**62 % HOUR)),
             (first_at + 32, long.pack(ms("2024-05-05T09:00:00")))]
    timed.client.delete("t")
    for at, data in wrong:
        assert "not a saved value" in error_of(timed, "ONCE.LOAD", "t", 0, 1, forged(piece, at, data))
    timed.call("ONCE.LOAD", "t", 0, 1, forged(piece, first_at + 8, long.pack(-7))) # another value is as good
    assert list(buckets(timed).values()) == [-7, 1, 1]


def test_saved_tables_stay_readable(server):
    """What this version saved: four hours, of which three are kept, of a counter k, and of another."""
    server.call("ONCE.LOAD", "t", 0, 1, (SOURCE / "tests/golden/once-metered-v3.bin").read_bytes())
    assert table_info(server.client)["per"] == b"hour:3,month:100000"
    assert server.call("ONCE.MGET", "t", "k", "other") == [38, -4]
    assert buckets(server) == {ms(f"2024-05-05T{hour:02}:00:00"): hour for hour in (9, 10, 11)}
    assert buckets(server, "other", "month") == {ms("2024-05-01T00:00:00"): -4}
    assert server.call("ONCE.SEEN", "t", "i8", "i11", "new") == [1, 1, 0]
