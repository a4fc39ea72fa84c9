"""Builds the extension with CMake, as the rest of Lethe is built, and packs wheel and sdist.

The wheel has the static libraries in it; of others' it needs RocksDB and liburing, the
distribution's. With LETHE_BUILD_DIR, an extension that was built there already is taken. The sdist
has the sources of the libraries beside the package's own, in the folder lethe-source.
"""

import os
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
PACKED = os.path.join(HERE, "lethe-source")
ROOT = PACKED if os.path.isdir(PACKED) else os.path.dirname(HERE)
# What the libraries and the extension are built from.
SOURCES = ["CMakeLists.txt", "LICENSE", "cmake", "include", "src", "structures", "python"]

with open(os.path.join(ROOT, "include", "lethe", "version.h"), encoding="utf-8") as header:
    VERSION = re.search(r'LETHE_VERSION "([0-9.]+)"', header.read()).group(1)


class BuildWithCMake(build_ext):
    def build_extension(self, extension):
        folder = os.environ.get("LETHE_BUILD_DIR")
        if not folder:
            folder = os.path.abspath(os.path.join(self.build_temp, "cmake"))
            ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
            subprocess.run(["cmake", "-S", ROOT, "-B", folder, *ninja, "-DCMAKE_BUILD_TYPE=Release",
                            "-DLETHE_TESTS=OFF", "-DLETHE_BENCH=OFF", "-DLETHE_PROGRAMS=OFF",
                            f"-DLETHE_PYTHON={sys.executable}"], check=True)
            jobs = os.environ.get("JOBS") or str(os.cpu_count() or 1)
            subprocess.run(["cmake", "--build", folder, "--target", "lethe_python", "-j", jobs],
                           check=True)
        built = os.path.join(folder, "python", "package", "lethe", "_lethe.abi3.so")
        target = self.get_ext_fullpath(extension.name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(built, target)
        subprocess.run(["strip", "--strip-unneeded", target], check=False)


class SdistWithSources(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        target = os.path.join(base_dir, "lethe-source")
        leave_out = shutil.ignore_patterns("__pycache__", "tests", "build", "*.egg-info", "dist",
                                           "lethe-source")
        for name in SOURCES:
            source = os.path.join(ROOT, name)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(target, name), ignore=leave_out)
            else:
                os.makedirs(target, exist_ok=True)
                shutil.copy2(source, target)


setup(
    version=VERSION,
    ext_modules=[Extension("lethe._lethe", sources=[], py_limited_api=True)],
    cmdclass={"build_ext": BuildWithCMake, "sdist": SdistWithSources},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
