"""Goal: every public header has an example, which is installed, compiles as C and as C++, shared and
static, and prints what it says.

Method: install the build, and build each example from its installed copy as its first comment says, in
every language and way of linking; run it in an empty folder, and compare what it prints with that
comment. Then build all of them with the CMakeLists.txt beside them."""

import re
import subprocess

import pytest

from installation import (BUILD, CC, CMAKE, CPP_HEADERS, HAS_LEVELDB, HAS_OPENCL, HEADERS, SOURCE, STRICT,
                          run)

EXAMPLES = sorted(path.name for path in (SOURCE / "examples").glob("*.c*") if path.suffix in (".c", ".cc"))
CXX20 = ["c++", "-std=c++20", "-x", "c++", "-Wno-missing-field-initializers"]


def there(name):
    if name.startswith("leveldb") and not HAS_LEVELDB or name.startswith("opencl") and not HAS_OPENCL:
        pytest.skip(f"built without {name.split('.')[0]}")


def comment(name):
    return (SOURCE / "examples" / name).read_text(encoding="utf-8").split("*/")[0]


def package(name):
    """The package of pkg-config that the example's comment names."""
    return re.search(r"pkg-config --cflags --libs (\w+)\)", comment(name)).group(1)


def expected(name):
    return re.findall(r"^ \*     (.*)\n", comment(name), re.MULTILINE)


def check(name, program, folder):
    """Runs an example and compares what it prints."""
    folder.mkdir()
    result = subprocess.run([program, "folder"] if "a.out FOLDER" in comment(name) else [program],
                            cwd=folder, text=True, check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    wanted = expected(name)
    if name == "opencl.c":  # the first line depends on the machine
        assert re.match("device: |there is no OpenCL device", lines.pop(0))
        wanted = wanted[1:]
    assert lines == wanted


@pytest.fixture(name="examples", scope="module")
def fixture_examples(prefix):
    return prefix / "share/doc/lethe/examples"


@pytest.fixture(autouse=True)
def fixture_driver(monkeypatch):
    monkeypatch.setenv("POCL_CACHE_DIR", str(BUILD / "pocl"))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)


# Parts of lethe/store.h, without which its example could do nothing.
PARTS = ("operation.h", "store_open.h", "store_read.h", "store_stats.h")


def test_every_header_has_an_example_of_its_name():
    for header in HEADERS:
        if header.name in PARTS:
            continue
        example = SOURCE / "examples" / f"{header.stem}.c"
        assert example.exists(), f"{header.name} has no example"
        assert f"#include <lethe/{header.name}>" in example.read_text()
    for header in [header.name for header in CPP_HEADERS] + ["leveldb.hpp"]:
        name = "leveldb.cc" if header == "leveldb.hpp" else "lethe.cc"  # which includes the others
        assert (SOURCE / "examples" / name).exists()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_says_how_it_is_built_and_what_it_prints(name):
    assert package(name) in ("lethe", "lethe_store", "lethe_leveldb", "lethe_opencl")
    assert expected(name)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_compiles_shared_in_each_language(pkg_config, examples, tmp_path, name):
    there(name)
    flags = pkg_config("--cflags", "--libs", package=package(name))
    ways = [[CC, "-std=c11"], CXX20] if name.endswith(".c") else [["c++", "-std=c++17"]]
    for number, way in enumerate(ways):
        program = tmp_path / f"program{number}"
        run(*way, *STRICT, "-o", program, examples / name, *(["-x", "none"] if "-x" in way else []), *flags)
        check(name, program, tmp_path / f"work{number}")


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_all_examples_build_with_the_cmake_beside_them(prefix, examples, tmp_path, static):
    run(CMAKE, "-S", examples, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DLETHE_STATIC={'ON' if static else 'OFF'}", "-DCMAKE_BUILD_TYPE=Release")
    run(CMAKE, "--build", tmp_path / "build")
    left_out = ["opencl.c"] * (static or not HAS_OPENCL) + ["leveldb.c", "leveldb.cc"] * (not HAS_LEVELDB)
    for name in EXAMPLES:
        program = tmp_path / "build" / re.sub(r"\.c$", "", name)
        assert program.exists() == (name not in left_out)
        if program.exists():
            assert ("NEEDED" not in run("readelf", "-d", program)) == static
            check(name, program, tmp_path / f"work-{name}")
