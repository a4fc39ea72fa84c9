"""Goal: what docs/python.md, docs/start/python.md and the README show is what happens.
Method: the sessions of a page run in one interpreter; the README's sample runs."""

import doctest
import os
import re

import pytest

import lethe

pytest.importorskip("numpy")
SOURCE = os.environ["LETHE_SOURCE_DIR"]


def blocks(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page, least", [("docs/python.md", 5), ("docs/start/python.md", 4)])
def test_the_guide(tmp_path, monkeypatch, page, least):
    monkeypatch.chdir(tmp_path)
    sessions = [block for block in blocks(page) if block.startswith(">>>")]
    assert len(sessions) >= least
    names = {}
    for session in sessions:
        test = doctest.DocTestParser().get_doctest(session, names, "guide", page, 0)
        runner = doctest.DocTestRunner()
        said = []
        runner.run(test, out=said.append, clear_globs=False)
        names = test.globs
        assert runner.failures == 0, "".join(said)


def test_the_sample_of_the_readme(tmp_path):
    (sample,) = blocks("python/README.md")
    names = {}
    exec(sample.replace("/tmp/clicks", str(tmp_path / "clicks")), names)
    with lethe.Store(tmp_path / "clicks") as store:
        assert store["page /home"] == 1
    assert names["seen"].test("order 5")
