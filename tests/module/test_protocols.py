"""Goal:   booleans in version 3 of the protocol, where RedisBloom has them; fractions as they were given, in both versions.
Method: the bytes that a server sends, of every command that answers yes or no, and of every option that is a fraction."""

import socket

import pytest
from servers import table_info
from test_commands import raw
from test_pages import described

YES_OR_NO = [("FBF.ADD f a", True), ("FBF.ADD f a", False), ("FBF.TEST f a", True), ("FBF.TEST f z", False), ("FBF.TEST none z", False),
             ("FBF.MADD f a b", [False, True]), ("FBF.MTEST f a z", [True, False]), ("FBF.MTEST none z", [False]),
             ("QF.ADD q a", True), ("QF.ADD q a", False), ("QF.TEST q a", True), ("QF.MADD q b b", [True, False]),
             ("QF.MTEST q b z", [True, False]), ("QF.REMOVE q a", True), ("QF.REMOVE q z", False), ("QF.REMOVE none z", False),
             ("QF.MREMOVE q b z", [True, False]), ("QF.MREMOVE none z", [False]), ("GBF.ADD g a", True), ("GBF.ADD g a", False),
             ("GBF.TEST g a", True), ("GBF.MADD g a b", [False, True]), ("GBF.MTEST g b z", [True, False]),
             ("ONCE.ADD t a b a", [True, True, False]), ("ONCE.SEEN t a z", [True, False]), ("ONCE.SEEN none z", [False]),
             ("ONCE.FORGET t a", True), ("ONCE.FORGET t a", False), ("ONCE.FORGET none a", False)]
NUMBERS = [("QF.COUNT q b", [1]), ("ONCE.INCRBY t i x 5", [1, 5]), ("ONCE.INCRBY t i x 5", [0, 5]), ("ONCE.DEL t x y", 1),
           ("ONCE.DEL none x", 0), ("FID.ADD s a 1", [1]), ("FID.COUNT s a", [1]), ("ONCE.TAKE t j x 1 LIMIT 1", [1, 1, 0, -1])]


class Link:
    """A connection whose replies are values of Python's: booleans, integers, floats, bytes, lists, dictionaries."""

    def __init__(self, server, protocol):
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.reader = self.socket.makefile("rb")
        self.execute_command("HELLO", str(protocol))

    def execute_command(self, *words):
        packed = [b"*%d\r\n" % len(words)]
        for word in words:
            data = str(word).encode()
            packed.append(b"$%d\r\n%s\r\n" % (len(data), data))
        self.socket.sendall(b"".join(packed))
        return self._value()

    def _value(self):
        line = self.reader.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind in b"+-":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b",":
            return float(rest)
        if kind == b"_" or rest == b"-1":
            return None
        if kind == b"$":
            return self.reader.read(int(rest) + 2)[:-2]
        values = [self._value() for _ in range(int(rest) * (2 if kind == b"%" else 1))]
        return dict(zip(values[::2], values[1::2])) if kind == b"%" else values

    def close(self):
        self.reader.close()
        self.socket.close()


def same(found, wanted, kind):
    found, wanted = (one if isinstance(one, list) else [one] for one in (found, wanted))
    return [type(one) for one in found] == [kind] * len(wanted) and [int(one) for one in found] == [int(one) for one in wanted]


@pytest.mark.parametrize("protocol", [2, 3])
def test_yes_and_no(server, protocol):
    link = Link(server, protocol)
    for words, wanted in YES_OR_NO:
        assert same(link.execute_command(*words.split()), wanted, bool if protocol == 3 else int), words
    for words, wanted in NUMBERS:
        assert same(link.execute_command(*words.split()), wanted, int), words
    link.close()


def test_the_descriptions_say_which():
    answers = {words.split()[0] for words, _ in YES_OR_NO}
    for name, description in described().items():
        has_booleans = any("true" in form["resp3"].split() for form in description["replies"])
        assert has_booleans == (name in answers), name


def test_yes_and_no_within_scripts_and_calls(server):
    link = Link(server, 3)
    assert link.execute_command("EVAL", "return redis.call('FBF.ADD', KEYS[1], 'a')", 1, "f") == 1
    assert link.execute_command("EVAL", "redis.setresp(3) return redis.call('FBF.ADD', KEYS[1], 'b') == true", 1, "f") == 1
    assert link.execute_command("ONCE.CALL", "t", "i", "FBF.ADD", "f", "c") == [1, True]
    assert server.call("ONCE.CALL", "t", "j", "FBF.ADD", "f", "c") == [1, 0]
    # What is kept has the form of version 2 for everybody.
    for expected in ([1, 1], [0, 1]):
        assert link.execute_command("ONCE.CALL", "t", "k", "KEEP", "FBF.ADD", "f", "d") == expected
    assert server.call("ONCE.CALL", "t", "k", "KEEP", "FBF.ADD", "f", "d") == [0, 1]
    link.close()


