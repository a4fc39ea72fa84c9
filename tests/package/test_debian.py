"""Goal: debian/ agrees with the tree, so that the packages do not fail after a change elsewhere.

Method: compare its lists with what they list: versions, public headers, exported functions, what the
build needs, what the programs are linked with, what documents link to. Show that the check of the symbols
would notice a change. Run what happens when a package is purged, in a folder of the test's own.
Building and installing the packages is test_deb.py, which takes long."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from installation import CPP_HEADERS, HEADERS, SOURCE, soversion, version

sys.path.insert(0, str(SOURCE / "tools"))
import check_docs  # noqa: E402  pylint: disable=wrong-import-position

DEBIAN = SOURCE / "debian"


def read(name):
    return (DEBIAN / name).read_text(encoding="utf-8")


def paragraphs():
    """The paragraphs of debian/control, as dictionaries."""
    found = []
    for text in read("control").strip().split("\n\n"):
        fields = re.findall(r"^([A-Za-z-]+):((?:.*)(?:\n .*)*)", text, re.MULTILINE)
        found.append({name: value.strip() for name, value in fields})
    return found


def binaries():
    return [paragraph["Package"] for paragraph in paragraphs()[1:]]


def names_in(field):
    return re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9.+-]*)", field)


def test_the_changelog_has_the_version_of_the_headers():
    latest = re.match(r"lethe \((.*)-0lethe(\d+)\) ", read("changelog"))
    assert latest.group(1) == version()


def test_the_libraries_are_called_by_their_soversion():
    for part in ("", "-store", "-leveldb", "-opencl"):
        assert f"liblethe{part}{soversion()}" in binaries()
        assert f"liblethe{part}-dev" in binaries()


def test_every_list_belongs_to_a_package():
    for path in DEBIAN.glob("*.*"):
        stem, _, kind = path.name.rpartition(".")
        if kind in ("install", "symbols", "docs", "examples", "postrm"):
            assert stem in binaries(), f"{path.name} belongs to no package"


def test_every_header_is_in_one_development_package():
    listed = []
    for path in DEBIAN.glob("*-dev.install"):
        listed += re.findall(r"^usr/include/lethe/(\S+)$", path.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted([header.name for header in HEADERS + CPP_HEADERS] + ["leveldb.hpp"])


def test_the_symbols_are_those_of_the_headers(tmp_path):
    check = [sys.executable, "tools/deb_symbols.py", "check"]
    done = subprocess.run(check, cwd=SOURCE, text=True, check=False, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, ""), "run tools/deb_symbols.py"
    # A new function is noticed.
    for folder in ("tools", "debian", "include"):
        shutil.copytree(SOURCE / folder, tmp_path / folder)
    with open(tmp_path / "include/lethe/window.h", "a", encoding="utf-8") as header:
        header.write("LETHE_API void lethe_window_new_function(void);\n")
    done = subprocess.run(check, cwd=tmp_path, text=True, check=False, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (
        1, f"debian/liblethe{soversion()}.symbols: differs from the headers\n")
    subprocess.run(check[:-1], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0


def test_setup_installs_what_the_packages_are_built_with():
    table = re.search(r"<<'TABLE'\n(.*?)^TABLE", (SOURCE / "tools/setup.sh").read_text(),
                      re.DOTALL | re.MULTILINE).group(1)
    rows = [line.split()[:2] for line in table.splitlines()]
    installed = {name for name, uses in rows if {"run", "deb"} & set(uses.split(","))}
    needed = names_in(paragraphs()[0]["Build-Depends"])
    virtual = {"debhelper-compat": "debhelper", "dh-sequence-python3": "dh-python"}
    assert {virtual.get(name, name) for name in needed} <= installed
    # And the other way round: whatever the build looks for is named.
    libraries = {name for name, uses in rows if uses == "run" and name.endswith("-dev")} - {"libc6-dev"}
    assert libraries <= set(needed)


def test_the_tests_of_the_packages_depend_on_packages_that_there_are():
    for paragraph in read("tests/control").strip().split("\n\n"):
        test = re.search(r"^Tests: (.*)$", paragraph, re.MULTILINE).group(1)
        assert os.access(DEBIAN / "tests" / test, os.X_OK)
        needed = names_in(re.search(r"^Depends:((?:.*)(?:\n .*)*)", paragraph, re.MULTILINE).group(1))
        assert [name for name in needed if "lethe" in name]
        assert all(name in binaries() for name in needed if "lethe" in name)


def test_the_session_of_the_packages_runs_with_the_build(monkeypatch, tmp_path):
    from installation import BUILD
    monkeypatch.setenv("PATH", f"{BUILD}:{os.environ['PATH']}")
    monkeypatch.setenv("AUTOPKGTEST_TMP", str(tmp_path))
    done = subprocess.run([DEBIAN / "tests/session"], text=True, check=False, stdout=subprocess.PIPE)
    assert done.returncode == 0 and "print what the README says" in done.stdout


def installed_documents():
    """What lethe-doc has, by its path in the tree: below usr/share/doc/lethe it has the same."""
    found = set(read("lethe-doc.docs").split())
    for line in read("lethe-doc.install").splitlines():
        pattern, folder = line.split()
        assert folder == "usr/share/doc/lethe/docs" and pattern.startswith("docs/")
        places = list(SOURCE.glob(pattern))
        assert places, f"{pattern} is nowhere"
        for place in places:
            files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
            found |= {str(path.relative_to(SOURCE)) for path in files}
    return found


def test_links_between_installed_documents_lead_somewhere():
    """Those to the sources do not: the documents are installed without them."""
    files = installed_documents()
    folders = {str(parent) for name in files for parent in pathlib.PurePath(name).parents}
    as_they_are = re.findall(r"-X(\S+)", re.search(r"dh_compress (.*)", read("rules")).group(1))
    checked = 0
    for name in sorted(files):
        if not name.endswith(".md"):
            continue
        for number, line, code in check_docs.lines_of((SOURCE / name).read_text(encoding="utf-8")):
            for target in [] if code else check_docs.LINK.findall(line):
                place = os.path.normpath(os.path.join(os.path.dirname(name), target.partition("#")[0]))
                if place.split("/")[0] != "docs" and place not in files:
                    continue
                checked += 1
                wrong = check_docs.wrong_link(str(SOURCE), name, target, files, folders)
                assert wrong is None, f"{name}:{number}: {wrong}; see debian/lethe-doc.install"
                # dh_compress would put .gz after the name of what is large.
                assert place.endswith((*as_they_are, ".png")) or (SOURCE / place).stat().st_size <= 4096 or place in folders, place
    assert checked > 200


def test_rules_of_some_packages_are_left_out_where_these_are_not_built():
    """dpkg-buildpackage -A builds only packages for all architectures, and -B only the others."""
    kinds = {one["Package"]: one["Architecture"] for one in paragraphs()[1:]}
    rules = re.findall(r"^([\w-]+):\n((?:(?:\t.*|\w.*if.*)\n?)+)", read("rules"), re.MULTILINE)
    checked = 0
    for target, recipe in rules:
        for package in set(re.findall(r"debian/([a-z0-9.+-]+)/", recipe)) & set(kinds):
            assert target.endswith("-indep" if kinds[package] == "all" else "-arch"), target
            checked += 1
    assert checked > 0


def purge(root):
    """Runs what is run after the files of the package are gone, with folders below root in place of /var/lib."""
    script = read("lethe.postrm").replace("/var/lib/", f"{root}/")
    assert script.count(str(root)) > 3
    subprocess.run(["sh", "-c", script, "postrm", "purge"], check=True)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


@pytest.mark.parametrize("is_private", [True, False])
def test_a_purge_takes_the_store_of_the_service_and_nothing_else(tmp_path, is_private):
    place = tmp_path / "private/lethe" if is_private else tmp_path / "lethe"
    for name in ("store", "clicks", "backups"):
        (place / name).mkdir(parents=True)
        (place / name / "file").write_text("x")
    if is_private:  # as systemd has it for a unit with DynamicUser
        (tmp_path / "lethe").symlink_to("private/lethe")
    purge(tmp_path)
    assert sorted(path.name for path in (tmp_path / "lethe").iterdir()) == ["backups", "clicks"]
    assert (tmp_path / "lethe/clicks/file").read_text() == "x" and (tmp_path / "lethe/backups/file").exists()
    # Without those, nothing is left, and there is nothing to complain about the next time.
    shutil.rmtree(place / "clicks")
    shutil.rmtree(place / "backups")
    assert purge(tmp_path) == [] and purge(tmp_path) == []


def test_a_purge_does_not_follow_a_link_in_place_of_the_store(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file").write_text("x")
    (tmp_path / "lethe").mkdir()
    (tmp_path / "lethe/store").symlink_to(tmp_path / "elsewhere")
    assert purge(tmp_path) == ["elsewhere", "elsewhere/file"]


def test_other_ends_than_a_purge_take_nothing(tmp_path):
    (tmp_path / "lethe/store").mkdir(parents=True)
    script = read("lethe.postrm").replace("/var/lib/", f"{tmp_path}/")
    for why in ("remove", "upgrade", "failed-upgrade", "abort-install", "disappear"):
        subprocess.run(["sh", "-c", script, "postrm", why], check=True)
    assert (tmp_path / "lethe/store").is_dir()


@pytest.mark.parametrize("name", ["deb.sh", "deb_test.sh"])
def test_the_scripts_name_no_host(name):
    assert not re.search(r"https?://\w", (SOURCE / "tools" / name).read_text())
