#!/bin/bash
# Runs each fuzz target for some seconds, from its stored corpus.
# usage: tools/fuzz.sh SECONDS [TARGET...]     (after tools/build.sh fuzz all)
#
# New inputs that reach new code are kept in build/fuzz/corpus/TARGET, for the next run; the
# stored corpus in fuzz/corpus/TARGET is only read. An input that crashes is kept in
# build/fuzz/crashes: once the bug is fixed, it belongs in the stored corpus.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
if [ $# -eq 0 ]; then
    for program in build/fuzz/fuzz_*; do
        if [ -f "$program" ] && [ -x "$program" ]; then set -- "$@" "${program##*/fuzz_}"; fi
    done
fi
if [ $# -eq 0 ]; then
    echo "lethe: no fuzz targets in build/fuzz" >&2
    exit 1
fi
mkdir -p build/fuzz/crashes
for target in "$@"; do
    mkdir -p "build/fuzz/corpus/$target"
    stored=()
    [ ! -d "fuzz/corpus/$target" ] || stored=("fuzz/corpus/$target")
    echo "== $target, $seconds s"
    log=build/fuzz/$target.log
    if ! "build/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="build/fuzz/crashes/$target-" \
        "build/fuzz/corpus/$target" "${stored[@]}" >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "lethe: fuzzing $target found something; the input is in build/fuzz/crashes" >&2
        exit 1
    fi
    grep -E 'DONE|number_of_executed_units|new_units_added' "$log"
done
