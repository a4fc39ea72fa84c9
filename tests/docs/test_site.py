"""Goal: the site that `make docs` builds has every page, leads nowhere wrong, loads nothing from the network, and can
be searched when it is opened from a folder; and its check would notice if that were not so.

Method: build it from the tree, as tools/docs.sh does, and run tools/check_site.py on it. Break a small site in each way,
which must be reported. Open pages in a headless Chromium, wide, narrow and dark, and search."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LETHE_BUILD_DIR", ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT / "tests/server/page"))
import browser  # noqa: E402
import build_site  # noqa: E402
import check_site  # noqa: E402


def has(*modules):
    return all(importlib.util.find_spec(name) for name in modules)


@pytest.fixture(name="built", scope="module")
def fixture_built(tmp_path_factory):
    """The folder of the site."""
    if not has("sphinx", "myst_parser", "furo") or shutil.which("doxygen") is None:
        pytest.skip("Sphinx with its Markdown and theme, or Doxygen, is not installed")
    folder = tmp_path_factory.mktemp("site")
    html = folder / "html"
    html.mkdir()
    configuration = (ROOT / "docs/api/Doxyfile").read_text(encoding="utf-8").replace("build/docs/html", str(html))
    subprocess.run(["doxygen", "-"], input=configuration, text=True, cwd=ROOT, check=True,
                   env={**os.environ, "LETHE_VERSION": "0"}, stdout=subprocess.DEVNULL)
    done = subprocess.run([sys.executable, "-B", ROOT / "tools/build_site.py", "--build", BUILD, "--out", html], text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return html


def test_nothing_is_wrong_with_the_site(built):
    assert not [f"{name}: {message}" for name, message in check_site.problems(built)]


def test_every_command_has_its_page(built):
    for line in subprocess.run([BUILD / "lethe", "help", "--format", "list"], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.split("\n")[:-1]:
        page = (built / f"program/{('lethe ' + line).strip().replace(' ', '-')}.html").read_text(encoding="utf-8")
        text = subprocess.run([BUILD / "lethe", "help", *line.split()], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        for option in re.findall(r"^  (?:-\w, )?--([\w-]+)", text, re.MULTILINE):
            assert f"--{option}" in page
    for page in (ROOT / "docs/commands").glob("*.*.md"):
        assert (built / f"commands/{page.stem}.html").exists()


def test_every_class_of_the_package_has_its_page(built):
    if not (BUILD / "python/package/lethe").is_dir():
        pytest.skip("the Python package was not built")
    text = (ROOT / "python/lethe/__init__.pyi").read_text(encoding="utf-8")
    for name in re.findall(r"^class ([A-Z]\w+)(?!.*Error)", text, re.MULTILINE):
        if not name.endswith("Error"):
            page = (built / f"python-reference/{name.lower()}.html").read_text(encoding="utf-8")
            assert f"lethe.{name}" in page
    page = (built / "python-reference/store.html").read_text(encoding="utf-8")
    for method in ("apply_many", "claim_begin", "usage", "items"):
        assert f'id="{method.replace("_", "-")}"' in page


def test_the_index_lists_every_document():
    listed = {path for _, _, path, _ in build_site.entries((ROOT / "docs/llms.txt").read_text(encoding="utf-8"))}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert there <= listed, f"docs/llms.txt lacks {sorted(there - listed)}"
    assert all((ROOT / path).is_file() for path in listed)


GOOD = '<a href="b.html#there">b</a>'
INDEX = "- [a](index.html): first\n- [b](b.html): second\n"


@pytest.mark.parametrize("page, index, message", [
    (GOOD, INDEX, None),
    (GOOD + '<a href="none.html">x</a>', INDEX, "refers to none.html"),
    ('<a href="b.html#nowhere">b</a>', INDEX, "b.html has no such place"),
    (GOOD + '<img src="https://example.org/x.png">', INDEX, "loads https://example.org/x.png"),
    (GOOD + '<script src="//example.org/x.js"></script>', INDEX, "loads //example.org/x.js"),
    (GOOD + '<a href="https://example.org/">x</a>', INDEX, None),
    ("nothing", INDEX, "cannot be reached"),
    (GOOD, "- [a](index.html): first\n", "does not name b.html"),
    (GOOD, INDEX + "- [c](c.html): third\n", "names c.html"),
])
def test_what_is_wrong_is_reported(tmp_path, page, index, message):
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "b.html").write_text('<p id="there">b</p>')
    (tmp_path / "llms.txt").write_text(index)
    found = [text for _, text in check_site.problems(tmp_path)]
    assert (found == []) if message is None else (len(found) == 1 and message in found[0]), found


def test_a_style_sheet_that_loads_from_elsewhere_is_reported(tmp_path):
    (tmp_path / "index.html").write_text("")
    (tmp_path / "llms.txt").write_text("- [a](index.html): first\n")
    (tmp_path / "style.css").write_text('@import "https://example.org/fonts.css";')
    assert [text for _, text in check_site.problems(tmp_path)] == ["loads https://example.org/fonts.css"]


@pytest.fixture(name="chromium", scope="module")
def fixture_chromium(tmp_path_factory):
    if browser.PROGRAM is None:
        pytest.skip("Chromium is not installed")
    one = browser.Browser(tmp_path_factory.mktemp("chromium"))
    yield one
    one.close()


@pytest.mark.parametrize("page", ["index", "howto/production", "commands/once.take", "program/lethe-count", "papers"])
@pytest.mark.parametrize("look", [{}, {"width": 390, "height": 800, "mobile": True}, {"dark": True}],
                         ids=["wide", "narrow", "dark"])
def test_pages_fit_and_ask_for_nothing(built, chromium, page, look):
    chromium.open(f"file://{built}/{page}.html", **look)
    assert chromium.errors == []
    assert not [one["url"] for one in chromium.requests if not one["url"].startswith(("file:", "data:"))]
    assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth")
    bright = chromium.evaluate("Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
    assert bright < 60 if look.get("dark") else bright > 200
    broken = chromium.evaluate("[...document.images].filter(i => !i.naturalWidth).map(i => i.src)")
    assert broken == []


@pytest.mark.parametrize("words, page", [("rate limit retries", "howto/rate-limit.html"),
                                         ("ONCE.TAKE", "commands/once.take.html"),
                                         ("--late-out", "program/lethe-count.html"),
                                         ("submit_many", "python-reference/store.html")])
def test_the_search_finds_pages_from_a_folder(built, chromium, words, page):
    chromium.open(f"file://{built}/index.html")
    chromium.evaluate("document.querySelector('.sidebar-search').focus()")
    chromium.type(words)
    chromium.press("Enter")
    chromium.wait("location.pathname.endsWith('search.html') && document.querySelector('#search-results p') && "
                  "/found \\d+ page|finished/.test(document.querySelector('#search-results').textContent)")
    found = f"[...document.querySelectorAll('#search-results li a')].some(a => a.href.includes('/{page}'))"
    chromium.wait(found)
