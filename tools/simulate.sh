#!/bin/bash
# Runs the simulators on new seeds: tests/simulation/README.md says what they are.
# usage: tools/simulate.sh SECONDS [NAME...]     (after tools/build.sh release all)
#
# The named simulators, or all of them, share the time. The first failure ends the run: it prints the
# seed and a shortened list of steps, which stay in build/release/simulate-NAME.log.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
tests=tests/simulation
build=build/release
export LETHE_SOURCE_DIR=$PWD LETHE_BUILD_DIR=$PWD/$build LETHE_BIN_DIR=$PWD/$build

# The command that runs a simulator; nothing for one that this machine can't run.
command_of() {
    case $1 in
    store-inside) echo "$build/tests/test_simulate_store" ;;
    store-outside) echo "/usr/bin/python3 -B $tests/store_outside/simulate.py" ;;
    module-inside) echo "$build/tests/test_simulate_module $build/tests/lethe_simulated.so" ;;
    module-outside)
        if command -v redis-server >/dev/null; then echo "/usr/bin/python3 -B $tests/module_outside/simulate.py"; fi
        ;;
    *)
        echo "lethe: there is no simulator $1" >&2
        exit 2
        ;;
    esac
}

[ $# -gt 0 ] || set -- store-inside store-outside module-inside module-outside
share=$((seconds / $# > 0 ? seconds / $# : 1))
for name in "$@"; do
    read -r -a program <<<"$(command_of "$name")"
    if [ ${#program[@]} -eq 0 ]; then
        echo "== $name: not on this machine"
        continue
    fi
    echo "== $name, $share s"
    # Steps interrupt programs; whoever started this one in the background may ignore that signal.
    if ! env --default-signal=INT,QUIT "${program[@]}" --seconds "$share" >"$build/simulate-$name.log" 2>&1; then
        tail -n 80 "$build/simulate-$name.log"
        echo "lethe: $name found something; see $build/simulate-$name.log" >&2
        exit 1
    fi
    tail -n 1 "$build/simulate-$name.log"
done
