#!/bin/bash
# Builds the project and runs its tests.
# usage: tools/test.sh day|all|long
#
#   day    release only: every test, at its daily size
#   all    what takes longer: larger sizes of the release's tests; the other builds and their tests;
#          and the mutants, which show that the tests notice the mistakes they were written for
#   long   the tests labelled "long", the slowest ones
#
# The builds:
#   release   gcc, as shipped
#   asan      address and undefined-behaviour sanitizers: every test except those of packaging
#   tsan      thread sanitizer: the tests labelled "threads"
#   fuzz      clang and libFuzzer: replays each fuzz target's corpus
# And clang looks at every file of the release, for the second opinion of its warnings.
#
# The last line sums up all runs; the exit status is 1 if a test failed, or if none ran. With
# LETHE_TEST_AGAIN set, up to three tests of a run that failed are run once more, alone; those that
# pass then are reported as unsteady.
set -eu
cd "$(dirname "$0")/.."
size=${1:-day}
# More tests than cores: many wait for disks, servers and leases most of the time.
jobs=$((${JOBS:-$(nproc)} + 5))
# The time limit, in seconds per test, is only there to end one that hangs.
limit=900
passed=0
failed=0

# Tests of programs make thousands of small stores and servers, each of which waits for the disk.
# Where there is room in memory they get their folders there.
memory=/dev/shm
if [ "$size" != long ] && [ -z "${PYTEST_DEBUG_TEMPROOT:-}" ] && [ -w $memory ] &&
    [ "$(df --output=avail -k $memory 2>/dev/null | tail -n 1)" -gt 4000000 ]; then
    PYTEST_DEBUG_TEMPROOT=$(mktemp -d $memory/lethe-tests.XXXXXX)
    export PYTEST_DEBUG_TEMPROOT
    # The daily sizes of unit tests go there, too; their larger sizes and the sanitizers have the disk.
    if [ "$size" = day ]; then
        TMPDIR=$PYTEST_DEBUG_TEMPROOT
        export TMPDIR
    fi
    trap 'rm -rf "$PYTEST_DEBUG_TEMPROOT"' EXIT
fi

# The OpenCL device of the tests is the CPU. Its driver asks the system for its memory, and ends the
# process where /sys is not mounted; so it is told.
if [ ! -d /sys/devices/system/cpu ]; then
    HWLOC_SYNTHETIC="numa:1 core:$(nproc) pu:1"
    export HWLOC_SYNTHETIC
fi

# The thread sanitizer of gcc 12 cannot start where the kernel randomises addresses widely.
wrapper=()
fixed_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
    fixed_addresses=(setarch "$(uname -m)" -R)
fi

# Builds one preset.
build() {
    local preset=$1 target=$2 start=$SECONDS
    tools/build.sh "$preset" "$target"
    echo "$preset: built in $((SECONDS - start)) s"
}

# Adds one run to the sums.
add() {
    local name=$1 total=$2 bad=$3 seconds=$4
    passed=$((passed + total - bad))
    failed=$((failed + bad))
    echo "$name: $((total - bad)) passed, $bad failed, in $seconds s"
}

# Shorter traces of allocations: fewer of them are made for each program that starts.
run_asan() {
    wrapper=(env "ASAN_OPTIONS=malloc_context_size=6:${ASAN_OPTIONS:-}")
    run asan "$@"
    wrapper=()
}

# Runs tests of one preset, and sets status, bad and total.
ctest_run() {
    local preset=$1 log=$2
    shift 2
    status=0
    # Tests interrupt programs; whoever started this one in the background may ignore that signal.
    "${wrapper[@]}" env --default-signal=INT,QUIT ctest --preset "$preset" --timeout "$limit" "$@" >"$log" 2>&1 || status=$?
    # "97% tests passed, 1 tests failed out of 33"; absent when no test matched
    read -r bad total < <(sed -n 's/.*tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log") || {
        bad=0
        total=0
    }
}

# Runs up to three tests that failed once more, alone, and names those that pass then. They have a
# defect all the same: it is in the output, and what else was tested is not thrown away for it.
run_again() {
    local preset=$1 log=build/$1/again.log first_bad=$bad first_total=$total first_status=$status
    local names
    names=$(sed -n 's/^[[:space:]]*[0-9]* - \([^ ]*\) (.*)$/\1/p' "build/$preset/ctest.log" | tr '\n' ' ')
    ctest_run "$preset" "$log" --rerun-failed
    if [ "$status" -eq 0 ] && [ "$total" -eq "$first_bad" ]; then
        echo "$preset: UNSTEADY, failed among the others and passed alone: $names"
        bad=0
    else
        cat "$log"
        status=$first_status bad=$first_bad
    fi
    total=$first_total
}

# Runs one preset's tests.
run() {
    local preset=$1 log=build/$1/ctest.log total bad status start=$SECONDS
    shift
    ctest_run "$preset" "$log" "$@" -j "$jobs"
    if [ "$status" -ne 0 ]; then
        cat "$log"
        [ "$bad" -gt 0 ] || bad=1 # ctest itself failed
        [ "$total" -ge "$bad" ] || total=$bad
        if [ -n "${LETHE_TEST_AGAIN:-}" ] && [ "$bad" -le 3 ]; then run_again "$preset"; fi
    fi
    sed -n '/^The following tests did not run:/,/^$/p' "$log"
    add "$preset" "$total" "$bad" $((SECONDS - start))
}

# RocksDB is not compiled with the thread sanitizer, so what happens in there looks like races.
run_tsan() {
    wrapper=("${fixed_addresses[@]}" env TSAN_OPTIONS=ignore_noninstrumented_modules=1)
    run tsan "$@" -L threads --no-tests=ignore
    wrapper=()
}

run_mutants() {
    local log=build/mutants.log found bad start=$SECONDS
    tools/mutants.py --jobs $((${JOBS:-$(nproc)} + 1)) >"$log" 2>&1 || cat "$log"
    read -r found bad < <(sed -n 's/^mutants: \([0-9]*\) found, \([0-9]*\) not found$/\1 \2/p' "$log") || {
        found=0
        bad=1
    }
    add mutants $((found + bad)) "$bad" $((SECONDS - start))
}

# Shows the release's files to clang.
run_clang() {
    local log=build/clang.log clean bad start=$SECONDS
    tools/clang.py --jobs "${JOBS:-$(nproc)}" >"$log" 2>&1 || cat "$log"
    read -r clean bad < <(sed -n 's/^clang: \([0-9]*\) clean, \([0-9]*\) not clean$/\1 \2/p' "$log") || {
        clean=0
        bad=1
    }
    add clang $((clean + bad)) "$bad" $((SECONDS - start))
}

build release all
case $size in
day)
    run release -LE 'large|long' --no-tests=error
    ;;
all)
    build asan all
    build tsan thread_tests
    build fuzz fuzz_targets
    run_clang
    run release -L large --no-tests=error
    run_asan -LE 'large|long' --no-tests=error
    run fuzz --no-tests=error
    run_tsan -LE 'large|long'
    run_mutants
    ;;
long)
    limit=14400
    build asan all
    run release -L long --no-tests=ignore
    run asan -L long --no-tests=ignore
    ;;
*)
    echo "usage: tools/test.sh day|all|long" >&2
    exit 2
    ;;
esac

echo "lethe: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
