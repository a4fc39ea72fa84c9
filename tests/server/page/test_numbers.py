"""Goal: a person who looks at the live page sees the numbers that the server has, whatever keys there are.

Method: a real server and a real browser. While a load runs, each total on the page lies between what the
API said before and what it says after. When the load has ended, every number on the page is the API's, and
the totals are those of the load. Then keys that a page could stumble over, numbers that a Number cannot
hold, and every text that the page makes of numbers."""

import json
import re
import subprocess
import time

import pytest

from serving import BINARIES
from sizes import sized

READY = "document.querySelectorAll('#outcomes tr').length > 1 && !document.querySelector('#panels').hidden"
# What the page shows of the outcomes, and of the counters: text by text.
TOTALS = """Object.fromEntries([...document.querySelectorAll('#outcomes tr')].map((row) =>
    [row.dataset.outcome, row.children[2].textContent]))"""
COUNTERS = """[...document.querySelectorAll('#counters tr')].map((row) =>
    [row.querySelector('bdi').textContent, row.children[2].textContent])"""


def totals(page):
    """The totals on the page, as numbers."""
    return {name: int(text.replace(",", "")) for name, text in page.evaluate(TOTALS).items()}


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.05)


def test_the_numbers_are_those_of_the_api_while_a_load_runs(quiet, serve, load, pictures):
    server = serve("--per", "1h,1d")
    running = load(server)
    quiet.open(server.address)
    quiet.wait(READY)
    last = 0
    for _ in range(sized(2, 20, 200)):
        # The load runs, and the server has looked at its store again.
        until(lambda: int(server.status()["totals"]["applied"]) > last)
        before = server.status()["totals"]
        until(lambda: totals(quiet)["duplicate"] >= int(before["duplicate"]))
        shown = totals(quiet)
        after = server.status()["totals"]
        for name in ("applied", "duplicate"):
            assert int(before[name]) <= shown[name] <= int(after[name])
        last = int(after["applied"])
    quiet.wait("document.querySelectorAll('#rate-chart .fill-duplicate').length > 0")
    quiet.wait("document.querySelectorAll('.moving').length > 5")
    quiet.wait("document.querySelectorAll('#usage-chart .bar').length > 0")
    for chart, expected in (("rate", "applied "), ("usage", ":00")):
        box = quiet.evaluate(f"document.querySelector('#{chart}-chart').scrollIntoView({{block: 'center'}}); "
                             f"document.querySelector('#{chart}-chart').getBoundingClientRect().toJSON()")
        quiet.hover(box["right"] - 8, box["top"] + box["height"] / 2)
        quiet.wait(f"document.querySelector('#{chart}-chart .tip').innerText.includes('{expected}')")
    quiet.screenshot(pictures / "load-light.png")
    quiet.look(dark=True)
    quiet.screenshot(pictures / "load-dark.png")
    running.end()
    # The server looks at its store once a second: then it has all of the load.
    until(lambda: server.status()["totals"]["applied"] == str(running.applied))
    until(lambda: sum(int(one["value"]) for one in server.status()["top"]) == running.sum)
    assert server.status()["totals"]["duplicate"] == str(running.duplicates)
    quiet.wait(f"document.querySelector('#tile-total').textContent === '{running.applied:,}'")
    compare_all(quiet, server)


def compare_all(page, server):
    """Every exact number of the page, when nothing changes any more."""
    status = server.status()
    page.wait(f"document.querySelector('#counters tr').children[2].textContent === "
              f"'{int(status['top'][0]['value']):,}'")
    assert totals(page) == {name: int(status["totals"][name]) for name in totals(page)}
    assert page.evaluate(COUNTERS) == [[one["key"], f"{int(one['value']):,}"] for one in status["top"]]
    assert page.text("#window-text").startswith(f"{int(status['window']['ids']):,} ids of the last ")
    ages = page.evaluate("[...document.querySelectorAll('#ages tr')].map((row) => row.children[1].textContent)")
    assert sum(int(text.replace(",", "")) for text in ages) == sum(
        int(age["ids"]) for age in status["window"]["ages"])
    assert f"in {int(status['counters']):,} counters" in page.text("#tile-total-more")
    share = int(status["totals"]["duplicate"]) / (
        int(status["totals"]["duplicate"]) + int(status["totals"]["applied"]))
    assert f"{share * 100:.1f}% so far" in page.text("#tile-share-more")
    assert page.text("#verdict-title") == "The totals are right"
    chosen = page.evaluate("document.querySelector('#usage-key').selectedOptions[0].textContent")
    value = {one["key"]: int(one["value"]) for one in status["top"]}[chosen]
    until(lambda: page.evaluate("[...document.querySelectorAll('#usage-rows tr')]"
                                ".reduce((all, row) => all + Number(row.children[1].textContent"
                                ".replaceAll(',', '')), 0)") == value)


