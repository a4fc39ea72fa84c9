"""Goal: a key has the same bytes whatever it comes in, and what is no key is refused.
Method: the same keys in every form; the hash beside one that is computed from the rule."""

import array
import os
import subprocess
import sys

import pytest

import lethe

numpy = pytest.importorskip("numpy")

WORDS = ["", "a", "grün", "x" * 100, "日本語", "\U0001f600", "tail\0inside"]
NUMBERS = [0, 1, 7, 255, -1, -2, 2**31, 2**40, -2**63, 2**63 - 1]


def known(keys):
    """A filter that holds keys, one at a time."""
    made = lethe.Bloom(capacity=1000, error=1e-12)
    for key in keys:
        made.add(key)
    return made


def holds(filter, batch):
    return list(filter.test_many(batch))


def test_the_rule():
    for word in WORDS:
        assert lethe.hash(word) == lethe.hash(word.encode())
        assert lethe.hash(bytearray(word.encode())) == lethe.hash(word)
        assert lethe.hash(memoryview(word.encode())) == lethe.hash(word)
    for number in NUMBERS:
        as_bytes = (number % 2**64).to_bytes(8, "little")
        assert lethe.hash(number) == lethe.hash(as_bytes)
        if -2**63 <= number < 2**63:
            assert lethe.hash(numpy.int64(number)) == lethe.hash(number)
    assert lethe.hash(2**64 - 1) == lethe.hash(-1)
    assert lethe.hash(True) == lethe.hash(1)
    assert lethe.hash("a") != lethe.hash("a", seed=1)
    assert lethe.hash("a", seed=lethe.DEFAULT_SEED) == lethe.hash("a")


def test_the_hash_is_xxh3_of_the_bytes():
    """The value of XXH3-128 for the seed 0, which stands for itself here, and no bytes."""
    assert lethe.hash(b"", seed=0) == (0x6001C324468D497F, 0x99AA06D3014798D8)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "bool"])
def test_arrays_of_integers(kind):
    data = numpy.array([0, 1, 1, 0] if kind == "bool" else [0, 1, 100, 127], dtype=kind)
    assert all(holds(known(data.tolist()), data))
    assert all(holds(known(data.tolist()), data[::-2]))
    assert not any(holds(known([200, 201]), data))
    if kind[0] == "i":
        assert all(holds(known([-1, -5]), numpy.array([-5, -1], dtype=kind)))


def test_arrays_of_array():
    for code in "bBhHiIlLqQ":
        data = array.array(code, [1, 2, 100])
        assert all(holds(known([1, 2, 100]), data))
        assert type(known([1]).test_many(data)) is memoryview


def test_arrays_of_text_and_bytes():
    words = [word for word in WORDS if not word.endswith("\0")]
    text = numpy.array(words)
    assert text.dtype.kind == "U"
    assert all(holds(known(words), text))
    assert all(holds(known(words), text[::-1]))
    fixed = numpy.array([word.encode() for word in words])
    assert fixed.dtype.kind == "S"
    assert all(holds(known(words), fixed))
    assert not any(holds(known(["other"]), fixed))
    raw = numpy.array([b"ab\0", b"xyz"], dtype="V3")
    assert all(holds(known([b"ab\0", b"xyz"]), raw))
    assert not any(holds(known([b"ab"]), raw))


def test_lists_and_what_can_be_iterated():
    mixed = ["a", b"b", 3, bytearray(b"c"), memoryview(b"d"), numpy.int32(9)]
    expected = known(["a", "b", 3, "c", "d", 9])
    for batch in (mixed, tuple(mixed), iter(mixed), (item for item in mixed), dict.fromkeys("a")):
        assert all(holds(expected, batch))
    assert all(holds(expected, numpy.array(["a", b"b", 3], dtype=object)))
    assert holds(expected, []) == []


