/* late.c - `lethe count --late-out`: a list of the events that were skipped as late.
 *
 * I1  A line is in the list, and on disk, before the commit that skips its event can be durable;
 *     that commit says how far the list is right. What a killed run added beyond that is found
 *     again (output/appended.h).
 * I2  Before the first line of a run the store says that a run is under way. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/count.h"
#include "input/resume_find.h"
#include "output/appended.h"
#include "say/message.h"
#include "store/store.h"

struct count_late {
    struct appended file;
    char name[32]; /* of its mark */
    bool has_before;
    struct resume_mark before;
    unsigned char value[RESUME_VALUE_BYTES];
    size_t value_size;
};

int count_late_open(const char *path, struct count_late **out) {
    struct resume_file file;
    struct count_late *late = calloc(1, sizeof *late);
    *out = late;
    if (late == NULL) return message_fail_memory();
    int code = appended_open(&late->file, path);
    if (code == EXIT_DONE && late->file.is_regular && resume_look(late->file.descriptor, &file)) {
        snprintf(late->name, sizeof late->name, "late-%016" PRIx64, file.identity);
    }
    return code;
}

void count_late_load(struct count_late *late, const lethe_mark *mark) {
    size_t size = strlen(late->name), used;
    if (size == 0 || mark->name.size != size || memcmp(mark->name.data, late->name, size) != 0) {
        return;
    }
    late->has_before = resume_decode(mark->value, &late->before, &used) == RESUME_FINE;
}

/* Makes the mark of how far the list is right. */
static int describe(struct count_late *late, bool is_closed) {
    struct resume_mark mark;
    if (!late->file.is_regular) return EXIT_DONE;
    int code = appended_mark(&late->file, is_closed, &mark);
    if (code == EXIT_DONE) late->value_size = resume_encode(&mark, late->value);
    return code;
}

/* Commits the mark alone. */
static int commit(struct count_late *late, struct counting *counting) {
    lethe_mark mark;
    uint64_t ticket;
    if (!count_late_mark(late, &mark)) return EXIT_DONE;
    lethe_status status =
        lethe_store_submit(counting->store, NULL, 0, &mark, 1, NULL, NULL, &ticket);
    if (status == LETHE_OK) status = lethe_store_wait(counting->store, ticket);
    if (status == LETHE_OK) return EXIT_DONE;
    return store_fail_call(status, "write the store", counting->folder, counting->store);
}

int count_late_begin(struct count_late *late, struct counting *counting) {
    int code = appended_begin(&late->file, late->has_before ? &late->before : NULL);
    if (code == EXIT_DONE) code = describe(late, false);
    return code == EXIT_DONE ? commit(late, counting) : code;
}

int count_late_add(struct count_late *late, lethe_bytes line) {
    return appended_line(&late->file, line.data, line.size);
}

int count_late_sync(struct count_late *late) {
    int code = appended_sync(&late->file);
    return code == EXIT_DONE ? describe(late, false) : code;
}

bool count_late_mark(struct count_late *late, lethe_mark *out) {
    *out = (lethe_mark){.name = {.data = late->name, .size = strlen(late->name)},
                        .value = {.data = late->value, .size = late->value_size}};
    return late->value_size > 0;
}

int count_late_end(struct count_late *late, struct counting *counting, int code) {
    if (late == NULL) return code;
    if (late->file.buffer != NULL && late->value_size > 0 && !counting->has_failed) {
        int closed = describe(late, true);
        if (closed == EXIT_DONE) closed = commit(late, counting);
        if (code == EXIT_DONE) code = closed;
    }
    code = appended_close(&late->file, code);
    free(late);
    return code;
}
