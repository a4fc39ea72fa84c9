#!/bin/bash
# Makes the documentation: a site that can be searched, with the reference of the C headers in it.
# usage: tools/docs.sh          writes build/docs/html/index.html; needs the release build
#        tools/docs.sh api      the reference of the headers only, build/docs/html/api/index.html
#
# Warnings of Doxygen and Sphinx are errors, and so are an exported function without a comment, a
# link that leads nowhere, and a page that would load something from the network.
set -eu
cd "$(dirname "$0")/.."
LETHE_VERSION=$(sed -n 's/^#define LETHE_VERSION "\(.*\)"$/\1/p' include/lethe/version.h)
export LETHE_VERSION
# The distribution's own Python has Sphinx; another python3 may be earlier in PATH.
python=python3
[ ! -x /usr/bin/python3 ] || python=/usr/bin/python3

rm -rf build/docs
mkdir -p build/docs/html
# Doxygen passes the filter's messages on, but not its exit status.
if ! doxygen docs/api/Doxyfile >build/docs/doxygen.log 2>&1 || [ -s build/docs/doxygen.log ]; then
    cat build/docs/doxygen.log >&2
    echo "lethe: the headers' comments have mistakes" >&2
    exit 1
fi
if [ "${1:-}" = api ]; then
    echo "build/docs/html/api/index.html"
    exit 0
fi
$python tools/build_site.py
$python tools/check_site.py build/docs/html
echo "build/docs/html/index.html"
