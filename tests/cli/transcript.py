"""Console transcripts: sessions written down in Markdown, run again and compared.

A transcript is a ```console block:

    $ a command, run by bash in the session's folder
    > a line that continues it
    what it must print, standard output and standard error together
    [exit 3]            its exit status, unless that is 0

In what it must print, a line that is only "..." stands for any lines, also none, and "<*>" within
a line for any text. All blocks of one file are one session: they run in order, in one folder that
is empty at first.
"""

import difflib
import os
import re
import subprocess

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXIT = re.compile(r"\[exit (\d+)\]")


class Step:
    """One command of a session, and what it must print."""

    def __init__(self, line, command):
        self.line = line
        self.command = command
        self.expected = []


def parse(text):
    """The steps of a session, in order."""
    steps = []
    for block in BLOCK.finditer(text):
        number = text.count("\n", 0, block.start()) + 1
        steps_before = len(steps)
        for line in block.group(1).splitlines():
            number += 1
            if line.startswith("$ "):
                steps.append(Step(number, line[2:]))
            elif len(steps) == steps_before:
                raise ValueError(f"line {number}: a console block begins with '$ '")
            elif line.startswith("> ") and not steps[-1].expected:
                steps[-1].command += "\n" + line[2:]
            else:
                steps[-1].expected.append(line)
    return steps


def line_matches(pattern, line):
    """Whether a line is as expected, with <*> for any text."""
    parts = [re.escape(part) for part in pattern.split("<*>")]
    return re.fullmatch(".*".join(parts), line, re.DOTALL) is not None


def matches(expected, actual):
    """Whether lines are as expected, with ... for any lines."""
    # reachable[j]: the expected lines so far can stand for the first j actual ones.
    reachable = [True] + [False] * len(actual)
    for pattern in expected:
        if pattern == "...":
            first = reachable.index(True) if True in reachable else len(reachable)
            reachable = [j >= first for j in range(len(actual) + 1)]
        else:
            reachable = [False] + [reachable[j] and line_matches(pattern, line)
                                   for j, line in enumerate(actual)]
    return reachable[-1]


def run_step(step, folder, binaries):
    """Runs a command; its output as lines, with [exit N] behind them if N is not 0."""
    environment = {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C",
        "TERM": "dumb",
    }
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LETHE_CPU"):
        if name in os.environ:
            environment[name] = os.environ[name]
    result = subprocess.run(["bash", "-c", step.command], cwd=folder, env=environment, timeout=60,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    lines = result.stdout.decode("utf-8", "backslashreplace").split("\n")
    if lines[-1] == "":
        lines.pop()
    if result.returncode != 0:
        lines.append(f"[exit {result.returncode}]")
    return lines


def run(text, name, folder, binaries):
    """Runs a session. Returns what differs, as readable text; "" if nothing does."""
    problems = []
    for step in parse(text):
        actual = run_step(step, folder, binaries)
        if matches(step.expected, actual):
            continue
        diff = difflib.unified_diff(step.expected, actual, "expected", "printed", lineterm="",
                                    n=len(step.expected) + len(actual))
        problems.append("\n".join([f"{name}:{step.line}: $ {step.command}", *diff]))
    return "\n\n".join(problems)
