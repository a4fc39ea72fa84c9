"""Goal:   a claim is held by one at a time, and a recorded completion stays, whatever is killed and when; a command is run
once, and signals end it as they should.

Method: `lethe claim` is killed at chosen writes and syncs, or loses what was not synced, as in a power cut; then others ask
for the claim. `lethe claim run` is started many times at once, killed, interrupted, and its store is kept busy."""

import json
import os
import signal
import subprocess
import time

import pytest

from conftest import BINARIES, PRELOAD, sized
from kills import cut_power

LIMIT_SECONDS = 120


class Claims:
    """A store of claims, and lethe at work on it."""

    def __init__(self, store):
        self.store, self.folder = store, store.folder

    def start(self, command, *words, faults=None, **more):
        environment = dict(os.environ)
        if faults is not None:
            environment.update({"LD_PRELOAD": str(PRELOAD), "LETHE_FAULT_FOLDER": str(self.folder), **faults})
        return subprocess.Popen([BINARIES / "lethe", "claim", command, "--db", self.folder, *words],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                **more)

    def run(self, command, *words, faults=None):
        process = self.start(command, *words, faults=faults)
        output, errors = process.communicate(timeout=LIMIT_SECONDS)
        return process.returncode, output.decode(), errors.decode()

    def ask(self, command, *words):
        """The answer of a command that is not disturbed."""
        code, output, errors = self.run(command, "--json", *words)
        assert code in (0, 1), errors
        return json.loads(output)

    def check(self):
        code, _, errors = self.store.lethe("check")
        assert code == 0, errors


@pytest.fixture
def claims(store):
    return Claims(store)


