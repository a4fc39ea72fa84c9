/* simple.inc.h - takes simple lines, written once for every instruction set.
 *
 * The including file first defines find_stops, and SIMPLE, the name of its simple_function.
 *
 * IDEA    A stretch of the text is looked at once, for all bytes at which a field can end. Their
 *         places are listed; then a line is two or three of them.
 * I1      The text of a batch has a copy of each line that was taken, with its line end. Twice the
 *         size of what is looked at fits into it, and an id, as event_batch_has_room demands.
 * WHY     To search for one byte after another, field by field, is a call and a branch that is
 *         predicted wrongly for each. */
#include <string.h>

#include "events/simple_parts.inc.h"

/* Looked at together: the list of places stays in the fastest cache. */
enum { STRETCH_BYTES = 4096 };

/* Lists where fields may end; returns how many places there are. */
EVENT_INLINE size_t list_stops(const struct simple_rule *rule, const char *text, size_t size,
                               uint32_t *places) {
    uint32_t *to = places;
    size_t at = 0;
    for (; at + WORD_BYTES <= size; at += WORD_BYTES)
        to = list_places(find_stops(text + at, rule), (uint32_t)at, to);
    if (at < size) {
        char last[WORD_BYTES];
        memcpy(last, text + at, size - at);
        uint64_t known = ~UINT64_C(0) >> (WORD_BYTES - (size - at));
        memset(last + (size - at), 0, WORD_BYTES - (size - at));
        to = list_places(find_stops(last, rule) & known, (uint32_t)at, to);
    }
    return (size_t)(to - places);
}

/* A line whose fields were found. */
struct simple_line {
    size_t id_size, key, key_size, end;
    /* How many of the places it has. */
    size_t stops;
    int64_t delta;
};

/* Whether the line that begins at a place is simple. */
EVENT_INLINE bool find_line(const struct simple_rule *rule, const char *text, size_t at,
                            const uint32_t *places, size_t count, struct simple_line *line) {
    if (count < 2) return false;
    size_t first = places[0], second = places[1];
    bool has_delta = text[second] == rule->delimiter;
    if (has_delta && count < 3) return false;
    size_t end = has_delta ? places[2] : second;
    if (text[first] != rule->delimiter || text[end] != '\n') return false;
    /* A byte order mark may begin with this byte. */
    if (text[at] == '\xef') return false;
    line->id_size = first - at;
    line->key = first + 1;
    line->key_size = second - line->key;
    line->end = end;
    line->stops = has_delta ? 3 : 2;
    line->delta = 1;
    if (line->id_size - 1 >= LETHE_ID_LIMIT_BYTES || line->key_size - 1 >= LETHE_KEY_LIMIT_BYTES)
        return false;
    if (has_delta) return read_delta(text + second + 1, text + end, &line->delta);
    return !rule->is_strict && text[end - 1] != '\r';
}

/* Takes the simple lines of a stretch; returns how many bytes they have. */
static size_t take_stretch(const struct simple_rule *rule, const char *text, size_t size,
                           uint64_t number, size_t most, struct event_batch *batch) {
    uint32_t places[STRETCH_BYTES + AT_ONCE];
    size_t count = list_stops(rule, text, size, places), next = 0, at = 0;
    const char *copy = batch->text + batch->text_used;
    struct simple_line line;
    while (batch->count < most && find_line(rule, text, at, places + next, count - next, &line)) {
        lethe_change *change = &batch->changes[batch->change_count];
        batch->line_room[batch->count] = (lethe_bytes){.data = copy + at, .size = line.end - at};
        batch->number_room[batch->count] = number++;
        change->key = (lethe_bytes){.data = copy + line.key, .size = line.key_size};
        change->delta = line.delta;
        (void)event_add(batch, (lethe_bytes){.data = copy + at, .size = line.id_size}, 1, 0);
        next += line.stops;
        at = line.end + 1;
    }
    memcpy(event_batch_take(batch, at), text, at);
    return at;
}

size_t SIMPLE(const struct simple_rule *rule, lethe_bytes text, uint64_t line,
              struct event_batch *batch) {
    const char *data = text.data;
    size_t taken = 0, before = batch->count, more = 1;
    size_t room = EVENT_TEXT_BYTES - batch->text_used;
    size_t fits = room > LETHE_ID_LIMIT_BYTES ? (room - LETHE_ID_LIMIT_BYTES) / 2 : 0; /* I1 */
    if (text.size > fits) text.size = fits;
    /* As many changes as there is room for. */
    size_t most = before + EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT - batch->change_count;
    if (most > rule->most) most = rule->most;
    while (batch->count < most && more > 0) {
        size_t size = text.size - taken < STRETCH_BYTES ? text.size - taken : STRETCH_BYTES;
        uint64_t number = line + (batch->count - before);
        more = take_stretch(rule, data + taken, size, number, most, batch);
        taken += more;
    }
    return taken;
}
