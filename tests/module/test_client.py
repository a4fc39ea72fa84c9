"""Goal:   the Python package does what its README says, and its example prints what it should.
Method: the example against a server; a client whose server dies and comes back, and one whose connection is cut
        between operation and answer."""

import subprocess
import sys
import threading
import time

import pytest
import redis
from servers import SOURCE

PACKAGE = SOURCE / "clients/python"
sys.path.insert(0, str(PACKAGE))
from lethe_once import Once, Unacknowledged # noqa: E402

EXPECTED = """\
click-1 post:1 counted 1
click-2 post:2 counted 1
click-2 post:2 seen before 1
click-3 post:1 counted 2
order 7 shipped, 1 in all
order 8 shipped, 2 in all
order 7 shipped before
[(b'post:1', 2), (b'post:2', 1)]
"""


def test_the_example(server):
    run = subprocess.run([sys.executable, PACKAGE / "example.py", f"redis://127.0.0.1:{server.port}"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert run.stdout == EXPECTED


def test_the_package(server):
    table = Once(server.client, "t")
    first = table.incrby("x", 2)
    assert first.applied and first.values == (2,)
    assert table.incrby("x", 2, id=first.id) == (False, (2,), first.id)
    assert table.incrby("x", 1, "y", 5, id="both") == (True, (3, 5), "both")
    assert table.get("x") == 3 and table.get("none") is None
    assert table.add("a", "b", "a") == [True, True, False]
    assert table.seen("a", "z") == [True, False]
    assert table.call("SET", "k", "v", id="c") == (True, b"OK")
    assert table.call("SET", "k", "w", id="c") == (False, None)
    with pytest.raises(redis.ResponseError):
        table.incrby("x", "many")
    with pytest.raises(Unacknowledged) as caught:
        table.incrby("x", 1, wait=1, timeout=0.1) # there is no replica
    assert table.incrby("x", 1, id=caught.value.id).applied is False


def test_a_server_that_dies_and_comes_back(start):
    server = start(appendonly="yes", appendfsync="always")
    table = Once(redis.Redis(port=server.port, socket_timeout=2), "t")
    done = []
    def work():
        while len(done) < 400:
            done.append(table.incrby("n", 1).applied)
            time.sleep(0.003)
    worker = threading.Thread(target=work)
    worker.start()
    for _ in range(3):
        time.sleep(0.3)
        server.restart()
    worker.join()
    assert all(done)
    assert table.get("n") == 400
