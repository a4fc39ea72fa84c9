"""Goal: nothing that a caller does crashes the interpreter; every mistake is an exception.
Method: wrong arguments to every method there is; code of the caller's that runs in the middle of a
call; threads that use one object; forks; buffers that change. Runs under the address sanitizer too."""

import array
import gc
import os
import random
import subprocess
import sys
import threading
import time

import pytest

import lethe
from sizes import sized
from structures import COUNTING, MAKERS, SAVED, at

numpy = pytest.importorskip("numpy")

WRONG = [None, -1, 2**70, 1.5, float("nan"), "", "x", b"", b"\xff" * 5, object(), [], [None], {},
         {"a": None}, (1, 2), True, numpy.zeros(3), numpy.array([], dtype="i8"), lambda: None,
         bytearray(b"ab"), memoryview(b"abc"), range(5), array.array("d", [1.0]), Ellipsis]
# These wait, end the object, or write files.
LEFT_OUT = {"close", "save", "export", "__class__", "__init_subclass__", "__subclasshook__",
            "__new__", "__init__", "__getattribute__", "__setattr__", "__delattr__", "__dir__",
            "__reduce_ex__", "__sizeof__", "__format__", "__eq__", "__ne__", "__lt__", "__le__",
            "__gt__", "__ge__", "__hash__", "__repr__", "__str__"}


def methods_of(made):
    for name in dir(type(made)):
        method = getattr(made, name)
        if name not in LEFT_OUT and callable(method):
            yield name, method


def assault(made, seed, calls):
    source = random.Random(seed)
    table = list(methods_of(made))
    for _ in range(calls):
        name, method = source.choice(table)
        arguments = [source.choice(WRONG) for _ in range(source.randrange(5))]
        named = {source.choice(["key", "keys", "out", "now_ms", "weight", "ids", "values", "x"]):
                 source.choice(WRONG) for _ in range(source.randrange(2))}
        try:
            result = method(*arguments, **named)
            if name == "items":
                next(result, None)
        except (TypeError, ValueError, OverflowError, BufferError, lethe.Error, OSError,
                AttributeError, KeyError, MemoryError):
            pass
        if getattr(made, "closed", False):
            return


@pytest.mark.parametrize("name", SAVED)
def test_wrong_arguments(name):
    assault(SAVED[name](), 1, sized(2000, 10_000, 100_000))


def test_wrong_arguments_on_disk(tmp_path):
    for round in range(sized(3, 20, 100)):
        with lethe.Store(tmp_path / "s", create=True) as store:
            assault(store, round, 300)
        with lethe.Cascade(tmp_path / "c", memory_bytes=1 << 20) as cascade:
            assault(cascade, round, 300)


class Evil:
    """Comes back into the object while it is an argument of a call to it."""

    def __init__(self, act, value=5):
        self.act, self.value = act, value

    def __index__(self):
        self.act()
        return self.value

    def __iter__(self):
        yield "a"
        self.act()
        yield "b"


@pytest.mark.parametrize("name", SAVED)
def test_code_that_comes_back(name):
    made = SAVED[name]()
    made.add_many(Evil(lambda: made.add("inner", **at(name))), **at(name))
    made.add(Evil(lambda: made.add("inner", **at(name))), **at(name))
    for call in (lambda evil: made.add(evil, **at(name)),
                 lambda evil: made.add_many(evil, **at(name)),
                 lambda evil: made.add_many([evil], **at(name))):
        fresh = SAVED[name]()
        made.close()
        made = fresh
        with pytest.raises(lethe.ClosedError):
            call(Evil(made.close))


def test_code_that_comes_back_into_a_store(tmp_path):
    store = lethe.Store(tmp_path / "s", create=True)
    store.apply("a", "n", Evil(lambda: store.apply("b", "n")))
    assert store["n"] == 6
    with pytest.raises(lethe.ClosedError):
        store.apply_many(["c"], ["n"], [Evil(store.close)])
    iterator = lethe.Store(tmp_path / "s").items()
    assert next(iterator) == (b"n", 6)


def test_finalizers_that_come_back(tmp_path):
    """A garbage collection may start wherever Python's objects are made."""
    sketch = lethe.Sketch(top=100)
    sketch.add_many(range(100))
    store = lethe.Store(tmp_path / "s", create=True)
    store.apply_many(range(100), range(100))
    bloom, closed = lethe.Bloom(), lethe.Bloom()
    closed.close()

    class Cycle:
        def __init__(self):
            self.self = self

        def __del__(self):
            sketch.add("more")
            store.get("more")
            bloom.add("more")

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(sized(50, 200, 2000)):
            Cycle()
            sketch.top(100)
            sketch.info()
            list(store.items())
            store.top(50)
            store.marks()
            # The exception is made when the first of the two is free again.
            for call in (bloom.merge, bloom.intersection_estimate):
                with pytest.raises(lethe.ClosedError):
                    call(closed)
    finally:
        gc.set_threshold(*before)
    store.close()


