/* parsing.c - bodies of events; see parsing.h.
 *
 * I1      A batch holds whole events. One for which there is no room is kept, and begins the next.
 * I2      Reading a body again gives the same operations. */
#include "server/parsing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/simple.h"
#include "server/state.h"

enum {
    /* In a body that is shorter, simple lines are not looked for. */
    SIMPLE_LEAST_BYTES = 1024,
    SIMPLE_PAUSE = 16,
    /* Fewer simple lines than this are not worth looking at what follows them. */
    SIMPLE_WORTH = 4
};

void body_begin(struct body_reader *reader, const struct event_format *format, enum body_form form,
                lethe_bytes body, lethe_bytes key) {
    *reader = (struct body_reader){.format = format,
                                   .form = form,
                                   .body = body,
                                   .key = key,
                                   .elements = event_elements_begin(body)};
}

static enum body_result fail(struct body_reader *reader, uint64_t line) {
    reader->problem_line = line;
    return BODY_BAD;
}

/* The next line, without its end. The last one may be empty. */
static enum body_result next_line(struct body_reader *reader, lethe_bytes *record) {
    const char *start = (const char *)reader->body.data + reader->at;
    size_t left = reader->body.size - reader->at;
    if (left == 0) return BODY_ALL;
    const char *end = memchr(start, '\n', left);
    size_t size = end != NULL ? (size_t)(end - start) : left;
    reader->at += size + (end != NULL);
    reader->line++;
    if (size > 0 && start[size - 1] == '\r') size--;
    *record = (lethe_bytes){.data = start, .size = size};
    return size == 0 && reader->at == reader->body.size ? BODY_ALL : BODY_MORE;
}

static enum body_result next_element(struct body_reader *reader, lethe_bytes *record) {
    struct event_elements *elements = &reader->elements;
    enum element_result result = event_elements_next(elements, record);
    reader->line = elements->element_line;
    if (result == ELEMENT_FOUND) return BODY_MORE;
    if (result == ELEMENT_END) {
        lethe_bytes rest = {elements->at, (size_t)(elements->end - elements->at)};
        if (event_first_byte(rest) == '\0' && memchr(rest.data, '\0', rest.size) == NULL)
            return BODY_ALL;
        elements->reason = "there is something after the array";
    }
    event_problem_set(&reader->problem, "%s", elements->reason);
    return fail(reader, elements->line);
}

static enum body_result next_record(struct body_reader *reader, lethe_bytes *record) {
    if (reader->has_kept) {
        reader->has_kept = false;
        *record = reader->kept;
        return BODY_MORE;
    }
    switch (reader->form) {
    case BODY_LINES:
        return next_line(reader, record);
    case BODY_ARRAY:
        return next_element(reader, record);
    default:
        *record = reader->body;
        reader->line = 1;
        return reader->index == 0 ? BODY_MORE : BODY_ALL;
    }
}

/* The id that the next event is given: KEY for a single one, else KEY/0, KEY/1, ... */
static void give_id(const struct body_reader *reader, struct event_batch *batch) {
    batch->given_id = reader->key;
    if (reader->key.size == 0 || reader->form == BODY_SINGLE) return;
    char number[24];
    size_t digits = (size_t)snprintf(number, sizeof number, "/%" PRIu64, reader->index);
    char *room = event_batch_take(batch, reader->key.size + digits);
    memcpy(room, reader->key.data, reader->key.size);
    memcpy(room + reader->key.size, number, digits);
    batch->given_id = (lethe_bytes){.data = room, .size = reader->key.size + digits};
}

/* Makes the rule of simple lines, if the body has enough of them to be worth it. */
static bool prepare_simple(const struct body_reader *reader, struct simple_rule *rule) {
    if (reader->form != BODY_LINES || reader->key.size > 0) return false;
    if (reader->body.size - reader->at < SIMPLE_LEAST_BYTES) return false;
    rule->most = EVENTS_PER_BATCH;
    return simple_rule_make(reader->format, rule);
}

/* Takes simple lines, if the next ones are, as the others are taken one by one. */
static void take_simple(struct body_reader *reader, const struct simple_rule *rule,
                        struct event_batch *batch) {
    lethe_bytes rest = {.data = (const char *)reader->body.data + reader->at,
                        .size = reader->body.size - reader->at};
    size_t before = batch->count;
    reader->at += simple_choose(reader->format->kind)(rule, rest, reader->line + 1, batch);
    reader->line += batch->count - before;
    reader->index += batch->count - before;
}

enum body_result body_read(struct body_reader *reader, struct event_batch *batch) {
    struct simple_rule rule;
    bool has_simple = prepare_simple(reader, &rule);
    /* So many lines are taken one by one before simple ones are looked for again. */
    unsigned pause = 0;
    event_batch_clear(batch);
    for (;;) {
        lethe_bytes record;
        if (has_simple && !reader->has_kept && pause-- == 0) {
            size_t before = batch->count;
            take_simple(reader, &rule, batch);
            pause = batch->count - before >= SIMPLE_WORTH ? 0 : SIMPLE_PAUSE;
        }
        enum body_result result = next_record(reader, &record);
        if (result != BODY_MORE) return result;
        if (record.size > EVENT_LINE_LIMIT_BYTES) {
            event_problem_set(&reader->problem, "the event is longer than 1 MiB; send less");
            return fail(reader, reader->line);
        }
        if (reader->form == BODY_SINGLE && event_first_byte(record) == '\0') {
            event_problem_set(&reader->problem, "the body is empty; send an event");
            return fail(reader, reader->line);
        }
        size_t given = reader->key.size > 0 ? LETHE_ID_LIMIT_BYTES : 0;
        enum event_result parsed = EVENT_NO_ROOM;
        if (event_batch_has_room(batch, record.size + given)) {
            give_id(reader, batch);
            parsed = event_parse(reader->format, record, reader->line, batch, &reader->problem);
        }
        if (parsed == EVENT_UNREADABLE) return fail(reader, reader->line);
        if (parsed == EVENT_NO_ROOM) {
            reader->kept = record;
            reader->has_kept = true;
            return BODY_MORE;
        }
        reader->index++;
    }
}

struct parsing *parsing_take(struct batches *batches) {
    struct parsing *parsing = NULL;
    pthread_mutex_lock(&batches->lock);
    if (batches->count > 0) parsing = batches->free[--batches->count];
    pthread_mutex_unlock(&batches->lock);
    if (parsing != NULL) return parsing;
    parsing = malloc(sizeof *parsing);
    if (parsing != NULL && !event_batch_init(&parsing->batch)) {
        free(parsing);
        parsing = NULL;
    }
    return parsing;
}

static void free_parsing(struct parsing *parsing) {
    event_batch_free(&parsing->batch);
    free(parsing);
}

void parsing_give(struct batches *batches, struct parsing *parsing) {
    size_t most = sizeof batches->free / sizeof batches->free[0];
    pthread_mutex_lock(&batches->lock);
    bool has_room = batches->count < most;
    if (has_room) batches->free[batches->count++] = parsing;
    pthread_mutex_unlock(&batches->lock);
    if (!has_room) free_parsing(parsing);
}

void parsing_free_all(struct batches *batches) {
    while (batches->count > 0) {
        free_parsing(batches->free[--batches->count]);
    }
}
