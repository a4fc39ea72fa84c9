"""Goal: whatever lethe is given, it ends with a message and the right exit status, and what was
there before is still there, byte for byte, with nothing left beside it.

Method: every kind of bad parameter, file, line and environment, one test each. After each run
the folder is compared with what it was."""

import ctypes
import ctypes.util
import fcntl
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from conftest import BINARIES, run_lethe
from sizes import SIZE, sized

DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT = range(5)
KNOWN = b"".join(b"%d\n" % i for i in range(1, 1001))
HEADER_BYTES = 40


def snapshot(folder):
    """All that is in a folder: {name: content}."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def is_sanitized():
    """Whether lethe was built with a sanitizer, which wants the whole address space."""
    program = (BINARIES / "lethe").read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


def check_refused(result, code, *words):
    """The run ended with code and one message that has the words, and printed no result."""
    message = result.stderr.decode()
    assert result.returncode == code, message
    assert message.startswith("lethe: ") and message.count("\n") == 1, message
    assert "; " in message, f"a message says what to do: {message}"
    for word in words:
        assert word in message
    assert result.stdout == b""


@pytest.fixture
def folder(tmp_path, lethe):
    """A folder with lines in "known" and a filter of them in "f"."""
    (tmp_path / "known").write_bytes(KNOWN)
    assert lethe("filter", "build", "-q", "--out", "f", "known").returncode == DONE
    return tmp_path


@pytest.fixture
def small(tmp_path, lethe):
    """The bytes of the smallest filter; the folder is empty but for "f", which has them."""
    assert lethe("filter", "build", "-q", "--capacity", "1", "--out", "f",
                 stdin=b"x\n").returncode == DONE
    return (tmp_path / "f").read_bytes()


# Parameters

NEVER_A_NUMBER = ["", "0", "-1", "-0", "nan", "NaN", "inf", "-inf", "infinity", "abc", "0x", "1e",
                  "1 000", " 1", "1 ", "+1", "1,5", "--1", "1e99999", "9" * 400]
BAD_VALUES = {
    "--capacity": NEVER_A_NUMBER + ["0.5", "1.5", "0x10", "2T", "1099511627777", "1e-3", "1MiB", "5m",
                                    "18446744073709551617"],
    "--error": NEVER_A_NUMBER + ["1", "2", "0.51", "100%", "1e-16", "1e-400", "0x1p-3", "0%"],
    "--bits": NEVER_A_NUMBER + ["0.5", "0x10", "140737488355329", "1e15", "8B"],
    "--hashes": NEVER_A_NUMBER + ["65", "1.5", "1k"],
    "--seed": NEVER_A_NUMBER + ["0x0", "0xg", "18446744073709551616", "0x10000000000000000", "1k"],
    "--kind": ["", "Bloom", "blocke", "0", "bloom|blocked", "bloom "],
}


@pytest.mark.parametrize("option", BAD_VALUES)
def test_parameter_out_of_range(option, folder, lethe):
    before = snapshot(folder)
    beside = ["--bits", "1000"] if option == "--hashes" else []
    for value in BAD_VALUES[option]:
        result = lethe("filter", "build", *beside, f"{option}={value}", "--out", "f", "known")
        check_refused(result, USAGE, option)
    assert snapshot(folder) == before


def test_parameter_at_its_limit(folder, lethe):
    for kind in "bloom", "blocked":
        for options in [["--capacity", "1"], ["--error", "0.5"], ["--error", "1e-15"],
                        ["--bits", "1"], ["--bits", "1", "--hashes", "32"],
                        ["--seed", "18446744073709551615"]]:
            result = lethe("filter", "build", "--quiet", "--kind", kind, *options, "--out", "new",
                           "known")
            assert result.returncode == DONE, result.stderr
            assert lethe("filter", "test", "new", "known").stdout == KNOWN


@pytest.mark.skipif(is_sanitized(), reason="sanitizers need more address space than the limit")
def test_more_than_memory(folder, lethe):
    before = snapshot(folder)
    limit = 256 << 20

    def limit_memory():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for options in [["--capacity", "1T", "--error", "1e-15"], ["--bits", "140737488355328"],
                    ["--kind", "blocked", "--capacity", "1G"]]:
        result = lethe("filter", "build", *options, "--out", "f", "known", preexec_fn=limit_memory)
        check_refused(result, ENVIRONMENT, "memory")
    assert snapshot(folder) == before


def test_random_command_lines(folder, lethe):
    """No command line, however odd, ends lethe by a signal or with an unknown status."""
    words = ["filter", "build", "test", "info", "merge", "help", "--out", "--out=f", "f", "known",
             "nosuch", "--kind", "blocked", "--capacity=5", "--bits", "64", "--error", "0.1", "--", "-",
             "", "--json", "-q", "--help", "--version", "--count", "--invert", "-h", "--seed=1", "=",
             "--=", "---", "\xff\n", "%s%n", "--format", "man", "zsh", "x" * 5000, "--" + "y" * 5000]
    chance = random.Random(1)
    for _ in range(sized(20, 200, 2500)):
        line = chance.choices(words, k=chance.randrange(9))
        # What begins like a command goes deeper.
        if chance.random() < 0.7:
            line = ["filter", chance.choice(["build", "test", "info", "merge"]), *line]
        result = lethe(*line)
        assert result.returncode in (DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT), (line, result)
        assert result.returncode in (DONE, NEGATIVE) or result.stderr, line


# Files

def check_file_refused(path, lethe, *words):
    """Every command that reads filters refuses the file, by name, and does not touch it."""
    content = path.read_bytes()
    for command in [["info", path], ["test", path, "-"], ["merge", "--out", path, path],
                    ["merge", "--out", "new", path]]:
        check_refused(lethe("filter", *command), BAD_DATA, str(path), *words)
    assert snapshot(path.parent)[path.name] == content
    assert not (path.parent / "new").exists()


def test_truncated_at_every_length(small, tmp_path):
    for length in range(0, len(small), sized(17, 1, 1)):
        (tmp_path / "cut").write_bytes(small[:length])
        check_refused(run_lethe("filter", "info", tmp_path / "cut"), BAD_DATA, "cut", "damaged")


def test_flipped_at_every_byte(small, tmp_path):
    chance = random.Random(1)
    for place in range(0, len(small), sized(17, 1, 1)):
        for mask in 0xff, 1 << chance.randrange(8):
            flipped = bytearray(small)
            flipped[place] ^= mask
            (tmp_path / "flipped").write_bytes(flipped)
            check_refused(run_lethe("filter", "info", tmp_path / "flipped"), BAD_DATA, "flipped")


@pytest.mark.parametrize("change", {
    "empty": lambda good: b"",
    "cut": lambda good: good[:-1],
    "longer": lambda good: good + b"\0",
    "twice": lambda good: good + good,
    "shifted": lambda good: b"\n" + good,
    "text": lambda good: KNOWN,
    "zeros": lambda good: bytes(len(good)),
    "flipped": lambda good: good[:-20] + bytes([good[-20] ^ 4]) + good[-19:],
    "text mode": lambda good: good.replace(b"\r\n", b"\n"),
}.items(), ids=lambda item: item[0])
def test_every_command_refuses_damage(change, folder, lethe):
    (folder / "damaged").write_bytes(change[1]((folder / "f").read_bytes()))
    check_file_refused(folder / "damaged", lethe, "damaged")


def reseal(content):
    """The header's checksum made right again, as a genuine file of that header would have it."""
    name = ctypes.util.find_library("xxhash")
    if name is None:
        pytest.skip("libxxhash is not installed: headers cannot be resealed")
    xxh3 = ctypes.CDLL(name).XXH3_64bits
    xxh3.restype = ctypes.c_uint64
    xxh3.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    header = content[:HEADER_BYTES - 8]
    return header + xxh3(header, len(header)).to_bytes(8, "little") + content[HEADER_BYTES:]


