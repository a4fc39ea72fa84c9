"""What the tests of the live page share: a real server, a load, a real browser."""

import pathlib
import sys

import pytest

from browser import PROGRAM, Browser
from serving import SOURCE, Load, Server

sys.path.insert(0, str(SOURCE / "tests/support"))

# The screenshots stay after the test, in the folder where it runs.
PICTURES = pathlib.Path("pictures")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests: it takes a second or two to start."""
    if PROGRAM is None:
        pytest.skip("no Chromium here: install the package chromium (tools/setup.sh test)")
    PICTURES.mkdir(exist_ok=True)
    made = Browser(tmp_path_factory.mktemp("browser"))
    yield made
    made.close()


@pytest.fixture
def quiet(browser):
    """The browser; at the end, no page may have had a script error or a violation of the policy."""
    yield browser
    browser.receive(0.1)
    assert browser.errors == []


@pytest.fixture
def serve(tmp_path):
    """Starts servers, and ends them after the test."""
    started = []

    def run(*words, **more):
        started.append(Server(tmp_path, *words, **more))
        return started[-1]
    yield run
    for server in started:
        server.stop()


@pytest.fixture
def load():
    """Starts loads, and ends them after the test."""
    started = []

    def run(server, **more):
        started.append(Load(server, **more))
        return started[-1]
    yield run
    for one in started:
        one.ends.set()
        one.thread.join(60)


@pytest.fixture
def pictures():
    return PICTURES
