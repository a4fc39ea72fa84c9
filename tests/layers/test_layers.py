"""Goal: the layers of the design hold in this tree, and the check would notice if they did not.

Method: run tools/check_layers.py on the tree itself, then on made-up trees of one file each:
every rule is broken once and must be reported with the file, the line and what to do; and what
the rules allow must pass."""

import contextlib
import importlib.util
import io
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools/check_layers.py"
spec = importlib.util.spec_from_file_location("check_layers", SCRIPT)
check_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_layers)


def check(root):
    """What the script exits with and prints for a tree."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = check_layers.main([str(root)])
    return code, output.getvalue()


def check_one(root, path, text):
    """Checks a tree that has only one file, and the headers some of the includes mean."""
    for name in ("include/lethe/bloom.h", "src/core/bits.h", "src/filter/bloom/plan.h",
                 "src/engine/disk/disk.h", "cli/output/output.h", path):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (root / path).write_text(text)
    return check(root)


def test_this_tree_keeps_its_layers():
    result = subprocess.run([sys.executable, SCRIPT], stdout=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_the_script_fails_when_a_layer_is_broken(tmp_path):
    check_one(tmp_path, "src/filter/a.c", '#include "engine/disk/disk.h"\n')
    result = subprocess.run([sys.executable, SCRIPT, tmp_path], stdout=subprocess.PIPE, text=True,
                            check=False)
    assert result.returncode == 1
    assert result.stdout.startswith("src/filter/a.c:1: src/filter may not include from src/engine")


DOWNWARDS = "layers depend downwards only"
BROKEN = [
    # upwards
    ("src/core/a.c", '"filter/bloom/plan.h"', DOWNWARDS),
    ("src/os/a.c", '"window/window.h"', DOWNWARDS),
    ("src/filter/a.c", '"engine/disk/disk.h"', DOWNWARDS),
    ("src/filter/a.c", '<engine/disk/disk.h>', DOWNWARDS),
    ("src/filter/bloom/a.c", '"../../engine/disk/disk.h"', DOWNWARDS),
    ("src/filter/bloom/a.c", '"../../engine/not_there.h"', DOWNWARDS),
    ("src/filter/a.c", '"src/engine/disk/disk.h"', DOWNWARDS),
    ("src/sketch/a.h", '"window/window.h"', DOWNWARDS),
    ("src/window/a.c", '"engine/disk/disk.h"', DOWNWARDS),
    ("src/engine/a.c", '"cli/output/output.h"', DOWNWARDS),
    # sideways
    ("src/filter/a.c", '"sketch/fid.h"', "filters and sketches do not know of each other"),
    ("src/sketch/a.c", '"filter/bloom/plan.h"', "filters and sketches do not know of each other"),
    # public headers
    ("include/lethe/a.h", '"core/bits.h"', "a public header may not include src/core/bits.h"),
    ("include/lethe/a.h", "<unistd.h>", "a public header may not include <unistd.h>"),
    ("include/lethe/a.h", "<string_view>", "a public header may not include <string_view>"),
    ("include/lethe/a.hpp", "<unistd.h>", "a public header may not include <unistd.h>"),
    ("include/lethe/a.h", "<xxhash.h>", "only src/core/hash* and src/core/codec*"),
    # outside of the library
    ("cli/a.c", '"core/bits.h"', "use the public headers <lethe/...>"),
    ("structures/a.c", '"filter/bloom/plan.h"', "use the public headers <lethe/...>"),
    ("structures/a.c", '"cli/output/output.h"', "structures may not include from cli"),
    ("plugins/a.cc", '"structures/structure.h"', "plugins may not include from structures"),
    ("src/engine/a.c", '"structures/structure.h"', DOWNWARDS),
    ("module/a.c", '"filter/bloom/plan.h"', "use the public headers <lethe/...>"),
    ("module/a.c", '"cli/output/output.h"', "module may not include from cli"),
    ("plugins/a.cc", '"../src/engine/disk/disk.h"', "plugins may not include from src/engine"),
    ("examples/a.c", '"../cli/output/output.h"', "examples may not include from cli"),
    ("examples/a.c", '"helper.h"', "examples may not include from examples"),
    # the operating system
    ("src/core/a.c", "<unistd.h>", "only src/os may use more than standard C"),
    ("src/core/a.c", '"unistd.h"', "only src/os may use more than standard C"),
    ("src/filter/a.c", "<fcntl.h>", "only src/os may use more than standard C"),
    ("src/filter/a.c", "<sys/mman.h>", "only src/os may use more than standard C"),
    ("src/sketch/a.c", "<pthread.h>", "only src/os may use more than standard C"),
    ("src/sketch/a.c", "<threads.h>", "only src/os may use more than standard C"),
    ("src/window/a.c", "<time.h>", "only src/os may use more than standard C"),
    ("src/window/a.c", "<signal.h>", "only src/os may use more than standard C"),
    ("src/engine/a.c", "<dirent.h>", "only src/os may use more than standard C"),
    ("src/engine/a.c", "<poll.h>", "only src/os may use more than standard C"),
    ("src/filter/a.c", "<liburing.h>", "only src/os may use more than standard C"),
    # the libraries of others
    ("src/window/a.c", "<rocksdb/c.h>", "only src/engine/disk may include RocksDB"),
    ("src/engine/log/a.c", "<rocksdb/c.h>", "only src/engine/disk may include RocksDB"),
    ("src/engine/a.c", "<rocksdb/c.h>", "only src/engine/disk may include RocksDB"),
    ("cli/a.c", "<rocksdb/c.h>", "only src/engine/disk may include RocksDB"),
    ("src/os/a.c", "<hiredis/hiredis.h>", "only cli/redis may include hiredis"),
    ("module/a.c", "<hiredis.h>", "only cli/redis may include hiredis"),
    ("cli/a.c", "<redismodule.h>", "only module may include the Redis module API"),
    ("src/engine/a.c", "<valkeymodule.h>", "only module may include the Redis module API"),
    ("python/native/a.c", '"engine/disk/disk.h"', "use the public headers <lethe/...>"),
    ("python/native/a.c", '"cli/output/output.h"', "python may not include from cli"),
    ("python/native/a.c", "<Python.h>", "only python/native/python.h may include the interpreter"),
    ("src/engine/a.c", "<leveldb/c.h>", "only plugins may include LevelDB"),
    ("cli/a.c", "<microhttpd.h>", "only server/http* may include libmicrohttpd"),
    ("server/a.c", "<microhttpd.h>", "only server/http* may include libmicrohttpd"),
    ("server/a.c", '"cli/output/output.h"', "server may not include cli/output/output.h"),
    ("server/a.c", '"core/bits.h"', "use the public headers <lethe/...>"),
    ("cli/a.c", '"server/server.h"', "only cli/serve starts the server"),
    ("cli/serve/a.c", '"server/http.h"', "only cli/serve starts the server"),
    ("src/engine/a.c", "<CL/cl.h>", "only src/opencl may include OpenCL"),
    ("cli/a.c", "<CL/cl.h>", "only src/opencl may include OpenCL"),
    ("src/opencl/a.c", '"engine/disk/disk.h"', DOWNWARDS),
    ("src/engine/a.c", '"opencl/device.h"', DOWNWARDS),
    ("src/opencl/a.c", "<time.h>", "only src/os may use more than standard C"),
    ("src/filter/a.c", "<xxhash.h>", "only src/core/hash* and src/core/codec*"),
    ("src/core/bits.c", '"xxhash.h"', "only src/core/hash* and src/core/codec*"),
    ("src/filter/a.c", "<zlib.h>", "name a new library in FOREIGN"),
    # what could hide from the check
    ("src/filter/a.c", "HEADER", "an include must name its file"),
]


@pytest.mark.parametrize("path,include,message", BROKEN)
def test_each_rule_is_enforced(tmp_path, path, include, message):
    if include == '"helper.h"':
        (tmp_path / "examples").mkdir()
        (tmp_path / "examples/helper.h").write_text("")
    code, output = check_one(tmp_path, path,
                             f"/* A file. */\n#include <stdint.h>\n#include {include}\n")
    assert code == 1
    assert output.startswith(f"{path}:3: ")
    assert message in output
    assert output.count("\n") == 1


ALLOWED = [
    ("structures/a.c", '"lethe/bloom.h"'),
    ("cli/a.c", '"structures/structure.h"'),
    ("module/a.c", '"structures/structure.h"'),
    ("include/lethe/a.h", '"lethe/bloom.h"'),
    ("include/lethe/a.h", "<lethe/bloom.h>"),
    ("include/lethe/a.h", "<stdint.h>"),
    ("include/lethe/a.hpp", "<string_view>"),
    ("src/core/a.c", '"lethe/bloom.h"'),
    ("src/core/a.c", '"os/memory.h"'),
    ("src/core/a.c", "<immintrin.h>"),
    ("src/core/a.c", "<cpuid.h>"),
    ("src/core/hash_batch.c", "<xxhash.h>"),
    ("src/core/codec.c", "<xxhash.h>"),
    ("src/os/a.c", '"core/bits.h"'),
    ("src/os/a.c", "<sys/mman.h>"),
    ("src/os/a.c", "<liburing.h>"),
    ("src/os/a.c", "<time.h>"),
    ("src/filter/bloom/a.c", '"plan.h"'),
    ("src/filter/bloom/a.c", '"filter/bloom/plan.h"'),
    ("src/filter/bloom/a.c", '"../../core/bits.h"'),
    ("src/sketch/a.c", '"sketch/fid.h"'),
    ("src/window/a.c", '"filter/bloom/plan.h"'),
    ("src/window/a.c", '"sketch/fid.h"'),
    ("src/engine/a.c", '"window/window.h"'),
    ("src/engine/disk/a.c", "<rocksdb/c.h>"),
    ("src/opencl/a.c", "<CL/cl.h>"),
    ("src/opencl/a.c", '"sketch/scale.h"'),
    ("cli/a.c", '"output.h"'),
    ("cli/a.c", "<lethe/lethe.h>"),
    ("cli/a.c", "<unistd.h>"),
    ("cli/redis/a.c", "<hiredis/hiredis.h>"),
    ("module/a.c", "<redismodule.h>"),
    ("python/native/a.c", '"structures/structure.h"'),
    ("python/native/python.h", "<Python.h>"),
    ("plugins/a.cc", "<leveldb/filter_policy.h>"),
    ("examples/a.c", "<lethe/lethe.h>"),
    ("tests/unit/a.c", '"engine/disk/disk.h"'),
    ("bench/a.c", '"engine/disk/disk.h"'),
    ("fuzz/a.c", '"engine/disk/disk.h"'),
]


@pytest.mark.parametrize("path,include", ALLOWED)
def test_what_the_design_allows_passes(tmp_path, path, include):
    assert check_one(tmp_path, path, f"#include {include}\n") == (0, "")


@pytest.mark.parametrize("text", [
    '/* once:\n#include "engine/disk/disk.h"\n*/\n',
    '// #include "engine/disk/disk.h"\n',
    'const char *text = "/*";\n#include <stdint.h>\nconst char *end = "*/";\n',
])
def test_comments_and_strings_are_no_includes(tmp_path, text):
    assert check_one(tmp_path, "src/filter/a.c", text) == (0, "")


@pytest.mark.parametrize("text,line", [
    ('/* one\n * two */\n  #  include "engine/disk/disk.h"\n', 3),
    ('const char *text = "/*";\n#include "engine/disk/disk.h" /* really */\n', 2),
    ("char quote = '\"'; /* one */\n#include \"engine/disk/disk.h\"\n", 2),
    ('/* a */ #include "engine/disk/disk.h"\n', 1),
])
def test_odd_spellings_are_seen(tmp_path, text, line):
    code, output = check_one(tmp_path, "src/filter/a.c", text)
    assert code == 1
    assert output.startswith(f"src/filter/a.c:{line}: ")


@pytest.mark.parametrize("path", ["src/a.c", "src/utilities/a.c"])
def test_every_source_file_belongs_to_a_layer(tmp_path, path):
    code, output = check_one(tmp_path, path, "int x;\n")
    assert code == 1
    assert f"{path}:1: " in output and "no layer" in output


def test_an_empty_tree_is_no_success(tmp_path):
    assert check(tmp_path)[0] == 1
