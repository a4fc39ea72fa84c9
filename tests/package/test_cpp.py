"""Goal: the C++ headers do what the C functions do, free what they own, and throw what they say.

Method: consumer/types.cc goes through every type and asserts what comes out. It is built with two
compilers and two standards, and once with sanitizers, which find what is not freed. Each header also
compiles alone, and twice in one program."""

import re
import subprocess

import pytest

from installation import CPP_HEADERS, HERE, SOURCE, STRICT, run


@pytest.mark.parametrize("compiler, options", [
    ("c++", ["-std=c++17", "-O2"]), ("c++", ["-std=c++20", "-fsanitize=address,undefined", "-g"]),
    ("clang++", ["-std=c++17"]), ("clang++", ["-std=c++20", "-O2"])],
    ids=["gcc-17", "gcc-20-sanitized", "clang-17", "clang-20"])
def test_the_types(pkg_config, tmp_path, compiler, options):
    run(compiler, *options, *STRICT, "-o", tmp_path / "types", HERE / "consumer/types.cc",
        *pkg_config("--cflags", "--libs", package="lethe_store"))
    (tmp_path / "work").mkdir()
    # RocksDB keeps what it allocates once, in the shared library.
    printed = run(tmp_path / "types", tmp_path / "work", ASAN_OPTIONS="detect_leaks=1")
    assert printed == "all is well\n"


@pytest.mark.parametrize("header", CPP_HEADERS, ids=lambda header: header.name)
def test_each_header_compiles_alone_and_in_two_files(pkg_config, tmp_path, header):
    for name in ("a", "b"):
        (tmp_path / f"{name}.cc").write_text(
            f"#include <lethe/{header.name}>\n#include <lethe/{header.name}>\n"
            f"int {name}() {{ return lethe::Bytes(\"{name}\").size() == 1; }}\n")
    (tmp_path / "main.cc").write_text("int a();\nint b();\nint main() { return a() + b() - 2; }\n")
    for compiler in ("c++", "clang++"):
        run(compiler, "-std=c++17", *STRICT, "-o", tmp_path / "both",
            *(tmp_path / f"{name}.cc" for name in ("a", "b", "main")),
            *pkg_config("--cflags", "--libs", package="lethe"))
        run(tmp_path / "both")


@pytest.mark.parametrize("call", ['store.apply("id", {"likes", 3})', 'batch.add("id", {"likes", 3})'])
def test_a_key_with_a_delta_is_not_taken_for_bytes_with_their_size(pkg_config, tmp_path, call):
    """One brace less than a list of changes: it would count 1 for the key "lik"."""
    for words, compiles in ((call, False), (call.replace("{", "{{").replace("}", "}}"), True)):
        (tmp_path / "braces.cc").write_text(
            "#include <lethe/store.hpp>\n"
            f"void count(lethe::Store &store, lethe::Batch &batch) {{ (void)store; (void)batch; {words}; }}\n")
        done = subprocess.run(["c++", "-std=c++17", "-fsyntax-only", tmp_path / "braces.cc",
                               *pkg_config("--cflags", package="lethe_store")], capture_output=True, check=False)
        assert (done.returncode == 0) == compiles, done.stderr.decode()


def test_a_program_without_a_store_does_not_need_its_library(pkg_config, tmp_path):
    (tmp_path / "bloom.cc").write_text(
        "#include <lethe/lethe.hpp>\n"
        "int main() { lethe::Bloom seen; seen.add(\"a\"); return seen.test(\"a\") ? 0 : 1; }\n")
    run("c++", "-std=c++17", *STRICT, "-o", tmp_path / "bloom", tmp_path / "bloom.cc",
        *pkg_config("--cflags", "--libs", package="lethe"))
    run(tmp_path / "bloom")


def test_the_program_of_the_guide_prints_what_it_says(pkg_config, tmp_path):
    text = (SOURCE / "docs/cpp.md").read_text(encoding="utf-8")
    code, printed = re.search(r"```cpp\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()
    (tmp_path / "program.cc").write_text(code)
    run("c++", "-std=c++17", *STRICT, "-o", tmp_path / "program", tmp_path / "program.cc",
        *pkg_config("--cflags", "--libs", package="lethe_store"))
    assert run(tmp_path / "program", cwd=tmp_path) == printed


def test_the_guide_names_every_type_and_error():
    text = (SOURCE / "docs/cpp.md").read_text(encoding="utf-8")
    headers = "".join(header.read_text() for header in CPP_HEADERS)
    names = re.findall(r"^class (\w+) ", headers, re.MULTILINE)
    names += re.findall(r"^using (\w+) = ErrorOf", headers, re.MULTILINE)
    assert "Store" in names and "Full" in names
    for name in set(names) - {"View"}:
        assert re.search(rf"\b{name}\b", text), f"docs/cpp.md does not name {name}"
