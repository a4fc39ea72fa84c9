#!/usr/bin/python3
"""Checks the built site: every link and anchor leads somewhere, nothing is loaded from the network.

usage: tools/check_site.py FOLDER

    links      href and src of every page lead to a file of the folder; #anchor is an id of it
    network    no page and no style sheet loads anything from elsewhere; links may lead there
    pages      every page can be reached from index.html
    index      llms.txt names every page that Sphinx made, and no other

The pages below api/ are Doxygen's. Of them, the files and the network are checked, not the anchors.
Prints file and what is wrong, and exits 1 if anything is.
"""

import html.parser
import pathlib
import re
import sys
import urllib.parse

# Attributes that make a browser load something; a link is loaded only when somebody follows it.
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"),
         ("video", "src"), ("audio", "src"), ("object", "data"), ("embed", "src"), ("form", "action")}
PASSED_OVER = ("canonical", "prev", "next")  # links that a browser does not load
HARMLESS = ("data:", "javascript:")
# Pages that are made besides those of the index.
OTHERS = re.compile(r"(search|genindex|index|c-reference)\.html|files/.*")
STYLE_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(html.parser.HTMLParser):
    """The ids of a page, and what it refers to: [(tag, attribute, address)]."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.references = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.ids.update(told[name] for name in ("id", "name") if told.get(name))
        for name in ("href", "src", "data", "action"):
            if told.get(name) and not (tag == "link" and told.get("rel") in PASSED_OVER):
                self.references.append((tag, name, told[name]))


def is_elsewhere(address):
    begins = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]*:|//)", address)
    return begins is not None and not address.startswith(HARMLESS)


def problems(folder):
    """Yields (file, message)."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8", errors="replace")
        pages[path.relative_to(folder).as_posix()] = Page(text)
    for name, page in pages.items():
        for tag, attribute, address in page.references:
            if is_elsewhere(address):
                if (tag, attribute) in LOADS:
                    yield name, f"loads {address}"
                continue
            if address.startswith((*HARMLESS, "?")):
                continue
            path, _, anchor = address.partition("#")
            path = urllib.parse.unquote(path.split("?")[0])
            place = (folder / name).parent / path if path else folder / name
            if not place.is_file():
                yield name, f"refers to {address}, which is not there"
                continue
            there = place.resolve().relative_to(folder).as_posix()
            if anchor and there in pages and not there.startswith("api/"):
                if urllib.parse.unquote(anchor) not in pages[there].ids:
                    yield name, f"refers to {address}, but {there} has no such place"
    for path in sorted(folder.rglob("*.css")):
        for found in STYLE_URL.findall(path.read_text(encoding="utf-8", errors="replace")):
            if is_elsewhere(found[0] or found[1]):
                yield path.relative_to(folder).as_posix(), f"loads {found[0] or found[1]}"
    yield from unreached(folder, pages)
    yield from index_problems(folder, pages)


def unreached(folder, pages):
    """Pages that no path of links from the first one leads to."""
    seen, todo = set(), ["index.html"]
    while todo:
        name = todo.pop()
        if name in seen or name not in pages:
            continue
        seen.add(name)
        for tag, _, address in pages[name].references:
            if tag == "a" and not is_elsewhere(address):
                place = ((folder / name).parent / address.partition("#")[0]).resolve()
                if place.is_relative_to(folder):
                    todo.append(place.relative_to(folder).as_posix())
    for name in pages:
        if name not in seen and not name.startswith("api/") and name != "search.html":
            yield name, "cannot be reached from index.html"


def index_problems(folder, pages):
    text = (folder / "llms.txt").read_text(encoding="utf-8")
    named = set(re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", text, re.MULTILINE))
    for name in sorted(named - set(pages)):
        yield "llms.txt", f"names {name}, which is not there"
    for name in pages:
        if name not in named and not name.startswith("api/") and not OTHERS.fullmatch(name):
            yield "llms.txt", f"does not name {name}"


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    wrong = 0
    for name, message in problems(pathlib.Path(sys.argv[1]).resolve()):
        wrong += 1
        print(f"{name}: {message}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
