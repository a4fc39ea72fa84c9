"""What a table is: the description under the name of one in partitions, where its partitions are,
and whether it is what the caller named."""

import binascii
import secrets

from .words import as_text

__all__ = ["PARTITIONS_MOST", "compare", "describe", "difference", "places", "read", "suspects",
           "whole"]

_SLOTS = 16384
_KEEP_MOST = 100_000
_WINDOW_MS, _ERROR = 600_000, 1e-9
# What servers and lethe take: a description that they refuse would be in the way for ever.
PARTITIONS_MOST, _PERIODS_MOST = 1024, 4
_LONGEST_PERIOD_MS, _LONGEST_WINDOW_MS = 366 * 86_400_000, 30 * 86_400_000
_LENGTHS = {"hour": 3_600_000, "day": 86_400_000, "month": "month"}


def _tags(slots):
    """The least number whose own slot is each of these."""
    wanted, found, number = set(slots), {}, 0
    while wanted:
        slot = binascii.crc_hqx(b"%d" % number, 0) % _SLOTS
        if slot in wanted:
            wanted.remove(slot)
            found[slot] = number
        number += 1
    return found


def _slot_of_place(place, count):
    return (2 * place + 1) * _SLOTS // (2 * count)


def places(count):
    """The tags of the partitions: their slots are spread evenly over a cluster's."""
    tags = _tags(_slot_of_place(place, count) for place in range(count))
    return [tags[_slot_of_place(place, count)] for place in range(count)]


def suspects(count):
    """The tags of all partitions of a table of so many, and of the first and the last of a table of
    any other number: where something would be left of a table whose description is lost."""
    slots = {_slot_of_place(place, count) for place in range(count)}
    for other in range(2, PARTITIONS_MOST + 1):
        slots |= {_slot_of_place(0, other), _slot_of_place(other - 1, other)}
    return sorted(_tags(slots).values())


def whole(name, value, least, most):
    """A whole number of a range, also if it is given as a word."""
    text = str(value)
    number = int(text) if text.isascii() and text.isdigit() else -1
    if isinstance(value, bool) or not least <= number <= most:
        raise ValueError(f"{name} is not a whole number from {least} to {most}: {value!r}")
    return number


def _per_text(per):
    pairs, lengths = [], set()
    for one in per if isinstance(per, list) else [per]:
        period, keep = one if isinstance(one, tuple) and len(one) == 2 else (one, _KEEP_MOST)
        word = as_text(period).lower() if isinstance(period, (str, bytes)) else period
        if word not in _LENGTHS:
            word = whole('a period that is not "hour", "day" or "month"', word, 100,
                          _LONGEST_PERIOD_MS)
        lengths.add(_LENGTHS.get(word, word))
        pairs.append(f"{word}:{whole('the number of buckets to keep', keep, 1, _KEEP_MOST)}")
    if not 0 < len(pairs) <= _PERIODS_MOST or len(lengths) < len(pairs):
        raise ValueError(f"per is not 1 to {_PERIODS_MOST} periods, each once: {per!r}")
    return ",".join(pairs)


def _per_of(text):
    """What callers give as per, from hour:48,month:100000."""
    return [(period, int(keep)) for period, keep in (one.split(":") for one in text.split(","))]


def describe(partitions, by="key", window_ms=_WINDOW_MS, error=_ERROR, kind="quotient", per=None):
    """The description of a new table. ValueError for what no server or lethe would take."""
    count = whole("the number of partitions", partitions, 2, PARTITIONS_MOST)
    window_ms = whole("window_ms", window_ms, 1000, _LONGEST_WINDOW_MS)
    if not 1e-12 <= float(error) <= 0.1:
        raise ValueError(f"error is not a number from 1e-12 to 0.1: {error!r}")
    if kind not in ("quotient", "forgetful"):
        raise ValueError(f'kind is not "quotient" or "forgetful": {kind!r}')
    if by not in ("key", "id"):
        raise ValueError(f'by is not "key" or "id": {by!r}')
    # Each table has the oldest version that is enough for it, as lethe does it.
    version = 3 if by == "key" or per is not None else 2 if kind == "forgetful" else 1
    return (f"lethe-table {version} partitions {count} seed {secrets.randbits(64) or 1:#x} "
            f"window_ms {window_ms} error {float(error)!r}" +
            (" kind forgetful" if kind == "forgetful" else "") +
            (" by key" if by == "key" else "") +
            (f" per {_per_text(per)}" if per is not None else ""))


def read(name, text):
    """The number of partitions, the seed or None, and the options of each."""
    words = text.split(" ")
    if words[0] != "lethe-table":
        raise ValueError(f"{name} is not a table of counters")
    if int(words[1]) > 3:
        raise ValueError(f"{name} was made by a newer lethe")
    said = dict(zip(words[2::2], words[3::2]))
    options = {"window_ms": int(said["window_ms"]), "error": said["error"],
               "kind": said.get("kind", "quotient")}
    if "per" in said:
        options["per"] = _per_of(said["per"])
    seed = None if said.get("by") == "key" else int(said["seed"], 0)
    return int(said["partitions"]), seed, options


def _periods(per):
    """The length of each, and how many buckets are kept, whichever way they are written."""
    pairs = (one.split(":") for one in _per_text(per).split(","))
    return {(str(_LENGTHS.get(period, period)), keep) for period, keep in pairs}


def compare(name, wanted, found):
    """Of a table that exists, as ONCE.INFO or a description says it: raises ValueError if it has
    another window, error, kind or periods than the caller wants, as `lethe count --redis` does.
    What is not named is as it is."""
    def refuse(has, wants, option):
        raise ValueError(f"{name} {has}, not {wants}, which cannot be changed; leave {option} out, "
                         "or choose another table")
    window_ms, error, kind, per = (wanted.get(option) for option in
                                   ("window_ms", "error", "kind", "per"))
    if window_ms is not None and int(window_ms) != int(found["window_ms"]):
        refuse(f"has a window of {found['window_ms']} ms", int(window_ms), "window_ms")
    if error is not None and float(error) != float(found["error"]):
        refuse(f"has an error of {found['error']}", float(error), "error")
    if kind is not None and as_text(kind).lower() != found["kind"]:
        refuse(f"has a window of the {found['kind']} kind", as_text(kind), "kind")
    if per is not None and _periods(per) != (_periods(found["per"]) if found["per"] else set()):
        refuse(f"counts per {_per_text(found['per']) if found['per'] else 'no period'}",
               f"per {_per_text(per)}", "per")


def difference(name, wanted, info):
    """What compare raises of a table, by what ONCE.INFO says; None: nothing."""
    per = _per_of(info["per"]) if info["per"] != "none" else None
    try:
        compare(name, wanted, {"window_ms": info["window_ms"], "error": info["error_target"],
                               "kind": info["kind"], "per": per})
    except ValueError as error:
        return error
    return None
