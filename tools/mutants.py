#!/usr/bin/python3
"""Proves that the tests notice the mistakes they were written for.

usage: tools/mutants.py [--jobs N] [--times] [NAME...]

A mutant is a patch in tests/mutants that puts one mistake back into the product. Its first lines
say what breaks and which test must fail:

    Breaks: <one sentence>
    Found-by: <the name of one CTest test>
    Filter: <optional; a pytest -k expression, or a pattern of cmocka test names>
    Limit: <optional; after so many seconds the test hangs, which is how it finds the mutant>

Each mutant is applied to a copy of the tree in build/mutants, what its test needs is built, and the
test is run until something in it fails. Where there is ccache, the copies share what they compile.
A mutant whose test passes three times has survived: some mistakes show only if processes meet in a
certain order, which depends on the other work of the machine. Prints a line for each that was not found and a summary;
exits 1 if one survived, did not apply or did not build. With names, only the patches whose file
names contain one of them are tried. With --times, prints how long each took, the slowest first:
in CPU seconds, of building and of testing, and in all.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PATCHES = ROOT / "tests/mutants"
WORK = ROOT / "build/mutants"
CACHE = {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_DIR": str(WORK / "ccache"),
         "CCACHE_BASEDIR": str(WORK), "CCACHE_NOHASHDIR": "1"} if shutil.which("ccache") else {}
# A test that a mutant sends into an endless loop is ended after this many seconds: found.
LIMIT_SECONDS = 120
# How often a test is run that passes.
ATTEMPTS = 3


class Broken(Exception):
    """The mutant could not be tried."""


class Mutant:
    def __init__(self, path):
        self.path, self.name = path, path.stem
        head = path.read_text(encoding="utf-8").split("diff --git", 1)[0]
        fields = dict(re.findall(r"^(Breaks|Found-by|Filter|Limit): *(.+?) *$", head, re.MULTILINE))
        self.breaks = fields.get("Breaks")
        self.test = fields.get("Found-by")
        self.filter = fields.get("Filter")
        self.limit = int(fields.get("Limit", LIMIT_SECONDS))
        self.build_seconds = self.test_seconds = self.seconds = 0.0
        if not self.breaks or not self.test:
            raise Broken(f"{path.name}: says not what breaks, or not which test finds it")


class Done:
    """What a command that has ended returned, printed and took."""

    def __init__(self, returncode, stdout, cpu_seconds):
        self.returncode, self.stdout, self.cpu_seconds = returncode, stdout, cpu_seconds


def run(words, cwd, seconds=1200, **environment):
    """Runs a command to its end; what it printed includes its messages."""
    with subprocess.Popen(words, cwd=cwd, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **CACHE, **environment}) as process:
        ending = threading.Timer(seconds, process.kill)
        ending.start()
        stdout = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        ending.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return Done(process.returncode, stdout, usage.ru_utime + usage.ru_stime)


def targets_of(test, known):
    """What has to be built before a test can run."""
    if test.startswith("unit-"):
        subject = test.removeprefix("unit-")
        return [name for name in ("test_" + subject, "test_" + subject.removeprefix("cli_")) if name in known]
    if test.startswith("simulate-") and "test_" + test.replace("-", "_") in known:
        return ["test_" + test.replace("-", "_")]
    if test.startswith("package"):
        return [name for name in ("product",) if name in known]
    if test.startswith("python-"):
        return [name for name in ("lethe", "lethe_python") if name in known]
    more = {"cli": (), "faults": ("lethe_faults", "cascade_driver")}.get(
        test.split("-")[0],
        ("lethe-serve", "lethe_module", "lethe_commands", "lethe_faults", "module_skew"))
    return [name for name in ("lethe", *more) if name in known]


class Tree:
    """A copy of the project with a build of its own, in which one mutant is tried after another."""

    def __init__(self, number):
        self.source = WORK / f"tree-{number}"
        self.build = self.source / "build/release"
        self.copy()
        made = run(["cmake", "--preset", "release", "-DLETHE_BENCH=OFF",
                    "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG"], self.source)
        if made.returncode != 0:
            raise Broken(made.stdout)
        listing = run(["ninja", "-C", self.build, "-t", "targets", "all"], self.source).stdout
        self.known = set(re.findall(r"^([\w.-]+): ", listing, re.MULTILINE))

    def prepare(self, mutants, jobs):
        """Builds what the tests of these mutants need, as the tree is."""
        targets = sorted({target for mutant in mutants for target in targets_of(mutant.test, self.known)})
        run(["ninja", "-C", self.build, "-k", "0", "-j", str(jobs), *targets], self.source)

    def copy(self):
        """Makes the copy equal to the tree. Files that are equal stay: ninja goes by their times."""
        listed = run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                      "--exclude-standard"], ROOT).stdout
        wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
        for path in list(self.source.rglob("*")) if self.source.exists() else []:
            name = str(path.relative_to(self.source))
            if path.is_file() and not name.startswith("build/") and name not in wanted:
                path.unlink()
        for name in wanted:
            here, there = ROOT / name, self.source / name
            if not there.exists() or there.read_bytes() != here.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, there)

    def apply(self, mutant, *more):
        # Without its ceiling git would take the copy for a part of the repository around it.
        result = run(["git", "apply", *more, mutant.path], self.source,
                     GIT_CEILING_DIRECTORIES=str(WORK))
        if result.returncode != 0:
            raise Broken("does not apply: " + result.stdout.strip())

    def lift_limits(self):
        """Removes the tests' own time limits, which would go before that of the mutant."""
        for path in self.build.rglob("CTestTestfile.cmake"):
            text = path.read_text(encoding="utf-8")
            if " TIMEOUT " in text:
                path.write_text(re.sub(r' TIMEOUT "\d+"', "", text), encoding="utf-8")

    def is_found(self, mutant):
        targets = targets_of(mutant.test, self.known)
        if not targets:
            raise Broken(f"nothing to build for {mutant.test}")
        built = run(["ninja", "-C", self.build, "-j", "1", *targets], self.source)
        mutant.build_seconds = built.cpu_seconds
        if built.returncode != 0:
            raise Broken("does not build:\n" + built.stdout[-3000:])
        self.lift_limits()
        # The first failure is enough: of pytest, of cmocka and of the simulators.
        filters = {"PYTEST_ADDOPTS": "-x", "CMOCKA_TEST_ABORT": "1", "LETHE_TEST_STOP": "1"}
        if mutant.filter:
            filters["PYTEST_ADDOPTS"] += f" -k '{mutant.filter}'"
            filters["LETHE_TEST_FILTER"] = mutant.filter
        result = run(["ctest", "-R", f"^{re.escape(mutant.test)}$", "-V", "--timeout",
                      str(mutant.limit)], self.build, **filters)
        mutant.test_seconds = result.cpu_seconds
        if re.search(r"Exit: no \S+ in ", result.stdout):  # a test that can't begin finds nothing
            raise Broken(f"{mutant.test} lacks a program:\n" + result.stdout[-1000:])
        if "No tests were found" in result.stdout or re.search(
                r"^\d+: (=+ )?\d+ deselected in|no tests ran|Running 0 test", result.stdout, re.MULTILINE):
            raise Broken(f"no test {mutant.test} {mutant.filter or ''}")
        return result.returncode != 0

    def attempt(self, mutant):
        """Returns what is wrong with the mutant, or None if it was found."""
        try:
            self.apply(mutant)
            try:
                found = any(self.is_found(mutant) for _ in range(ATTEMPTS))
                return None if found else f"survived {mutant.test}"
            finally:
                self.apply(mutant, "--reverse")
        except Broken as problem:
            self.copy()
            return str(problem)