def test_resealing_is_right(small):
    assert reseal(small) == small


def test_other_type(folder, lethe):
    good = (folder / "f").read_bytes()
    (folder / "other").write_bytes(reseal(good[:8] + b"ELSE" + good[12:]))
    check_file_refused(folder / "other", lethe, "ELSE", "of another type")


def test_newer_version(folder, lethe):
    good = (folder / "f").read_bytes()
    version = int.from_bytes(good[12:14], "little") + 1
    (folder / "newer").write_bytes(reseal(good[:12] + version.to_bytes(2, "little") + good[14:]))
    check_file_refused(folder / "newer", lethe, f"format version {version}", "upgrade")


def test_huge_length_in_the_header(folder, lethe):
    good = (folder / "f").read_bytes()
    (folder / "huge").write_bytes(reseal(good[:16] + b"\xff" * 7 + b"\x7f" + good[24:]))
    check_file_refused(folder / "huge", lethe, "damaged")


def test_second_file_is_damaged(folder, lethe):
    (folder / "damaged").write_bytes(b"no filter")
    before = snapshot(folder)
    check_refused(lethe("filter", "merge", "--out", "f", "f", "damaged"), BAD_DATA, "damaged")
    check_refused(lethe("filter", "merge", "--out", "f", "f", "nosuch"), ENVIRONMENT, "nosuch")
    assert snapshot(folder) == before


