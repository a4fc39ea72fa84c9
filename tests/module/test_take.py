"""Goal:   a limit is never passed, by whatever mixture of operations, duplicates, restarts and failovers; a refusal changes
        nothing; what is granted is granted once.
Method: real servers whose wall clocks the test sets, models of totals, buckets and sliding limits, hostile bounds, threads
        that compete for one counter, servers that die. test_simulate_module draws everything at once."""

import random
import sys
import threading
import time

import pytest
import redis
from clients import lose
from servers import SOURCE, table_info
from stream import Stream, decode_effect
from test_meters import DAY, HOUR, buckets, error_of, ms, set_wall
from ways import AGAIN, RESTARTED, make_again

sys.path.insert(0, str(SOURCE / "clients/python"))
from lethe_once import Once, Unacknowledged  # noqa: E402

LEAST, MOST = -2**63, 2**63 - 1


def take(server, identity, amount, *limits, counter="k", key="t"):
    return server.call("ONCE.TAKE", key, identity, counter, amount, *limits)


def test_a_limit_on_the_total(server):
    assert take(server, "a", 60, "LIMIT", 100) == [1, 60, 40, -1]
    assert take(server, "b", 41, "LIMIT", 100) == [-1, 60, 40, -1]
    assert take(server, "b", 40, "LIMIT", 100) == [1, 100, 0, -1]
    assert take(server, "c", 1, "LIMIT", 100) == [-1, 100, 0, -1]
    assert take(server, "a", 60, "LIMIT", 100) == [0, 100, 0, -1] # a duplicate has what it took
    assert take(server, "c", 1, "LIMIT", 101) == [1, 101, 0, -1] # the limit is the command's
    assert take(server, "d", 1, "LIMIT", 50) == [-1, 101, 0, -1]
    assert server.call("ONCE.PEEK", "t", "k", "LIMIT", 200) == [101, 99, -1]
    assert server.call("ONCE.PEEK", "t", "none", "LIMIT", 200) == [0, 200, -1]
    assert server.call("ONCE.PEEK", "none", "k", "LIMIT", -5) == [0, 0, -1]


def test_a_refusal_leaves_no_trace(server):
    server.call("ONCE.CREATE", "t", "PER", "hour")
    take(server, "a", 5, "LIMIT", 5)
    stream, before = Stream(server.port), server.digest()
    for _ in range(3):
        time.sleep(0.002)
        assert take(server, "b", 1, "LIMIT", 5)[0] == -1
        assert take(server, "b", 1, "LIMIT", 5, "PER", "hour")[0] == -1
        assert take(server, "b", 1, "LIMIT", 0, counter="new")[0] == -1
    assert server.digest() == before and server.call("ONCE.SEEN", "t", "b") == [0]
    assert server.call("ONCE.TOP", "t", 9) == [b"k", 5]
    assert take(server, "b", 1, "LIMIT", 0, key="absent")[0] == -1 and server.client.exists("absent") == 0
    server.call("SET", "end", 1)
    assert stream.commands(until=lambda words: words[0].upper() == b"SET") == []
    stream.close()
    assert take(server, "b", 1, "LIMIT", 6)[0] == 1


def test_who_gives_up_says_so(server):
    """The picture of docs/redis-limits.md: what was refused may be applied later, until its id is given up."""
    take(server, "a", 5, "LIMIT", 5)
    assert take(server, "b", 1, "LIMIT", 5)[0] == -1
    assert server.call("ONCE.ADD", "t", "b") == [1] # it can no longer be applied
    server.call("ONCE.INCRBY", "t", "refund", "k", -5)
    assert take(server, "b", 1, "LIMIT", 5) == [0, 0, 5, -1]
    assert take(server, "c", 1, "LIMIT", 5)[0] == 1
    assert server.call("ONCE.ADD", "t", "c") == [0] # it was applied: refund under a new id


