"""Lethe, installed into a prefix of its own and then moved, so that nothing works only because of a path
that was written when it was built."""

import pytest

from installation import install, run


@pytest.fixture(name="prefix", scope="module")
def fixture_prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    install(folder / "first")
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


@pytest.fixture(name="libdir", scope="module")
def fixture_libdir(prefix):
    return next(prefix.rglob("liblethe.a")).parent


@pytest.fixture(name="pkg_config", scope="module")
def fixture_pkg_config(libdir):
    def ask(*options, package="lethe"):
        return run("pkg-config", *options, package, PKG_CONFIG_LIBDIR=str(libdir / "pkgconfig")).split()
    return ask
