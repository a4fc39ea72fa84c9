#!/bin/bash
# Configures and builds one preset, quietly.
# usage: tools/build.sh PRESET product|all|TARGET
#
# "product" is what gets installed. It needs no test framework, so a build folder made for it
# leaves the tests out, until "all" adds them; then they stay, and "product" just does not
# build them.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
target=$2
folder=build/$preset
mkdir -p "$folder"

options=()
if [ "$target" = product ] && ! grep -qs '^LETHE_TESTS:BOOL=ON$' "$folder/CMakeCache.txt"; then
    options=(-DLETHE_TESTS=OFF)
fi
if ! cmake --preset "$preset" "${options[@]}" >"$folder/configure.log" 2>&1; then
    cat "$folder/configure.log" >&2
    echo "lethe: cannot configure the $preset build" >&2
    exit 1
fi

# On a terminal ninja shows its progress in one line; elsewhere that would be one line per file.
build=(cmake --build "$folder" --target "$target" -j "${JOBS:-$(nproc)}")
if [ -t 1 ]; then
    "${build[@]}"
else
    "${build[@]}" -- --quiet | sed '/^ninja: no work to do\.$/d'
fi
