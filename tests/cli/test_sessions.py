"""Goal: lethe prints exactly what its transcripts say, and so does every ```console block of the
README and of docs/: what a reader copies works, and gives what the reader was shown.

Method: each file is a session of its own (transcript.py). The runner is tested as well: a
transcript with any mistake in it must be reported."""

import pytest

import transcript
from conftest import BINARIES, SOURCE

HERE = SOURCE / "tests/cli"
OWN = sorted(HERE.glob("*.md"))
# They need a server: tests/server/test_http_docs.py and test_tables.py run them.
ELSEWHERE = {SOURCE / "docs/http.md", SOURCE / "docs/http-redis.md", SOURCE / "docs/start/http.md"}
DOCUMENTS = [path for path in [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]
             if path.exists() and path not in ELSEWHERE and transcript.BLOCK.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", OWN + DOCUMENTS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_session(path, tmp_path):
    text = path.read_text(encoding="utf-8")
    assert transcript.parse(text), f"{path} has no commands in it"
    problems = transcript.run(text, path.relative_to(SOURCE), tmp_path, BINARIES)
    assert not problems, "\n" + problems


def block(*lines):
    return "\n".join(["Some text.", "", "```console", *lines, "```", ""])


RIGHT = {
    "exact": block("$ printf 'a\\nb\\n'", "a", "b"),
    "no final newline": block("$ printf a", "a"),
    "nothing printed": block("$ true"),
    "exit status": block("$ echo x; exit 3", "x", "[exit 3]"),
    "both streams": block("$ echo a; echo b >&2", "a", "b"),
    "continued": block("$ echo a \\", "> b", "a b"),
    "a greater sign in the output": block("$ echo a; echo '> b'", "a", "> b"),
    "any text": block("$ echo took 12 s", "took <*> s"),
    "any lines": block("$ seq 9", "1", "...", "9"),
    "any lines may be none": block("$ seq 2", "1", "...", "2"),
    "only any lines": block("$ seq 9", "..."),
    "one folder": block("$ echo x > file") + block("$ cat file", "x"),
    "special characters": block("$ echo 'a.c (1) [x] *'", "a.c (1) [x] *"),
}

WRONG = {
    "other text": block("$ echo a", "b"),
    "a line missing": block("$ seq 2", "1"),
    "a line too many": block("$ seq 2", "1", "2", "3"),
    "other order": block("$ seq 2", "2", "1"),
    "something printed": block("$ echo a"),
    "nothing printed": block("$ true", "a"),
    "unexpected failure": block("$ exit 1"),
    "unexpected success": block("$ true", "[exit 1]"),
    "other exit status": block("$ exit 3", "[exit 4]"),
    "any text is not two lines": block("$ printf 'a\\nb\\n'", "<*>"),
    "any text keeps the rest": block("$ echo took 12 s", "took <*> ms"),
    "after any lines": block("$ seq 9", "...", "8"),
    "before any lines": block("$ seq 9", "2", "..."),
    "full stops are full stops": block("$ echo abc", "a.c"),
    "unknown command": block("$ no-such-command-here", ""),
    "second of two": block("$ echo a", "a", "$ echo b", "c"),
    "second block": block("$ true") + block("$ echo a", "b"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_runner_accepts(name, tmp_path):
    assert transcript.run(RIGHT[name], "self-test", tmp_path, BINARIES) == ""


@pytest.mark.parametrize("name", WRONG)
def test_runner_reports(name, tmp_path):
    problems = transcript.run(WRONG[name], "self-test", tmp_path, BINARIES)
    assert "self-test:" in problems and "$ " in problems


def test_runner_refuses_a_block_without_a_command(tmp_path):
    with pytest.raises(ValueError):
        transcript.run(block("output of nothing"), "self-test", tmp_path, BINARIES)
