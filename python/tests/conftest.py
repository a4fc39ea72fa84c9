"""The package as it was built, or, with LETHE_PYTHON_INSTALLED, the one that is installed."""

import os
import subprocess
import sys

import pytest

BUILD = os.environ["LETHE_BUILD_DIR"]
SOURCE = os.environ["LETHE_SOURCE_DIR"]
if not os.environ.get("LETHE_PYTHON_INSTALLED"):
    sys.path.insert(0, os.path.join(BUILD, "python", "package"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
sys.path.insert(0, os.path.join(SOURCE, "python", "recipes"))


@pytest.fixture
def lethe_program():
    """Runs the command line; returns what it printed, as bytes."""

    def run(*arguments, code=0, **options):
        done = subprocess.run([os.path.join(BUILD, "lethe"), *map(str, arguments)],
                              capture_output=True, timeout=60, **options)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run
