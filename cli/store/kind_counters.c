/* kind_counters.c - a store of counters: lethe_store. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "say/human.h"
#include "say/json.h"
#include "store/kind.h"
#include "store/stat.h"
#include "store/store.h"

/* A lock alone is left by a first run that was killed before it began; and the number of the last
 * commit by a folder whose other files are gone. */
static bool recognise(const char *folder) {
    static const char *const names[] = {"data", "lethe.lock", "acknowledged"};
    struct stat status;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (stat(path, &status) == 0) return true;
    }
    return false;
}

static void print_json(const char *folder, const lethe_store_health *health) {
    struct json json = json_begin(stdout);
    json_string(&json, "store", folder);
    json_string(&json, "kind", store_kind_counters.name);
    json_integer(&json, "counters", health->counters);
    json_integer(&json, "log_segments", health->log_segments);
    json_integer(&json, "log_ids", health->log_ids);
    json_integer(&json, "change_segments", health->change_segments);
    json_integer(&json, "changes", health->changes);
    json_integer(&json, "index_entries", health->index_entries);
    json_integer(&json, "marks", health->marks);
    if (health->sketch_bytes > 0) json_integer(&json, "sketch_bytes", health->sketch_bytes);
    if (health->buckets > 0) json_integer(&json, "buckets", health->buckets);
    if (health->ledger_ids > 0) json_integer(&json, "ledger_ids", health->ledger_ids);
    if (health->claims > 0) json_integer(&json, "claims", health->claims);
    if (health->holds > 0) json_integer(&json, "holds", health->holds);
    json_end(&json);
}

static void print_text(const char *folder, const lethe_store_health *health) {
    struct human_text size;
    char counters[80], ledger[80] = "", buckets[80] = "", claims[80] = "", holds[80] = "";
    snprintf(counters, sizeof counters, "counters %" PRIu64, health->counters);
    if (health->sketch_bytes > 0) {
        snprintf(counters, sizeof counters, "a sketch of %s",
                 human_bytes(health->sketch_bytes, &size));
    }
    if (health->buckets > 0)
        snprintf(buckets, sizeof buckets, ", counts of periods %" PRIu64, health->buckets);
    if (health->ledger_ids > 0)
        snprintf(ledger, sizeof ledger, ", ids kept for ever %" PRIu64, health->ledger_ids);
    if (health->claims > 0) snprintf(claims, sizeof claims, ", claims %" PRIu64, health->claims);
    if (health->holds > 0) snprintf(holds, sizeof holds, ", holds %" PRIu64, health->holds);
    printf("%s is sound: %s, ids %" PRIu64 " in %" PRIu64
           " segments of the log, changes not yet folded in %" PRIu64 ", index entries %" PRIu64
           ", marks %" PRIu64 "%s%s%s%s\n",
           folder, counters, health->log_ids, health->log_segments, health->changes,
           health->index_entries, health->marks, buckets, ledger, claims, holds);
}

static bool count_one(void *context, lethe_bytes key, int64_t value) {
    (void)key;
    (void)value;
    (*(uint64_t *)context)++;
    return true;
}

/* Counters that are only in the log yet count too. */
static int count_unfolded(const char *folder, lethe_store_health *health) {
    lethe_store *store;
    int code = store_open(folder, &LETHE_OPTIONS(lethe_store_options, .read_only = true), &store);
    if (code != EXIT_DONE) return code;
    uint64_t counters = 0;
    lethe_status status = lethe_store_each(store, (lethe_bytes){0}, count_one, &counters);
    if (status != LETHE_OK) code = store_fail_call(status, "read", folder, store);
    health->counters = counters;
    return store_close(folder, store, code);
}

static int check(const char *folder, bool json) {
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    lethe_detail detail = {""};
    lethe_status status = lethe_store_check(folder, &health, &detail);
    if (status != LETHE_OK) return store_fail(status, "verify the store", folder, &detail);
    if (health.changes > 0 && health.sketch_bytes == 0) {
        int code = count_unfolded(folder, &health);
        if (code != EXIT_DONE) return code;
    }
    if (json) {
        print_json(folder, &health);
    } else {
        print_text(folder, &health);
    }
    return EXIT_DONE;
}

const struct store_kind store_kind_counters = {
    .name = "store",
    .what = "a store of counters",
    .records = "events",
    .recognise = recognise,
    .stat = stat_store,
    .check = check,
    .backup = lethe_store_backup,
    .restore = lethe_store_restore,
};
