/* check.c - `lethe check`: whether a store is sound. */
#include <inttypes.h>
#include <stdio.h>

#include "commands.h"
#include "human.h"
#include "json.h"
#include "message.h"
#include "store.h"

static int run(const struct arguments *arguments) {
    const char *folder;
    int code = store_folder(arguments, &folder);
    if (code != EXIT_DONE) return code;
    lethe_counter_health health = {0};
    lethe_detail detail = {""};
    lethe_status status = lethe_counter_check(folder, &health, &detail);
    if (status != LETHE_OK) return store_fail(status, "vouch for the store", folder, &detail);
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

const struct command command_check = {
    .path = "check",
    .summary = "read every byte of a store and tell whether it is sound",
    .synopses = (const char *const[]){"--db DIR [--json]", NULL},
    .description =
        (const char *const[]){
            "Reads all that is in the store, checks the checksums and the form of every record, "
            "and that they agree with each other. Nobody may be counting into it meanwhile. "
            "Nothing is changed, so it works where nothing can be written.",
            NULL},
    .options = (const struct option[]){OPTION_DB("the folder of the counters"),
                                       OPTION_JSON("print what there is as one JSON object"),
                                       {0}},
    .examples = (const struct example[]){{"Before a backup", "lethe check --db clicks"}, {0}},
    .exit_done = "the store is sound",
    .run = run,
};
