"""Files of events, in every format, with everything that makes one file look like another: long common headers, common
first lines, equal lengths, equal tails, growth, other names."""

import gzip
import json
import pathlib
import shutil
import subprocess

from model import Event

HEADER_COLUMNS = 60  # a header longer than what a mark may look at first


class Input:
    """A file and what is in it. It grows at its end only."""

    def __init__(self, path, form, has_time, has_long_header):
        self.path, self.form, self.has_time = pathlib.Path(path), form, has_time
        self.columns = ["id", "key", "delta"] + (["time"] if has_time else [])
        self.padding = HEADER_COLUMNS if has_long_header and form == "csv" else 0
        self.content = b""
        self.lines = []  # (end of the line in content, Event)
        self.pending = b""  # the begun line at its end
        if form == "csv":
            names = self.columns + [f"column_of_no_interest_{i:04d}" for i in range(self.padding)]
            self.content = (",".join(names) + "\n").encode()
        self.write()

    def write(self):
        self.path.write_bytes(self.content + self.pending)

    def add(self, event):
        self.content += self.render(event)
        self.lines.append((len(self.content), event))

    def render(self, event):
        """One line."""
        identity, key, time = event.identity, event.witness, event.time_ms
        if self.form == "jsonl":
            if event.is_broken:
                return b'{"id": "broken", \n'
            record = {"id": identity, "key": key, "delta": 1, **({"time": time} if time else {})}
            return (json.dumps(record) + "\n").encode()
        if event.is_broken:
            return b"broken\n"
        separator = "," if self.form == "csv" else "\t"
        fields = [identity, key, "1"] + (["sum", "1"] if event.is_double else []) \
            + ([str(time)] if time else [])
        return (separator.join(fields) + separator * self.padding + "\n").encode()

    def words(self):
        """How lethe is told to read it."""
        names = ",".join(f"{name}={name}" for name in self.columns)
        numbers = ",".join(f"{name}={number}" for number, name in enumerate(self.columns, 1))
        if self.form == "tsv":
            return ["--fields", numbers] if self.has_time else []
        return ["--" + self.form, "--fields", names]

    def key(self):
        """What a mark is bound to."""
        return " ".join(self.words())

    def events_from(self, offset):
        return [event for end, event in self.lines if end > offset]

    def rename(self, path):
        self.path = self.path.rename(path)

    def compressed(self, kind):
        """A copy of it as it is now, compressed; None if this machine can't."""
        path = self.path.with_name(self.path.name + "." + kind)
        if kind == "gz":
            path.write_bytes(gzip.compress(self.content))
        elif shutil.which("zstd") is not None:
            subprocess.run(["zstd", "-qf", "-o", path], input=self.content, check=True)
        else:
            return None
        return path


def broken():
    return Event("broken", is_broken=True)
