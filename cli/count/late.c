/* late.c - `lethe count --late-out`: a list of the events that were skipped as late.
 *
 * I1  A line is in the list, and on disk, before the commit that skips its event can be durable;
 *     that commit says how far the list is right. What a killed run added beyond that is found
 *     again (output/appended.h).
 * I2  Before the first line of a run the store says that a run is under way.
 * I3  A list of records from files with a header begins with it, so that it can be counted with the
 *     same options. All its records are from files with that header. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/count.h"
#include "count/late_known.h"
#include "events/frame.h"
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
    /* What the list begins with, once that is known. */
    lethe_bytes header;
    /* With --from-start: what it has already. */
    struct count_known *known;
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

int count_late_begin(struct count_late *late, struct counting *counting,
                     const struct event_options *options) {
    int code = appended_begin(&late->file, late->has_before ? &late->before : NULL);
    if (options->from_start && late->file.is_regular) {
        if (code == EXIT_DONE) code = appended_keep_left(&late->file);
        if (code == EXIT_DONE) {
            code = count_known_read(&late->file, event_frame_delimiter(&options->format),
                                    &late->known);
        }
    }
    if (code == EXIT_DONE) code = describe(late, false);
    return code == EXIT_DONE ? commit(late, counting) : code;
}

/* Whether the list begins with this line. One that can't be read is believed to. */
static bool begins_with(const struct count_late *late, lethe_bytes line) {
    char *start = malloc(line.size + 1);
    if (!late->file.is_regular || start == NULL) {
        free(start);
        return true;
    }
    bool is_same = resume_read_at(late->file.descriptor, 0, start, line.size + 1) &&
                   memcmp(start, line.data, line.size) == 0 &&
                   (start[line.size] == '\n' || start[line.size] == '\r');
    free(start);
    return is_same;
}

/* Has the list begin with the header of an event's file (I3). */
static int take_header(struct count_late *late, const struct event_share *share) {
    lethe_bytes header = share->header;
    if (header.size == 0 || late->header.data == header.data) return EXIT_DONE;
    if (late->header.data == NULL) {
        late->header = header;
        if (appended_is_empty(&late->file))
            return appended_line(&late->file, header.data, header.size);
        if (begins_with(late, header)) return EXIT_DONE;
    }
    return message_fail(EXIT_BAD_DATA,
                        "%s has late events, and another header than the list %s, which could not "
                        "be read then; count it in a run of its own, with another --late-out",
                        inputs_name(share->path), late->file.path);
}

int count_late_add(struct count_late *late, const struct event_share *share, lethe_bytes line) {
    if (count_known_take(late->known, line)) return EXIT_DONE;
    int code = take_header(late, share);
    return code == EXIT_DONE ? appended_line(&late->file, line.data, line.size) : code;
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
    count_known_free(late->known);
    free(late);
    return code;
}
