"""Goal:   what is held and what was counted never pass a limit together, whoever holds, takes, settles and releases; a hold
        ends once, and never before its lease; how it ended is known for W, on replicas and after every restart.
Method: real servers whose clocks the test sets, a model of values, holds and buckets that all commands are drawn against,
        hostile arguments and payloads, every way on which a table is made again. test_simulate_module draws crashes too."""

import random
import struct
import time

import pytest
import redis
from servers import SOURCE, table_info, wait_for
from stream import Stream
from test_hostile import xxhash
from test_meters import error_of, HOUR, ms, set_wall
from test_take import LEAST, MOST, take
from ways import AGAIN, make_again, RESTARTED

LEASE = 100_000


def hold(server, identity, amount, most, *more, counter="k", lease=LEASE):
    return server.call("ONCE.HOLD", "t", identity, counter, amount, "LIMIT", most, *more, "LEASE", lease)


def settle(server, identity, actual, *more):
    return server.call("ONCE.SETTLE", "t", identity, actual, *more)


def release(server, identity):
    return server.call("ONCE.RELEASE", "t", identity)


def holds(server, *words):
    """The open ones: id -> counter, amount, limit, period, bucket, left of the lease."""
    cursor, found = 0, {}
    while True:
        cursor, rows = server.call("ONCE.HOLDS", "t", cursor, *words)
        found.update({row[0].decode(): tuple(row[1:]) for row in rows})
        if int(cursor) == 0:
            return found


def end_leases(server, clock, milliseconds=LEASE + 1):
    """Lets so much time pass, and waits for the timer."""
    before = {name: row[5] for name, row in holds(server).items()}
    clock.pass_time(milliseconds)
    wait_for(lambda: not any(left < milliseconds and name in holds(server) for name, left in before.items()),
             what="the end of leases")


def test_a_bucket_that_could_not_take_it(timed, clock):
    """The counter has room, and its bucket has none: to settle it would overflow."""
    timed.call("ONCE.CREATE", "t", "PER", "hour", "ERROR", "1e-12")
    set_wall(clock, "2033-05-05T12:10:00")
    timed.call("ONCE.INCRBY", "t", "1", "k", -MOST)
    set_wall(clock, "2033-05-05T13:10:00")
    timed.call("ONCE.INCRBY", "t", "2", "k", MOST)
    assert timed.call("ONCE.GET", "t", "k") == 0
    assert "overflow" in error_of(timed, "ONCE.HOLD", "t", "a", "k", 1, "LIMIT", 100, "LEASE", LEASE)
    assert holds(timed) == {}
    timed.call("ONCE.INCRBY", "t", "3", "k", -5)
    assert hold(timed, "a", 3, 100)[0] == 1
    assert "overflow" in error_of(timed, "ONCE.HOLD", "t", "b", "k", 3, "LIMIT", 100, "LEASE", LEASE)
    assert hold(timed, "b", 2, 100)[0] == 1


@pytest.mark.parametrize("command", ["ONCE.HOLDS", "ONCE.CLAIMS", "ONCE.SCAN"])
def test_a_cursor_has_64_bits(server, command):
    server.call("ONCE.CREATE", "t")
    assert server.call(command, "t", 2**64 - 1)[1] == []
    for cursor in (2**64, 10**20, 10**22):
        assert "cursor" in error_of(server, command, "t", cursor)


def test_a_hold(server):
    assert hold(server, "a", 60, 100) == [1, 0, 40, -1, LEASE]
    assert server.call("ONCE.GET", "t", "k") is None # held is not counted
    assert server.call("ONCE.PEEK", "t", "k", "LIMIT", 100) == [0, 40, -1]
    assert hold(server, "b", 41, 100) == [-1, 0, 40, -1, 0]
    assert take(server, "x", 41, "LIMIT", 100) == [-1, 0, 40, -1]
    assert take(server, "x", 40, "LIMIT", 100) == [1, 40, 0, -1]
    again = hold(server, "a", 60, 100)
    assert again[:4] == [0, 40, 0, -1] and 0 < again[4] <= LEASE
    name, row = list(holds(server).items())[0]
    assert name == "a" and row[:5] == (b"k", 60, 100, b"total", -1) and 0 < row[5] <= LEASE
    # What is beyond the amount is judged by the limit of the hold.
    assert settle(server, "a", 61) == [-1, 40, 0, -1]
    assert settle(server, "a", 25) == [1, 65, 35, -1]
    assert settle(server, "a", 25) == [0, 65, 35, -1]
    assert hold(server, "a", 60, 100) == [0, 65, 35, -1, 0] # it has ended
    assert server.call("ONCE.GET", "t", "k") == 65 and holds(server) == {}
    info = table_info(server.client)
    assert (info["holds_open"], info["holds_ended"], info["holds_forced"]) == (0, 1, 0) and info["holds_bytes"] > 0


