/* kind_cascade.c - folders with a cascade filter: what `lethe dedup --db` keeps, and filters of the
 * kind `cascade`.
 *
 * The two differ in the note of their last checkpoint: that of `lethe dedup` says how far files
 * were read. A folder in which it made no checkpoint yet holds nothing, and looks like an empty
 * filter. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "dedup/dedup.h"
#include "lethe/cascade.h"
#include "say/human.h"
#include "say/json.h"
#include "say/rows.h"
#include "store/kind.h"
#include "store/store.h"

/* What a look from outside shows. */
struct look {
    lethe_cascade_stats stats;
    /* It is that of `lethe dedup`, and then: */
    bool is_dedup;
    struct dedup_note_facts note;
};

static lethe_status look_into(const char *folder, struct look *out, lethe_detail *detail) {
    unsigned char note[LETHE_CASCADE_MAX_NOTE_BYTES];
    size_t size = 0;
    *out = (struct look){.stats.size = sizeof out->stats};
    lethe_status status = lethe_cascade_look(folder, &out->stats, note, &size, detail);
    if (status == LETHE_OK && size > 0) out->is_dedup = dedup_note_read(note, size, &out->note);
    return status;
}

static bool recognise(const char *folder) {
    struct stat status;
    char path[4200];
    snprintf(path, sizeof path, "%s/manifest", folder);
    return stat(path, &status) == 0;
}

static bool recognise_dedup(const char *folder) {
    struct look look;
    return recognise(folder) && look_into(folder, &look, NULL) == LETHE_OK && look.is_dedup;
}

static const struct store_kind *kind_of(const struct look *look) {
    return look->is_dedup ? &store_kind_dedup : &store_kind_cascade;
}

static uint64_t run_count(const lethe_cascade_stats *stats) {
    uint64_t runs = 0;
    for (uint32_t i = 1; i < stats->level_count && i < LETHE_CASCADE_LEVELS; i++)
        runs += stats->levels[i].runs;
    return runs;
}

static void print_json(const char *folder, const struct look *look) {
    const lethe_cascade_stats *stats = &look->stats;
    struct json json = json_begin(stdout);
    json_string(&json, "store", folder);
    json_string(&json, "kind", kind_of(look)->name);
    json_integer(&json, "entries", stats->entries);
    json_integer(&json, "log_entries", stats->memory_entries);
    json_integer(&json, "capacity", stats->capacity);
    json_real(&json, "error", stats->error_target);
    json_real(&json, "error_estimate", stats->error_estimate);
    json_integer(&json, "window_ms", stats->window_ms);
    json_integer(&json, "checkpoint", stats->sequence);
    json_integer(&json, "runs", run_count(stats));
    json_integer(&json, "runs_bytes", stats->disk_bytes);
    json_integer(&json, "log_bytes", stats->log_bytes);
    if (look->is_dedup) {
        json_integer(&json, "files", look->note.files);
        json_boolean(&json, "has_output", look->note.has_output);
    }
    json_end(&json);
}

static void print_text(const char *folder, const struct look *look) {
    const lethe_cascade_stats *stats = &look->stats;
    struct human_text a, b;
    row_print("store", "%s", folder);
    row_print("kind", "%s", kind_of(look)->name);
    row_number(look->is_dedup ? "lines" : "entries", stats->entries);
    row_number("capacity", stats->capacity);
    row_print("error allowed", "%s, now %s", human_probability(stats->error_target, &a),
              human_probability(stats->error_estimate, &b));
    row_print("window", "%s",
              stats->window_ms > 0 ? human_duration(stats->window_ms, &a)
                                   : "none: nothing is forgotten");
    row_number("checkpoints", stats->sequence);
    if (look->is_dedup) {
        row_number("files", look->note.files);
        row_print("output", "%s", look->note.has_output ? "a file of --out" : "none");
    }
    row_print("on disk", "runs %s, log %s", human_bytes(stats->disk_bytes, &a),
              human_bytes(stats->log_bytes, &b));
}

static int print_stat(const char *folder, bool json) {
    struct look look;
    lethe_detail detail = {""};
    lethe_status status = look_into(folder, &look, &detail);
    if (status != LETHE_OK) return store_fail(status, "read", folder, &detail);
    if (json) {
        print_json(folder, &look);
    } else {
        print_text(folder, &look);
    }
    return EXIT_DONE;
}

static int check_as(const struct store_kind *kind, const char *folder, bool json) {
    lethe_cascade_health health = LETHE_INIT(lethe_cascade_health);
    lethe_detail detail = {""};
    lethe_status status = lethe_cascade_check(folder, &health, &detail);
    if (status != LETHE_OK) return store_fail(status, "verify", folder, &detail);
    if (json) {
        struct json object = json_begin(stdout);
        json_string(&object, "store", folder);
        json_string(&object, "kind", kind->name);
        json_integer(&object, "keys", health.keys);
        json_integer(&object, "log_keys", health.log_keys);
        json_integer(&object, "runs", health.runs);
        json_integer(&object, "checkpoint", health.sequence);
        json_end(&object);
        return EXIT_DONE;
    }
    printf("%s is sound: %s %" PRIu64 ", of which %" PRIu64 " are only in the log, runs %" PRIu64
           "\n",
           folder, kind->records, health.keys, health.log_keys, health.runs);
    return EXIT_DONE;
}

static int check_dedup(const char *folder, bool json) {
    return check_as(&store_kind_dedup, folder, json);
}

static int check_cascade(const char *folder, bool json) {
    return check_as(&store_kind_cascade, folder, json);
}

static lethe_status backup_dedup(const char *folder, const char *backups, lethe_backup *out,
                                 lethe_detail *detail) {
    return lethe_cascade_backup(folder, backups, store_kind_dedup.name, out, detail);
}

static lethe_status backup_cascade(const char *folder, const char *backups, lethe_backup *out,
                                   lethe_detail *detail) {
    return lethe_cascade_backup(folder, backups, store_kind_cascade.name, out, detail);
}

const struct store_kind store_kind_dedup = {
    .name = "dedup",
    .what = "what lethe dedup remembers",
    .records = "lines",
    .recognise = recognise_dedup,
    .stat = print_stat,
    .check = check_dedup,
    .backup = backup_dedup,
    .restore = lethe_cascade_restore,
};

const struct store_kind store_kind_cascade = {
    .name = "cascade",
    .what = "a cascade filter",
    .records = "keys",
    .recognise = recognise,
    .stat = print_stat,
    .check = check_cascade,
    .backup = backup_cascade,
    .restore = lethe_cascade_restore,
};