HOSTILE = {
    "<script>document.title='broken'</script>": None,
    "<img src=x onerror=\"document.title='broken'\">": None,
    "k" * 1024: None,
    "שלום \u202egnp.exe": "שלום ⟨U+202E⟩gnp.exe",
    "🦊 emoji": None,
    "a\x01b\u200bc\td\n": "a⟨U+0001⟩b⟨U+200B⟩c⟨U+0009⟩d⟨U+000A⟩",
    "zero\u200dwidth\ufe0f\U000e0100\u2800": "zero⟨U+200D⟩width⟨U+FE0F⟩⟨U+E0100⟩⟨U+2800⟩",
    "👩\u200d🚀 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥": None,
    "two  blanks": None,
    "&amp; ${key} {{key}}": None,
    b"\xff\xfe\\<b>": r"\xff\xfe\x5c<b>",
}


def escaped(key):
    """A key as lethe count reads it."""
    raw = key if isinstance(key, bytes) else key.encode()
    return raw.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")


def test_hostile_keys_are_text(quiet, serve, pictures):
    events, expected = [], []
    for number, (key, text) in enumerate(HOSTILE.items()):
        value = 9223372036854775807 - number if number < 2 else 1000 - number
        events.append(b"h%d\t%s\t%d\n" % (number, escaped(key), value))
        expected.append([text if text is not None else key, f"{value:,}"])
    server = serve("--per", "1h", lines=b"".join(events))
    quiet.open(server.address)
    quiet.wait("document.querySelectorAll('#counters tr').length >= 11")
    assert quiet.evaluate(COUNTERS) == expected
    assert quiet.evaluate("document.querySelectorAll('#counters script, #counters img, #counters b').length") == 0
    assert "two  blanks" in quiet.evaluate("document.querySelector('#counters').innerText")
    for key in range(len(HOSTILE)):
        quiet.evaluate(f"""(() => {{ const key = document.querySelector('#usage-key');
            key.selectedIndex = {key}; key.dispatchEvent(new Event('change')); }})()""")
        quiet.wait("new Promise((done) => setTimeout(() => done(true), 60))")
    assert quiet.evaluate("document.title") == "Lethe"
    quiet.screenshot(pictures / "hostile.png")
    quiet.resize(390, 844, True)
    quiet.wait("innerWidth === 390 && document.documentElement.scrollWidth === 390")
    quiet.screenshot(pictures / "hostile-phone.png")


def test_the_last_bar_is_the_period_that_runs(quiet, serve):
    """Also where nothing was counted for some time; and periods of seconds have names of their own."""
    server = serve("--per", "1s")
    server.count([("a", "k", 7)])
    quiet.open(server.address)
    quiet.wait("document.querySelector('#usage-text').textContent.endsWith('at most 7, now 0.')")
    rows = quiet.evaluate("[...document.querySelectorAll('#usage-rows tr')].map((row) => "
                          "[...row.children].map((one) => one.textContent))")
    assert rows[0][1] == "0" and sum(int(value) for _, value in rows) == 7, rows
    names = [name for name, _ in rows]
    assert len(set(names)) == len(names), names
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", name) for name in names), names


def test_bars_of_what_was_taken_away(quiet, serve):
    server = serve("--per", "1h")
    server.count([("a", "k", -9)])
    quiet.open(server.address)
    quiet.wait("document.querySelector('#usage-text').textContent.endsWith(', now −9.')")
    assert quiet.evaluate("document.querySelector('#usage-chart .below').height.baseVal.value") > 50


