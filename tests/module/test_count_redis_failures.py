"""Goal:   lethe count --redis counts every event exactly once, whatever happens to servers, connections and itself.
Method: lethe on real servers, fed by pipes, with servers that are killed, stopped, emptied and promoted in the middle of a
        load; its totals and the counters, read by other means, are compared with a model."""

import contextlib
import json
import os
import signal
import subprocess
import time

import pytest
from counting import BAD_DATA, certain, count, DONE, ENVIRONMENT, Feed, KEYS, LETHE, lethe, listed, make_events, url_of
from servers import wait_for


def test_a_server_that_dies_and_comes_back(start):
    server = start(appendonly="yes", appendfsync="always")
    lines, totals = make_events(20000, 6)
    feed = Feed(url_of(server), "--retry", "2m", lines=lines) # from the first contact on
    feed.write_while_it_dies(server)
    summary = feed.finish()
    assert summary["applied"] + summary["doubtful"] == 20000
    assert summary["duplicates"] == summary["doubtful"]
    assert listed(url_of(server)) == totals


def test_an_address_that_is_named_twice(start):
    """It is one server, also when its connection is lost and another one is looked for."""
    server = start(appendonly="yes", appendfsync="always")
    lines, totals = make_events(10000, 27)
    feed = Feed(url_of(server, server, server), lines=lines)
    feed.write(0.5)
    server.kill()
    time.sleep(0.5)
    feed.write_during(0.6, server.start)
    feed.write(1)
    summary = feed.finish()
    assert summary["applied"] + summary["doubtful"] == 10000
    assert listed(url_of(server)) == totals


@pytest.mark.parametrize("partitions", ["1", "40"])
def test_a_server_that_comes_back_empty(start, partitions):
    """What it had is lost. What follows still has the window that was asked for, not the one that the server makes by itself,
    and the table is one that can be counted in."""
    server = start()
    lines, _ = make_events(30000, 28)
    feed = Feed(url_of(server), "--window", "1h", "--partitions", partitions, lines=lines)
    for part in (0.2, 0.4, 0.6, 0.8):
        feed.write(part)
        server.kill()
        feed.write(part + 0.005) # more than a connection has under way at once, so some was never sent before
        server.start()
    feed.write(1)
    feed.finish()
    keys = server.client.keys("t:{*}") if partitions != "1" else ["t"]
    assert len(keys) == int(partitions)
    assert [server.call("ONCE.INFO", key)[1] for key in keys] == [3600000] * len(keys)
    assert partitions == "1" or "written again" in feed.errors
    again = count(url_of(server), "--window", "1h", "--partitions", partitions, stdin="".join(lines))
    assert again["events"] == 30000 and again["duplicates"] > 0
    assert count(url_of(server), stdin="".join(lines))["duplicates"] == 30000


@pytest.mark.parametrize("partitions", ["1", "8"])
def test_a_table_that_is_lost_while_connections_stay(server, partitions):
    """It is made again with its own window, and both are said."""
    lines, _ = make_events(4000, 30)
    feed = Feed(url_of(server), "--window", "1h", "--partitions", partitions, lines=lines, pause=0)
    feed.write(0.5)
    def filled():
        keys = server.client.keys("t:{*}") if partitions != "1" else ["t"]
        return len([key for key in keys if server.call("ONCE.TOP", key, 1)]) == int(partitions)
    wait_for(filled, what="some events in each")
    server.client.flushall()
    feed.write(1)
    feed.finish()
    keys = server.client.keys("t:{*}") if partitions != "1" else ["t"]
    assert len(keys) == int(partitions)
    assert [server.call("ONCE.INFO", key)[1] for key in keys] == [3600000] * len(keys)
    assert "lost a key of the table" in feed.errors
    assert partitions == "1" or "written again" in feed.errors


def test_memory_is_short_among_duplicates(server):
    """Copies are answered, new events are not counted, and the run says so rather than passing over them."""
    url = url_of(server)
    count(url, "--error", "1e-12", stdin="a\tk\nb\tk\n")
    server.client.config_set("maxmemory", 1)
    try:
        assert count(url, stdin="a\tk\nb\tk\n")["duplicates"] == 2
        result = lethe("count", url, stdin="a\tk\nc\tk\n")
        assert result.returncode == ENVIRONMENT and "maxmemory" in result.stderr
    finally:
        server.client.config_set("maxmemory", 0)
    assert server.call("ONCE.GET", "t", "k") == 2


def test_a_server_that_comes_back_with_another_table(start):
    """Somebody else made the table again meanwhile: ids are spread in two ways, so the first one stops."""
    server = start()
    lines, _ = make_events(20000, 29)
    feed = Feed(url_of(server), "--partitions", "4", lines=lines)
    feed.write(0.4)
    server.kill()
    feed.write(0.5)
    os.kill(feed.process.pid, signal.SIGSTOP)
    server.start()
    count(url_of(server), "--partitions", "4", stdin="a\tk\n")
    os.kill(feed.process.pid, signal.SIGCONT)
    with contextlib.suppress(BrokenPipeError):
        feed.write(1)
    feed.finish(code=BAD_DATA)
    assert "was made again by somebody else" in feed.errors


