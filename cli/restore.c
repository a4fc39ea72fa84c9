/* restore.c - `lethe restore`: a store from its backup. */
#include "commands.h"
#include "message.h"
#include "store.h"

static int run(const struct arguments *arguments) {
    const char *folder, *from = arguments_text(arguments, "from");
    int code = store_folder(arguments, &folder);
    if (code != EXIT_DONE) return code;
    if (from == NULL) {
        return arguments_fail(arguments, "--from DIR is missing, the folder of backups");
    }
    lethe_detail detail = {""};
    lethe_status status = lethe_counter_restore(from, folder, &detail);
    if (status != LETHE_OK) return store_fail(status, "restore the store", folder, &detail);
    if (!arguments_has(arguments, "quiet")) {
        message_note("%s: restored from the latest backup in %s", folder, from);
    }
    return EXIT_DONE;
}

const struct command command_restore = {
    .path = "restore",
    .summary = "make a store from the latest backup",
    .synopses = (const char *const[]){"--from DIR2 --db DIR [-q]", NULL},
    .description =
        (const char *const[]){
            "Writes the latest backup in `DIR2` to `DIR`, which must be missing or empty. It has "
            "the marks of that time too: run `lethe count` on the same files again and it goes on "
            "where the backup was made.",
            "What was written is read and checked: there is a whole store then, or none. A restore "
            "that was killed can be run again.",
            NULL},
    .options = (const struct option[]){{.name = "from",
                                        .value = "DIR2",
                                        .help = "the folder of backups",
                                        .completion = COMPLETE_FILES},
                                       OPTION_DB("the folder to write"),
                                       OPTION_QUIET,
                                       {0}},
    .examples =
        (const struct example[]){
            {"After a disk was lost", "lethe restore --from backups/clicks --db clicks"}, {0}},
    .exit_done = "the store is there, and on disk",
    .run = run,
};
