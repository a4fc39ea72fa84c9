"""Goal:   what the tutorials about the module show is what a server answers.
Method: all sessions of a page are sent to one server, whose wall clock is what the page says ("# 2024-05-05 12:10"), or for
        which time passes ("# 31 seconds later"), and the replies are compared; <*> stands for any text in a line."""

import datetime
import functools
import re
import shlex
import sys
import time
import types

import pytest
import redis
from servers import SOURCE, wait_for
from test_pages import Link

sys.path.insert(0, str(SOURCE / "clients/python"))
import lethe_once

# A session is a ```text block that begins with a command, or with the time. The pages of commands: test_pages.py.
SESSION = re.compile(r"^```text\n((?:# [^\n]*\n)*> [A-Z].*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [page for page in sorted((SOURCE / "docs").rglob("*.md"))
         if page.parent.name != "commands" and SESSION.search(page.read_text())]


def steps_of(page):
    """("time", seconds), ("later", seconds) and (words, lines), in order."""
    steps = []
    for block in SESSION.findall(page.read_text()):
        for line in block.splitlines():
            if later := re.fullmatch(r"# (\d+) seconds later", line):
                steps.append(("later", int(later.group(1))))
            elif line.startswith("# "):
                date = datetime.datetime.fromisoformat(line[2:] + "+00:00")
                steps.append(("time", date.timestamp()))
            elif line.startswith("> "):
                steps.append((shlex.split(line[2:]), []))
            else:
                steps[-1][1].append(line)
    return steps


def is_like(shown, expected):
    pattern = "\n".join(re.escape(line).replace(re.escape("<*>"), ".*") for line in expected)
    return re.fullmatch(pattern, "\n".join(shown)) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_tutorial_is_true(timed, clock, page):
    link, steps = Link(timed.port, 2), steps_of(page)
    assert sum(words not in ("time", "later") for words, _ in steps) >= 4
    for words, expected in steps:
        if words == "time":
            clock.set_wall(int((expected - time.time()) * 1000))
        elif words == "later":
            clock.pass_time(expected * 1000)
        elif words[0] == "ONCE.HOLDS": # the timer ends leases
            wait_for(lambda asked=words, lines=expected: is_like(link.ask(asked), lines), what=" ".join(words))
        else:
            shown = link.ask(words)
            assert is_like(shown, expected), f"{' '.join(words)}\n" + "\n".join(shown)
    link.close()


def test_the_pages_are_found():
    assert {"redis-meters", "redis-limits", "redis-holds", "claims", "redis", "lua", "rate-limit"} <= {
        page.stem for page in PAGES}


def test_the_script_that_is_moved_from_is_right(server):
    (script,) = re.findall(r"^```lua\n(.*?)^```$", (SOURCE / "docs/howto/lua.md").read_text(), re.DOTALL | re.MULTILINE)
    assert [int(server.call("EVAL", script, 1, "likes", id, "post", 3)) for id in ("a", "b", "a")] == [3, 6, 6]


def test_the_client_on_the_first_page(server):
    (sample,) = re.findall(r"^```python\n(.*?)^```$", (SOURCE / "docs/start/redis.md").read_text(), re.DOTALL | re.MULTILINE)
    here = types.SimpleNamespace(Redis=lambda: redis.Redis(port=server.port))
    with pytest.raises(lethe_once.Unacknowledged): # wait=1, and there is no replica
        exec(sample, {"redis": here, "Once": functools.partial(lethe_once.Once, timeout=0.5)})
    exec(sample.replace(", wait=1", ""), {"redis": here, "Once": lethe_once.Once})
    assert int(server.call("ONCE.GET", "clicks", "post:7")) == 2
