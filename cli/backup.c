/* backup.c - `lethe backup`: a copy of a store. */
#include "commands.h"
#include "message.h"
#include "store.h"

static int run(const struct arguments *arguments) {
    const char *folder, *to = arguments_text(arguments, "to");
    int code = store_folder(arguments, &folder);
    if (code != EXIT_DONE) return code;
    if (to == NULL) return arguments_fail(arguments, "--to DIR is missing, the folder of backups");
    lethe_detail detail = {""};
    lethe_status status = lethe_counter_backup(folder, to, &detail);
    if (status != LETHE_OK) return store_fail(status, "back up the store", folder, &detail);
    if (!arguments_has(arguments, "quiet")) message_note("%s: a backup is in %s", folder, to);
    return EXIT_DONE;
}

const struct command command_backup = {
    .path = "backup",
    .summary = "add a backup of a store to a folder of backups",
    .synopses = (const char *const[]){"--db DIR --to DIR2 [-q]", NULL},
    .description =
        (const char *const[]){
            "Adds a backup of the store to `DIR2`, which is made if it is missing. What an earlier "
            "backup there has is not copied again. Nobody may be counting into the store "
            "meanwhile.",
            "The whole store is read and checked before, as by `lethe check`, and the backup "
            "afterwards. If one of them is damaged there is no new backup, and the earlier ones "
            "stay as they were. `DIR2` must not be in a store.",
            NULL},
    .options = (const struct option[]){OPTION_DB("the folder of the counters"),
                                       {.name = "to",
                                        .value = "DIR2",
                                        .help = "the folder of backups",
                                        .completion = COMPLETE_FILES},
                                       OPTION_QUIET,
                                       {0}},
    .examples =
        (const struct example[]){{"Each night", "lethe backup --db clicks --to backups/clicks"},
                                 {0}},
    .exit_done = "the backup is complete, and on disk",
    .run = run,
};
