/* restore.c - `lethe restore`: a store from one of its backups. */
#include <inttypes.h>
#include <stdio.h>

#include "frame/commands.h"
#include "say/message.h"
#include "store/backup.h"
#include "store/kind.h"
#include "store/store.h"

/* A lethe_backup_visit: all backups in a folder are of one kind. */
static bool take_kind(void *context, const lethe_backup *backup) {
    const struct store_kind **kind = context;
    *kind = kind_named(backup->kind);
    return *kind == NULL;
}

/* Where no list can be read, and for what other programs call their cascades. */
static const struct store_kind *kind_in(const char *from) {
    const struct store_kind *kind = NULL;
    lethe_status status = lethe_backup_list(from, take_kind, &kind, NULL);
    if (kind != NULL) return kind;
    return status == LETHE_OK ? &store_kind_cascade : &store_kind_counters;
}

int run_restore(const struct arguments *arguments) {
    const char *folder, *from = arguments_text(arguments, "from");
    uint64_t number = 0;
    int code = store_folder(arguments, &folder);
    if (code != EXIT_DONE) return code;
    if (from == NULL)
        return arguments_fail(arguments, "--from DIR2 is missing: the folder of backups");
    code = arguments_count(arguments, "number", 1, UINT64_MAX - 1, &number);
    if (code != EXIT_DONE) return code;
    lethe_detail detail = {""};
    lethe_backup backup = LETHE_INIT(lethe_backup);
    lethe_status status = kind_in(from)->restore(from, number, folder, &backup, &detail);
    if (status != LETHE_OK) return store_fail(status, "restore the store", folder, &detail);
    if (arguments_has(arguments, "json")) {
        struct json json = json_begin(stdout);
        json_string(&json, "store", folder);
        json_string(&json, "backups", from);
        backup_json(&json, &backup);
        json_end(&json);
    } else if (!arguments_has(arguments, "quiet")) {
        message_note("%s: restored from backup %" PRIu64 " in %s", folder, backup.number, from);
    }
    return EXIT_DONE;
}
