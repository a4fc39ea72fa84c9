"""Goal: the live page of a server over Redis shows one table at a time, the one that was chosen, with the numbers that the API
and Redis have; it says when Redis is lost, when a table is gone and when there is none.

Method: a real Redis with the module, a load on two tables, a real browser; Redis is killed and started again. Screenshots of
every state stay in the folder `pictures` of the test."""

import json
import sys
import threading
import time

import pytest
from serving import SOURCE

pytest.importorskip("redis", reason="no redis-py here")
sys.path.insert(0, str(SOURCE / "tests/module"))
from servers import PROGRAM, Server as Redis  # noqa: E402  pylint: disable=wrong-import-position

from test_numbers import COUNTERS, READY, totals, until  # noqa: E402  pylint: disable=wrong-import-position

if PROGRAM is None:
    pytest.skip("no redis-server here", allow_module_level=True)

STATE = "document.querySelector('#link').dataset.state"
CHOICES = "[...document.querySelectorAll('#table option')].map((option) => option.textContent)"


@pytest.fixture
def redis(tmp_path):
    with Redis(tmp_path / "redis", appendonly="yes") as server:
        yield server


@pytest.fixture
def show(serve, redis):
    return lambda *words: serve(*words, redis=f"redis://127.0.0.1:{redis.port}")


class TableLoad:
    """Counts in one table in the background, every fourth event twice, until it is ended."""

    def __init__(self, redis, table, keys, delta):
        self.redis, self.table, self.keys, self.delta = redis, table, keys, delta
        self.applied = self.duplicates = 0
        self.failure = None
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while not self.ends.is_set():
                ids = [f"{self.table}-{self.applied + i}" for i in range(100)]
                for name in (ids, ids[::4]):
                    words = [word for i, one in enumerate(name) for word in (one, f"{self.table}/{i % self.keys:02}", self.delta)]
                    self.redis.call("ONCE.MINCRBY", self.table, *words)
                self.applied += len(ids)
                self.duplicates += len(ids[::4])
                time.sleep(0.02)
        except Exception as failure:  # it is raised where the load is ended
            self.failure = failure

    def end(self):
        self.ends.set()
        self.thread.join(60)
        if self.failure is not None:
            raise self.failure


def choose(page, name):
    page.evaluate(f"""(() => {{ const select = document.querySelector('#table');
        select.selectedIndex = {CHOICES}.indexOf({json.dumps(name)});
        select.dispatchEvent(new Event('change')); }})()""")


def status(server, table):
    code, answer = server.ask("GET", f"/v1/status?table={table}")
    assert code == 200, answer
    return answer