def test_a_server_that_stays_away(start):
    server = start()
    lines, _ = make_events(4000, 7)
    feed = Feed(url_of(server), "--retry", "2s", lines=lines)
    feed.write(0.5)
    wait_for(lambda: server.call("ONCE.GET", "t", KEYS[0]) is not None) # its answer is on the way then
    server.kill()
    began = time.monotonic()
    feed.write(1)
    summary = feed.finish(code=ENVIRONMENT)
    assert time.monotonic() - began < 120
    assert "no acknowledgement" in feed.errors and "run the same command again within the window" in feed.errors
    assert 0 < summary["applied"] <= 4000


def test_a_server_that_is_stopped_for_a_while(start):
    """Nothing is heard for longer than lethe waits for an answer; what was sent twice is counted once."""
    server = start()
    lines, totals = make_events(20000, 8)
    feed = Feed(url_of(server), lines=lines)
    feed.write(0.5)
    os.kill(server.process.pid, signal.SIGSTOP)
    feed.write(0.6)
    time.sleep(7)
    os.kill(server.process.pid, signal.SIGCONT)
    feed.write(1)
    summary = feed.finish()
    assert summary["applied"] + summary["doubtful"] == 20000
    assert listed(url_of(server)) == totals


def test_interrupts(server, tmp_path):
    """After a signal, and after being killed, the same command makes the totals right."""
    lines, totals = make_events(400000, 9)
    path = tmp_path / "events"
    path.write_text("".join(lines))
    url = url_of(server)
    for number, signal_number in enumerate((signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)):
        before = server.call("ONCE.INFO", "t")[19] if server.client.exists("t") else 0
        process = subprocess.Popen([LETHE, "count", "--redis", url, "--table", "t", "-q", *certain([path])],
                                   stderr=subprocess.PIPE, text=True)
        def has_gone_on():
            return server.call("ONCE.INFO", "t")[19] > before + 10000 or process.poll() is not None
        wait_for(has_gone_on, what="some events")
        process.send_signal(signal_number)
        errors = process.communicate()[1]
        if signal_number != signal.SIGKILL and process.returncode != DONE:
            assert process.returncode == 128 + signal_number, (number, errors)
            assert "interrupted" in errors
    summary = count(url, path)
    assert summary["resumed_at"] > 0
    assert listed(url) == totals


def test_what_a_killed_run_has_skipped(server, tmp_path):
    """The next run reports it, once."""
    path = tmp_path / "events"
    path.write_text("bad\tkey\tfive\n" + "".join(make_events(400000, 12)[0]))
    words = [LETHE, "count", "--redis", url_of(server), "--table", "t", "--json", *certain([path])]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: server.client.hexists("t:files", "unreported") or process.poll() is not None, what="a mark")
    process.kill()
    assert process.wait() == -signal.SIGKILL
    for code, unreported in ((5, 1), (0, 0)):
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        assert result.returncode == code, result.stderr
        assert json.loads(result.stdout)["unreported"] == unreported
        assert ("1 event was skipped" in result.stderr) == (code == 5)
    assert not server.client.hexists("t:files", "unreported")


def test_an_interrupt_while_nobody_answers(start):
    server = start()
    feed = Feed(url_of(server), lines=make_events(2000, 10)[0])
    feed.write(0.5)
    wait_for(lambda: server.call("ONCE.INFO", "t")[19] > 0, what="some events")
    os.kill(server.process.pid, signal.SIGSTOP)
    feed.write(1)
    feed.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    feed.finish(code=130)
    assert time.monotonic() - began < 20


def test_wait_without_replicas(start):
    """Nothing is acknowledged that no replica has; with one it is, and the replica has it all."""
    master, replica = start(), start()
    lines, totals = make_events(5000, 11)
    result = lethe("count", url_of(master), "--wait", "1", "--retry", "2s", stdin="".join(lines))
    assert result.returncode == ENVIRONMENT and "0 of 1 replicas confirmed" in result.stderr
    replica.follow(master)
    wait_for(replica.is_synced, what="the link")
    summary = count(url_of(master), "--wait", "1", stdin="".join(lines))
    assert summary["events"] == 5000
    assert listed(url_of(master)) == totals
    replica.call("REPLICAOF", "NO", "ONE")
    assert listed(url_of(replica)) == totals


def test_a_replica_is_promoted(start):
    """Two servers that are no cluster: lethe is told of both, and goes to the one that takes writes."""
    master, replica = start(), start()
    replica.follow(master)
    wait_for(replica.is_synced, what="the link")
    lines, totals = make_events(20000, 12)
    feed = Feed(url_of(master, replica), "--wait", "1", lines=lines)
    feed.write(0.5)
    master.kill()
    replica.call("REPLICAOF", "NO", "ONE")
    master.start()
    master.follow(replica)
    feed.write(1)
    summary = feed.finish()
    assert summary["applied"] + summary["doubtful"] == 20000
    assert listed(url_of(replica)) == totals