TEXTS = [
    ("format", "exact('9223372036854775807')", "9,223,372,036,854,775,807"),
    ("format", "exact('-18446744073709551616.05')", "−18,446,744,073,709,551,616.05"),
    ("format", "exact('999')", "999"),
    ("format", "exact(null)", "–"),
    ("format", "rate(0)", "0"),
    ("format", "rate(0.5)", "0.5"),
    ("format", "rate(9999.4)", "9,999"),
    ("format", "rate(9999.6)", "10.0 k"),
    ("format", "rate(999600)", "1.00 M"),
    ("format", "rate(-1234567)", "−1.23 M"),
    ("format", "bytes(1023)", "1023 B"),
    ("format", "bytes(1536)", "1.50 KiB"),
    ("format", "percent(0)", "0%"),
    ("format", "percent(0.00001)", "under 0.01%"),
    ("format", "percent(0.999999)", "over 99.99%"),
    ("format", "percent(0.125)", "12.5%"),
    ("format", "small(1e-12)", "1e−12"),
    ("format", "small(0.0123)", "0.012"),
    ("format", "duration(259200000)", "3 d"),
    ("format", "duration(7260000)", "2 h 1 min"),
    ("format", "duration(2.5)", "2.5 ms"),
    ("format", "between(7200000, 10860000)", "2 to 3 h"),
    ("format", "between(0, 5000)", "0 to 5 s"),
    ("format", "between(2100, 2400)", "2 s"),
    ("format", "between(3600000, 10800000)", "60 min to 3 h"),
    ("format", "latency(1234)", "1.2 s"),
    ("format", "latency(2.5)", "2.5 ms"),
    ("format", "latency(0.25)", "250 µs"),
    ("format", "keyText({key: ''}).text", "(empty key)"),
    ("format", "tick(rate)(2500000)", "2.5 M"),
    ("format", "tick(rate)(100)", "100"),
    ("format", "tick(bytes)(2 ** 30)", "1 GiB"),
    ("model", "difference('9223372036854775807', '9223372036854775800')", 7),
    ("model", "difference('-0.05', '0.1')", -0.15),
    ("model", "ratio('4611686018427387904', '9223372036854775807')", 0.5),
    ("model", "ratio('-5', '7')", 0),
    ("chart", "roundUp(268)", 300),
    ("chart", "roundUp(100)", 100),
]


def check_texts(quiet):
    for module, expression, expected in TEXTS:
        found = quiet.evaluate(f"import('/page/{module}.js').then((m) => {{ "
                               f"const {{{names(expression)}}} = m; return {in_module(expression)}; }})")
        assert found == expected, expression


def names(expression):
    return expression.split("(", 1)[0]


def in_module(expression):
    """tick takes another function of the module."""
    return re.sub(r"\((rate|bytes)\)", r"(m.\1)", expression)


SAMPLE = {"totals": {"applied": "5", "duplicate": "0"}, "strain": [],
          "window": {"error_now": 1e-13, "error_target": 1e-12, "expected_lost": 1e-9},
          "ledger": {"error_now": 1e-10, "error_target": 1e-9}}


def check_verdict(quiet):
    """What would be said of states that a test cannot bring about in a second."""
    def verdict(**changes):
        sample = {**SAMPLE, **{name: {**SAMPLE[name], **change} if isinstance(change, dict) else change
                               for name, change in changes.items()}}
        return quiet.evaluate(f"import('/page/model.js').then((m) => m.verdict({json.dumps(sample)}))")

    fine = verdict()
    assert (fine["level"], fine["title"], fine["note"]) == ("ok", "The totals are right", "")
    assert fine["text"].startswith("5 events counted, each once. Every promise holds. ")
    assert verdict(window={"error_now": 2e-12})["title"] == "The error is above its target"
    lost = verdict(window={"expected_lost": 12.4})
    assert lost["level"] == "strain" and "about 12 events" in lost["text"]
    one = [{"code": "memory", "text": "a", "remedy": "b"}]
    assert verdict(strain=one)["title"] == "One promise does not hold at the moment"
    assert verdict(strain=one * 2)["level"] == "strain"
    assert verdict(totals={"late": "3", "overflow": "1200"})["note"].endswith(": 3 late and 1,200 overflow.")
    assert verdict(window={"error_now": 0, "error_target": 0, "expected_lost": 0})["level"] == "ok"
    assert verdict(ledger=None)["level"] == "ok"
    assert verdict(ledger={"error_now": 2e-9})["title"] == "The ledger's error is above its target"


