"""Goal:   leases end by elapsed time, whatever happens to the wall clock; and what was held can be settled.
Method: real servers whose clocks the test sets, small tables at the ends of 64 bits."""

import pytest
from servers import table_info, wait_for
from test_holds import hold, holds, settle
from test_meters import error_of, set_wall
from test_take import MOST


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_a_wall_clock_that_is_set(timed, clock, before, step_ms):
    """The server's timers go by the wall clock. One that is set back must not hold up the end of leases."""
    timed.call("ONCE.CREATE", "t", "WINDOW", 60_000)
    if before:
        assert hold(timed, "a", 60, 100, lease=1000)[0] == 1
    clock.set_wall(step_ms)
    if not before:
        assert hold(timed, "a", 60, 100, lease=1000)[0] == 1
    assert timed.call("ONCE.BEGIN", "t", "c", "token", "LEASE", 1000)[0] == b"new"
    wait_for(lambda: not holds(timed), what="the end of the lease")
    assert table_info(timed.client)["holds_open"] == 0
    assert hold(timed, "b", 60, 100)[0] == 1


def test_a_total_that_could_not_take_it(timed, clock):
    """The bucket has room, and the counter has none: to settle it would overflow."""
    timed.call("ONCE.CREATE", "t", "PER", "hour", "ERROR", "1e-12")
    set_wall(clock, "2033-05-05T12:10:00")
    timed.call("ONCE.INCRBY", "t", "1", "k", MOST - 50)
    set_wall(clock, "2033-05-05T13:10:00")
    assert "overflow" in error_of(timed, "ONCE.HOLD", "t", "a", "k", 60, "LIMIT", 100, "PER", "hour", "LEASE", 1000)
    assert hold(timed, "b", 30, 100, "PER", "hour")[0] == 1
    assert "overflow" in error_of(timed, "ONCE.HOLD", "t", "c", "k", 30, "LIMIT", 100, "PER", "hour", "LEASE", 1000)
    assert settle(timed, "b", 30)[0] == 1
    assert timed.call("ONCE.GET", "t", "k") == MOST - 20