def test_other_shape_changes_nothing(folder, lethe):
    assert lethe("filter", "build", "-q", "--kind", "blocked", "--out", "b",
                 "known").returncode == DONE
    before = snapshot(folder)
    check_refused(lethe("filter", "merge", "--out", "f", "f", "b"), BAD_DATA, "b has kind blocked")
    check_refused(lethe("filter", "merge", "--out", "b", "f", "b"), BAD_DATA, "b has kind blocked")
    assert snapshot(folder) == before


def test_a_pipe_is_no_filter(folder, lethe):
    os.mkfifo(folder / "pipe")
    check_refused(lethe("filter", "info", "pipe"), ENVIRONMENT, "pipe", "regular file")
    check_refused(lethe("filter", "build", "--out", "pipe", "known"), ENVIRONMENT, "pipe")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_permissions(folder, lethe):
    (folder / "known").chmod(0)
    check_refused(lethe("filter", "test", "f", "known"), ENVIRONMENT, "known", "Permission denied")
    (folder / "known").chmod(0o600)
    folder.chmod(0o500)
    check_refused(lethe("filter", "build", "--out", "f", "known"), ENVIRONMENT, "Permission denied")
    folder.chmod(0o700)


# Lines

def test_binary_lines(tmp_path, lethe):
    """Lines of arbitrary bytes are found whole, and only they."""
    chance = random.Random(1)
    lines = [chance.randbytes(chance.randrange(300)).replace(b"\n", b"\0") for _ in range(2000)]
    data = b"\n".join(lines)
    (tmp_path / "binary").write_bytes(data)
    assert lethe("filter", "build", "-q", "--binary", "--error", "1e-9", "--out", "f",
                 "binary").returncode == DONE
    assert lethe("filter", "test", "--binary", "f", "binary").stdout == data + b"\n"
    # The empty line is among them; of a line with its first byte cut off, none is.
    others = b"".join(line[1:] + b"\n" for line in lines if len(line) > 20)
    assert lethe("filter", "test", "--binary", "--invert", "f", stdin=others).stdout == others


@pytest.mark.parametrize("piece", [1, 7, 4096, 100000])
def test_lines_arrive_in_pieces(piece, tmp_path):
    """However a pipe cuts lines, they come out whole."""
    chance = random.Random(piece)
    lines = [b"%d " % i + b"x" * chance.randrange(piece * 3) for i in range(40)]
    data = b"\n".join(lines) + b"\n"
    build = subprocess.Popen([BINARIES / "lethe", "filter", "build", "-q", "--capacity", "100",
                              "--error", "1e-9", "--out", tmp_path / "f"], stdin=subprocess.PIPE)
    for start in range(0, len(data), piece):
        build.stdin.write(data[start:start + piece])
        build.stdin.flush()
    build.stdin.close()
    assert build.wait() == DONE
    result = run_lethe("filter", "test", tmp_path / "f", stdin=data)
    assert result.stdout == data
    assert b'"additions": 40,' in run_lethe("filter", "info", "--json", tmp_path / "f").stdout


def test_line_of_100_megabytes(tmp_path, lethe):
    long = b"ab" * (50 << 20)
    data = b"first\n" + long + b"\nlast"
    (tmp_path / "long").write_bytes(data)
    result = lethe("filter", "build", "--error", "1e-9", "--out", "f", "long")
    assert result.returncode == DONE and b"3 lines added" in result.stderr
    assert lethe("filter", "test", "f", "long").stdout == data + b"\n"
    # The same from a pipe, which gives it in small pieces.
    assert lethe("filter", "test", "f", stdin=long).stdout == long + b"\n"
    assert lethe("filter", "test", "f", stdin=long[:-1]).returncode == NEGATIVE


