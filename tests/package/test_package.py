"""Goal: whoever installs Lethe can use it: from C and C++, shared and static, through pkg-config
and through CMake, wherever it was installed or moved to; and the shared library shows exactly
what the public headers promise.

Method: install the build into a temporary prefix, move that prefix elsewhere (so that nothing
works only because of a path written at build time), and build consumer/sample.c against it in
each of those ways. Every binary must print the same lines, without being told where libraries are,
and a shared one must really load the shared library. What the library exports is compared with
what the headers declare."""

import os
import re
import shutil
import subprocess

import pytest

from installation import (BUILD, CC, CMAKE, CPP_HEADERS, DEVICE_HEADERS, ENGINE_HEADERS, HAS_LEVELDB, HAS_OPENCL,
                          HEADERS, HERE, MAIN_HEADERS, PLUGIN_HEADERS, SOURCE, STRICT, declared_functions,
                          install, run, soversion, version)

EXPECTED = "styx 1\nacheron 0\nadditions 1\n"
ENGINE_EXPECTED = "applied 1\ncopies 1\nlikes 3\n"
LEVELDB_EXPECTED = "styx: a river\nsty: not there\n"
OPENCL_EXPECTED = r"(device: .*\n|there is no OpenCL device.*\n)styx: 3\nacheron: 0\n"


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                  if not path.is_dir())


def needs_the_shared_library(program):
    return f"[liblethe.so.{soversion()}]" in run("readelf", "-d", program)


def check_program(program, shared):
    assert needs_the_shared_library(program) == shared
    assert run(program) == EXPECTED


# What is installed

def test_all_parts_are_installed(prefix, libdir):
    installed = files_below(prefix)
    lib = str(libdir.relative_to(prefix))
    for name in ["bin/lethe", "libexec/lethe/lethe-bench", "libexec/lethe/lethe-serve",
                 f"{lib}/liblethe.a", f"{lib}/liblethe.so",
                 f"{lib}/liblethe.so.{soversion()}", f"{lib}/liblethe.so.{version()}",
                 f"{lib}/pkgconfig/lethe.pc", f"{lib}/pkgconfig/lethe_store.pc",
                 f"{lib}/liblethe_store.a", f"{lib}/liblethe_store.so.{version()}", f"{lib}/cmake/lethe/lethe-config.cmake",
                 f"{lib}/cmake/lethe/lethe-config-version.cmake", "share/man/man1/lethe.1",
                 "share/bash-completion/completions/lethe", "share/zsh/site-functions/_lethe",
                 "share/fish/vendor_completions.d/lethe.fish",
                 "share/doc/lethe/LICENSE", "share/doc/lethe/README.md"]:
        assert name in installed
    assert [name for name in installed if name.startswith("include/")] == [
        f"include/lethe/{name}" for name in sorted(
            [header.name for header in HEADERS + CPP_HEADERS] + ["leveldb.hpp"] * HAS_LEVELDB)]
    for name in ["liblethe_leveldb.a", f"liblethe_leveldb.so.{version()}",
                 "pkgconfig/lethe_leveldb.pc"] * HAS_LEVELDB:
        assert f"{lib}/{name}" in installed
    for name in ["liblethe_opencl.a", f"liblethe_opencl.so.{version()}", "pkgconfig/lethe_opencl.pc"] * HAS_OPENCL:
        assert f"{lib}/{name}" in installed


def test_every_man_page_is_installed(prefix):
    built = sorted(page.name for page in (BUILD / "man").glob("*.1"))
    assert built
    assert sorted(page.name for page in (prefix / "share/man/man1").iterdir()) == built


def test_the_shared_library_is_versioned(libdir):
    assert f"Library soname: [liblethe.so.{soversion()}]" in run(
        "readelf", "-d", libdir / "liblethe.so")
    assert os.readlink(libdir / "liblethe.so") == f"liblethe.so.{soversion()}"
    assert os.readlink(libdir / f"liblethe.so.{soversion()}") == f"liblethe.so.{version()}"


def test_the_program_runs_where_it_was_moved_to(prefix):
    assert version() in run(prefix / "bin/lethe", "--version")


def test_the_program_finds_its_benchmarks_there(prefix):
    # lethe-bench itself refuses a workload that does not exist.
    result = subprocess.run([prefix / "bin/lethe", "bench", "no-such-workload"], text=True,
                            check=False, stderr=subprocess.PIPE)
    assert (result.returncode, result.stderr[:12]) == (2, "lethe-bench:")