def test_offsets_and_data():
    words = ["one", "", "three", "日本"]
    data = "".join(words).encode()
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word.encode()))
    for offsets in (array.array("i", ends), array.array("q", ends), array.array("I", ends),
                    numpy.array(ends, dtype="int64")):
        assert all(holds(known(words), lethe.Strings(offsets, data)))
        assert holds(known(["one"]), lethe.Strings(offsets, data)) == [True, False, False, False]
    for wrong in ([0, 5, 3], [0, 100], [-1, 2], [2, 1]):
        with pytest.raises(ValueError, match="an offset is lower"):
            known([]).test_many(lethe.Strings(array.array("q", wrong), data))
    for wrong in (array.array("q"), array.array("d", [0.0]), array.array("h", [0]), 3, None):
        with pytest.raises(TypeError):
            known([]).test_many(lethe.Strings(wrong, data))
    with pytest.raises(TypeError):
        known([]).test_many(lethe.Strings(array.array("q", [0]), None))


def test_pandas():
    pandas = pytest.importorskip("pandas")
    assert all(holds(known(["a", "b"]), pandas.Series(["a", "b"])))
    assert all(holds(known([1, 2]), pandas.Series([1, 2])))
    assert isinstance(known([1]).test_many(pandas.Series([1, 2])), numpy.ndarray)
    with pytest.raises(TypeError, match="float"):
        known([]).test_many(pandas.Series(["a", float("nan")]))


def test_numpy_in_numpy_out():
    answer = known(["a"]).test_many(numpy.array(["a", "b"]))
    assert isinstance(answer, numpy.ndarray) and answer.dtype == bool
    view = known(["a"]).test_many(["a", "b"])
    assert type(view) is memoryview and view.format == "?" and view.tolist() == [True, False]
    assert numpy.asarray(view).dtype == bool


@pytest.mark.parametrize("wrong", [None, 1.5, object(), [], (), 2**64, -2**63 - 1, "\ud800",
                                   numpy.float64(1), memoryview(array.array("i", [1]))])
def test_what_is_no_key(wrong):
    filter = known(["a"])
    before = filter.to_bytes()
    for call in (filter.add, filter.test, filter.add_and_test, filter.__contains__, lethe.hash):
        with pytest.raises((TypeError, OverflowError, UnicodeEncodeError)):
            call(wrong)
    # Keys before it are not added either.
    with pytest.raises((TypeError, OverflowError, UnicodeEncodeError)):
        filter.add_many(["fresh", wrong])
    assert filter.to_bytes() == before


@pytest.mark.parametrize("wrong", [None, 5, "text", b"bytes", bytearray(b"bytes"),
                                   numpy.array([1.5]), numpy.array([[1, 2]]), numpy.array(5),
                                   numpy.array([1], dtype=">i8"), numpy.array(["a"], dtype=">U1"),
                                   numpy.array([(1, 2)], dtype="i4,i4"),
                                   numpy.array(["\ud800"])])
def test_what_is_no_batch(wrong):
    filter = known(["a"])
    with pytest.raises((TypeError, ValueError)):
        filter.add_many(wrong)


@pytest.mark.parametrize("wrong", [numpy.zeros(2, dtype=bool), numpy.zeros(3, dtype="i8"),
                                   numpy.zeros((3, 1), dtype=bool), numpy.zeros(6, dtype=bool)[::2],
                                   bytes(3), "abc", 3, bytearray(4)])
def test_arrays_that_results_do_not_fit(wrong):
    with pytest.raises((TypeError, ValueError, BufferError)):
        known([]).test_many(["a", "b", "c"], out=wrong)


def test_arrays_that_results_fit():
    for out in (numpy.zeros(2, dtype=bool), numpy.zeros(2, dtype="u1"), bytearray(2),
                memoryview(bytearray(2)), array.array("b", [0, 0])):
        assert known(["a"]).test_many(["a", "b"], out=out) is out
        assert list(out) == [1, 0]


def test_ids_of_several_fields():
    assert lethe.join_id("a") == b"a"
    assert lethe.join_id("a", "bc") == b"1:a2:bc"
    for wrong in ((), ("",), ("a", "")):
        with pytest.raises(lethe.InvalidError):
            lethe.join_id(*wrong)


def test_without_numpy(tmp_path):
    """NumPy is optional: nothing imports it before the caller does."""
    program = "import lethe, sys; f = lethe.Bloom(); f.add_many(['a']); assert 'a' in f; " \
              "f.test_many([1]); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-B", "-c", program], check=True,
                   env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
