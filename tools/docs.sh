#!/bin/bash
# Makes the API reference from the public headers.
# usage: tools/docs.sh     writes build/docs/html/index.html
#
# A warning of Doxygen is an error, and so is an exported function without a comment.
set -eu
cd "$(dirname "$0")/.."
LETHE_VERSION=$(sed -n 's/^#define LETHE_VERSION "\(.*\)"$/\1/p' include/lethe/version.h)
export LETHE_VERSION
rm -rf build/docs
mkdir -p build/docs
# Doxygen passes the filter's messages on, but not its exit status.
if ! doxygen docs/api/Doxyfile >build/docs/doxygen.log 2>&1 || [ -s build/docs/doxygen.log ]; then
    cat build/docs/doxygen.log >&2
    echo "lethe: the headers' comments have mistakes" >&2
    exit 1
fi
echo "build/docs/html/index.html"
