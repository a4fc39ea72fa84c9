"""Goal: two builds of the same sources give the same bytes, wherever they are built.

Method: copy the tree into two folders whose names differ in length, build what is installed and the
Python extension in each, one with a build folder outside the sources, install both under the same
prefix, and compare every file. Nothing of ccache is used, which would give the first build's files to
the second. No file names a folder of the build."""

import filecmp
import os
import shutil
import subprocess

from installation import CMAKE, SOURCE, run


def copy_tree(target):
    """The files that git knows, or all of an archive."""
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    if listed.returncode != 0:
        shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("build"))
        return
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (SOURCE / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, target / name)


def build(source, folder, staged):
    environment = {"CMAKE_C_COMPILER_LAUNCHER": "", "CCACHE_DISABLE": "1", "DESTDIR": ""}
    jobs = os.environ.get("JOBS") or str(os.cpu_count())
    run(CMAKE, "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLETHE_TESTS=OFF",
        "-DCMAKE_C_FLAGS_RELEASE=-O3 -g -DNDEBUG", "-DCMAKE_INSTALL_PREFIX=/opt/lethe", **environment)
    run(CMAKE, "--build", folder, "-j", jobs, **environment)
    run(CMAKE, "--install", folder, **{**environment, "DESTDIR": str(staged)})
    extension = staged / "opt/lethe/python"
    shutil.copytree(folder / "python/package", extension)


def test_two_builds_are_equal(tmp_path):
    first = tmp_path / "a"
    second = tmp_path / "another-folder-with-a-much-longer-name/and-one-more"
    copy_tree(first)
    copy_tree(second)
    build(first, first / "build", tmp_path / "staged1")
    build(second, tmp_path / "build-elsewhere", tmp_path / "staged2")
    left, right = tmp_path / "staged1/opt/lethe", tmp_path / "staged2/opt/lethe"
    names = sorted(str(path.relative_to(left)) for path in left.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(right)) for path in right.rglob("*") if path.is_file())
    assert "bin/lethe" in names and "python/lethe/_lethe.abi3.so" in names
    different = [name for name in names if not filecmp.cmp(left / name, right / name, shallow=False)]
    assert different == []
    traces = [name for name in names if str(tmp_path).encode() in (left / name).read_bytes()]
    assert traces == []
