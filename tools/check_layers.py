#!/usr/bin/python3
"""Checks that every #include keeps to the layers of Lethe.

usage: tools/check_layers.py [ROOT]

    include/lethe    public headers: each other and standard C (.hpp: C++), nothing else
    src/core src/os  <-  src/backup  <-  src/filter, src/sketch  <-  src/window  <-  src/engine
    src/opencl       beside src/engine: core, and single headers of filter and sketch
    structures       public headers
    cli module       public headers, structures, and their own folder
    python           the same
    server           public headers, its own folder, and of cli what reads events (READERS, below)
    plugins examples public headers, and their own folder (examples: not even that)

Nothing includes upwards, and filters and sketches do not know of each other. Only src/os may use
the operating system's headers, and each foreign library belongs to one place (FOREIGN, below).
tests/, bench/ and fuzz/ look inside on purpose and may include anything.

Prints one line a violation - file:line, what is wrong, what to do - and exits 1 if there is any.
"""

import os
import posixpath
import re
import sys

# The project's own headers: which layer may include from which.
LAYERS = {
    "include": {"include"},
    "src/core": {"include", "src/core", "src/os"},
    "src/os": {"include", "src/core", "src/os"},
    "src/backup": {"include", "src/core", "src/os", "src/backup"},
    "src/filter": {"include", "src/core", "src/os", "src/backup", "src/filter"},
    "src/sketch": {"include", "src/core", "src/os", "src/sketch"},
    "src/window": {"include", "src/core", "src/os", "src/filter", "src/sketch", "src/window"},
    "src/engine": {"include", "src/core", "src/os", "src/backup", "src/filter", "src/sketch",
                   "src/window", "src/engine"},
    "src/opencl": {"include", "src/core", "src/filter", "src/sketch", "src/opencl"},
    "structures": {"include", "structures"},
    "cli": {"include", "structures", "cli", "server"},
    "server": {"include", "server", "cli"},
    "module": {"include", "structures", "module"},
    "python": {"include", "structures", "python"},
    "plugins": {"include", "plugins"},
    "examples": {"include"},
}

# The server and the command line share what reads events; and one command starts the server.
READERS = re.compile(r"cli/(events|input|say|usage|take)/|cli/frame/(clock|exit_code)\.h$")
SERVER_FRONT = ("server/server.h", re.compile(r"cli/serve/"))

# Libraries of others: the headers, and the only place that may know of them.
FOREIGN = [
    (re.compile(r"rocksdb/"), re.compile(r"src/engine/disk/"), "RocksDB", "src/engine/disk"),
    (re.compile(r"hiredis"), re.compile(r"cli/redis/"), "hiredis", "cli/redis"),
    (re.compile(r"openssl/"), re.compile(r"cli/redis/tls\.c"), "OpenSSL", "cli/redis/tls.c"),
    (re.compile(r"(redis|valkey)module\.h$"), re.compile(r"module/"), "the Redis module API",
     "module"),
    (re.compile(r"Python\.h$"), re.compile(r"python/native/python\.h"), "the interpreter",
     "python/native/python.h"),
    (re.compile(r"leveldb/"), re.compile(r"(plugins|examples)/"), "LevelDB",
     "plugins"),
    (re.compile(r"microhttpd\.h$"), re.compile(r"server/http"), "libmicrohttpd", "server/http*"),
    (re.compile(r"CL/"), re.compile(r"src/opencl/"), "OpenCL", "src/opencl"),
    (re.compile(r"(.*/)?xxh(ash|3)\.h$"), re.compile(r"src/core/(hash|codec)"), "xxHash",
     "src/core/hash* and src/core/codec*"),
]

STANDARD_C = {name + ".h" for name in (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp stdalign "
    "stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath uchar wchar "
    "wctype").split()}
# Standard C as well, but they reach the operating system: clocks, signals, threads.
STANDARD_C_OF_THE_SYSTEM = {"signal.h", "threads.h", "time.h"}
# The CPU's instructions, and a portable stand-in for them.
INTRINSICS = re.compile(r"(immintrin|x86intrin|cpuid|arm_neon|arm_acle)\.h$|simde/")

SOURCES = (".c", ".h", ".cc", ".cpp", ".hpp", ".inc")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b[ \t]*(?:"([^"]*)"|<([^>]*)>|(.*))', re.MULTILINE)
COMMENT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def without_comments(text):
    """The text with comments blanked; literals and the number of lines stay."""
    def blank(match):
        found = match.group()
        return found if found[0] in "\"'" else "\n" * found.count("\n")
    return COMMENT.sub(blank, text)


