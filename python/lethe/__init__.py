"""Lethe counts every event exactly once, and then forgets that it did.

Store: counters in a folder that apply every operation exactly once.
Window, Forgetful: was this key added within the last W?
Bloom, Quotient, Gaussian: sets in memory, approximate. Cascade: the same on disk.
Sketch: how often was each key added?

A key is bytes, a str (its UTF-8) or an int (8 bytes, little-endian). Methods that end in _many take
lists, NumPy arrays, and everything else with items or a buffer. docs/python.md has the rest.
"""

from ._words import Outcome, Strings  # first: the extension needs them
from ._lethe import (  # noqa: F401
    DEFAULT_SEED,
    Bloom,
    BusyError,
    Cascade,
    Claim,
    ClosedError,
    CorruptError,
    DeviceError,
    Error,
    FileTypeError,
    Forgetful,
    FullError,
    Gaussian,
    InvalidError,
    MismatchError,
    NoMemoryError,
    NoSpaceError,
    NotFoundError,
    Quotient,
    ReadWriteError,
    Sketch,
    Taken,
    Usage,
    VersionError,
    Window,
    hash,
    join_id,
    peek,
)
from ._lethe import Store as _Store
from ._lethe import version as __version__

# Where these are found, for pickle and for people.
for _class in (Taken, Usage, Claim):
    _class.__module__ = "lethe"


class Store(_Store):
    __doc__ = _Store.__doc__

    def items(self, start=b""):
        """All counters from a key on, as (key, value), in the order of the keys' bytes.

        Counters that change meanwhile are given as they are when their turn comes."""
        while page := self._page(start):
            yield from page
            start = page[-1][0] + b"\0"

    def __iter__(self):
        for key, _ in self.items():
            yield key

    def __getitem__(self, key):
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __reduce__(self):
        raise TypeError("a Store lives in a folder and cannot be pickled")


__all__ = [name for name in dir() if not name.startswith("_")] + ["__version__"]
