/* reach.c - says where a store does not have all of a period. */
#include "say/message.h"
#include "store/store.h"
#include "usage/usage.h"

int usage_check_reach(lethe_store *store, const char *folder, const char *by, uint64_t at_ms) {
    uint64_t kept_from_ms = 0, whole_from_ms = 0;
    char moment[USAGE_PERIOD_BYTES];
    lethe_status status = lethe_store_usage_reach(store, by, &kept_from_ms, &whole_from_ms);
    if (status != LETHE_OK) return store_fail_call(status, "read the usage of", folder, store);
    if (at_ms < kept_from_ms) {
        usage_begin(store, by, kept_from_ms, moment);
        return message_fail(EXIT_NEGATIVE,
                            "%s has dropped that period, as --keep asked for; the first that it "
                            "still has, per %s, begins at %s",
                            folder, by, moment);
    }
    if (at_ms < whole_from_ms) {
        usage_begin(store, by, whole_from_ms, moment);
        message_warn("%s began to count per %s only after that period had begun; what it counted "
                     "before is missing here; the first period that has all begins at %s",
                     folder, by, moment);
    }
    return EXIT_DONE;
}
