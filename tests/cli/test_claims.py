"""Goal: docs/papers/claims.tsv has every claim of the papers with a verdict, every figure and every number that
a figure names, and the tables of docs/papers.md are made from it.

Method: check the rows, then compare their commands with the figures that lethe lists and the tests that CTest
knows, and the tables with the page. Show on made-up rows that each mistake is noticed. test_paper.py, which
runs the figures, compares the numbers."""

import os
import re
import subprocess

import pytest

from conftest import BINARIES, SOURCE, run_lethe
from paper_claims import ROWS, claims

FIGURES = [line.split()[0] for line in run_lethe("paper").stdout.decode().splitlines()]


def test_rows():
    wrong = [(row["line"], mistake) for row in ROWS for mistake in claims.mistakes(row)]
    assert wrong == []


def test_every_paper_and_every_figure_is_there():
    assert {row["paper"] for row in ROWS} == set(claims.PAPERS)
    named = {claims.figure(row) for row in ROWS} - {None}
    assert sorted(named) == sorted(FIGURES)


def test_a_number_is_in_one_row():
    values = [(row["command"], claims.name_of(row)) for row in ROWS if row["value"]]
    assert len(values) == len(set(values))


def test_tests_that_are_named_exist():
    printed = subprocess.run(["ctest", "-N"], cwd=os.environ.get("LETHE_BUILD_DIR", BINARIES), text=True,
                             stdout=subprocess.PIPE, check=True).stdout
    known = set(re.findall(r"Test +#\d+: (\S+)", printed))
    named = {row["command"].removeprefix("ctest ") for row in ROWS if row["command"].startswith("ctest ")}
    assert named <= known, named - known


def test_the_page_is_made_from_the_table():
    page = (SOURCE / "docs/papers.md").read_text(encoding="utf-8")
    assert claims.written(page, ROWS) == page, "run tools/claims.py"


FINE = {"paper": "cf", "place": "3", "claim": "it is fast", "printed": "10", "measured": "9.5", "tolerance": "1%",
        "verdict": "holds", "why": "", "command": "lethe paper cf-3", "value": "speed"}


@pytest.mark.parametrize("change, mistake", [
    ({}, None),
    ({"tolerance": "time", "measured": "1"}, None),
    ({"printed": "> 9"}, None),
    ({"printed": "fast"}, None),
    ({"verdict": "does not hold", "why": "too slow", "measured": "5"}, None),
    ({"verdict": "holds with a condition", "why": "on Sundays", "measured": "5"}, None),
    ({"verdict": "not tried", "why": "no time", "command": "", "value": "", "tolerance": ""}, None),
    ({"verdict": "open"}, "is open"),
    ({"verdict": "perhaps"}, "no verdict"),
    ({"paper": "bf"}, "no paper"),
    ({"claim": ""}, "lacks its place"),
    ({"verdict": "does not hold", "measured": "5"}, "does not say why"),
    ({"measured": "5"}, "the numbers differ"),
    ({"printed": "< 9"}, "the numbers differ"),
    ({"verdict": "does not hold", "why": "too slow"}, "the numbers agree"),
    ({"command": ""}, "has a command"),
    ({"command": "make cf-3", "value": "", "tolerance": ""}, "is no command"),
    ({"measured": "fast"}, "without a number"),
    ({"tolerance": ""}, "has a tolerance"),
    ({"tolerance": "some"}, "is no tolerance"),
    ({"why": None}, "ten columns"),
])
def test_mistakes_are_noticed(change, mistake):
    found = claims.mistakes({**FINE, **change})
    assert (found == []) if mistake is None else any(mistake in text for text in found), found


@pytest.mark.parametrize("tolerance, number, expected", [
    ("1%", 9.59, True), ("1%", 9.7, False), ("0.3", 9.79, True), ("0.3", 9.9, False), ("0", 9.5, True),
    ("0", 9.6, False), ("time", 1000, True)])
def test_a_number_is_compared_by_its_tolerance(tolerance, number, expected):
    assert claims.is_reproduced({**FINE, "tolerance": tolerance}, number) == expected


def test_numbers_are_taken_over():
    text = "cf-3: insertions over time\n\nHere:  it is fast.\nValue: speed 12.34\nValue: new 5\nqf: x\nValue: speed 1\n"
    rows = [dict(FINE), {**FINE, "value": "other"}, {**FINE, "value": "new?"}]
    assert claims.measure(rows, text) == 2 and rows[2]["measured"] == "5"
    assert rows[0]["measured"] == "12.34" and rows[1]["measured"] == "9.5"


def test_a_row_becomes_a_line_of_its_papers_table():
    page = "".join(f"<!-- claims {paper}: begin -->\nold\n<!-- claims {paper}: end -->\n" for paper in claims.PAPERS)
    row = {**FINE, "verdict": "does not hold", "why": "a | b", "tolerance": "time"}
    made = claims.written(page, [row])
    assert "| 3 | it is fast (cf-3) | 10 | 9.5* | does not hold: a \\| b |\n" in made.split("claims cf: begin")[1]
    assert "it is fast" not in made.split("claims cf: begin")[0] and "\nold\n" not in made
    assert claims.written(made, [row]) == made
