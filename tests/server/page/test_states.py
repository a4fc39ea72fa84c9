"""Goal: the live page says what it knows and what it does not, to everybody: with a keyboard, a screen reader,
a phone, in light and dark, with a token, and when the server is gone.

Method: a real server and a real browser; servers are killed and started again, pages are opened at several
widths, keys are pressed, and colours are measured. Screenshots of every state stay in the folder `pictures`
of the test."""

import json
import signal
import time

import pytest

from sizes import SIZE

READY = "document.querySelectorAll('#outcomes tr').length > 1 && !document.querySelector('#panels').hidden"
STATE = "document.querySelector('#link').dataset.state"
EVENTS = [(f"e{i}", f"key-{i % 7}", i) for i in range(1, 400)]
TOKEN = "test-token-of-the-page-0123456789"


# Records each text that an element has from now on.
RECORD = """{
    const element = document.querySelector('NAME');
    const texts = (window.recorded ??= {})['NAME'] = [];
    new MutationObserver(() => {
        if (texts.at(-1) !== element.textContent) texts.push(element.textContent);
    }).observe(element, {childList: true});
}"""


def opened(page, server, **how):
    page.open(server.address, **how)
    page.wait(READY)


def test_a_lost_server_shows_and_the_page_recovers(quiet, serve, pictures):
    server = serve()
    server.count(EVENTS)
    opened(quiet, server)
    for name in ("#announce", "#link-text", "title"):
        quiet.evaluate(RECORD.replace("NAME", name))
    server.stop(signal.SIGKILL)
    quiet.wait(f"{STATE} === 'lost'", 10)
    quiet.wait("document.querySelector('#lost-text').textContent.includes('Next attempt')")
    assert not quiet.evaluate("document.querySelector('#lost').hidden")
    assert quiet.text("#verdict-title").startswith("Last seen at ")
    quiet.wait("window.recorded['#link-text'].includes('Connecting again')")
    quiet.screenshot(pictures / "lost-light.png")
    quiet.look(dark=True)
    quiet.screenshot(pictures / "lost-dark.png")
    server.start()
    server.count([("new", "key-1", 1)])
    quiet.evaluate("document.querySelector('#retry').click()")
    quiet.wait(f"{STATE} === 'live'")
    quiet.wait("document.querySelector('#tile-total').textContent === '400'")
    assert quiet.evaluate("document.querySelector('#lost').hidden")
    assert quiet.text("#verdict-title") == "The totals are right"
    assert quiet.evaluate("window.recorded['#announce']") == [
        "The server is lost. The page tries again by itself.", "Connected: the numbers are live."]
    assert quiet.evaluate("window.recorded['title']") == ["Server lost – Lethe", "Lethe"]


def test_the_page_returns_by_itself(quiet, serve):
    server = serve()
    opened(quiet, server)
    server.stop()
    quiet.wait(f"{STATE} === 'lost'", 10)
    server.start()
    quiet.wait(f"{STATE} === 'live'", 40)


def test_strain_is_said_in_words_with_what_to_do(quiet, serve, pictures):
    """A window that may have no more memory: a promise that really does not hold."""
    server = serve("--memory", "64KiB")
    opened(quiet, server)
    quiet.wait("document.querySelector('#verdict').dataset.level === 'ok'")
    server.count([(f"s{i}", "key", 1) for i in range(8000)])
    quiet.wait("document.querySelector('#verdict').dataset.level === 'strain'")
    status = server.status()
    strain, refused = status["strain"], int(status["totals"]["refused"])
    assert len(strain) == 1 and refused > 0
    assert quiet.text("#verdict-title") == "One promise does not hold at the moment"
    assert quiet.text(".strain-text") == strain[0]["text"]
    assert quiet.text(".strain-remedy") == f"What to do: {strain[0]['remedy']}"
    quiet.wait(f"document.querySelector('#verdict-note').textContent.endsWith(': {refused:,} refused.')")
    assert quiet.text("#announce") == "One promise does not hold at the moment."
    quiet.screenshot(pictures / "strain-light.png")
    quiet.look(dark=True)
    quiet.screenshot(pictures / "strain-dark.png")


@pytest.mark.skipif(SIZE == "day", reason="waits until a silence is too long: make test-all does")
def test_a_silent_server_is_lost(quiet, serve):
    server = serve()
    opened(quiet, server)
    server.send(signal.SIGSTOP)
    try:
        quiet.wait(f"{STATE} === 'lost'", 20)
        assert "silent" in quiet.text("#lost-text")
    finally:
        server.send(signal.SIGCONT)
    quiet.wait(f"{STATE} === 'live'", 60)


