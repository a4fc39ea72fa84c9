#!/bin/bash
# Builds the project in every way that finds mistakes and runs the tests in each.
# usage: tools/test.sh [long]
#
#   release   gcc, as shipped: every test
#   asan      address and undefined-behaviour sanitizers: every test but those of packaging
#   tsan      thread sanitizer: the tests labelled "threads"
#   fuzz      clang and libFuzzer: replays each fuzz target's corpus
#   clang     compiled only, for the second opinion of its warnings
#
# Tests labelled "long" are left out, unless "long" is asked for: then only they run. The last
# line sums up all runs; the exit status is 1 if a test failed, or if none ran.
set -eu
cd "$(dirname "$0")/.."
# Two tests more than cores: some wait for disks and servers.
jobs=$((${JOBS:-$(nproc)} + 2))
# The time limit, in seconds a test, is only there to end one that hangs.
selection=(-LE long --timeout 300 --no-tests=error)
[ "${1:-}" != long ] || selection=(-L long --timeout 7200 --no-tests=ignore)
passed=0
failed=0

# The thread sanitizer of gcc 12 cannot start where the kernel randomises addresses widely.
fixed_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
    fixed_addresses=(setarch "$(uname -m)" -R)
fi

# Runs one preset's tests and adds its summary to the sums.
run() {
    local preset=$1 log=build/$1/ctest.log total bad status=0 start=$SECONDS
    shift
    "${wrapper[@]}" ctest --preset "$preset" "$@" -j "$jobs" >"$log" 2>&1 || status=$?
    # "97% tests passed, 1 tests failed out of 33"; absent when no test matched
    read -r bad total < <(sed -n 's/.*tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log") || {
        bad=0
        total=0
    }
    if [ "$status" -ne 0 ]; then
        cat "$log"
        [ "$bad" -gt 0 ] || bad=1 # ctest itself failed
        [ "$total" -ge "$bad" ] || total=$bad
    fi
    sed -n '/^The following tests did not run:/,/^$/p' "$log"
    passed=$((passed + total - bad))
    failed=$((failed + bad))
    echo "$preset: $((total - bad)) passed, $bad failed, in $((SECONDS - start)) s"
}

presets="release asan tsan fuzz"
[ "${1:-}" = long ] || presets="$presets clang"
for preset in $presets; do
    start=$SECONDS
    target=all
    case $preset in
    tsan) target=thread_tests ;;
    fuzz) target=fuzz_targets ;;
    esac
    tools/build.sh "$preset" "$target"
    echo "$preset: built in $((SECONDS - start)) s"
done

wrapper=()
for preset in release asan fuzz; do
    run "$preset" "${selection[@]}"
done
# RocksDB is not compiled with it, so what happens in there looks like races.
wrapper=("${fixed_addresses[@]}" env TSAN_OPTIONS=ignore_noninstrumented_modules=1)
run tsan "${selection[@]}" -L threads --no-tests=ignore

echo "lethe: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
