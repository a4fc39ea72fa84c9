"""Files as they are met: made by hand, each with what must come out of it.

Every case is a file, how lethe count is told to read it, the counters, and what is not applied. The other names of the summary
are 0."""

import dataclasses
import pathlib

FOLDER = pathlib.Path(__file__).parent


@dataclasses.dataclass
class Case:
    """What becomes of a file."""
    words: list
    totals: dict
    applied: int
    duplicates: int = 0
    unreadable: int = 0
    has_time: bool = False
    warning: str = ""

    def is_clean(self):
        return self.unreadable == 0


CASES = {
    # A byte order mark, semicolons in quotes, carriage returns, a line end in a field, a decimal comma, a quote within a field.
    "spreadsheet.csv": Case(["--csv", "--delimiter", ";", "--fields", 'id=Order no.,key=Page,delta=Amount; net'],
                            {"home": 104, "shop; new": 3}, applied=5, duplicates=1, unreadable=3),
    # A header between tabs, several keys, empty deltas, a missing column, another encoding.
    "export.tsv": Case(["--fields", "id=request,key=user,key=:all,delta=bytes"],
                       {"alice": 17, "all": 40, "bob": 2, "carol\\tb": 20, "\udce9ric": 1}, applied=6, duplicates=1,
                       unreadable=1),
    # The request in quotes, a time in two columns, a hyphen for no bytes, a day and a zone that do not exist.
    "access.log": Case(["--csv", "--delimiter", " ", "--fields", "id=9,key=6,delta=8,time=4,time=5"],
                       {"GET /a.gif HTTP/1.0": 2326, 'GET /b?q="x" HTTP/1.1': 512, r"\\x16\\x03\\x01": 0}, applied=3,
                       duplicates=1, unreadable=3, has_time=True),
    "nested.jsonl": Case(["--jsonl", "--fields", "id=meta.id,key=page,delta=n"],
                         {"7": -1, "café": 5, "x": 9007199254740999}, applied=7, duplicates=1, unreadable=6),
    "cloudevents.jsonl": Case(["--cloudevents", "--fields", "key=type,key=subject,delta=data.items"],
                              {"de": 3, "fr": 2, "order": 5}, applied=2, duplicates=1, unreadable=3),
    "joined.csv": Case(["--csv", "--fields", "id=order,id=item,key=shop"], {"a": 2}, applied=2, duplicates=1, unreadable=2),
    "put-together.csv": Case(["--csv", "--fields", "id=id,key=key"], {"x": 3, "y": 1}, applied=4, duplicates=1,
                             unreadable=2),
    "names.csv": Case(["--csv", "--fields", 'id="Order, number",key=page.name,delta=":n",key=:n,delta="2024"'],
                      {"n": 11, "p": 3}, applied=2),
    # Comments above, a day and a time of day.
    "two-columns.log": Case(["--csv", "--delimiter", " ", "--fields", "id=5,key=3,delta=4,time=1,time=2", "--zone", "UTC"],
                            {"/a": 40, "/b": 20}, applied=3, unreadable=3, has_time=True),
    # Clocks are put forward over one of them.
    "local.tsv": Case(["--fields", "id=1,key=2,time=3", "--zone", "Europe/Berlin"], {"berlin": 4}, applied=4, unreadable=2,
                      has_time=True),
    "epochs.tsv": Case(["--fields", "id=1,key=2,time=3"], {"k": 5}, applied=5, unreadable=3, has_time=True,
                       warning="epochs.tsv:1: the time is taken for seconds by its size"),
}
