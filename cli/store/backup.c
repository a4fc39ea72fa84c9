/* backup.c - `lethe backup`: adds a backup of a store to a folder, lists them, removes old ones. */
#include <inttypes.h>
#include <stdio.h>

#include "frame/commands.h"
#include "frame/interrupt.h"
#include "say/human.h"
#include "say/json.h"
#include "say/message.h"
#include "store/backup.h"
#include "store/kind.h"
#include "store/stat.h"
#include "store/store.h"

void backup_json(struct json *json, const lethe_backup *backup) {
    json_integer(json, "number", backup->number);
    json_string(json, "kind", backup->kind);
    json_integer(json, "time_ms", backup->time_ms);
    json_integer(json, "bytes", backup->bytes);
    const struct {
        const char *name;
        uint64_t number;
    } known[] = {{"copied_bytes", backup->copied_bytes}, {"records", backup->records}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].number == LETHE_BACKUP_UNKNOWN) {
            json_null(json, known[i].name);
        } else {
            json_integer(json, known[i].name, known[i].number);
        }
    }
}

/* Removes old ones. */
static int prune(const char *to, uint64_t keep, lethe_backup_pruned *pruned) {
    lethe_detail detail = {""};
    *pruned = (lethe_backup_pruned)LETHE_INIT(lethe_backup_pruned);
    interrupt_hold();
    lethe_status status = lethe_backup_prune(to, keep, pruned, &detail);
    interrupt_release();
    if (status == LETHE_OK) return EXIT_DONE;
    return store_fail(status, "remove old backups in", to, &detail);
}

static void pruned_json(struct json *json, const lethe_backup_pruned *pruned) {
    json_integer(json, "removed", pruned->removed);
    json_integer(json, "kept", pruned->kept);
    json_integer(json, "freed_bytes", pruned->freed_bytes);
}

static int prune_only(const struct arguments *arguments, const char *to, uint64_t keep) {
    lethe_backup_pruned pruned;
    struct human_text size;
    if (arguments_has(arguments, "db"))
        return arguments_fail(arguments, "--prune takes no --db; leave one of them out");
    if (keep == 0) return arguments_fail(arguments, "--keep N is missing: how many to keep");
    int code = prune(to, keep, &pruned);
    if (code != EXIT_DONE) return code;
    if (arguments_has(arguments, "json")) {
        struct json json = json_begin(stdout);
        json_string(&json, "backups", to);
        pruned_json(&json, &pruned);
        json_end(&json);
    } else if (!arguments_has(arguments, "quiet")) {
        message_note("%s: %" PRIu64 " removed, %" PRIu64 " kept, %s freed", to, pruned.removed,
                     pruned.kept, human_bytes(pruned.freed_bytes, &size));
    }
    return EXIT_DONE;
}

/* A lethe_backup_visit. */
static bool print_line(void *context, const lethe_backup *backup) {
    if (*(const bool *)context) {
        struct json json = json_begin(stdout);
        backup_json(&json, backup);
        json_end(&json);
        return true;
    }
    struct human_text date, size;
    const struct store_kind *kind = kind_named(backup->kind);
    printf("%" PRIu64 "\t%s\t%s\t%s", backup->number, stat_date(backup->time_ms, &date),
           backup->kind, human_bytes(backup->bytes, &size));
    if (backup->records != LETHE_BACKUP_UNKNOWN)
        printf("\t%" PRIu64 " %s", backup->records, kind != NULL ? kind->records : "keys");
    putchar('\n');
    return true;
}

static int list(const struct arguments *arguments, const char *to) {
    lethe_detail detail = {""};
    bool json = arguments_has(arguments, "json");
    if (arguments_has(arguments, "db") || arguments_has(arguments, "keep") ||
        arguments_has(arguments, "prune")) {
        return arguments_fail(arguments, "--list takes no --db, --keep or --prune");
    }
    lethe_status status = lethe_backup_list(to, print_line, &json, &detail);
    return status == LETHE_OK ? EXIT_DONE : store_fail(status, "list the backups in", to, &detail);
}

static int add(const struct arguments *arguments, const char *to, uint64_t keep) {
    const struct store_kind *kind;
    const char *folder;
    lethe_backup backup = LETHE_INIT(lethe_backup);
    lethe_backup_pruned pruned = LETHE_INIT(lethe_backup_pruned);
    lethe_detail detail = {""};
    int code = kind_find(arguments, &folder, &kind);
    if (code != EXIT_DONE) return code;
    lethe_status status = kind->backup(folder, to, &backup, &detail);
    if (status != LETHE_OK) return store_fail(status, "back up the store", folder, &detail);
    if (keep > 0) code = prune(to, keep, &pruned);
    if (arguments_has(arguments, "json")) {
        struct json json = json_begin(stdout);
        json_string(&json, "store", folder);
        json_string(&json, "backups", to);
        backup_json(&json, &backup);
        if (keep > 0 && code == EXIT_DONE) pruned_json(&json, &pruned);
        json_end(&json);
    } else if (!arguments_has(arguments, "quiet")) {
        char removed[64] = "";
        if (pruned.removed > 0)
            snprintf(removed, sizeof removed, ", %" PRIu64 " older removed", pruned.removed);
        message_note("%s: backup %" PRIu64 " is in %s%s", folder, backup.number, to, removed);
    }
    return code;
}

int run_backup(const struct arguments *arguments) {
    const char *to = arguments_text(arguments, "to");
    uint64_t keep = 0;
    if (to == NULL) return arguments_fail(arguments, "--to DIR2 is missing: the folder of backups");
    int code = arguments_count(arguments, "keep", 1, 1000000, &keep);
    if (code != EXIT_DONE) return code;
    if (arguments_has(arguments, "list")) return list(arguments, to);
    return arguments_has(arguments, "prune") ? prune_only(arguments, to, keep)
                                             : add(arguments, to, keep);
}