def test_a_token_is_asked_for_and_travels_in_a_header_only(quiet, serve, tmp_path, pictures):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{TOKEN} read,write\n")
    tokens.chmod(0o600)
    server = serve("--token-file", tokens, token=TOKEN)
    quiet.open(server.address)
    quiet.wait(f"{STATE} === 'token'")
    assert quiet.evaluate("document.activeElement.id") == "token"
    assert quiet.text("#ask-problem") == ""
    quiet.screenshot(pictures / "token.png")
    quiet.type("a token with a blank and “quotes”")
    quiet.press("Enter")
    quiet.wait("document.querySelector('#ask-problem').textContent.startsWith('A token has letters')")
    assert quiet.evaluate(STATE) == "token" and quiet.evaluate("document.activeElement.id") == "token"
    quiet.evaluate("document.querySelector('#token').value = ''")
    quiet.type("a-token-that-nobody-knows")
    quiet.press("Enter")
    quiet.wait("document.querySelector('#ask-problem').textContent === 'The server does not know this token.'")
    assert quiet.evaluate("document.activeElement.id") == "token"
    quiet.screenshot(pictures / "token-wrong.png", whole=False)
    quiet.type(TOKEN)
    quiet.press("Enter")
    quiet.wait(READY)
    assert quiet.evaluate("document.querySelector('#ask').hidden")
    assert quiet.evaluate("sessionStorage.length + localStorage.length") == 0
    assert quiet.evaluate("document.cookie") == ""
    for request in quiet.requests:
        assert TOKEN not in request["url"]
    assert f"Bearer {TOKEN}" in [request["headers"].get("Authorization") for request in quiet.requests]
    quiet.evaluate("document.querySelector('#forget-token').click()")
    quiet.wait(f"{STATE} === 'token'")
    assert quiet.evaluate("document.querySelector('#panels').hidden")
    quiet.type(TOKEN)
    quiet.evaluate("document.querySelector('#keep').click()")
    quiet.evaluate("document.querySelector('#ask-form').requestSubmit()")
    quiet.wait(READY)
    assert quiet.evaluate("sessionStorage.length") == 1
    quiet.command("Page.reload")
    quiet.wait(READY)


def focus_path(page, presses, shift=False):
    """What has the focus after each press of Tab."""
    found = []
    for _ in range(presses):
        page.press("Tab", shift)
        found.append(page.evaluate("document.activeElement.id || document.activeElement.className || "
                                   "document.activeElement.tagName"))
    return found


def test_the_keyboard_reaches_everything_in_order(quiet, serve, pictures):
    server = serve("--per", "1h")
    server.count(EVENTS)
    opened(quiet, server)
    quiet.wait("document.querySelectorAll('#usage-chart .bar').length > 0")
    path = focus_path(quiet, 6)
    assert path == ["skip", "pause", "usage-key", "usage-by", "SUMMARY", "SUMMARY"]
    outline = quiet.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    quiet.screenshot(pictures / "focus.png", whole=False)
    quiet.press("Enter")
    assert quiet.evaluate("document.querySelector('#history').open")
    quiet.wait("document.querySelectorAll('#history-rows tr').length > 0")
    assert focus_path(quiet, 5, shift=True) == ["SUMMARY", "usage-by", "usage-key", "pause", "skip"]
    quiet.press("Enter")
    assert quiet.evaluate("location.hash") == "#content"
    assert focus_path(quiet, 1) == ["usage-key"]


def test_a_pause_holds_the_numbers(quiet, serve, load):
    server = serve()
    running = load(server)
    opened(quiet, server)
    quiet.wait("document.querySelector('#tile-total').textContent !== '0'")
    focus_path(quiet, 2)
    quiet.press(" ")
    quiet.wait(f"{STATE} === 'paused'")
    shown = quiet.text("#tile-total")
    before = running.applied
    while running.applied == before and running.failure is None:
        time.sleep(0.05)
    time.sleep(1.2)  # longer than the interval: a sample would have come
    assert quiet.text("#tile-total") == shown
    quiet.press(" ")
    quiet.wait(f"{STATE} === 'live'")
    quiet.wait(f"document.querySelector('#tile-total').textContent !== '{shown}'")
    running.end()


