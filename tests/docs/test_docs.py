"""Goal: the documents lead a reader to what is there, and the check would notice if they did not.

Method: run tools/check_docs.py on the tree itself, then on made-up trees where each rule is broken once
and must be reported with file and line. Draw the README's chart again from its results and compare. Make
the API reference, where Doxygen is installed, and look for the descriptions in its pages; then show that a
function without a comment is reported."""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load(name):
    if str(ROOT / "tools") not in sys.path:
        sys.path.insert(0, str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(root):
    """What the check exits with and prints for a tree."""
    done = subprocess.run([sys.executable, ROOT / "tools/check_docs.py", root], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def check_text(root, text, name="CONTRIBUTING.md"):
    """Checks a small tree whose one document has the given text."""
    for path in ("src/core/hash.c", "docs/other.md", name):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")
    (root / "src/core/hash.c").write_text("int lethe_known;\n")
    (root / "docs/other.md").write_text("# Other page\n\n## A `b` and c, d\n")
    (root / name).write_text(text)
    return check(root)


def test_the_documents_of_this_tree():
    assert check(ROOT) == (0, "")


@pytest.mark.parametrize("text, message", [
    ("see [x](docs/none.md)\n", "links to docs/none.md, which is not there"),
    ("one\n\nsee [x](docs/other.md#nothing)\n", "docs/other.md has no such heading"),
    ("![picture](docs/none.svg)\n", "links to docs/none.svg, which is not there"),
    ("[here](#nothing)\n", "has no such heading"),
    ("open `src/core/none.c`\n", "names src/core/none.c, which is not there"),
    ("open `none.c` first\n", "names none.c, which is not there"),
    ("```\nsrc/none/   a folder\n```\n", "names src/none, which is not there"),
    ("the patches in `src/*.patch`\n", "names src/*.patch, which is not there"),
    ("call `lethe_none()` first\n", "mentions lethe_none, which the source does not have"),
    ("word " * 21 + "\n", "wrap at 100"),
])
def test_a_broken_rule_is_reported(tmp_path, text, message):
    code, output = check_text(tmp_path, text)
    assert code == 1
    lines = output.splitlines()
    assert len(lines) == 1 and message in lines[0]
    assert re.match(rf"CONTRIBUTING\.md:{3 if text.startswith('one') else '[12]'}: ", lines[0])


@pytest.mark.parametrize("text", [
    "see [x](docs/other.md), [y](docs/other.md#a-b-and-c-d), [z](docs), [w](https://example.org/none.md)\n",
    "# Top\n\n[up](#top) `src/core/hash.c` `hash.c` `core/hash.c` `src/` `build/release/none.c`\n",
    "`src/*/hash.c` `PRESET/none.c` and/or\n",
    "`lethe_known(x)` and lethe_unquoted\n",
    "| " + "word " * 30 + "|\n",
    "```\n" + "word " * 30 + "\n```\n",
])
def test_what_is_right_passes(tmp_path, text):
    assert check_text(tmp_path, text) == (0, "")


def test_a_folder_that_the_map_lacks_is_reported(tmp_path):
    (tmp_path / "new/deep").mkdir(parents=True)
    (tmp_path / "new/deep/a.c").write_text("")
    assert check_text(tmp_path, "```\nsrc/core/   core\n```\n", "HACKING.md") == (
        1, "HACKING.md: the map lacks new/deep/\n")
    assert check_text(tmp_path, "```\nsrc/core/   core\nnew/   new\n```\n", "HACKING.md") == (0, "")


def test_names_are_checked_in_guides_only(tmp_path):
    assert check_text(tmp_path, "open `src/core/none.c`\n", "README.md") == (0, "")


def test_the_chart_is_drawn_from_its_results():
    speed = load("speed")
    results = json.loads(speed.RESULTS.read_text(encoding="utf-8"))
    assert speed.draw(results) == speed.CHART.read_text(encoding="utf-8")
    for field in ("cpu", "compiler", "commit", "date", "busy_cores_before"):
        assert results[field] != ""


def test_the_tables_of_performance_are_those_of_the_results():
    tables = load("tables")
    page = tables.PAGE.read_text(encoding="utf-8")
    assert tables.with_tables(page) == page
    assert sorted(re.findall(r"<!-- table: (\S+) -->", page)) == sorted(tables.COLUMNS)


def test_a_table_shows_what_was_measured_and_where():
    results = {"workload": "dedup", "lethe": "0.1.0", "commit": "abc", "cpu_path": "avx2", "cpu": "A CPU", "cores": 2,
               "compiler": "cc 1", "date": "2026-01-02", "busy_cores_before": 0.75, "command": "lethe bench dedup",
               "results": [{"way": "sort -u", "seconds": 10.666, "cpu_seconds": None, "mlines": 1.875, "memory_mib": 257.6}]}
    assert load("tables").table(results) == (
        "lethe 0.1.0 (abc, avx2), A CPU, 2 cores, cc 1, 2026-01-02, 0.75 cores busy with other work\n"
        "lethe bench dedup\n"
        "way      seconds  cpu s  M lines/s  MiB\n"
        "sort -u    10.67      -       1.88  258\n")


def test_the_chart_of_bytes_is_drawn_from_its_results():
    sizes = load("bytes")
    results = json.loads(sizes.RESULTS.read_text(encoding="utf-8"))
    assert sizes.draw(results) == sizes.CHART.read_text(encoding="utf-8")
    assert all(row["bytes_per_id"] > 0 for row in results["results"])


def test_the_pictures_are_drawn_by_their_script():
    pictures = load("pictures")
    for name, draw in pictures.PICTURES.items():
        assert draw() == (pictures.FOLDER / name).read_text(encoding="utf-8")


def test_measuring_keeps_what_was_measured_and_where(tmp_path, monkeypatch):
    speed = load("speed")
    bench = tmp_path / "build/release/lethe-bench"
    bench.parent.mkdir(parents=True)
    row = {"way": "lethe <count>", "events": 1000000, "mevents": 2.5, "memory_mib": 50.4}
    printed = {"workload": "count", "lethe": "0.1.0", "cpu": "A CPU", "cores": 2, "compiler": "cc 1",
               "results": [row, {**row, "way": "SQLite", "mevents": 0.25}, {**row, "way": "the engine alone"}]}
    bench.write_text(f"#!/bin/sh\n[ \"$*\" = '--json --runs 1 count' ] && cat <<'END'\n{json.dumps(printed)}\nEND\n")
    bench.chmod(0o755)
    monkeypatch.setattr(speed, "ROOT", tmp_path)
    monkeypatch.setattr(speed, "RESULTS", tmp_path / "bench/results/count.json")
    monkeypatch.setattr(speed, "CHART", tmp_path / "speed.svg")
    monkeypatch.setattr(speed, "busy_cores", lambda: 1.25)
    monkeypatch.setattr(sys, "argv", ["speed.py", "measure", "--runs", "1"])
    assert speed.main() == 0
    results = json.loads(speed.RESULTS.read_text(encoding="utf-8"))
    assert results["results"] == printed["results"] and results["busy_cores_before"] == 1.25
    assert results["cpu"] == "A CPU" and results["commit"] == "unknown"
    chart = speed.CHART.read_text(encoding="utf-8")
    for text in ("lethe &lt;count&gt;", "2.50 million/s, 50 MiB", "0.25 million/s", "A CPU, 2 cores", "busy (1.25 cores"):
        assert text in chart
    assert "the engine alone" not in chart


def test_other_workloads_are_kept_without_a_chart(tmp_path, monkeypatch):
    speed = load("speed")
    bench = tmp_path / "build/release/lethe-bench"
    bench.parent.mkdir(parents=True)
    printed = {"workload": "open", "cpu": "A CPU", "results": [{"what": "ids"}]}
    bench.write_text(f"#!/bin/sh\n[ \"$*\" = '--json --runs 2 open' ] && cat <<'END'\n{json.dumps(printed)}\nEND\n")
    bench.chmod(0o755)
    monkeypatch.setattr(speed, "ROOT", tmp_path)
    monkeypatch.setattr(speed, "RESULTS", tmp_path / "bench/results/count.json")
    monkeypatch.setattr(speed, "CHART", tmp_path / "speed.svg")
    monkeypatch.setattr(speed, "LOOK_S", 0)
    monkeypatch.setattr(sys, "argv", ["speed.py", "keep", "--runs", "2", "open"])
    assert speed.main() == 0
    results = json.loads((tmp_path / "bench/results/open.json").read_text(encoding="utf-8"))
    assert results["results"] == [{"what": "ids"}] and results["command"] == "lethe bench --runs 2 open"
    assert 0 <= results["busy_cores_before"] <= (speed.os.cpu_count() or 1)
    assert not speed.CHART.exists()
    monkeypatch.setattr(sys, "argv", ["speed.py", "keep"])
    assert speed.main() == 2


def test_each_kept_workload_says_where_it_ran():
    for path in (ROOT / "bench/results").glob("*.json"):
        results = json.loads(path.read_text(encoding="utf-8"))
        if "workload" not in results:
            continue
        assert results["workload"] == path.stem
        assert results["cpu"] and results["compiler"] and results["commit"] and results["date"]


@pytest.mark.skipif(shutil.which("doxygen") is None, reason="Doxygen is not installed")
def test_the_reference_has_every_function_and_its_description(tmp_path):
    for name in ("include", "docs", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    done = subprocess.run([tmp_path / "tools/docs.sh", "api"], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert (done.returncode, done.stdout) == (0, "build/docs/html/api/index.html\n")
    for header in (tmp_path / "include/lethe").glob("*.h"):
        functions = set(re.findall(r"^LETHE_API[^;]*?\b(lethe_\w+)\(", header.read_text(encoding="utf-8"),
                                   flags=re.MULTILINE))
        if not functions:
            continue
        name = header.stem.replace("_", "__")  # as Doxygen writes it
        page = (tmp_path / f"build/docs/html/api/{name}_8h.html").read_text(encoding="utf-8")
        described = set()
        for item in page.split('<div class="memitem">')[1:]:
            name = re.findall(r"lethe_\w+", item.split('class="memname"', 1)[1].split("</td>", 1)[0])[-1:]
            text = re.sub(r"<[^>]*>", "", item.split('<div class="memdoc">', 1)[1].split("</div>", 1)[0])
            described.update(name if text.strip() else [])
        assert functions <= described, functions - described


def test_a_function_without_a_comment_is_reported(tmp_path):
    header = tmp_path / "new.h"
    header.write_text("/* lethe/new.h - new. */\n\nLETHE_API void lethe_new_thing(int x);\n")
    done = subprocess.run([sys.executable, ROOT / "tools/doxygen_filter.py", header], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 1 and "lethe_new_thing has no comment" in done.stderr
