"""One row for each structure, for tests that do the same to all of them."""

import lethe

# name: make(capacity, **options); `timed` calls take now_ms; `sets` answer add_and_test.
MAKERS = {
    "bloom": lambda **o: lethe.Bloom(capacity=20000, error=1e-6, **o),
    "blocked": lambda **o: lethe.Bloom(capacity=20000, error=1e-6, layout="blocked", **o),
    "quotient": lambda **o: lethe.Quotient(capacity=20000, error=1e-9, **o),
    "gaussian": lambda **o: lethe.Gaussian(capacity=20000, error=1e-6, **o),
    "window": lambda **o: lethe.Window(error=1e-9, **o),
    "window-forgetful": lambda **o: lethe.Window(kind="forgetful", error=1e-9, **o),
    "forgetful": lambda **o: lethe.Forgetful(error=1e-9, **o),
}
SETS = [name for name in MAKERS if name != "quotient"]
TIMED = {"window", "window-forgetful", "forgetful"}
COUNTING = {
    "quotient": MAKERS["quotient"],
    "count-min": lambda **o: lethe.Sketch(width=1 << 16, **o),
    "conservative": lambda **o: lethe.Sketch(kind="conservative", width=1 << 16, **o),
    "count": lambda **o: lethe.Sketch(kind="count", width=1 << 16, **o),
    "log": lambda **o: lethe.Sketch(kind="log", width=1 << 16, **o),
    "fid": lambda **o: lethe.Sketch(kind="fid", width=1 << 14, **o),
}
SAVED = {**MAKERS, **{name: COUNTING[name] for name in COUNTING if name != "quotient"}}


def at(name, now_ms=1000):
    """The time of a call, for structures that take one."""
    return {"now_ms": now_ms} if name in TIMED else {}