def test_what_does_not_agree_is_an_error(server):
    hold(server, "a", 10, 100)
    hold(server, "r", 10, 100)
    release(server, "r")
    for words in (["k", 11, "LIMIT", 100], ["k", 10, "LIMIT", 99], ["j", 10, "LIMIT", 100]):
        assert "MISMATCH" in error_of(server, "ONCE.HOLD", "t", "a", *words, "LEASE", 5)
    settle(server, "a", 4)
    before = server.digest()
    assert "MISMATCH" in error_of(server, "ONCE.SETTLE", "t", "a", 5)
    assert "MISMATCH" in error_of(server, "ONCE.SETTLE", "t", "a", 0, "FORCE")
    assert "MISMATCH" in error_of(server, "ONCE.SETTLE", "t", "r", 5)
    assert "MISMATCH" in error_of(server, "ONCE.RELEASE", "t", "a")
    for command in ["ONCE.SETTLE", "t", "none", 5], ["ONCE.RELEASE", "t", "none"]:
        assert "NOHOLD" in error_of(server, *command)
    assert "NOTABLE" in error_of(server, "ONCE.SETTLE", "none", "a", 1)
    assert "NOTABLE" in error_of(server, "ONCE.RELEASE", "none", "a")
    assert server.digest() == before and release(server, "r") == 0


def test_force_is_the_only_crossing_and_is_counted(server):
    hold(server, "a", 10, 100)
    hold(server, "b", 90, 100)
    assert settle(server, "a", 10, "FORCE") == [1, 10, 0, -1] # no crossing
    assert settle(server, "b", 150) == [-1, 10, 0, -1]
    assert settle(server, "b", 150, "FORCE") == [1, 160, 0, -1]
    assert settle(server, "b", 150, "force") == [0, 160, 0, -1]
    assert table_info(server.client)["holds_forced"] == 1
    make_again(server, "restore")
    assert table_info(server.client)["holds_forced"] == 1


def test_names_are_apart(server):
    """Ids of operations, claims and holds have nothing to do with each other."""
    assert take(server, "a", 1, "LIMIT", 9)[0] == 1 and hold(server, "a", 1, 9)[0] == 1
    assert server.call("ONCE.BEGIN", "t", "a", "token", "LEASE", 1000) == [b"new"]
    assert settle(server, "a", 1)[0] == 1 and server.call("ONCE.SEEN", "t", "a") == [1]
    assert hold(server, "h", 1, 9)[0] == 1 and server.call("ONCE.SEEN", "t", "h") == [0]
    assert take(server, "h", 1, "LIMIT", 9)[0] == 1


