"""Goal: `lethe freq` against an exact count of the same lines, and no input, file or option ends it otherwise than
with a message and the right exit status, with everything left as it was."""

import collections
import gzip
import random
import resource
import signal
import subprocess

import pytest

from conftest import BINARIES, run_lethe
from sizes import sized
from test_bad_input import (BAD_DATA, DONE, ENVIRONMENT, NEVER_A_NUMBER, USAGE, check_refused, is_sanitized,
                            snapshot)

KINDS = ["cm", "cu", "fid", "count", "cml"]


@pytest.fixture
def words(tmp_path):
    """A file "words" of random lines, few of them often, and how often each is there."""
    chance = random.Random(1)
    lines = [b"word-%d" % min(chance.randrange(1, 3000), chance.randrange(1, 3000)) for _ in range(30000)]
    lines += [b"often"] * 2000 + [b"odd \xff\x00 bytes"] * 1000 + [b""] * 500
    chance.shuffle(lines)
    (tmp_path / "words").write_bytes(b"\n".join(lines) + b"\n")
    return collections.Counter(lines)


def estimates(output):
    """{key: numbers} of what query and top print."""
    found = {}
    for line in output.split(b"\n")[:-1]:
        key, *numbers = line.rsplit(b"\t", 1 if line.count(b"\t") == 1 else 3)
        found[key] = [int(number) for number in numbers]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_near(kind, words, tmp_path, lethe):
    assert lethe("freq", "build", "-q", "--binary", "--kind", kind, "--width", "2000", "--top", "3", "--out", "s",
                 "words").returncode == DONE
    (tmp_path / "keys").write_bytes(b"".join(key + b"\n" for key in words))
    answers = estimates(lethe("freq", "query", "--bounds", "--binary", "--keys", "keys", "s").stdout)
    assert set(answers) == set(words)
    beyond = 0
    for key, (estimate, least, most) in answers.items():
        assert least <= estimate <= most
        beyond += not least <= words[key] <= most
        assert kind in ("count", "cml") or estimate >= words[key]
    assert beyond <= len(words) * 0.06
    top = estimates(lethe("freq", "top", "--bounds", "s").stdout)
    assert list(top)[:2] == [b"often", b"odd \xff\x00 bytes"]
    assert all(least <= words[key] for key, (_, least, _) in top.items())


@pytest.mark.parametrize("kind", ["cm", "fid", "count"])
def test_what_was_added_can_be_removed(kind, words, lethe):
    assert lethe("freq", "build", "-q", "--binary", "--kind", kind, "--width", "500", "--out", "s",
                 "words").returncode == DONE
    assert lethe("freq", "remove", "-q", "--binary", "s", "words").returncode == DONE
    assert b'"total": 0, "counters_used": 0,' in lethe("freq", "info", "--json", "s").stdout
    assert words


@pytest.fixture
def long_text(tmp_path):
    """A file "long" of several blocks of words, and those words."""
    chance = random.Random(2)
    lines = [b"word %d" % int(chance.paretovariate(0.5)) for _ in range(400000)]
    (tmp_path / "long").write_bytes(b"\n".join(lines) + b"\n")
    return lines


