"""What the extension takes from Python: the words for outcomes, and keys as Arrow has them."""

from enum import IntEnum


class Outcome(IntEnum):
    """What became of an operation."""

    APPLIED = 0
    DUPLICATE = 1
    LATE = 2
    FUTURE = 3
    OVERFLOW = 4
    INVALID = 5
    REFUSED = 6
    MISMATCH = 7
    LIMITED = 8
    APPLIED_LATE = 9


class Strings:
    """A batch of keys as Arrow has them: key i is data[offsets[i]:offsets[i + 1]].

    offsets: an array of n + 1 integers of 32 or 64 bits. data: any buffer of bytes. Both are used
    where they are, and not copied. Of a pyarrow array of strings without nulls:

        _, offsets, data = array.buffers()
        Strings(memoryview(offsets).cast("i")[array.offset:array.offset + len(array) + 1], data)
    """

    __slots__ = ("offsets", "data")

    def __init__(self, offsets, data):
        self.offsets = offsets
        self.data = data
