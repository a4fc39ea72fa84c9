"""Goal:   an argument that is out of its range is refused, nothing is changed, and the error names it, its value and the range.
Method: every argument whose description has a range, at the ends of that range and just beyond; values that are long, or could
        break a log; options that contradict each other."""

import re

import pytest
from test_commands import refused
from test_pages import described, leaves
from test_types import error_of

# Each command with its arguments by name, or by the word before them; several ways where no single one has all.
WAYS = {
    "ONCE.INCRBY": ["t i c <delta>"], "ONCE.MINCRBY": ["t i c 1 j c <delta>"], "ONCE.TOP": ["t <count>"],
    "ONCE.SCAN": ["t <cursor> MATCH * COUNT <COUNT>"], "ONCE.HOLDS": ["t <cursor> MATCH * COUNT <COUNT>"],
    "ONCE.CLAIMS": ["t <cursor> STATE <STATE> COUNT <COUNT>"],
    "ONCE.RANGE": ["t c <from> <to> PER <PER> COUNT <COUNT>"],
    "ONCE.TAKE": ["t i c <amount> LIMIT <LIMIT> PER <PER>", "t i c -1 FLOOR <FLOOR>"],
    "ONCE.PEEK": ["t c LIMIT <LIMIT> PER <PER>", "t c FLOOR <FLOOR>"],
    "ONCE.BEGIN": ["t <id> <token> FINGERPRINT <FINGERPRINT> LEASE <LEASE>"],
    "ONCE.RENEW": ["t <id> <token> LEASE <LEASE>"], "ONCE.DONE": ["t <id> <token> r"], "ONCE.ABORT": ["t <id> <token>"],
    "ONCE.HOLD": ["t <id> c <amount> LIMIT <LIMIT> PER <PER> LEASE <LEASE>"], "ONCE.SETTLE": ["t <id> <actual>"],
    "ONCE.RELEASE": ["t <id>"], "FID.ADD": ["t <item> <times>"], "FID.REMOVE": ["t <item> <times>"],
    "FID.TOP": ["t <count>"]}
for prefix in "ONCE", "FBF", "FID", "QF", "GBF":
    WAYS[prefix + ".DUMP"] = ["t <number>"]
    WAYS[prefix + ".LOAD"] = ["u <number> <last> x"]
USUAL = {"delta": "1", "count": "3", "cursor": "0", "COUNT": "3", "STATE": "done", "from": "-", "to": "+", "PER": "hour",
         "amount": "1", "LIMIT": "9", "FLOOR": "-9", "id": "i", "token": "a", "FINGERPRINT": "f", "LEASE": "5", "actual": "1",
         "item": "i", "times": "1", "number": "0", "last": "1"}


def name_of(argument):
    return argument.get("token") or argument["name"]


def checked():
    for command, description in described().items():
        seen = set()
        for argument in leaves(description["arguments"]):
            if argument.get("checked") and name_of(argument) not in seen:
                seen.add(name_of(argument))
                yield command, argument


CHECKED = list(checked())


def test_the_table_above_is_complete():
    assert len(CHECKED) > 50
    assert {command for command, _ in CHECKED} == set(WAYS)
    for command, argument in CHECKED:
        assert any(f"<{name_of(argument)}>" in way for way in WAYS[command]), (command, argument)


def words_with(command, name, value):
    way = next(way for way in WAYS[command] if f"<{name}>" in way)
    values = dict(USUAL, **{name: value})
    return [command] + [values[word[1:-1]] if word.startswith("<") else word for word in way.split()]


def values_of(argument):
    """Inside and outside."""
    numbers = re.match(r"(-?\d+) to (\d+)(.*)", argument["range"])
    if numbers is None:
        assert argument["range"] in ("running, expired or done", "hour, day, month or 100 to 31622400000 milliseconds")
        words = {"r": ["running", "DONE"], "h": ["Day", "100", "31622400000"]}[argument["range"][0]]
        return words, ["x", "", "99", "31622400001", "hours"]
    low, high, more = int(numbers[1]), int(numbers[2]), numbers[3]
    if more.startswith(" bytes"):
        return ["x" * max(low, 1), "x" * high], ["x" * (high + 1)]
    return [str(low), str(high)], [str(low - 1), str(high + 1), "x", "", "1.5", " 1", "1e1"] + (["0"] if "not 0" in more else [])


