/* scan_portable.c - scans JSON, eight bytes of a string at a time in a word, on any CPU.
 *
 * WHY     Below the lowest byte that is looked for, the subtractions below borrow nothing, so that
 *         byte is found exactly. Bytes above it may be found wrongly, and are not asked for. */
#include "events/scan.h"
#include "events/word.h"

/* The first byte from `at` on that ends plain text in a string: a quote, a backslash or a control
 * character. *high is not 0 if a byte before it is not ASCII. */
static inline const char *find_stop(const char *at, uint64_t *high) {
    const uint64_t tops = REPEATED(0x80);
    for (;; at += sizeof(uint64_t)) {
        uint64_t word = word_load(at);
        uint64_t quotes = word ^ REPEATED('"'), backslashes = word ^ REPEATED('\\');
        uint64_t stops =
            (((quotes - REPEATED(1)) & ~quotes) | ((backslashes - REPEATED(1)) & ~backslashes) |
             ((word - REPEATED(0x20)) & ~word)) &
            tops;
        if (stops == 0) {
            *high |= word & tops;
            continue;
        }
        *high |= word & tops & (stops - 1) & ~stops;
        return at + __builtin_ctzll(stops) / 8;
    }
}

#define SCAN scan_portable
#include "events/scan.inc.h"
