/* simulation/module/operations.c - making tables and sending operations to them, and whether the
 * answers are what the promises allow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steps.h"

enum { MOST_WORK = 3000 };

void key_of(unsigned table, char out[16]) {
    snprintf(out, 16, "t%u", table);
}

unsigned draw_table(void) {
    unsigned table = (unsigned)draw(MODEL_TABLES);
    while (!world.now.tables[table].exists) {
        table = (table + 1) % MODEL_TABLES;
    }
    return table;
}

void check_work(const server *of, const char *what) {
    if (of->work > MOST_WORK) wrong("%s made %llu calls", what, (unsigned long long)of->work);
}

void make_table(unsigned table, bool is_filter) {
    char key[16], window[16];
    key_of(table, key);
    model_table *made = &world.now.tables[table];
    /* Not drawn, so that the seeds do with other tables what they did. */
    bool is_forgetful = !is_filter && (chance >> 33) % 3 == 0;
    *made = (model_table){.exists = true,
                          .born = ++world.births,
                          .is_filter = is_filter,
                          .is_forgetful = is_forgetful,
                          .window_ms = (uint32_t)(draw(2) == 0 ? 20000 : 3600000)};
    for (unsigned id = 0; id < MODEL_IDS; id++) {
        model_forget(made, id);
    }
    if (!is_filter && (chance >> 37) % 2 == 0) meters_draw(made);
    snprintf(window, sizeof window, "%u", made->window_ms);
    command words = command_of(is_filter ? "FBF.RESERVE" : "ONCE.CREATE", key, "WINDOW", window,
                               "ERROR", draw(2) == 0 ? "1e-9" : "1e-12",
                               made->is_forgetful ? "KIND" : NULL, "forgetful", NULL);
    meters_words(made, &words);
    reply answer = server_call(master(), &words);
    if (answer.is_error) wrong("a table cannot be made: %s", answer.text);
    command_free(&words);
    gather();
}

/* Whether an answer about an id is one that the promises allow; notes what was done. */
static void judge(unsigned table, unsigned id, bool is_applied, bool counts) {
    model_table *known = &world.now.tables[table];
    model_answer expected = model_expect(known, id, now_ms());
    if (expected != MODEL_EITHER && is_applied != (expected == MODEL_APPLIED)) {
        wrong("t%u id-%u: %s; its age is %lld ms of %u (fast %lld, slow %lld)", table, id,
              is_applied ? "a duplicate was applied" : "taken for a duplicate",
              (long long)(now_ms() + known->base_ms - known->applied_ms[id]), known->window_ms,
              (long long)known->fast_ms, (long long)known->slow_ms);
    }
    if (is_applied) model_note(known, id, now_ms(), counts);
    if (is_applied && counts) meters_note(known, id, host_wall_ms(master()->at));
}

static void judge_witness(unsigned table, unsigned id, long long found) {
    unsigned times = world.now.tables[table].times[id];
    if (found != times) wrong("t%u: w-%u is %lld, not %u", table, id, found, times);
}

static void judge_operation(unsigned table, unsigned id, const long long *numbers) {
    judge(table, id, numbers[0] == 1, true);
    judge_witness(table, id, numbers[1]);
    meters_check(table, id);
}

/* Sends it, and says what came back. */
static reply ask(command words, bool lacks_memory) {
    master()->fail_allocation = lacks_memory ? 1 + draw(2) : 0;
    reply answer = server_call(master(), &words);
    master()->fail_allocation = 0;
    check_work(master(), words.words[0].data);
    say("  %.*s %.*s %.*s -> %s%lld %lld", (int)words.words[0].size, words.words[0].data,
        (int)words.words[1].size, words.words[1].data, (int)words.words[2].size,
        words.words[2].data, answer.is_error ? answer.text : "", answer.numbers[0],
        answer.numbers[1]);
    if (answer.is_error && !lacks_memory) wrong("%s", answer.text);
    command_free(&words);
    return answer;
}

static void forget_in_vain(const char *key, const char *name) {
    command words = command_of("ONCE.FORGET", key, name, NULL);
    if (!server_call(master(), &words).is_error) wrong("%s %s: FORGET is not refused", key, name);
    command_free(&words);
}

static void forget(unsigned table, unsigned id, const char *key, const char *name) {
    if (world.now.tables[table].is_forgetful) {
        forget_in_vain(key, name);
        return;
    }
    model_answer expected = model_expect(&world.now.tables[table], id, now_ms());
    bool was_there = ask(command_of("ONCE.FORGET", key, name, NULL), false).numbers[0] == 1;
    if (expected != MODEL_EITHER && was_there != (expected == MODEL_DUPLICATE))
        wrong("%s %s: FORGET says %d", key, name, was_there);
    model_forget(&world.now.tables[table], id);
}

static void remove_witness(unsigned table, unsigned id, const char *key, const char *counter) {
    model_table *known = &world.now.tables[table];
    long long removed = ask(command_of("ONCE.DEL", key, counter, NULL), false).numbers[0];
    if (removed > 1 || (known->times[id] > 0 && removed == 0))
        wrong("%s %s: DEL says %lld", key, counter, removed);
    known->times[id] = 0;
    meters_drop(known, id);
    meters_check(table, id);
}

enum { TAKEN_IN_ALL = 60, TAKEN_PER_PERIOD = 5 };

/* The limit of a take: on the total, or on the present period where there is one; sliding for every
 * second id. */
struct limit {
    bool is_per, is_sliding;
    long long most, value;
    char words[3][16];
};