def make(server, command):
    """Something that the commands read."""
    if command.startswith("ONCE."):
        server.call("ONCE.CREATE", "t", "PER", "hour", "PER", "day", "PER", 100, "PER", 31622400000)
    elif not command.endswith(".LOAD"):
        server.call(command.split(".")[0] + ".RESERVE", "t")


@pytest.mark.parametrize("command, argument", CHECKED, ids=[f"{command} {name_of(one)}" for command, one in CHECKED])
def test_a_value_is_named_with_its_range(server, command, argument):
    make(server, command)
    inside, outside = values_of(argument)
    for value in outside:
        shown = value if len(value) <= 40 else value[:40] + "..."
        expected = f"the value '{shown}' of {name_of(argument)} is out of its range: {argument['range']}"
        assert refused(server, *words_with(command, name_of(argument), value)).removeprefix("ERR ") == expected
    for value in inside:
        try:
            server.call(*words_with(command, name_of(argument), value))
        except Exception as error: # there is no such claim, say
            assert "out of its range" not in str(error)


def test_empty_ids_have_a_word_of_their_own(server):
    make(server, "ONCE.BEGIN")
    for words in (["ONCE.BEGIN", "t", "", "a", "LEASE", 5], ["ONCE.HOLD", "t", "", "c", 1, "LIMIT", 9, "LEASE", 5]):
        assert "an id is empty" in refused(server, *words)
    assert "the value '' of token is out" in refused(server, "ONCE.DONE", "t", "i", "")


def test_a_value_cannot_break_a_log_or_a_reply(server):
    hostile = "a\r\n-ERR 'b\\\x00\xff%s%n"
    assert error_of(server, "ONCE.INCRBY", "t", "i", "c", hostile.encode("latin-1")).startswith(
        r"the value 'a\x0d\x0a-ERR \x27b\x5c\x00\xff%s%n' of delta is out of its range: -9223372036854775808")
    assert "the value '" + r"\x00" * 40 + "...' of WINDOW" in error_of(server, "ONCE.CREATE", "t", "WINDOW", b"\0" * 1000)
    assert r"syntax error at '\x0aWINDOW': options are WINDOW, ERROR" in error_of(server, "ONCE.CREATE", "t", "\nWINDOW", 1)
    assert server.client.ping() and server.client.keys() == []


@pytest.mark.parametrize("words, named", [
    ("ONCE.CREATE t KIND forgetful MAXMEMORY 1mb", ["KIND forgetful", "MAXMEMORY"]),
    ("FBF.RESERVE t MAXMEMORY 65535", ["MAXMEMORY"]), ("GBF.RESERVE t HASHES 3", ["HASHES", "SLOTS"]),
    ("GBF.RESERVE t SLOTS 1000 CAPACITY 10", ["CAPACITY", "SLOTS"]), ("GBF.RESERVE t SLOTS 1000 ERROR 0.1", ["ERROR", "SLOTS"]),
    ("GBF.RESERVE t SLOTS 1", ["SLOTS", "HASHES"]), ("QF.RESERVE t CAPACITY 1000 GROW 999", ["GROW", "CAPACITY"]),
    ("QF.RESERVE t GROW 65535", ["GROW", "CAPACITY"]), ("FID.RESERVE t WIDTH 268435456 DEPTH 32", ["WIDTH", "DEPTH"]),
    ("GBF.RESERVE t CAPACITY 1099511627776 ERROR 1e-15", ["CAPACITY", "ERROR"]),
])
def test_a_contradiction_is_named(server, words, named):
    error = refused(server, *words.split())
    assert "the options contradict each other: " in error and all(name in error for name in named)


@pytest.mark.parametrize("words", ["ONCE.CREATE t MAXMEMORY 1", "ONCE.CREATE t CAPACITY 1073741824 MAXMEMORY 4096",
                                   "ONCE.CREATE t MAXMEMORY 1 POLICY degrade"])
def test_a_cap_without_room_is_named(server, words):
    assert refused(server, *words.split()).startswith("FULL MAXMEMORY has no room for a window of that CAPACITY and ERROR")


def test_what_does_not_contradict(server):
    for words in ("FBF.RESERVE t MAXMEMORY 65536", "QF.RESERVE t CAPACITY 1000 GROW 1000", "QF.RESERVE t GROW 65536",
                  "GBF.RESERVE t SLOTS 1000 HASHES 3", "ONCE.CREATE t KIND quotient MAXMEMORY 1mb",
                  "ONCE.CREATE t KIND forgetful MAXMEMORY 0"):
        assert server.call(*words.split()) == b"OK"
        server.client.delete("t")
