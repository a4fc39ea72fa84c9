#!/usr/bin/python3
"""Checks the links, file names and line lengths of the project's Markdown files.

usage: tools/check_docs.py [ROOT]

    links        every link to a file or folder leads to one; every #heading exists in its file
    file names   the guides (GUIDES, below) mention only files and folders that exist
    identifiers  lethe_... and LETHE_... in backticks occur in the source
    folders      HACKING.md's map has every folder with code, or the folder around it
    lines        are at most 100 columns, except tables, code and lines that cannot be broken

Addresses on the web are not followed. Prints file:line and what is wrong, and exits 1 if anything is.
"""

import fnmatch
import os
import re
import subprocess
import sys

# The documents that send a reader into the tree: every path they mention must be there.
GUIDES = re.compile(r"(HACKING|CONTRIBUTING|SECURITY)\.md|docs/|tests/(simulation|mutants)/")
# What was is allowed to be gone.
HISTORY = re.compile(r"CHANGELOG\.md")
MOST_COLUMNS = 100
# Transcripts of the program, and the list of changes.
ANY_LENGTH = re.compile(r"tests/cli/|CHANGELOG\.md")

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
PATH = re.compile(r"^[\w.*-]+(?:/[\w.*-]*)*$")
IDENTIFIER = re.compile(r"\b(?:lethe|LETHE)_\w*[a-zA-Z0-9]\b(?!\*)")
SOURCES = (".c", ".h", ".hpp", ".py", ".txt", ".cmake", ".in")
CODE_ENDINGS = (".c", ".h", ".py", ".sh")
FILE_ENDINGS = (".c", ".h", ".cc", ".hpp", ".py", ".sh", ".md", ".txt", ".json", ".cmake", ".svg",
                ".patch", ".dox", ".css")


def tree(root):
    """The files and folders of the project, as paths from its root."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    names = [name for name in listed.stdout.decode().split("\0") if name]
    if listed.returncode != 0:
        names = []
        for folder, folders, found in os.walk(root):
            folders[:] = [name for name in folders if name not in ("build", ".git")]
            names += [os.path.relpath(os.path.join(folder, name), root) for name in found]
    files = {name for name in names if os.path.isfile(os.path.join(root, name))}
    folders = set()
    for name in files:
        while "/" in name:
            name = name.rsplit("/", 1)[0]
            folders.add(name)
    return files, folders


def slug(heading):
    """The anchor that a heading gets where Markdown is shown: lower case, hyphens for blanks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def lines_of(text):
    """Yields (number, line, whether it is code) for each line."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fence = line.lstrip().startswith("```")
        yield number, line, fenced or fence or line.startswith("    ")
        fenced ^= fence


def anchors(text):
    """The anchors of a file's headings; a repeated one gets a number."""
    found = set()
    for _, line, code in lines_of(text):
        heading = re.match(r"#{1,6} (.*)", line)
        if heading and not code:
            name, count = slug(heading.group(1)), 0
            while name + (f"-{count}" if count else "") in found:
                count += 1
            found.add(name + (f"-{count}" if count else ""))
    return found


def wrong_link(root, path, target, files, folders):
    """What is wrong with a link of the file at path; None if nothing."""
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    place = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if place not in files and place not in folders:
        return f"links to {target}, which is not there"
    if anchor:
        with open(os.path.join(root, place), encoding="utf-8") as file:
            if anchor not in anchors(file.read()):
                return f"links to {target}, but {place} has no such heading"
    return None


def wrong_name(name, files, folders):
    """What is wrong with a path that a guide mentions; None if nothing, or if it is no path."""
    name = name.rstrip("/") if name.count("/") > 1 or not name.endswith("/") else name
    top = name.split("/")[0]
    bare = name.rstrip("/")
    looks_like_file = name.endswith(FILE_ENDINGS) and name not in FILE_ENDINGS
    if not PATH.match(name) or top in ("build", "..", "") or re.search(r"[A-Z]{2}", top):
        return None
    if top not in folders and not looks_like_file:
        return None
    if top in folders and "/" not in name:
        return None
    matches = [known for known in files | folders if fnmatch.fnmatchcase(known, bare)]
    if not matches and looks_like_file and top not in folders:
        matches = [known for known in files if fnmatch.fnmatchcase("/" + known, "*/" + bare)]
    return None if matches else f"names {name}, which is not there"


def words_of(line, code):
    """What of a line may be a path: in prose what is in backticks, in code every word."""
    if not code:
        return [word for quoted in CODE.findall(line) for word in quoted.split()]
    return re.split(r"[\s,;()\"'│]+", line)


def identifiers_of(root, files):
    """Every lethe_... and LETHE_... that the source has."""
    found = set()
    for name in files:
        if name.endswith(SOURCES):
            with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
                found.update(IDENTIFIER.findall(file.read()))
    return found


def problems(root, path, text, files, folders, known):
    """Yields (line, message) for each rule that a file breaks."""
    for number, line, code in lines_of(text):
        if GUIDES.match(path):
            for word in words_of(line, code):
                message = wrong_name(word.rstrip(".:"), files, folders)
                if message:
                    yield number, message
        if code:
            continue
        for quoted in CODE.findall(line):
            for name in IDENTIFIER.findall(quoted):
                if name not in known and not HISTORY.match(path):
                    yield number, f"mentions {name}, which the source does not have"
        for target in LINK.findall(line):
            message = wrong_link(root, path, target, files, folders)
            if message:
                yield number, message
        long = len(line) > MOST_COLUMNS and " " in line[:MOST_COLUMNS].strip()
        if long and not line.startswith(("|", "#")) and not ANY_LENGTH.match(path):
            yield number, f"{len(line)} columns; wrap at {MOST_COLUMNS}"


def missing_folders(text, files):
    """The folders with code that a map, the code blocks of the text, does not have."""
    mapped = {word.rstrip("/") for _, line, code in lines_of(text) if code
              for word in words_of(line, code) if word.endswith("/")}
    folders = {name.rsplit("/", 1)[0] for name in files if "/" in name and name.endswith(CODE_ENDINGS)}
    return sorted(folder for folder in folders
                  if not {folder, folder.rsplit("/", 1)[0]} & mapped)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(
        os.path.abspath(__file__)))
    files, folders = tree(root)
    known = identifiers_of(root, files)
    wrong = checked = 0
    for path in sorted(files):
        if not path.endswith(".md"):
            continue
        checked += 1
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        if path == "HACKING.md":
            for folder in missing_folders(text, files):
                wrong += 1
                print(f"{path}: the map lacks {folder}/")
        for line, message in problems(root, path, text, files, folders, known):
            wrong += 1
            print(f"{path}:{line}: {message}")
    if checked == 0:
        print(f"{root}: no Markdown files here")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
