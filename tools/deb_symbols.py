#!/usr/bin/python3
"""Writes or checks the symbols files of the Debian packages, from the public headers.

usage: tools/deb_symbols.py [check]

Each library exports exactly the functions that its headers declare with LETHE_API, so the lists
come from there. A function that a file has already keeps its version; a new one gets the version of
the headers. One that is gone is an error of the SOVERSION's rules (HACKING.md, "The ABI"), and is
dropped here. With "check" nothing is written, and the exit status is 1 if a file would change.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The library, its package of development files, and its headers; liblethe has all others.
LIBRARIES = [("lethe_store", ["claims.h", "holds.h", "operation.h", "store.h", "store_backup.h", "store_open.h",
                             "store_plan.h", "store_read.h", "store_stats.h", "store_usage.h"]),
             ("lethe_leveldb", ["leveldb.h"]),
             ("lethe_opencl", ["opencl.h"]),
             ("lethe", None)]


def version():
    text = (ROOT / "include/lethe/version.h").read_text(encoding="utf-8")
    return re.search(r'LETHE_VERSION "([0-9.]+)"', text).group(1)


def functions(header):
    """The names of the functions that a header exports."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    return [re.search(r"(\w+)\s*\(", declaration).group(1)
            for declaration in re.findall(r"\bLETHE_API\b([^;]*);", text)]


def wanted():
    """Yields the path and the text of each symbols file."""
    major, minor, _ = version().split(".")
    soversion = f"0.{minor}" if major == "0" else major
    taken = {name for _, names in LIBRARIES for name in names or ()}
    for library, names in LIBRARIES:
        package = "lib" + library.replace("_", "-")
        path = ROOT / f"debian/{package}{soversion}.symbols"
        known = dict(re.findall(r"^ (\w+)@Base (\S+)$", path.read_text(encoding="utf-8"),
                                re.MULTILINE)) if path.exists() else {}
        headers = [header for header in sorted((ROOT / "include/lethe").glob("*.h"))
                   if (header.name in names if names else header.name not in taken)]
        found = sorted(name for header in headers for name in functions(header))
        yield path, "".join([f"lib{library}.so.{soversion} {package}{soversion} #MINVER#\n",
                             f"* Build-Depends-Package: {package}-dev\n",
                             *(f" {name}@Base {known.get(name, version())}\n" for name in found)])


def main():
    wrong = 0
    for path, text in wanted():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        wrong += 1
        print(f"{path.relative_to(ROOT)}: {'differs from the headers' if sys.argv[1:] else 'written'}")
        if not sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
    return 1 if wrong and sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
