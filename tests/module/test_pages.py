"""Goal:   the descriptions of commands are true: the pages in docs/commands, COMMAND DOCS, ranges, defaults, fields.
Method: every page's example is sent to a server and the replies compared; the rest is asked of the server."""

import functools
import importlib.util
import json
import re
import shlex
import socket
import subprocess
import sys

import pytest
import redis
from servers import MODULE, SOURCE
from test_types import error_of

PROGRAM = MODULE.parent / "lethe-commands"
PAGES = sorted(path for path in (SOURCE / "docs/commands").glob("*.md") if path.name not in ("README.md", "settings.md"))


@functools.cache
def all_described():
    return json.loads(subprocess.run([PROGRAM], stdout=subprocess.PIPE, check=True).stdout)


def described():
    return all_described()["commands"]


def test_the_pages_are_up_to_date():
    script = SOURCE / "tools/command_pages.py"
    done = subprocess.run([sys.executable, "-B", script, "--check", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert done.stdout == "" and done.returncode == 0, "run make commands"


def leaves(arguments):
    for argument in arguments:
        yield argument
        yield from leaves(argument.get("arguments", []))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_has_all_parts(page):
    """Syntax, since, complexity, categories, arguments, replies in both protocols, errors, an example, and the
    history of a command that was changed since it is there."""
    name, text = page.stem.upper(), page.read_text()
    description = described()[name]
    assert text.startswith(f"# {name}\n") and f"```text\n{name}" in text
    for row in ("Since", "Complexity", "ACL categories"):
        assert re.search(rf"^\| {row} \| \S.* \|$", text, re.MULTILINE)
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [one for one in headings if one not in ("Fields", "History")] == ["Arguments", "Replies", "Errors", "Example"]
    assert ("History" in headings) == bool(description["history"])
    assert ("Fields" in headings) == name.endswith(".INFO")
    assert "| when | RESP2 | RESP3 |" in text and len(description["replies"]) >= 1
    assert len(description["errors"]) >= 2 and page.stem.upper() in text.split("## Example")[1]
    for argument in leaves(description["arguments"]):
        has_value = argument["type"] not in ("pure-token", "block", "key")
        assert argument["type"] == "block" or argument["meaning"]
        if has_value and argument.get("optional") and not argument.get("multiple"):
            assert argument["default"], argument
        if argument["type"] in ("integer", "double"):
            assert argument["range"], argument


def test_a_page_has_the_history():
    spec = importlib.util.spec_from_file_location("command_pages", SOURCE / "tools/command_pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    command = described()["ONCE.INCRBY"]
    plain = pages.page("ONCE.INCRBY", command | {"history": []})
    changed = pages.page("ONCE.INCRBY", command | {"history": [
        {"since": "0.2.0", "changes": "Takes NOCREATE"}, {"since": "1.0.0", "changes": "Replies in RESP3 are maps"}]})
    assert changed == plain + ("\n## History\n\n| version | change |\n|---|---|\n| 0.2.0 | Takes NOCREATE. |\n"
                               "| 1.0.0 | Replies in RESP3 are maps. |\n")


def test_every_error_is_described():
    """All texts of errors.h but one, which means a mistake in the module."""
    defined = re.sub(r"\\\n\s*", "", (SOURCE / "module/server/errors.h").read_text())
    texts = dict(re.findall(r'#define (ERROR_\w+) "(.*)"', defined))
    assert len(texts) > 30
    forms = {form["text"] for description in described().values() for form in description["errors"]}
    def is_described(text):
        pattern = re.escape(text).replace(re.escape("{noun}"), r"\w+")
        return any(re.fullmatch(pattern, form) for form in forms)
    assert [name for name, text in texts.items() if not is_described(text)] == ["ERROR_INTERNAL"]


class Link:
    """A connection that shows replies as redis-cli does."""

    def __init__(self, port, protocol):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.reader = self.socket.makefile("rb")
        self.kinds = set()
        self.ask(["HELLO", str(protocol)])
        self.kinds.clear()

    def ask(self, words):
        packed = [f"*{len(words)}\r\n".encode()]
        for word in words:
            packed.append(f"${len(word.encode())}\r\n{word}\r\n".encode())
        self.socket.sendall(b"".join(packed))
        return self._show()

    def _show(self):
        """The lines of the next reply."""
        line = self.reader.readline().decode().rstrip("\r\n")
        kind, rest = line[0], line[1:]
        self.kinds.add(kind)
        if kind == "+":
            return [rest]
        if kind == "-":
            return ["(error) " + rest]
        if kind == ":":
            return ["(integer) " + rest]
        if kind == "_" or rest == "-1":
            return ["(nil)"]
        if kind == ",":
            return ['"' + rest + '"']
        if kind == "#": # as version 2 of the protocol has it
            return ["(integer) " + ("1" if rest == "t" else "0")]
        if kind == "$":
            return ['"' + self.reader.read(int(rest) + 2)[:-2].decode() + '"']
        assert kind in "*%", line
        lines, count = [], int(rest) * (2 if kind == "%" else 1)
        for number in range(1, count + 1):
            before = f"{number:>{len(str(count))}}) "
            for i, one in enumerate(self._show()):
                lines.append((before if i == 0 else " " * len(before)) + one)
        return lines or ["(empty array)"]

    def close(self):
        self.reader.close()
        self.socket.close()


def session(page):
    """The example's commands, each with the lines that should come; None stands for any lines."""
    example = re.search(r"## Example\n\n```text\n(.*?)```", page.read_text(), re.DOTALL).group(1)
    steps = []
    for line in example.splitlines():
        if line.startswith("> "):
            steps.append((shlex.split(line[2:]), []))
        else:
            steps[-1][1].append(line)
    return [(words, None if lines == ["..."] else lines) for words, lines in steps]


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_examples_are_true(server, page, protocol):
    link = Link(server.port, protocol)
    steps = session(page)
    assert any(words[0].lower() == page.stem for words, _ in steps)
    own = set() # kinds of replies of the page's own command
    for words, lines in steps:
        link.kinds.clear()
        shown = link.ask(words)
        own |= link.kinds if words[0].lower() == page.stem else set()
        if lines is None:
            assert not shown[0].startswith("(error)")
        else:
            assert shown == lines
    forms = " ".join(form[f"resp{protocol}"] for form in described()[page.stem.upper()]["replies"])
    told = {"_": "null", "%": "map of", ",": "doubles", "#": "true"}
    assert all(word in forms for kind, word in told.items() if kind in own)
    if protocol == 2:
        assert not own & set(told)
    link.close()


@pytest.mark.parametrize("prefix", ["ONCE", "FBF", "FID", "QF", "GBF"])
def test_the_fields_of_info_are_described(server, prefix):
    server.call(prefix + (".CREATE" if prefix == "ONCE" else ".RESERVE"), "t")
    names = [name.decode() for name in server.call(prefix + ".INFO", "t")[::2]]
    assert names == [field["name"] for field in described()[prefix + ".INFO"]["fields"]]


def docs_of(server, name):
    docs = server.call("COMMAND", "DOCS", name)[1]
    return {key.decode(): value for key, value in zip(docs[::2], docs[1::2])}


def flat_arguments(described_ones, told_ones):
    """Pairs of the same argument in the description and in COMMAND DOCS."""
    assert len(described_ones) == len(told_ones)
    for one, told in zip(described_ones, told_ones):
        told = {key.decode(): value for key, value in zip(told[::2], told[1::2])}
        yield one, told
        if "arguments" in one:
            yield from flat_arguments(one["arguments"], told["arguments"])


@pytest.mark.parametrize("name", sorted(path.stem.upper() for path in PAGES))
def test_command_docs_say_the_same(server, name):
    description, docs = described()[name], docs_of(server, name)
    assert docs["since"].decode() == description["since"]
    assert [[word.decode() for word in entry] for entry in docs.get("history", [])] == [
        [entry["since"], entry["changes"]] for entry in description["history"]]
    assert docs["complexity"].decode() == description["complexity"]
    summary = docs["summary"].decode()
    assert summary.startswith(description["summary"] + ". Reply: ")
    for form in description["replies"]:
        assert f"{form['resp2']} ({form['when']})" in summary
    assert server.call("COMMAND", "INFO", name)[0][1] == description["arity"]
    for one, told in flat_arguments(description["arguments"], docs["arguments"]):
        assert told["name"].decode() == one["name"] and told["type"].decode() == one["type"]
        text = told.get("summary", b"").decode()
        assert text.startswith(one.get("meaning", ""))
        assert ("range" in one) == (". Range: " in text) and one.get("range", "") in text
        assert ("default" in one) == (". Default: " in text) and text.endswith(one.get("default", ""))


def options():
    for name, description in described().items():
        if name.endswith((".CREATE", ".RESERVE")):
            yield from ((name, argument) for argument in description["arguments"] if "token" in argument)


OPTIONS = list(options())


@pytest.mark.parametrize("name, argument", OPTIONS, ids=[f"{name} {one['token']}" for name, one in OPTIONS])
def test_ranges_hold(server, name, argument):
    """What is just outside is refused with the range; what is inside is not refused for that."""
    if argument["token"] in ("PER", "KEEP"):
        pytest.skip("they go together: test_meters.py")
    numbers = re.match(r"(\S+) to (\S+)", argument["range"])
    if argument["token"] == "BITS": # numbers one by one
        listed = [int(number) for number in re.findall(r"\d+", argument["range"])]
        inside = [str(number) for number in listed]
        outside = ["0", str(max(listed) + 1), str(max(listed) - 1), str(listed[-2] + 1), "x", "-8", "8.0", ""]
    elif numbers is None:
        inside, outside = ["1", "-1"] if argument["type"] == "integer" else argument["range"].split(" or "), ["0", "x", ""]
    elif argument["type"] == "double":
        low, high = map(float, numbers.groups())
        inside, outside = [repr(low), repr(high)], [repr(low / 2), repr(high * 2), "x", "nan"]
    else:
        low, high = map(int, numbers.groups())
        inside, outside = [str(low), str(high)], [str(low - 1), str(high + 1), "x", "1.5", ""]
    for value in outside:
        expected = f"ERR the value '{value}' of {argument['token']} is out of its range: {argument['range']}"
        # redis-py takes the first word off.
        assert error_of(server, name, "t", argument["token"], value) in (expected, expected[4:])
    for value in inside:
        try:
            server.call(name, "t", argument["token"], value)
        except Exception as error:
            assert "out of its range: " not in str(error)
        server.client.delete("t")


def test_defaults_that_are_settings():
    found = {match.group(1): match.group(2) for _, argument in OPTIONS
             for match in [re.fullmatch(r"(lethe\.\S+) \((.*)\)", argument["default"])] if match}
    settings = all_described()["settings"]
    assert found == {name: settings[name]["default"] for name in found} and len(found) == 7


def test_settings_are_as_described(start):
    server, settings = start(), all_described()["settings"]
    told = server.call("CONFIG", "GET", "lethe.*")
    assert {name.decode(): value.decode() for name, value in zip(told[::2], told[1::2])} == {
        name: one["default"] for name, one in settings.items()}
    for name, one in settings.items():
        numbers = re.match(r"(\S+) to (\S+)", one["range"])
        inside = numbers.groups() if numbers else one["range"].split(" or ")
        outside = ["x"]
        if numbers and inside[0].isdigit():
            outside += [str(int(inside[0]) - 1)]
            if int(inside[1]) < (1 << 63) - 1: # the most that the server reads
                outside += [str(int(inside[1]) + 1)]
        elif numbers:
            outside += [repr(float(inside[0]) / 2), repr(float(inside[1]) * 2)]
        for value in inside:
            assert server.call("CONFIG", "SET", name, value) == b"OK"
            told = server.call("CONFIG", "GET", name)[1].decode()
            assert (float(told) == float(value)) if numbers else (told == value)
        for value in outside:
            with pytest.raises(redis.ResponseError):
                server.call("CONFIG", "SET", name, value)
