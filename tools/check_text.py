#!/usr/bin/python3
"""Checks the plain rules of the project's text files.

usage: tools/check_text.py [ROOT]

Text files are UTF-8, end with a line end, have no blanks at the end of a line and no carriage
returns; C files have no tabs; no file of code is longer than 900 lines, and none of the product
longer than 450; and no note of work to be done is left in the code, where nobody looks for it.
Saved filters, golden files and fuzzing corpora are data, not text.

Prints file:line and what is wrong, and exits 1 if anything is.
"""

import os
import re
import subprocess
import sys

C = (".c", ".h", ".cc", ".cpp", ".hpp")
CODE = C + (".py", ".sh", ".cmake", ".awk", ".zsh", ".bash")
TEXT = CODE + (".md", ".json", ".txt", ".in", ".yml", ".yaml", ".toml", ".ini", ".csv")
TEXT_NAMES = {"Makefile", "LICENSE", ".clang-format", ".clang-tidy", ".gitignore", ".gitattributes"}
DATA = re.compile(r"(^|/)(corpus|golden|data)/")
MOST_LINES = 900
MOST_LINES_OF_THE_PRODUCT = 450
PRODUCT = ("include/", "src/", "structures/", "cli/", "server/", "module/", "plugins/",
           "python/native/")
# Spelled so that this file does not find itself.
NOTE = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def files(root):
    """The files of the project: those that git knows or would, else all but build/."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    if listed.returncode == 0:
        return sorted(name for name in listed.stdout.decode().split("\0")
                      if name and os.path.isfile(os.path.join(root, name)))
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in ("build", ".git", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def problems(path, content):
    """Yields (line, message) for each rule that the file breaks."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield content.count(b"\n", 0, error.start) + 1, "not UTF-8"
        return
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "the last line has no end"
    code = path.endswith(CODE) or content.startswith(b"#!")
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.endswith("\r"):
            yield number, "a carriage return"
        elif line != line.rstrip():
            yield number, "blanks at the end of the line"
        if "\t" in line and path.endswith(C):
            yield number, "a tab; the house indents by four blanks and writes \\t"
        if code and NOTE.search(line):
            yield number, "a note of work to be done; do it, or say it where plans are kept"
    most = MOST_LINES_OF_THE_PRODUCT if path.startswith(PRODUCT) else MOST_LINES
    if code and len(lines) - 1 > most:
        yield len(lines) - 1, f"more than {most} lines; a file has one subject, split it"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(
        os.path.abspath(__file__)))
    wrong = 0
    for path in files(root):
        with open(os.path.join(root, path), "rb") as file:
            content = file.read()
        known = path.endswith(TEXT) or os.path.basename(path) in TEXT_NAMES
        if DATA.search(path) or not (known or content.startswith(b"#!")):
            continue
        for line, message in problems(path, content):
            wrong += 1
            print(f"{path}:{line}: {message}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
