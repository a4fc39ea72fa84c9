"""What a master sends to its replicas, as a test sees it: an own little replica that only listens."""

import socket
import struct
import time


class Stream:
    """Listens to a master's replication stream from now on."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.data = b""
        self.socket.sendall(b"REPLCONF capa psync2\r\n")
        assert self._line() == b"+OK"
        self.socket.sendall(b"PSYNC ? -1\r\n") # refused while an answer is still on its way
        assert self._line().startswith(b"+FULLRESYNC")
        head = self._line()
        while head == b"":
            head = self._line()
        self._bytes(int(head[1:]))

    def _more(self):
        more = self.socket.recv(1 << 16)
        assert more, "the master has closed the stream"
        self.data += more

    def _line(self):
        while b"\r\n" not in self.data:
            self._more()
        line, self.data = self.data.split(b"\r\n", 1)
        return line.lstrip(b"\n") # a master that is busy sends these to say so

    def _bytes(self, count):
        while len(self.data) < count:
            self._more()
        found, self.data = self.data[:count], self.data[count:]
        return found

    def _command(self):
        count = int(self._line()[1:])
        words = []
        for _ in range(count):
            words.append(self._bytes(int(self._line()[1:])))
            self._bytes(2)
        words[0] = words[0].upper() # the letters of an effect's name say what it is called: test_events.py
        return words

    def commands(self, until, seconds=60):
        """All commands, without PING, SELECT and effects of a timer, until one for which until(words) is true."""
        found = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            words = self._command()
            if words[0].upper() in (b"PING", b"SELECT") or is_of_timer(words):
                continue
            if until(words):
                return found
            found.append(words)
        raise AssertionError("it did not come")

    def close(self):
        self.socket.close()


def is_of_timer(words):
    """An effect that only tells the time: a timer sends such ones whenever it likes."""
    head = {1: 9, 2: 36}.get(words[2][0], 0) if words[0].endswith(b".EFFECT") else 0
    return head > 0 and words[2][head:] in (b"", b"W")


def read_short(data, at):
    """A number in few bytes, and where the next thing begins."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (number >> 1 if number % 2 == 0 else -(number + 1) // 2), at


def decode_effect(data):
    """The time and the steps of an effect on a once-table: docs/format/module.md."""
    assert data[0] in (1, 2)
    clock, = struct.unpack_from("<Q", data, 1)
    at, steps = 9 if data[0] == 1 else 36, [] # in version 2 a stamp is between
    while at < len(data):
        code = chr(data[at])
        at += 1
        if code == "C":
            steps.append((code, struct.unpack_from("<QddQQQB", data, at)))
            at += 49
        elif code == "c":
            steps.append((code, struct.unpack_from("<QddQQQBB", data, at)))
            at += 50
        elif code == "T":
            count, = struct.unpack_from("<I", data, at)
            at += 4
            steps.append((code, list(data[at:at + count])))
            at += 17 * count
        elif code == "t":
            steps.append(("T", [data[at]]))
            at += 17
        elif code == "s":
            size, name = data[at], data[at + 1:at + 1 + data[at]]
            value, at = read_short(data, at + 1 + size)
            steps.append(("S", name, value))
        elif code == "P":
            steps.append((code, [struct.unpack_from("<QI", data, at + 1 + 12 * i) for i in range(data[at])]))
            at += 1 + 12 * data[at]
        elif code == "w":
            steps.append((code, struct.unpack_from("<Q", data, at)[0]))
            at += 8
        elif code == "b":
            count, values, at = data[at], [], at + 1
            for _ in range(count):
                value, at = read_short(data, at)
                values.append(value)
            steps.append((code, values))
        elif code in "FR":
            steps.append((code, data[at:at + 16]))
            at += 16
        elif code in "SD":
            value = None
            if code == "S":
                value, = struct.unpack_from("<q", data, at)
                at += 8
            size, = struct.unpack_from("<I", data, at)
            at += 4
            steps.append((code, data[at:at + size], value))
            at += size
        else:
            assert code == "W"
            steps.append((code,))
    return clock, steps
