"""Goal:   an operation is applied once within W of its first sending whatever the clocks do: while servers run, while they are down,
        and while values move between them; and time that passes while a server is down counts.
Method: servers whose clocks the test sets; W is ten minutes, and what really passes are seconds. Every crash is a SIGKILL, and
        the log is written before each answer. The machine is "started again" by another id and clock of its start."""

import pytest
from servers import table_info, wait_for
from test_hostile import resealed, xxhash

W = 600000
HOUR = 3600000
LOG = {"appendonly": "yes", "appendfsync": "always"}


def create(server, key="t", window=W):
    server.call("ONCE.CREATE", key, "WINDOW", window, "ERROR", "1e-12")


def add(server, identity, key="t"):
    """Whether the operation was applied."""
    return server.call("ONCE.INCRBY", key, identity, "n", 1)[0] == 1


def rewrite(server):
    server.call("BGREWRITEAOF")
    wait_until_rewritten(server)


def wait_until_rewritten(server):
    wait_for(lambda: server.client.info("persistence")["aof_rewrite_in_progress"] == 0 and
             server.client.info("persistence")["aof_rewrite_scheduled"] == 0, what="rewriting")


def effects(server):
    return server.client.info("lethe")["lethe_effects_sent"]


def test_ages_are_ages_now(start, clock):
    """However long nobody has used the table. The oldest id is at most as old as INFO says, by less than a period."""
    server = start(clock=clock)
    server.client.config_set("lethe.tick-ms", 60000)
    create(server)
    assert add(server, "old")
    before = table_info(server.client)
    clock.pass_time(W // 2)
    after = table_info(server.client)
    assert W // 2 <= after["clock_ms"] - before["clock_ms"] < W // 2 + 60000
    assert W // 2 <= after["oldest_age_ms"] <= W // 2 + before["period_ms"] + 60000
    clock.pass_time(W)
    assert table_info(server.client)["oldest_age_ms"] == table_info(server.client)["ids"] == 0


def test_a_restored_value_after_a_crash(start, clock):
    """The payload is an hour old. What was applied since it was restored is not."""
    server = start(clock=clock, **LOG)
    create(server)
    assert add(server, "old")
    payload = server.client.dump("t")
    clock.pass_time(HOUR)
    server.client.restore("u", 0, payload)
    assert add(server, "x", "u") and not add(server, "x", "u")
    server.restart()
    assert not add(server, "x", "u")
    clock.pass_time(2 * W) # from here on its time is known
    server.restart()
    assert add(server, "x", "u")


def test_a_restored_value_that_nobody_used_before_a_crash(start, clock):
    """It goes on where it was, as a loaded one does: nothing in the log says how old it is."""
    server = start(clock=clock, **LOG)
    server.client.config_set("lethe.tick-ms", 60000)
    create(server)
    assert add(server, "old")
    payload, (_, _, piece) = server.client.dump("t"), server.call("ONCE.DUMP", "t", 0)
    clock.pass_time(HOUR)
    # Once it has come, the timer will not come again before the end, and can't tell.
    wait_for(lambda: server.client.info("lethe")["lethe_ticks_sent"] > 0, what="the timer")
    server.client.restore("restored", 0, payload)
    server.call("ONCE.LOAD", "loaded", 0, 1, piece)
    server.restart()
    assert not add(server, "old", "restored") and not add(server, "old", "loaded")


def test_a_migrated_value_after_a_crash(start, clock):
    one, two = start(clock=clock), start(clock=clock, **LOG)
    create(one)
    assert add(one, "old")
    for _ in range(3): # idle overnight: once nothing is remembered, its clock stands still
        clock.pass_time(3 * HOUR)
        wait_for(lambda: one.call("ONCE.SEEN", "t", "old") == [0])
    one.call("MIGRATE", "127.0.0.1", two.port, "t", 0, 10000)
    assert add(two, "x") and not add(two, "x")
    two.restart()
    assert not add(two, "x")


@pytest.mark.parametrize("step", [2 * HOUR, -2 * HOUR])
@pytest.mark.parametrize("way", ["log", "rewritten log", "snapshot before", "snapshot after"])
def test_the_wall_clock_is_set_and_then_the_server_crashes(start, clock, way, step):
    """No time has passed but what really has, and time that passes while the server is down counts as it is."""
    server = start(clock=clock, **(LOG if "log" in way else {}))
    create(server)
    assert add(server, "before")
    if way == "rewritten log":
        rewrite(server)
    if way == "snapshot before":
        assert add(server, "x")
        server.call("SAVE")
    clock.set_wall(step)
    if way != "snapshot before":
        assert add(server, "x")
    if way == "snapshot after":
        server.call("SAVE")
    server.restart()
    assert not add(server, "x") and not add(server, "before")
    if "log" not in way:
        server.call("SAVE")
    server.kill()
    clock.pass_time(W // 2)
    server.start()
    assert not add(server, "x")
    server.kill()
    clock.pass_time(W)
    server.start()
    assert add(server, "x")


@pytest.mark.parametrize("is_used", [True, False])
def test_the_wall_clock_is_set_and_then_the_machine_is_started_again(start, clock, is_used):
    """Only the wall clock knows what has passed. The log has what it was set to, also of a value that nobody used since."""
    server = start(clock=clock, **LOG)
    window = 50 * W # so long that nothing else is to be told meanwhile
    create(server, window=window)
    assert add(server, "x")
    rewrite(server)
    sent = effects(server)
    clock.set_wall(2 * window)
    if is_used:
        assert not add(server, "x")
    else:
        wait_for(lambda: effects(server) > sent, what="the timer to notice")
    server.kill()
    clock.start_machine()
    server.start()
    assert not add(server, "x")
    server.kill()
    clock.start_machine()
    clock.pass_time(2 * window)
    server.start()
    assert add(server, "x")


def test_the_wall_clock_is_behind_after_the_start_and_then_set_right(start, clock):
    server = start(clock=clock, **LOG)
    create(server)
    assert add(server, "a")
    rewrite(server)
    server.kill()
    clock.start_machine()
    clock.pass_time(W)
    clock.set_wall(-W)
    server.start() # for all that is known, nothing has passed
    clock.set_wall(0)
    assert add(server, "x") and not add(server, "x")
    server.restart()
    assert not add(server, "x")
    server.kill()
    clock.start_machine()
    server.start()
    assert not add(server, "x")


def test_the_wall_clock_goes_back_while_the_machine_is_started_again(start, clock):
    """Nothing less than nothing has elapsed; then time goes on as it should."""
    server = start(clock=clock, **LOG)
    create(server)
    assert add(server, "x")
    server.kill()
    clock.start_machine()
    clock.set_wall(-HOUR)
    server.start()
    assert not add(server, "x")
    clock.pass_time(2 * W)
    assert add(server, "x")


def test_a_stamp_is_sent_when_clocks_change_and_only_then(start, clock):
    """A value that stands still costs nothing, and one that is used no more than its effects."""
    server = start(clock=clock, **LOG) # somebody who listens
    server.client.config_set("lethe.tick-ms", 1)
    create(server, window=30 * 24 * HOUR) # no period ends meanwhile
    wait_for(lambda: effects(server) == 1)
    for i in range(20):
        assert add(server, i)
    sent = effects(server)
    assert sent == 21
    clock.set_wall(1000)
    wait_for(lambda: effects(server) == 22, 20, "the timer to notice")
    clock.set_wall(1001) # the clocks are not read at one moment
    assert add(server, "more")
    assert effects(server) == 23


@pytest.mark.parametrize("wall", [-3 * HOUR, 3 * HOUR])
def test_a_promoted_replica_crashes(start, clock, tmp_path, wall):
    """Its host's wall clock is wrong, and nobody is asked but its own log."""
    other = type(clock)(tmp_path / "other", wall)
    master, replica = start(clock=clock), start(clock=other, host="another", **LOG)
    create(master)
    replica.follow(master)
    replica.catch_up_with(master)
    wait_until_rewritten(replica) # a new log begins with a new copy
    assert add(master, "x")
    replica.catch_up_with(master)
    master.kill()
    replica.call("REPLICAOF", "NO", "ONE")
    assert not add(replica, "x")
    replica.restart()
    assert not add(replica, "x")
    assert add(replica, "y")
    replica.kill()
    other.pass_time(2 * W)
    replica.start()
    assert add(replica, "y")


@pytest.mark.parametrize("wall", [-HOUR, HOUR])
def test_a_promoted_replica_goes_on_in_the_tables_own_time(start, clock, tmp_path, wall):
    """Neither ahead by its host's clock, which would forget early, nor back, which would remember longer."""
    other = type(clock)(tmp_path / "other", wall)
    master, replica = start(clock=clock), start(clock=other)
    create(master)
    replica.follow(master)
    replica.catch_up_with(master)
    assert abs(int(replica.client.time()[0]) - int(master.client.time()[0]) - wall // 1000) < 60
    assert add(master, "a")
    replica.catch_up_with(master)
    before = table_info(replica.client)["clock_ms"]
    master.kill()
    replica.call("REPLICAOF", "NO", "ONE")
    for _ in range(8):
        assert not add(replica, "a")
        other.pass_time(W // 10)
    assert not add(replica, "a")
    assert 0.8 * W <= table_info(replica.client)["clock_ms"] - before < W
    other.pass_time(W // 2)
    assert add(replica, "a")


@pytest.mark.parametrize("way", ["migrated", "replicated"])
def test_another_hosts_clocks_are_not_believed(start, clock, tmp_path, way):
    """What came from elsewhere has become this host's own file, whose wall clock is an hour ahead: no hour has passed."""
    there = type(clock)(tmp_path / "there", HOUR)
    server = start(clock=clock)
    other = start(clock=there, host="another", **(LOG if way == "migrated" else {}))
    create(server)
    assert add(server, "a")
    if way == "migrated":
        server.call("MIGRATE", "127.0.0.1", other.port, "t", 0, 10000)
    else:
        other.follow(server)
        other.catch_up_with(server)
        assert (other.folder / "dump.rdb").exists() # as the master sent it
    other.restart()
    assert other.call("ONCE.SEEN", "t", "a") == [1]
    other.call("REPLICAOF", "NO", "ONE")
    assert not add(other, "a") and add(other, "b")
    other.call("SAVE")
    other.kill()
    there.pass_time(2 * W)
    other.start() # but of its own it believes what has passed
    assert other.call("ONCE.SEEN", "t", "a", "b") == [0, 0]


def test_a_filters_time_goes_on_while_the_server_is_down(start, clock):
    server = start(clock=clock, **LOG)
    server.call("FBF.RESERVE", "f", "WINDOW", W)
    assert server.call("FBF.ADD", "f", "a") == 1
    clock.set_wall(HOUR)
    assert server.call("FBF.ADD", "f", "b") == 1
    server.restart()
    assert server.call("FBF.MTEST", "f", "a", "b") == [1, 1]
    server.kill()
    clock.pass_time(2 * W)
    server.start()
    assert server.call("FBF.MTEST", "f", "a", "b") == [0, 0]


def test_values_of_the_first_format_load(start):
    """Their head has neither a clock of the machine's start nor the idle time: 24 bytes less."""
    library = xxhash()
    if library is None:
        pytest.skip("no libxxhash here")
    server = start()
    create(server)
    assert add(server, "a")
    _, is_last, piece = server.call("ONCE.DUMP", "t", 0)
    assert is_last == 1 and piece[8:12] == b"\2\0\0\0"
    old = resealed(library, piece[:8] + b"\1\0\0\0" + piece[12:40] + piece[64:])
    assert server.call("ONCE.LOAD", "u", 0, 1, old) == b"OK"
    assert server.digest("u") == server.digest("t")
    assert not add(server, "a", "u")
    assert table_info(server.client, "u")["window_ms"] == W
