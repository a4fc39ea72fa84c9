"""Goal: `lethe count --follow` counts lines as they are written, each once, and ends when it is told to.

Method: lethe follows files that the test writes, rotates, cuts and deletes; the store is read beside it until it has what
it should have. tests/cli/test_follow.c has what happens to one reader; this is about the command."""

import gzip
import json
import os
import pty
import random
import signal
import subprocess
import time

import pytest

from conftest import BINARIES, run_lethe

DONE, USAGE, BAD_DATA, SKIPPED = 0, 2, 3, 5
PATIENCE_S = 120


class Follower:
    """A run of `lethe count --follow`."""

    def __init__(self, folder, *words, db="d", **more):
        self.folder, self.db = folder, db
        self.process = subprocess.Popen([BINARIES / "lethe", "count", "--db", db, "--follow", *words], cwd=folder,
                                        stdout=subprocess.PIPE, stderr=more.pop("stderr", subprocess.PIPE), **more)

    def values(self):
        result = run_lethe("list", "--db", self.db, cwd=self.folder)
        return dict(line.split("\t") for line in result.stdout.decode().splitlines())

    def wait_for(self, **wanted):
        """Until the counters are such."""
        wanted = {key: str(value) for key, value in wanted.items()}
        end = time.monotonic() + PATIENCE_S
        while (found := self.values()) != wanted:
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() < end, (found, wanted)
            time.sleep(0.02)

    def end(self, code=DONE, number=signal.SIGTERM):
        """Ends it, and returns what it printed."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == code, errors
        return output.decode(), errors.decode() if errors is not None else ""

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def follow(tmp_path):
    runs = []

    def start(*words, **more):
        runs.append(Follower(tmp_path, *words, **more))
        return runs[-1]
    yield start
    for run in runs:
        if run.process.poll() is None:
            run.kill()


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def test_a_quote_that_does_not_end(follow, tmp_path):
    """It holds back all that follows. That is said while it is so, with the line."""
    append(tmp_path / "log.csv", "a,k,1\n")
    with open(tmp_path / "errors", "wb") as errors:
        run = follow("--csv", "log.csv", stderr=errors)
    run.wait_for(k=1)
    append(tmp_path / "log.csv", 'b,"k,1\n' + "".join(f"{i},k,1\n" for i in range(5000)))
    end = time.monotonic() + PATIENCE_S
    wanted = b"warning: log.csv has a quoted field that begins in line 2 and has not ended"
    while wanted not in (tmp_path / "errors").read_bytes():
        assert run.process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    append(tmp_path / "log.csv", '"\nc,k,1\n')
    run.wait_for(k=2)
    run.end(code=SKIPPED)
    assert (tmp_path / "errors").read_bytes().count(b"has a quoted field") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_lines_are_counted_as_they_come(number, follow, lethe, tmp_path):
    log = tmp_path / "log"
    log.write_text("a\tk\t1\nb\tk\t1\n")
    run = follow("--json", "log")
    run.wait_for(k=2)
    append(log, "c\tk\t1\nd\tk")
    run.wait_for(k=3)
    append(log, "\t5\na\tk\t1\ne")
    run.wait_for(k=8)
    output, errors = run.end(number=number)
    summary = json.loads(output)
    assert (summary["events"], summary["applied"], summary["duplicates"], summary["pending"]) == (5, 4, 1, 1)
    assert "interrupted" not in errors and "log:6: the last line has no newline yet (1 bytes)" in errors
    append(log, "\tk\t1\n")
    result = lethe("count", "--db", "d", "log")
    assert result.returncode == DONE and b"1 event: 1 applied" in result.stderr
    assert b"log: continuing at byte 30, where the last run stopped" in result.stderr


def test_a_line_is_on_disk_without_others(follow, tmp_path):
    """Nothing has to be full for a line to be written: what is read beside it is what is on disk."""
    log = tmp_path / "log"
    log.touch()
    run = follow("--sync", "10ms", "--batch", "65536", "log")
    for i in range(1, 4):
        append(log, f"id{i}\tk\t1\n")
        run.wait_for(k=i)
    run.kill()
    assert run.values() == {"k": "3"}


def test_rotation(follow, lethe, tmp_path):
    log, old = tmp_path / "log", tmp_path / "log.1"
    log.write_text("a\tk\t1\n")
    run = follow("log")
    run.wait_for(k=1)
    with open(log, "a", encoding="ascii") as writer:
        log.rename(old)
        log.write_text("b\tk\t1\n")
        run.wait_for(k=2)
        writer.write("c\tk\t1\n")  # by a writer that has not noticed
        writer.flush()
        run.wait_for(k=3)
    append(log, "d\tk\t1\n")
    run.wait_for(k=4)
    _, errors = run.end()
    assert "lethe: log was rotated; continuing with the new file\n" in errors
    result = lethe("count", "--db", "d", "--json", "log.1", "log")
    assert json.loads(result.stdout)["events"] == 0


def test_a_file_that_is_replaced_by_a_longer_copy(follow, tmp_path):
    """The copy goes on where the file was, also when the window has forgotten its ids."""
    log, new = tmp_path / "log", tmp_path / "new"
    log.write_text("a\tk\t1\n")
    run = follow("--window", "1s", "--json", "log")
    run.wait_for(k=1)
    for i in range(3):
        append(log, "".join(f"b{i}-{j}\tk\t1\n" for j in range(100)))
        run.wait_for(k=1 + 100 * (i + 1))
    time.sleep(3)  # longer than the window and its slack
    new.write_text(log.read_text() + "c\tk\t1\n")
    new.rename(log)
    run.wait_for(k=302)
    append(log, "d\tk\t1\n")
    run.wait_for(k=303)
    assert json.loads(run.end()[0])["applied"] == 303


def test_rotation_that_nobody_followed(follow, lethe, tmp_path):
    """Both names are given, and each line is counted once, whoever reads it."""
    log, old = tmp_path / "log", tmp_path / "log.1"
    log.write_text("a\tk\t1\n")
    run = follow("-q", "log.1", "log")
    run.wait_for(k=1)
    run.end()
    append(log, "b\tk\t1\n")
    log.rename(old)
    log.write_text("c\tk\t1\n")
    run = follow("--json", "log.1", "log")
    run.wait_for(k=3)
    append(log, "d\tk\t1\n")
    run.wait_for(k=4)
    summary = json.loads(run.end()[0])
    assert (summary["events"], summary["duplicates"], summary["resumed_at"]) == (3, 0, 6)


def test_a_file_that_is_cut_short(follow, tmp_path):
    log = tmp_path / "log"
    log.write_text("a\tk\t1\nb\tk\t1\n")
    run = follow("-q", "log")
    run.wait_for(k=2)
    (tmp_path / "log.1").write_text(log.read_text())
    os.truncate(log, 0)
    append(log, "c\tk\t1\n")
    run.wait_for(k=3)
    _, errors = run.end()
    assert "warning: log was cut short or written anew; reading it from its start" in errors


def test_files_that_are_missing(follow, tmp_path):
    run = follow("-q", "log", "folder/other")
    missing = "lethe: warning: %s cannot be read: No such file or directory; waiting for it"
    for path in ("log", "folder/other"):
        assert run.process.stderr.readline().decode() == missing % path + "\n"
    (tmp_path / "log").write_text("a\tk\t1\n")
    run.wait_for(k=1)
    (tmp_path / "log").unlink()
    assert run.process.stderr.readline().decode() == \
        missing % "log" + ", and reading what is still written to the file that had this name\n"
    (tmp_path / "log").write_text("b\tk\t1\n")
    run.wait_for(k=2)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/other").write_text("c\tk\t1\n")
    run.wait_for(k=3)
    assert run.end()[1] == ""


def test_killed_at_any_moment(follow, lethe, tmp_path):
    """A writer that appends in pieces and rotates; the follower is killed again and again. In the end each line is
    counted once, by a run with --follow or without."""
    chance = random.Random(11)
    log, old = tmp_path / "log", tmp_path / "log.1"
    log.touch()
    lines = 0
    for turn in range(8):
        run = follow("-q", "--sync", chance.choice(["always", "20ms"]), "log.1", "log")
        for _ in range(chance.randrange(1, 6)):
            text = ""
            for _ in range(chance.randrange(1, 400)):
                text += f"id{lines}\tk\t1\n"
                lines += 1
            cut = chance.randrange(len(text))
            append(log, text[:cut])
            time.sleep(chance.uniform(0, 0.03))
            append(log, text[cut:])
            time.sleep(chance.uniform(0, 0.05))
        if turn % 2 == 0:
            run.wait_for(k=lines)  # what is in log.1 will be lost to the next one
            log.rename(old)
            log.touch()
        run.kill()
    run = follow("--json", "log.1", "log")
    run.wait_for(k=lines)
    assert json.loads(run.end()[0])["duplicates"] == 0
    result = lethe("count", "--db", "d", "--json", "log.1", "log")
    assert json.loads(result.stdout)["events"] == 0


def test_what_is_skipped_shows_in_the_exit_code(follow, tmp_path):
    log = tmp_path / "log"
    log.write_text("a\tk\t1\nno event\n")
    run = follow("log")
    run.wait_for(k=1)
    append(log, "\nb\tk\t1\n")  # a blank line, with another after it
    run.wait_for(k=2)
    _, errors = run.end(SKIPPED)
    assert "log:2: " in errors and "log:3: " in errors and "2 unreadable" in errors


def test_stop_at_a_mistake(follow, tmp_path):
    log = tmp_path / "log"
    log.write_text("a\tk\t1\n")
    run = follow("--on-error", "stop", "log")
    run.wait_for(k=1)
    append(log, "b\tk\t1\nno event\nc\tk\t1\n")
    errors = run.process.communicate(timeout=PATIENCE_S)[1]
    assert run.process.returncode == BAD_DATA
    assert b"log:3: " in errors and b"stopped here; all lines before it are counted" in errors
    assert run.values() == {"k": "2"}


def test_late_events_are_listed_once(follow, tmp_path):
    log, words = tmp_path / "log", ["--fields", "id=1,key=2,time=3", "--time-unit", "s", "--window", "1h",
                                    "--late-out", "late", "log"]
    log.write_text("a\tk\t1600000000\n")
    run = follow(*words)
    run.wait_for(k=1)
    append(log, "b\tk\t1500000000\nc\tk\t1600000001\n")
    run.wait_for(k=2)
    run.kill()
    run = follow(*words)
    append(log, "d\tk\t1600000002\ne\tk\t1500000001\nf\tk\t1600000003\n")
    run.wait_for(k=4)
    run.end(SKIPPED)
    assert (tmp_path / "late").read_text() == "b\tk\t1500000000\ne\tk\t1500000001\n"


def test_a_signal_before_anything_is_read(lethe, tmp_path):
    """The signal is pending when lethe starts, and comes as soon as lethe lets it: no failure, as at any later moment."""
    (tmp_path / "log").write_text("id\tkey\na\tk\n")

    def send_to_itself():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        os.kill(os.getpid(), signal.SIGTERM)
    for words in (["--window", "1h"], ["--window", "1h", "--fields", "id=id,key=key"], []):
        result = lethe("count", "--db", "d", "--json", "--follow", *words, "log", preexec_fn=send_to_itself)
        assert result.returncode == DONE, result.stderr
        assert json.loads(result.stdout)["events"] == 0 and result.stderr == b""
    result = lethe("count", "--db", "d", "--window", "1h", "log", preexec_fn=send_to_itself)
    assert result.returncode == 128 + signal.SIGTERM and b"interrupted" in result.stderr


def test_an_empty_line_at_the_end(follow, tmp_path):
    """It is neither pending nor a mistake."""
    (tmp_path / "log").write_text("a\tk\n\n")
    run = follow("--json", "log")
    run.wait_for(k=1)
    output, errors = run.end(DONE)
    assert json.loads(output)["pending"] == 0 and "warning" not in errors


def test_reports_while_it_runs(follow, tmp_path):
    (tmp_path / "log").write_text("a\tk\t1\n")
    run = follow("--json", "--report", "1s", "log")
    assert json.loads(run.process.stdout.readline())["applied"] == 1
    append(tmp_path / "log", "b\tk\t1\n")
    run.wait_for(k=2)
    while json.loads(run.process.stdout.readline())["applied"] != 2:
        pass
    assert json.loads(run.end()[0].splitlines()[-1])["applied"] == 2


def test_what_cannot_be_followed(lethe, tmp_path):
    (tmp_path / "log").write_text("a\tk\t1\n")
    (tmp_path / "packed").write_bytes(gzip.compress(b"a\tk\t1\n"))
    os.mkfifo(tmp_path / "pipe")
    for words, message in ((["log", "packed"], b"packed is compressed"),
                           ([], b"--follow needs files"), (["-"], b"standard input is not a regular file"),
                           (["pipe"], b"pipe is not a regular file"), (["."], b". is not a regular file"),
                           (["no", "no"], b"no is named twice"), (["--last-line", "log"], b"--last-line"),
                           (["--late-out", "no", "no"], b"one of the inputs"), (["log"] * 300, b"at most 256 files")):
        result = lethe("count", "--db", "d", "--follow", *words)
        assert result.returncode == USAGE and message in result.stderr, (words, result.stderr)
    result = lethe("count", "--db", "d", "--report", "1s", "log")
    assert result.returncode == USAGE and b"--report needs --follow" in result.stderr
    assert not (tmp_path / "d").exists()


def test_progress_shows_rate_and_lag(follow, tmp_path):
    (tmp_path / "log").write_text("a\tk\t1\n")
    master, slave = pty.openpty()
    run = follow("log", stderr=slave, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    shown = ""
    while "1 events, " not in shown or "up to date" not in shown.split("1 events, ")[-1]:
        shown += os.read(master, 4096).decode()
    run.end()
    os.close(master)
    assert "/s, up to date" in shown and "\n" not in shown


def test_idle_files_cost_nothing(follow, tmp_path):
    (tmp_path / "log").write_text("a\tk\t1\n")
    run = follow("log")
    run.wait_for(k=1)

    def ticks():
        fields = (tmp_path / f"/proc/{run.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    before = ticks()
    time.sleep(3)
    assert ticks() - before <= 3  # hundredths of a second
    run.end()


def test_many_resumed_files_are_one_line(lethe, tmp_path):
    names = [f"log{i}" for i in range(100)]
    for name in names:
        (tmp_path / name).write_text(f"{name}\tk\t1\n")
    assert lethe("count", "--db", "d", *names).returncode == DONE
    result = lethe("count", "--db", "d", *names)
    assert result.stderr.decode().splitlines()[0] == \
        "lethe: continuing 100 of 100 files where the last run stopped, after 990 bytes"
    assert len(result.stderr.splitlines()) == 2
    (tmp_path / "new").write_text("new\tk\t1\n")
    result = lethe("count", "--db", "d", "new", names[0])
    assert result.stderr.decode().splitlines()[0] == "lethe: log0: continuing at byte 9, where the last run stopped"


def test_a_pending_line_is_reported_once(lethe, tmp_path):
    """However many files come after it, which are complete."""
    (tmp_path / "log00").write_text("id0\tk\t1")
    for i in range(1, 12):
        (tmp_path / f"log{i:02d}.gz").write_bytes(gzip.compress(f"id{i}\tk\t1\n".encode()))
    result = lethe("count", "--db", "d", "--json", *sorted(path.name for path in tmp_path.glob("log*")))
    assert result.returncode == DONE and result.stderr.count(b"no newline yet") == 1
    assert json.loads(result.stdout)["pending"] == 1


def test_decimals_are_followed_by_the_scale_of_the_store(follow, lethe, tmp_path):
    """Of a store that has one, also through rotation, whether or not it is named."""
    log = tmp_path / "log"
    log.write_text("a\tk\t1.25\n")
    run = follow("--scale", "2", "log")
    run.wait_for(k="1.25")
    log.rename(tmp_path / "log.1")
    log.write_text("b\tk\t0.5\n")
    run.wait_for(k="1.75")
    run.end()
    run = follow("log")
    append(log, "c\tk\nd\tk\t-0.05\n")
    run.wait_for(k="2.70")
    append(log, "e\tk\t0.001\n")
    append(log, "f\tk\t0.01\n")
    run.wait_for(k="2.71")
    assert "than the store's scale, which is 2" in run.end(SKIPPED)[1]
