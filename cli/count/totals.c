/* totals.c - adds up outcomes and names them. */
#include "count/totals.h"

#include <inttypes.h>
#include <stdio.h>

enum { OUTCOMES = LETHE_OUTCOME_LIMITED + 1 };

static const char *const names[OUTCOMES] = {
    [LETHE_OUTCOME_APPLIED] = "applied",   [LETHE_OUTCOME_DUPLICATE] = "duplicates",
    [LETHE_OUTCOME_LATE] = "late",         [LETHE_OUTCOME_FUTURE] = "future",
    [LETHE_OUTCOME_OVERFLOW] = "overflow", [LETHE_OUTCOME_INVALID] = "invalid",
    [LETHE_OUTCOME_REFUSED] = "refused",   [LETHE_OUTCOME_MISMATCH] = "mismatched",
    [LETHE_OUTCOME_LIMITED] = "limited",
};
static const char unreadable[] = "unreadable";

void totals_count(struct count_totals *totals, lethe_outcome outcome) {
    bool is_late = outcome == LETHE_OUTCOME_APPLIED_LATE;
    totals->outcomes[is_late ? LETHE_OUTCOME_APPLIED : outcome]++;
    totals->applied_late += is_late;
}

void totals_add(struct count_totals *sum, const struct count_totals *more) {
    for (size_t i = 0; i < OUTCOMES; i++) {
        sum->outcomes[i] += more->outcomes[i];
    }
    sum->unreadable += more->unreadable;
    sum->applied_late += more->applied_late;
}

uint64_t totals_events(const struct count_totals *totals) {
    uint64_t sum = totals->unreadable;
    for (size_t i = 0; i < OUTCOMES; i++) {
        sum += totals->outcomes[i];
    }
    return sum;
}

uint64_t totals_skipped(const struct count_totals *totals) {
    return totals_events(totals) - totals->outcomes[LETHE_OUTCOME_APPLIED] -
           totals->outcomes[LETHE_OUTCOME_DUPLICATE];
}

uint64_t totals_fresh(const struct count_totals *totals) {
    const uint64_t *outcomes = totals->outcomes;
    return outcomes[LETHE_OUTCOME_APPLIED] + outcomes[LETHE_OUTCOME_REFUSED] +
           outcomes[LETHE_OUTCOME_OVERFLOW] + outcomes[LETHE_OUTCOME_LIMITED];
}

void totals_print_json(const struct count_totals *totals, struct json *json) {
    for (size_t i = 0; i < OUTCOMES; i++) {
        json_integer(json, names[i], totals->outcomes[i]);
    }
    json_integer(json, unreadable, totals->unreadable);
    json_integer(json, "applied_late", totals->applied_late);
}

/* Appends ", 5 late" to a text of length bytes, if there are any. Returns the new length. */
static size_t append(char *text, size_t size, size_t length, uint64_t count, const char *name) {
    if (count == 0 || length >= size) return length;
    int more = snprintf(text + length, size - length, ", %" PRIu64 " %s", count, name);
    return length + (more > 0 ? (size_t)more : 0);
}

void totals_describe_skipped(const struct count_totals *totals, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = LETHE_OUTCOME_DUPLICATE + 1; i < OUTCOMES; i++) {
        length = append(text, size, length, totals->outcomes[i], names[i]);
    }
    append(text, size, length, totals->unreadable, unreadable);
}