def test_the_program_finds_its_server_there(prefix, tmp_path):
    # A file is no store: the server itself says so.
    (tmp_path / "d").write_text("")
    result = subprocess.run([prefix / "bin/lethe", "serve", "--db", tmp_path / "d", "--listen", "127.0.0.1:0"],
                            text=True, check=False, stderr=subprocess.PIPE)
    assert result.returncode == 2 and "is a file; name a folder" in result.stderr, result


def test_a_server_loads_the_installed_module(libdir, tmp_path):
    module = libdir / "lethe/lethe.so"
    assert os.access(module, os.X_OK)  # which Redis insists on
    if shutil.which("redis-server"):
        server = subprocess.Popen(["redis-server", "--port", "0", "--dir", tmp_path, "--save", "", "--unixsocket",
                                   tmp_path / "socket", "--loadmodule", module], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            lines = iter(server.stdout.readline, "")
            assert any("eady to accept connections" in line for line in lines)
        finally:
            server.kill()
            server.communicate()


def test_destdir_stages_the_same_files(prefix, tmp_path):
    install("/opt/lethe", tmp_path)
    assert files_below(tmp_path / "opt/lethe") == files_below(prefix)
    assert [entry.name for entry in tmp_path.iterdir()] == ["opt"]


def test_no_path_of_the_build_is_installed(prefix):
    for path in prefix.rglob("*"):
        if path.suffix in (".pc", ".cmake", ".h", ".1") and "liblethe" not in path.name:
            text = path.read_text()
            for folder in (SOURCE, BUILD, prefix.parent / "first"):
                assert str(folder) not in text, f"{path} names {folder}"


# Using it

@pytest.mark.parametrize("shared", [True, False], ids=["shared", "static"])
@pytest.mark.parametrize("compiler,standard", [
    (CC, "-std=c11"), (CC, "-std=c17"), ("clang", "-std=c17"), ("c++", "-std=c++17")])
def test_a_program_builds_with_pkg_config(pkg_config, tmp_path, compiler, standard, shared):
    source = tmp_path / ("sample.cc" if "++" in standard else "sample.c")
    shutil.copy(HERE / "consumer/sample.c", source)
    mode = [] if shared else ["--static"]
    run(compiler, standard, *STRICT, "-o", tmp_path / "sample", source,
        *pkg_config(*mode, "--cflags", "--libs"), *([] if shared else ["-static"]))
    check_program(tmp_path / "sample", shared)


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "static"])
def test_a_program_with_the_engine_builds_with_pkg_config(pkg_config, libdir, tmp_path, shared):
    flags = pkg_config("--cflags", *(["--libs"] if shared else ["--static", "--libs"]),
                       package="lethe_store")
    if not shared:  # our libraries static, RocksDB as it comes
        flags = [str(libdir / f"lib{flag[2:]}.a") if flag.startswith("-llethe") else flag
                 for flag in flags]
    run(CC, "-std=c17", *STRICT, "-o", tmp_path / "engine", HERE / "consumer/engine.c", *flags)
    assert needs_the_shared_library(tmp_path / "engine") == shared or shared
    printed = run(tmp_path / "engine", tmp_path / "store")
    assert printed == ENGINE_EXPECTED


@pytest.mark.skipif(not HAS_LEVELDB, reason="built without LevelDB")
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "static"])
@pytest.mark.parametrize("compiler,source", [
    ([CC, "-std=c17"], "leveldb.c"), (["c++", "-std=c++17"], "leveldb.cc")])
def test_the_example_of_leveldb_builds_with_pkg_config(pkg_config, libdir, tmp_path, compiler, source, shared):
    flags = pkg_config("--cflags", *(["--libs"] if shared else ["--static", "--libs"]),
                       package="lethe_leveldb")
    if not shared:  # our libraries static, LevelDB as it comes
        flags = [str(libdir / f"lib{flag[2:]}.a") if flag.startswith("-llethe") else flag
                 for flag in flags]
    run(*compiler, *STRICT, "-o", tmp_path / "example", SOURCE / "examples" / source, *flags)
    for _ in range(2):
        assert run(tmp_path / "example", tmp_path / "database") == LEVELDB_EXPECTED


