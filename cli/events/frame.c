/* frame.c - finds the ends of lines and of CSV records.
 *
 * IDEA    A line is found by its newline. A CSV record is found byte by byte with the states below,
 *         because a newline inside quotes belongs to the record.
 * WHY     Lines between quotes are no events, even if they look like some. So a CSV record whose
 *         quotes end wrongly is unreadable up to the end of the line where they do. Nobody knows
 *         where quotes were meant to end that do not: their record has all that follows it. */
#include "events/frame.h"

#include <string.h>

#include "input/byte_order.h"

enum csv_state {
    AT_FIELD = 0, /* a quote here opens a quoted field */
    IN_PLAIN,     /* a quote here is a mistake, which the parser reports */
    IN_QUOTES,
    AFTER_QUOTE,  /* the end of a quoted field, or the first half of a doubled quote */
    AFTER_RETURN, /* a carriage return after a quoted field: a newline must follow */
    FAULT         /* quotes ended wrongly: whatever comes, the line's end is the record's */
};

static enum csv_state after(enum csv_state state, char byte, char delimiter) {
    switch (state) {
    case IN_QUOTES:
        return byte == '"' ? AFTER_QUOTE : IN_QUOTES;
    case AFTER_QUOTE:
        if (byte == '"') return IN_QUOTES;
        if (byte == delimiter) return AT_FIELD;
        return byte == '\r' ? AFTER_RETURN : FAULT;
    case AT_FIELD:
        if (byte == '"') return IN_QUOTES;
        return byte == delimiter ? AT_FIELD : IN_PLAIN;
    case IN_PLAIN:
        return byte == delimiter ? AT_FIELD : IN_PLAIN;
    default:
        return FAULT;
    }
}

/* The record is the bytes before the newline at place end. */
static bool cut(const struct event_frame *frame, const char *data, size_t end,
                struct event_record *out) {
    size_t size = end;
    if (size > 0 && data[size - 1] == '\r') size--;
    *out = (struct event_record){.size = size,
                                 .taken = end + 1,
                                 .lines = frame->newlines + 1,
                                 .opened = frame->opened,
                                 .is_broken = frame->state == FAULT && frame->newlines > 0};
    return true;
}

/* All that is left is the record. */
static bool cut_rest(const struct event_frame *frame, const char *data, size_t size,
                     struct event_record *out) {
    if (size == 0) return false;
    cut(frame, data, size, out);
    out->taken = size;
    out->is_open = frame->state == IN_QUOTES;
    return true;
}

static bool find_line(struct event_frame *frame, const char *data, size_t size,
                      struct event_record *out) {
    const char *newline = memchr(data + frame->searched, '\n', size - frame->searched);
    if (newline != NULL) return cut(frame, data, (size_t)(newline - data), out);
    frame->searched = size;
    return false;
}

/* Outside quotes, a record that has no further ones, as most have none, ends as a line does.
 * Returns the place of that end, or where to go on byte by byte. */
static size_t skip_unquoted(const struct event_frame *frame, const char *data, size_t size) {
    size_t at = frame->searched;
    if (frame->state != AT_FIELD && frame->state != IN_PLAIN) return at;
    const char *newline = memchr(data + at, '\n', size - at);
    size_t end = newline != NULL ? (size_t)(newline - data) : size;
    return memchr(data + at, '"', end - at) == NULL ? end : at;
}

/* Passes over byte order marks at the start of a record, after which a quote still opens a field.
 * Returns false if the bytes that are there may be the beginning of one. */
static bool skip_marks(struct event_frame *frame, const char *data, size_t size) {
    static const char mark[] = "\xef\xbb\xbf";
    if (frame->searched % BYTE_ORDER_MARK_BYTES != 0 || frame->is_cut) return true;
    if (byte_order_marks(data, frame->searched) < frame->searched) return true;
    frame->searched = byte_order_marks(data, size);
    size_t left = size - frame->searched;
    return left == 0 || left >= BYTE_ORDER_MARK_BYTES ||
           memcmp(data + frame->searched, mark, left) != 0;
}

static bool find_csv(struct event_frame *frame, char delimiter, const char *data, size_t size,
                     struct event_record *out) {
    if (!skip_marks(frame, data, size)) return false;
    struct event_frame now = *frame; /* a record that is found may be looked for again */
    size_t at = skip_unquoted(frame, data, size);
    if (at > frame->searched) now.state = data[at - 1] == delimiter ? AT_FIELD : IN_PLAIN;
    for (; at < size; at++) {
        if (data[at] == '\n' && now.state != IN_QUOTES) return cut(&now, data, at, out);
        now.newlines += data[at] == '\n';
        if (data[at] == '"' && now.state == AT_FIELD) now.opened = now.newlines;
        now.state = (int)after((enum csv_state)now.state, data[at], delimiter);
    }
    now.searched = size;
    *frame = now;
    return false;
}

bool event_frame_find(struct event_frame *frame, char delimiter, const char *data, size_t size,
                      bool is_last, struct event_record *out) {
    bool is_found = delimiter != '\0' ? find_csv(frame, delimiter, data, size, out)
                                      : find_line(frame, data, size, out);
    return is_found || (is_last && cut_rest(frame, data, size, out));
}

bool event_frame_pass(struct event_frame *frame, char delimiter, const char *data, size_t size,
                      struct event_record *out) {
    if (event_frame_find(frame, delimiter, data, size, false, out)) return true;
    *out = (struct event_record){.size = size, .taken = size};
    frame->searched = 0;
    frame->is_cut = true;
    return false;
}

void event_frame_rest(struct event_frame *frame) {
    *frame = (struct event_frame){.state = FAULT, .is_cut = true};
}

bool event_frame_is_rest(const struct event_frame *frame) {
    return frame->state == FAULT && frame->newlines == 0;
}

bool event_frame_is_open(const struct event_frame *frame) {
    return frame->state == IN_QUOTES;
}
