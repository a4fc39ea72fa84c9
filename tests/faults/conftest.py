"""What the tests of faults share: streams with a known truth, and lethe run under faults."""

import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BINARIES = pathlib.Path(os.environ.get("LETHE_BIN_DIR", SOURCE / "build/release")).resolve()
PRELOAD = BINARIES / "tests/liblethe_faults.so"

sys.path.insert(0, str(SOURCE / "tests/support"))
from sizes import LONG, sized  # noqa: E402,F401 (the tests import them from here)

if not os.access(BINARIES / "lethe", os.X_OK):
    pytest.exit(f"no lethe in {BINARIES}: build it, or set LETHE_BIN_DIR", returncode=2)


class Stream:
    """Events with retries, and what they add up to."""

    def __init__(self, seed, count, path, least=-5):
        draw = random.Random(seed)
        self.path = path
        self.truth = collections.Counter()
        self.events = 0
        lines = []
        for number in range(count):
            changes = [(f"key-{min(int(draw.paretovariate(0.7)), 400)}", draw.randint(least, 20))
                       for _ in range(1 if draw.random() < 0.8 else draw.randint(2, 4))]
            fields = "\t".join(f"{key}\t{delta}" for key, delta in changes)
            line = f"{seed}-{number:08x}\t{fields}\n"
            for key, delta in changes:
                self.truth[key] += delta
            lines.append(line)
            if draw.random() < 0.06:  # retries, most of them soon
                back = min(len(lines) - 1, int(draw.expovariate(0.01)))
                lines.append(lines[len(lines) - 1 - back])
        self.events = len(lines)
        path.write_text("".join(lines))


class Store:
    """A folder of counters, and lethe at work on it."""

    def __init__(self, folder):
        self.folder = folder

    def start(self, *words, stdin=None, faults=None):
        environment = dict(os.environ)
        if faults is not None:
            environment["LD_PRELOAD"] = str(PRELOAD)
            environment["LETHE_FAULT_FOLDER"] = str(self.folder)
            environment.update(faults)
        return subprocess.Popen([BINARIES / "lethe", "count", "--db", self.folder, "--json", *words],
                                stdin=stdin if stdin is not None else subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)

    def count(self, *words, stdin=None, faults=None):
        """Runs to the end; returns exit code, the parsed summary or None, and the messages."""
        process = self.start(*words, stdin=stdin, faults=faults)
        output, errors = process.communicate(timeout=300)
        summary = json.loads(output) if process.returncode in (0, 5) else None
        return process.returncode, summary, errors.decode()

    def lethe(self, command, *words):
        result = subprocess.run([BINARIES / "lethe", command, "--db", self.folder, *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                timeout=300)
        return result.returncode, result.stdout.decode(), result.stderr.decode()

    def totals(self):
        code, output, errors = self.lethe("list")
        assert code == 0, errors
        return dict((key, int(value)) for key, value in
                    (line.split("\t") for line in output.splitlines()))

    def copy_to(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder)
        return Store(folder)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "store").mkdir()
    return Store(tmp_path / "store")


@pytest.fixture
def make_stream(tmp_path):
    def make(seed, count, **more):
        return Stream(seed, count, tmp_path / f"events-{seed}.tsv", **more)
    return make