def test_limits_on_buckets(timed, clock):
    set_wall(clock, "2024-05-05T12:30:00")
    timed.call("ONCE.CREATE", "t", "PER", "hour", "KEEP", 3, "PER", "month")
    def near(answer, expected, resets):
        assert answer[:3] == expected and resets - 60000 < answer[3] <= resets
    near(take(timed, "a", 7, "LIMIT", 10, "PER", "hour"), [1, 7, 3], HOUR // 2)
    near(take(timed, "b", 4, "LIMIT", 10, "PER", "hour"), [-1, 7, 3], HOUR // 2)
    value, left, resets = timed.call("ONCE.PEEK", "t", "k", "LIMIT", 10, "PER", HOUR)
    assert (value, left) == (7, 3) and 0 < resets <= HOUR // 2
    set_wall(clock, "2024-05-05T13:00:01")
    month = ms("2024-06-01T00:00:00") - ms("2024-05-05T13:00:01")
    near(take(timed, "b", 4, "LIMIT", 10, "PER", "hour"), [1, 4, 6], HOUR)
    near(take(timed, "c", 4, "LIMIT", 10, "PER", "hour", "LIMIT", 12, "PER", "month"), [-1, 11, 1], month)
    # Of two that refuse, the one that does so for longer; of two that do not, the one that leaves less.
    near(take(timed, "c", 90, "LIMIT", 10, "PER", "hour", "LIMIT", 12, "PER", "month"), [-1, 11, 1], month)
    assert take(timed, "c", 90, "LIMIT", 10, "PER", "hour", "LIMIT", 12)[1:] == [11, 1, -1]
    near(take(timed, "c", 1, "LIMIT", 10, "PER", "hour", "LIMIT", 20, "PER", "month"), [1, 5, 5], HOUR)
    near(take(timed, "a", 1, "LIMIT", 10, "PER", "hour", "LIMIT", 20, "PER", "month"), [0, 5, 5], HOUR)
    assert buckets(timed) == {ms("2024-05-05T12:00:00"): 7, ms("2024-05-05T13:00:00"): 5}


def test_a_clock_that_steps_back_frees_nothing(timed, clock):
    """What is left is that of the bucket that the clock shows."""
    timed.call("ONCE.CREATE", "t", "PER", "hour", "KEEP", 2)
    set_wall(clock, "2024-05-05T12:30:00")
    assert take(timed, "a", 10, "LIMIT", 10, "PER", "hour")[0] == 1
    set_wall(clock, "2024-05-05T13:30:00")
    assert take(timed, "b", 10, "LIMIT", 10, "PER", "hour")[0] == 1
    for hour in 12, 13, 12:
        set_wall(clock, f"2024-05-05T{hour}:45:00")
        assert take(timed, "c", 1, "LIMIT", 10, "PER", "hour")[0] == -1


def test_fixed_buckets_let_twice_the_limit_through_and_sliding_ones_do_not(timed, clock):
    timed.call("ONCE.CREATE", "t", "PER", "hour", "KEEP", 2)
    for limit, granted in (["LIMIT", 100, "PER", "hour"], 200), (["LIMIT", 100, "PER", "hour", "SLIDING"], 101):
        counter = f"k{granted}"
        set_wall(clock, "2024-05-05T12:59:30")
        for i in range(3):
            take(timed, f"{counter}-a{i}", 50, *limit, counter=counter)
        set_wall(clock, "2024-05-05T13:00:36") # a hundredth of the hour is gone
        for i in range(120):
            take(timed, f"{counter}-b{i}", 1, *limit, counter=counter)
        assert abs(timed.call("ONCE.GET", "t", counter) - granted) <= 1


def test_the_error_of_sliding_limits_is_as_stated(timed, clock):
    """In any span of x periods, x <= 1, at most (1 + x) times the limit; and evenly spread, the limit itself."""
    chance, limit, period = random.Random(11), 40, 1_000_000
    timed.call("ONCE.CREATE", "t", "PER", period, "KEEP", 2)
    start = ms("2024-05-05T00:00:00")
    start -= start % period
    now, granted = start, []
    for i in range(1500):
        now += chance.choice([0, 0, 0, 1000, 20_000, 90_000])
        clock.set_wall(now - int(time.time() * 1000))
        answer = take(timed, f"i{i}", 1, "LIMIT", limit, "PER", period, "SLIDING")
        if answer[0] == 1:
            granted.append(now)
    assert len(granted) > 200
    slack_ms = 60_000 # what really passes while the test runs
    for i, first in enumerate(granted):
        for j in range(i, len(granted)):
            span = granted[j] - first
            if span > period:
                break
            assert j - i + 1 <= limit * (1 + (span + slack_ms) / period) + 1


def test_the_estimate_of_sliding_limits(timed, clock):
    timed.call("ONCE.CREATE", "t", "PER", DAY)
    set_wall(clock, "2024-05-05T23:00:00")
    take(timed, "a", 1000, "LIMIT", 1000, "PER", DAY)
    set_wall(clock, "2024-05-06T06:00:00")
    value, left, _ = timed.call("ONCE.PEEK", "t", "k", "LIMIT", 1000, "PER", DAY, "SLIDING")
    assert 749 <= value <= 750 and left == 1000 - value
    set_wall(clock, "2024-05-07T06:00:00")
    assert timed.call("ONCE.PEEK", "t", "k", "LIMIT", 1000, "PER", DAY, "SLIDING")[:2] == [0, 1000]
    set_wall(clock, "2024-05-06T06:00:00")
    timed.call("ONCE.INCRBY", "t", "big", "k", MOST - 1000)
    value, left, _ = timed.call("ONCE.PEEK", "t", "k", "LIMIT", MOST, "PER", DAY, "SLIDING")
    assert value > MOST - 300 and left == MOST - value


HOSTILE = [([], "wrong number"), (["LIMIT"], "wrong number"), (["LIMIT", "x"], "of LIMIT is out"),
           (["LIMIT", 2**63], "of LIMIT is out"), (["LIMIT", -2**63 - 1], "of LIMIT is out"),
           (["MAX", 1], "syntax error"), (["NOCREATE", "NOCREATE"], "syntax error"),
           (["LIMIT", 1, "PER"], "syntax error"), (["LIMIT", 1, "PER", 0], "of PER is out"),
           (["LIMIT", 1, "PER", 100 * 366 * DAY], "of PER is out"), (["LIMIT", 1, "SLIDING"], "SLIDING needs LIMIT"),
           (["FLOOR"], "wrong number"), (["FLOOR", "x"], "of FLOOR is out"), (["FLOOR", 2**63], "of FLOOR is out"),
           (["FLOOR", 1, "SLIDING"], "SLIDING needs LIMIT"), (["FLOOR", 1, "PER", "month", "SLIDING"], "SLIDING needs LIMIT"),
           (["LIMIT", 1, "FLOOR", 0, "PER", "day"], "does not count per that period"), (["LIMIT", 1, "FLOOR"], "syntax error"),
           (["LIMIT", 1, "PER", "day"], "does not count per that period"),
           (["LIMIT", 1, "PER", "hour", "SLIDING"], "SLIDING needs a table"),
           (["LIMIT", 1, "PER", "month", "MORE"], "syntax error"), (["LIMIT", 1] * 9, "more than 8"),
           (["LIMIT", 1] * 100_000, "more than 8")]


@pytest.mark.parametrize("words, text", HOSTILE, ids=lambda one: str(one)[:40])
def test_hostile_limits(server, words, text):
    server.call("ONCE.CREATE", "t", "PER", "hour", "KEEP", 1, "PER", "month")
    before = server.digest()
    assert text in error_of(server, "ONCE.TAKE", "t", "i", "k", 1, *words)
    assert text in error_of(server, "ONCE.PEEK", "t", "k", *words)
    assert server.digest() == before


def test_hostile_amounts_and_bounds(server):
    for amount in "0", "-0", "x", "", "1.5", str(2**63), str(LEAST - 1):
        assert "of amount is out" in error_of(server, "ONCE.TAKE", "t", "i", "k", amount, "LIMIT", 1)
    assert "an id is empty" in error_of(server, "ONCE.TAKE", "t", "", "k", 1, "LIMIT", 1)
    assert server.client.exists("t") == 0
    assert take(server, "a", MOST, "LIMIT", MOST) == [1, MOST, 0, -1]
    assert take(server, "b", MOST, "LIMIT", MOST) == [-1, MOST, 0, -1]
    assert take(server, "b", 1, "LIMIT", LEAST) == [-1, MOST, 0, -1]
    server.call("ONCE.INCRBY", "t", "low", "l", LEAST)
    assert server.call("ONCE.PEEK", "t", "l", "LIMIT", MOST) == [LEAST, MOST, -1]
    assert take(server, "c", MOST, "LIMIT", MOST, counter="l") == [1, -1, MOST, -1]
    assert "wrong number" in error_of(server, "ONCE.TAKE", "t", "i", "k", 1, "LIMIT")
    assert take(server, "d", LEAST, "FLOOR", LEAST, counter="z") == [1, LEAST, 0, -1]
    assert take(server, "e", LEAST, "FLOOR", LEAST, counter="z") == [-1, LEAST, 0, -1]
    assert take(server, "e", -1, "FLOOR", MOST) == [-1, MOST, 0, -1]
    assert "overflow" in error_of(server, "ONCE.TAKE", "t", "e", "z", -1, "LIMIT", 0)
    assert "overflow" in error_of(server, "ONCE.TAKE", "t", "e", "k", 1, "FLOOR", 0)


def test_a_floor_on_the_total(server):
    """FLOOR judges what takes away, LIMIT what adds; the reply is about those that judge."""
    assert take(server, "a", 60, "LIMIT", 100, "FLOOR", 0) == [1, 60, 40, -1]
    assert take(server, "b", -61, "LIMIT", 100, "FLOOR", 0) == [-1, 60, 60, -1]
    assert take(server, "b", -60, "LIMIT", 100, "FLOOR", 0) == [1, 0, 0, -1]
    assert take(server, "b", -60, "LIMIT", 100, "FLOOR", 0) == [0, 0, 0, -1]
    assert take(server, "c", -1, "FLOOR", 0) == [-1, 0, 0, -1]
    assert take(server, "c", -1, "FLOOR", -5, "FLOOR", 0) == [-1, 0, 0, -1]
    assert take(server, "c", -1, "FLOOR", -5) == [1, -1, 4, -1]
    # What is beyond a bound may always be brought back, and is not judged by the other.
    assert take(server, "d", 1, "FLOOR", 0) == [1, 0, 0, -1]
    assert take(server, "e", -10, "LIMIT", -50) == [1, -10, 0, -1]
    assert server.call("ONCE.PEEK", "t", "k", "LIMIT", 10, "FLOOR", -15) == [-10, 5, -1]


def test_floors_in_python(server):
    table = Once(server.client, "t", per="hour")
    assert table.take("k", 10, 100, floor=0).granted and not table.take("k", -11, floor=0).granted
    assert not table.take("k", -5, floor=[0, (8, "hour")]).granted
    assert table.take("k", -2, 1, floor=[0, (8, "hour")]).value == 8 and table.peek("k", floor=(3, "hour")).left == 5


def test_floors_on_buckets(timed, clock):
    set_wall(clock, "2024-05-05T12:30:00")
    timed.call("ONCE.CREATE", "t", "PER", "hour")
    timed.call("ONCE.INCRBY", "t", "x", "k", 100)
    set_wall(clock, "2024-05-05T13:30:00")
    assert take(timed, "a", -10, "FLOOR", -10, "PER", "hour", "FLOOR", 0)[:3] == [1, -10, 0]
    assert take(timed, "b", -1, "FLOOR", -10, "PER", "hour", "FLOOR", 0)[:3] == [-1, -10, 0]
    assert take(timed, "c", 3, "FLOOR", -10, "PER", "hour")[:3] == [1, -7, 3]
    assert take(timed, "b", -3, "FLOOR", -10, "PER", "hour")[:3] == [1, -10, 0]
    assert timed.call("ONCE.GET", "t", "k") == 90


def test_an_overflow_is_not_a_limit(timed, clock):
    """A bucket that would overflow while the limit is on the total."""
    set_wall(clock, "2024-05-05T10:10:00")
    timed.call("ONCE.CREATE", "t", "PER", "hour")
    timed.call("ONCE.INCRBY", "t", "a", "k", -MOST)
    set_wall(clock, "2024-05-05T11:10:00")
    timed.call("ONCE.INCRBY", "t", "b", "k", MOST)
    assert "overflow" in error_of(timed, "ONCE.TAKE", "t", "c", "k", 1, "LIMIT", 5)
    assert timed.call("ONCE.SEEN", "t", "c") == [0]


def test_tables_that_are_not_there(server):
    assert "NOTABLE" in error_of(server, "ONCE.TAKE", "t", "a", "k", 1, "LIMIT", 1, "NOCREATE")
    assert "NOTABLE" in error_of(server, "ONCE.TAKE", "t", "a", "k", 1, "LIMIT", 1, "PER", "hour")
    assert server.client.exists("t") == 0
    assert server.call("ONCE.PEEK", "t", "k", "LIMIT", 9, "PER", "hour")[:2] == [0, 9]


@pytest.mark.parametrize("kind", ["quotient", "forgetful"])
def test_it_replicates_as_an_increment(server, kind):
    """So replicas of any version take it, if the table has no periods."""
    stream = Stream(server.port)
    server.call("ONCE.CREATE", "t", "KIND", kind)
    take(server, "a", 5, "LIMIT", 9)
    take(server, "a", 5, "LIMIT", 9)
    take(server, "b", 5, "LIMIT", 9)
    server.call("PUBLISH", "the", "end")
    found = stream.commands(lambda words: words[0].upper() == b"PUBLISH")
    stream.close()
    assert [decode_effect(words[2])[1] for words in found[1:]] == [[("T", [0]), ("S", b"k", 5)], [("T", [1])]]


def test_without_memory(start):
    server = start()
    take(server, "a", 1, "LIMIT", 5)
    server.call("CONFIG", "SET", "maxmemory", 1)
    assert take(server, "a", 1, "LIMIT", 5) == [0, 1, 4, -1]
    assert "OOM" in error_of(server, "ONCE.TAKE", "t", "b", "k", 1, "LIMIT", 5)
    assert server.call("ONCE.PEEK", "t", "k", "LIMIT", 5) == [1, 4, -1]
    server.call("CONFIG", "SET", "maxmemory", 0)
    assert take(server, "b", 1, "LIMIT", 5)[0] == 1


def test_a_full_window_refuses_and_takes_nothing(server):
    server.call("ONCE.CREATE", "t", "MAXMEMORY", 70000)
    granted = refused = 0
    for i in range(20000):
        try:
            granted += take(server, f"i{i}", 1, "LIMIT", MOST)[0]
        except redis.ResponseError as error:
            assert "FULL" in str(error)
            refused += 1
            if refused > 5:
                break
    assert refused > 0 and server.call("ONCE.GET", "t", "k") == granted


@pytest.mark.parametrize("way", [*AGAIN, *RESTARTED, "replica"])
def test_limits_hold_wherever_the_table_goes(start, clock, way):
    server = start(clock=clock, appendonly="yes" if "log" in way else "no", appendfsync="always")
    set_wall(clock, "2024-05-05T12:10:00")
    server.call("ONCE.CREATE", "t", "PER", "hour")
    assert take(server, "a", 8, "LIMIT", 10, "PER", "hour")[0] == 1
    if way == "replica":
        other = start(clock=clock)
        other.follow(server)
        other.catch_up_with(server)
        assert other.call("ONCE.PEEK", "t", "k", "LIMIT", 10, "PER", "hour")[:2] == [8, 2]
        other.call("REPLICAOF", "NO", "ONE")
        server = other
    else:
        make_again(server, way)
    assert take(server, "b", 3, "LIMIT", 10, "PER", "hour")[:3] == [-1, 8, 2]
    assert take(server, "a", 8, "LIMIT", 10, "PER", "hour")[:3] == [0, 8, 2]
    assert take(server, "c", 2, "LIMIT", 10, "PER", "hour")[:3] == [1, 10, 0]


def test_many_who_compete(server):
    """Clients that send everything twice take exactly what there is."""
    server.call("ONCE.CREATE", "t", "PER", "day")
    granted = []
    def work(number):
        client = redis.Redis(port=server.port)
        for i in range(200):
            words = ["ONCE.TAKE", "t", f"{number}-{i}", "k", 1, "LIMIT", 777, "LIMIT", 800, "PER", "day"]
            first, second = client.execute_command(*words)[0], client.execute_command(*words)[0]
            assert (first, second) in ((1, 0), (-1, -1))
            granted.append(first == 1)
    workers = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(granted) == 1600 and sum(granted) == 777 == server.call("ONCE.GET", "t", "k")


def test_the_client(server):
    quota = Once(server.client, "t", per="hour")
    first = quota.take("k", 7, (10, "hour"), 100)
    assert first.outcome == "applied" and first.granted and first[1:3] == (7, 3) and 0 < first.resets_ms <= HOUR
    again = quota.take("k", 7, (10, "hour"), id=first.id)
    assert again.outcome == "duplicate" and again.granted
    refused = quota.take("k", 7, (10, "hour"), id="no")
    assert refused.outcome == "limited" and not refused.granted
    assert quota.take("k", 1, (10, "hour", "sliding")).value == 8
    assert quota.peek("k", 20)[:2] == (8, 12)
    assert quota.give_up("no") is True and quota.give_up(first.id) is False
    assert quota.take("k", 1, 1000, id="no").outcome == "duplicate"
    with pytest.raises(ValueError, match="at least one limit"):
        quota.take("k", 1)
    server.client.delete("t") # it comes back as it was
    assert quota.take("k", 1, (10, "hour")).outcome == "applied"
    assert table_info(server.client)["per"] == b"hour:100000"


def test_the_client_refuses_partitions(server):
    """A table that is spread by id cannot keep a limit."""
    with pytest.raises(ValueError, match="one partition"):
        Once(server.client, "t:{4711}").take("k", 1, 5)
    server.client.set("t", "the description of a table in partitions")
    for ask in Once(server.client, "t").take, Once(server.client, "t").peek:
        with pytest.raises(ValueError, match="one partition"):
            ask("k", 1, 5) if ask.__name__ == "take" else ask("k", 5)


def test_the_client_and_lost_answers(server):
    quota = Once(server.client, "t")
    lose(quota, "ONCE.TAKE", 1)
    assert quota.take("k", 5, 5).outcome == "applied" # the retry was a duplicate of this call's own
    lose(quota, "ONCE.TAKE", 1)
    refused = quota.take("k", 5, 5)
    assert refused.outcome == "limited"
    assert server.call("ONCE.SEEN", "t", refused.id) == [1] # nobody will send it again: it was given up
    lose(quota, "ONCE.ADD", 1)
    with pytest.raises(Unacknowledged):
        quota.give_up("other") # whether the first attempt or an operation made it a duplicate is not known


def test_a_failover_keeps_what_was_waited_for(start):
    master, replica = start(), start()
    replica.follow(master)
    replica.catch_up_with(master)
    quota = Once(redis.Redis(port=master.port), "t", wait=1)
    for i in range(30):
        quota.take("k", 1, 50, id=f"i{i}")
    master.kill()
    replica.call("REPLICAOF", "NO", "ONE")
    after = Once(redis.Redis(port=replica.port), "t")
    granted = sum(after.take("k", 1, 50, id=f"i{i}").outcome == "applied" for i in range(90))
    assert granted == 20 and after.get("k") == 50
