"""Goal: the benchmark runs to its end and prints what it measured.
Method: a small run. No speed is judged."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("numpy")
BUILD = os.environ["LETHE_BUILD_DIR"]
NATIVE = os.path.join(BUILD, "python", "lethe_python_native.so")


@pytest.mark.skipif(not os.path.exists(NATIVE), reason="built without LETHE_BENCH")
def test_the_benchmark():
    bench = os.path.join(os.environ["LETHE_SOURCE_DIR"], "python", "bench", "bench.py")
    done = subprocess.run([sys.executable, "-B", bench, "--keys", "4000", "--rounds", "1",
                           "--build", BUILD], capture_output=True, text=True, check=True)
    printed = json.loads(done.stdout)
    assert {row["structure"] for row in printed["batches"]} >= {"bloom", "quotient", "window"}
    assert all(row["python_Mkeys_s"] > 0 and row["c_Mkeys_s"] > 0 for row in printed["batches"])
    assert {"set", "dict", "bloom"} <= {row["structure"] for row in printed["singles"]}