def layer_of(path):
    """The layer that a path from the root belongs to, or None."""
    parts = path.split("/")
    if parts[0] == "src":
        return "/".join(parts[:2]) if len(parts) > 2 else "src"
    return parts[0] if parts[0] in LAYERS else None


def own_header(root, path, name, quoted):
    """The path from the root of the project's header that an include means; None if foreign."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    # These include from their own folder, whose folders may have names that src/ has too.
    own = layer_of(path)
    first = [own + "/" + name] if own in ("cli", "module", "server") else []
    if own == "server":
        first.append("cli/" + name)
    for candidate in ([beside] if quoted else []) + first + ["src/" + name, "include/" + name, name]:
        candidate = posixpath.normpath(candidate)
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    # A file that is not there is still judged by where it would be.
    if name.startswith("."):
        return beside
    if name.startswith("lethe/"):
        return "include/" + name
    for candidate in ("src/" + name, name):
        if "/" in name and layer_of(candidate) in LAYERS:
            return candidate
    return None


def wrong_own(layer, path, target):
    """What is wrong with including the project's header target from a file; None if nothing."""
    target_layer = layer_of(target)
    if layer == "server" and target_layer == "cli" and not READERS.match(target):
        return (f"server may not include {target}: of cli it uses only what reads events; move what "
                "both need there")
    if layer == "cli" and target_layer == "server":
        front, users = SERVER_FRONT
        if target == front and users.match(path):
            return None
        return f"cli may not include {target}: only cli/serve starts the server, through {front}"
    if target_layer in LAYERS[layer]:
        return None
    shown = target_layer or posixpath.dirname(target) or "the root folder"
    if layer == "include":
        return (f"a public header may not include {target}; use only lethe/*.h and standard C, "
                "and declare the type as an opaque struct")
    if not layer.startswith("src/"):
        return (f"{layer} may not include from {shown}; use the public headers <lethe/...>, "
                "and make public what they lack")
    if {layer, target_layer} == {"src/filter", "src/sketch"}:
        return (f"{layer} may not include from {shown}: filters and sketches do not know of each "
                "other; move what both need into src/core")
    return (f"{layer} may not include from {shown}: layers depend downwards only "
            "(core, os <- backup <- filter, sketch <- window <- engine); move what is needed down, "
            "or pass it in as an argument or a callback")


def wrong_foreign(layer, path, name):
    """What is wrong with including somebody else's header; None if nothing."""
    for header, place, library, where in FOREIGN:
        if header.match(name):
            if place.match(path):
                return None
            return f"only {where} may include {library} (<{name}>); go through what it offers"
    if name in STANDARD_C:
        return None
    if layer == "include" and path.endswith(".hpp") and re.fullmatch(r"[a-z_]+", name):
        return None  # of the C++ standard: names without an ending
    if layer == "include":
        return (f"a public header may not include <{name}>; use only lethe/*.h and standard C, "
                "so that it compiles everywhere")
    if not layer.startswith("src/") or layer == "src/os" or INTRINSICS.match(name):
        return None
    return (f"{layer} may not include <{name}>: in src/ only src/os may use more than standard C "
            "without clocks, signals and threads; add what is needed to src/os, or name a new "
            "library in FOREIGN")


def check_file(root, path):
    """Yields (line, message) for each include of one file that breaks a rule."""
    layer = layer_of(path)
    if layer not in LAYERS:
        yield 1, (f"{layer} is no layer; put the file into one of "
                  + ", ".join(name for name in LAYERS if name.startswith("src/")))
        return
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        text = without_comments(file.read())
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        quoted, angled, other = match.groups()
        if other is not None:
            yield line, "an include must name its file, so that it can be checked"
            continue
        name = quoted if quoted is not None else angled
        target = own_header(root, path, name, quoted is not None)
        message = wrong_own(layer, path, target) if target else wrong_foreign(layer, path, name)
        if message:
            yield line, message


def main(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    root = arguments[0] if arguments else os.path.dirname(here)
    checked = wrong = 0
    for top in sorted({layer.split("/")[0] for layer in LAYERS}):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if not name.endswith(SOURCES):
                    continue
                path = os.path.relpath(os.path.join(folder, name), root)
                checked += 1
                for line, message in check_file(root, path):
                    wrong += 1
                    print(f"{path}:{line}: {message}")
    if checked == 0:
        print(f"{root}: no source files here")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
