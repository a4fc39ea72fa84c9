"""Goal:   lines of which the system says, once and before any sync, that they did not come to the disk are not taken for
delivered: the run fails, and the same command adds what is missing.

Method: long lines, more than stay in the system's cache; each call that sends a part of the output to the disk, or waits for
it, fails in a run of its own. As in the kernel, the syncs after it find nothing wrong."""

import os
import subprocess

import pytest
from conftest import BINARIES, PRELOAD, sized

KEPT, STEP, LINE = 256 << 20, 8 << 20, 1 << 20  # behind.h; and how long a line is


def run(words, faults=None, **more):
    environment = dict(os.environ)
    if faults is not None:
        environment.update({"LD_PRELOAD": str(PRELOAD), "LETHE_FAULT_ON": "send", "LETHE_FAULT_ACTION": "eio",
                            **{name: str(value) for name, value in faults.items()}})
    return subprocess.run([BINARIES / "lethe", *map(str, words)], env=environment, stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False, **more)


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines"
    with path.open("w") as file:
        for number in range(KEPT // LINE + 4 * STEP // LINE):
            file.write(f"{number:07}".ljust(LINE - 1, "x") + "\n")
    return path


def calls(words, folder):
    count = folder / "count"
    done = run(words, {"LETHE_FAULT_FOLDER": folder, "LETHE_FAULT_NAME": "/out", "LETHE_FAULT_COUNT": count})
    assert done.returncode == 0, done.stderr
    return int(count.read_text())


def test_each_call_for_the_file_of_out(lines, tmp_path):
    out, db = tmp_path / "out", tmp_path / "db"
    words = ["dedup", "-q", "--db", db, "--out", out, lines]
    total = calls(words, tmp_path)
    sends = KEPT // STEP  # those after it take turns with those that wait
    assert total > sends + 3
    for at in sized([sends + 2, total], [1, sends + 1, sends + 2, total], range(1, total + 1, 3)):
        subprocess.run(["rm", "-r", out, db], check=True)
        done = run(words, {"LETHE_FAULT_FOLDER": tmp_path, "LETHE_FAULT_NAME": "/out", "LETHE_FAULT_AT": at,
                           "LETHE_FAULT_TIMES": 1})
        assert done.returncode == 4 and "Input/output error" in done.stderr, (at, done)
        assert run(words).returncode == 0
        assert subprocess.run(["cmp", out, lines], check=False).returncode == 0, at


def test_standard_output(lines, tmp_path):
    out, db = tmp_path / "out", tmp_path / "db"
    words = ["dedup", "-q", "--db", db, lines]
    with out.open("w") as file:
        done = run(words, {"LETHE_FAULT_FOLDER": tmp_path, "LETHE_FAULT_NAME": "/out", "LETHE_FAULT_AT": KEPT // STEP + 2,
                           "LETHE_FAULT_TIMES": 1}, stdout=file)
    assert done.returncode == 4 and "cannot write standard output: Input/output error" in done.stderr, done


def test_hashes_of_files_that_are_read_twice(tmp_path):
    lines, folder = tmp_path / "lines", tmp_path / "temporary"
    folder.mkdir()
    lines.write_text("".join(f"{number}\n" for number in range(12_000_000)))
    with (tmp_path / "out").open("w") as file:
        done = run(["dedup", "-q", "--memory", "4MiB", lines],
                   {"LETHE_FAULT_FOLDER": folder, "LETHE_FAULT_AT": 10, "LETHE_FAULT_TIMES": 1, "TMPDIR": folder},
                   stdout=file)
    assert done.returncode == 4 and "Input/output error" in done.stderr, done
