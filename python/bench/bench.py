#!/usr/bin/python3
"""Measures the Python package beside the C library, and beside a Python set and dict.

usage: python/bench/bench.py [--keys N] [--rounds N] [--build FOLDER]

Prints JSON. Batches: millions of keys per second of the package and of a C loop over the same
arrays in the same process, and their ratio (1.0: as fast as C). Single calls: a for loop that calls
a method, beside the same loop on a set or dict. Times are CPU times of the thread, the best of some
rounds, in which the package and C take turns.
"""

import argparse
import ctypes
import json
import os
import platform
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keys", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build", "release"))
    return parser.parse_args()


OPTIONS = arguments()
sys.path.insert(0, os.path.join(OPTIONS.build, "python", "package"))
import lethe  # noqa: E402
import numpy  # noqa: E402


class NativeKeys(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("offsets", ctypes.c_void_p),
                ("width", ctypes.c_size_t), ("count", ctypes.c_size_t)]


native = ctypes.CDLL(os.path.join(OPTIONS.build, "python", "lethe_python_native.so"))
native.native_make.restype = ctypes.c_void_p
native.native_make.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_double]
native.native_free.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
native.native_run.restype = ctypes.c_double
native.native_run.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p,
                              ctypes.POINTER(NativeKeys), ctypes.c_void_p]

ERROR = 0.01
MAKERS = {
    "bloom": lambda n: lethe.Bloom(capacity=n, error=ERROR),
    "blocked": lambda n: lethe.Bloom(capacity=n, error=ERROR, layout="blocked"),
    "quotient": lambda n: lethe.Quotient(capacity=n, error=ERROR),
    "gaussian": lambda n: lethe.Gaussian(capacity=n, error=ERROR),
    "window": lambda n: lethe.Window(capacity=n, error=ERROR),
    "forgetful": lambda n: lethe.Forgetful(capacity=n, error=ERROR),
    "count-min": lambda n: lethe.Sketch(),
}
# A sketch's add has weights and keys, which a C program would hand over in another way.
OPERATIONS = {"window": ["add_and_test", "test"], "count-min": ["count"]}


def forms(n):
    """The same number of keys as integers, fixed bytes and offsets with data."""
    numbers = numpy.random.default_rng(7).integers(0, 2**62, n)
    fixed = numpy.char.zfill(numbers.astype("S19"), 19)
    data = fixed.tobytes()
    offsets = numpy.arange(0, 19 * n + 1, 19, dtype="i8")
    yield "int64 array", numbers, NativeKeys(numbers.ctypes.data, None, 8, n)
    yield "S19 array", fixed, NativeKeys(fixed.ctypes.data, None, 19, n)
    buffer = numpy.frombuffer(data, dtype="u1")
    yield ("offsets and data", lethe.Strings(offsets, buffer),
           NativeKeys(buffer.ctypes.data, offsets.ctypes.data, 0, n))


def measure(call):
    begin = time.thread_time()
    call()
    return time.thread_time() - begin


def batches(n, rounds):
    for form, keys, native_keys in forms(n):
        for name, make in MAKERS.items():
            if name == "forgetful":  # nothing in it to find without adding, which has no batch
                continue
            best = {}
            for _ in range(rounds):
                ours, theirs = make(n), native.native_make(name.encode(), n, ERROR)
                timed = {"now_ms": 1000} if name == "window" else {}
                out = numpy.zeros(n, dtype="u8" if name == "count-min" else bool)
                for operation in OPERATIONS.get(name, ["add", "test"]):
                    call = getattr(ours, operation + "_many")
                    more = timed if operation == "add" else {"out": out, **timed}
                    python = measure(lambda: call(keys, **more))
                    c = native.native_run(name.encode(), operation.encode(), theirs,
                                          ctypes.byref(native_keys), out.ctypes.data)
                    assert c >= 0
                    before = best.get(operation, (python, c))
                    best[operation] = min(before[0], python), min(before[1], c)
                native.native_free(name.encode(), theirs)
            for operation, (python, c) in best.items():
                yield {"structure": name, "operation": operation, "keys": form,
                       "python_Mkeys_s": round(n / python / 1e6, 2),
                       "c_Mkeys_s": round(n / c / 1e6, 2), "ratio": round(c / python, 3)}


def singles(n, rounds):
    """A loop of calls, less the loop itself."""
    keys = [b"key %d" % i for i in range(n)]

    def loop(call):
        for key in keys:
            call(key)

    def nothing():
        for key in keys:
            pass

    empty = min(measure(nothing) for _ in range(rounds))
    sketch, dictionary = lethe.Sketch(), {}
    rows = [(name, "add_and_test" if name in ("window", "forgetful") else "add", make)
            for name, make in MAKERS.items()]
    rows += [(name, "test", make) for name, make in MAKERS.items() if name != "count-min"]
    rows += [("count-min", "count", lambda n: sketch), ("set", "add", lambda n: set()),
             ("set", "__contains__", lambda n: set(keys)),
             ("dict", "get", lambda n: dict.fromkeys(keys))]
    for name, operation, make in rows:
        best = min(measure(lambda: loop(getattr(made, operation)))
                   for made in (make(n) for _ in range(rounds)))
        yield {"structure": name, "operation": operation,
               "Mcalls_s": round(n / (best - empty) / 1e6, 2)}


def main():
    n, rounds = OPTIONS.keys, OPTIONS.rounds
    print(json.dumps({
        "machine": platform.processor() or platform.machine(), "cpus": os.cpu_count(),
        "python": platform.python_version(), "numpy": numpy.__version__,
        "lethe": lethe.__version__, "keys": n, "rounds": rounds,
        "batches": list(batches(n, rounds)), "singles": list(singles(n // 4, rounds)),
    }, indent=1))


main()