def test_a_lease_ends_by_the_timer_and_never_early(timed, clock):
    timed.call("ONCE.CREATE", "t", "WINDOW", 10_000_000)
    hold(timed, "a", 10, 10)
    hold(timed, "b", 1, 100, lease=10 * LEASE)
    clock.pass_time(LEASE // 2)
    time.sleep(0.3)
    assert set(holds(timed)) == {"a", "b"} and hold(timed, "c", 90, 100)[0] == -1
    end_leases(timed, clock)
    assert set(holds(timed)) == {"b"}
    assert hold(timed, "a", 10, 10)[::4] == [0, 0] # known, and ended
    # After its end it is a new take, under the limit that it had.
    assert take(timed, "x", 4, "LIMIT", 10)[0] == 1
    assert settle(timed, "a", 6)[0] == -1 # 4 counted, 1 held by b
    assert settle(timed, "a", 5) == [1, 9, 0, -1]
    assert settle(timed, "a", 5)[0] == 0
    info = table_info(timed.client)
    assert (info["holds_open"], info["holds_ended"]) == (1, 1)


def test_a_hold_that_expired_can_be_released(timed, clock):
    hold(timed, "a", 10, 10)
    end_leases(timed, clock)
    assert [release(timed, "a"), release(timed, "a")] == [1, 0]
    assert "MISMATCH" in error_of(timed, "ONCE.SETTLE", "t", "a", 1)


def test_the_end_is_known_for_w(timed, clock):
    timed.call("ONCE.CREATE", "t", "WINDOW", 600_000)
    hold(timed, "a", 1, 10, lease=1_000)
    settle(timed, "a", 1)
    hold(timed, "open", 1, 10, lease=2_000_000)
    clock.pass_time(590_000)
    assert settle(timed, "a", 1)[0] == 0
    clock.pass_time(20_000)
    assert "NOHOLD" in error_of(timed, "ONCE.SETTLE", "t", "a", 1)
    wait_for(lambda: table_info(timed.client)["holds_ended"] == 0, what="memory is given back")
    assert hold(timed, "a", 2, 10)[0] == 1 # another hold
    assert set(holds(timed)) == {"a", "open"} # an open one stays for as long as its lease


def test_many_leases_end_at_once(timed, clock):
    """A thousand at most per tick: so many effects, and none of them is large."""
    timed.call("ONCE.CREATE", "t", "WINDOW", 10_000_000)
    pipe = timed.client.pipeline(transaction=False)
    for i in range(2500):
        pipe.execute_command("ONCE.HOLD", "t", f"i{i}", f"k{i % 7}", 1, "LIMIT", MOST, "LEASE", LEASE)
    pipe.execute()
    stream = Stream(timed.port)
    clock.pass_time(LEASE + 1)
    wait_for(lambda: table_info(timed.client)["holds_open"] == 0, what="the end of leases")
    timed.call("PUBLISH", "the", "end")
    found = stream.commands(lambda words: words[0].upper() == b"PUBLISH")
    stream.close()
    ends = [words[2].count(b"h\x05\0\0\0i") + words[2].count(b"h\x04\0\0\0i") for words in found]
    assert max(ends) <= 1000 and len(found) >= 3
    assert timed.call("ONCE.PEEK", "t", "k1", "LIMIT", 9) == [0, 9, -1]


def test_holds_on_buckets(timed, clock):
    """What is settled belongs to the bucket of the hold; what is held counts in that bucket only."""
    set_wall(clock, "2033-05-05T12:50:00")
    timed.call("ONCE.CREATE", "t", "PER", "hour", "KEEP", 3, "PER", "month")
    answer = hold(timed, "a", 8, 10, "PER", "hour")
    assert answer[:3] == [1, 0, 2] and 0 < answer[3] <= HOUR // 6 + 1000
    assert take(timed, "x", 3, "LIMIT", 10, "PER", "hour")[:3] == [-1, 0, 2]
    set_wall(clock, "2033-05-05T13:10:00")
    assert take(timed, "x", 3, "LIMIT", 10, "PER", "hour")[:3] == [1, 3, 7]
    assert take(timed, "y", 90, "LIMIT", 100, "PER", "month")[:3] == [-1, 3, 89]
    # The bucket before has a share in a sliding limit, and so has what is held in it.
    value, left, _ = timed.call("ONCE.PEEK", "t", "k", "LIMIT", 100, "PER", "hour", "SLIDING")
    assert value == 3 and 89 <= left <= 91
    assert holds(timed)["a"][:5] == (b"k", 8, 10, b"hour", ms("2033-05-05T12:00:00"))
    answer = settle(timed, "a", 9)
    assert answer[:3] == [1, 9, 1] and answer[3] == 0 # its bucket has ended
    assert settle(timed, "a", 9)[:3] == [0, 9, 1]
    flat = timed.call("ONCE.RANGE", "t", "k", "-", "+", "PER", "hour")[1]
    assert flat == [ms("2033-05-05T12:00:00"), 9, ms("2033-05-05T13:00:00"), 3]
    # One whose lease is over is a new take, now.
    hold(timed, "b", 5, 10, "PER", "hour", lease=1000)
    end_leases(timed, clock, 1001)
    set_wall(clock, "2033-05-05T14:10:00")
    assert settle(timed, "b", 4)[:3] == [1, 4, 6]
    flat = timed.call("ONCE.RANGE", "t", "k", "-", "+", "PER", "hour")[1]
    assert dict(zip(flat[::2], flat[1::2]))[ms("2033-05-05T14:00:00")] == 4


def buckets(server, per="hour"):
    flat = server.call("ONCE.RANGE", "t", "k", "-", "+", "PER", per)[1]
    return dict(zip(flat[::2], flat[1::2]))


@pytest.mark.parametrize("keep", [1, 2])
def test_a_bucket_that_was_dropped_does_not_come_back(timed_pair, clock, keep):
    """It would take the place of a later one, whose limit could then be passed."""
    master, replica = timed_pair
    hours = [f"2033-05-05T{hour}:10:00" for hour in range(11, 14)]
    set_wall(clock, hours[0])
    master.call("ONCE.CREATE", "t", "WINDOW", 100_000_000, "PER", "hour", "KEEP", keep, "PER", "month")
    limit = ["LIMIT", 10, "PER", "hour"]
    for name, amount in (("a", 1), ("b", 2), ("c", 3)):
        assert hold(master, name, amount, 10, "PER", "hour", lease=100 * HOUR)[0] == 1
    for i, hour in enumerate(hours[1:]):
        set_wall(clock, hour)
        assert take(master, f"all{i}", 10, *limit)[:3] == [1, 10, 0]
    before = buckets(master)
    assert len(before) == keep
    assert settle(master, "a", 2)[:3] == [-1, 0, 0] # nothing is known of the bucket, so nothing is left in it
    assert settle(master, "a", 1)[:3] == [1, 0, 0] and settle(master, "a", 1)[:3] == [0, 0, 0]
    assert settle(master, "b", 9, "FORCE")[0] == 1 and table_info(master.client)["holds_forced"] == 1
    assert buckets(master) == before and take(master, "more", 1, *limit)[:3] == [-1, 10, 0]
    if keep == 2:
        assert take(master, "slides", 1, *limit, "SLIDING")[0] == -1
    # The total has it, and so has a bucket that is kept.
    assert master.call("ONCE.GET", "t", "k") == 30 and list(buckets(master, "month").values()) == [30]
    replica.catch_up_with(master)
    assert replica.digest() == master.digest()
    make_again(master, "reload")
    assert buckets(master) == before and settle(master, "c", 3)[0] == 1 and buckets(master) == before


def test_a_bucket_between_two_that_are_kept(timed_pair, clock):
    """The oldest goes for it, and not the present one."""
    master, replica = timed_pair
    set_wall(clock, "2033-05-05T11:10:00")
    master.call("ONCE.CREATE", "t", "WINDOW", 100_000_000, "PER", "hour", "KEEP", 2)
    assert take(master, "x", 10, "LIMIT", 10, "PER", "hour")[0] == 1
    set_wall(clock, "2033-05-05T12:10:00")
    assert hold(master, "a", 4, 10, "PER", "hour", lease=100 * HOUR)[0] == 1
    set_wall(clock, "2033-05-05T13:10:00")
    assert take(master, "y", 10, "LIMIT", 10, "PER", "hour")[0] == 1
    assert settle(master, "a", 5)[:3] == [1, 5, 5]
    assert buckets(master) == {ms("2033-05-05T12:00:00"): 5, ms("2033-05-05T13:00:00"): 10}
    assert take(master, "z", 1, "LIMIT", 10, "PER", "hour")[0] == -1
    replica.catch_up_with(master)
    assert replica.digest() == master.digest()


def test_a_later_bucket_stays_when_the_clock_is_set_back(timed, clock):
    """An older one goes, of which nothing is needed any more: otherwise the later one could be filled twice."""
    timed.call("ONCE.CREATE", "t", "WINDOW", 100_000_000, "PER", "hour", "KEEP", 2)
    for i, (hour, outcome) in enumerate([("06", 1), ("10", 1), ("09", 1), ("10", -1)]):
        set_wall(clock, f"2033-05-05T{hour}:10:00")
        assert take(timed, f"i{i}", 10, "LIMIT", 10, "PER", "hour")[0] == outcome


def test_a_hold_of_the_present_after_a_clock_was_ahead(timed, clock):
    """The bucket of the future goes, and the limit binds."""
    timed.call("ONCE.CREATE", "t", "WINDOW", 100_000_000, "PER", "hour", "KEEP", 1)
    set_wall(clock, "2033-05-05T20:10:00")
    take(timed, "x", 1, "LIMIT", 10, "PER", "hour")
    set_wall(clock, "2033-05-05T12:10:00")
    assert hold(timed, "a", 8, 10, "PER", "hour")[0] == 1 and settle(timed, "a", 9)[:3] == [1, 9, 1]
    assert hold(timed, "b", 2, 10, "PER", "hour")[0] == -1 and buckets(timed) == {ms("2033-05-05T12:00:00"): 9}


def test_a_counter_that_is_removed_keeps_its_holds(server):
    server.call("ONCE.INCRBY", "t", "x", "k", 5)
    hold(server, "a", 3, 10)
    server.call("ONCE.DEL", "t", "k")
    assert server.call("ONCE.PEEK", "t", "k", "LIMIT", 10) == [0, 7, -1]
    assert settle(server, "a", 0)[0] == 1 and server.call("ONCE.GET", "t", "k") is None


HOSTILE = [(["0", "LIMIT", 9, "LEASE", 5], "of amount is out"), (["-1", "LIMIT", 9, "LEASE", 5], "of amount is out"),
           ([str(2**63), "LIMIT", 9, "LEASE", 5], "of amount is out"), ([str(LEAST), "LIMIT", 9, "LEASE", 5], "of amount is out"),
           ([1, "LIMIT", 9, "LEASE", 0], "of LEASE is out"), ([1, "LIMIT", 9, "LEASE", -5], "of LEASE is out"),
           ([1, "LIMIT", 9, "LEASE", 100 * 366 * 86_400_000], "of LEASE is out"), ([1, "LIMIT", 9, "LEASE", "x"], "of LEASE is out"),
           ([1, "LIMIT", 2**63, "LEASE", 5], "of LIMIT is out"), ([1, "LEASE", 5, "LEASE", 6], "syntax error"),
           ([1, "FLOOR", 0, "LEASE", 5], "syntax error"), ([1, "LIMIT", 9, "LIMIT", 8, "LEASE", 5], "syntax error"),
           ([1, "LIMIT", 9, "PER", "hour", "SLIDING", "LEASE", 5], "syntax error"),
           ([1, "LIMIT", 9, "PER", "day", "LEASE", 5], "does not count per that period"),
           ([1, "LIMIT", 9, "PER", 0, "LEASE", 5], "of PER is out"), ([1, "LIMIT", 9, "PER", "hour"], "syntax error"),
           ([1, "LIMIT", 9, "NOCREATE", "MORE"], "syntax error"), ([1, *["LIMIT", 9] * 500, "LEASE", 5], "syntax error")]


@pytest.mark.parametrize("words, text", HOSTILE, ids=lambda one: str(one)[:40])
def test_hostile_holds(server, words, text):
    server.call("ONCE.CREATE", "t", "PER", "hour", "PER", "month")
    before = server.digest()
    assert text in error_of(server, "ONCE.HOLD", "t", "i", "k", *words)
    assert server.digest() == before


def test_hostile_settlements_and_bounds_of_64_bits(server):
    hold(server, "a", MOST, MOST)
    assert hold(server, "b", 1, MOST)[0] == -1
    for actual in -1, 2**63, "x", "", LEAST:
        assert "of actual is out" in error_of(server, "ONCE.SETTLE", "t", "a", actual)
    assert "FORCE" in error_of(server, "ONCE.SETTLE", "t", "a", 1, "MORE")
    for command in "ONCE.SETTLE", "ONCE.RELEASE":
        words = [1] if command == "ONCE.SETTLE" else []
        assert "an id is empty" in error_of(server, command, "t", "", *words)
        assert "65535 bytes" in error_of(server, command, "t", "x" * 65536, *words)
    assert "65535 bytes" in error_of(server, "ONCE.HOLD", "t", "x" * 65536, "k", 1, "LIMIT", 1, "LEASE", 1)
    assert settle(server, "a", MOST) == [1, MOST, 0, -1]
    assert hold(server, "c", 1, LEAST)[0] == -1
    # Far below zero there would be room for more than 64 bits of held.
    server.call("ONCE.INCRBY", "t", "low", "l", LEAST)
    assert hold(server, "d", MOST, MOST, counter="l")[0] == 1
    assert "overflow" in error_of(server, "ONCE.HOLD", "t", "e", "l", 1, "LIMIT", MOST, "LEASE", 5)
    # A sum that does not fit is no crossing that FORCE could make.
    hold(server, "f", 1, 5, counter="m")
    server.call("ONCE.INCRBY", "t", "high", "m", MOST)
    before = server.digest()
    assert "overflow" in error_of(server, "ONCE.SETTLE", "t", "f", 1, "FORCE")
    assert server.digest() == before and release(server, "f") == 1


def test_tables_that_are_not_there(server):
    assert hold(server, "a", 9, 5)[0] == -1 and server.client.exists("t") == 0
    assert "NOTABLE" in error_of(server, "ONCE.HOLD", "t", "a", "k", 1, "LIMIT", 5, "LEASE", 5, "NOCREATE")
    assert "NOTABLE" in error_of(server, "ONCE.HOLD", "t", "a", "k", 1, "LIMIT", 5, "PER", "hour", "LEASE", 5)
    assert server.call("ONCE.HOLDS", "t", 0) == [b"0", []] and server.client.exists("t") == 0
    assert hold(server, "a", 1, 5)[0] == 1
    server.client.set("s", 1)
    for words in ["HOLD", "s", "a", "k", 1, "LIMIT", 5, "LEASE", 5], ["SETTLE", "s", "a", 1], ["RELEASE", "s", "a"], \
            ["HOLDS", "s", 0]:
        assert "WRONGTYPE" in error_of(server, "ONCE." + words[0], *words[1:])


def test_the_list(server):
    for i in range(300):
        hold(server, f"i{i}", i + 1, MOST)
    settle(server, "i7", 0)
    release(server, "i8")
    found = holds(server)
    assert {name: row[1] for name, row in found.items()} == {f"i{i}": i + 1 for i in range(300) if i not in (7, 8)}
    assert set(holds(server, "MATCH", "i29?", "COUNT", 7)) == {f"i29{i}" for i in range(10)}
    for words in ["x"], [0, "COUNT", 0], [0, "COUNT"], [0, "STATE", "open"]:
        with pytest.raises(redis.ResponseError):
            server.call("ONCE.HOLDS", "t", *words)


def test_without_memory(start):
    """SETTLE and RELEASE end something, and are never refused; a new hold is."""
    server = start()
    for name in "abc":
        hold(server, name, 3, 100)
    server.call("CONFIG", "SET", "maxmemory", 1)
    assert "OOM" in error_of(server, "ONCE.HOLD", "t", "d", "k", 1, "LIMIT", 100, "LEASE", 5)
    assert hold(server, "a", 3, 100)[0] == 0
    assert settle(server, "a", 50)[0] == 1 and settle(server, "b", 500, "FORCE")[0] == 1 and release(server, "c") == 1
    assert server.call("ONCE.GET", "t", "k") == 550


class Model:
    """What a table without periods should be."""

    def __init__(self):
        self.values, self.holds, self.forced = {}, {}, 0

    def held(self, counter):
        return sum(amount for state, of, amount, _, _ in self.holds.values() if state == "open" and of == counter)

    def room(self, counter, most):
        return most - self.values.get(counter, 0) - self.held(counter)

    def hold(self, identity, counter, amount, most):
        if identity in self.holds:
            return 0 if self.holds[identity][1:4] == (counter, amount, most) else None
        if amount > self.room(counter, most):
            return -1
        self.holds[identity] = ("open", counter, amount, most, None)
        return 1

    def settle(self, identity, actual, force):
        if identity not in self.holds or self.holds[identity][0] == "released":
            return None
        state, counter, amount, most, before = self.holds[identity]
        if state == "settled":
            return 0 if actual == before else None
        more = actual - amount if state == "open" else actual
        is_beyond = more > 0 and more > self.room(counter, most)
        if is_beyond and not force:
            return -1
        self.forced += is_beyond
        self.holds[identity] = ("settled", counter, amount, most, actual)
        self.values[counter] = self.values.get(counter, 0) + actual
        return 1

    def release(self, identity):
        if identity not in self.holds or self.holds[identity][0] == "settled":
            return None
        state, *rest = self.holds[identity]
        self.holds[identity] = ("released", *rest)
        return int(state != "released")


def first_of(server, *words):
    """The outcome; None for an error that says what does not agree."""
    try:
        answer = server.call(*words)
    except redis.ResponseError as error:
        assert str(error).startswith(("MISMATCH", "NOHOLD")), error
        return None
    return answer if isinstance(answer, int) else answer[0]


@pytest.mark.parametrize("seed", range(3))
def test_against_a_model(timed_pair, clock, seed):
    master, replica = timed_pair
    chance, model = random.Random(seed), Model()
    master.call("ONCE.CREATE", "t", "WINDOW", 2_000_000_000)
    for step in range(700):
        counter, most = chance.choice("kl"), chance.choice([20, 50])
        identity, amount = f"i{chance.randrange(step // 3 + 2)}", chance.randrange(1, 12)
        what = chance.random()
        if model.holds and 0.4 <= what < 0.75 and chance.random() < 0.7:
            identity = chance.choice([name for name, row in model.holds.items() if row[0] == "open"] or list(model.holds))
        if what < 0.4:
            assert first_of(master, "ONCE.HOLD", "t", identity, counter, amount, "LIMIT", most, "LEASE", LEASE) == \
                model.hold(identity, counter, amount, most)
        elif what < 0.65:
            force = ["FORCE"] if chance.random() < 0.3 else []
            actual = chance.choice([0, amount, 3 * amount])
            assert first_of(master, "ONCE.SETTLE", "t", identity, actual, *force) == model.settle(identity, actual, bool(force))
        elif what < 0.75:
            assert first_of(master, "ONCE.RELEASE", "t", identity) == model.release(identity)
        elif what < 0.9:
            granted = take(master, f"take{step}", amount, "LIMIT", most, counter=counter)[0] == 1
            assert granted == (amount <= model.room(counter, most))
            if granted:
                model.values[counter] = model.values.get(counter, 0) + amount
        elif what < 0.97:
            master.call("ONCE.INCRBY", "t", f"back{step}", counter, -2 * amount)
            model.values[counter] = model.values.get(counter, 0) - 2 * amount
        elif what < 0.985:
            end_leases(master, clock)
            for name, (state, *rest) in model.holds.items():
                model.holds[name] = ("expired" if state == "open" else state, *rest)
        else:
            make_again(master, chance.choice(AGAIN))
        if step % 25 == 0:
            for one in "kl":
                assert (master.call("ONCE.GET", "t", one) or 0) == model.values.get(one, 0)
                left = master.call("ONCE.PEEK", "t", one, "LIMIT", 10_000)[1]
                assert left == model.room(one, 10_000)
            assert set(holds(master)) == {name for name, row in model.holds.items() if row[0] == "open"}
            replica.catch_up_with(master)
            assert replica.digest() == master.digest()
    assert table_info(master.client)["holds_forced"] == model.forced > 0


@pytest.mark.parametrize("way", [*AGAIN, *RESTARTED, "replica"])
def test_holds_wherever_the_table_goes(start, clock, way):
    """Open, settled, released and expired ones; and a lease does not end early."""
    server = start(clock=clock, appendonly="yes" if "log" in way else "no", appendfsync="always")
    set_wall(clock, "2033-05-05T12:10:00")
    server.call("ONCE.CREATE", "t", "PER", "hour", "WINDOW", 100_000_000)
    hold(server, "e", 1, 10, "PER", "hour", lease=1000)
    hold(server, "s", 4, 10, "PER", "hour")
    settle(server, "s", 2)
    hold(server, "r", 3, 10)
    release(server, "r")
    end_leases(server, clock, 2000)
    hold(server, "o", 5, 10, "PER", "hour")
    hold(server, "long", 1, 10, counter="other", lease=10 * LEASE)
    if way == "replica":
        other = start(clock=clock)
        other.follow(server)
        other.catch_up_with(server)
        assert other.digest() == server.digest() and set(holds(other)) == {"o", "long"}
        other.call("REPLICAOF", "NO", "ONE")
        server = other
    else:
        make_again(server, way)
    assert set(holds(server)) == {"o", "long"}
    assert take(server, "x", 4, "LIMIT", 10, "PER", "hour")[:3] == [-1, 2, 3]
    assert settle(server, "s", 2)[0] == 0 and "MISMATCH" in error_of(server, "ONCE.SETTLE", "t", "r", 1)
    assert release(server, "r") == 0 and settle(server, "e", 3)[:3] == [1, 5, 0]
    clock.pass_time(LEASE // 2)
    time.sleep(0.25)
    assert set(holds(server)) == {"o", "long"}
    end_leases(server, clock)
    assert set(holds(server)) == {"long"} and server.call("ONCE.PEEK", "t", "k", "LIMIT", 10, "PER", "hour")[:2] == [5, 5]


def test_a_replica_ends_no_lease_by_itself(timed_pair, clock):
    master, replica = timed_pair
    hold(master, "a", 5, 10)
    replica.catch_up_with(master)
    master.kill()
    clock.pass_time(10 * LEASE)
    time.sleep(0.3)
    assert set(holds(replica)) == {"a"} and replica.call("ONCE.PEEK", "t", "k", "LIMIT", 10) == [0, 5, -1]
    replica.call("REPLICAOF", "NO", "ONE")
    wait_for(lambda: holds(replica) == {}, what="the end of the lease")


def test_a_table_without_holds_has_the_bytes_of_before(server):
    """And so it has again when all of them are forgotten."""
    server.call("ONCE.CREATE", "t", "WINDOW", 1000)
    server.call("ONCE.INCRBY", "t", "x", "k", 1)
    def version():
        return struct.unpack_from("<I", server.call("ONCE.DUMP", "t", 0)[2], 8)[0]
    assert version() == 2
    hold(server, "a", 1, 5, lease=1)
    assert version() == 4
    release(server, "a")
    wait_for(lambda: version() == 2, what="W")


def test_hostile_payloads(server):
    """Every byte of the section, changed: it is refused, or it is a table that works."""
    server.call("ONCE.CREATE", "t", "PER", "hour", "WINDOW", 100_000_000)
    hold(server, "a", 3, 10, "PER", "hour")
    hold(server, "b", 4, 10)
    settle(server, "b", 1)
    library = xxhash()
    if library is None:
        pytest.skip("no libxxhash here")
    number, last, data = server.call("ONCE.DUMP", "t", 0)
    body = data[:-8]
    section = body.rindex(b"\x01\x02" + struct.pack("<Q", 16 + 2 * (65 + 1 + 1)))
    def load(changed):
        server.client.delete("u")
        try:
            server.call("ONCE.LOAD", "u", number, last, changed + struct.pack("<Q", library.XXH3_128bits_withSeed(changed, len(changed), 0).low))
        except redis.ResponseError as error:
            assert "not a saved value" in str(error)
            return False
        for words in ["PEEK", "u", "k", "LIMIT", 10], ["HOLDS", "u", 0], ["INFO", "u"]:
            server.call("ONCE." + words[0], *words[1:])
        for identity in "a", "b":
            for words in ["SETTLE", "u", identity, 1], ["RELEASE", "u", identity]:
                try:
                    server.call("ONCE." + words[0], *words[1:])
                except redis.ResponseError:
                    pass
        return True
    assert load(body)
    refused = 0
    for at in range(section, len(body)):
        for byte in 0, 1, 255, body[at] ^ 0x80:
            refused += byte != body[at] and not load(body[:at] + bytes([byte]) + body[at + 1:])
    assert refused > 150
    assert not load(body[:-1]) and not load(body + b"\0") and not load(body[:section] + b"\0")
    assert not load(body[:section + 1] + b"\x09" + body[section + 2:])
    assert server.client.ping()


def pieces_of(library, body):
    """A saved value as ONCE.LOAD takes it: number, whether it is the last, data."""
    pieces = [body[at:at + (1 << 20)] for at in range(0, len(body), 1 << 20)]
    checksum = 0
    for piece in pieces:
        checksum = library.XXH3_128bits_withSeed(piece, len(piece), checksum).low
    pieces[-1] += struct.pack("<Q", checksum)
    return [(number, int(number + 1 == len(pieces)), piece) for number, piece in enumerate(pieces)]


def test_holds_in_any_order_are_loaded_as_fast(server):
    """Each in a bucket of its own; the latest first would move all others."""
    library = xxhash()
    if library is None:
        pytest.skip("no libxxhash here")
    count = 120_000
    server.call("ONCE.CREATE", "t", "PER", 100, "WINDOW", 1_000_000)
    hold(server, "a", 1, 10, lease=1_000_000_000)
    body = server.call("ONCE.DUMP", "t", 0)[2][:-8]
    section = body.rindex(b"\x01\x02" + struct.pack("<Q", 16 + 65 + 2)) + 2
    head = struct.unpack_from("<BqqQqQQqII", body, section + 24)
    def load(key, periods):
        rows = b"".join(struct.pack("<BqqQqQQqII", *head[:4], 100 * period, *head[5:8], 4, 1) + struct.pack("<I", i) + b"k"
                        for i, period in enumerate(periods))
        changed = body[:section] + struct.pack("<QQQ", 16 + len(rows), 0, count) + rows
        before = server.client.info("cpu")["used_cpu_user_main_thread"]
        for piece in pieces_of(library, changed):
            server.call("ONCE.LOAD", key, *piece)
        return server.client.info("cpu")["used_cpu_user_main_thread"] - before
    in_one, last_first = load("u", [0] * count), load("v", range(count, 0, -1))
    assert server.call("ONCE.PEEK", "v", "k", "LIMIT", 2 * count) == [0, count, -1]
    assert last_first < 4 * in_one + 0.1


def test_a_saved_table_of_this_version_stays_readable(server):
    """tests/golden/once-holds-v4.bin: holds in every state, and a claim."""
    server.call("ONCE.LOAD", "t", 0, 1, (SOURCE / "tests/golden/once-holds-v4.bin").read_bytes())
    assert {name: row[1] for name, row in holds(server, "COUNT", 100).items()} == {f"open-{i}": i + 1 for i in range(20)}
    assert server.call("ONCE.PEEK", "t", "l", "LIMIT", 1000) == [0, 790, -1] and server.call("ONCE.GET", "t", "k") == 203
    assert settle(server, "settled", 200)[0] == 0 and release(server, "released") == 0
    assert hold(server, "expired", 1, 100, "PER", "month", lease=1)[::4] == [0, 0]
    info = table_info(server.client)
    assert (info["holds_open"], info["holds_ended"], info["holds_forced"], info["claims_running"]) == (20, 3, 1, 1)
