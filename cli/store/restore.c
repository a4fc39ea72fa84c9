/* restore.c - `lethe restore`: a store from its backup. */
#include "frame/commands.h"
#include "say/message.h"
#include "store/store.h"

int run_restore(const struct arguments *arguments) {
    const char *folder, *from = arguments_text(arguments, "from");
    int code = store_folder(arguments, &folder);
    if (code != EXIT_DONE) return code;
    if (from == NULL) {
        return arguments_fail(arguments, "--from DIR is missing: the folder of backups");
    }
    lethe_detail detail = {""};
    lethe_status status = lethe_store_restore(from, folder, &detail);
    if (status != LETHE_OK) return store_fail(status, "restore the store", folder, &detail);
    if (!arguments_has(arguments, "quiet")) {
        message_note("%s: restored from the latest backup in %s", folder, from);
    }
    return EXIT_DONE;
}
