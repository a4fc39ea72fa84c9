"""What the tests of the command line share: where lethe is, and how it is run."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BINARIES = pathlib.Path(os.environ.get("LETHE_BIN_DIR", SOURCE / "build/release")).resolve()
sys.path.insert(0, str(SOURCE / "tests/support"))
# A shell starts what runs in the background with Ctrl-C ignored, and programs inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

if not os.access(BINARIES / "lethe", os.X_OK):
    pytest.exit(f"no lethe in {BINARIES}: build it, or set LETHE_BIN_DIR", returncode=2)


def run_lethe(*words, stdin=b"", cwd=None, timeout=120, **more):
    """Runs lethe to its end. The result has returncode, and stdout and stderr as bytes."""
    return subprocess.run([BINARIES / "lethe", *words], input=stdin, cwd=cwd, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **more)


@pytest.fixture
def lethe(tmp_path):
    """Runs lethe in a folder of the test's own."""
    def run(*words, stdin=b"", **more):
        return run_lethe(*words, stdin=stdin, cwd=tmp_path, **more)
    return run


@pytest.fixture
def count(lethe):
    """Counts into the store "d" or another one, and returns the summary, with the messages in it."""
    def run(*words, code=0, db="d", **more):
        result = lethe("count", "--db", db, "--json", *words, **more)
        assert result.returncode == code, result.stderr
        summary = json.loads(result.stdout) if result.stdout else {}
        summary["messages"] = result.stderr.decode()
        return summary
    return run


@pytest.fixture
def source():
    return SOURCE


@pytest.fixture
def binaries():
    return BINARIES
