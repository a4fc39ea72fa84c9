#!/bin/bash
# Shows Lethe at work on a generated stream, and checks the answers against the truth.
# usage: tools/run.sh     (after tools/build.sh release product)
#
# The story is the first paper's experiment: senders that get no answer in time send an event again,
# here 6% of five million. Adding up all lines counts too much. Lethe recognises the duplicates, even
# when it is killed in the middle and run again.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/build/release:$PATH
export LC_ALL=C
rm -rf build/run
mkdir -p build/run
cd build/run

events=5M
retries=6%

# Prints a command and runs it; with "> FILE" at its end the output goes there.
show() {
    local words=("$@") last=$(($# - 2))
    echo
    echo "\$ ${words[*]}"
    if [ $# -gt 2 ] && [ "${words[last]}" = ">" ]; then
        "${words[@]:0:last}" >"${words[last + 1]}"
    else
        "${words[@]}"
    fi
}

echo "Five million clicks arrive; $retries of the lines are retries of a click that had already arrived."
show lethe sample events --count $events --retries $retries --truth truth.tsv ">" clicks.tsv
head -n 2 clicks.tsv
echo "..."

echo
echo "Count them, and kill the process after a second. What was acknowledged is on disk; the next run continues there."
echo
echo "\$ timeout -s KILL 1 lethe count --db clicks clicks.tsv"
# The same as timeout, which would not wait until the process is gone (on a busy disk that takes a
# moment); and the shell would report the kill in its own words.
{
    lethe count --db clicks clicks.tsv &
    counting=$!
    sleep 1
    kill -KILL $counting || true
    wait $counting || true
} 2>killed.log
show lethe count --db clicks clicks.tsv
echo
echo "A sender that is not sure sends the last million again:"
echo
echo "\$ tail -n 1000000 clicks.tsv | lethe count --db clicks"
tail -n 1000000 clicks.tsv | lethe count --db clicks
show lethe top --db clicks -n 3
show lethe stat --db clicks

lethe list --db clicks >counted.tsv
awk -F '\t' '{ sum[$2] += $3 } END { for (key in sum) print key "\t" sum[key] }' clicks.tsv | sort >summed.tsv

echo
echo "Compared with the truth:"
row() { printf '%-28s %12s %10s %16s\n' "$@"; }
total() { awk -F '\t' '{ sum += $2 } END { printf "%.0f", sum }' "$1"; }
# Counters that differ from the truth, or are in only one of the two.
wrong() { join -t $'\t' -a 1 -a 2 -e none -o 0,1.2,2.2 "$1" truth.tsv | awk -F '\t' '$2 != $3' | wc -l; }
truth=$(total truth.tsv)
excess() { awk -v sum="$(total "$1")" -v truth="$truth" 'BEGIN { printf "%+.4f%%", 100 * (sum / truth - 1) }'; }
row "" "total" "off by" "wrong counters"
row "the truth" "$truth" "" "of $(wc -l <truth.tsv)"
row "every line added up (awk)" "$(total summed.tsv)" "$(excess summed.tsv)" "$(wrong summed.tsv)"
row "lethe" "$(total counted.tsv)" "$(excess counted.tsv)" "$(wrong counted.tsv)"
if [ "$(wrong counted.tsv)" -ne 0 ]; then
    echo "lethe: that is not what was promised" >&2
    exit 1
fi