@pytest.mark.parametrize("kind", ["cm", "fid"])
def test_any_threads_and_any_way_in(kind, long_text, tmp_path, lethe):
    options = ["-q", "--kind", kind, "--width", "1000", "--top", "30"]
    assert lethe("freq", "build", *options, "--threads", "1", "--out", "s", "long").returncode == DONE
    text = (tmp_path / "long").read_bytes()
    (tmp_path / "long.gz").write_bytes(gzip.compress(text, 1))
    half = text.index(b"\n", len(text) // 2) + 1
    (tmp_path / "first").write_bytes(text[:half])
    (tmp_path / "second").write_bytes(text[half:])
    for threads, files, stdin in [(2, ["long.gz"], b""), (3, [], text), (5, ["first", "second"], b"")]:
        assert lethe("freq", "build", *options, "--threads", str(threads), "--out", "other", *files,
                     stdin=stdin).returncode == DONE
        assert (tmp_path / "other").read_bytes() == (tmp_path / "s").read_bytes()
    exact = collections.Counter(long_text)
    top = estimates(lethe("freq", "top", "--bounds", "s").stdout)
    assert set(list(top)[:5]) <= {key for key, _ in exact.most_common(8)}
    assert all(least <= exact[key] <= estimate for key, (estimate, least, _) in top.items())


def test_first_wrong_line_is_named(long_text, tmp_path, lethe):
    for wrong in [[300001], [300001, 399000]]:
        lines = list(long_text)
        for number in wrong:
            lines[number - 1] = b"none"
        (tmp_path / "long").write_bytes(b"\n".join(lines))
        for threads in "1", "3":
            check_refused(lethe("freq", "build", "--threads", threads, "--field", "2", "--delimiter", " ", "--out",
                                "s", "long"), BAD_DATA, "long, line 300001 has 1 field")
    assert not (tmp_path / "s").exists()


def test_killed_run_leaves_the_sketch(long_text, tmp_path, lethe):
    assert lethe("freq", "build", "-q", "--out", "s", stdin=b"before\n").returncode == DONE
    before = snapshot(tmp_path)
    for number in signal.SIGKILL, signal.SIGINT:
        process = subprocess.Popen([BINARIES / "lethe", "freq", "build", "-q", "--threads", "3", "--out", "s"], cwd=tmp_path,
                                   stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdin.write(b"\n".join(long_text) + b"\n") # all but a pipe's worth has been read by then
        process.stdin.flush()
        process.send_signal(number)
        assert process.wait() != DONE
        process.stdin.close()
        assert snapshot(tmp_path) == before


BAD_VALUES = {
    "--width": NEVER_A_NUMBER + ["0.5", "268435457", "1MiB"],
    "--depth": NEVER_A_NUMBER + ["33", "1.5"],
    "--is-width": NEVER_A_NUMBER + ["268435457"],
    "--is-depth": NEVER_A_NUMBER + ["33"],
    "--memory": NEVER_A_NUMBER + ["1.5", "5m", "99999999TiB"],
    "--epsilon": NEVER_A_NUMBER + ["1", "2", "100%", "1e-9", "1e-400", "0%"],
    "--delta": NEVER_A_NUMBER + ["1", "0.51", "1e-13"],
    "--bits": NEVER_A_NUMBER + ["4", "7", "24", "65", "128"],
    "--top": NEVER_A_NUMBER + ["1048577", "1.5"],
    "--threads": NEVER_A_NUMBER + ["257", "1.5"],
    "--field": NEVER_A_NUMBER + ["1.5", "1000001"],
    "--weight-field": NEVER_A_NUMBER + ["1000001"],
    "--seed": NEVER_A_NUMBER + ["0x0", "18446744073709551616"],
    "--kind": ["", "CM", "fi", "0", "cm|cu", "cm "],
    "--removal": ["", "yes", "subtract", "default"],
    "--delimiter": ["", "ab"],
}


@pytest.mark.parametrize("option", BAD_VALUES)
def test_parameter_out_of_range(option, tmp_path, words, lethe):
    before = snapshot(tmp_path)
    beside = {"--is-width": ["--kind", "fid"], "--is-depth": ["--kind", "fid"], "--delta": ["--epsilon", "0.1"],
              "--weight-field": ["--field", "1"]}.get(option, [])
    for value in BAD_VALUES[option]:
        check_refused(lethe("freq", "build", *beside, f"{option}={value}", "--out", "s", "words"), USAGE, option[2:5])
    assert snapshot(tmp_path) == before and words


def test_damage_is_noticed(tmp_path, lethe):
    options = ["--kind", "fid", "--width", "3", "--depth", "2", "--bits", "8", "--is-width", "5", "--top", "2"]
    assert lethe("freq", "build", "-q", *options, "--out", "s", stdin=b"a\nb\na\n").returncode == DONE
    assert lethe("freq", "export", "-q", "--out", "q", "s").returncode == DONE
    for name in "s", "q":
        good = (tmp_path / name).read_bytes()
        chance = random.Random(1)
        damaged = [good[:length] for length in range(0, len(good), 7)] + [good + b"\0", bytes(len(good))]
        for place in range(0, len(good), sized(6, 1, 1)):
            flipped = bytearray(good)
            flipped[place] ^= 1 << chance.randrange(8)
            damaged.append(bytes(flipped))
        for content in damaged:
            (tmp_path / "damaged").write_bytes(content)
            check_refused(run_lethe("freq", "query", tmp_path / "damaged", "a"), BAD_DATA, "damaged")


def test_nothing_is_left_half_done(tmp_path, words, lethe):
    assert lethe("freq", "build", "-q", "--binary", "--width", "500", "--out", "s", "words").returncode == DONE
    before = snapshot(tmp_path)
    (tmp_path / "more").write_bytes(b"often\nnever-added-at-all\n" * 2000)
    before = snapshot(tmp_path)
    check_refused(lethe("freq", "remove", "s", "more"), BAD_DATA, "left as it was")
    for limit in 0, 100, 1000:
        for command in [["build", "--out", "s", "words", "--binary"], ["build", "--out", "new", "words", "--binary"],
                        ["merge", "--out", "s", "s", "s"], ["export", "--out", "new", "s"]]:
            result = lethe("freq", *command, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (limit, limit)))
            check_refused(result, ENVIRONMENT, command[2], "File too large")
    assert snapshot(tmp_path) == before and words


@pytest.mark.skipif(is_sanitized(), reason="sanitizers need more address space than the limit")
def test_more_than_memory(tmp_path, words, lethe):
    before = snapshot(tmp_path)

    def limit_memory():
        resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
    for options in [["--width", "268435456"], ["--memory", "1TiB"], ["--epsilon", "2e-8"]]:
        check_refused(lethe("freq", "build", *options, "--out", "s", "words", preexec_fn=limit_memory), ENVIRONMENT,
                      "memory")
    assert snapshot(tmp_path) == before and words
