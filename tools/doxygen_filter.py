#!/usr/bin/python3
"""Prints a public header with its comments written the way Doxygen reads them.

usage: tools/doxygen_filter.py HEADER        (Doxygen's INPUT_FILTER; see docs/api/Doxyfile)

The headers are written for people who open them in an editor: their comments are ordinary ones. This
filter turns each comment into Doxygen's form, without changing what it says:

    the first comment of a file     the page of that file; "Guarantee  ...", "Memory  ..." become headings
    a comment on lines of its own   describes what follows; declarations that follow each other share it,
                                    as they do for a reader
    a line like /* --- Reading --- */   stays as it is: it describes nothing
    a comment after code            describes the field or value on its left
    "Cost: ...", "Errors: ..."      become headings within the description
    `words`, lethe_names            become code and links

Exits 1, with a message, if an exported function has no comment.
"""

import os
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
# Divides a header into parts, for who reads it in an editor.
DIVIDER = re.compile(r"/\* ---.*--- \*/$")
NAME = re.compile(r"\b(?:lethe|LETHE)_\w+\b(?!\()")
# What a header declares: these names become links.
DECLARED = re.compile(r"^#define (LETHE_\w+)|^\s+(LETHE_\w+)(?= =|,|$)|\b(lethe_\w+)\(|^} (lethe_\w+);"
                      r"|^typedef struct \w+ (lethe_\w+);|\(\*(lethe_\w+)\)", re.MULTILINE)
# A heading of a file's comment: one capitalised word and two blanks.
SECTION = re.compile(r"^([A-Z][a-z]+)  +(?=\S)")
# Headings within a description, at the start of a sentence.
PART = re.compile(r"(^|(?<=[.);:]) )(Cost|Errors|Memory): ", re.MULTILINE)
ESCAPED = {"\\": "\\\\", "@": "\\@", "#": "\\#", "%": "\\%", "<": "&lt;", ">": "&gt;", "&": "&amp;"}


def declared_names(folder):
    """Every name that the headers beside this one declare."""
    names = set()
    for name in os.listdir(folder):
        if name.endswith(".h"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                code = COMMENT.sub("", file.read())
            names.update(found for groups in DECLARED.findall(code) for found in groups if found)
    return names


def escape(text, names):
    """A line as Doxygen needs it: special characters escaped, code and links marked."""
    parts = re.split(r"`([^`]*)`", text)
    for at, part in enumerate(parts):
        part = "".join(ESCAPED.get(letter, letter) for letter in part)
        part = re.sub(r"(?<=\d)\.\.", "&ndash;", part)
        part = NAME.sub(lambda m: "#" + m.group() if m.group() in names else m.group(), part)
        parts[at] = f"<code>{part}</code>" if at % 2 else part
    return "".join(parts)


def unwrap(comment):
    """The lines of a comment, without what makes it one and without their common indentation."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment[2:-2].split("\n")]
    lines = [lines[0].strip()] + [line.rstrip() for line in lines[1:]]
    inner = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    # A comment after code is continued further to the right; an essay starts at the margin.
    common = min(inner) if inner else 0
    return [lines[0]] + [line[common:] for line in lines[1:]]


def render(lines, names):
    """The body of a description: paragraphs, headings, and tables that blanks have laid out."""
    out, indent, table, in_item = [], 0, False, False
    for line in lines:
        section = SECTION.match(line)
        if section:
            if table:
                out.append("@endverbatim")
                table = False
            indent, in_item = section.end(), False
            out += ["", "@par " + section.group(1)]
            line = line[indent:]
        elif indent and line.startswith(" " * indent):
            line = line[indent:]
        elif line.strip():
            if indent and not line.startswith(" "):
                out.append("")
            indent = 0
        item = re.match(r"(P\d)  +", line)
        in_item = bool(item) or in_item and line.startswith("  ")
        laid_out = line.startswith("  ") and not in_item
        if laid_out != table and line.strip():
            out.append("@verbatim" if laid_out else "@endverbatim")
            table = laid_out
        if table and (laid_out or not line.strip()):
            out.append(line)
            continue
        if item:
            line = line[item.end():]
            out.append("@li " + item.group(1))
        text = escape(line.strip(), names)
        out.append(PART.sub(lambda m: f"\n@par {m.group(2)}\n", text))
    if table:
        out.append("@endverbatim")
    return "\n".join(out).strip("\n")


def wrap(opening, body):
    """The comment in Doxygen's form. Each line gets its star, except what is printed as it stands."""
    lines, verbatim = body.split("\n"), False
    for at, line in enumerate(lines):
        verbatim = verbatim and line != "@endverbatim"
        if at > 0 and not verbatim and line != "@endverbatim":
            lines[at] = " * " + line
        verbatim = verbatim or line == "@verbatim"
    return opening + " " + "\n".join(lines) + " */"


def convert(text, path, names):
    """Yields the header in pieces, its comments rewritten."""
    end = 0
    for match in COMMENT.finditer(text):
        if not match.group().startswith("/*"):
            continue
        yield text[end:match.start()]
        end = match.end()
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if DIVIDER.match(match.group()):
            yield match.group()
            continue
        lines = unwrap(match.group())
        if match.start() == 0:
            title = lines[0].split(" - ", 1)[-1]
            title = title[:1].upper() + title[1:]
            body = render([title] + lines[1:], names)
            yield wrap("/**", f"@file {os.path.basename(path)}\n@brief {body}")
        elif before.strip() and not before.rstrip().endswith("{"):
            yield wrap("/**<", render(lines, names))
        else:
            yield wrap("/**", render(lines, names))
    yield text[end:]


def share(text, path):
    """Gives declarations without a comment of their own that of the declarations before them."""
    out, comment, missing = [], "", []
    for piece in re.split(r"(^/\*\*(?!<).*?\*/\n)", text, flags=re.DOTALL | re.MULTILINE):
        if piece.startswith("/**"):
            comment = piece if "@file" not in piece else ""
            out.append(piece)
            continue
        # A type between two declarations ends what they share.
        for part in re.split(r"(^typedef.*?;\n\n)", piece, flags=re.DOTALL | re.MULTILINE):
            starts = [match.start() for match in re.finditer(r"^(?:LETHE_API|#define LETHE_\w)", part,
                                                             re.MULTILINE)]
            if starts and not comment and part.startswith("LETHE_API", starts[0]):
                missing.append(part[starts[0]:].split("(")[0].split()[-1])
            for start in reversed(starts):
                # Before the first declaration of the piece the comment itself stands.
                if comment and (start > 0 or part is not piece and out[-1] != comment):
                    part = part[:start] + comment + part[start:]
            out.append(part)
            if part.startswith("typedef"):
                comment = ""
    for name in missing:
        print(f"{path}: {name} has no comment", file=sys.stderr)
    return "".join(out), not missing


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".h"):
        text = "".join(convert(text, path, declared_names(os.path.dirname(path))))
        text, complete = share(text, path)
    else:
        complete = True
    print(text, end="")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
