#!/usr/bin/python3
"""The claims of the papers: reads docs/papers/claims.tsv and writes the tables of docs/papers.md from it.

usage: tools/claims.py [--check]        write the tables; with --check say only whether they are out of date
       tools/claims.py measure FILE     take over what `lethe paper` printed to FILE ("Value: NAME NUMBER")

A row is one claim:

  paper      fbf, fid, gbf or cf
  place      where the paper makes it
  claim      in our words
  printed    the paper's number; "> 1" and the like where it prints a direction; words where it prints words
  measured   ours
  tolerance  by how much a run may differ from measured: a number, or a percentage; "time" where the number
             depends on the machine, and is not compared; empty where there is no number
  verdict    holds | holds with a condition | does not hold | not tried | reference (no claim, but a number
             that a claim is compared with) | open (not yet looked at, which no test lets pass)
  why        the condition, the reason, or a remark
  command    lethe paper NAME, or ctest NAME for a test that shows it
  value      the name under which the command prints the number; with "?" after it where it prints it only if
             there is a server or a device to measure
"""

import argparse
import csv
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLAIMS = ROOT / "docs/papers/claims.tsv"
PAGE = ROOT / "docs/papers.md"
COLUMNS = ["paper", "place", "claim", "printed", "measured", "tolerance", "verdict", "why", "command", "value"]
PAPERS = ["fbf", "fid", "gbf", "cf"]
VERDICTS = ["holds", "holds with a condition", "does not hold", "not tried", "reference", "open"]
NEAR = 0.1  # a number "holds" if it is within a tenth of the paper's


def load(path=CLAIMS):
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        assert reader.fieldnames == COLUMNS, reader.fieldnames
        rows = list(reader)
    for number, row in enumerate(rows, 2):
        row["line"] = number
    return rows


def store(rows, path=CLAIMS):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None,
                                lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def as_number(text):
    try:
        return float(text)
    except ValueError:
        return None


def figure(row):
    """The figure that a row's command makes, or None."""
    found = re.fullmatch(r"lethe paper ([\w-]+)", row["command"])
    return found and found[1]


def name_of(row):
    """The name of a row's value, or None."""
    return row["value"].removesuffix("?") or None


def mistakes(row):
    """What is wrong with a row by itself."""
    if None in row or None in row.values():
        return ["has not ten columns"]
    found = []
    if row["paper"] not in PAPERS:
        found.append(f"no paper is called {row['paper']!r}")
    if row["verdict"] not in VERDICTS:
        found.append(f"no verdict is called {row['verdict']!r}")
    if row["verdict"] == "open":
        found.append("is open")
    if not row["place"] or not row["claim"]:
        found.append("lacks its place or claim")
    if row["verdict"] in ("holds with a condition", "does not hold", "not tried") and not row["why"]:
        found.append(f"{row['verdict']}, but does not say why")
    if (row["verdict"] == "not tried") != (row["command"] == ""):
        found.append("has a command if and only if it was tried")
    if row["command"] and not figure(row) and not re.fullmatch(r"ctest [\w-]+", row["command"]):
        found.append(f"{row['command']!r} is no command")
    if row["value"] and (figure(row) is None or as_number(row["measured"]) is None):
        found.append("has a value without a figure, or without a number")
    if (row["tolerance"] != "") != (row["value"] != ""):
        found.append("has a tolerance if and only if it has a value")
    if row["tolerance"] not in ("", "time") and as_number(row["tolerance"].removesuffix("%")) is None:
        found.append(f"{row['tolerance']!r} is no tolerance")
    if row["verdict"] == "holds" and agrees(row) is False:
        found.append("holds, but the numbers differ")
    if row["verdict"] == "does not hold" and agrees(row) is True:
        found.append("does not hold, but the numbers agree")
    return found


def agrees(row):
    """Whether what was measured is what the paper prints; None where that is not a matter of numbers, or of
    a machine's time."""
    measured = as_number(row["measured"])
    if measured is None or row["tolerance"] == "time":
        return None
    printed = as_number(row["printed"])
    if printed is not None:
        return abs(measured - printed) <= NEAR * abs(printed)
    found = re.fullmatch(r"(<=|>=|<|>) (\S+)", row["printed"])
    limit = as_number(found[2]) if found else None
    if limit is None:
        return None
    return {"<": measured < limit, ">": measured > limit, "<=": measured <= limit,
            ">=": measured >= limit}[found[1]]


def is_reproduced(row, number):
    """Whether a run printed what the row says."""
    if row["tolerance"] == "time":
        return True
    measured = float(row["measured"])
    if row["tolerance"].endswith("%"):
        allowed = float(row["tolerance"][:-1]) / 100 * abs(measured)
    else:
        allowed = float(row["tolerance"])
    # A number is printed with four digits.
    return abs(number - measured) <= allowed + 1e-3 * abs(measured)


def printed_values(text):
    """{figure: {name: number}} of what `lethe paper` printed."""
    found, name = {}, None
    for line in text.splitlines():
        head = re.match(r"((?:fbf|fid|gbf|cf|qf)\b[\w-]*): ", line)
        if head:
            name = head[1]
            found[name] = {}
        value = re.fullmatch(r"Value: (\S+) (\S+)", line)
        if value:
            found[name][value[1]] = float(value[2])
    return found


def cell(text):
    return text.replace("|", "\\|")


def table(rows):
    lines = ["| place | claim | paper | here | |", "|---|---|---:|---:|---|"]
    for row in rows:
        verdict = "" if row["verdict"] == "reference" else row["verdict"]
        if row["why"]:
            verdict += (": " if verdict else "") + row["why"]
        command = f" ({row['command'].removeprefix('lethe paper ')})" if figure(row) and row["value"] else ""
        here = row["measured"] + ("*" if row["tolerance"] == "time" else "")
        lines.append("| " + " | ".join(map(cell, (row["place"], row["claim"] + command, row["printed"], here,
                                                  verdict))) + " |")
    return "\n".join(lines) + "\n"


def written(page, rows):
    """The page with the tables of the rows between its markers."""
    for paper in PAPERS:
        begin, end = f"<!-- claims {paper}: begin -->\n", f"<!-- claims {paper}: end -->\n"
        before, rest = page.split(begin)
        after = rest.split(end)[1]
        page = before + begin + "\n" + table([row for row in rows if row["paper"] == paper]) + "\n" + end + after
    return page


def measure(rows, text):
    """Takes over numbers; returns how many."""
    values, taken = printed_values(text), 0
    for row in rows:
        number = values.get(figure(row), {}).get(name_of(row))
        if number is not None:
            row["measured"] = f"{number:.4g}"
            taken += 1
    for name, numbers in values.items():
        known = {name_of(row) for row in rows if figure(row) == name}
        for value in sorted(set(numbers) - known):
            print(f"{name}: {value} is in no row")
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("words", nargs="*", metavar="measure FILE")
    options = parser.parse_args()
    rows = load()
    if options.words:
        if len(options.words) != 2 or options.words[0] != "measure":
            parser.error("usage: tools/claims.py measure FILE")
        print(measure(rows, pathlib.Path(options.words[1]).read_text(encoding="utf-8")), "numbers taken over")
        store(rows)
    wrong = [f"docs/papers/claims.tsv:{row['line']}: {mistake}" for row in rows for mistake in mistakes(row)]
    print("\n".join(wrong), end="\n" if wrong else "")
    page = PAGE.read_text(encoding="utf-8")
    if options.check:
        return 1 if wrong or written(page, rows) != page else 0
    PAGE.write_text(written(page, rows), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
