#!/bin/bash
# Shows Lethe at work on a stream that it generates, and checks the answers against the truth.
# usage: tools/run.sh     (after tools/build.sh release product)
#
# The story: two servers took orders yesterday, and each kept a filter of the ids it saw. Today's
# stream has new orders and retries of yesterday's. The filters tell them apart in a fraction of
# the memory that the ids would take; sort and comm, which keep them all, tell how well.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/build/release:$PATH
export LC_ALL=C
rm -rf build/run
mkdir -p build/run
cd build/run

error=0.01
orders=200000 # yesterday, on both servers together
lines=300000  # today; every third is a retry

# The i-th id: a bijection of 32-bit numbers, so that no two are equal and they look random.
id='function id(i) { return sprintf("order-%010.0f", (i * 2654435761) % 4294967296) }'
awk -v n=$orders "$id"' BEGIN { for (i = 1; i <= n; i++) print id(i) > (i % 2 ? "north.txt" : "south.txt") }'
awk -v n=$lines -v old=$orders "$id"' BEGIN { for (i = 1; i <= n; i++) print id(i % 3 ? old + i : i / 3) }' >today.txt

# Prints a command and runs it; with "> FILE" at its end the output goes there.
show() {
    local words=("$@") last=$(($# - 2))
    echo
    echo "\$ ${words[*]}"
    if [ "${words[last]}" = ">" ]; then
        "${words[@]:0:last}" >"${words[last + 1]}"
    else
        "${words[@]}"
    fi
}

echo "Yesterday $orders orders came in, on two servers. Today's stream has $lines lines: new orders,"
echo "and retries of yesterday's. Which are which?"
for server in north south; do
    show lethe filter build --kind blocked --capacity $orders --error $error --out $server.lethe $server.txt
done
show lethe filter merge --out blocked.lethe north.lethe south.lethe
show lethe filter info blocked.lethe
show lethe filter test --count blocked.lethe today.txt
show lethe filter test blocked.lethe today.txt ">" retries.blocked
show lethe filter test --invert blocked.lethe today.txt ">" new.blocked
echo
echo "The same with the classical layout: smaller, and slower."
show lethe filter build --kind bloom --capacity $orders --error $error --out classic.lethe north.txt south.txt
show lethe filter test classic.lethe today.txt ">" retries.classic
show lethe filter test --invert classic.lethe today.txt ">" new.classic

sort north.txt south.txt >yesterday.sorted
sort today.txt >today.sorted
comm -12 today.sorted yesterday.sorted >retries.true
comm -23 today.sorted yesterday.sorted >new.true
new=$(wc -l <new.true)

echo
echo "Against the truth, by sort and comm: $(wc -l <retries.true) retries, $new new orders."
row() { printf '%-10s %10s %20s %28s\n' "$@"; }
kibibytes() { cat "$@" | wc -c | awk '{ printf "%.0f KiB", $1 / 1024 }'; }
row "" "kept" "retries called new" "new orders called retries"
row "the ids" "$(kibibytes north.txt south.txt)" 0 0
status=0
for kind in blocked classic; do
    missed=$(sort new.$kind | comm -12 - retries.true | wc -l)
    mistaken=$(sort retries.$kind | comm -12 - new.true | wc -l)
    answered=$(cat retries.$kind new.$kind | wc -l)
    row $kind "$(kibibytes $kind.lethe)" "$missed" \
        "$mistaken ($(awk -v n="$mistaken" -v of="$new" 'BEGIN { printf "%.2f%%", 100 * n / of }'))"
    # Never a false negative; of false positives, the error asked for and what chance may add.
    if [ "$missed" -ne 0 ] || [ "$answered" -ne $lines ] ||
        awk -v n="$mistaken" -v of="$new" -v e=$error 'BEGIN { exit !(n > 1.2 * e * of) }'; then
        status=1
    fi
done
row "promised" "" 0 "about $(awk -v e=$error -v of="$new" 'BEGIN { printf "%d (%.2f%%)", e * of, 100 * e }')"
if [ $status -ne 0 ]; then
    echo "lethe: that is not what was promised" >&2
fi
exit $status