def test_two_tables_under_load(quiet, redis, show, pictures):
    redis.call("ONCE.CREATE", "clicks", "WINDOW", "1h", "PER", 60000, "PER", "hour")
    redis.call("ONCE.CREATE", "orders", "WINDOW", "10m")
    loads = {"clicks": TableLoad(redis, "clicks", 9, 1), "orders": TableLoad(redis, "orders", 4, 1000000007)}
    server = show()
    quiet.open(server.address)
    quiet.wait(READY)
    assert quiet.evaluate(CHOICES) == ["clicks", "orders"]
    assert not quiet.evaluate("document.querySelector('#table-choice').hidden")
    for name in ("clicks", "orders", "clicks"):
        choose(quiet, name)
        quiet.wait(f"document.querySelector('#counters bdi')?.textContent.startsWith('{name}/')")
        for _ in range(2):
            before = status(server, name)["totals"]
            until(lambda: totals(quiet)["duplicate"] >= int(before["duplicate"]))
            shown = totals(quiet)
            after = status(server, name)["totals"]
            for outcome in ("applied", "duplicate"):
                assert int(before[outcome]) <= shown[outcome] <= int(after[outcome])
    quiet.wait("document.querySelectorAll('#usage-chart .bar').length > 0")
    quiet.wait("document.querySelectorAll('.moving').length > 5")
    quiet.screenshot(pictures / "tables-light.png")
    quiet.look(dark=True)
    quiet.screenshot(pictures / "tables-dark.png")
    quiet.look()
    for load in loads.values():
        load.end()
    for name, load in loads.items():
        choose(quiet, name)
        until(lambda: status(server, name)["totals"]["applied"] == str(load.applied))
        quiet.wait(f"document.querySelector('#tile-total').textContent === '{load.applied:,}'")
        value = redis.call("ONCE.TOP", name, 1)[1]
        until(lambda: status(server, name)["top"][0]["value"] == str(value))
        quiet.wait(f"document.querySelector('#counters tr').children[2].textContent === '{value:,}'")
        found = status(server, name)
        assert found["totals"]["duplicate"] == str(load.duplicates)
        assert totals(quiet) == {outcome: int(found["totals"][outcome]) for outcome in totals(quiet)}
        assert quiet.evaluate(COUNTERS) == [[one["key"], f"{int(one['value']):,}"] for one in found["top"]]
        assert quiet.text("#window-text").startswith(f"{int(found['window']['ids']):,} ids of the last ")
        assert f"in {found['counters']} counters" in quiet.text("#tile-total-more")
        assert quiet.text("#verdict-title") == "The totals are right"
        assert quiet.text("#table-facts dd") == "1"
        has_bars = name == "clicks"
        assert quiet.evaluate("document.querySelector('#usage-body').hidden") != has_bars
        if has_bars:
            chosen = quiet.evaluate("document.querySelector('#usage-key').selectedOptions[0].textContent")
            total = {one["key"]: int(one["value"]) for one in found["top"]}[chosen]
            until(lambda: quiet.evaluate("[...document.querySelectorAll('#usage-rows tr')].reduce((all, row) => all + "
                                         "Number(row.children[1].textContent.replaceAll(',', '')), 0)") == total)
    assert "does not count per period" in quiet.evaluate("document.querySelector('#usage-none').innerText")
    # What only a store has is not there.
    for name in ("#tile-disk", "#disk-chart", "#commit-chart"):
        assert quiet.evaluate(f"document.querySelector('{name}').getClientRects().length") == 0, name
    quiet.screenshot(pictures / "tables-orders.png")
    quiet.resize(390, 844, True)
    quiet.wait("innerWidth === 390 && document.documentElement.scrollWidth === 390")
    quiet.screenshot(pictures / "tables-phone.png")


def test_redis_is_lost_and_the_page_says_so(quiet, redis, show, pictures):
    for i in range(300):
        redis.call("ONCE.INCRBY", "t", f"id-{i}", f"k-{i % 5}", i)
    server = show()
    quiet.open(server.address)
    quiet.wait("document.querySelectorAll('#counters tr').length === 5")
    assert quiet.evaluate("document.querySelector('#table-choice').hidden")  # there is nothing to choose from
    redis.kill()
    quiet.wait("!document.querySelector('#lost').hidden", 20)
    assert quiet.text("#lost-title") == "Redis is lost."
    assert str(redis.port) in quiet.text("#lost-text") and "The numbers below are from " in quiet.text("#lost-text")
    assert quiet.text("#link-text") == "Redis lost" and quiet.evaluate(STATE) == "lost"
    assert quiet.evaluate("document.title") == "Redis lost – Lethe"
    assert quiet.text("#verdict-title").startswith("Last seen at ") and quiet.text("#tile-total") == "300"
    assert quiet.text("#announce").startswith("Redis is lost.")
    quiet.screenshot(pictures / "redis-lost-light.png")
    quiet.look(dark=True)
    quiet.screenshot(pictures / "redis-lost-dark.png")
    # A page that is opened now says the same of what the server has seen.
    quiet.open(server.address)
    quiet.wait("!document.querySelector('#lost').hidden")
    quiet.wait("document.querySelector('#tile-total').textContent === '300'")
    assert quiet.text("#verdict-title").startswith("Last seen at ")
    redis.start()
    redis.call("ONCE.INCRBY", "t", "more", "k-1", 1)
    quiet.wait("document.querySelector('#tile-total').textContent === '301'")
    assert quiet.evaluate(STATE) == "live" and quiet.evaluate("document.querySelector('#lost').hidden")
    assert quiet.text("#verdict-title") == "The totals are right" and quiet.evaluate("document.title") == "Lethe"
    # The server itself is lost while Redis is there.
    server.stop()
    quiet.wait("document.querySelector('#lost-title').textContent === 'The server is lost.'", 20)
    assert not quiet.evaluate("document.querySelector('#retry').hidden")


