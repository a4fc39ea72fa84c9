"""Ways to write the same events: formats, and the options by which lethe reads them."""

import dataclasses
import datetime

FORMS = ["tsv", "csv", "jsonl"]
# Ways to write the amount of a store; a delta that is missing is 1.
DELTAS = {"1": ["1", "1", "1.0", "10e-1", ""], "0.1": ["0.1", "0.1", "0.100", "1E-1", "+0.1"],
          "0.2": ["0.2", "0.20", "2e-1"], "-0.2": ["-0.2", "-0.20", "-2E-1"]}
TOKYO = datetime.timezone(datetime.timedelta(hours=9))


def local(time_ms):
    """A time in Tokyo, where clocks are never changed, without its zone."""
    moment = datetime.datetime.fromtimestamp(time_ms // 1000, TOKYO)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{time_ms % 1000:03d}"


TIMES = {
    "ms": (str, []),
    "ms given": (str, ["--time-unit", "ms"]),
    "s": (lambda time_ms: f"{time_ms // 1000}.{time_ms % 1000:03d}", ["--time-unit", "s"]),
    "us": (lambda time_ms: f"{time_ms}000", ["--time-unit", "us"]),
    "us by size": (lambda time_ms: f"{time_ms}000", []),
    "named zone": (local, ["--zone", "Asia/Tokyo"]),
    "offset": (local, ["--zone", "+09:00"]),
    "RFC 3339": (lambda time_ms: local(time_ms) + "+09:00", []),
}


@dataclasses.dataclass
class Style:
    """How one file is written. Ids are joined in all files of a store, or in none."""
    form: str
    has_time: bool = False
    is_joined: bool = False
    time: str = "ms"
    delta: str = "1"
    amount: str = "1"
    is_strict: bool = False
    has_names: bool = True
    delimiter: str = ","
    is_nested: bool = False
    has_note: bool = False  # more in each record than is asked for: lines in quotes, large numbers
    doubles: str = "none"  # which operations also change "sum": none, some (by further columns), all (a literal key)

    def columns(self):
        ids = ["series", "number"] if self.is_joined else ["id"]
        return ids + ["key", "delta"] + (["time"] if self.has_time else [])

    def separator(self):
        return self.delimiter if self.form == "csv" else "\t"

    def has_header(self):
        return self.form != "jsonl" and self.has_names

    def in_order(self):
        """Whether columns are in the usual order, and need no --fields."""
        return self.form == "tsv" and not self.has_names and not self.has_time and not self.is_joined \
            and self.doubles != "all"

    def values(self, event):
        """The fields of an event, as texts."""
        ids = [event.identity[0], event.identity[1:]] if self.is_joined else [event.identity]
        times = [TIMES[self.time][0](event.time_ms)] if self.has_time else []
        extra = ["sum", self.amount] if event.is_double and self.doubles == "some" else []
        return ids + [event.witness, self.delta] + extra + times

    def place(self, number, name):
        if self.form == "jsonl":
            return "meta." + name if self.is_nested else name
        return name if self.has_names else str(number)

    def words(self):
        """How lethe is told to read it."""
        words = [] if self.form == "tsv" else ["--" + self.form]
        if self.form == "csv" and self.delimiter != ",":
            words += ["--delimiter", self.delimiter]
        if not self.in_order():
            roles = {"series": "id", "number": "id"}
            fields = [f"{roles.get(name, name)}={self.place(number, name)}"
                      for number, name in enumerate(self.columns(), 1)]
            words += ["--fields", ",".join(fields + (["key=:sum"] if self.doubles == "all" else []))]
        return words + (["--strict"] if self.is_strict else []) + (TIMES[self.time][1] if self.has_time else [])


def draw_style(draw, has_time, is_joined, amount):
    style = Style(draw.choice(FORMS), has_time, is_joined, time=draw.choice(list(TIMES)),
                  delta=draw.choice(DELTAS[amount]), amount=amount)
    style.is_strict = style.delta != "" and draw.random() < 0.3
    style.has_names = draw.random() < 0.5 if style.form == "tsv" else True
    style.delimiter = draw.choice([",", ",", ";", "|", "\t"])
    style.is_nested = draw.random() < 0.3
    style.has_note = style.form != "tsv" and draw.random() < 0.3
    if draw.random() < 0.25:
        style.doubles = "all"
    elif style.in_order():
        style.doubles = "some"
    return style
