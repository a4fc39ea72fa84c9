/* Goal:   where modes meet, every answer is the one that the operations, decided one by one, would
 *         have got.
 * Method: random streams by event time in calls of up to 2,500 operations, so that the clock
 *         passes W inside a chunk and ids come back just before and just after W; many
 *         operations are refused and repeated; some events are far ahead. The store is exact (at
 *         an error of 0.1: the window is wrong all the time), compares payloads, keeps ids for
 *         ever, or does none of it; its window is of either kind; it is closed and opened without
 *         options, or switched between the modes that allow it. The model decides one by one.
 *         Commits wait, so that most duplicates come before their original is durable. In half of
 *         the stores the window is made again all the time. Arguments: seeds, calls a seed. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "support/random.h"
#include "support/store.h"

enum { IDS = 1500, BATCH = 2500, WITNESSES = 64 };

static const uint64_t START_MS = UINT64_C(1600000000000), WINDOW_MS = 60000;

static unsigned seeds = 2, calls = 24;

enum mode { PLAIN, EXACT, PAYLOAD, FOREVER, MODES };

struct memory {
    bool was_applied;
    bool is_loose;     /* it may be remembered a little longer than W */
    bool is_vague;     /* it may have been forgotten before ids were kept for ever */
    bool knows_change; /* by the index */
    uint64_t applied_ms;
    int64_t change;
};

struct subject {
    struct test_random random;
    struct test_folder folder;
    enum mode mode;
    lethe_store *store;
    uint64_t clock_ms, drawn_ms;
    uint64_t forgotten_ms; /* what was late when ids were first kept for ever */
    struct memory memory[IDS];
    int64_t full, other; /* the two counters: of the first, half of the changes overflow */
    uint64_t outcomes[8];
};

struct event {
    unsigned id;
    bool is_full; /* of the counter "full" */
    int64_t delta;
    uint64_t time_ms;
};

static lethe_store_options options_of(enum mode mode) {
    lethe_store_options options = {
        .exact = LETHE_SWITCH_OFF, .check_payload = LETHE_SWITCH_OFF, .error = 1e-12};
    if (mode == EXACT || mode == PAYLOAD) {
        options.exact = LETHE_SWITCH_ON;
        options.error = 0.1;
    }
    if (mode == PAYLOAD) options.check_payload = LETHE_SWITCH_ON;
    if (mode == FOREVER) options.forever = LETHE_SWITCH_ON;
    return options;
}

static void open_store(struct subject *subject, lethe_store_options options) {
    options.ledger_memory_bytes = 1 << 22;
    subject->store = test_store_open(subject->folder.path, options);
}

static void compare_values(struct subject *subject) {
    lethe_bytes keys[] = {{"full", 4}, {"other", 5}};
    int64_t values[2];
    bool found[2];
    assert_ok(lethe_store_get(subject->store, keys, 2, values, found));
    assert_int_equal(values[0], subject->full);
    assert_int_equal(values[1], subject->other);
}

/* What a change of modes does to what is remembered. */
static void reconsider(struct subject *subject, enum mode before) {
    if (subject->mode == FOREVER && before != FOREVER && subject->clock_ms > WINDOW_MS)
        subject->forgotten_ms = subject->clock_ms - WINDOW_MS;
    for (unsigned i = 0; i < IDS; i++) {
        struct memory *memory = &subject->memory[i];
        if (subject->mode == PLAIN) { /* the log has the times of steps, and not what was changed */
            memory->is_loose = true;
            memory->knows_change = false;
        }
        if (subject->mode == FOREVER && before != FOREVER)
            memory->is_vague = subject->clock_ms - memory->applied_ms > WINDOW_MS;
    }
}

/* Closes the store and opens it again, as it is or in another mode. */
static void reopen(struct subject *subject) {
    compare_values(subject);
    test_store_close(subject->store);
    enum mode before = subject->mode;
    lethe_store_options options = {0};
    if (before != FOREVER && test_random_below(&subject->random, 2) == 0) {
        subject->mode = (enum mode)test_random_below(&subject->random, MODES);
        options = options_of(subject->mode);
    }
    options.commit_interval_ms = 10000;
    open_store(subject, options);
    reconsider(subject, before);
    compare_values(subject);
}

