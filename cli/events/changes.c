/* changes.c - the list of changes of a JSON event; see changes.h.
 *
 * IDEA    The event was scanned as a whole, so the list is right as JSON. Its elements are found
 *         one by one (elements.h), and each is scanned again for its key and delta.
 * I1      A scan wants a 0 after what it scans. The record is the batch's own copy, so the byte
 *         after an element is replaced and put back. */
#include "events/changes.h"

#include "events/elements.h"
#include "events/record.h"

enum { NODE_KEY = 1, NODE_DELTA = 2, NODE_BASE64 = 3, NODES = 4 };

static const char names[] = "key\0delta\0key_base64";
static const struct member_tree tree = {
    .count = NODES,
    .nodes =
        {[MEMBER_ROOT] = {.first = NODE_KEY, .element = UINT32_MAX},
         [NODE_KEY] = {.name = 0, .name_size = 3, .next = NODE_DELTA, .element = UINT32_MAX},
         [NODE_DELTA] = {.name = 4, .name_size = 5, .next = NODE_BASE64, .element = UINT32_MAX},
         [NODE_BASE64] = {.name = 10, .name_size = 10, .element = UINT32_MAX}},
};

bool event_has_changes(const struct event_format *format, const struct scan_value *found) {
    uint16_t node = format->changes_node;
    return node != MEMBER_ROOT && found[node].kind != SCAN_NOTHING && found[node].kind != SCAN_NULL;
}

bool event_lacks_place(const struct event_format *format, size_t place,
                       const struct scan_value *found, struct event_problem *problem) {
    uint16_t node = format->members.of_place[place], bytes = format->base64_nodes[place];
    bool is_there = found[node].kind != SCAN_NOTHING ||
                    (bytes != MEMBER_ROOT && found[bytes].kind != SCAN_NOTHING);
    if (format->places[place].kind == PLACE_LITERAL || !is_there) return true;
    event_problem_set(problem, "the event has a %s and a list of changes; give one of them",
                      event_role_name(format->places[place].role));
    return false;
}

static bool is_text(uint8_t kind) {
    return kind == SCAN_STRING || kind == SCAN_INTEGER;
}

/* One element of the list. */
static bool take_one(const struct event_format *format, lethe_bytes element, lethe_change *change,
                     struct event_batch *batch, struct event_problem *problem) {
    struct scan_value found[NODES];
    struct scan_failure failure;
    struct scan_wanted wanted = {.tree = &tree, .names = names};
    char *after = batch->text + ((const char *)element.data + element.size - batch->text), kept;
    kept = *after;
    *after = '\0'; /* I1 */
    bool fine = format->scan(&wanted, element, found, &failure);
    if (!fine) scan_explain(&failure, element, names + tree.nodes[failure.node].name, problem);
    *after = kept;
    if (!fine) return false;
    uint8_t delta = found[NODE_DELTA].kind, bytes = found[NODE_BASE64].kind;
    bool has_delta = delta != SCAN_NOTHING && delta != SCAN_NULL;
    bool has_bytes = format->takes_base64 && bytes != SCAN_NOTHING && bytes != SCAN_NULL;
    if ((!has_bytes && !is_text(found[NODE_KEY].kind)) ||
        (has_delta && !is_text(delta) && delta != SCAN_REAL)) {
        event_problem_set(problem, "a change needs a key, which is a string, and may have a delta, "
                                   "which is a number");
        return false;
    }
    *change = (lethe_change){0};
    if (!has_bytes) {
        change->key = event_text_of(&found[NODE_KEY], batch);
    } else if (!event_bytes_of(&found[NODE_BASE64], "key", batch, &change->key, problem)) {
        return false;
    }
    lethe_bytes text = {0};
    if (has_delta) text = event_text_of(&found[NODE_DELTA], batch);
    return event_take_key(change->key, problem) &&
           event_take_delta(format, text, &change->delta, problem);
}

enum event_result event_take_list(const struct event_format *format, const lethe_bytes *fields,
                                  struct scan_value *found, struct event_batch *batch,
                                  struct event_problem *problem) {
    const struct scan_value *list = &found[format->changes_node];
    size_t room = EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT - batch->change_count, count = 0;
    enum element_result result = ELEMENT_BAD;
    lethe_bytes id, element;
    uint64_t time_ms;
    if (!event_make_id(format, fields, batch, &id, problem) ||
        !event_take_time(format, fields, batch, &time_ms, problem)) {
        return EVENT_UNREADABLE;
    }
    if (list->kind == SCAN_ARRAY) {
        const char *end = batch->text + batch->text_used;
        struct event_elements elements =
            event_elements_begin((lethe_bytes){list->at, (size_t)(end - list->at)});
        while ((result = event_elements_next(&elements, &element)) == ELEMENT_FOUND) {
            if (count == LETHE_CHANGES_LIMIT) {
                event_problem_set(problem, "more than %d changes in one event; send several events",
                                  LETHE_CHANGES_LIMIT);
                return EVENT_UNREADABLE;
            }
            if (count == room) return EVENT_NO_ROOM;
            lethe_change *change = &batch->changes[batch->change_count + count++];
            if (!take_one(format, element, change, batch, problem)) return EVENT_UNREADABLE;
        }
    }
    if (result == ELEMENT_END && count > 0) return event_add(batch, id, count, time_ms);
    event_problem_set(problem,
                      "the member 'changes' is not a list of objects, each with a key and a "
                      "delta");
    return EVENT_UNREADABLE;
}