def memory_available():
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))


@pytest.mark.skipif(is_sanitized(), reason="too slow with a sanitizer")
@pytest.mark.skipif(memory_available() < 4 << 30, reason="needs 4 GiB of memory")
@pytest.mark.skipif(SIZE == "day", reason="a gigabyte is read twice")
def test_longest_line(folder, lethe):
    """A line of 1 GiB is a line; one byte more is an error that names file and line."""
    before = snapshot(folder)
    with open(folder / "sparse", "wb") as file:
        file.write(b"a\nb\n")
        file.truncate(4 + (1 << 30))
    result = lethe("filter", "build", "-q", "--binary", "--capacity", "3", "--out", "new", "sparse")
    assert result.returncode == DONE, result.stderr
    (folder / "new").unlink()
    with open(folder / "sparse", "ab") as file:
        file.write(b"\0")
    check_refused(lethe("filter", "build", "--binary", "--capacity", "3", "--out", "f", "sparse"), BAD_DATA,
                  "sparse, line 3", "1024 MiB")
    (folder / "sparse").unlink()
    assert snapshot(folder) == before


# The environment

def test_file_size_limit_while_saving(folder, lethe):
    """A limit on the size of files is the full disk that every machine can have."""
    before = snapshot(folder)
    for limit in 0, 1, 100, 1000:
        for command in [["build", "--out", "f", "known"], ["build", "--out", "new", "known"],
                        ["merge", "--out", "f", "f", "f"]]:
            result = lethe("filter", *command, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (limit, limit)))
            check_refused(result, ENVIRONMENT, command[2], "File too large")
            assert snapshot(folder) == before


