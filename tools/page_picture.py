#!/usr/bin/python3
"""Draws docs/pictures/page.png, the live page of lethe serve under a load.

usage: tools/page_picture.py [FILE]

Needs build/release/lethe and Chromium. It starts a server on a store of its own, counts events of
the last two days, and then events of now for a minute, some of them twice, some late. The events are
made up; what the page shows of them is what the server says. The store is deleted."""

import json
import math
import pathlib
import random
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/server/page"))

from browser import PROGRAM, Browser  # noqa: E402
from serving import Server  # noqa: E402

NAMES = ("api/requests-eu api/requests-us tokens/small-model tokens/large-model checkout/paid "
         "checkout/refunded emails/sent searches/web searches/docs sessions/opened exports/csv "
         "webhooks/delivered webhooks/failed signups/completed video/minutes sms/sent images/resized "
         "storage/writes storage/reads reports/built invites/sent").split()
HOUR_MS = 3600 * 1000
HOURS = 47
LOAD_SECONDS = 59
# An event of the past stands for more than one of now, or an hour of now would dwarf theirs.
PAST_WEIGHT = 11


def events(numbers, time_ms, spread_ms, rng, weight=1):
    """Lines of JSON: the smaller a counter's place in the list, the more often it is counted."""
    lines = []
    for number in numbers:
        key = NAMES[min(int(rng.expovariate(0.28)), len(NAMES) - 1)]
        lines.append(json.dumps({"id": f"event-{number}", "key": key, "delta": rng.randint(1, 4) * weight,
                                 "time": int(time_ms - rng.random() * spread_ms)}))
    return lines


def send(server, lines):
    status, answer = server.ask("POST", "/v1/events", "\n".join(lines).encode() + b"\n")
    if status != 200:
        sys.exit(f"the server answered {status}: {answer}")


def fill(server, rng, now_ms):
    """Two days that have a morning and an evening. Returns the next event's number."""
    number = 0
    for hour in range(HOURS, 0, -1):
        count = int(40000 * (1.25 + math.sin((now_ms / HOUR_MS - hour - 8) * math.pi / 12)))
        send(server, events(range(number, number + count), now_ms - (hour - 1) * HOUR_MS, HOUR_MS, rng,
                            PAST_WEIGHT))
        number += count
    return number


def load(server, rng, number):
    """Events of now, in waves; about one in eight is a retry, a few are far too late."""
    end = time.monotonic() + LOAD_SECONDS
    while time.monotonic() < end:
        left = end - time.monotonic()
        count = int(900 * (1.3 + math.sin(left / 7) + 0.2 * rng.random()))
        now_ms = time.time() * 1000
        lines = events(range(number, number + count), now_ms, 500, rng)
        late = events((f"late-{number}-{i}" for i in range(count // 40)), now_ms - 100 * HOUR_MS, 0, rng)
        number += count
        send(server, lines + rng.sample(lines, count // 7) + (late if int(left / 11) % 3 == 0 else []))
        time.sleep(0.12)


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/pictures/page.png"
    if PROGRAM is None:
        sys.exit("no Chromium here: install the package chromium")
    with tempfile.TemporaryDirectory(prefix="lethe-page-") as name:
        folder = pathlib.Path(name)
        rng = random.Random(20)
        server = Server(folder, "--per", "1h,1d", "--event-time")
        browser = Browser(folder)
        try:
            number = fill(server, rng, time.time() * 1000)
            time.sleep(2.5)  # until no sample has the past in its rate
            browser.open(server.address, width=1200, height=900)
            load(server, rng, number)
            browser.wait("document.querySelectorAll('.moving').length > 10")
            browser.wait("document.querySelectorAll('#usage-chart .bar').length > 10")
            browser.screenshot(path)
        finally:
            browser.close()
            server.stop()
    print(path)


if __name__ == "__main__":
    main()
