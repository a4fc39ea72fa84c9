/* reach.c - says where a store does not have all of a period. */
#include "say/message.h"
#include "store/store.h"
#include "usage/usage.h"

/* A lethe_usage_visit: the first row says how far local time is ahead. */
static bool take_offset(void *context, const lethe_usage_row *row) {
    int32_t *offset_s = context;
    if (!row->is_rest) *offset_s = row->offset_s;
    return false;
}

/* When a period begins, in the store's zone; in UTC where that can't be found. Any key will do: one
 * without a counter has rows, too. */
static void name_begin(lethe_store *store, const char *by, uint64_t from_ms,
                       char out[USAGE_PERIOD_BYTES]) {
    lethe_bytes key = {.data = "-", .size = 1};
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

int usage_check_reach(lethe_store *store, const char *folder, const char *by, uint64_t at_ms) {
    uint64_t kept_from_ms = 0, whole_from_ms = 0;
    char moment[USAGE_PERIOD_BYTES];
    lethe_status status = lethe_store_usage_reach(store, by, &kept_from_ms, &whole_from_ms);
    if (status != LETHE_OK) return store_fail_call(status, "read the usage of", folder, store);
    if (at_ms < kept_from_ms) {
        name_begin(store, by, kept_from_ms, moment);
        return message_fail(EXIT_NEGATIVE,
                            "%s has dropped that period, as --keep asked for; the first that it "
                            "still has, per %s, begins at %s",
                            folder, by, moment);
    }
    if (at_ms < whole_from_ms) {
        name_begin(store, by, whole_from_ms, moment);
        message_warn("%s began to count per %s only after that period had begun; what it counted "
                     "before is missing here; the first period that has all begins at %s",
                     folder, by, moment);
    }
    return EXIT_DONE;
}
