#!/usr/bin/python3
"""Writes the tables of docs/performance.md from bench/results, so that no figure in them was typed.

usage: tools/tables.py [--check]     write them; with --check only report whether they are out of date

A table is a block of text below a comment that names its workload, such as `<!-- table: open -->`. Its first line
says which program was measured, where, when and by which command. `make speed` and `make results` measure, and then
run this; a test compares the page with the results.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/performance.md"
RESULTS = ROOT / "bench/results"
BUSY = 0.5  # cores that other processes used before the run

# What a table shows of a workload: its name in the results, the heading, the digits after the point, and what it is
# divided by. No digits: a text.
WAY = ("way", "way", None, 1)
SECONDS = ("seconds", "seconds", 2, 1)
CPU = ("cpu_seconds", "cpu s", 2, 1)
MEMORY = ("memory_mib", "MiB", 0, 1)
COLUMNS = {
    "bloom": [("filter", "filter", None, 1), ("keys", "keys", 0, 1), ("bits_per_key", "bits/key", 2, 1),
              ("add_mops", "add M/s", 1, 1), ("test_absent_mops", "absent M/s", 1, 1),
              ("test_present_mops", "present M/s", 1, 1)],
    "count": [WAY, ("events", "M events", 0, 1e6), SECONDS, CPU, MEMORY],
    "count-exact-scale": [WAY, ("ids_before", "M ids before", 0, 1e6), ("events", "M events", 0, 1e6), SECONDS, CPU,
                          ("mevents", "M/s", 2, 1), ("cpu_ns_per_event", "cpu ns", 0, 1), MEMORY],
    "count-memory": [WAY] + [(f"{name}_mib", name, 1, 1) for name in (
        "peak", "resident", "program", "window", "counters", "index", "ledger", "groups", "database", "rest")],
    "count-scale": [WAY, ("events", "M events", 0, 1e6), SECONDS, CPU, ("cpu_ns_per_event", "cpu ns", 0, 1),
                    ("late_cpu_ns_per_event", "cpu late", 0, 1), MEMORY, ("memory_bytes_per_id", "B/id", 1, 1),
                    ("disk_mib", "disk", 0, 1), ("lost", "lost", 0, 1)],
    "dedup": [WAY, SECONDS, CPU, ("mlines", "M lines/s", 2, 1), MEMORY],
    "open": [("what", "what", None, 1), ("error", "error", "g", 1), ("records", "records", 0, 1),
             ("seconds", "seconds", 3, 1), ("median_seconds", "median", 3, 1), ("cpu_seconds", "cpu s", 3, 1),
             ("mrecords", "M/s", 1, 1)],
    "sketch-words": [WAY, SECONDS, CPU, ("mwords", "M words/s", 1, 1), MEMORY],
}


def show(value, digits, divisor):
    if digits is None:
        return value
    if value is None:
        return "-"
    return f"{value / divisor:g}" if digits == "g" else f"{value / divisor:.{digits}f}"


def where(results):
    """The first line of a table."""
    program = f'lethe {results["lethe"]} ({results["commit"]}, {results["cpu_path"]})'
    machine = f'{results["cpu"]}, {results["cores"]} cores, {results["compiler"]}, {results["date"]}'
    busy = results["busy_cores_before"]
    note = f", {busy:g} cores busy with other work" if busy is not None and busy > BUSY else ""
    return f'{program}, {machine}{note}\n{results["command"]}\n'


def table(results):
    """The text of one table: names to the left, numbers to the right, each column as wide as it needs to be."""
    columns = COLUMNS[results["workload"]]
    lines = [[heading for _, heading, _, _ in columns]]
    for row in results["results"]:
        lines.append([show(row.get(name), digits, divisor) for name, _, digits, divisor in columns])
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    out = where(results)
    for line in lines:
        cells = [cell.ljust(width) if digits is None else cell.rjust(width)
                 for cell, width, (_, _, digits, _) in zip(line, widths, columns)]
        out += "  ".join(cells).rstrip() + "\n"
    return out


def with_tables(page, folder=RESULTS):
    """The page, with each of its tables as the results have it."""
    def fill(match):
        results = json.loads((folder / f"{match[1]}.json").read_text(encoding="utf-8"))
        return f"<!-- table: {match[1]} -->\n```text\n{table(results)}```\n"
    return re.sub(r"<!-- table: (\S+) -->\n```text\n.*?```\n", fill, page, flags=re.DOTALL)


def main():
    before = PAGE.read_text(encoding="utf-8")
    after = with_tables(before)
    if "--check" in sys.argv[1:]:
        if before != after:
            print("docs/performance.md: out of date; run tools/tables.py", file=sys.stderr)
        return int(before != after)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
