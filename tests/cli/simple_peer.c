/* simple_peer.c - compares simple lines with their definition; see simple_peer.h. */
#include "simple_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/parse.h"
#include "lethe/version.h"

/* The text that is looked at. */
static lethe_bytes current;

/* Ends the program, and shows the text, where something is not as it must be. */
#define REQUIRE(condition)                    \
    do {                                      \
        if (!(condition)) differ(#condition); \
    } while (0)

static _Noreturn void differ(const char *what) {
    const unsigned char *bytes = current.data;
    fprintf(stderr, "simple lines differ: %s is wrong for\n", what);
    for (size_t i = 0; i < current.size; i++) {
        bool is_plain = bytes[i] == '\n' || (bytes[i] >= 0x20 && bytes[i] < 0x7f);
        fprintf(stderr, is_plain ? "%c" : "\\x%02x", bytes[i]);
    }
    fprintf(stderr, "\n");
    abort();
}

static bool is_same(lethe_bytes a, lethe_bytes b) {
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static void compare_operations(const struct event_batch *one, const struct event_batch *other) {
    REQUIRE(one->count == other->count && one->change_count == other->change_count);
    REQUIRE(one->guessed_unit == other->guessed_unit);
    if (one->guessed_unit != UNIT_BY_SIZE) REQUIRE(one->guessed_at == other->guessed_at);
    for (size_t i = 0; i < one->count; i++) {
        const lethe_operation *a = &one->operations[i], *b = &other->operations[i];
        REQUIRE(is_same(a->id, b->id));
        REQUIRE(a->change_count == b->change_count);
        for (size_t c = 0; c < a->change_count; c++) {
            REQUIRE(is_same(a->changes[c].key, b->changes[c].key));
            REQUIRE(a->changes[c].delta == b->changes[c].delta);
        }
        REQUIRE(a->time_ms == b->time_ms && a->flags == b->flags);
        REQUIRE(one->line_numbers[i] == other->line_numbers[i]);
        REQUIRE(is_same(one->lines[i], other->lines[i]));
    }
}

/* What the lines that were taken are, one by one. */
static void parse_one_by_one(const struct simple_trial *trial, lethe_bytes taken,
                             struct event_batch *batch) {
    const char *at = taken.data, *after = at + taken.size;
    for (uint64_t line = trial->line; at < after; line++) {
        const char *end = memchr(at, '\n', (size_t)(after - at));
        REQUIRE(end != NULL); /* only whole lines are taken */
        lethe_bytes record = {.data = at, .size = (size_t)(end - at)};
        if (end > at && end[-1] == '\r') record.size--;
        struct event_problem problem;
        REQUIRE(event_batch_has_room(batch, record.size));
        REQUIRE(event_parse(trial->format, record, line, batch, &problem) == EVENT_TAKEN);
        at = end + 1;
    }
}

static size_t take(simple_function *way, struct simple_rule *rule, const struct simple_trial *trial,
                   struct event_batch *batch) {
    event_batch_clear(batch);
    (void)event_batch_take(batch, trial->used);
    batch->change_count = trial->changes;
    rule->most = trial->most;
    size_t taken = way(rule, current, trial->line, batch);
    REQUIRE(taken <= current.size && batch->count <= trial->most);
    REQUIRE(batch->text_used >= trial->used + taken && batch->text_used <= EVENT_TEXT_BYTES);
    REQUIRE(taken > 0 || (batch->count == 0 && batch->text_used == trial->used));
    REQUIRE(batch->change_count <= EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT);
    batch->change_count -= trial->changes;
    return taken;
}

size_t simple_compare(const struct simple_trial *trial, const void *text, size_t size) {
    static struct event_batch together, apart;
    static struct simple_rule rule;
    bool is_json = trial->format->kind == EVENTS_JSONL;
    if (together.text == NULL) {
        REQUIRE(event_batch_init(&together) && event_batch_init(&apart));
    }
    if (size == 0 || !simple_rule_make(trial->format, &rule)) return 0;
    /* At the end of its memory, so that whatever reads behind it is noticed where sanitizers
     * are. */
    char *room = malloc(size);
    REQUIRE(room != NULL);
    memcpy(room, text, size);
    current = (lethe_bytes){room, size};
    size_t taken = take(is_json ? simple_json_portable : simple_portable, &rule, trial, &together);
    event_batch_clear(&apart);
    parse_one_by_one(trial, (lethe_bytes){room, taken}, &apart);
    compare_operations(&together, &apart);
#if defined(__x86_64__)
    if (strcmp(lethe_cpu_path(), "scalar") != 0) {
        size_t other = take(is_json ? simple_json_avx2 : simple_avx2, &rule, trial, &together);
        REQUIRE(taken == other);
        compare_operations(&together, &apart);
    }
#endif
    free(room);
    return taken;
}
