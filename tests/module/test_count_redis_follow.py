"""Goal: `lethe count --redis --follow` counts each line of a log once, through rotation, kills and a server that restarts.

Method: a log is written while lethe follows it into a real server."""

import json
import signal
import subprocess

from counting import LETHE, certain, count, listed, make_events, url_of
from servers import wait_for


def start_following(url, *words):
    return subprocess.Popen([LETHE, "count", "--redis", url, "--table", "t", "--json", "--follow", *certain(words)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_log_that_grows(server, tmp_path):
    log, old, url = tmp_path / "log", tmp_path / "log.1", url_of(server)
    lines, totals = make_events(3000, 21)

    def append(first, last, path=log):
        with open(path, "a", encoding="ascii") as file:
            file.write("".join(lines[first:last]))

    def wait_for_events(number):
        wait_for(lambda: server.client.exists("t") and server.call("ONCE.INFO", "t")[19] == number,
                 what=f"{number} events")
    append(0, 500)
    run = start_following(url, old, log)
    wait_for_events(500)
    append(500, 501)
    wait_for_events(501)
    log.rename(old)
    log.touch()
    append(501, 1000, old)
    append(1000, 1500)
    wait_for_events(1500)
    run.kill()
    run.communicate()
    append(1500, 2000)
    run = start_following(url, old, log)
    wait_for_events(2000)
    append(2000, 3000)
    wait_for_events(3000)
    run.send_signal(signal.SIGTERM)
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    summary = json.loads(output)
    assert summary["applied"] == 1500 and summary["resumed_at"] > 0
    assert listed(url) == totals
    assert count(url, old, log)["events"] == 0


def test_a_server_that_restarts_meanwhile(start, tmp_path):
    """While nothing is written nobody looks at the server; the next line finds it again."""
    server = start(appendonly="yes", appendfsync="always")
    log, url = tmp_path / "log", url_of(server)
    lines, totals = make_events(200, 22)
    log.write_text("".join(lines[:100]))
    run = start_following(url, log)
    wait_for(lambda: server.client.exists("t") and server.call("ONCE.INFO", "t")[19] == 100, what="100 events")
    server.restart()
    with open(log, "a", encoding="ascii") as file:
        file.write("".join(lines[100:]))
    wait_for(lambda: server.call("ONCE.INFO", "t")[19] == 200, what="200 events")
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert listed(url) == totals
