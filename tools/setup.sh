#!/bin/bash
# Makes sure that the packages for one kind of work are installed.
# usage: tools/setup.sh run|test|lint|bench|docs|deb|all
#
# On Debian and its relatives it names the missing packages, each with its reason, and installs
# them with apt-get, as root or through sudo. If nothing is missing, it asks dpkg once and prints
# nothing.
#
# On another system, or without the right to install, it looks for what those packages contain,
# lists what it did not find, and continues if the work can be done without it.
set -eu

# The columns: the package; the kinds of work that need it (all kinds need what "run" needs); a
# command, C header or Python module that shows on other systems that it is there, in parentheses
# if the work can be done without it, or - if it comes with another package; and the reason.
table() {
    cat <<'TABLE'
gcc              run         cc              compiles everything
libc6-dev        run         stdio.h         the C library's headers
cmake            run         cmake           configures the build
ninja-build      run         ninja           runs the build
libxxhash-dev    run         xxhash.h        the hash under every filter, compiled in
liburing-dev     run         liburing.h      reads of many pages at once, for filters on disk
librocksdb-dev   run         rocksdb/c.h     the store under the counters
zlib1g-dev       run         zlib.h          reads gzip files
libzstd-dev      run         zstd.h          reads zstd files
libbz2-dev       run         bzlib.h         reads bzip2 files
liblzma-dev      run         lzma.h          reads xz files
libjansson-dev   run         jansson.h       reads what workloads print, for lethe paper; the peer of our JSON scanner
libleveldb-dev   run         (leveldb/c.h)   the host of the filter policy, liblethe_leveldb
ocl-icd-opencl-dev run       (CL/cl.h)       loads the drivers of devices, for liblethe_opencl
opencl-headers   run         -               its headers
pocl-opencl-icd  test        -               an OpenCL device that is the CPU, for the tests
libhiredis-dev   run         hiredis/hiredis.h  speaks to servers, for lethe count --redis
libmicrohttpd-dev run        microhttpd.h    speaks HTTP, for lethe serve
libssl-dev       run         openssl/ssl.h   TLS to those servers
openssl          test        openssl         makes certificates for the tests
libbloom-dev     bench,test  (bloom.h)       the peer that the Bloom benchmarks run beside ours
libsqlite3-dev   bench       (sqlite3.h)     a peer that counting is measured beside
redis-server     bench       (redis-server)  another one
wrk              bench       (wrk)           a generator of load, for lethe bench serve
pkg-config       bench,test  pkg-config      finds the benchmarks' peers; tests our own lethe.pc
clang            test        clang           the second compiler, and the one that has libFuzzer
libclang-rt-dev  test        -               clang's run-time libraries of libFuzzer and sanitizers
g++              test        c++             the public headers are tried from C++
libcmocka-dev    test        cmocka.h        the framework of the unit tests
libsimde-dev     test        (simde/x86/avx512.h)  runs the AVX-512 code on a CPU that lacks it
libxxhash0       test        -               the hash as a shared library, to compare ours with
python3          test,lint   python3         runs the tests from outside and the checks of the tree
python3-pytest   test        import:pytest   the framework of the tests from outside
python3-hypothesis test      import:hypothesis  makes up streams of events for the tests
python3-dev      deb,test,docs (python3-config) the interpreter's header, for the Python package
python3-setuptools deb,test  (import:setuptools)  packs the Python package
python3-wheel    test        (import:wheel)  the same
python3-pip      test        (import:pip)    builds and installs its wheel
python3-venv     test        (import:venv)   the empty environment that its wheel is tried in
python3-numpy    test        (import:numpy)  arrays for the Python package's tests
python3-pandas   test        (import:pandas) tables for its recipes
python3-scrapy   test        (import:scrapy) a crawler for its recipes
redis-server     bench,test  (redis-server)  the server that the module is tested and measured in
python3-redis    bench,test  (import:redis)  the client of those tests and measurements
zstd             test        (zstd)          makes compressed files for the tests
curl             test        (curl)          asks the server as its documents do
bzip2            test        (bzip2)         makes compressed files for the tests
xz-utils         test        (xz)            the same
ccache           test        (ccache)        compiles what mutants share once
zsh              test        (zsh)           tries the zsh completion
fish             test        (fish)          tries the fish completion
mandoc           test,lint   mandoc          checks the man pages
gnuplot-nox      test        (gnuplot)       draws the figures of lethe paper
clang-format     lint        clang-format    checks the format of the C files
clang-tidy       lint        clang-tidy      looks for mistakes in the C files
cppcheck         lint        cppcheck        looks for other mistakes in the C files
shellcheck       lint        shellcheck      looks for mistakes in the scripts
chromium         test        (chromium)      opens the live page of lethe serve, for its tests
dpkg-dev         deb         dpkg-buildpackage  packs the Debian packages
debhelper        deb         dh              builds what is in them
dh-python        deb         dh_python3      the same for the Python package
fakeroot         deb         fakeroot        packs files as root's
lintian          deb         lintian         looks for mistakes in the packages
debootstrap      deb         (debootstrap)   makes the bare system that they are tried in
doxygen          docs,test   (doxygen)       makes the API reference from the headers
python3-sphinx   docs,test   (import:sphinx) makes the site of the documentation
python3-myst-parser docs,test (import:myst_parser)  reads its pages, which are Markdown
furo             docs,test   (import:furo)   how the site looks
TABLE
}

