#!/usr/bin/python3
"""Builds the documentation as a site that works without a network, and can be searched.

usage: tools/build_site.py [--build FOLDER] [--out FOLDER]

FOLDER of --build is the build whose program and Python package are described (default:
build/release). The site goes to --out (default: build/docs/html), which keeps its folder api, the
reference of the C headers.

docs/llms.txt lists the pages, and their order. They are copied to a folder beside --out in the
layout of the site: docs/howto/lua.md becomes howto/lua.md, the README.md of a folder its index.
Links are changed on the way, so that a page reads the same in the tree, on a code host and on the
site: a header becomes its page of the API reference, another file of the tree a page that shows it.
Pages of the program's commands come from `lethe help --format markdown`, those of the Python
package from its docstrings. Then Sphinx makes HTML of them; its warnings are errors.
"""

import argparse
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import check_docs
import python_pages

ROOT = pathlib.Path(__file__).resolve().parents[1]
INDEX = "docs/llms.txt"
ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)\s]+)\): (.+)$")
HELP = re.compile(r"(?<!\[)`lethe help ([a-zA-Z -]+)`")
IMAGES = (".svg", ".png")
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".json": "json", ".service": "ini",
             ".mjs": "javascript"}


def entries(text):
    """The index as [(section, title, path from the root, line)]; the front page has no section."""
    found, section = [], None
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif entry := ENTRY.match(line):
            title, target, says = entry.groups()
            found.append((section, title, posixpath.normpath(posixpath.join("docs", target)), says))
    return found


def place(path):
    """Where a Markdown file of the tree is on the site."""
    if path == "docs/README.md":
        return "index.md"
    if "/" not in path:
        return "project/" + path.lower()
    path = path.removeprefix("docs/")
    folder, name = posixpath.split(path)
    return posixpath.join(folder, "index.md") if name == "README.md" else path


def up(page):
    """From a page of the site to its top."""
    return "../" * page.count("/")


def page_of(header):
    """The name that Doxygen gives to the page of a header."""
    return header.replace("_", "__").replace(".", "_8")


class Site:
    """What is copied, and what the copied pages refer to besides."""

    def __init__(self, root, stage):
        self.root, self.stage = root, stage
        self.index = entries((root / INDEX).read_text(encoding="utf-8"))
        self.pages = {path: place(path) for _, _, path, _ in self.index}
        self.shown = {}     # files and folders of the tree -> pages that show them
        self.images = set()
        self.programs = set()  # pages of the program's commands

    def write(self, page, text):
        path = self.stage / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def target(self, page, path):
        """(where a file of the tree is on the site, whether Sphinx knows it)."""
        if (self.root / path).is_dir():
            if path == "include/lethe":
                return "api/index.html", False
            if path + "/README.md" in self.pages:
                return self.pages[path + "/README.md"], True
        if path in self.pages:
            return self.pages[path], True
        if path == INDEX:
            return "llms.txt", False
        if path.startswith("include/lethe/") and path.endswith(".h"):
            return f"api/{page_of(posixpath.basename(path))}.html", False
        if path.endswith(".md"):
            raise ValueError(f"{page} refers to {path}, which {INDEX} does not list")
        self.shown[path] = "files/" + path.replace("/", "-") + ".md"
        return self.shown[path], True

    def link(self, source, page, match):
        """A link of a page, as it is on the site."""
        whole, target = match.group(0), match.group(1)
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return whole
        name, mark, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
        if whole.startswith("!") or path.endswith(IMAGES):
            self.images.add(path)
            there, known = path.removeprefix("docs/"), True
        else:
            there, known = self.target(page, path)
        there = posixpath.relpath(there, posixpath.dirname(page) or ".")
        text = whole[:whole.rindex("](")]
        if known:
            return f"{text}]({there}{mark}{anchor})"
        return f'<a class="reference internal" href="{there}">{text[1:]}</a>'

    def help_link(self, page, match):
        """`lethe help count` leads to what it prints."""
        there = f"program/lethe-{match.group(1).replace(' ', '-')}.md"
        if match.group(1) == "COMMAND":
            there = "program/lethe.md"
        if there not in self.programs:
            return match.group(0)
        return f"[{match.group(0)}]({posixpath.relpath(there, posixpath.dirname(page) or '.')})"

    def copy(self, source, page):
        lines, text = [], (self.root / source).read_text(encoding="utf-8")
        # A link may go over the end of a line, code may not: paragraphs are put together first.
        parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
        for i, part in enumerate(parts):
            if i % 2 == 0:
                part = check_docs.LINK.sub(lambda m: self.link(source, page, m), part)
                part = HELP.sub(lambda m: self.help_link(page, m), part)
            lines.append(part)
        # What the tests of sessions write for any text means nothing to readers.
        self.write(page, "".join(lines).replace("<*>", "\u2026"))

    def show(self):
        """Pages that show files and folders of the tree; a folder shows its files."""
        done = set()
        while todo := [path for path in sorted(self.shown) if path not in done]:
            for path in todo:
                done.add(path)
                head = f"---\norphan: true\n---\n\n# {path}\n\n"
                if (self.root / path).is_dir():
                    rows = []
                    for one in sorted((self.root / path).iterdir()):
                        if one.is_file():
                            page = self.target("", f"{path}/{one.name}")[0].removeprefix("files/")
                            rows.append(f"- [{one.name}]({page})")
                    self.write(self.shown[path], head + "\n".join(rows) + "\n")
                    continue
                language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
                text = (self.root / path).read_text(encoding="utf-8")
                self.write(self.shown[path], f"{head}```{language}\n{text}```\n")

    def program(self, lethe):
        """The pages of the program's commands. Returns [(title, page, line)]."""
        def ask(*words):
            return subprocess.run([lethe, "help", "--format", *words], stdout=subprocess.PIPE,
                                  check=True, text=True).stdout
        found = []
        for command in ask("list").split("\n")[:-1]:
            title = ("lethe " + command).strip()
            page, text = f"program/{title.replace(' ', '-')}.md", ask("markdown", *command.split())
            found.append((title, page, text.split("\n")[2]))
            self.write(page, text)
            self.programs.add(page)
        return found

    def tree(self, generated):
        """Adds lists of pages: with captions to the front page, and to others those of their folder."""
        children, tops = {}, {}
        parents = {posixpath.dirname(page): page for page in self.pages.values()
                   if page.endswith("/index.md") and page.count("/") == 1}
        for section, title, path, _ in self.index:
            page = self.pages[path]
            parent = parents.get(posixpath.dirname(page))
            if section is None:
                continue
            if parent and parent != page:
                children.setdefault(parent, []).append((title, page))
            else:
                tops.setdefault(section, []).append((title, page))
        made = {page: title for title, page, _ in generated}
        reference = tops["Reference"]
        after = [page for _, page in reference].index("python.md") + 1
        reference.insert(after, ("C", "c-reference.md"))
        if "python-reference.md" in made:
            reference.insert(after, (made["python-reference.md"], "python-reference.md"))
        reference.insert(0, (made.pop("program/lethe.md"), "program/lethe.md"))
        children["program/lethe.md"] = [(title, page) for page, title in made.items()
                                        if page.startswith("program/")]
        for section, pages in tops.items():
            self.append("index.md", pages, f":caption: {section}\n")
        for parent, pages in children.items():
            self.append(parent, pages, "")

    def append(self, page, pages, options):
        rows = [f"{title} </{page_of.removesuffix('.md')}>" for title, page_of in pages]
        with open(self.stage / page, "a", encoding="utf-8") as file:
            file.write("\n```{toctree}\n:hidden:\n" + options + "\n" + "\n".join(rows) + "\n```\n")

    def for_readers_of_text(self, generated):
        """The index with the site's addresses, and with the pages that are made here."""
        lines = ["# Lethe", ""]
        for line in (self.root / INDEX).read_text(encoding="utf-8").splitlines():
            if line.startswith(">"):
                lines.append(line)
        section_before = ""
        for section, title, path, says in self.index:
            if section != section_before:
                lines += ["", f"## {section}" if section else "## Front page", ""]
                section_before = section
            lines.append(f"- [{title}]({self.pages[path].removesuffix('.md')}.html): {says}")
        lines += ["", "## Commands of the program, Python, C", ""]
        for title, page, says in generated:
            lines.append(f"- [{title}]({page.removesuffix('.md')}.html): {says}")
        lines += ["- [C](api/index.html): every function of the headers"]
        return "\n".join(lines) + "\n"