@pytest.mark.parametrize("name", ["bloom", "quotient", "window", "count-min"])
def test_threads_with_one_object(name):
    """All calls count, whatever the others do; the last closes it under them."""
    made = SAVED[name]()
    keys = [numpy.arange(i * 1000, i * 1000 + 1000) for i in range(8)]
    failures = []

    def use(mine):
        try:
            for part in range(20):
                made.add_many(keys[mine][part * 50:part * 50 + 50], **at(name))
                if name in MAKERS:
                    assert all(made.test_many(keys[mine][:part * 50], **at(name)))
                made.add(-1, **at(name))
                made.info(**at(name))
                made.to_bytes()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=use, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    if name in MAKERS:
        assert all(made.test_many(numpy.arange(8000), **at(name)))
    else:
        assert made.total == 8000 + 160


def test_merging_two_into_each_other():
    first, second = lethe.Bloom(capacity=1000), lethe.Bloom(capacity=1000)

    def merge(mine, other):
        for _ in range(300):
            mine.merge(other)

    threads = [threading.Thread(target=merge, args=pair)
               for pair in ((first, second), (second, first)) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_merging_with_a_closed_one():
    """Whichever of the two is entered first, it can be used afterwards."""
    made = [lethe.Bloom(capacity=1000) for _ in range(9)]
    made[4].close()
    for each in made[:4] + made[5:]:
        for call in (each.merge, each.intersection_estimate):
            with pytest.raises(lethe.ClosedError):
                call(made[4])
        thread = threading.Thread(target=each.add, args=("a",), daemon=True)
        thread.start()
        thread.join(30)
        assert not thread.is_alive() and "a" in each


@pytest.mark.parametrize("closes", ["store", "cascade", "window"])
def test_closing_under_others(closes, tmp_path):
    for round in range(sized(5, 20, 200)):
        if closes == "store":
            made = lethe.Store(tmp_path / "s", create=True)
            use = lambda i: made.apply_many(range(i * 100, i * 100 + 100), ["n"] * 100)
        elif closes == "cascade":
            made = lethe.Cascade(tmp_path / "c", memory_bytes=1 << 20)
            use = lambda i: made.add_and_test_many(range(i * 100, i * 100 + 100))
        else:
            made = lethe.Window(stripes=4)
            use = lambda i: made.add_and_test_many(range(i * 100, i * 100 + 100), now_ms=5)
        ended = []

        def loop(first):
            try:
                for i in range(100_000):
                    use(first + i)
            except lethe.ClosedError:
                ended.append(first)

        threads = [threading.Thread(target=loop, args=(i * 1_000_000,)) for i in range(3)]
        for thread in threads:
            thread.start()
        made.close()
        for thread in threads:
            thread.join(60)
        assert len(ended) == 3


def test_buffers_cannot_change_their_size(tmp_path):
    """While a batch runs without the interpreter's lock, its arrays are held."""
    cascade = lethe.Cascade(tmp_path / "c", memory_bytes=1 << 20)
    keys, out = bytearray(8 * 300_000), bytearray(300_000)
    stop, refused = threading.Event(), []

    def resize():
        while not stop.is_set():
            try:
                keys.extend(bytes(8))
                del keys[-8:]
                out.append(0)
                out.pop()
            except BufferError:
                refused.append(1)

    thread = threading.Thread(target=resize)
    thread.start()
    try:
        end = time.monotonic() + 60
        while not refused and time.monotonic() < end:
            try:
                cascade.test_many(memoryview(keys).cast("q"), out=out)
            except (ValueError, TypeError):
                pass  # it had one element more at that moment
    finally:
        stop.set()
        thread.join()
    assert refused
    # Offsets that change after they were checked lead nowhere outside.
    offsets = array.array("q", [0] * 100_001)
    stop.clear()

    def scribble():
        source = random.Random(1)
        while not stop.is_set():
            offsets[source.randrange(100_001)] = source.choice([0, 2**62, -5])

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for _ in range(20):
            try:
                cascade.test_many(lethe.Strings(offsets, b"data"))
            except ValueError:
                pass
    finally:
        stop.set()
        thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forks(tmp_path):
    store = lethe.Store(tmp_path / "s", create=True)
    cascade = lethe.Cascade(tmp_path / "c", memory_bytes=1 << 20)
    bloom = lethe.Bloom()
    store.apply("a", "n")
    bloom.add("a")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for call in (lambda: store.apply("b", "n"), lambda: store.get("n"), store.close,
                         lambda: cascade.add("a"), cascade.close):
                try:
                    call()
                    os._exit(2)
                except RuntimeError as error:
                    assert "fork" in str(error)
            assert "a" in bloom  # what is in memory is the child's own
            bloom.add("b")
            store = cascade = None
            gc.collect()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.apply("b", "n") == 0 and store["n"] == 2 and "b" not in bloom
    store.close()
    cascade.close()


@pytest.mark.parametrize("is_open", [True, False])
def test_a_fork_of_a_process_that_used_a_store_ends(tmp_path, is_open):
    """By sys.exit, not only by os._exit: RocksDB would wait for threads that are not there."""
    program = """if True:
        import atexit, lethe, os, signal, sys
        store = lethe.Store(sys.argv[1], create=True)
        store.apply("a", "n")
        if sys.argv[2] == "False":
            store.close()
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # one that hangs is not left behind
            atexit.register(print, "the child ends")
            sys.exit(9)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"""
    path = os.pathsep.join(map(str, sys.path))
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "s"), str(is_open)], timeout=60,
                          check=False, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})
    assert (done.returncode, done.stdout) == (0, "the child ends\n9\n")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_in_the_middle_of_a_batch():
    """An object that another thread was changing is not used in the child."""
    bloom = lethe.Bloom(capacity=10_000_000)
    keys = numpy.arange(10_000_000)
    thread = threading.Thread(target=bloom.add_many, args=(keys,))
    thread.start()
    seen = set()
    while thread.is_alive() and 7 not in seen:
        child = os.fork()
        if child == 0:
            try:
                bloom.add("a")
                os._exit(0)
            except RuntimeError as error:
                os._exit(7 if "fork" in str(error) else 8)
        seen.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert 7 in seen and seen <= {0, 7}
    thread.join()
    assert all(bloom.test_many(keys[:1000]))


