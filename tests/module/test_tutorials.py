"""Goal:   what the tutorials about the module show is what a server answers.
Method: all sessions of a page are sent to one server, whose wall clock is what the page says ("# 2024-05-05 12:10"), or for
        which time passes ("# 31 seconds later"), and the replies are compared; <*> stands for any text in a line."""

import datetime
import re
import shlex
import time

import pytest
from servers import SOURCE, wait_for
from test_pages import Link

PAGES = [*sorted((SOURCE / "docs").glob("redis-*.md")), SOURCE / "docs/claims.md"]


def steps_of(page):
    """("time", seconds), ("later", seconds) and (words, lines), in order."""
    steps = []
    for block in re.findall(r"^```text\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE):
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
    assert sum(words not in ("time", "later") for words, _ in steps) > 5
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