C_PAGE = """# The C interface

The headers are the contract: what each call guarantees, what it costs, how it fails.
<a class="reference internal" href="api/index.html">The reference of all functions</a> is made from
them by Doxygen, and has a search of its own. [Start](start/c.md) shows a first program.

| header | about |
|---|---|
"""


def c_page(root):
    rows = []
    for header in sorted((root / "include/lethe").glob("*.h")):
        first = re.match(r"/\* lethe/\S+ - (.*?)(?:\.\s|\n \*\n|\*/)",
                         header.read_text(encoding="utf-8"), re.DOTALL)
        about = re.sub(r"\s*\n \*\s*", " ", first.group(1)).strip() if first else ""
        name = page_of(header.name)
        about = about.rstrip(".").replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")
        link = f'<a class="reference internal" href="api/{name}.html">lethe/{header.name}</a>'
        rows.append(f"| {link} | {about} |")
    return C_PAGE + "\n".join(rows) + "\n"


def stage(root, build, folder):
    """Fills a folder with all that Sphinx reads. Returns the text of llms.txt."""
    site = Site(root, folder)
    generated = site.program(build / "lethe")
    for source, page in site.pages.items():
        site.copy(source, page)
    generated += python_pages.write(build / "python/package", site.write)
    site.write("c-reference.md", c_page(root))
    site.show()
    for path in site.images:
        place_of = folder / path.removeprefix("docs/")
        place_of.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / path, place_of)
    shutil.copytree(root / "docs/site", folder, dirs_exist_ok=True)
    site.tree(generated)
    return site.for_readers_of_text(generated)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/docs/html")
    options = parser.parse_args()
    out, work = options.out.resolve(), options.out.resolve().parent / "pages"
    shutil.rmtree(work, ignore_errors=True)
    text = stage(ROOT, options.build.resolve(), work)
    header = (ROOT / "include/lethe/version.h").read_text(encoding="utf-8")
    version = re.search(r'LETHE_VERSION "(.*)"', header).group(1)
    # The day of the build is nowhere in the pages: two builds of one source are equal.
    environment = {**os.environ, "LETHE_VERSION": version, "PYTHONDONTWRITEBYTECODE": "1",
                   "SOURCE_DATE_EPOCH": "0", "PYTHONHASHSEED": "0"}
    done = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html",
                           "-d", work.parent / "doctrees", work, out], env=environment, check=False)
    if done.returncode == 0:
        (out / "llms.txt").write_text(text, encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
