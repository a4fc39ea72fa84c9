#!/usr/bin/python3
"""Shows every C file of the release build to clang, for the second opinion of its warnings.

usage: tools/clang.py [--jobs N]

Takes the commands from build/release/compile_commands.json, so that build has to be there. Clang
only parses and checks: its warnings need no machine code, and a test that compiled the files would
take several times as long. (The fuzz build compiles the product with clang.) A file that is compiled
in several ways is shown once for each set of definitions and instruction sets. Prints what clang
finds; exits 1 if that is anything, or if there is no file.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMANDS = ROOT / "build/release/compile_commands.json"


def wanted(entry):
    """The command that checks one file: without what makes an object, and with clang."""
    words = shlex.split(entry["command"])
    kept, at = ["clang", "-fsyntax-only"], 1
    while at < len(words):
        if words[at] in ("-o", "-c"):
            at += 1 if words[at] == "-c" else 2
            continue
        if not words[at].startswith(("-O", "-g", "-f")):
            kept.append(words[at])
        at += 1
    return tuple(kept), entry["directory"]


def look(work):
    words, folder = work
    done = subprocess.run(words, cwd=folder, check=False, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    works = sorted({wanted(entry) for entry in json.loads(COMMANDS.read_text(encoding="utf-8"))
                    if entry["file"].endswith(".c")})
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for status, text in pool.map(look, works):
            bad += status != 0
            print(text, end="")
    print(f"clang: {len(works) - bad} clean, {bad} not clean")
    return 1 if bad or not works else 0


if __name__ == "__main__":
    sys.exit(main())