def test_a_screen_reader_finds_names_and_is_not_talked_to(quiet, serve, load):
    server = serve("--per", "1h")
    load(server)
    opened(quiet, server)
    quiet.wait("document.querySelectorAll('#usage-chart .bar').length > 0")
    quiet.command("Accessibility.enable")
    nodes = [node for node in quiet.command("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
    roles = [node["role"]["value"] for node in nodes]
    for landmark in ("banner", "main", "contentinfo"):
        assert roles.count(landmark) == 1, landmark
    images = [node for node in nodes if node["role"]["value"] in ("img", "image") and "name" in node]
    named = [node["name"]["value"] for node in images if node["name"]["value"]]
    assert len(named) >= 6 and all(len(name) > 10 for name in named), named
    for role in ("button", "combobox", "table", "region"):
        for node in nodes:
            if node["role"]["value"] == role and role != "table":
                assert node["name"]["value"], role
    headings = [node["name"]["value"] for node in nodes if node["role"]["value"] == "heading"]
    assert headings[:2] == ["Lethe", "The totals are right"]
    quiet.evaluate("window.heard = 0; for (const live of document.querySelectorAll('[role=status], "
                   "[role=alert], [aria-live]')) new MutationObserver(() => window.heard++).observe(live, "
                   "{childList: true, subtree: true, characterData: true})")
    first = quiet.text("#tile-total")
    for _ in range(2):
        quiet.wait(f"document.querySelector('#tile-total').textContent !== '{first}'")
        first = quiet.text("#tile-total")
    assert quiet.evaluate("window.heard") == 0


def test_no_width_scrolls_sideways(quiet, serve, pictures):
    server = serve("--per", "1h")
    server.count([(f"w{i}", f"a-rather-long-name/of-a-counter/{i}", 10 ** (i % 19)) for i in range(60)])
    opened(quiet, server)
    quiet.wait("document.querySelectorAll('#usage-chart .bar').length > 0")
    for width in (320, 390, 768, 1024):
        quiet.resize(width, 844)
        for is_open in ("true", "false"):
            quiet.evaluate("for (const one of document.querySelectorAll('details')) "
                           f"one.open = {is_open}")
            quiet.wait("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame("
                       "() => done(true))))")
            assert quiet.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
            assert quiet.evaluate("Math.min(...[...document.querySelectorAll('#counters bdi')].map("
                                  "(key) => key.clientWidth))") > 100, "no room for keys"
        quiet.screenshot(pictures / f"width-{width}.png")


# The contrast of every text with what lies behind it, by the formula of WCAG 2; the least ones first.
CONTRASTS = """(() => {
    const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d',
        {willReadFrequently: true});
    const numbers = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const behind = (node) => { for (let at = node; at; at = at.parentElement) {
        const found = numbers(getComputedStyle(at).backgroundColor);
        if (found[3] === 255) return found; } return [255, 255, 255, 255]; };
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walk.nextNode()) {
        const node = walk.currentNode.parentElement;
        if (walk.currentNode.textContent.trim() === '' || node.closest('option, noscript, .unseen, .skip') ||
            node.getClientRects().length === 0) continue;
        const style = getComputedStyle(node);
        const ink = numbers(node.namespaceURI.endsWith('svg') ? style.fill : style.color);
        const [a, b] = [light(ink), light(behind(node))].sort((x, y) => y - x);
        found.push([(a + 0.05) / (b + 0.05), walk.currentNode.textContent]);
    }
    return found.sort((x, y) => x[0] - y[0]);
})()"""


def test_light_and_dark_can_be_read(quiet, serve):
    server = serve("--per", "1h")
    server.count(EVENTS)
    opened(quiet, server, reduced=True)
    quiet.wait("document.querySelectorAll('#usage-chart .bar').length > 0")
    grounds = []
    for dark in (False, True):
        quiet.look(dark, reduced=True)
        contrasts = quiet.evaluate(CONTRASTS)
        assert len(contrasts) > 60 and contrasts[0][0] >= 4.5, contrasts[:5]
        grounds.append(sum(json.loads(quiet.evaluate(
            "getComputedStyle(document.body).backgroundColor.replace('rgb(', '[').replace(')', ']')"))))
        assert quiet.evaluate("document.getAnimations().length") == 0, "less motion was asked for"
    assert grounds[0] > 600 and grounds[1] < 120


def test_the_check_for_errors_would_notice_them(browser, serve):
    """The policy forbids styles and scripts in the markup, other servers, and markup from texts."""
    opened(browser, serve())
    for forbidden in ("document.body.setAttribute('style', 'color: red')",
                      "fetch('http://127.0.0.1:9/').catch(() => null)",
                      "document.body.append(Object.assign(document.createElement('script'), "
                      "{textContent: 'window.ran = 1'}))",
                      "document.body.insertAdjacentHTML('beforeend', '<b>bold</b>')"):
        browser.errors.clear()
        browser.evaluate(f"setTimeout(() => {{ {forbidden}; }})")
        for _ in range(100):
            browser.receive(0.05)
            if browser.errors:
                break
        assert browser.errors, forbidden
    assert browser.evaluate("window.ran ?? document.querySelectorAll('b').length") == 0
    assert browser.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"
    browser.errors.clear()
    browser.evaluate("setTimeout(() => { throw new Error('thrown by the test'); })")
    browser.wait("new Promise((done) => setTimeout(() => done(true), 100))")
    assert any("thrown by the test" in error for error in browser.errors)
