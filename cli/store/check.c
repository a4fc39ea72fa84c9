/* check.c - `lethe check`: whether a store is sound. */
#include <inttypes.h>
#include <stdio.h>

#include "frame/commands.h"
#include "say/human.h"
#include "say/json.h"
#include "say/message.h"
#include "store/store.h"

int run_check(const struct arguments *arguments) {
    const char *folder;
    int code = store_folder(arguments, &folder);
    if (code != EXIT_DONE) return code;
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    lethe_detail detail = {""};
    lethe_status status = lethe_store_check(folder, &health, &detail);
    if (status != LETHE_OK) return store_fail(status, "verify the store", folder, &detail);
    if (arguments_has(arguments, "json")) {
        struct json json = json_begin(stdout);
        json_string(&json, "store", folder);
        json_integer(&json, "counters", health.counters);
        json_integer(&json, "log_segments", health.log_segments);
        json_integer(&json, "log_ids", health.log_ids);
        json_integer(&json, "change_segments", health.change_segments);
        json_integer(&json, "changes", health.changes);
        json_integer(&json, "index_entries", health.index_entries);
        json_integer(&json, "marks", health.marks);
        if (health.sketch_bytes > 0) json_integer(&json, "sketch_bytes", health.sketch_bytes);
        if (health.ledger_ids > 0) json_integer(&json, "ledger_ids", health.ledger_ids);
        json_end(&json);
        return EXIT_DONE;
    }
    struct human_text size;
    char counters[80];
    snprintf(counters, sizeof counters, "counters %" PRIu64, health.counters);
    if (health.sketch_bytes > 0) {
        snprintf(counters, sizeof counters, "a sketch of %s",
                 human_bytes(health.sketch_bytes, &size));
    }
    char ledger[80] = "";
    if (health.ledger_ids > 0) {
        snprintf(ledger, sizeof ledger, ", ids kept for ever %" PRIu64, health.ledger_ids);
    }
    printf("%s is sound: %s, ids %" PRIu64 " in %" PRIu64
           " segments of the log, changes not yet folded in %" PRIu64 ", index entries %" PRIu64
           ", marks %" PRIu64 "%s\n",
           folder, counters, health.log_ids, health.log_segments, health.changes,
           health.index_entries, health.marks, ledger);
    return EXIT_DONE;
}