@pytest.mark.skipif(not HAS_OPENCL, reason="built without OpenCL")
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "static"])
def test_the_example_of_opencl_builds_with_pkg_config(pkg_config, libdir, tmp_path, shared):
    flags = pkg_config("--cflags", *(["--libs"] if shared else ["--static", "--libs"]), package="lethe_opencl")
    if not shared:  # our libraries static, the loader as it comes
        flags = [str(libdir / f"lib{flag[2:]}.a") if flag.startswith("-llethe") else flag for flag in flags]
    run(CC, "-std=c17", *STRICT, "-o", tmp_path / "example", SOURCE / "examples/opencl.c", *flags)
    environment = {"POCL_CACHE_DIR": str(BUILD / "pocl")}
    assert re.fullmatch(OPENCL_EXPECTED, run(tmp_path / "example", **environment))
    # Without a driver it says so, and the CPU answers.
    printed = run(tmp_path / "example", **environment, OCL_ICD_VENDORS=str(tmp_path))
    assert printed.startswith("there is no OpenCL device") and re.fullmatch(OPENCL_EXPECTED, printed)


def needed_libraries(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", file))


def test_libraries_find_each_other_in_their_folder(libdir):
    for name in ["liblethe_store.so"] + ["liblethe_leveldb.so"] * HAS_LEVELDB + ["liblethe_opencl.so"] * HAS_OPENCL:
        text = run("readelf", "-d", libdir / name)
        assert f"[liblethe.so.{soversion()}]" in text or "_store" not in name
        assert "[$ORIGIN]" in text
    assert "PATH)" not in run("readelf", "-d", libdir / "liblethe.so")


@pytest.mark.parametrize("source, package, expected", [
    ("consumer/engine.c", "lethe_store", ENGINE_EXPECTED),
    ("../../examples/leveldb.c", "lethe_leveldb", LEVELDB_EXPECTED),
    ("../../examples/leveldb.cc", "lethe_leveldb", LEVELDB_EXPECTED)])
def test_a_program_that_needs_no_shared_library_at_all(pkg_config, tmp_path, source, package, expected):
    if package == "lethe_leveldb" and not HAS_LEVELDB:
        pytest.skip("built without LevelDB")
    compiler = ["c++", "-std=c++17"] if source.endswith(".cc") else [CC, "-std=c17"]
    run(*compiler, "-static", "-o", tmp_path / "program", HERE / source,
        *pkg_config("--static", "--cflags", "--libs", package=package))
    assert needed_libraries(tmp_path / "program") == []
    assert run(tmp_path / "program", tmp_path / "folder") == expected


def test_static_libraries_drag_in_no_shared_ones_of_others(prefix, tmp_path):
    """What librocksdb.a would need is not asked of the program where RocksDB is shared."""
    run(CMAKE, "-S", HERE / "consumer", "-B", tmp_path, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLETHE_EXAMPLES={SOURCE / 'examples'}")
    run(CMAKE, "--build", tmp_path, "--target", "engine-static")
    needed = needed_libraries(tmp_path / "engine-static")
    assert any(name.startswith("librocksdb") for name in needed)
    assert not any(name.startswith(("libsnappy", "libgflags", "liblz4")) for name in needed)


def test_find_package_knows_its_components(prefix, tmp_path):
    def configure(components):
        (tmp_path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.20)\nproject(asking LANGUAGES C)\n"
            f"find_package(lethe REQUIRED COMPONENTS {components})\n")
        return subprocess.run([CMAKE, "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
                              text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert configure("store").returncode == 0
    refused = configure("store nonsense")
    assert refused.returncode != 0 and "nonsense" in refused.stdout
    # A library that is packaged by itself may be missing.
    for file in prefix.rglob("lethe_store-targets*.cmake"):
        file.rename(f"{file}.away")
    try:
        assert configure("store").returncode != 0
        assert configure("").returncode == 0
    finally:
        for file in prefix.rglob("*.away"):
            file.rename(str(file)[:-5])


def test_pkg_config_tells_the_version(pkg_config):
    assert pkg_config("--modversion") == [version()]


def test_programs_build_with_find_package(prefix, tmp_path):
    run(CMAKE, "-S", HERE / "consumer", "-B", tmp_path, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLETHE_EXPECTED_VERSION={version()}",
        f"-DLETHE_EXAMPLES={SOURCE / 'examples'}",
        f"-DCMAKE_C_FLAGS={' '.join(STRICT)}", f"-DCMAKE_CXX_FLAGS={' '.join(STRICT)}")
    run(CMAKE, "--build", tmp_path)
    for language in ("c", "cc"):
        check_program(tmp_path / f"{language}-shared", True)
        check_program(tmp_path / f"{language}-static", False)
    for number, kind in enumerate(("shared", "static")):
        printed = run(tmp_path / f"engine-{kind}", tmp_path / f"store{number}")
        assert printed == ENGINE_EXPECTED
        for language in ("c", "cc") if HAS_LEVELDB else ():
            printed = run(tmp_path / f"leveldb-{language}-{kind}", tmp_path / f"{language}{number}")
            assert printed == LEVELDB_EXPECTED
        if HAS_OPENCL:
            printed = run(tmp_path / f"opencl-{kind}", POCL_CACHE_DIR=str(BUILD / "pocl"))
            assert re.fullmatch(OPENCL_EXPECTED, printed)


def test_find_package_refuses_a_version_that_may_differ(prefix, tmp_path):
    major, minor, _ = map(int, version().split("."))
    other = f"0.{minor + 1}" if major == 0 else str(major + 1)
    result = subprocess.run(
        [CMAKE, "-S", HERE / "consumer", "-B", tmp_path, "-G", "Ninja",
         f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLETHE_EXPECTED_VERSION={other}"],
        text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode != 0
    assert f'compatible with requested version "{other}"' in " ".join(result.stdout.split())


# The headers

@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.name)
def test_each_header_compiles_alone(prefix, tmp_path, header):
    source = tmp_path / "alone.c"
    source.write_text(f"#include <lethe/{header.name}>\n#include <lethe/{header.name}>\n"
                      "extern int not_empty;\n")
    for compiler in (CC, "clang"):
        for options in (["-std=c11"], ["-std=c17"], ["-x", "c++", "-std=c++17"]):
            run(compiler, *options, *STRICT, "-fsyntax-only", f"-I{prefix}/include", source)


def test_the_main_header_includes_all(prefix, tmp_path):
    source = tmp_path / "all.c"
    source.write_text("#include <lethe/lethe.h>\n")
    rule = run(CC, "-MM", f"-I{prefix}/include", source)
    assert sorted(set(re.findall(r"lethe/(\w+\.h)", rule))) == [header.name for header in MAIN_HEADERS]


# The symbols

# What callers may do wrong

def test_every_function_that_can_refuse_is_given_something_to_refuse():
    tests = [*(SOURCE / "tests/unit").glob("*.c"), *(SOURCE / "tests/leveldb").glob("*.c")]
    text = "".join(test.read_text() for test in tests)
    refused = set(re.findall(r"\bREFUS(?:AL|ED)\(\s*(\w+)\(", text))
    refused |= set(re.findall(r"assert_int_equal\(\s*(lethe_\w+)\([^;]*?LETHE_EINVAL\)", text))
    closers = {name for name in declared_functions(HEADERS) if name.endswith("_close")}
    assert sorted(set(declared_functions(HEADERS, "lethe_status")) - closers - refused) == []


def test_structs_that_may_grow_begin_with_their_size():
    """Those that are passed one by one: options, and what a function fills in."""
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        for name, fields in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, flags=re.DOTALL):
            may_grow = re.search(r"_(options|stats|shape|query|health|info|times|pruned)$", name) or name in (
                "lethe_backup", "lethe_claim", "lethe_hold")
            if may_grow:
                assert fields.split(";")[0].strip() == "size_t size", f"{header.name}: {name}"


def defined_symbols(*nm_options):
    lines = run("nm", "--defined-only", "--format=posix", *nm_options).splitlines()
    return sorted(line.split()[0] for line in lines if len(line.split()) > 1)


def test_the_shared_library_exports_the_headers_functions_and_no_more(libdir):
    libraries = [("liblethe.so", MAIN_HEADERS, "lethe_version"),
                 ("liblethe_store.so", ENGINE_HEADERS, "lethe_store_open")]
    if HAS_LEVELDB:
        libraries.append(("liblethe_leveldb.so", PLUGIN_HEADERS, "lethe_leveldb_policy"))
    if HAS_OPENCL:
        libraries.append(("liblethe_opencl.so", DEVICE_HEADERS, "lethe_opencl_open"))
    for library, headers, member in libraries:
        declared = declared_functions(headers)
        assert member in declared
        assert all(name.startswith("lethe_") for name in declared)
        assert defined_symbols("-D", libdir / library) == declared


def test_the_static_library_claims_no_names_but_its_own(libdir):
    for library in ["liblethe.a", "liblethe_store.a"] + ["liblethe_leveldb.a"] * HAS_LEVELDB + [
            "liblethe_opencl.a"] * HAS_OPENCL:
        foreign = [name for name in defined_symbols("-g", libdir / library)
                   if not name.startswith("lethe_")]
        assert foreign == []
