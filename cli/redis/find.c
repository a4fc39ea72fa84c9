/* find.c - looks for once-tables, by SCAN with their type.
 *
 * IDEA  SCAN is no command of a slot: it is asked of a master by any slot that the master has. A
 *       master's place in a turn is its own cursor.
 * I1    A master without slots, and one that was heard of during a turn, has nothing to be asked
 *       for in it: what moved there meanwhile is found in the next turn.
 * COST  A server looks at REDIS_FIND_KEYS keys for a question, which takes it some ten
 *       microseconds to some hundred. */
#include "redis/find.h"

#include <stdlib.h>
#include <string.h>

#include "frame/clock.h"
#include "redis/map.h"
#include "redis/text.h"
#include "say/message.h"

/* The type of a once-table, as TYPE and SCAN call it. */
static const char once_type[] = "lethe-onc";

struct question {
    struct redis_request request;
    struct redis_text text;
    struct redis_finder *finder;
    size_t place;
    void (*on_key)(void *context, lethe_bytes key);
    void *context;
};

static void take_keys(struct redis_request *request, size_t command, const redisReply *reply) {
    (void)command;
    const struct question *question = request->context;
    struct redis_finder *finder = question->finder;
    finder->is_done[question->place] = true;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) return;
    const redisReply *cursor = reply->element[0], *keys = reply->element[1];
    if (cursor->str == NULL || keys->type != REDIS_REPLY_ARRAY) return;
    finder->cursors[question->place] = strtoull(cursor->str, NULL, 10);
    finder->is_done[question->place] = finder->cursors[question->place] == 0;
    for (size_t i = 0; i < keys->elements; i++) {
        const redisReply *key = keys->element[i];
        if (key->type == REDIS_REPLY_STRING)
            question->on_key(question->context, (lethe_bytes){key->str, (size_t)key->len});
    }
}

static bool write_question(struct question *question) {
    struct redis_text *text = &question->text;
    redis_text_clear(text);
    redis_text_begin(text, 6);
    redis_text_string(text, "SCAN");
    redis_text_count(text, question->finder->cursors[question->place]);
    redis_text_string(text, "COUNT");
    redis_text_count(text, REDIS_FIND_KEYS);
    redis_text_string(text, "TYPE");
    redis_text_string(text, once_type);
    return !text->is_short_of_memory;
}

/* Room for all servers that are known. */
static bool make_room(struct redis_finder *finder, size_t count) {
    if (count <= finder->room) return true;
    uint64_t *cursors = realloc(finder->cursors, count * sizeof *cursors);
    if (cursors != NULL) finder->cursors = cursors;
    bool *is_done = realloc(finder->is_done, count * sizeof *is_done);
    if (is_done != NULL) finder->is_done = is_done;
    if (cursors == NULL || is_done == NULL) return false;
    for (size_t i = finder->room; i < count; i++) {
        finder->cursors[i] = 0;
        finder->is_done[i] = true; /* I1 */
    }
    finder->room = count;
    return true;
}

/* For each server a slot that it has; REDIS_SLOTS: it has none. */
static void find_slots(const struct redis_client *client, uint16_t *slots, size_t count) {
    for (size_t i = 0; i < count; i++)
        slots[i] = REDIS_SLOTS;
    if (!client->is_cluster) {
        slots[0] = 0; /* whichever server is in use */
        return;
    }
    for (unsigned slot = REDIS_SLOTS; slot-- > 0;) {
        size_t place = client->link_of_slot[slot];
        if (place < count) slots[place] = (uint16_t)slot;
    }
}

/* Asks each master that is not done once. */
static int ask_all(struct redis_client *client, struct question *questions, const uint16_t *slots,
                   size_t count, size_t *asked) {
    *asked = 0;
    for (size_t i = 0; i < count; i++) {
        struct question *question = &questions[i];
        if (slots[i] == REDIS_SLOTS || question->finder->is_done[i]) continue;
        if (!write_question(question)) {
            (void)redis_client_finish(client, NULL);
            return redis_client_fail_memory(client);
        }
        question->request = (struct redis_request){.slot = slots[i],
                                                   .text = question->text.data,
                                                   .size = question->text.size,
                                                   .commands = 1,
                                                   .on_reply = take_keys,
                                                   .context = question};
        redis_client_submit(client, &question->request);
        ++*asked;
    }
    return redis_client_finish(client, NULL);
}

static int turn(struct redis_client *client, struct redis_finder *finder, unsigned most,
                struct question *questions, const uint16_t *slots, size_t count) {
    for (unsigned i = 0; i < most; i++) {
        size_t asked;
        int code = ask_all(client, questions, slots, count, &asked);
        if (code != EXIT_DONE) return code;
        if (asked > 0) continue;
        finder->is_turning = false;
        finder->turns++;
        break;
    }
    return EXIT_DONE;
}

int redis_find(struct redis_client *client, struct redis_finder *finder, unsigned most,
               uint64_t rest_ms, void (*on_key)(void *, lethe_bytes), void *context) {
    size_t count = client->is_cluster ? client->link_count : 1;
    uint64_t now = clock_ms();
    if (!finder->is_turning && finder->turns > 0 && now - finder->began_ms < rest_ms)
        return EXIT_DONE;
    struct question *questions = calloc(count, sizeof *questions);
    uint16_t *slots = calloc(count, sizeof *slots);
    int code = EXIT_DONE;
    if (questions == NULL || slots == NULL || !make_room(finder, count)) {
        code = message_fail_memory();
    } else {
        find_slots(client, slots, count);
        for (size_t i = 0; i < count; i++) {
            questions[i].finder = finder;
            questions[i].place = i;
            questions[i].on_key = on_key;
            questions[i].context = context;
            if (finder->is_turning) continue;
            finder->cursors[i] = 0;
            finder->is_done[i] = slots[i] == REDIS_SLOTS;
        }
        if (!finder->is_turning) finder->began_ms = now;
        finder->is_turning = true;
        code = turn(client, finder, most, questions, slots, count);
    }
    for (size_t i = 0; i < count && questions != NULL; i++)
        redis_text_free(&questions[i].text);
    free(questions);
    free(slots);
    return code;
}

void redis_finder_reset(struct redis_finder *finder) {
    finder->is_turning = false;
    finder->turns = 0;
}

void redis_finder_free(struct redis_finder *finder) {
    free(finder->cursors);
    free(finder->is_done);
    *finder = (struct redis_finder){0};
}