def check_speeds(quiet):
    """A counter that gets ten a second, in a store whose counters are ranked every ten seconds, or every one."""
    for every in (1, 10):
        found = quiet.evaluate("""Promise.all([import('/page/model.js'), import('/page/format.js')]).then(([model, format]) => {
            const [history, speeds] = [new model.History(), []];
            for (let second = 0; second < 60; second++) {
                const ranked = second - second % EVERY;
                history.add({time_ms: 1e12 + 1000 * second, rate: {}, top_uptime_s: second < EVERY ? null : ranked + 0.5,
                    top: second < EVERY ? [] : [{key: 'k', value: String(2n ** 62n + 10n * BigInt(ranked))}]});
                speeds.push(model.growth(history, format.keyIdentity).get('tk') ?? null);
            }
            return speeds; })""".replace("EVERY", str(every)))
        assert set(found[:2 * every]) == {None} and set(found[2 * every:]) == {10}, found


def test_a_ledger_that_is_too_full_shows(quiet, serve, tmp_path):
    events = b"".join(b"%d\tk\n" % number for number in range(200000))
    subprocess.run([BINARIES / "lethe", "count", "-q", "--db", tmp_path / "db", "--forever", "--ledger-capacity", "1000",
                    "--ledger-error", "1e-6"], input=events, check=True)
    server = serve()
    quiet.open(server.address)
    quiet.wait(READY)
    ledger = server.status()["ledger"]
    assert ledger["error_now"] > ledger["error_target"] == 1e-6, ledger
    assert quiet.text("#verdict-title") == "The ledger's error is above its target"
    assert quiet.evaluate("document.querySelector('#verdict').dataset.level") == "strain"


@pytest.mark.parametrize("mode", ["--exact", "--forever"])
def test_modes_that_promise_more(quiet, serve, pictures, mode):
    """Without an error, and with a ledger beside the window."""
    server = serve(mode)
    server.count([(f"id-{i}", "key", 1) for i in range(3000)])
    quiet.open(server.address)
    quiet.wait("document.querySelector('#tile-total').textContent === '3,000'")
    is_exact = mode == "--exact"
    assert (quiet.text("#tile-error") == "0") == is_exact
    assert quiet.text("#error-text").startswith("Ids are compared exactly: ") == is_exact
    assert quiet.evaluate("document.querySelector('#error-gauge').hidden") == is_exact
    assert quiet.evaluate("document.querySelector('#ledger').hidden") == is_exact
    if not is_exact:
        capacity = int(server.status()["ledger"]["capacity"])
        assert f"of the planned {capacity:,}" in quiet.text("#ledger-text")
    assert quiet.text("#verdict-title") == "The totals are right"
    quiet.screenshot(pictures / f"mode{mode}.png")


def test_numbers_and_states_become_text_that_is_right(quiet, serve):
    quiet.open(serve().address)
    check_texts(quiet)
    check_verdict(quiet)
    check_speeds(quiet)


def test_what_is_held_is_shown_where_there_are_holds(quiet, serve):
    server = serve()
    quiet.open(server.address)
    quiet.wait(READY)
    assert quiet.evaluate("document.querySelector('#tile-holds').hidden")
    status, _ = server.ask("POST", "/v1/holds/a/place", json.dumps({"key": "k", "amount": 1234, "limit": 5000}).encode(), "application/json")
    assert status == 201
    quiet.wait("document.querySelector('#tile-held').textContent === '1,234'")
    assert quiet.text("#tile-held-more") == "by 1 open hold" and quiet.evaluate("!document.querySelector('#tile-holds').hidden")