wanted() { # the table's rows for one kind of work
    table | awk -v work="$1" '
        { n = split($2, uses, ",") }
        { for (i = 1; i <= n; i++)
              if (work == "all" || uses[i] == "run" || uses[i] == work) { print; next } }'
}

describe() { # rows, as a reader wants them
    awk '{ name = $1; $1 = $2 = $3 = ""; printf "  %-16s %s\n", name, substr($0, 4) }'
}

found() { # whether a row's third column is there
    case $1 in
    -) ;;
    import:*) python3 -c "import ${1#import:}" 2>/dev/null ;;
    *.h) printf '#include <stdarg.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <%s>\n' "$1" |
        cc -E -x c - >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# Instead of installing: names the given rows that were not found, and fails if the work cannot be
# done without one of them.
advise() {
    local why=$1 name uses evidence reason absent="" stop=0
    while read -r name uses evidence reason; do
        case $evidence in
        "("*) found "${evidence//[()]/}" && continue ;;
        *) found "$evidence" && continue || stop=1 ;;
        esac
        absent+="$name $uses $evidence $reason"$'\n'
    done
    [ -n "$absent" ] || exit 0
    {
        echo "lethe: $why, and these were not found (the names are Debian's):"
        printf %s "$absent" | describe
        [ $stop -eq 1 ] || echo "lethe: going on without them"
    } >&2
    exit $stop
}

work=${1:-}
case $work in
run | test | lint | bench | docs | deb | all) ;;
*)
    echo "usage: tools/setup.sh run|test|lint|bench|docs|deb|all" >&2
    exit 2
    ;;
esac

rows=$(wanted "$work")
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    advise "this system has no apt-get to install packages with" <<<"$rows"
fi

# dpkg-query fails if it does not know all of the names; only its list matters.
# shellcheck disable=SC2046 # package names are words
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $(awk '{ print $1 }' <<<"$rows") 2>/dev/null |
    awk '$2 == "installed" { print $1 }') || true
missing=$(awk 'NR == FNR { have[$1]; next } !($1 in have)' <(echo "$installed") - <<<"$rows")
[ -n "$missing" ] || exit 0

sudo=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        advise "only root may install packages and there is no sudo" <<<"$missing"
    fi
    sudo=(sudo)
fi

echo "lethe: installing packages for '$work':"
describe <<<"$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}
# shellcheck disable=SC2046 # package names are words
if ! { apt update && apt install --no-install-recommends $(awk '{ print $1 }' <<<"$missing"); } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "lethe: apt-get could not install all of that" >&2
    exit 1
fi
