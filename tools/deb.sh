#!/bin/bash
# Builds the Debian packages of this tree, and has lintian look at them.
# usage: tools/deb.sh      writes build/deb/*.deb
#
# The source package is packed from the files that git knows (or all, in an archive of a release), at
# the time of debian/changelog, so that two runs pack the same. JOBS is how much runs at once. The
# packages are not signed.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/deb
version=$(sed -n 's/^#define LETHE_VERSION "\(.*\)"$/\1/p' include/lethe/version.h)
packaged=$(dpkg-parsechangelog -S Version)
if [ "${packaged%-*}" != "$version" ]; then
    echo "lethe: debian/changelog has version $packaged, the headers have $version" >&2
    exit 1
fi
time=$(dpkg-parsechangelog -S Timestamp)

# Everything that the packages are made of, except debian/ itself, as upstream's archive.
names() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' name; do
            [ ! -e "$name" ] || printf '%s\0' "$name"
        done
    else
        find . -path ./build -prune -o -type f -printf '%P\0'
    fi | LC_ALL=C sort -z -u
}

rm -rf "$folder/lethe-$version"
mkdir -p "$folder/lethe-$version"
rm -f "$folder"/*.deb "$folder"/lethe_*
{ names | grep -zv '^debian/' || true; } | tar --create --null --files-from=- --owner=root:0 --group=root:0 \
    --mtime="@$time" --transform="s,^,lethe-$version/," --xz -f "$folder/lethe_$version.orig.tar.xz"
tar -C "$folder" -xf "$folder/lethe_$version.orig.tar.xz"
cp -r debian "$folder/lethe-$version/"

start=$SECONDS
log=$folder/build.log
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-} parallel=${JOBS:-$(nproc)}"
if ! (cd "$folder/lethe-$version" && dpkg-buildpackage --no-sign -rfakeroot) >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "lethe: the packages could not be built: $log" >&2
    exit 1
fi
rm -rf "$folder/lethe-$version"
echo "deb: built in $((SECONDS - start)) s"
(cd "$folder" && ls -- *.deb)

# Root may run lintian here: what it unpacks is what was just packed.
if ! lintian --allow-root --info --pedantic --tag-display-limit 0 --fail-on error,warning \
    "$folder"/lethe_*_*.changes >"$folder/lintian.log" 2>&1; then
    cat "$folder/lintian.log" >&2
    echo "lethe: lintian found something" >&2
    exit 1
fi
echo "deb: lintian found no error and no warning"
