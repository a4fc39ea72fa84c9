"""Files of events, in every format, with everything that makes one file look like another: long common headers, common
first lines, equal lengths, equal tails, growth, other names."""

import bz2
import gzip
import json
import lzma
import pathlib
import shutil
import subprocess

from model import Event

HEADER_COLUMNS = 60  # a header longer than what a mark may look at first
LINE_ENDS = ["\n", "\n", "\r\n"]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def pack_zstd(data):
    if shutil.which("zstd") is None:
        return gzip.compress(data)
    return subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout


PACKS = {"gz": gzip.compress, "zst": pack_zstd, "bz2": bz2.compress, "xz": lzma.compress}


class Input:
    """A file and what is in it. It grows at its end only."""

    def __init__(self, path, style, has_long_header=False, line_end="\n", has_mark=False):
        self.path, self.style, self.line_end = pathlib.Path(path), style, line_end
        self.padding = HEADER_COLUMNS if has_long_header and style.has_header() else 0
        self.content = BYTE_ORDER_MARK if has_mark else b""
        self.lines = []  # (end of the line in content, Event)
        self.pending = b""  # the begun line at its end
        if style.has_header():
            names = style.columns() + [f"column_of_no_interest_{i:04d}" for i in range(self.padding)]
            names += ["note"] if style.has_note else []
            self.content += (style.separator().join(names) + self.line_end).encode()
        self.write()

    def write(self):
        self.path.write_bytes(self.content + self.pending)

    def add(self, event):
        self.content += self.render(event)
        self.lines.append((len(self.content), event))

    def render(self, event):
        """One line."""
        style, values = self.style, [] if event.is_broken else self.style.values(event)
        if style.form == "jsonl":
            if event.is_broken:
                return (f'{{"id": "{event.identity}", ' + self.line_end).encode()
            record = dict(zip(style.columns(), values))
            if style.delta == style.amount:
                record["delta"] = json.loads(style.delta)
            elif style.delta == "":
                record["delta"] = None
            note = {"note": {"id": "nobody", "text": 'he said: "\u20ac\n', "size": 1 << 64}} if style.has_note else {}
            return (json.dumps(note | ({"meta": record} if style.is_nested else record)) + self.line_end).encode()
        if event.is_broken:
            return (event.identity + self.line_end).encode()
        line = style.separator().join(values) + style.separator() * self.padding
        if style.has_note:  # lines in quotes that look like events
            row = style.separator().join(["nobody", "nothing", "1"])
            line += f'{style.separator()}"see:\n{row}\n""{row}""{self.line_end}"'
        return (line + self.line_end).encode()

    def words(self):
        """How lethe is told to read it."""
        return self.style.words()

    def looks(self):
        """What makes files look alike, whatever their events are."""
        return self.style, self.padding, self.line_end, self.content.startswith(BYTE_ORDER_MARK)

    def key(self):
        """What a mark is bound to."""
        return " ".join(self.words())

    def events_from(self, offset):
        return [event for end, event in self.lines if end > offset]

    def rename(self, path):
        self.path = self.path.rename(path)

    def compressed(self, kind):
        """A copy of it as it is now, compressed."""
        path = self.path.with_name(self.path.name + "." + kind)
        path.write_bytes(PACKS[kind](self.content))
        return path


def broken(number):
    return Event(f"broken-{number}", is_broken=True)