def test_full_disk_while_saving(tmp_path):
    """A real full disk: 64 KiB of memory mounted in a name space of its own."""
    script = f"""
        set -eu
        mount -t tmpfs -o size=64k lethe-test '{tmp_path}' 2>/dev/null || exit 99
        cd '{tmp_path}'
        PATH='{BINARIES}':$PATH
        seq 1000 > lines
        lethe filter build -q --out f lines
        cp f before
        status=0
        lethe filter build --capacity 1M --out f lines || status=$?
        cmp f before
        ls -A
        exit $status
    """
    result = subprocess.run(["unshare", "--mount", "bash", "-c", script], check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode in (1, 99, 127) and b"lethe" not in result.stderr:
        pytest.skip(f"cannot mount a file system here: {result.stderr.decode().strip()}")
    assert result.stdout == b"before\nf\nlines\n"
    result.stdout = b""
    check_refused(result, ENVIRONMENT, "write the filter f", "No space left on device")


@pytest.mark.parametrize("words", [["bench"], ["serve", "--db", "d"]], ids=["bench", "serve"])
def test_a_companion_is_not_installed(tmp_path, words):
    """A lethe that is alone says where it looked for its companion program."""
    shutil.copy(BINARIES / "lethe", tmp_path)
    installed = re.search(rb"nor in ([^;]*);", (BINARIES / "lethe").read_bytes())[1].decode()
    if os.path.exists(f"{installed}/lethe-{words[0]}"):
        pytest.skip("Lethe is installed on this machine")
    result = subprocess.run([tmp_path / "lethe", *words], check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    check_refused(result, ENVIRONMENT, f"lethe-{words[0]} is not installed", installed)


def test_signals_wait_for_the_server(tmp_path):
    """A SIGHUP that comes while the server is being loaded does not end it."""
    shutil.copy(BINARIES / "lethe", tmp_path)
    (tmp_path / "lethe-serve").write_text(f"#!{sys.executable}\nprint(open('/proc/self/status').read())\n")
    (tmp_path / "lethe-serve").chmod(0o755)
    printed = subprocess.run([tmp_path / "lethe", "serve", "--db", "d"], check=True, stdout=subprocess.PIPE).stdout
    blocked = int(re.search(rb"SigBlk:\s*(\w+)", printed)[1], 16)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        assert blocked >> (number - 1) & 1


def test_a_companion_that_cannot_run(tmp_path):
    shutil.copy(BINARIES / "lethe", tmp_path)
    (tmp_path / "lethe-serve").write_text("no program")
    result = subprocess.run([tmp_path / "lethe", "serve", "--db", "d"], check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check_refused(result, ENVIRONMENT, "cannot run", "lethe-serve", "install it again")


def test_the_server_alone():
    """The program of `lethe serve` has no other command, and says what that one lacks."""
    for words in [], ["serve"]:
        result = subprocess.run([BINARIES / "lethe-serve", *words], check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check_refused(result, USAGE, "--db DIR is missing")
    result = subprocess.run([BINARIES / "lethe-serve", "--db", "/dev/null", "--exact"], check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check_refused(result, USAGE, "/dev/null is a file")


def test_what_was_interrupted_before_it_had_anything(tmp_path, lethe):
    """A store of dedup, or a cascade, of which there is only the claim, and half a manifest."""
    folder = tmp_path / "seen"
    folder.mkdir()
    for name in "claim", "manifest.a1b2c3.tmp":
        (folder / name).write_bytes(b"")
        for command in "stat", "check":
            check_refused(lethe(command, "--db", "seen"), ENVIRONMENT, "interrupted", "once more")
        check_refused(lethe("backup", "--db", "seen", "--to", "backups"), ENVIRONMENT, "interrupted")
    (folder / "other").write_bytes(b"")
    check_refused(lethe("check", "--db", "seen"), USAGE, "is not a store")
    (folder / "other").unlink()
    assert lethe("dedup", "-q", "--db", "seen", stdin=b"a\na\n").stdout == b"a\n"
    assert lethe("check", "--db", "seen").returncode == DONE


def start_build(folder, *options, **more):
    """A build that reads a pipe, and has read something."""
    build = subprocess.Popen([BINARIES / "lethe", "filter", "build", "--capacity", "1M", "--out", "f",
                              *options], cwd=folder, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    build.stdin.write(b"some\nlines\nand a beginning")
    build.stdin.flush()
    wait_until_read(build.stdin)
    return build


def wait_until_read(pipe):
    """Waits until a pipe is empty: its reader is at work or waits for more."""
    for _ in range(2000):
        waiting = fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0")
        if struct.unpack("i", waiting)[0] == 0:
            return
        time.sleep(0.005)
    raise TimeoutError("lethe does not read its input")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_while_reading(number, folder):
    before = snapshot(folder)
    build = start_build(folder)
    build.send_signal(number)
    # The pipe stays open: the signal alone must end the wait.
    assert build.wait(timeout=20) == 128 + number
    message = build.stderr.read()
    assert message == b"lethe: interrupted; f was not written\n"
    assert snapshot(folder) == before
    build.stdin.close()


def test_ignored_signal_stays_ignored(folder):
    build = start_build(folder, "-q", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    build.send_signal(signal.SIGHUP)
    out, errors = build.communicate(b" of a line\n", timeout=20)
    assert (build.returncode, out, errors) == (DONE, b"", b"")
    assert b'"additions": 3,' in run_lethe("filter", "info", "--json", folder / "f").stdout


def test_signal_at_any_time(folder, lethe):
    """Wherever a signal hits, the file is the old one or the new one and is alone."""
    old = (folder / "f").read_bytes()
    assert lethe("filter", "build", "-q", "--capacity", "20M", "--out", "f",
                 "known").returncode == DONE
    new = (folder / "f").read_bytes()
    chance = random.Random(1)
    for _ in range(25):
        (folder / "f").write_bytes(old)
        build = subprocess.Popen([BINARIES / "lethe", "filter", "build", "-q", "--capacity", "20M",
                                  "--out", "f", "known"], cwd=folder, stderr=subprocess.PIPE)
        time.sleep(chance.random() * 0.08)
        build.send_signal(signal.SIGINT)
        build.communicate(timeout=60)
        # Before it is ready for signals the system ends it, which is as harmless.
        assert build.returncode in (DONE, 128 + signal.SIGINT, -signal.SIGINT)
        assert (folder / "f").read_bytes() == (new if build.returncode == DONE else old)
        assert sorted(snapshot(folder)) == ["f", "known"]
