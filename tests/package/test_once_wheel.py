"""Goal: the Redis client for Python can be packed without a network, and what is packed is whole.
Method: a wheel and an sdist by the distribution's setuptools; the wheel is installed into an empty
virtual environment, where both kinds of tables are imported; the way of the Debian package."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest
from installation import SOURCE

pytest.importorskip("wheel")
pytest.importorskip("redis")
FILES = {path.name for path in (SOURCE / "clients/python/lethe_once").iterdir() if path.is_file()}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "PIP_NO_INDEX": "1", "PYTHONDONTWRITEBYTECODE": "1",
                               "PIP_DISABLE_PIP_VERSION_CHECK": "1"}, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    """setuptools writes into the folder it builds in: that is a copy."""
    return shutil.copytree(SOURCE / "clients/python", tmp_path / "python",
                           ignore=shutil.ignore_patterns("__pycache__"))


def test_the_wheel(folder, tmp_path):
    assert {"__init__.pyi", "asyncio.pyi", "py.typed", "version.py"} <= FILES
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir",
        str(tmp_path / "wheels"), str(folder))
    (wheel,) = (tmp_path / "wheels").iterdir()
    version = run(sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1]); "
                  "from lethe_once.version import __version__; print(__version__)",
                  str(folder)).strip()
    assert wheel.name == f"lethe_once-{version}-py3-none-any.whl"
    header = (SOURCE / "include/lethe/version.h").read_text()
    assert f'LETHE_VERSION "{version}"' in header
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert {f"lethe_once/{name}" for name in FILES} <= names
    run(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages",
        str(tmp_path / "venv"))
    python = str(tmp_path / "venv/bin/python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", str(wheel))
    found = run(python, "-c", "import lethe_once, lethe_once.asyncio; print(lethe_once.__file__)",
                cwd=tmp_path)
    assert "venv" in found


def test_the_sdist_and_debian(folder, tmp_path):
    run(sys.executable, "setup.py", "-q", "sdist", "--dist-dir", str(tmp_path / "dist"), cwd=folder)
    (archive,) = (tmp_path / "dist").iterdir()
    with tarfile.open(archive) as packed:
        names = {name.split("/", 1)[-1] for name in packed.getnames()}
    assert {f"lethe_once/{name}" for name in FILES} | {"README.md", "pyproject.toml"} <= names
    layout = ["--install-layout=deb"] if os.path.isdir("/usr/lib/python3/dist-packages") else []
    run(sys.executable, "setup.py", "--quiet", "install", f"--root={tmp_path / 'root'}", *layout,
        "--no-compile", cwd=folder)
    (installed,) = (tmp_path / "root").rglob("lethe_once")
    assert {path.name for path in installed.iterdir()} == FILES
