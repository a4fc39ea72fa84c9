"""Goal: the package can be built from source without a network, and what is built works alone.
Method: a wheel and an sdist by the distribution's pip; the wheel is installed into an empty virtual
environment, where the package counts and the other tests pass."""

import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from sizes import SIZE

pytest.importorskip("wheel")
SOURCE = os.environ["LETHE_SOURCE_DIR"]
BUILD = os.environ["LETHE_BUILD_DIR"]
PACKAGE = os.path.join(SOURCE, "python")


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800,
                          env={**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK":
                               "1", "PYTHONDONTWRITEBYTECODE": "1", **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copy_of_sources(tmp_path):
    """setuptools writes into the folder it builds in: that is a copy, with the same neighbours."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in os.listdir(SOURCE):
        if name not in ("build", ".git", "python"):
            (tree / name).symlink_to(os.path.join(SOURCE, name))
    run("cp", "-r", PACKAGE, str(tree / "python"))
    return tree / "python"


def build_wheel(folder, out, **environment):
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir",
        str(out), str(folder), **environment)
    (wheel,) = os.listdir(out)
    assert "-cp311-abi3-linux_" in wheel
    return out / wheel


def check_wheel(wheel, tmp_path, tests):
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert {"lethe/__init__.py", "lethe/__init__.pyi", "lethe/py.typed",
            "lethe/_lethe.abi3.so"} <= names
    assert not [name for name in names if name.split("/")[0] not in ("lethe",) and
                ".dist-info/" not in name]
    run(sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv"))
    python = str(tmp_path / "venv" / "bin" / "python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", str(wheel))
    run(python, "-c", "import lethe, sys; assert 'venv' in lethe.__file__\n"
        "with lethe.Store(sys.argv[1], create=True) as store:\n"
        "    store.apply('id', 'key'); store.apply('id', 'key'); assert store['key'] == 1",
        str(tmp_path / "store"), PYTHONPATH="")
    # The other tests need pytest and NumPy, which are the distribution's.
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip()
    run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests,
        LETHE_PYTHON_INSTALLED="1", LETHE_SIZE="day", PYTHONPATH=site)


def test_the_wheel_works_alone(tmp_path):
    wheel = build_wheel(copy_of_sources(tmp_path), tmp_path / "wheels", LETHE_BUILD_DIR=BUILD)
    tests = os.path.join(PACKAGE, "tests")
    check_wheel(wheel, tmp_path, [os.path.join(tests, "test_store.py")])
    extension = os.path.join(BUILD, "python", "package", "lethe", "_lethe.abi3.so")
    exported = run("nm", "-D", "--defined-only", extension).split()[2::3]
    assert exported == ["PyInit__lethe"]
    needed = [line.split()[-1].strip("[]") for line in run("readelf", "-d", extension).splitlines()
              if "(NEEDED)" in line]
    assert not [name for name in needed if "lethe" in name or "python" in name]


def test_the_sdist_has_all_sources(tmp_path):
    """At a larger size the wheel is also built from it, which compiles everything."""
    folder = copy_of_sources(tmp_path)
    subprocess.run([sys.executable, "setup.py", "-q", "sdist", "--dist-dir", tmp_path / "dist"],
                   cwd=folder, check=True, capture_output=True)
    (name,) = os.listdir(tmp_path / "dist")
    with tarfile.open(tmp_path / "dist" / name) as packed:
        names = packed.getnames()
        packed.extractall(tmp_path / "unpacked")
    top = name.removesuffix(".tar.gz")
    for wanted in ("setup.py", "pyproject.toml", "PKG-INFO", "lethe/__init__.py",
                   "lethe-source/CMakeLists.txt", "lethe-source/include/lethe/store.h",
                   "lethe-source/src/core/hash.c", "lethe-source/python/native/module.c"):
        assert f"{top}/{wanted}" in names
    if SIZE == "day":
        return
    wheel = build_wheel(tmp_path / "unpacked" / top, tmp_path / "wheels", LETHE_BUILD_DIR="")
    tests = os.path.join(PACKAGE, "tests")
    check_wheel(wheel, tmp_path, [os.path.join(tests, name) for name in sorted(os.listdir(tests))
                                  if name.startswith("test_") and name != "test_wheel.py"])