def wait_until(condition):
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def steps_of(claims, tmp_path, *words):
    """How many writes and syncs a command makes."""
    count = tmp_path / "count"
    code, _, errors = claims.run(*words, faults={"LETHE_FAULT_COUNT": str(count)})
    assert code == 0, errors
    return int(count.read_text())


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power-cut"])
@pytest.mark.parametrize("command", ["begin", "done"])
def test_killed_at_each_write_and_sync(claims, tmp_path, command, power):
    assert claims.ask("begin", "--lease", "1h", "--token", "first", "other")["answer"] == "new"
    if command == "done":
        assert claims.ask("begin", "--lease", "1h", "--token", "a", "work")["answer"] == "new"
    words = {"begin": ["begin", "--lease", "1h", "--token", "a", "work"], "done": ["done", "--token", "a", "--reply", "one", "work"]}[command]
    total = steps_of(Claims(claims.store.copy_to(tmp_path / "trial")), tmp_path, *words)
    assert total > 5
    for at in range(1, total + 1, max(1, total // sized(4, 18, total))):
        trial = Claims(claims.store.copy_to(tmp_path / "trial"))
        journal = tmp_path / "journal"
        # What was there before is safe.
        files = [path.stat() for path in trial.folder.rglob("*") if path.is_file()]
        journal.write_text("".join(f"{file.st_ino} {file.st_size}\n" for file in files))
        code, _, _ = trial.run(*words, faults={"LETHE_FAULT_AT": str(at), "LETHE_FAULT_ACTION": "kill",
                                               "LETHE_FAULT_JOURNAL": str(journal)})
        assert code in (0, -9)
        if power:
            cut_power(trial.folder, journal)
        trial.check()
        assert trial.ask("begin", "--token", "b", "other")["answer"] == "running"
        answer = trial.ask("begin", "--token", "b", "work")
        if command == "begin":
            # Nobody was told unless the command ended; then the holder is the one who was.
            assert answer["answer"] == "running" if code == 0 else answer["answer"] in ("new", "running")
            holder = "b" if answer["answer"] == "new" else "a"
            assert trial.ask("begin", "--token", holder, "work")["answer"] == "new"
            continue
        assert answer["answer"] == "done" if code == 0 else answer["answer"] in ("running", "done")
        again = trial.ask("done", "--token", "a", "--reply", "two", "work")["answer"]
        assert again == ("duplicate" if answer["answer"] == "done" else "recorded")
        reply = trial.ask("begin", "--token", "b", "work")["reply"]
        assert reply == ("one" if answer["answer"] == "done" else "two")


def test_a_manifest_that_lost_its_end(claims, tmp_path):
    """RocksDB forgets a family whose beginning its manifest has lost, and passes over its records in the log."""
    (tmp_path / "events").write_text("id\tkey\t1\n")
    assert claims.store.count(str(tmp_path / "events"))[0] == 0
    assert claims.ask("begin", "--lease", "1h", "--token", "a", "work")["answer"] == "new"
    for lost in range(1, 120, sized(17, 5, 1)):
        trial = Claims(claims.store.copy_to(tmp_path / "trial"))
        (manifest,) = trial.folder.glob("data/MANIFEST*")
        os.truncate(manifest, manifest.stat().st_size - lost)
        for command in ("check", "list"):
            code, _, errors = trial.store.lethe(command)
            assert code == 3 and "restore a backup" in errors, (lost, command, errors)
        code, output, errors = trial.run("begin", "--token", "b", "work")
        assert code == 3 and "restore a backup" in errors, (lost, output, errors)


def test_many_run_it_once(claims, tmp_path):
    script = f"echo x >> {tmp_path}/ran; echo result; exit 7"
    processes = [claims.start("run", "--wait", "100s", "--busy-code", "99", "job", "--", "sh", "-c", script) for _ in range(6)]
    results = [process.communicate(timeout=LIMIT_SECONDS) + (process.returncode,) for process in processes]
    assert (tmp_path / "ran").read_text() == "x\n"
    assert {code for _, _, code in results} <= {7, 99}, results
    for output, _, code in results:
        assert output == (b"result\n" if code == 7 else b"")
    assert claims.run("run", "job", "--", "sh", "-c", script)[:2] == (7, "result\n")
    assert (tmp_path / "ran").read_text() == "x\n"


def test_failures_are_kept_or_given_up(claims, tmp_path):
    script = f"echo x >> {tmp_path}/ran; exit 3"
    for _ in range(2):
        assert claims.run("run", "--abort-on-failure", "a", "--", "sh", "-c", script)[0] == 3
    assert (tmp_path / "ran").read_text() == "x\nx\n"
    assert claims.run("list")[1] == ""
    for _ in range(2):
        assert claims.run("run", "b", "--", "sh", "-c", script)[0] == 3
    assert (tmp_path / "ran").read_text() == "x\nx\nx\n"
    code, _, errors = claims.run("run", "c", "--", "/no/such/command")
    assert code == 4 and "cannot run" in errors
    assert claims.ask("begin", "c")["answer"] == "new"


@pytest.mark.parametrize("status", [129, 255])
def test_a_status_above_128_is_a_commands_own(claims, tmp_path, status):
    script = f"echo x >> {tmp_path}/ran; exit {status}"
    for _ in range(2):
        assert claims.run("run", "job", "--", "sh", "-c", script)[0] == status
    assert (tmp_path / "ran").read_text() == "x\n"


def test_a_kernel_that_gives_no_handles_of_processes(claims):
    for _ in range(2):
        assert claims.run("run", "job", "--", "sh", "-c", "echo one; sleep 0.1; echo two; exit 3",
                          faults={"LETHE_NO_PIDFD": "1"})[:2] == (3, "one\ntwo\n")


def start_and_wait(claims, tmp_path, script, *words, **more):
    """Starts a command that says when it runs."""
    process = claims.start("run", *words, "job", "--", "sh", "-c", f"echo $$ > {tmp_path}/began; {script}", **more)
    wait_until(lambda: (tmp_path / "began").exists() and (tmp_path / "began").read_text().endswith("\n"))
    return process, int((tmp_path / "began").read_text())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_passed_on_and_gives_the_claim_up(claims, tmp_path, number):
    process, child = start_and_wait(claims, tmp_path, "exec sleep 1000")
    assert claims.ask("begin", "job")["answer"] == "running"
    process.send_signal(number)
    process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 128 + number
    wait_until(lambda: not os.path.exists(f"/proc/{child}"))
    assert claims.ask("begin", "job")["answer"] == "new"


def test_a_command_that_ends_well_after_a_signal_is_done(claims, tmp_path):
    process, _ = start_and_wait(claims, tmp_path, "trap 'echo saved; exit 0' TERM; while :; do sleep 0.05; done")
    process.terminate()
    output, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, output) == (0, b"saved\n")
    assert claims.ask("begin", "job")["answer"] == "done"


@pytest.mark.parametrize("words, answer", [([], "done"), (["--abort-on-failure"], "new")])
def test_a_command_that_ends_by_itself_after_a_signal_keeps_its_status(claims, tmp_path, words, answer):
    process, _ = start_and_wait(claims, tmp_path, "trap 'echo half; exit 7' TERM; while :; do sleep 0.05; done", *words)
    process.terminate()
    output, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, output) == (7, b"half\n")
    assert claims.ask("begin", "job")["answer"] == answer


def test_a_killed_run_leaves_its_lease(claims, tmp_path):
    process, child = start_and_wait(claims, tmp_path, "exec sleep 1000", "--lease", "30m")
    process.kill()
    process.communicate(timeout=LIMIT_SECONDS)
    wait_until(lambda: not os.path.exists(f"/proc/{child}"))  # nobody would renew its lease
    answer = claims.ask("begin", "job")
    assert answer["answer"] == "running" and answer["left_ms"] > 60_000
    claims.check()