GIVEN = ["0.001", "0.1", "1e-09", "0.07", "0.033", "0.012345678901234567", "1e-12", "2.5e-07", "0.05"]
FRACTIONS = [("ONCE", "ERROR", "error_target", GIVEN), ("FBF", "ERROR", "error_target", GIVEN),
             ("FBF", "SLACK", "slack", ["0.3", "0.1", "0.7", "1", "0.02"])]
PLANNED = [("QF", "ERROR", "error_target", GIVEN), ("GBF", "ERROR", "error_target", GIVEN),
           ("ONCE", "SLACK", "slack", ["0.3", "0.1", "0.7", "1", "0.02"])]


def shortest(text):
    """As Python has it, but for the exponent's form: 1e-09."""
    return repr(float(text)).removesuffix(".0")


@pytest.mark.parametrize("prefix, option, field, given", FRACTIONS, ids=[f"{row[0]} {row[1]}" for row in FRACTIONS])
def test_fractions_are_shown_as_given(server, prefix, option, field, given):
    link = Link(server, 3)
    for text in given:
        server.call(prefix + (".CREATE" if prefix == "ONCE" else ".RESERVE"), "t", option, text)
        flat = server.call(prefix + ".INFO", "t")
        shown = dict(zip(flat[::2], flat[1::2]))[field.encode()].decode()
        assert shown == shortest(text) and float(shown) == float(text) == table_info(server.client)[field]
        assert link.execute_command(prefix + ".INFO", "t")[field.encode()] == float(text)
        server.client.delete("t")
    link.close()


@pytest.mark.parametrize("prefix, option, field, given", PLANNED, ids=[f"{row[0]} {row[1]}" for row in PLANNED])
def test_fractions_that_are_planned_have_no_digit_too_many(server, prefix, option, field, given):
    """What is reached can be better than what was given, in whole bits or periods."""
    link = Link(server, 3)
    for text in given:
        server.call(prefix + (".CREATE" if prefix == "ONCE" else ".RESERVE"), "t", option, text)
        flat = server.call(prefix + ".INFO", "t")
        fields = dict(zip(flat[::2], flat[1::2]))
        shown = fields[field.encode()].decode()
        assert 0 < float(shown) <= float(text) and shown == shortest(shown)
        assert link.execute_command(prefix + ".INFO", "t")[field.encode()] == float(shown)
        server.client.delete("t")
    link.close()


def test_fractions_in_version_3_have_no_more_digits(server):
    """Redis 7.0 prints doubles with 17 digits; what was given has fewer."""
    for text, printed in (("0.001", b",0.001\r\n"), ("0.1", b",0.1\r\n"), ("1e-09", b",0.000000001\r\n"), ("0.07", b",0.07\r\n")):
        server.call("ONCE.CREATE", "t", "ERROR", text)
        assert b"error_target\r\n" + printed in raw(server, 3, "ONCE.INFO t")
        server.client.delete("t")


def test_settings_are_kept_as_given(start):
    server = start()
    for text in GIVEN:
        server.client.config_set("lethe.error", text)
        assert server.client.config_get("lethe.error") == {"lethe.error": shortest(text)}
        server.call("ONCE.ADD", "t", "a")
        assert table_info(server.client)["error_target"] == float(text)
        server.client.delete("t")


def test_saturation_of_a_sketch(server):
    server.call("FID.RESERVE", "s", "WIDTH", 100, "DEPTH", 2, "BITS", 8, "SEED", 5)
    info = table_info(server.client, "s")
    assert (info["fill"], info["saturation"], info["counter_max"]) == (0, 0, 255)
    server.call("FID.ADD", "s", "a", 254)
    info = table_info(server.client, "s")
    assert 0.01 <= info["fill"] <= 0.02 and info["saturation"] == 0
    assert server.call("FID.ADD", "s", "a", 1000) == [255]
    info = table_info(server.client, "s")
    assert 0 < info["saturation"] == info["fill"] <= 0.02
    for i in range(300):
        server.call("FID.ADD", "s", f"i{i}", 1000)
    info = table_info(server.client, "s")
    assert 0.8 < info["saturation"] == info["fill"] <= 1
    # A large one is sampled, and answers at once.
    server.call("FID.RESERVE", "l", "WIDTH", 1 << 20, "DEPTH", 4, "BITS", 8)
    server.call("FID.ADD", "l", *[word for i in range(20000) for word in (f"i{i}", 300)])
    info = table_info(server.client, "l")
    assert 0.01 < info["saturation"] < 0.03 and abs(info["saturation"] - info["fill"]) < 0.01
