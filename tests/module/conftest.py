"""What the module's tests share. Each server is killed when its test ends, however it ends."""

import pathlib
import sys

import pytest

import servers

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from sizes import LONG  # noqa: E402

if servers.PROGRAM is None:
    pytest.exit("no redis-server here", returncode=2)
if not servers.MODULE.exists():
    pytest.exit(f"no {servers.MODULE}: build it, or set LETHE_BUILD_DIR", returncode=2)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for all tests of a file; each test gets it empty."""
    with servers.Server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def server(shared):
    shared.client.flushall()
    return shared


@pytest.fixture
def start(tmp_path):
    """Starts servers with options of their own."""
    started = []
    def run(**options):
        one = servers.Server(tmp_path / str(len(started)), **options)
        started.append(one)
        return one.start()
    yield run
    for one in started:
        one.kill()


@pytest.fixture
def clock(tmp_path):
    """A host's clocks, which a test may set."""
    if servers.is_bound_deeply():
        pytest.skip("this server gives modules no other clocks")
    return servers.Clock(tmp_path / "clock")


@pytest.fixture
def timed(start, clock):
    """A server whose time passes when the test says so, and as it really does."""
    return start(clock=clock)


@pytest.fixture
def timed_pair(start, clock):
    """A master and its replica on a host whose time passes when the test says so."""
    master, replica = start(clock=clock), start(clock=clock)
    replica.follow(master)
    replica.catch_up_with(master)
    return master, replica


@pytest.fixture
def pair(start):
    """A master and its replica."""
    master, replica = start(), start()
    replica.follow(master)
    replica.catch_up_with(master)
    return master, replica


def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs in make test-long only")


def pytest_collection_modifyitems(config, items):
    """Those with the mark in make test-long, and the others, at whatever size, elsewhere."""
    chosen = [item for item in items if (item.get_closest_marker("long") is not None) == LONG]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