static struct event draw(struct subject *subject) {
    struct test_random *random = &subject->random;
    struct event event = {.id = (unsigned)test_random_below(random, IDS),
                          .is_full = test_random_below(random, 2) == 0};
    uint64_t kind = test_random_below(random, 1000);
    if (kind < 900) {
        subject->drawn_ms += test_random_below(random, 200);
    } else if (kind < 920) {
        subject->drawn_ms += test_random_below(random, WINDOW_MS / 3);
    } else if (kind < 922) {
        subject->drawn_ms += test_random_below(random, 3 * WINDOW_MS);
    }
    event.time_ms = subject->drawn_ms;
    /* Where no event is late such a one would be believed. */
    if (kind >= 990 && subject->mode != FOREVER) event.time_ms += 20 * 24 * 60 * WINDOW_MS;
    if (kind >= 922 && kind < 960) event.time_ms -= test_random_below(random, 3 * WINDOW_MS / 2);
    event.delta = event.id % 7 + 1;
    if (event.is_full) event.delta = test_random_below(random, 4) == 0 ? -1 : 1;
    return event;
}

static int64_t change_of(const struct event *event) {
    return event->delta * (event->is_full ? 1000 : 1);
}

static bool is_older(uint64_t time_ms, uint64_t clock_ms) {
    return time_ms + WINDOW_MS < clock_ms;
}

static bool is_believed(const struct subject *subject, const struct event *event,
                        size_t following) {
    size_t with = 0, behind = 0;
    for (size_t i = 1; i <= following && i <= WITNESSES; i++) {
        if (is_older(event[i].time_ms, subject->clock_ms)) continue;
        bool is_behind = is_older(event[i].time_ms, event->time_ms);
        behind += is_behind;
        with += !is_behind;
    }
    return with >= behind;
}

static lethe_outcome judge_time(struct subject *subject, const struct event *event,
                                size_t following) {
    if (subject->mode != FOREVER) {
        if (is_older(event->time_ms, subject->clock_ms)) return LETHE_OUTCOME_LATE;
        if (is_older(subject->clock_ms, event->time_ms) && !is_believed(subject, event, following))
            return LETHE_OUTCOME_FUTURE;
    }
    if (event->time_ms > subject->clock_ms) subject->clock_ms = event->time_ms;
    return LETHE_OUTCOME_APPLIED;
}

/* The model's own decision, by what it knows of all before; where it leaves a choice, the
 * store's is taken. */
static lethe_outcome judge(struct subject *subject, const struct event *event, size_t following,
                           lethe_outcome said) {
    lethe_outcome outcome = judge_time(subject, event, following);
    if (outcome != LETHE_OUTCOME_APPLIED) return outcome;
    struct memory *memory = &subject->memory[event->id];
    bool is_exact = subject->mode == EXACT || subject->mode == PAYLOAD;
    uint64_t age_ms = subject->clock_ms - memory->applied_ms;
    /* It can't be told from what was forgotten before ids were kept for ever: the store must not
     * apply it again. */
    bool is_feared = subject->mode == FOREVER && event->time_ms < subject->forgotten_ms;
    if (memory->was_applied) {
        bool is_known = age_ms <= WINDOW_MS || (subject->mode == FOREVER && !memory->is_vague);
        bool may_be = memory->is_vague ||
                      ((!is_exact || memory->is_loose) && age_ms <= WINDOW_MS + WINDOW_MS / 4);
        if (is_feared && !is_known && said == LETHE_OUTCOME_LATE) return LETHE_OUTCOME_LATE;
        if (is_known || is_feared || (may_be && said == LETHE_OUTCOME_DUPLICATE)) {
            bool differs = memory->knows_change && memory->change != change_of(event);
            return subject->mode == PAYLOAD && differs ? LETHE_OUTCOME_MISMATCH
                                                       : LETHE_OUTCOME_DUPLICATE;
        }
    }
    if (is_feared && said == LETHE_OUTCOME_LATE) return LETHE_OUTCOME_LATE;
    int64_t *value = event->is_full ? &subject->full : &subject->other;
    if (__builtin_add_overflow(*value, event->delta, value)) {
        *value = INT64_MAX; /* the only side on which it is full */
        return LETHE_OUTCOME_OVERFLOW;
    }
    *memory = (struct memory){.was_applied = true,
                              .knows_change = is_exact,
                              .is_loose = !is_exact,
                              .applied_ms = subject->clock_ms,
                              .change = change_of(event)};
    return LETHE_OUTCOME_APPLIED;
}