def read_mutants(arguments, results):
    """The mutants that were asked for, those of one test together, the largest groups first."""
    groups = {}
    for path in sorted(PATCHES.glob("*.patch")):
        if arguments.names and not any(name in path.name for name in arguments.names):
            continue
        try:
            mutant = Mutant(path)
            groups.setdefault(mutant.test, []).append(mutant)
        except Broken as problem:
            results.append((path.name, str(problem)))
    return sorted(groups.values(), key=len, reverse=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--times", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    lock, results = threading.Lock(), []
    waiting = read_mutants(arguments, results)
    all_of_them = [mutant for group in waiting for mutant in group]
    first = Tree(0) if CACHE and len(all_of_them) > 1 else None
    if first:
        first.prepare(all_of_them, arguments.jobs)

    def work(number):
        try:
            tree = first if first and number == 0 else Tree(number)
        except Broken as problem:
            with lock:
                results.append(("the tree", str(problem)))
            return
        while True:
            with lock:
                if not waiting:
                    return
                group = waiting.pop(0)
            for mutant in group:
                began = time.monotonic()
                problem = tree.attempt(mutant)
                mutant.seconds = time.monotonic() - began
                with lock:
                    results.append((mutant.name, problem))
                    if problem is not None:
                        print(f"{mutant.name}: {problem}", flush=True)

    workers = [threading.Thread(target=work, args=(number,))
               for number in range(max(1, min(arguments.jobs, len(waiting))))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    bad = [name for name, problem in results if problem is not None]
    if arguments.times:
        for mutant in sorted(all_of_them, key=lambda each: -each.build_seconds - each.test_seconds):
            print(f"{mutant.build_seconds:7.1f} {mutant.test_seconds:7.1f} {mutant.seconds:7.1f}  "
                  f"{mutant.name}, {mutant.test}")
    print(f"mutants: {len(results) - len(bad)} found, {len(bad)} not found")
    return 1 if bad or not results else 0


if __name__ == "__main__":
    sys.exit(main())
