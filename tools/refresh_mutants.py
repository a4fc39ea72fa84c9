#!/usr/bin/python3
"""Makes mutants again whose code has only been moved, renamed or set differently.

usage: tools/refresh_mutants.py [--all] [--word OLD=NEW ...] [NAME...]

A patch in tests/mutants stops applying when the lines around its mistake change. Often nothing has changed but
white space, line breaks, a name, or the file that the lines are in. This program looks for the same tokens
again, first in the patch's own file and then in all others of the same kind, makes the change there, and writes
the patch anew. --word renames whole words in the patches first. With --all, patches that still apply are looked
at too. Prints the patches that must be made again by hand, and exits 1 if there are any.
"""

import argparse
import difflib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PATCHES = ROOT / "tests/mutants"
TOKEN = re.compile(r"\w+|[^\w\s]")


class Lost(Exception):
    """The place is not there any more, or there are several."""


def tokens(text):
    return [(match.group(), match.start(), match.end()) for match in TOKEN.finditer(text)]


def words(text):
    return [word for word, _, _ in tokens(text)]


def groups(hunk):
    """Splits a hunk into its changes: lines before, removed, added, after."""
    lines = hunk.split("\n")
    at = 0
    while at < len(lines):
        if lines[at][:1] not in "+-" or not lines[at]:
            at += 1
            continue
        end = at
        while end < len(lines) and lines[end][:1] in ("+", "-"):
            end += 1
        old = [line[1:] for line in lines[:at] if line[:1] in (" ", "-")]
        after = [line[1:] for line in lines[end:] if line[:1] in (" ", "-")]
        yield (old, [line[1:] for line in lines[at:end] if line[0] == "-"],
               [line[1:] for line in lines[at:end] if line[0] == "+"], after)
        at = end


def find(text, change):
    """Where in a text the change belongs: start and end of what it replaces."""
    before, removed, _, after = change
    have = tokens(text)
    stream = [word for word, _, _ in have]
    # Fewer and fewer lines around it must be equal.
    for keep in range(max(len(before), len(after)), -1, -1):
        head = words("\n".join(before[len(before) - min(keep, len(before)):]))
        middle, tail = words("\n".join(removed)), words("\n".join(after[:keep]))
        wanted = head + middle + tail
        if not wanted or (not middle and (keep == 0 or not head)):
            break
        places = [at for at in range(len(stream) - len(wanted) + 1) if stream[at:at + len(wanted)] == wanted]
        if len(places) == 1:
            first = places[0] + len(head)
            if middle:
                return have[first][1], have[first + len(middle) - 1][2]
            return have[first - 1][2], have[first - 1][2]
        if len(places) > 1:
            break
    raise Lost


def indent_of(text, at):
    start = text.rfind("\n", 0, at) + 1
    return text[start:at] if text[start:at].strip() == "" else ""


def changed(text, changes):
    for change in changes:
        start, end = find(text, change)
        added = "\n".join(change[2])
        if change[1]:
            # The new lines bring their own white space: what stands before them on the line goes.
            if indent_of(text, start):
                start = text.rfind("\n", 0, start) + 1
            else:
                added = added.strip()
            if not added and text[end:end + 1] == "\n":
                end += 1
            text = text[:start] + added + text[end:]
        else:
            text = text[:end] + "\n" + added + text[end:]
    return text


def candidates(name):
    own = ROOT / name
    if own.is_file():
        yield own
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "src", "cli", "module", "clients", "include", "plugins"],
                            check=True, text=True, stdout=subprocess.PIPE).stdout.split()
    for other in listed:
        path = ROOT / other
        if path.suffix == pathlib.Path(name).suffix and path != own and path.is_file():
            yield path


def refreshed(patch):
    """The patch, made again for the tree as it is."""
    head, *files = re.split(r"^(?=diff --git )", patch, flags=re.MULTILINE)
    result = head
    for file in files:
        name = re.search(r"^--- a/(.+?)\s*$", file, re.MULTILINE).group(1)
        changes = [change for hunk in re.split(r"^@@.*\n", file, flags=re.MULTILINE)[1:]
                   for change in groups(hunk)]
        for path in candidates(name):
            text = path.read_text(encoding="utf-8")
            try:
                new = changed(text, changes)
            except Lost:
                continue
            shown = path.relative_to(ROOT)
            difference = "".join(
                line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
                for line in difflib.unified_diff(text.splitlines(True), new.splitlines(True), f"a/{shown}",
                                                 f"b/{shown}", n=1))
            result += f"diff --git a/{shown} b/{shown}\n" + difference
            break
        else:
            raise Lost
    return result


def applies(path):
    return subprocess.run(["git", "-C", ROOT, "apply", "--check", path], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--word", action="append", default=[])
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    lost = []
    for path in sorted(PATCHES.glob("*.patch")):
        if arguments.names and not any(name in path.name for name in arguments.names):
            continue
        patch = path.read_text(encoding="utf-8")
        for word in arguments.word:
            old, new = word.split("=", 1)
            patch = re.sub(rf"\b{re.escape(old)}\b", new, patch)
        if patch != path.read_text(encoding="utf-8"):
            path.write_text(patch, encoding="utf-8")
        if applies(path) and not arguments.all:
            continue
        try:
            path.write_text(refreshed(patch), encoding="utf-8")
        except Lost:
            pass
        if not applies(path):
            lost.append(path.name)
    for name in lost:
        print(f"{name}: make it again by hand")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