static struct limit limit_of(const model_table *known, unsigned id) {
    int64_t wall_ms = host_wall_ms(master()->at);
    struct limit limit = {.is_per = known->period_ms[0] > 0, .most = TAKEN_IN_ALL};
    limit.is_sliding = limit.is_per && id % 2 == 1;
    limit.value = known->times[MODEL_SHARED];
    if (limit.is_per) {
        limit.most = TAKEN_PER_PERIOD;
        limit.value = limit.is_sliding ? meters_sliding(known, MODEL_SHARED, 0, wall_ms)
                                       : meters_present(known, MODEL_SHARED, 0, wall_ms);
    }
    snprintf(limit.words[0], sizeof limit.words[0], "w-%u", MODEL_SHARED);
    snprintf(limit.words[1], sizeof limit.words[1], "%lld", limit.most);
    snprintf(limit.words[2], sizeof limit.words[2], "%u", known->period_ms[0]);
    return limit;
}

static void judge_standing(const char *key, const struct limit *limit, const long long *numbers) {
    long long left = limit->value < limit->most ? limit->most - limit->value : 0;
    if (numbers[0] != limit->value || numbers[1] != left)
        wrong("%s: %lld are taken and %lld left, not %lld", key, numbers[0], numbers[1],
              limit->value);
    if ((numbers[2] >= 0) != limit->is_per) wrong("%s: reset in %lld ms", key, numbers[2]);
}

/* Takes one of what all ids take from. */
static void take(unsigned table, unsigned id, const char *key, const char *name) {
    model_table *known = &world.now.tables[table];
    struct limit limit = limit_of(known, id);
    const char *per = limit.is_per ? "PER" : NULL, *sliding = limit.is_sliding ? "SLIDING" : NULL;
    reply answer = ask(command_of("ONCE.TAKE", key, name, limit.words[0], "1", "LIMIT",
                                  limit.words[1], per, limit.words[2], sliding, NULL),
                       false);
    bool is_limited = answer.numbers[0] == -1, is_applied = answer.numbers[0] == 1;
    model_answer expected = model_expect(known, id, now_ms());
    if (is_limited && (expected == MODEL_DUPLICATE || limit.value + 1 <= limit.most))
        wrong("%s %s: limited at %lld of %lld", key, name, limit.value, limit.most);
    if (is_applied && limit.value + 1 > limit.most) wrong("%s %s: passes its limit", key, name);
    if (!is_limited) judge(table, id, is_applied, false);
    if (is_applied) {
        known->times[MODEL_SHARED]++;
        meters_note(known, MODEL_SHARED, host_wall_ms(master()->at));
        limit.value++;
    }
    judge_standing(key, &limit, answer.numbers + 1);
    answer = ask(command_of("ONCE.PEEK", key, limit.words[0], "LIMIT", limit.words[1], per,
                            limit.words[2], sliding, NULL),
                 false);
    judge_standing(key, &limit, answer.numbers);
    meters_check(table, MODEL_SHARED);
}

static void operate(unsigned table, unsigned id, bool lacks_memory) {
    char key[16], name[16], counter[16], name_2[16], counter_2[16];
    unsigned other = (unsigned)draw(MODEL_IDS);
    key_of(table, key);
    snprintf(name, sizeof name, "id-%u", id);
    snprintf(counter, sizeof counter, "w-%u", id);
    snprintf(name_2, sizeof name_2, "id-%u", other);
    snprintf(counter_2, sizeof counter_2, "w-%u", other);
    uint64_t kind = world.now.tables[table].is_filter ? 10 : draw(10);
    reply answer;
    if (kind == 10) {
        answer = ask(command_of("FBF.ADD", key, name, NULL), lacks_memory);
        if (!answer.is_error) judge(table, id, answer.numbers[0] == 1, false);
    } else if (kind == 0 && !lacks_memory) {
        forget(table, id, key, name);
    } else if (kind == 4 && other % 4 == 0 && !lacks_memory) {
        remove_witness(table, id, key, counter);
    } else if (kind >= 8 && !lacks_memory) {
        take(table, id, key, name);
    } else if (kind == 1) {
        answer = ask(command_of("ONCE.ADD", key, name, NULL), lacks_memory);
        if (!answer.is_error) judge(table, id, answer.numbers[0] == 1, false);
    } else if (kind <= 3 && !lacks_memory) {
        answer =
            ask(command_of("ONCE.MINCRBY", key, name, counter, "1", name_2, counter_2, "1", NULL),
                false);
        if (!answer.is_error) judge_operation(table, id, answer.numbers);
        if (!answer.is_error) judge_operation(table, other, answer.numbers + 2);
    } else {
        answer = ask(command_of("ONCE.INCRBY", key, name, counter, "1", NULL), lacks_memory);
        if (!answer.is_error) judge_operation(table, id, answer.numbers);
    }
    gather();
}

/* Lets a table's clock catch up. At the start of a period a window may make another part, and what
 * memory was missing then its replicas do not know. */
static void move_clock(unsigned table) {
    char key[16];
    key_of(table, key);
    (void)ask(command_of("ONCE.DEL", key, "nothing", NULL), false);
    gather();
}

void step_operate(bool lacks_memory) {
    unsigned table = draw_table();
    bool is_filter = world.now.tables[table].is_filter;
    world.now.tables[table].lacked_memory |= lacks_memory && is_filter;
    for (uint64_t i = 1 + draw(24); i > 0; i--) {
        bool lacks_now = lacks_memory && draw(3) == 0;
        if (lacks_now && !is_filter) move_clock(table);
        operate(table, (unsigned)draw(MODEL_IDS), lacks_now);
    }
}
