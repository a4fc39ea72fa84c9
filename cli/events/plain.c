/* plain.c - plain lines: fields between tabs.
 *
 * IDEA    Fields are used where they stand. One search for a backslash per line says whether any of
 *         them is escaped; such a field is written anew after the line. */
#include <string.h>

#include "events/fields.inc.h"
#include "say/escape.h"

struct plain_cursor {
    const char *at, *end; /* at is NULL after the last field */
    struct event_batch *batch;
    bool has_escapes;
};

/* Writes an escaped field anew, after the line. */
static enum field_result unescape(struct plain_cursor *cursor, lethe_bytes *field,
                                  struct event_problem *problem) {
    if (memchr(field->data, '\\', field->size) == NULL) return FIELD_FOUND;
    char *room = event_batch_take(cursor->batch, field->size);
    size_t size, at = 0;
    if (!escape_read(*field, room, &size, &at)) {
        struct event_excerpt excerpt;
        lethe_bytes rest = {.data = (const char *)field->data + at, .size = field->size - at};
        if (rest.size > 4) rest.size = 4;
        /* An excerpt would double the backslash that this is about. */
        event_problem_set(
            problem,
            "'\\%s' is not an escape; after a backslash comes t, n, r, 0, xHH or "
            "another backslash",
            event_excerpt((lethe_bytes){.data = (const char *)rest.data + 1, .size = rest.size - 1},
                          &excerpt));
        return FIELD_BAD;
    }
    *field = (lethe_bytes){.data = room, .size = size};
    return FIELD_FOUND;
}

EVENT_INLINE enum field_result plain_next(void *context, lethe_bytes *field,
                                          struct event_problem *problem) {
    struct plain_cursor *cursor = context;
    const char *from = cursor->at;
    if (from == NULL) return FIELD_NONE;
    const char *tab = memchr(from, '\t', (size_t)(cursor->end - from));
    const char *to = tab != NULL ? tab : cursor->end;
    cursor->at = tab != NULL ? tab + 1 : NULL;
    *field = (lethe_bytes){.data = from, .size = (size_t)(to - from)};
    return cursor->has_escapes ? unescape(cursor, field, problem) : FIELD_FOUND;
}

static struct plain_cursor start(lethe_bytes record, struct event_batch *batch) {
    return (struct plain_cursor){
        .at = record.data,
        .end = (const char *)record.data + record.size,
        .batch = batch,
        .has_escapes = memchr(record.data, '\\', record.size) != NULL,
    };
}

enum event_result event_parse_plain(const struct event_format *format, lethe_bytes record,
                                    struct event_batch *batch, struct event_problem *problem) {
    struct plain_cursor cursor = start(record, batch);
    if (format->place_count > 0) {
        return event_by_column(format, plain_next, &cursor, batch, problem);
    }
    return event_by_order(format, plain_next, &cursor, batch, problem);
}

bool event_parse_plain_header(struct event_format *format, lethe_bytes record,
                              struct event_batch *batch, struct event_problem *problem) {
    struct plain_cursor cursor = start(record, batch);
    return event_by_header(format, plain_next, &cursor, record, problem);
}
