#!/usr/bin/python3
"""Runs workloads and keeps what they print, with where and when; draws the README's chart from counting.

usage: tools/speed.py measure [--runs N]                  run `count`, write bench/results/count.json, draw
       tools/speed.py keep [--runs N] [--full] NAME...    run others, write bench/results/NAME.json for each
       tools/speed.py draw                                draw docs/speed.svg from bench/results/count.json again

`make speed` and `make results` build first and then measure. The results name the machine, the compiler, the
commit, the day, the command and how busy the machine was right before the run: above half a core of other
work, the chart says so. Nobody edits the results or the chart by hand; a test draws the chart again and
compares.
"""

import datetime
import html
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results/count.json"
CHART = ROOT / "docs/speed.svg"
BUSY = 0.5  # cores that other processes use
LOOK_S = 2  # how long to look at what they use

# Rows that measure a part of the work, not a way to count.
PARTS = ("the engine alone", "opening its store")

STYLE = """
  text { font: 14px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 16px }
  .note { font-size: 12px; fill: #59636e }
  .lethe { fill: #0969da }
  .peer { fill: #8c959f }
  .lethe-name { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .note { fill: #9198a1 }
    .lethe { fill: #4493f8 }
    .peer { fill: #656c76 }
  }
"""
WIDTH, LEFT, SCALE, ROW = 860, 320, 320, 26


def git(*words):
    """What git prints, or nothing where there is no repository."""
    done = subprocess.run(["git", "-C", str(ROOT), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def ticks():
    """What all CPUs have done since the system started, and how much of it was nothing."""
    with open("/proc/stat", encoding="ascii") as file:
        spent = [int(number) for number in file.readline().split()[1:9]]
    return sum(spent), spent[3] + spent[4]


def busy_cores():
    """How many cores other processes use at the moment."""
    all_before, idle_before = ticks()
    time.sleep(LOOK_S)
    all_after, idle_after = ticks()
    spent = max(all_after - all_before, 1)
    return round((1 - (idle_after - idle_before) / spent) * (os.cpu_count() or 1), 2)


def measure(name, options):
    """Runs a workload and keeps what it prints, with where and when it ran."""
    busy = busy_cores()
    done = subprocess.run([str(ROOT / "build/release/lethe-bench"), "--json", *options, name],
                          stdout=subprocess.PIPE, check=True)
    results = json.loads(done.stdout)
    rows = results.pop("results")
    results["command"] = " ".join(["lethe bench", *options, name])
    results["commit"] = git("rev-parse", "--short=12", "HEAD") or "unknown"
    if git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results", ":!docs"):
        results["commit"] += " with changes"
    results["date"] = datetime.date.today().isoformat()
    results["busy_cores_before"] = busy
    results["results"] = rows
    path = RESULTS.with_name(f"{name}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(path.relative_to(ROOT))


def bars(rows, at, longest):
    """The lines of the picture for one group of rows, and where the next begins."""
    out = []
    for row in rows:
        kind = "lethe" if row["way"].startswith("lethe") else "peer"
        width = max(row["mevents"] / longest * SCALE, 1)
        middle = at + ROW / 2
        name_class = ' class="lethe-name"' if kind == "lethe" else ""
        figures = f'{row["mevents"]:.2f} million/s, {row["memory_mib"]:.0f} MiB'
        out += [f'<text x="{LEFT - 10}" y="{middle + 5:g}" text-anchor="end"{name_class}>'
                f'{html.escape(row["way"])}</text>',
                f'<rect class="{kind}" x="{LEFT}" y="{middle - 8:g}" width="{width:.1f}" height="16" rx="2"/>',
                f'<text class="note" x="{LEFT + width + 8:.1f}" y="{middle + 4:g}">{figures}</text>']
        at += ROW
    return out, at


def draw(results):
    """The chart as the text of an SVG file."""
    rows = [row for row in results["results"] if row["way"] not in PARTS]
    longest = max(row["mevents"] for row in rows)
    sizes = sorted({row["events"] for row in rows}, reverse=True)
    out, at = [], 30
    out.append(f'<text class="title" x="16" y="{at}">Events counted exactly once per second, and memory</text>')
    for size in sizes:
        at += 22
        out.append(f'<text class="note" x="16" y="{at}">{size / 1e6:g} million events, one in ten a duplicate, '
                   'from a file to durable counters</text>')
        group = sorted((row for row in rows if row["events"] == size), key=lambda row: -row["mevents"])
        lines, at = bars(group, at + 8, longest)
        out += lines
    where = (f'lethe {results["lethe"]} ({results["commit"]}), {results["cpu"]}, {results["cores"]} cores, '
             f'{results["compiler"]}, {results["date"]}')
    notes = [where, "awk and DuckDB \"in memory\" keep nothing that a second file could be counted with; Redis syncs once per second."]
    if results["busy_cores_before"] > BUSY:
        notes.append(f'The machine was busy ({results["busy_cores_before"]:g} cores before the run): trust only the ratios.')
    at += 8
    for note in notes:
        at += 18
        out.append(f'<text class="note" x="16" y="{at}">{html.escape(note)}</text>')
    height = at + 16
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                      f'height="{height}" role="img" aria-label="Speed and memory of lethe count and its peers">',
                      f"<!-- drawn by tools/speed.py from bench/results/count.json -->\n<style>{STYLE}</style>",
                      *out, "</svg>\n"])


def main():
    command, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    names = [word for word in arguments if word[0].isalpha()]
    if command not in ("measure", "keep", "draw") or (command == "keep") != bool(names):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    if command == "keep":
        options = [word for word in arguments if word not in names]
        for name in names:
            measure(name, options)
        return 0
    if command == "measure":
        measure("count", arguments)
    CHART.write_text(draw(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
    print(CHART.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
