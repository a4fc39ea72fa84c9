"""Goal:   no payload, however it was damaged or forged, harms the server: it is refused, or it is a value.
Method: DUMP payloads of each type with bytes changed, cut or doubled, and the server's checksum made right again; pieces
        for LOAD with Lethe's own checksums, all three of them, made right again. In test-long 10^5 of each, and
        under the sanitizers where the module was built with them."""

import ctypes
import random
import struct
import time

import pytest
import redis
from servers import table_info
from stream import Stream


def crc64(data, table=[]):
    """The checksum at the end of a payload: CRC-64 of Jones, reflected."""
    if not table:
        for byte in range(256):
            value = byte
            for _ in range(8):
                value = value >> 1 ^ (0x95AC9329AC4BC9B5 if value & 1 else 0)
            table.append(value)
    value = 0
    for byte in data:
        value = table[(value ^ byte) & 255] ^ value >> 8
    return value


def sealed(body):
    """A payload with the right checksum."""
    return body + struct.pack("<Q", crc64(body))


def mutate(chance, body):
    """One of many ways to damage bytes."""
    data = bytearray(body)
    kind = chance.randrange(6)
    at = chance.randrange(len(data))
    if kind == 0:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at] = chance.choice([0, 1, 127, 128, 255])
    elif kind == 2:
        del data[at:at + chance.randrange(1, 32)]
    elif kind == 3:
        data[at:at] = data[at:at + chance.randrange(1, 32)]
    elif kind == 4:
        size = min(8, len(data) - at)
        data[at:at + size] = chance.choice([b"\0" * 8, b"\xff" * 8, b"\xff" * 7 + b"\x7f"])[:size]
    else:
        for _ in range(chance.randrange(2, 20)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def payloads(server):
    """Small values of each type, not compressed, so that mutations reach what is inside."""
    server.client.config_set("rdbcompression", "no")
    server.call("ONCE.CREATE", "t", "SEED", 1)
    server.call("ONCE.INCRBY", "t", "a", "x", 1, "y", 2, "z", 3)
    server.call("ONCE.ADD", "t", *range(50))
    server.call("FBF.RESERVE", "f", "SEED", 1)
    server.call("FBF.MADD", "f", *range(20))
    server.call("FID.RESERVE", "s", "WIDTH", 8, "DEPTH", 2, "TOP", 3, "SEED", 1)
    server.call("FID.ADD", "s", "a", 1, "b", 2)
    server.call("QF.RESERVE", "q", "CAPACITY", 40, "SEED", 1)
    server.call("QF.MADD", "q", *range(20), *range(5), *range(3))
    server.call("GBF.RESERVE", "g", "SLOTS", 300, "HASHES", 4, "SEED", 1)
    server.call("GBF.RESERVE", "h", "SLOTS", 50, "HASHES", 3, "BITS", 32, "SEED", 1)
    for key in "gh":
        server.call("GBF.MADD", key, *range(10))
    server.call("ONCE.CREATE", "m", "SEED", 1, "PER", "hour", "KEEP", 3, "PER", "month")
    server.call("ONCE.INCRBY", "m", "a", "x", 1, "y", 2)
    server.call("ONCE.CREATE", "c", "SEED", 1)
    server.call("ONCE.BEGIN", "c", "run", "a", "FINGERPRINT", "f", "LEASE", 50000)
    server.call("ONCE.BEGIN", "c", "done", "a", "LEASE", 50000)
    server.call("ONCE.DONE", "c", "done", "a", "reply")
    server.call("ONCE.CALL", "c", "call", "KEEP", "LPUSH", "list", "x", "y")
    server.call("ONCE.CREATE", "o", "SEED", 1, "PER", "hour")
    server.call("ONCE.HOLD", "o", "open", "x", 5, "LIMIT", 90, "PER", "hour", "LEASE", 50000)
    server.call("ONCE.HOLD", "o", "done", "y", 5, "LIMIT", 90, "LEASE", 50000)
    server.call("ONCE.SETTLE", "o", "done", 95, "FORCE")
    found = [server.client.dump(key) for key in "tfsqghmco"]
    server.client.config_set("rdbcompression", "yes")
    server.call("ONCE.CREATE", "u", "SEED", 1, "WINDOW", 1000, "CAPACITY", 2000, "ERROR", 0.01)
    server.call("ONCE.INCRBY", "u", "a", "x", 1)
    return found + [server.client.dump("u")]


def use(server, key):
    """Whatever was accepted must bear being used."""
    kind = server.client.type(key)
    if kind == b"lethe-onc":
        server.call("ONCE.MINCRBY", key, "a", "x", 1, "new", "w", 1)
        server.call("ONCE.SEEN", key, "a", "b")
        server.call("ONCE.INFO", key)
        server.call("ONCE.TOP", key, 3)
        server.call("ONCE.HOLDS", key, 0)
        server.call("ONCE.PEEK", key, "x", "LIMIT", 9)
        server.call("ONCE.CLAIMS", key, 0)
        server.call("ONCE.BEGIN", key, "run", "a", "FINGERPRINT", "f", "LEASE", 5)
        server.call("ONCE.DONE", key, "run", "a", "reply")
        server.call("ONCE.BEGIN", key, "done", "b", "LEASE", 5)
        for per in b"hour", b"month":
            if per in bytes(table_info(server.client, key)["per"]):
                server.call("ONCE.RANGE", key, "x", "-", "+", "PER", per)
    elif kind == b"lethe-fbf":
        server.call("FBF.MADD", key, "a", "new")
        server.call("FBF.INFO", key)
    elif kind == b"lethe-fid":
        server.call("FID.ADD", key, "a", 1, "new", 1)
        server.call("FID.TOP", key, 3)
        server.call("FID.INFO", key)
    elif kind == b"lethe-quo":
        server.call("QF.MADD", key, "a", "new", "new", "new")
        server.call("QF.MREMOVE", key, "new", *range(30))
        server.call("QF.COUNT", key, "a", *range(30))
        server.call("QF.INFO", key)
        server.call("QF.RESERVE", "into", "CAPACITY", 40, "SEED", 1)
        server.call("QF.MERGE", "into", key)
    elif kind == b"lethe-gbf":
        server.call("GBF.MADD", key, "a", "new")
        server.call("GBF.MTEST", key, *range(30))
        server.call("GBF.INFO", key)
        server.call("GBF.EXTRACT", key)
    server.call("DEBUG", "DIGEST-VALUE", key)
    server.client.dump(key)


def send_all(server, count, draw_command):
    """Sends so many commands, each of which may make a value of a name, and uses what was made; returns how many were refused,
    and how many not."""
    refused = accepted = 0
    while refused + accepted < count:
        pipe = server.client.pipeline(transaction=False)
        for i in range(200):
            pipe.execute_command(*draw_command(f"r{i}"))
        for i, answer in enumerate(pipe.execute(raise_on_error=False)):
            if isinstance(answer, redis.ResponseError):
                refused += 1
                continue
            accepted += 1
            try:
                use(server, f"r{i}")
            except redis.ResponseError:
                pass
        server.client.flushall()
        server.is_up()
    return refused, accepted


def attack(server, count, seed):
    chance = random.Random(seed)
    bodies = [payload[:-8] for payload in payloads(server)]
    refused, accepted = send_all(server, count, lambda name: (
        "RESTORE", name, 0, sealed(mutate(chance, chance.choice(bodies)))))
    assert refused > count * 0.9
    return refused, accepted


def test_the_checksum_here_is_the_servers(server):
    server.client.set("s", "text")
    payload = server.client.dump("s")
    assert sealed(payload[:-8]) == payload


def test_damaged_payloads(server):
    attack(server, 2000, 1)


@pytest.mark.long
def test_damaged_payloads_many(shared):
    refused, accepted = attack(shared, 100000, int(time.time()))
    print(f"{refused} refused, {accepted} accepted")


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxhash():
    """XXH3 of 64 and 128 bits with a seed; None where the system does not have it."""
    try:
        library = ctypes.CDLL("libxxhash.so.0")
    except OSError:
        return None
    words = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    library.XXH3_64bits_withSeed.argtypes = library.XXH3_128bits_withSeed.argtypes = words
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    library.XXH3_128bits_withSeed.restype = Hash128
    return library


def resealed_outside(library, body):
    """A piece of DUMP without its checksum, and one that is right."""
    return bytes(body) + struct.pack("<Q", library.XXH3_128bits_withSeed(bytes(body), len(body), 0).low)


def resealed(library, piece):
    """A piece of DUMP, damaged, with the checksums of the frame in it and its own made right."""
    data = bytearray(piece[:-8])
    frame = data.find(b"\x89LETHE\r\n")
    if 0 <= frame <= len(data) - 48:
        head = library.XXH3_64bits_withSeed(bytes(data[frame:frame + 32]), 32, 0)
        data[frame + 32:frame + 40] = struct.pack("<Q", head)
        payload = bytes(data[frame + 40:-8])
        data[-8:] = struct.pack("<Q", library.XXH3_64bits_withSeed(payload, len(payload), head))
        # And the length that the frame tells, half of the time as it should be.
        if len(payload) % 2 == 0:
            data[frame + 16:frame + 24] = struct.pack("<Q", len(payload))
            head = library.XXH3_64bits_withSeed(bytes(data[frame:frame + 32]), 32, 0)
            data[frame + 32:frame + 40] = struct.pack("<Q", head)
            data[-8:] = struct.pack("<Q", library.XXH3_64bits_withSeed(payload, len(payload), head))
    return resealed_outside(library, data)


def attack_below_checksums(server, count, seed):
    library = xxhash()
    if library is None:
        pytest.skip("no libxxhash here")
    chance = random.Random(seed)
    payloads(server)
    prefixes = {"t": "ONCE", "u": "ONCE", "f": "FBF", "s": "FID", "q": "QF", "g": "GBF", "h": "GBF", "m": "ONCE"}
    pieces = {key: server.call(prefix + ".DUMP", key, 0)[2] for key, prefix in prefixes.items()}
    for key, piece in pieces.items():
        assert resealed(library, piece) == piece
    claims = server.call("ONCE.DUMP", "c", 0)[2][:-8]
    after = claims.rindex(b"\1\1", 0, claims.index(b"run")) # the window's frame ends here
    def draw_command(name):
        key = chance.choice([*pieces, "c"])
        if key == "c":
            return "ONCE.LOAD", name, 0, 1, resealed_outside(library, claims[:after] + mutate(chance, claims[after:]))
        return prefixes[key] + ".LOAD", name, 0, 1, resealed(library, mutate(chance, pieces[key]))
    refused, accepted = send_all(server, count, draw_command)
    # Some of them are sound: a counter of another value, an id of another period.
    assert refused > 0 and accepted > 0
    return refused, accepted


def test_damage_below_the_checksums(server):
    attack_below_checksums(server, 800, 2)


@pytest.mark.long
def test_damage_below_the_checksums_many(shared):
    refused, accepted = attack_below_checksums(shared, 100000, int(time.time()))
    print(f"{refused} refused, {accepted} accepted")


def test_forged_lengths_allocate_nothing(start):
    """A payload that claims gigabytes and brings bytes."""
    server = start()
    body = payloads(server)[0][:-8]
    before = server.client.info("memory")["used_memory_peak"]
    for at in range(0, len(body) - 8):
        data = bytearray(body)
        data[at:at + 8] = struct.pack("<Q", 1 << 44)
        with pytest.raises(redis.ResponseError):
            server.client.restore("r", 0, sealed(bytes(data)))
            server.client.delete("r")
            raise redis.ResponseError("accepted")
    assert server.client.info("memory")["used_memory_peak"] < before + (64 << 20)


GOOD = b"\1" + b"\0" * 8


def bad_holds():
    """Steps that set holds which no command makes."""
    good = {"state": 1, "amount": 5, "most": 9, "period": 0, "wall": 0, "deadline": 99, "until": 99, "actual": 0, "id": 1, "name": 1}
    changes = [{"state": 0}, {"state": 5}, {"amount": 0}, {"amount": -1}, {"period": 7}, {"wall": -1}, {"wall": 2**62}, {"deadline": 0},
               {"until": 98}, {"until": 2**63 - 1, "deadline": 2**63 - 1}, {"actual": 1}, {"state": 2, "actual": -1},
               {"state": 2, "until": 0}, {"id": 0}, {"id": 2**32 - 1}, {"name": 2**32 - 1}, {"name": 9}, {"id": 70000}]
    for change in changes:
        yield GOOD + b"H" + b"\0" * 8 + struct.pack("<BqqQqQQqII", *{**good, **change}.values()) + b"ix"
    yield GOOD + b"H" + b"\0" * 8 + struct.pack("<BqqQqQQqII", *good.values()) + b"i"
    yield GOOD + 2 * a_hold(amount=2**62) # each of them would fit


def a_hold(**change):
    """A step that sets a hold."""
    good = {"state": 1, "amount": 5, "most": 9, "period": 0, "wall": 0, "deadline": 99, "until": 99, "actual": 0, "id": 1, "name": 1}
    return b"H" + b"\0" * 8 + struct.pack("<BqqQqQQqII", *{**good, **change}.values()) + b"ix"


HOURLY = b"P\1" + struct.pack("<QI", 3600000, 3)


def append_to_log(server, data):
    """To that of a server which does not run."""
    log, = (server.folder / "appendonlydir").glob("*.incr.aof")
    with open(log, "ab") as file:
        file.write(b"*3\r\n$11\r\nONCE.EFFECT\r\n$1\r\nt\r\n$%d\r\n%s\r\n" % (len(data), data))


# The timer moves the clock of a table on now and then, and the clock is a part of the digest. With such a window it does so
# once in hours.
NO_TICK = ["WINDOW", 30 * 86400000]


@pytest.mark.parametrize("data", [b"", b"\1", b"\2" + b"\0" * 8, b"\1" + b"\xff" * 8, GOOD + b"Z",
                                  GOOD + b"T\xff\xff\xff\xff", GOOD + b"T\0\0\0\0",
                                  GOOD + b"T\1\0\0\0\0" + b"x" * 15, GOOD + b"F" + b"x" * 15,
                                  GOOD + b"S" + b"x" * 8 + b"\xff\xff\xff\xffa", GOOD + b"D\2\0\0\0a",
                                  GOOD + b"C" + b"\0" * 49, GOOD + b"WWWZ", GOOD + b"P\0", GOOD + b"P\1" + b"\0" * 12,
                                  GOOD + b"s\1x\2b\2\2\2", GOOD + b"w" + b"\0" * 8 + b"b\2\2\2",
                                  GOOD + b"w" + b"\xff" * 8, GOOD + b"w" + b"\0" * 8 + b"s\1x\2b\1\2",
                                  GOOD + b"w" + b"\0" * 8 + b"s\1x\2b\xff\2", GOOD + b"w" + b"\0" * 8 + b"s\1x\2b\2\2",
                                  GOOD + b"w" + b"\0" * 8 + b"s\1x\2D\1\0\0\0xb\2\2\2",
                                  GOOD + b"P\1" + struct.pack("<QI", 3600000, 3), GOOD + b"G\0\0\0",
                                  GOOD + b"l" + b"\0" * 8 + b"s\1x\2b\2\2\2", GOOD + b"w" + b"\0" * 8 + b"l" + b"\xff" * 8,
                                  GOOD + b"w" + b"\0" * 8 + b"l" + b"\0" * 7,
                                  GOOD + b"k\2\0\0\0i", GOOD + b"h\2\0\0\0i", *bad_holds(), GOOD + b"K\1" + struct.pack("<QIBBI", 9, 1, 1, 0, 0) + b"i",
                                  GOOD + b"K\4" + struct.pack("<QIBBI", 9, 1, 1, 0, 0) + b"ia",
                                  GOOD + b"K\1" + struct.pack("<QIBBI", 9, 1, 1, 0, 1) + b"iar",
                                  GOOD + b"K\1" + struct.pack("<QIBBI", 2**64 - 1, 1, 1, 0, 0) + b"ia",
                                  GOOD + b"K\1" + struct.pack("<QIBBI", 9, 0, 1, 0, 0) + b"a",
                                  GOOD + b"K\1" + struct.pack("<QIBBI", 9, 1, 0, 0, 0) + b"i",
                                  GOOD + b"K\1" + struct.pack("<QIBBI", 9, 2**32 - 1, 1, 0, 2**32 - 1) + b"ia",
                                  GOOD + b"K\x12" + struct.pack("<QIBBI", 9, 1, 0, 16, 4) + b"i" + b"h" * 16 + b"*1\r\n"])
@pytest.mark.parametrize("options", [["SEED", 1], ["PER", "hour", "PER", "month", "KEEP", 2]], ids=["plain", "metered"])
def test_bad_effects_in_the_log_change_nothing(start, data, options):
    """An effect is accepted from the log; a forged one is an error there, and the rest is as it was."""
    server = start(appendonly="yes", appendfsync="always", aof_use_rdb_preamble="no")
    server.call("ONCE.CREATE", "t", *NO_TICK, *options)
    server.call("ONCE.INCRBY", "t", "a", "x", 1)
    before = server.digest()
    server.kill()
    append_to_log(server, data)
    server.start()
    assert server.digest() == before


@pytest.mark.parametrize("data", [HOURLY, b"D\1\0\0\0x" + HOURLY, b"h\1\0\0\0o" + HOURLY])
def test_periods_for_a_table_with_holds(start, data):
    """The sums of what is held have no room for buckets."""
    server = start(appendonly="yes", appendfsync="always", aof_use_rdb_preamble="no")
    server.call("ONCE.CREATE", "t", *NO_TICK)
    server.call("ONCE.HOLD", "t", "o", "x", 5, "LIMIT", 9, "LEASE", 50000)
    before = server.digest()
    server.kill()
    append_to_log(server, GOOD + data)
    server.start()
    assert server.digest() == before
    assert server.call("ONCE.HOLD", "t", "p", "x", 4, "LIMIT", 9, "LEASE", 50000)[0] == 1
    assert server.call("ONCE.SETTLE", "t", "o", 5)[0] == 1 and server.call("ONCE.RELEASE", "t", "p") == 1


@pytest.mark.parametrize("steps", [a_hold() + HOURLY, HOURLY + a_hold(period=3600000), b"s\1x\2" + HOURLY])
def test_an_effect_that_makes_a_table_is_refused_as_a_whole(start, steps):
    server = start(appendonly="yes", appendfsync="always", aof_use_rdb_preamble="no")
    stream = Stream(server.port)
    server.call("ONCE.CREATE", "made", "SEED", 1)
    server.call("PUBLISH", "the", "end")
    made, = [words[2] for words in stream.commands(lambda words: words[0].upper() == b"PUBLISH")]
    stream.close()
    server.kill()
    append_to_log(server, made + steps)
    server.start()
    assert server.client.exists("t") == 0 and server.client.exists("made") == 1


@pytest.mark.parametrize("prefix", ["QF", "GBF"])
def test_damaged_effects_of_filters(start, prefix):
    """Effects that make and fill a filter, damaged in every place: the server bears them all, and those who are whole count."""
    server = start(appendonly="yes", appendfsync="always", aof_use_rdb_preamble="no")
    words = ["CAPACITY", 50] if prefix == "QF" else ["SLOTS", 100, "HASHES", 3]
    server.call(prefix + ".RESERVE", "t", *words, "SEED", 1)
    server.call(prefix + ".MADD", "t", *range(20))
    before = server.digest()
    server.kill()
    log, = (server.folder / "appendonlydir").glob("*.incr.aof")
    made, filled = [part.split(b"\r\n", 1)[1][:-2] for part in log.read_bytes().split(b"$1\r\nt\r\n$")[1:]]
    made, filled = made.split(b"\r\n*")[0], filled.split(b"\r\n*")[0]
    assert made[9:10] == b"C" and filled[9:10] == b"A"
    chance = random.Random(5)
    with open(log, "ab") as file:
        for i in range(2000):
            data = mutate(chance, chance.choice([made, filled, made + filled[9:]]))
            key = b"r%d" % i
            file.write(b"*3\r\n$%d\r\n%s.EFFECT\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" %
                       (len(prefix) + 7, prefix.encode(), len(key), key, len(data), data))
    server.start()
    assert server.digest() == before
    for key in server.client.keys("r*"):
        server.call(prefix + ".MADD", key, "a", "b")
