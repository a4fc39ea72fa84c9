/* totals.h - what became of the events, by outcome, under the names that every report uses:
 * applied, duplicates, late, future, overflow, invalid, refused, mismatched, limited, and
 * unreadable for lines that are no events. The summary, --json and `lethe stat` have no other
 * names. */
#ifndef LETHE_CLI_COUNT_TOTALS_H
#define LETHE_CLI_COUNT_TOTALS_H

#include "lethe/store.h"
#include "say/json.h"

/* Every event is in exactly one of these. */
struct count_totals {
    uint64_t outcomes[LETHE_OUTCOME_LIMITED + 1]; /* by lethe_outcome */
    uint64_t unreadable;
    /* Of those applied: late, and counted because that was asked for. */
    uint64_t applied_late;
};

/* Adds one event. */
void totals_count(struct count_totals *totals, lethe_outcome outcome);
void totals_add(struct count_totals *sum, const struct count_totals *more);

/* All events; and those that are neither counted nor duplicates. */
uint64_t totals_events(const struct count_totals *totals);
uint64_t totals_skipped(const struct count_totals *totals);

/* Events that the window took for fresh, whatever became of them then. */
uint64_t totals_fresh(const struct count_totals *totals);

/* Writes a member for every outcome. */
void totals_print_json(const struct count_totals *totals, struct json *json);

/* Writes the skipped events that there are, ", 5 late, 2 refused"; an empty text if there are none.
 * Truncates what does not fit into size bytes. */
void totals_describe_skipped(const struct count_totals *totals, char *text, size_t size);

#endif
