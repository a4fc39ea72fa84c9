"""Goal: decimals are counted exactly, in every format and mode, and printed with all their digits by every command.

Method: the same deltas in every format, compared with Python's decimals; stores with a scale in each mode, through kills,
backups, other commands and runs that leave the scale out; what does not fit the scale, by lines and by options."""

import decimal
import json

import pytest

DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT, SKIPPED = range(6)
START = 1_600_000_000_000

# Deltas at a scale of 2, as they may be written; the last ones cannot be read.
GOOD = ["3", "3.5", "3.50", "3.500", "-0.25", "+0.05", "1e2", "125e-2", "0.1", "0.2", "-0", "90071992547409.93", ""]
BAD = ["3.505", "1e-3", "x", "3,50", ".5", "5.", "1e30", "92233720368547758.08", "-92233720368547758.09"]
TOTAL = sum(decimal.Decimal(text or "1") for text in GOOD)


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def is_json_number(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return text != ""


def json_line(number, text, bare):
    value = text if bare and is_json_number(text) else "null" if text == "" else json.dumps(text)
    return f'{{"source": "s", "id": "{number}", "type": "k", "key": "k", "delta": {value}, "data": {{"n": {value}}}}}\n'


# How a delta is written and lethe told to read it.
FORMATS = {
    "plain": ([], lambda number, text: f"{number}\tk\t{text}\n"),
    "plain with columns": (["--fields", "id=3,key=1,delta=2"], lambda number, text: f"k\t{text}\t{number}\n"),
    "CSV": (["--csv", "--fields", "id=1,key=2,delta=3"], lambda number, text: f"{number},k,{quoted(text)}\n"),
    "semicolons": (["--csv", "--delimiter", ";"], lambda number, text: f"{number};k;{text}\n"),
    "JSON strings": (["--jsonl"], lambda number, text: json_line(number, text, False)),
    "JSON numbers": (["--jsonl"], lambda number, text: json_line(number, text, True)),
    "CloudEvents": (["--cloudevents", "--fields", "key=type,delta=data.n"],
                    lambda number, text: json_line(number, text, True)),
}


def count(lethe, *words, lines, code=DONE, folder="s"):
    result = lethe("count", "--db", folder, "--json", *words, stdin=lines.encode())
    assert result.returncode == code, result.stderr
    return result


def get(lethe, key, folder="s"):
    result = lethe("get", "--db", folder, key)
    assert result.returncode == DONE, result.stderr
    return result.stdout.decode().split("\t")[1].rstrip("\n")


def stat(lethe, folder="s"):
    return json.loads(lethe("stat", "--db", folder, "--json").stdout)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format(name, lethe):
    words, line = FORMATS[name]
    lines = "".join(line(number, text) for number, text in enumerate(GOOD))
    summary = json.loads(count(lethe, "--scale", "2", *words, lines=lines).stdout)
    assert summary["applied"] == len(GOOD)
    assert get(lethe, "k") == f"{TOTAL:.2f}"
    bad = "".join(line(1000 + number, text) for number, text in enumerate(BAD))
    result = count(lethe, *words, lines=bad, code=SKIPPED)
    assert json.loads(result.stdout)["unreadable"] == len(BAD)
    assert json.loads(count(lethe, *words, lines=lines).stdout)["duplicates"] == len(GOOD)
    assert get(lethe, "k") == f"{TOTAL:.2f}"


def test_messages_name_the_scale(lethe):
    lines = "a\tk\t3.505\nb\tk\t92233720368547758.08\nc\tk\tx\nd\tk\t1\n"
    errors = count(lethe, "--scale", "2", lines=lines, code=SKIPPED).stderr.decode()
    assert ("standard input:1: the delta '3.505' has more digits after the point than the store's scale, which is 2; write no "
            "more, or make a new store with a larger --scale") in errors
    assert ("standard input:2: the delta '92233720368547758.08' is beyond 64 bits; write a number from -92233720368547758.08 "
            "to 92233720368547758.07") in errors
    assert "standard input:3: the delta 'x' is not a number; write one such as 1 or -0.5" in errors
    assert get(lethe, "k") == "1.00"
    errors = count(lethe, lines="a\tk\t3.5\n", folder="whole", code=SKIPPED).stderr.decode()
    assert "'3.5' is not a whole number; write one such as 1 or -5, or make a new store with --scale" in errors
    stopped = count(lethe, "--on-error", "stop", lines="e\tk\t0.001\n", code=BAD_DATA).stderr.decode()
    assert "standard input:1: the delta '0.001' has more digits" in stopped


def test_every_command_prints_decimals(lethe):
    count(lethe, "--scale", "2", lines="a\tx\t19.99\nb\ty\t-0.05\nc\tz\t100\nd\tx\t0.01\ne\tw\t0\n")
    assert lethe("get", "--db", "s", "x", "y").stdout == b"x\t20.00\ny\t-0.05\n"
    assert lethe("list", "--db", "s").stdout == b"w\t0.00\nx\t20.00\ny\t-0.05\nz\t100.00\n"
    assert lethe("top", "--db", "s").stdout == b"z\t100.00\nx\t20.00\nw\t0.00\ny\t-0.05\n"
    assert lethe("top", "--db", "s", "-n", "1", "--json").stdout == b'{"key": "z", "value": 100.00}\n'
    assert lethe("get", "--db", "s", "y", "no", "--json").stdout == \
        b'{"key": "y", "value": -0.05}\n{"key": "no", "value": null}\n'
    assert lethe("list", "--db", "s", "--prefix", "x", "--json").stdout == b'{"key": "x", "value": 20.00}\n'
    assert b"scale           2 digits after the point\n" in lethe("stat", "--db", "s").stdout
    assert stat(lethe)["scale"] == 2
    assert lethe("check", "--db", "s").returncode == DONE


def test_numbers_beyond_doubles(lethe):
    """JSON has all digits, though few readers keep them."""
    count(lethe, "--scale", "18", lines="a\tk\t9.223372036854775807\nb\tl\t-9.223372036854775808\n")
    assert lethe("list", "--db", "s", "--json").stdout == \
        b'{"key": "k", "value": 9.223372036854775807}\n{"key": "l", "value": -9.223372036854775808}\n'
    errors = count(lethe, lines="c\tk\t0.000000000000000001\n", code=SKIPPED).stderr.decode()
    assert "a counter would exceed the range of 64 bits" in errors


def test_a_missing_delta_is_one(lethe):
    count(lethe, "--scale", "3", lines="a\tk\nb\tk\t\n")
    count(lethe, "--fields", "id=1,key=2", lines="c\tk\n")
    count(lethe, "--jsonl", "--fields", "id=i,key=k,key=:n", lines='{"i": "d", "k": "k"}\n')
    assert (get(lethe, "k"), get(lethe, "n")) == ("4.000", "1.000")
    errors = count(lethe, "--strict", lines="e\tk\n", code=SKIPPED).stderr.decode()
    assert "the delta is missing" in errors


def test_set(lethe):
    count(lethe, "--scale", "2", lines="a\tk\t1\n")
    for text, shown in (("3.5", "3.50"), ("-7", "-7.00"), ("1e2", "100.00"), ("0.05", "0.05"), ("2.500", "2.50")):
        assert lethe("set", "--db", "s", "k", text, "--json").stdout.decode() == f'{{"key": "k", "value": {shown}}}\n'
        assert get(lethe, "k") == shown
    for text, words in (("3.505", "the value '3.505' has more digits after the point than the store's scale, which is 2"),
                        ("x", "the value 'x' is not a whole number"),
                        ("92233720368547758.08", "beyond 64 bits; write a number from -92233720368547758.08 to")):
        result = lethe("set", "--db", "s", "k", text)
        assert result.returncode == USAGE and words in result.stderr.decode()
        assert get(lethe, "k") == "2.50"
    assert lethe("set", "--db", "none", "k", "x").returncode == USAGE
    assert lethe("set", "--db", "none", "k", "1.5").returncode == ENVIRONMENT


MODES = {
    "wall clock": [],
    "exact": ["--exact"],
    "payloads": ["--check-payload"],
    "for ever": ["--forever", "--ledger-memory", "8MiB"],
    "forgetful": ["--window-kind", "forgetful"],
    "sketch": ["--sketch", "1MiB"],
    "event time": ["--fields", "id=1,key=2,delta=3,time=4"],
}


@pytest.mark.parametrize("name", MODES)
def test_the_scale_is_the_stores(name, lethe):
    words = MODES[name]
    later = words if name == "event time" else []

    def line(identity, delta):
        return f"{identity}\tk\t{delta}" + (f"\t{START}" if name == "event time" else "") + "\n"

    count(lethe, "--scale", "2", *words, lines=line("a", "1.25"))
    count(lethe, *later, lines=line("a", "1.250") + line("b", "0.5"))
    if name != "sketch":
        assert lethe("set", "--db", "s", "other", "1.5").returncode == DONE
        assert lethe("del", "--db", "s", "other").returncode == DONE
    for other in ("0", "1", "3"):
        refusal = count(lethe, "--scale", other, *later, lines=line("c", "1"), code=USAGE).stderr.decode()
        assert (f"the store has a scale of 2, and a scale of {other} is asked for; leave that out, or name another folder"
                in refusal)
    count(lethe, "--scale", "2", *later, lines=line("b", "0.50") + line("c", "-0.05"))
    assert get(lethe, "k") == "1.70"
    assert lethe("backup", "--db", "s", "--to", "b").returncode == DONE
    assert lethe("restore", "--from", "b", "--db", "t").returncode == DONE
    assert stat(lethe, "t")["scale"] == 2
    count(lethe, *later, lines=line("c", "-0.05") + line("d", "0.01"), folder="t")
    assert (get(lethe, "k"), get(lethe, "k", "t")) == ("1.70", "1.71")
    mismatch = count(lethe, *later, lines=line("a", "1.26"), code=SKIPPED if name == "payloads" else DONE)
    assert ("other keys or deltas" in mismatch.stderr.decode()) == (name == "payloads")


def test_a_store_of_whole_numbers_stays_so(lethe):
    count(lethe, lines="a\tk\t3\n")
    assert "the store has a scale of 0, and a scale of 2 is asked for" in \
        count(lethe, "--scale", "2", lines="b\tk\t1\n", code=USAGE).stderr.decode()
    count(lethe, "--scale", "0", lines="b\tk\t2.0\n")
    assert get(lethe, "k") == "5"
    assert stat(lethe)["scale"] == 0
    assert b"scale" not in lethe("stat", "--db", "s").stdout


def test_a_sketch_estimates_decimals(lethe):
    count(lethe, "--scale", "2", "--sketch", "1MiB", "--top", "2", lines="a\tx\t19.99\nb\ty\t0.05\nc\tx\t-0.99\n")
    assert lethe("get", "--db", "s", "x", "y").stdout == b"x\t19.00\ny\t0.05\n"
    assert lethe("top", "--db", "s").stdout == b"x\t19.00\ny\t0.05\n"
    assert lethe("get", "--db", "s", "--bounds", "x").stdout.startswith(b"x\t19.00\t1")
    assert lethe("get", "--db", "s", "--bounds", "y", "--json").stdout == \
        b'{"key": "y", "value": 0.05, "least": 0.05, "most": 0.05}\n'
    assert b"counted         19.05\n" in lethe("stat", "--db", "s").stdout
    numbers = json.loads(lethe("stat", "--db", "s", "--json").stdout, parse_float=decimal.Decimal)
    assert numbers["sketch_total"] == decimal.Decimal("19.05") and numbers["scale"] == 2
    for delta in ("-20", "42949672.95"):
        refusal = count(lethe, lines=f"d\tx\t{delta}\n", code=SKIPPED).stderr.decode()
        assert "the key would fall below zero, or its estimate would exceed 42949672.94; not counted" in refusal
    assert b"no counters to set" in lethe("set", "--db", "s", "x", "1.5").stderr


def test_literal_deltas(lethe, tmp_path):
    """One that does not fit the scale is refused before anything is made or switched."""
    literal = ["--fields", "id=1,key=2,delta=3,key=:orders,delta=:1.55"]
    for words in (literal, ["--scale", "1", *literal], ["--scale", "0", *literal]):
        refusal = count(lethe, *words, lines="a\tk\t2\n", code=USAGE).stderr.decode()
        assert "--fields: the delta '1.55'" in refusal and "--scale" in refusal
        assert not (tmp_path / "s").exists()
    count(lethe, "--scale", "2", *literal, lines="a\tk\t2\n")
    count(lethe, *literal, lines="b\tk\t0.25\n")
    assert (get(lethe, "k"), get(lethe, "orders")) == ("2.25", "3.10")
    finer = ["--fields", "id=1,key=2,delta=:0.001"]
    for words in ([], ["--exact"], ["--window", "1h"]):
        refusal = count(lethe, *words, *finer, lines="c\tk\n", code=USAGE).stderr.decode()
        assert "the delta '0.001' has more digits after the point than the store's scale, which is 2" in refusal
    assert not stat(lethe)["exact"] and stat(lethe)["window_ms"] != 3_600_000
    assert "is not a number; write one such as :1" in \
        count(lethe, "--fields", "id=1,key=2,delta=:x", lines="", code=USAGE).stderr.decode()


@pytest.mark.parametrize("text", ["19", "-1", "2.5", "x", "", "99999999999999999999"])
def test_wrong_scales(text, lethe, tmp_path):
    result = lethe("count", "--db", "s", f"--scale={text}", stdin=b"a\tk\t1\n")
    assert result.returncode == USAGE
    assert b"give one from 0 to 18, such as 2 for hundredths" in result.stderr or text == ""
    assert not (tmp_path / "s").exists()


def test_a_server_has_whole_numbers(lethe):
    result = lethe("count", "--redis", "redis://127.0.0.1:1", "--table", "t", "--scale", "2", stdin=b"")
    assert result.returncode == USAGE
    assert b"--scale cannot be used with --redis: a table has whole numbers; count the smallest unit, such as cents" \
        in result.stderr
    result = lethe("count", "--redis", "redis://127.0.0.1:1", "--table", "t", "--fields", "id=1,key=2,delta=:1.5", stdin=b"")
    assert result.returncode == USAGE and b"the delta '1.5' is not a whole number" in result.stderr


def test_a_file_continues_where_the_scale_is_left_out(lethe, tmp_path):
    """The scale is no part of how a file was read: it is the store's."""
    (tmp_path / "f").write_bytes(b"a\tk\t1.25\n")
    count(lethe, "--scale", "2", "f", lines="")
    (tmp_path / "f").write_bytes(b"a\tk\t1.25\nb\tk\t0.5\n")
    assert json.loads(count(lethe, "f", lines="").stdout)["resumed_at"] == 9
    assert json.loads(count(lethe, "--scale", "2", "f", lines="").stdout)["resumed_at"] == 17
    assert get(lethe, "k") == "1.75"


def test_files_that_are_merged(lethe, tmp_path):
    """Several files with times, each with a reader of its own; the scale is asked for, then left out."""
    timed = ["--fields", "id=1,key=2,delta=3,time=4"]
    for name, start in (("f", 0), ("g", 1)):
        (tmp_path / name).write_text("".join(f"{name}{i}\tk\t0.25\t{START + 1000 * i}\n" for i in range(start, 40, 2)))
    count(lethe, "--scale", "2", *timed, "f", "g", lines="")
    assert get(lethe, "k") == "10.00"
    for name in ("f", "g"):
        with open(tmp_path / name, "a", encoding="ascii") as file:
            file.write(f"{name}-more\tk\t0.01\t{START + 50000}\n{name}-finer\tk\t0.001\t{START + 50000}\n")
    assert json.loads(count(lethe, *timed, "f", "g", lines="", code=SKIPPED).stdout)["unreadable"] == 2
    assert get(lethe, "k") == "10.02"
