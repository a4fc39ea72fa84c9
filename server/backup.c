/* backup.c - POST /v1/backup: a backup of the store while it is served, into the folder that the
 * operator named when the server was started. */
#include "lethe/backup.h"

#include <inttypes.h>

#include "server/object.h"
#include "server/routes.h"
#include "server/state.h"

/* A body may be left out, and says nothing: what it asks for would not be done. */
static bool is_empty(struct request *request) {
    static const struct object_member none[] = {{NULL, OBJECT_BYTES}};
    struct object object;
    if (request->body.size == 0) return true;
    if (!object_read(request, none, &object)) return false;
    object_free(&object);
    return object_has_only(request, none);
}

void answer_backup(struct request *request) {
    const struct server_options *options = request->server->options;
    lethe_backup backup = LETHE_INIT(lethe_backup);
    lethe_detail detail = {""};
    if (options->backups == NULL) {
        request_problem(request, 404, "No backups", "the server was started without --backups");
        return;
    }
    if (!is_empty(request)) return;
    lethe_status status = lethe_store_backup(options->folder, options->backups, &backup, &detail);
    if (status == LETHE_OK) {
        text_format(&request->answer, "{\"number\":\"%" PRIu64 "\",\"bytes\":\"%" PRIu64 "\"}\n",
                    backup.number, backup.bytes);
        request_answer(request, 200, type_json);
        return;
    }
    unsigned code = status == LETHE_ENOSPACE ? 507 : status == LETHE_EBUSY ? 409 : 500;
    request_problem(request, code, "Backup failed", "%s",
                    detail.text[0] != '\0' ? detail.text : lethe_strerror(status));
}
