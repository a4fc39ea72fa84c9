"""The words of commands, from what callers give; ValueError for what means nothing."""

import decimal
import math
import numbers


def creation_of(table, window_ms=None, error=None, capacity=None, slack=None, seed=None,
                max_memory=None, policy=None, kind=None, per=None):
    words = ["ONCE.CREATE", table]
    for name, value in (("WINDOW", window_ms), ("ERROR", error), ("CAPACITY", capacity),
                        ("SLACK", slack), ("SEED", seed), ("MAXMEMORY", max_memory),
                        ("POLICY", policy), ("KIND", kind)):
        if value is not None:
            words += [name, value]
    return words + (per_words(per) if per is not None else [])


def per_words(per):
    """Of one period, of a pair of a period and how many buckets to keep, or of a list of these."""
    words = []
    for one in per if isinstance(per, list) else [per]:
        period, keep = one if isinstance(one, tuple) else (one, None)
        words += ["PER", period] + (["KEEP", keep] if keep is not None else [])
    return words


def limit_words(limits, floor=None):
    """Of limits: each a number, or a tuple of a number, a period, and perhaps "sliding"."""
    words = []
    floors = [] if floor is None else floor if isinstance(floor, list) else [floor]
    for word, one in [("LIMIT", one) for one in limits] + [("FLOOR", one) for one in floors]:
        bound, per, sliding = (*(one if isinstance(one, tuple) else (one,)), None, None)[:3]
        words += [word, bound] + (["PER", per] if per is not None else [])
        words += ["SLIDING"] if sliding else []
    if not words:
        raise ValueError("at least one limit is needed")
    return words


def hold_words(limit, lease):
    most, per = limit if isinstance(limit, tuple) else (limit, None)
    period = ["PER", per] if per is not None else []
    return ["LIMIT", most, *period, "LEASE", lease_ms(lease)]


def _is_number(value):
    return (isinstance(value, (numbers.Real, decimal.Decimal)) and not isinstance(value, bool) and
            not math.isnan(value))


def seconds(name, value):
    """A time that a caller gives; one that is over already is a time."""
    if not _is_number(value):
        raise ValueError(f"{name} is not a number of seconds: {value!r}")
    return float(value)


def lease_ms(lease):
    """In milliseconds. A lease of no length would be one that nobody has."""
    length = seconds("lease", lease)
    if not 0 < length < math.inf:
        raise ValueError(f"lease is not a time longer than 0 seconds: {lease!r}")
    return max(1, int(length * 1000))


def replicas(wait):
    """How many must have an operation."""
    if isinstance(wait, bool) or not isinstance(wait, int) or wait < 0:
        raise ValueError(f"wait is not a number of replicas: {wait!r}")
    return wait


def milliseconds(wait_ms):
    """How long one WAIT may take; for the server, 0 would be for ever."""
    if not _is_number(wait_ms) or wait_ms <= 0:
        raise ValueError(f"wait_ms is not a number above 0: {wait_ms!r}")
    return wait_ms


def as_text(value):
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def dictionary(info):
    """Of the names and values that ONCE.INFO answers."""
    if not isinstance(info, dict):
        info = dict(zip(info[::2], info[1::2]))
    return {as_text(name): as_text(value) for name, value in info.items()}