def test_tables_come_and_go(quiet, redis, show, pictures):
    server = show()
    quiet.open(server.address)
    quiet.wait("!document.querySelector('#tables-notice').hidden")
    assert quiet.text("#tables-text").startswith(f"There is no table at 127.0.0.1:{redis.port} yet.")
    assert quiet.evaluate("document.querySelector('#panels').hidden")
    quiet.screenshot(pictures / "tables-none.png", whole=False)
    redis.call("ONCE.INCRBY", "a", "x", "k", 1)
    quiet.wait(READY)
    assert quiet.evaluate("document.querySelector('#tables-notice').hidden")
    redis.call("ONCE.INCRBY", "b", "x", "k", 22)
    quiet.wait(f"{CHOICES}.length === 2")
    choose(quiet, "b")
    quiet.wait("document.querySelector('#counters tr')?.children[2].textContent === '22'")
    redis.client.delete("b")
    quiet.wait("document.querySelector('#counters tr')?.children[2].textContent === '1'")
    assert quiet.evaluate(CHOICES) == ["a"]
    redis.client.delete("a")
    quiet.wait("!document.querySelector('#tables-notice').hidden")
    assert quiet.evaluate("document.querySelector('#panels').hidden")


HOSTILE = {
    b"<script>document.title='broken'</script>": "<script>document.title='broken'</script>",
    b"<img src=x onerror=\"document.title='broken'\">": "<img src=x onerror=\"document.title='broken'\">",
    "a\u202eb\n".encode(): "a⟨U+202E⟩b⟨U+000A⟩",
    b"\xff\\&": "\\xff\\x5c&",
    b"x" * 512: "x" * 47 + "…",
    b"%2F?table=a&b#c": "%2F?table=a&b#c",
}


def test_hostile_names_are_text(quiet, redis, show, pictures):
    for i, name in enumerate(HOSTILE):
        redis.call("ONCE.CREATE", name, "PER", "hour")
        redis.call("ONCE.INCRBY", name, "id", b"<b>key\xff", i + 1)
    server = show("--table", "<i>absent</i>", *(word for name in HOSTILE for word in ("--table", name)))
    quiet.open(server.address)
    quiet.wait(READY)
    assert sorted(quiet.evaluate(CHOICES)) == sorted(HOSTILE.values())
    assert quiet.text("#tables-text") == "Not shown: <i>absent</i> (there is no such table)."
    for i, text in enumerate(HOSTILE.values()):
        choose(quiet, text)
        quiet.wait(f"document.querySelector('#counters tr')?.children[2].textContent === '{i + 1}'")
        quiet.wait(f"document.querySelector('#usage-rows tr')?.children[1].textContent === '{i + 1}'")
        assert quiet.text("#counters bdi") == r"<b>key\xff"
    assert quiet.evaluate("document.querySelectorAll('main script, main img:not([src]), main b, main i').length") == 0
    assert quiet.evaluate("document.title") == "Lethe"
    quiet.resize(390, 844, True)
    quiet.wait("innerWidth === 390 && document.documentElement.scrollWidth === 390")
    quiet.screenshot(pictures / "tables-hostile-phone.png")
