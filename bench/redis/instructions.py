#!/usr/bin/python3
"""How many instructions a server takes for a command: HINCRBY and ONCE.INCRBY, counted by callgrind.

usage: bench/redis/instructions.py [--module build/release/lethe.so] [--commands N]

For each command one server, with no replica, and without a log and with one; redis-benchmark sends it in pipelines of
50, and the server is counted meanwhile. Unlike time, this hardly depends on what else the machine does. What the
server does besides, such as its timers, is left out; so is what the kernel does, and the wait for memory."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import redis
from run import HERE, UUID, free_port, measure

WAYS = {"HINCRBY": ["HINCRBY", "plain", "clicks", "1"], "ONCE.INCRBY": ["ONCE.INCRBY", "table", UUID, "clicks", "1"]}
# Which functions of the server and the module make up a row; the rest of the sum is in the second one. Rows that begin
# with blanks are parts of the one before.
ROWS = {"reading the command, and freeing it": ["processMultibulkBuffer", "resetClient"],
        "finding it, checks, statistics": [],
        "the command itself": ["hincrbyCommand", "once_incrby"],
        "    of that key, flags, events, reply": ["RM_OpenKey", "RM_CloseKey", "RM_GetContextFlags",
                                              "RM_NotifyKeyspaceEvent", "RM_SignalModifiedKey", "RM_ReplyWithArray",
                                              "RM_ReplyWithLongLong"],
        "    of that RM_Replicate": ["RM_Replicate"],
        "        which looks for the name": ["lookupCommandByCString"],
        "writing it to the log": ["propagatePendingCommands"]}


def control(process, *words):
    subprocess.run(["callgrind_control", *words, str(process.pid)], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)


def count(module, command, has_log, commands):
    """Instructions per command, with all that it calls, of each function."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        words = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/found",
                 "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, "--logfile",
                 "log", "--appendonly", "yes" if has_log else "no", "--loadmodule", str(module)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client = redis.Redis(port=port, socket_timeout=600)
            for _ in range(600):
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.1)
            client.execute_command("ONCE.CREATE", "table", "CAPACITY", 10 * commands)
            measure(port, command, 3000, 4, 50)
            control(process, "-i", "on")
            measure(port, command, commands, 4, 50)
            control(process, "-i", "off")
            control(process, "-d")
        finally:
            process.kill()
            process.wait()
        text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", f"{folder}/found.1"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
    # A function that is in several files has a line for each; the one with all that it calls is the first.
    found = {}
    for number, name in re.findall(r"^ *([0-9,]+) \([^)]*\) +\S+:(\w+)", text, re.MULTILINE):
        found.setdefault(name, int(number.replace(",", "")) / commands)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--module", default=HERE.parents[1] / "build/release/lethe.so", type=pathlib.Path)
    parser.add_argument("--commands", default=20000, type=int)
    arguments = parser.parse_args()
    if not arguments.module.exists():
        sys.exit(f"no {arguments.module}: make builds it")
    columns = [(name, has_log) for has_log in (False, True) for name in WAYS]
    found = [count(arguments.module.resolve(), WAYS[name], has_log, arguments.commands) for name, has_log in columns]
    print(f"{'':36}" + "".join(f"{name + (', log' if has_log else ''):>18}" for name, has_log in columns))
    for row, functions in ROWS.items():
        numbers = [sum(one.get(name, 0) for name in functions) for one in found]
        if not functions:
            known = [name for row_of, names in ROWS.items() for name in names if not row_of.startswith(" ")]
            numbers = [one["processInputBuffer"] - sum(one.get(name, 0) for name in known) for one in found]
        print(f"{row:36}" + "".join(f"{number:18,.0f}" for number in numbers))
    print(f"{'sum':36}" + "".join(f"{one['processInputBuffer']:18,.0f}" for one in found))


if __name__ == "__main__":
    main()