def test_objects_that_were_never_made():
    for name in ("Bloom", "Quotient", "Window", "Sketch", "Gaussian", "Forgetful"):
        made = getattr(lethe, name).__new__(getattr(lethe, name))
        made.add("a")
    for name in ("Store", "Cascade"):
        with pytest.raises(TypeError):
            getattr(lethe, name).__new__(getattr(lethe, name))
    with pytest.raises(TypeError):
        lethe.Bloom.add(lethe.Window(), "a")
    with pytest.raises(TypeError):
        object.__new__(lethe.Bloom)


def test_the_end_of_the_interpreter(tmp_path):
    """Objects that are left open at exit, with threads that still use them."""
    program = f"""
import lethe, threading
store = lethe.Store({str(tmp_path / "s")!r}, create=True)
store.submit_many(range(1000), ["n"] * 1000)
bloom = lethe.Bloom(capacity=1000000)
def loop():
    while True:
        bloom.add_many(range(10000))
        store.get("n")
threading.Thread(target=loop, daemon=True).start()
"""
    subprocess.run([sys.executable, "-B", "-c", program], check=True, timeout=60,
                   env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
    with lethe.Store(tmp_path / "s") as store:
        assert store.get("n") in (None, 1000)


def test_references_are_given_back():
    """What is counted too often or too seldom shows after many calls, failed ones included."""
    key, batch = "a key of its own", ["one", "two"]
    made = [maker() for maker in SAVED.values()]
    out = bytearray(2)

    def everything():
        for each in made:
            each.add(key)
            each.add_many(batch)
            each.add_many(iter(batch))
            for wrong in (None, [batch, None]):
                with pytest.raises(TypeError):
                    each.add_many(wrong)
            if hasattr(each, "test_many"):
                each.test_many(batch, out=out)
                with pytest.raises(ValueError):
                    each.test_many(batch + batch, out=out)
            type(each).from_bytes(each.to_bytes())
            each.info()

    everything()
    before = [sys.getrefcount(item) for item in (key, batch, batch[0], out, None, lethe.Bloom)]
    for _ in range(5):
        everything()
    after = [sys.getrefcount(item) for item in (key, batch, batch[0], out, None, lethe.Bloom)]
    assert all(abs(a - b) < 40 for a, b in zip(before, after)), (before, after)
    assert before[0] == after[0] and before[1] == after[1] and before[3] == after[3]
