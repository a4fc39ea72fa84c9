#!/usr/bin/python3
"""Writes docs/commands, the reference of the module's commands, and the lists in docs/acl.md and docs/llms.txt.

usage: tools/command_pages.py [--check] [PROGRAM]

PROGRAM is lethe-commands (default: build/release/lethe-commands), which prints the descriptions that the
module itself registers with the server. With --check nothing is written: the names of files that are out of
date are printed, and the exit status is 1 if there are any.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/commands"
ACL = ROOT / "docs/acl.md"
INDEX = ROOT / "docs/llms.txt"
BEGIN, END = "<!-- lists: begin -->\n", "<!-- lists: end -->\n"
INDEX_BEGIN, INDEX_END = "<!-- commands: begin -->\n", "<!-- commands: end -->\n"
GROUPS = {"ONCE": "Once-tables: counters that apply every operation once",
          "FBF": "Forgetful Bloom filters: items are forgotten after a window",
          "FID": "Sketches: how often items were added, in fixed memory",
          "QF": "Quotient filters: items are counted, and can be removed",
          "GBF": "Gaussian Bloom filters: fewer false positives while under-filled"}

# What all commands have in common.
COMMON = {
    "Values out of range": [
        "A command whose argument or option is out of its range changes nothing, and its error names the argument, the value "
        "that was given and the range: `ERR the value '31d' of WINDOW is out of its range: 1000 to 2592000000 milliseconds, or "
        "such as 90s, 10m, 24h or 3d`. Of a value at most 40 bytes are shown, and what is not printable as `\\xNN`."],
    "Protocols": [
        "In version 3 of the protocol (`HELLO 3`), commands that answer yes or no about an item or an id reply with booleans, as "
        "those of RedisBloom do: ADD, MADD, TEST, MTEST, REMOVE and MREMOVE of filters, ONCE.ADD, ONCE.SEEN and ONCE.FORGET. In "
        "version 2 they reply with 1 and 0. Whatever has more than two answers, or counts, is an integer in both.",
        "Fractions are strings in version 2 and doubles in version 3. They have the fewest digits that are read as the same "
        "number: what was given as 0.001 is shown as 0.001."],
    "Events": [
        "With `notify-keyspace-events` that has `d`, a change is announced by the command's name in small letters, such as "
        "`once.incrby`; MADD, MREMOVE and the like are announced as `add` and `remove`. A value that its first use makes is "
        "announced as `once.create` or `fbf.reserve` only if that use changes nothing else. Duplicates, refusals and time that "
        "passes are not announced. Replicas announce what their master does, by the same names."],
    "INFO": [
        "`INFO lethe` has two sections. `lethe_values`: the module's `version`; `keys`, the number of its values; `effects_sent` "
        "and, of these, `ticks_sent`, which only let time pass (ONCE.INCRBY sends none while there is neither a replica nor a "
        "log); `keys_nearly_too_large_to_migrate`; `keys_evicted`.",
        "`lethe_tables` has sums over the once-tables that there are at this moment: `tables`, their number; `fresh`, "
        "`duplicates` and `refused`, as in [ONCE.INFO](once.info.md); `strained`, the number of tables that have a strain. What a "
        "table has counted goes with it, when it is removed, and comes with it, when it is loaded. INFO looks only at tables that "
        "have changed since it was asked, so it stays cheap with many tables."],
}


def syntax(argument):
    """An argument as the syntax shows it."""
    if "arguments" in argument:
        text = " ".join(syntax(part) for part in argument["arguments"])
    elif argument["type"] == "pure-token":
        text = argument["token"]
    else:
        text = " ".join(filter(None, [argument.get("token"), argument["name"]]))
    if argument.get("multiple"):
        text += f" [{text} ...]"
    return f"[{text}]" if argument.get("optional") else text


def synopsis(name, arguments):
    """The syntax of a command, in lines of at most 100 columns; no argument is broken."""
    lines = [name]
    for text in map(syntax, arguments):
        if len(lines[-1]) + 1 + len(text) > 100:
            lines.append(" ")
        lines[-1] += " " + text
    return "\n".join(lines)


def wrapped(text):
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def table(head, rows):
    def line(cells):
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    return "\n".join([line(head), "|" + "---|" * len(head)] + [line(row) for row in rows]) + "\n"


def argument_rows(arguments):
    for argument in arguments:
        if "meaning" in argument:
            name = " ".join(filter(None, [argument.get("token"), argument["name"] if argument["type"] != "pure-token" else ""]))
            yield (f"`{name}`", argument["type"], argument["meaning"] + ".", argument.get("range", ""),
                   argument.get("default", ""))
        yield from argument_rows(argument.get("arguments", []))


def page(name, command):
    categories = " ".join("@" + word for word in command["categories"])
    parts = [f"# {name}\n", wrapped(command["summary"] + ".") + "\n",
             "```text\n" + synopsis(name, command["arguments"]) + "\n```\n",
             table(("", ""), [("Since", command["since"]), ("Complexity", command["complexity"]),
                              ("ACL categories", categories)])]
    parts += [wrapped(paragraph) + "\n" for paragraph in command.get("details", "").split("\n\n") if paragraph]
    parts += ["## Arguments\n", table(("argument", "type", "meaning", "range", "default"),
                                      argument_rows(command["arguments"]))]
    parts += ["## Replies\n", table(("when", "RESP2", "RESP3"),
                                    [(form["when"], form["resp2"], form["resp3"]) for form in command["replies"]])]
    if "fields" in command:
        parts += ["## Fields\n", table(("field", "meaning"),
                                       [(f"`{field['name']}`", field["meaning"] + ".") for field in command["fields"]])]
    parts += ["## Errors\n", table(("error", "when"), [(f"`{form['text']}`", form["when"] + ".")
                                                       for form in command["errors"]])]
    parts += ["## Example\n", "```text\n" + command["example"] + "```\n"]
    if command["history"]: # a command that was never changed has none
        parts += ["## History\n", table(("version", "change"),
                                        [(one["since"], one["changes"] + ".") for one in command["history"]])]
    return "\n".join(parts)


def index(commands):
    parts = ["# The module's commands\n",
             wrapped("One page per command. The pages are written by `tools/command_pages.py` from the descriptions "
                     "that the module registers with the server; `COMMAND DOCS` shows most of the same. Replies in "
                     "examples are as `redis-cli` prints them; `...` stands for lines that are left out.") + "\n",
             wrapped("[settings.md](settings.md) has the settings, [../acl.md](../acl.md) who may run what, [../guarantees.md](../guarantees.md) what is "
                     "promised, [../design/module.md](../design/module.md) why it is built this way.") + "\n"]
    for group, title in GROUPS.items():
        rows = [(f"[{name}]({name.lower()}.md)", command["summary"])
                for name, command in sorted(commands.items()) if command["group"] == group]
        parts += [f"## {title}\n", table(("command", "what it does"), rows)]
    for title, paragraphs in COMMON.items():
        parts += [f"## {title}\n"] + [wrapped(paragraph) + "\n" for paragraph in paragraphs]
    return "\n".join(parts)


def access_lists(commands):
    """The commands of each category, as rules have them: a line per group."""
    parts = []
    for category, title, before in (("read", "Reading", ""), ("write", "Writing", ""),
                                    ("dangerous", "Dangerous", "These are among the above, too.\n\n")):
        lines = []
        for group in GROUPS:
            names = sorted(name.lower() for name, command in commands.items()
                           if command["group"] == group and category in command["categories"])
            if names:
                lines.append(" ".join(["@" + category] + ["+" + name for name in names]))
        parts.append(f"## {title}\n\n{before}```text\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


def settings_page(settings):
    return "\n".join([
        "# The module's settings\n",
        wrapped("`CONFIG GET lethe.*` shows them, `CONFIG SET` changes them, and the server's configuration file may "
                "have them. `lethe.largest-value`, `lethe.largest-reply`, `lethe.kept-replies` and `lethe.tick-ms` act at "
                "once, on all values. The others are defaults of values with a window: a change of them applies to "
                "tables and filters that are made from then on.") + "\n",
        table(("setting", "meaning", "range", "default"),
              [(f"`{name}`", one["meaning"] + ".", one["range"], one["default"]) for name, one in settings.items()])])


def texts(described):
    """All files, and what they should hold."""
    commands = described["commands"]
    found = {PAGES / (name.lower() + ".md"): page(name, command) for name, command in commands.items()}
    found[PAGES / "README.md"] = index(commands)
    found[PAGES / "settings.md"] = settings_page(described["settings"])
    before, rest = ACL.read_text().split(BEGIN)
    found[ACL] = before + BEGIN + "\n" + access_lists(commands) + "\n" + END + rest.split(END)[1]
    before, rest = INDEX.read_text().split(INDEX_BEGIN)
    rows = [f"- [{name}](commands/{name.lower()}.md): {command['summary'][0].lower() + command['summary'][1:]}\n"
            for name, command in sorted(commands.items(), key=lambda item: (list(GROUPS).index(item[1]["group"]), item[0]))]
    found[INDEX] = before + INDEX_BEGIN + "".join(rows) + INDEX_END + rest.split(INDEX_END)[1]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=ROOT / "build/release/lethe-commands")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    printed = subprocess.run([options.program], stdout=subprocess.PIPE, check=True).stdout
    wanted = texts(json.loads(printed))
    old = [path for path in PAGES.glob("*") if path not in wanted]
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in sorted(old + stale):
        print(path.relative_to(ROOT))
    if options.check:
        return 1 if old or stale else 0
    PAGES.mkdir(exist_ok=True)
    for path in old:
        path.unlink()
    for path in stale:
        path.write_text(wanted[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