def test_the_lease_is_renewed_while_the_command_runs(claims, tmp_path):
    process, _ = start_and_wait(claims, tmp_path, f"while ! [ -e {tmp_path}/enough ]; do sleep 0.05; done; echo ok",
                                "--lease", "1500ms")
    shown = [json.loads(claims.run("list", "--json")[1])]
    token = shown[0]["token"]

    def was_renewed_twice():
        shown.append(json.loads(claims.run("list", "--json")[1]))
        assert shown[-1]["token"] == token
        left = [claim["left_ms"] if claim["state"] == "running" else 0 for claim in shown]
        return sum(later > earlier for earlier, later in zip(left, left[1:])) >= 2

    wait_until(was_renewed_twice)
    (tmp_path / "enough").touch()
    output, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, output) == (0, b"ok\n"), errors
    assert claims.ask("done", "--token", token, "job")["answer"] == "duplicate"


def test_a_lost_claim_stops_the_command(claims, tmp_path):
    process, child = start_and_wait(claims, tmp_path, "exec sleep 1000", "--lease", "900ms", "--busy-code", "99")
    # Its lease is not renewed while it is stopped; somebody else takes the claim then.
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: claims.ask("begin", "--token", "other", "--lease", "10m", "job")["answer"] == "new")
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 99 and b"given to another" in errors
    wait_until(lambda: not os.path.exists(f"/proc/{child}"))
    assert claims.ask("done", "--token", "other", "--reply", "mine", "job")["answer"] == "recorded"


@pytest.mark.parametrize("ending, said", [("abort", b"was aborted or forgotten"), ("done", b"was completed by another")])
def test_a_claim_that_was_ended_stops_the_command(claims, tmp_path, ending, said):
    process, child = start_and_wait(claims, tmp_path, "exec sleep 1000", "--token", "t", "--lease", "900ms", "--busy-code", "99")
    assert claims.ask(ending, "--token", "t", "job")["answer"] in ("aborted", "recorded")
    _, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 99 and said in errors and b"given to another" not in errors
    wait_until(lambda: not os.path.exists(f"/proc/{child}"))


def test_output_is_kept_as_far_as_there_is_room(claims):
    code, output, _ = claims.run("run", "large", "--", "head", "-c", "3000000", "/dev/zero")
    assert code == 0 and len(output) == 3_000_000
    code, output, errors = claims.run("run", "large", "--", "false")
    assert code == 0 and 1_000_000 < len(output) < 1 << 20 and "only the beginning" in errors
    # A reader that leaves early takes nothing from what is kept.
    pipe = subprocess.run(f"{BINARIES}/lethe claim run --db {claims.folder} lines -- seq 100000 | head -n 1", shell=True,
                          check=True, stdout=subprocess.PIPE, timeout=LIMIT_SECONDS)
    assert pipe.stdout == b"1\n"
    code, output, _ = claims.run("run", "lines", "--", "false")
    assert code == 0 and output.splitlines()[-1] == "100000"


def test_bad_words_are_refused(claims, tmp_path):
    (tmp_path / "large").write_bytes(b"x" * ((1 << 20) + 1))
    for words, said in [(["begin", "--lease", "0s", "i"], "lease"), (["begin", "--lease", "36500d", "i"], "30d"),
                        (["begin", "x" * 1025], "1 to 1024"), (["begin", ""], "1 to 1024"),
                        (["begin", "--token", "t" * 256, "i"], "1 to 255"), (["begin", "--fingerprint", "f" * 256, "i"], "255"),
                        (["begin", "a\\qb"], "not an escape"), (["done", "i"], "--token"), (["begin"], "ID"),
                        (["done", "--token", "t", "--reply", "a", "--reply-file", "b", "i"], "both"),
                        (["done", "--token", "t", "--reply-file", str(tmp_path / "large"), "i"], "1048576"),
                        (["run", "i"], ""), (["run", "--busy-code", "256", "i", "--", "true"], "255")]:
        code, output, errors = claims.run(*words)
        assert (code, output) == (2, "") and said in errors, (words, errors)
    code, _, errors = claims.run("done", "--token", "t", "i")
    assert code == 4 and "no store" in errors
    assert claims.ask("begin", "--token", "t", "a\\tb")["id"] == "a\tb"
    assert claims.run("list")[1].startswith("a\\tb\trunning\t")
    assert claims.run("done", "--token", "t", "--reply-file", "/no/such/file", "a\\tb")[0] == 4
    assert claims.ask("begin", "--token", "x", "a\\tb")["answer"] == "running"
