"""How much a test does: little in `make test`, more in `make test-all`, most in `make test-long`."""

import os

SIZE = os.environ.get("LETHE_SIZE", "day")
assert SIZE in ("day", "large", "long"), SIZE
LONG = SIZE == "long"


def sized(day, large, long):
    """The one of three numbers that fits the size that is asked for."""
    return {"day": day, "large": large, "long": long}[SIZE]
