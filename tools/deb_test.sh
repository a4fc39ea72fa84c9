#!/bin/bash
# Installs the Debian packages of build/deb into a bare Debian 12, tries them, upgrades and purges them.
# usage: tools/deb_test.sh      as root; needs debootstrap, and a mirror
#
# The mirror, its keys and a proxy are those of this machine's apt. The bare system is made once, and
# kept in build/deb/root.tar. Everything happens in a copy of it, in name spaces of its own.
#
#   1  install what the packages depend on; list all files
#   2  install packages that are the same except for a lower version; make a store
#   3  upgrade; the store has its counters
#   4  run debian/tests: the README's session, C, C++, Python and Redis
#   5  remove, which keeps the configuration; purge, after which backups and other stores are there;
#      without these the files are those of step 1
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/deb
suite=bookworm
packages=("$folder"/*.deb)
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    echo "lethe: this needs root, and debootstrap" >&2
    exit 4
fi
if [ ! -e "${packages[0]}" ]; then
    echo "lethe: there are no packages in build/deb; run tools/deb.sh first" >&2
    exit 4
fi

# The mirror of this machine's apt that has the release itself.
mirror() {
    # shellcheck disable=SC2016 # apt fills it in
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
        awk -v suite="$suite" '$2 == suite { print $1; exit }'
}

if [ ! -f "$folder/root.tar" ]; then
    uri=$(mirror)
    [ -n "$uri" ] || {
        echo "lethe: this machine's apt knows no mirror of $suite" >&2
        exit 4
    }
    rm -rf "$folder/bare"
    debootstrap --variant=minbase "$suite" "$folder/bare" "$uri" >"$folder/debootstrap.log" 2>&1 || {
        tail -n 20 "$folder/debootstrap.log" >&2
        exit 4
    }
    tar -C "$folder/bare" -cf "$folder/root.tar.part" .
    mv "$folder/root.tar.part" "$folder/root.tar"
    rm -rf --one-file-system "$folder/bare"
fi

root=$folder/root
rm -rf --one-file-system "$root"
mkdir -p "$root"
tar -C "$root" -xf "$folder/root.tar"
rm -f "$root/etc/apt/sources.list"
for name in sources.list sources.list.d trusted.gpg.d keyrings apt.conf.d; do
    [ ! -e "/etc/apt/$name" ] || cp -r "/etc/apt/$name" "$root/etc/apt/"
done
cp -rn /usr/share/keyrings/. "$root/usr/share/keyrings/"
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service is started in here
chmod +x "$root/usr/sbin/policy-rc.d"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fast"
mkdir -p "$root/lethe/new" "$root/lethe/old" "$root/lethe/source"
cp -r debian README.md "$root/lethe/source/"

# The packages, and the same under a lower version.
version=$(dpkg-parsechangelog -S Version)
lower=${version%?}0
for package in "${packages[@]}"; do
    case $package in *-dbgsym_*) continue ;; esac
    cp "$package" "$root/lethe/new/"
    rm -rf "$folder/repack"
    dpkg-deb -R "$package" "$folder/repack"
    sed -i "s/$version/$lower/g" "$folder/repack/DEBIAN/control"
    dpkg-deb --root-owner-group -Znone -b "$folder/repack" "$root/lethe/old/" >/dev/null
done
rm -rf "$folder/repack"

cat >"$root/lethe/run" <<'INSIDE'
#!/bin/bash
# Runs in the bare system, with the versions as arguments.
set -euo pipefail
version=$1
lower=$2
cd /lethe
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root
apt() { apt-get -q -y -o Dpkg::Use-Pty=0 --no-install-recommends "$@" >>/lethe/apt.log 2>&1 || {
    tail -n 40 /lethe/apt.log
    echo "deb-test: apt-get $1 failed"
    exit 1
}; }
ours=$(for package in new/*.deb; do dpkg-deb -f "$package" Package; done)
# Everything except what changes by itself: apt's and dpkg's lists, caches, logs.
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /lethe -o -path /tmp -o -path /root \
        -o -path /var/cache -o -path /var/log -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /run \
        -o -name __pycache__ \) -prune -o -print | sort
}
# "All of ours have version $1."
expect() {
    local name found
    for name in $ours; do
        found=$(dpkg-query -W -f '${Version} ${db:Status-Status}' "$name")
        [ "$found" = "$1 installed" ] || { echo "deb-test: $name is $found"; exit 1; }
    done
}

apt update
needs=$(apt-get -s --no-install-recommends install ./new/*.deb | awk '$1 == "Inst" { print $2 }' | sort)
needs=$(comm -23 <(echo "$needs") <(echo "$ours" | sort))
# shellcheck disable=SC2086 # names are words
apt install $needs gcc g++ cmake ninja-build pkg-config redis-server redis-tools
files >before
echo "deb-test: a bare system with what the packages depend on"

apt install ./old/*.deb
expect "$lower"
cd /tmp
printf 'a1\tlikes\t3\n' | lethe count --quiet --db /tmp/store
cd /lethe
echo "deb-test: installed $lower"

apt install ./new/*.deb
expect "$version"
[ "$(lethe get --db /tmp/store likes)" = "$(printf 'likes\t3')" ]
printf 'a1\tlikes\t3\nb2\tlikes\t4\n' | lethe count --quiet --db /tmp/store
[ "$(lethe get --db /tmp/store likes)" = "$(printf 'likes\t7')" ]
[ -e /usr/share/man/man1/lethe.1.gz ]
[ -e /lib/systemd/system/lethe.service ] || [ -e /usr/lib/systemd/system/lethe.service ]
[ ! -e /etc/systemd/system/multi-user.target.wants/lethe.service ]
[ -e /usr/share/bash-completion/completions/lethe ] && [ -e /etc/lethe/redis.conf ]
echo "deb-test: upgraded to $version"

for test in session programs python redis python-once; do
    source/debian/tests/$test || { echo "deb-test: $test failed"; exit 1; }
done

# As the service leaves it, with a store of somebody else.
mkdir -p /var/lib/private/lethe/store /var/lib/private/lethe/backups
ln -s private/lethe /var/lib/lethe
printf 'a1\tclicks\t3\n' | lethe count --quiet --db /var/lib/lethe/clicks
lethe backup --quiet --db /var/lib/lethe/clicks --to /var/lib/lethe/backups
# shellcheck disable=SC2086
apt remove $ours
[ -e /etc/lethe/redis.conf ] && [ ! -e /usr/bin/lethe ] && [ -e /var/lib/lethe/store ]
# apt does not know packages any more that came from files; dpkg does.
# shellcheck disable=SC2086
dpkg --purge $ours >>/lethe/apt.log 2>&1
[ ! -e /var/lib/lethe/store ] || { echo "deb-test: purging left the store of the service"; exit 1; }
for kept in clicks backups; do
    [ -n "$(ls -A /var/lib/lethe/$kept 2>/dev/null)" ] || { echo "deb-test: purging took $kept away"; exit 1; }
done
rm -rf /tmp/store /var/lib/lethe /var/lib/private/lethe
rmdir --ignore-fail-on-non-empty /var/lib/private
files >after
diff before after || { echo "deb-test: purging left something behind, or took something away"; exit 1; }
echo "deb-test: purged, and nothing is left"
INSIDE
chmod +x "$root/lethe/run"

status=0
# The mounts are in a name space of their own, and vanish with it.
# shellcheck disable=SC2016 # the arguments are those of the inner shell
unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb http_proxy="${http_proxy:-}" \
        https_proxy="${https_proxy:-}" no_proxy="${no_proxy:-}" chroot "$1" /lethe/run "$2" "$3"
' _ "$root" "$version" "$lower" || status=$?
[ "$status" -ne 0 ] || rm -rf --one-file-system "$root"
exit "$status"
