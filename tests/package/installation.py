"""What the tests of this folder share: the build, an installation of it, and running commands."""

import os
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", HERE.parents[1]))
BUILD = pathlib.Path(os.environ.get("LETHE_BUILD_DIR", SOURCE / "build/release"))
CMAKE = os.environ.get("CMAKE", "cmake")
CC = os.environ.get("CC", "cc")
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
HEADERS = sorted((SOURCE / "include/lethe").glob("*.h"))
CPP_HEADERS = sorted((SOURCE / "include/lethe").glob("*.hpp"))
# The engine, the plug-in and what runs on devices are libraries of their own, and lethe.h does not include them.
ENGINE_HEADERS = [header for header in HEADERS
                  if header.name in ("claims.h", "holds.h", "operation.h") or header.name.startswith("store")]
PLUGIN_HEADERS = [header for header in HEADERS if header.name == "leveldb.h"]
DEVICE_HEADERS = [header for header in HEADERS if header.name == "opencl.h"]
MAIN_HEADERS = [header for header in HEADERS if header not in ENGINE_HEADERS + PLUGIN_HEADERS + DEVICE_HEADERS]
HAS_LEVELDB = (BUILD / "liblethe_leveldb.a").exists()
HAS_OPENCL = (BUILD / "liblethe_opencl.a").exists()


def run(*command, cwd=None, **environment):
    """Runs a command that must succeed and returns what it printed. Nothing but the program itself says
    where libraries are."""
    given = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    result = subprocess.run([str(word) for word in command], text=True, check=False, cwd=cwd,
                            env={**given, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}"
    return result.stdout


def version():
    text = (SOURCE / "include/lethe/version.h").read_text()
    return re.search(r'LETHE_VERSION "([0-9.]+)"', text).group(1)


def soversion():
    major, minor, _ = version().split(".")
    return f"0.{minor}" if major == "0" else major


def install(prefix, destdir=""):
    run(CMAKE, "--install", BUILD, "--prefix", prefix, DESTDIR=str(destdir))


def declared_functions(headers, of_type=""):
    """The names of the functions that headers declare, of those whose type has that word."""
    names = []
    for header in headers:
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
        for declaration in re.findall(r"\bLETHE_API\b([^;]*);", text):
            found = re.search(r"(\w+)\s*\(", declaration)
            if of_type in declaration[:found.start()]:
                names.append(found.group(1))
    return sorted(names)
