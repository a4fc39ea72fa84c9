/* backup.c - `lethe backup`: adds a backup of a store to a folder. */
#include "frame/commands.h"
#include "say/message.h"
#include "store/store.h"

int run_backup(const struct arguments *arguments) {
    const char *folder, *to = arguments_text(arguments, "to");
    int code = store_folder(arguments, &folder);
    if (code != EXIT_DONE) return code;
    if (to == NULL) return arguments_fail(arguments, "--to DIR is missing: the folder of backups");
    lethe_detail detail = {""};
    lethe_status status = lethe_store_backup(folder, to, &detail);
    if (status != LETHE_OK) return store_fail(status, "back up the store", folder, &detail);
    if (!arguments_has(arguments, "quiet")) message_note("%s: backed up to %s", folder, to);
    return EXIT_DONE;
}
