"""A headless Chromium, driven through its DevTools protocol over a pipe.

Nothing but the browser is needed: messages are JSON, each ended by a NUL byte, on file descriptors
3 and 4 of the browser. Script errors, violations of the Content-Security-Policy and failed requests
are collected while pages run, so that a test can say that there were none."""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which(
    "google-chrome")
FLAGS = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars",
         "--force-color-profile=srgb", "--lang=en"]
# Puts the ends of the pipes where the browser looks for them; either may be at the other's place.
AS_3_AND_4 = """import fcntl, os, sys
ends = [fcntl.fcntl(int(word), fcntl.F_DUPFD, 10) for word in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])"""
# Why a fetch failed is in the console as an error, too; a lost server is no error of the page.
NETWORK = "Failed to load resource"


class Left(RuntimeError):
    """The page was left for another while it was asked something."""


class Browser:
    """One browser process with one page at a time."""

    def __init__(self, folder):
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        words = [PROGRAM, *FLAGS, f"--user-data-dir={folder}/profile", "about:blank"]
        with open(f"{folder}/chromium.log", "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", AS_3_AND_4, str(to_browser), str(from_browser), *words],
                pass_fds=(to_browser, from_browser), stdout=log, stderr=log, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session, self.answers = b"", 0, None, {}
        self.errors, self.requests = [], []

    def close(self):
        try:
            self.command("Browser.close", session=None)
            self.process.wait(5)
        except (OSError, TimeoutError, RuntimeError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.write)
        os.close(self.read)

    def receive(self, seconds):
        """Takes what the browser has sent, for at most the given time."""
        if not select.select([self.read], [], [], seconds)[0]:
            return
        chunk = os.read(self.read, 1 << 20)
        if chunk == b"":
            raise RuntimeError("the browser has ended")
        *messages, self.rest = (self.rest + chunk).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") == self.session:
                self.notice(message["method"], message["params"])

    def notice(self, method, params):
        """Remembers what a page should never do, and what it asked for."""
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            if not params["entry"]["text"].startswith(NETWORK):
                self.errors.append(params["entry"]["text"])
        elif method == "Audits.issueAdded":
            if params["issue"]["code"] == "ContentSecurityPolicyIssue":
                self.errors.append(json.dumps(params["issue"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"])

    def command(self, method, session="page", **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 60
        while self.number not in self.answers:
            if time.monotonic() > end:
                raise TimeoutError(method)
            self.receive(1)
        answer = self.answers.pop(self.number)
        if "error" in answer:
            problem = answer["error"]["message"]
            kind = Left if "navigated" in problem or "context" in problem else RuntimeError
            raise kind(f"{method}: {problem}")
        return answer["result"]

    def open(self, address, width=1280, height=900, dark=False, reduced=False, mobile=False):
        """Opens an address in a new page, and closes the one before. Storage is that of a new tab."""
        old = self.session
        target = self.command("Target.createTarget", session=None, url="about:blank")["targetId"]
        if old is not None:
            self.command("Target.closeTarget", session=None, targetId=self.target)
        self.target, self.errors, self.requests = target, [], []
        self.session = self.command("Target.attachToTarget", session=None, targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Audits", "Page", "Network"):
            self.command(f"{domain}.enable")
        self.look(dark, reduced)
        self.resize(width, height, mobile)
        self.command("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def look(self, dark=False, reduced=False):
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced else "no-preference"}])

    def resize(self, width, height, mobile=False):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=2 if mobile else 1, mobile=mobile)

    def evaluate(self, expression):
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True,
                              awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def wait(self, condition, seconds=30):
        """Waits until an expression is true in the page, and returns its value."""
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(Left):
                found = self.evaluate(condition)
                if found:
                    return found
            if time.monotonic() > end:
                raise TimeoutError(f"{condition}\n{self.evaluate('document.body.innerText')}")
            self.receive(0.05)

    def text(self, selector):
        """The text of the first element that fits, as the document has it; None if there is none."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def press(self, key, shift=False):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        common = {"key": key, "code": {" ": "Space"}.get(key, key), "windowsVirtualKeyCode": codes[key],
                  "modifiers": 8 if shift else 0}
        text = {"Enter": "\r", " ": " "}.get(key)
        self.command("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        with contextlib.suppress(Left):  # the key may have opened another page
            self.command("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.command("Input.insertText", text=text)

    def hover(self, x, y):
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path, whole=True, clip=None):
        """Writes a PNG of the page, or of what is in view."""
        params = {"captureBeyondViewport": whole}
        if whole or clip:
            size = self.command("Page.getLayoutMetrics")["cssContentSize"]
            params["clip"] = {**size, "scale": 1, **(clip or {})}
        data = self.command("Page.captureScreenshot", format="png", **params)["data"]
        path.write_bytes(base64.b64decode(data))
