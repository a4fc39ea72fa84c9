#!/bin/bash
# Checks the source without running it, or formats the C files.
# usage: tools/lint.sh [format]
#
# Every check runs, even after one has failed; the last line names those that failed. A check
# prints only what it finds.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
failures=()

# The files of the given folders whose names match, NUL-separated. A folder may not exist yet.
find_in() {
    local name=$1 folder folders=()
    shift
    for folder in "$@"; do
        [ ! -d "$folder" ] || folders+=("$folder")
    done
    [ ${#folders[@]} -eq 0 ] || find "${folders[@]}" -name "$name" -type f -print0 | sort -z
}

c_files() {
    find_in '*.[ch]' include src structures cli server module plugins python examples tests bench fuzz
    find_in '*.cc' examples tests
    find_in '*.hpp' include plugins
}
ours() { find_in '*.c' src structures cli server module plugins python; }

if [ "${1:-}" = format ]; then
    c_files | xargs -0 -r clang-format -i
    exit 0
fi

# check NAME COMMAND...: runs one check and shows what it found
check() {
    local name=$1 start=$SECONDS status=0
    shift
    "$@" >"build/lint/$name.log" 2>&1 || status=$?
    if [ $status -ne 0 ]; then
        failures+=("$name")
        cat "build/lint/$name.log"
        echo "$name: failed, in $((SECONDS - start)) s"
    else
        echo "$name: ok, in $((SECONDS - start)) s"
    fi
}

# Folders of C files in which no line is longer than 100 columns, comments included.
narrow=(include src cli server module plugins python structures examples fuzz bench tests)
columns() {
    local long
    long=$({ find_in '*.[ch]' "${narrow[@]}"; find_in '*.hpp' include plugins; find_in '*.cc' examples tests; } |
        { xargs -0 -r grep -nHE '.{101}' || true; })
    [ -z "$long" ] || { echo "$long"; return 1; }
}

format() { c_files | xargs -0 -r clang-format --dry-run -Werror; }

# clang-tidy counts the warnings of system headers aloud; those lines are dropped. Nearly all of its
# time goes into the analyzer, which follows the paths through each function. It stops after so many
# states of one function; with its own number, LETHE_LINT_STATES=225000, it takes more than twice as
# long.
states=${LETHE_LINT_STATES:-50000}
tidy() {
    ours | xargs -0 -r -n 1 -P "$jobs" clang-tidy -p build/release --quiet --extra-arg=-Xclang \
        --extra-arg=-analyzer-config --extra-arg=-Xclang "--extra-arg=max-nodes=$states" 2>&1 |
        { grep -vE '^[0-9]+ warnings? generated\.$|^$' || true; }
}

# missingReturn: it does not see through the macros that give the interpreter's lock back.
cppcheck_all() {
    ours | xargs -0 -r cppcheck --quiet -j "$jobs" --std=c11 --enable=warning,performance,portability \
        --error-exitcode=1 --inline-suppr --suppress=missingIncludeSystem '--suppress=missingReturn:python/native/*' \
        -I include -I src -I cli -I module -I .
}

# Tests of the packages, and what they run when they are installed or removed: files that begin with #!/bin/sh.
debian_scripts() { { grep -rlZ '^#!/bin/sh' debian || true; } | sort -z; }

shell() {
    { find_in '*.sh' tools tests bench fuzz examples; find .ci -type f -print0; debian_scripts; } |
        xargs -0 -r shellcheck
}

man_pages() { find_in '*.1' build/release/man docs | xargs -0 -r mandoc -T lint -W warning; }

# The compile commands for clang-tidy, and the man pages, which the program writes itself.
tools/build.sh release product
mkdir -p build/lint

check format format
check columns columns
check text python3 tools/check_text.py
check docs python3 tools/check_docs.py
check layers python3 tools/check_layers.py
check shell shell
check man-pages man_pages
check cppcheck cppcheck_all
check clang-tidy tidy

if [ ${#failures[@]} -gt 0 ]; then
    echo "lethe: lint found something: ${failures[*]}"
    exit 1
fi
echo "lethe: lint found nothing"
