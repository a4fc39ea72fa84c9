/* frame.c - finds the ends of lines and of CSV records.
 *
 * IDEA    A line is found by its newline. A CSV record is found byte by byte with the states below,
 *         because a newline inside quotes belongs to the record.
 * WHY     Lines between quotes are no events, even if they look like some. So a CSV record whose
 *         quotes end wrongly is unreadable up to the end of the line where they do. Quotes that do
 *         not end at all, or not within the limit, would swallow all lines after them: only their
 *         first line is unreadable, and the next one has its own chance. */
#include "events/frame.h"

#include <string.h>

enum csv_state {
    AT_FIELD = 0, /* a quote here opens a quoted field */
    IN_PLAIN,     /* a quote here is a mistake, which the parser reports */
    IN_QUOTES,
    AFTER_QUOTE,  /* the end of a quoted field, or the first half of a doubled quote */
    AFTER_RETURN, /* a carriage return after a quoted field: a newline must follow */
    FAULT
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
static bool cut(const char *data, size_t end, size_t newlines, struct event_record *out) {
    size_t size = end;
    if (size > 0 && data[size - 1] == '\r') size--;
    *out = (struct event_record){.size = size, .taken = end + 1, .lines = newlines + 1};
    return true;
}

/* All that is left is the record. */
static bool cut_rest(const char *data, size_t size, size_t newlines, struct event_record *out) {
    if (size == 0) return false;
    cut(data, size, newlines, out);
    out->taken = size;
    return true;
}

/* The record is its first line. A newline that was passed inside quotes ends it; if there was none,
 * what is not searched yet may have one. */
static bool cut_first_line(struct event_frame *frame, const char *data, size_t size, bool is_last,
                           struct event_record *out) {
    size_t from = frame->newlines > 0 ? 0 : frame->searched;
    const char *newline = memchr(data + from, '\n', size - from);
    if (newline != NULL) return cut(data, (size_t)(newline - data), 0, out);
    frame->searched = size;
    return is_last && cut_rest(data, size, 0, out);
}

static bool find_csv(struct event_frame *frame, char delimiter, const char *data, size_t size,
                     size_t limit, bool is_last, struct event_record *out) {
    enum csv_state state = (enum csv_state)frame->state;
    size_t at = frame->searched;
    for (; at < size && state != FAULT; at++) {
        if (data[at] != '\n') {
            state = after(state, data[at], delimiter);
        } else if (state == IN_QUOTES) {
            frame->newlines++;
        } else {
            return cut(data, at, frame->newlines, out);
        }
    }
    frame->searched = at;
    frame->state = (int)state;
    if (state == FAULT && frame->newlines > 0 && at <= limit) {
        /* The lines inside may look like events, and are none: the record ends after the fault. */
        const char *newline = memchr(data + at, '\n', size - at);
        if (newline == NULL && !is_last && size <= limit) return false;
        if (newline != NULL) {
            cut(data, (size_t)(newline - data), frame->newlines, out);
        } else if (is_last) {
            cut_rest(data, size, frame->newlines, out);
        }
        if (newline != NULL || is_last) return out->is_broken = true;
    }
    if (state == FAULT || size > limit || (is_last && state == IN_QUOTES)) {
        bool is_broken = frame->newlines > 0;
        if (!cut_first_line(frame, data, size, is_last, out)) return false;
        out->is_broken = is_broken;
        return true;
    }
    return is_last && cut_rest(data, size, frame->newlines, out);
}

bool event_frame_find(struct event_frame *frame, char delimiter, const char *data, size_t size,
                      size_t limit, bool is_last, struct event_record *out) {
    if (delimiter != '\0') return find_csv(frame, delimiter, data, size, limit, is_last, out);
    return cut_first_line(frame, data, size, is_last, out);
}
