"""Writes the reference of the Python package from its docstrings: a page for the module, one per class.

tools/build_site.py calls it. The package is imported by an interpreter of its own, which prints what it says of
itself; so it must have been built for the interpreter that runs this.
"""

import json
import subprocess
import sys
import textwrap

# Runs in the other interpreter. A method whose text is inherited from object says nothing of its own.
ASK = r'''
import inspect, json, sys
import lethe

def described(name, one):
    return {"name": name, "signature": given(one) or signature(one),
            "doc": inspect.getdoc(one) or ""}

def given(one):
    """What C functions and classes carry; a class in Python has that of the class it extends."""
    found = getattr(one, "__text_signature__", None)
    if not found and inspect.isclass(one) and one.__base__ is not object:
        return given(one.__base__)
    return found

def signature(one):
    try:
        return str(inspect.signature(one))
    except (TypeError, ValueError):
        return ""

classes, errors, functions = [], [], []
for name in sorted(vars(lethe)):
    one = getattr(lethe, name)
    if name.startswith("_") or inspect.ismodule(one):
        continue
    if inspect.isclass(one) and issubclass(one, BaseException):
        errors.append({"name": name, "bases": [base.__name__ for base in one.__bases__]})
    elif inspect.isclass(one):
        members = []
        for member in sorted(dir(one)):
            if member.startswith("_") or hasattr(object, member):
                continue
            if issubclass(one, (int, tuple)) and (hasattr(int, member) or hasattr(tuple, member)):
                continue
            entry = described(member, getattr(one, member))
            entry["is_property"] = not callable(getattr(one, member))
            if entry["is_property"] and issubclass(one, int):
                entry["doc"] = str(int(getattr(one, member)))
            members.append(entry)
        classes.append({**described(name, one), "members": members})
    elif callable(one):
        functions.append(described(name, one))
json.dump({"doc": inspect.getdoc(lethe), "classes": classes, "errors": errors, "functions": functions}, sys.stdout)
'''


def plain(text):
    """A docstring as Markdown: paragraphs stay, marks lose their meaning."""
    for letter in "\\*_<>[]#|~$`":
        text = text.replace(letter, "\\" + letter)
    return text


def call(name, signature):
    """name(arguments), without what only Python's own machinery needs."""
    inside = signature.strip()
    inside = inside[1:inside.rfind(")")] if inside.startswith("(") else ""
    words = [word.strip() for word in inside.split(",")]
    words = [word for word in words if word not in ("$self", "self", "$cls", "cls", "$type", "/", "")]
    whole = f"{name}({', '.join(words)})"
    return textwrap.fill(whole, 78, subsequent_indent=" " * (len(name) + 1), break_on_hyphens=False)


def class_page(one):
    lines = [f"# lethe.{one['name']}", "", "```python", call(one["name"], one["signature"]), "```", "",
             plain(one["doc"]), ""]
    for member in one["members"]:
        if member["is_property"]:
            lines += [f"`{member['name']}`", f": {plain(member['doc']) or 'A field.'}".replace("\n", "\n  "), ""]
    for member in one["members"]:
        if not member["is_property"]:
            lines += [f"## {member['name']}", "", "```python", call(member["name"], member["signature"]), "```", "",
                      plain(member["doc"]), ""]
    return "\n".join(lines) + "\n"


def module_page(told):
    lines = ["# The Python package: classes and functions", "", plain(told["doc"]), "",
             "[The guide](python.md) explains keys, batches, files, errors and threads. These pages are made from the "
             "docstrings, which `help(lethe.Store)` shows too.", "", "## Classes", ""]
    for one in told["classes"]:
        lines += [f"[lethe.{one['name']}](python-reference/{one['name'].lower()}.md)",
                  ": " + plain(one["doc"].split("\n")[0]), ""]
    lines += ["## Functions", ""]
    for one in told["functions"]:
        lines += [f"`{call(one['name'], one['signature'])}`", ": " + plain(one["doc"]).replace("\n", "\n  "), ""]
    lines += ["## Exceptions", "", "| exception | is also |", "|---|---|"]
    lines += [f"| `{one['name']}` | {', '.join(f'`{base}`' for base in one['bases'])} |" for one in told["errors"]]
    return "\n".join(lines) + "\n"


def write(package, write_page):
    """Writes the pages with write_page(page, text). Returns [(title, page, line)]; empty without the package."""
    if not (package / "lethe").is_dir():
        print(f"lethe: {package} is not there, so the site has no reference of the Python package", file=sys.stderr)
        return []
    told = json.loads(subprocess.run([sys.executable, "-B", "-c", ASK], env={"PYTHONPATH": str(package)},
                                     stdout=subprocess.PIPE, check=True).stdout)
    toctree = "\n".join(f"lethe.{one['name']} </python-reference/{one['name'].lower()}>" for one in told["classes"])
    write_page("python-reference.md", module_page(told) + "\n```{toctree}\n:hidden:\n\n" + toctree + "\n```\n")
    found = [("Python: classes", "python-reference.md", "the classes and functions of the package")]
    for one in told["classes"]:
        page = f"python-reference/{one['name'].lower()}.md"
        write_page(page, class_page(one))
        found.append((f"lethe.{one['name']}", page, one["doc"].split("\n")[0]))
    return found
