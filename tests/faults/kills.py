"""Killing what counts: lethe started again until a run reaches its end, and what a power cut leaves of its files."""

import os
import subprocess


def words_of(way, mode, stream):
    """The arguments of `lethe count` for a way of feeding it a stream: resume, from-start, pipe."""
    words = [mode, "--window", "1h", "--batch", "300"]
    words += ["--sync", "always"] if stream.events % 2 == 0 else ["--sync", "5ms"]
    if way == "from-start":
        words += ["--from-start"]
    return words + ([] if way == "pipe" else [str(stream.path)])


def run_killed(store, words, draw, stdin=None, codes=(0,), waits=(0.05, 0.6), after_kill=None):
    """Starts lethe again until one run reaches its end; returns how often it was killed. Of the two waits, the longest in
    seconds, the shorter is for the first moments of a process."""
    kills = 0
    while True:
        file = open(stdin, "rb") if stdin is not None else None
        process = store.start(*words, stdin=file)
        if file is not None:
            file.close()
        wait = draw.random() * (waits[0] if draw.random() < 0.3 else waits[1])
        try:
            _, errors = process.communicate(timeout=wait)
            assert process.returncode in codes, errors.decode()
            return kills
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            if after_kill is not None:
                after_kill()


def cut_power(folder, journal, spared=()):
    """Leaves of each file what was synced, except of those whose names are spared."""
    safe = {}
    for line in journal.read_text().splitlines():
        number, size = line.split()
        safe[int(number)] = int(size)
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in spared:
            size = safe.get(path.stat().st_ino, 0)
            if path.stat().st_size > size:
                os.truncate(path, size)


def operations_of_a_run(store, stream, words, tmp_path, faults):
    """How many writes and syncs a run makes."""
    count = tmp_path / "count"
    code, _, errors = store.count(*words, str(stream.path),
                                  faults={**faults, "LETHE_FAULT_COUNT": str(count)})
    assert code in (0, 5), errors
    total = int(count.read_text())
    assert total > 20, "the library of faults does not see what lethe writes"
    return total
