"""Goal: the Debian packages can be built, installed, used, upgraded and purged.

Method: tools/deb.sh builds them and has lintian look at them; tools/deb_test.sh does the rest in a bare
Debian 12 of its own. It needs root, a mirror and the packages that `tools/setup.sh deb` installs."""

import os
import shutil
import subprocess

import pytest

from installation import SOURCE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another system")
@pytest.mark.skipif(not all(map(shutil.which, ("dpkg-buildpackage", "dh_python3", "lintian", "debootstrap"))),
                    reason="tools/setup.sh deb was not run")
def test_the_packages_in_a_bare_system():
    built = subprocess.run([SOURCE / "tools/deb.sh"], text=True, check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
    assert built.returncode == 0, built.stdout
    assert "lintian found no error and no warning" in built.stdout
    tried = subprocess.run([SOURCE / "tools/deb_test.sh"], text=True, check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
    if tried.returncode == 4:
        pytest.skip(tried.stdout)
    assert tried.returncode == 0, tried.stdout
    assert tried.stdout.endswith("deb-test: purged, and nothing is left\n")