static void apply_batch(struct subject *subject) {
    static struct event events[BATCH];
    static char ids[BATCH][16];
    static lethe_change changes[BATCH];
    static lethe_operation operations[BATCH];
    static uint8_t outcomes[BATCH];
    size_t count = 1 + test_random_below(&subject->random, BATCH);
    for (size_t i = 0; i < count; i++) {
        events[i] = draw(subject);
        /* Retries of what was just sent. */
        if (i > 0 && test_random_below(&subject->random, 5) == 0)
            events[i] = events[i - 1 - test_random_below(&subject->random, i < 30 ? i : 30)];
        size_t id_size = (size_t)snprintf(ids[i], sizeof ids[i], "id-%u", events[i].id);
        changes[i] = (lethe_change){.key = events[i].is_full ? (lethe_bytes){"full", 4}
                                                             : (lethe_bytes){"other", 5},
                                    .delta = events[i].delta};
        operations[i] = (lethe_operation){.id = {ids[i], id_size},
                                          .changes = &changes[i],
                                          .change_count = 1,
                                          .time_ms = events[i].time_ms};
    }
    uint64_t ticket;
    test_store_submit_either(subject->store, operations, count, outcomes, &ticket);
    for (size_t i = 0; i < count; i++) {
        lethe_outcome expected =
            judge(subject, &events[i], count - 1 - i, (lethe_outcome)outcomes[i]);
        if (outcomes[i] != expected) print_error("mode %d, event %zu\n", (int)subject->mode, i);
        assert_int_equal(outcomes[i], expected);
        subject->outcomes[expected]++;
    }
}

/* A new store, with one counter that is all but full. */
static void found(struct subject *subject, uint64_t seed, lethe_switch forgetful) {
    test_folder_make(&subject->folder);
    lethe_store_options options = options_of(subject->mode);
    options.window_ms = WINDOW_MS;
    options.event_time = LETHE_SWITCH_ON;
    options.create = true;
    options.seed = seed;
    options.forgetful = forgetful;
    open_store(subject, options);
    lethe_bytes full = {"full", 4};
    assert_ok(lethe_store_set(subject->store, &full, &subject->full, 1));
    test_store_close(subject->store);
    open_store(subject, (lethe_store_options){.commit_interval_ms = 10000,
                                              .commit_operations = seed % 2 == 0 ? 97 : 0,
                                              .threads = 2});
}

static void run_seed(enum mode mode, uint64_t seed, lethe_switch forgetful) {
    static struct subject subject;
    subject = (struct subject){.random = {.state = seed * MODES + mode},
                               .mode = mode,
                               .drawn_ms = START_MS,
                               .full = INT64_MAX - 2};
    const lethe_tunables usual = lethe_tune;
    if (seed % 2 == 0) {
        lethe_tune.renew_ids = lethe_tune.renew_parts = 1;
        lethe_tune.renew_percent = 0;
    }
    found(&subject, seed, forgetful);
    for (unsigned call = 0; call < calls; call++) {
        if (call % 6 == 5) reopen(&subject);
        apply_batch(&subject);
    }
    compare_values(&subject);
    test_store_close(subject.store);
    lethe_tune = usual;
    /* Nothing of it was left out. */
    assert_true(subject.outcomes[LETHE_OUTCOME_APPLIED] > 0 &&
                subject.outcomes[LETHE_OUTCOME_DUPLICATE] > 0 &&
                subject.outcomes[LETHE_OUTCOME_OVERFLOW] > 0);
    test_folder_remove(&subject.folder);
}

static void run_seeds(enum mode mode) {
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        run_seed(mode, seed, LETHE_SWITCH_OFF);
        run_seed(mode, seed, LETHE_SWITCH_ON);
    }
}

static void decided_as_one_by_one(void **state) {
    (void)state;
    run_seeds(PLAIN);
}

static void decided_as_one_by_one_in_exact_mode(void **state) {
    (void)state;
    run_seeds(EXACT);
}

static void decided_as_one_by_one_with_payloads(void **state) {
    (void)state;
    run_seeds(PAYLOAD);
}

static void decided_as_one_by_one_for_ever(void **state) {
    (void)state;
    run_seeds(FOREVER);
}

int main(int count, char **words) {
    if (count > 1) seeds = (unsigned)atoi(words[1]);
    if (count > 2) calls = (unsigned)atoi(words[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decided_as_one_by_one),
        cmocka_unit_test(decided_as_one_by_one_in_exact_mode),
        cmocka_unit_test(decided_as_one_by_one_with_payloads),
        cmocka_unit_test(decided_as_one_by_one_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
