"""What the module's tests share. Each server is killed when its test ends, however it ends."""

import os

import pytest

import servers

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
def pair(start):
    """A master and its replica."""
    master, replica = start(), start()
    replica.follow(master)
    replica.catch_up_with(master)
    return master, replica


def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs in make test-long only")


def pytest_collection_modifyitems(config, items):
    """Either the usual tests or, with LETHE_LONG, only the long ones."""
    wanted = bool(os.environ.get("LETHE_LONG"))
    chosen = [item for item in items if (item.get_closest_marker("long") is not None) == wanted]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
