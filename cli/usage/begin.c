/* begin.c - when a period begins, in the words of its store's zone. */
#include "usage/usage.h"

/* A lethe_usage_visit: the first row says how far local time is ahead. */
static bool take_offset(void *context, const lethe_usage_row *row) {
    int32_t *offset_s = context;
    if (!row->is_rest) *offset_s = row->offset_s;
    return false;
}

void usage_begin(lethe_store *store, const char *by, uint64_t from_ms,
                 char out[USAGE_PERIOD_BYTES]) {
    lethe_bytes key = {.data = "-", .size = 1}; /* any: one without a counter has rows, too */
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    int32_t offset_s = 0;
    query.by = by;
    query.from_ms = from_ms;
    query.to_ms = from_ms + 1;
    query.keys = &key;
    query.key_count = 1;
    if (lethe_store_usage(store, &query, take_offset, &offset_s) != LETHE_OK) offset_s = 0;
    usage_moment(from_ms, offset_s, out);
}
