/* Goal: a table remembers exactly what it should, counts it exactly, and does so with the same
 *       bytes whichever instruction set its operations were compiled for. */
#include "support/test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "support/random.h"
#include "window/table.h"

enum { KEYS = 3000, STEPS = 60, OPERATIONS = 200, BATCH = 150 };

/* Two tables that are treated alike, and when each key was last recorded, plus one. */
struct subject {
    struct test_random random;
    lethe_table *tables[2];
    uint64_t period;
    uint64_t recorded[KEYS];
    bool is_exact; /* remainders so long that no key looks like another */
};

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(3, key);
}

static bool has_bmi2(void) {
    return lethe_cpu_detect() >= LETHE_CPU_AVX2;
}

static const struct lethe_table_operations *other_operations(void) {
#if defined(__x86_64__)
    if (has_bmi2()) return lethe_table_bmi2;
#endif
    return lethe_table_portable;
}

static void assert_same_tables(const lethe_table *a, const lethe_table *b) {
    assert_int_equal(a->alive, b->alive);
    assert_int_equal(a->segments_allocated, b->segments_allocated);
    assert_memory_equal(a->added, b->added, sizeof a->added);
    for (uint64_t i = 0; i < a->shape.segments; i++) {
        assert_int_equal(a->segments[i] != NULL, b->segments[i] != NULL);
        if (a->segments[i] != NULL)
            assert_memory_equal(a->segments[i], b->segments[i], a->shape.segment_bytes);
    }
}

/* Counting from the blocks gives what was counted on the way. */
static void assert_counts_are_right(lethe_table *table) {
    uint64_t alive = table->alive, recorded[LETHE_TABLE_PERIODS];
    memcpy(recorded, table->added, sizeof recorded);
    assert_true(lethe_table_recount(table));
    assert_int_equal(table->alive, alive);
    for (unsigned age = 0; age <= table->shape.queue.generations; age++) {
        uint64_t at = (table->period - age) % LETHE_TABLE_PERIODS;
        assert_int_equal(table->added[at], recorded[at]);
    }
    memcpy(table->added, recorded, sizeof recorded);
}

static bool is_alive(const struct subject *subject, uint64_t key) {
    return subject->recorded[key] != 0 && subject->period + 1 - subject->recorded[key] <=
                                              subject->tables[0]->shape.queue.generations;
}

/* A key that is remembered must be found, and with long remainders nothing else is. */
static void judge(const struct subject *subject, uint64_t key, bool answer) {
    if (subject->is_exact) {
        assert_int_equal(answer, is_alive(subject, key));
    } else if (is_alive(subject, key)) {
        assert_true(answer);
    }
}

static void do_check_and_insert(struct subject *subject, uint64_t key) {
    lethe_table_result results[2];
    for (int i = 0; i < 2; i++) {
        lethe_table *table = subject->tables[i];
        results[i] = table->operations->add_and_test(table, hash_of(key), subject->period);
    }
    assert_int_equal(results[0], results[1]);
    judge(subject, key, results[0] == LETHE_TABLE_IS_DUPLICATE);
    if (results[0] == LETHE_TABLE_ADDED) subject->recorded[key] = subject->period + 1;
}

/* One key, or a batch of them. */
static void do_record(struct subject *subject, size_t count) {
    lethe_hash ids[BATCH];
    uint64_t keys[BATCH], inserted[2];
    size_t done[2];
    uint64_t known = 0;
    for (size_t i = 0; i < count; i++) {
        keys[i] = test_random_below(&subject->random, KEYS);
        ids[i] = hash_of(keys[i]);
    }
    for (int i = 0; i < 2; i++) {
        lethe_table *table = subject->tables[i];
        lethe_table_result result;
        done[i] =
            table->operations->add_batch(table, ids, count, subject->period, &inserted[i], &result);
        assert_int_equal(result == LETHE_TABLE_ADDED, done[i] == count);
    }
    assert_int_equal(done[0], done[1]);
    assert_int_equal(inserted[0], inserted[1]);
    for (size_t i = 0; i < done[0]; i++) {
        known += is_alive(subject, keys[i]);
        subject->recorded[keys[i]] = subject->period + 1;
    }
    if (subject->is_exact) assert_int_equal(inserted[0], done[0] - known);
}

/* Only where no key looks like another: removing a lookalike would remove somebody else. */
static void do_remove(struct subject *subject, uint64_t key) {
    bool removed[2];
    unsigned matches[2];
    for (int i = 0; i < 2; i++) {
        lethe_table *table = subject->tables[i];
        matches[i] = table->operations->count_matches(table, hash_of(key), subject->period);
        removed[i] = table->operations->remove(table, hash_of(key), subject->period);
    }
    assert_int_equal(matches[0], matches[1]);
    assert_int_equal(removed[0], removed[1]);
    assert_int_equal(removed[0], matches[0] > 0);
    judge(subject, key, removed[0]);
    assert_true(matches[0] <= 1);
    subject->recorded[key] = 0;
}

static void do_batch(struct subject *subject, bool inserts) {
    lethe_hash ids[BATCH];
    uint64_t keys[BATCH];
    uint8_t answers[2][BATCH];
    size_t done[2] = {BATCH, BATCH};
    for (size_t i = 0; i < BATCH; i++) {
        keys[i] = test_random_below(&subject->random, KEYS);
        ids[i] = hash_of(keys[i]);
    }
    for (int i = 0; i < 2; i++) {
        const struct lethe_table_operations *operations = subject->tables[i]->operations;
        lethe_table_result result;
        if (inserts) {
            done[i] = operations->add_and_test_batch(&subject->tables[i], 1, ids, BATCH,
                                                     subject->period, answers[i], &result);
            assert_int_equal(result == LETHE_TABLE_ADDED, done[i] == BATCH);
        } else {
            operations->test_batch(&subject->tables[i], 1, ids, BATCH, subject->period, answers[i]);
        }
    }
    assert_int_equal(done[0], done[1]);
    assert_memory_equal(answers[0], answers[1], done[0]);
    for (size_t i = 0; i < done[0]; i++) {
        judge(subject, keys[i], answers[0][i] != 0);
        if (inserts && answers[0][i] == 0) subject->recorded[keys[i]] = subject->period + 1;
    }
}

static void do_check(struct subject *subject, uint64_t key) {
    bool answers[2];
    for (int i = 0; i < 2; i++) {
        lethe_table *table = subject->tables[i];
        answers[i] = table->operations->test(table, hash_of(key), subject->period);
    }
    assert_int_equal(answers[0], answers[1]);
    judge(subject, key, answers[0]);
}

static void run_operations(struct subject *subject) {
    for (int i = 0; i < OPERATIONS; i++) {
        uint64_t key = test_random_below(&subject->random, KEYS);
        switch (test_random_below(&subject->random, 8)) {
        case 0:
            do_check(subject, key);
            break;
        case 1:
            do_record(subject, 1);
            break;
        case 2:
            if (subject->is_exact) do_remove(subject, key);
            break;
        default:
            do_check_and_insert(subject, key);
        }
    }
    do_batch(subject, true);
    do_batch(subject, false);
    do_record(subject, BATCH);
}

/* Mostly the next period, often none, sometimes a long sleep. */
static void advance(struct subject *subject) {
    static const uint64_t sleeps[] = {1, 2, 13, 14, 15, 16, 64, 62, 63, 127, 128, 255, 256, 65536};
    uint64_t chance = test_random_below(&subject->random, 10);
    if (chance < 3) return;
    subject->period += chance < 9 ? 1 : sleeps[test_random_below(&subject->random, 14)];
    for (int i = 0; i < 2; i++)
        lethe_table_advance(subject->tables[i], subject->period);
}

/* A table with blocks of that shape, or NULL if there is none. As full as can be, if it is to be
 * tight: then both blocks of many ids are full, and so are those that their entries could move
 * to. */
static bool make_shape(unsigned bits, unsigned generations, unsigned block_bytes, uint64_t capacity,
                       bool is_tight, struct lethe_table_shape *shape) {
    *shape = (struct lethe_table_shape){
        .queue.bits = bits, .queue.generations = generations, .queue.block_bytes = block_bytes};
    if (!lethe_queue_plan(bits, generations, block_bytes, &shape->queue)) return false;
    unsigned slots = shape->queue.slots;
    shape->segments = is_tight ? 1 : 2;
    shape->blocks = (capacity + slots) / slots / shape->segments + 2;
    shape->capacity = shape->segments * shape->blocks * slots;
    if (!is_tight) shape->capacity -= shape->capacity / 8;
    return lethe_table_finish_shape(shape);
}

static void run_model(unsigned bits, unsigned generations, unsigned block_bytes, uint64_t capacity,
                      bool is_tight, uint64_t seed) {
    struct lethe_table_shape shape;
    if (!make_shape(bits, generations, block_bytes, capacity, is_tight, &shape)) return;
    struct subject subject = {.random = {seed}, .is_exact = bits >= 48};
    subject.period = test_random_below(&subject.random, 1000);
    for (int i = 0; i < 2; i++) {
        subject.tables[i] = lethe_table_new(&shape, subject.period, NULL);
        assert_non_null(subject.tables[i]);
    }
    subject.tables[0]->operations = lethe_table_operations_for(lethe_table_portable, &shape.queue);
    subject.tables[1]->operations = lethe_table_operations_for(other_operations(), &shape.queue);
    for (int step = 0; step < STEPS; step++) {
        run_operations(&subject);
        assert_same_tables(subject.tables[0], subject.tables[1]);
        for (int i = 0; i < 2; i++)
            assert_counts_are_right(subject.tables[i]);
        advance(&subject);
    }
    for (uint64_t key = 0; key < KEYS; key++)
        do_check(&subject, key);
    for (int i = 0; i < 2; i++)
        lethe_table_free(subject.tables[i]);
}

/* Method: random operations on two tables, one for each instruction set, of every shape of
 *         block, roomy and tight; after each step answers, bytes and counts are compared. */
static void all_paths_do_the_same(void **state) {
    (void)state;
    static const unsigned generations[] = {1, 2, 14, 30, 62};
    for (unsigned bits = 1; bits <= LETHE_QUEUE_MAX_BITS; bits++) {
        for (unsigned block_bytes = 32; block_bytes <= 128; block_bytes *= 2) {
            run_model(bits, generations[bits % 5], block_bytes, 2000, false, bits);
            run_model(bits, 30, block_bytes, 700, true, bits + 1000);
        }
    }
    for (unsigned seed = 1; seed <= 40; seed++)
        run_model(48 + seed % 10, generations[seed % 5], 64, 60 * seed, seed % 2 == 0, seed);
}

/* The shapes that have code of their own are those that are planned, as their tables say. */
static void usual_shapes_are_usual(void **state) {
    (void)state;
    static const double errors[LETHE_TABLE_USUAL] = {1e-6, 1e-3, 1e-12};
    for (int i = 0; i < LETHE_TABLE_USUAL; i++) {
        struct lethe_queue_shape queue = lethe_table_usual[i];
        assert_true(lethe_queue_plan(queue.bits, queue.generations, queue.block_bytes, &queue));
        assert_memory_equal(&queue, &lethe_table_usual[i], sizeof queue);
        struct lethe_table_shape shape;
        assert_true(lethe_table_plan(10000000, errors[i] * 0.995, 30, &shape));
        assert_memory_equal(&shape.queue, &lethe_table_usual[i], sizeof queue);
    }
}

/* Goal: a table planned for n ids holds n ids. */
static void a_table_holds_what_it_was_planned_for(void **state) {
    (void)state;
    static const uint64_t capacities[] = {1, 10, 100, 1024, 5000, 100000, 3000000};
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        struct lethe_table_shape shape;
        assert_true(lethe_table_plan(capacities[i], 1e-6, 30, &shape));
        lethe_table *table = lethe_table_new(&shape, 5, NULL);
        assert_non_null(table);
        for (uint64_t id = 0; id < capacities[i]; id++) {
            if (table->operations->insert(table, hash_of(id), 5) != LETHE_TABLE_ADDED)
                fail_msg("full after %" PRIu64 " of %" PRIu64, id, capacities[i]);
        }
        assert_int_equal(table->operations->insert(table, hash_of(capacities[i]), 5),
                         LETHE_TABLE_IS_FULL);
        for (uint64_t id = 0; id < capacities[i]; id++)
            assert_true(table->operations->test(table, hash_of(id), 5));
        assert_true(lethe_table_allocated_bytes(table) <= lethe_table_planned_bytes(&shape));
        lethe_table_free(table);
    }
}

/* How many periods ago the oldest of the blocks with entries was written or swept. */
static unsigned oldest_stamp(const lethe_table *table) {
    const struct lethe_queue_shape *queue = &table->shape.queue;
    unsigned oldest = 0;
    for (uint64_t i = 0; i < table->shape.segments * table->shape.blocks; i++) {
        unsigned char *segment = table->segments[i / table->shape.blocks];
        if (segment == NULL) continue;
        const unsigned char *block = lethe_table_block(table, segment, i % table->shape.blocks);
        unsigned age = (uint8_t)((uint8_t)table->period - lethe_queue_stamp(queue, block));
        if (lethe_queue_stored_ages(queue, block) != 0 && age > oldest) oldest = age;
    }
    return oldest;
}

static lethe_table *make_swept(unsigned generations, uint64_t period) {
    struct lethe_table_shape shape;
    assert_true(make_shape(48, generations, 64, KEYS, false, &shape));
    lethe_table *table = lethe_table_new(&shape, period, NULL);
    assert_non_null(table);
    return table;
}

/* A table that was saved and loaded has the bytes that it had. */
static void assert_recount_writes_nothing(lethe_table *table) {
    size_t size = table->shape.segment_bytes;
    unsigned char *copy = malloc(table->shape.segments * size);
    assert_non_null(copy);
    for (uint64_t i = 0; i < table->shape.segments; i++) {
        if (table->segments[i] != NULL) memcpy(copy + i * size, table->segments[i], size);
    }
    assert_counts_are_right(table);
    for (uint64_t i = 0; i < table->shape.segments; i++) {
        if (table->segments[i] != NULL)
            assert_memory_equal(copy + i * size, table->segments[i], size);
    }
    free(copy);
}

/* Goal:   however far the sweep lags behind, no stamp grows older than a writer can tell, and
 *         counts are exact.
 * Method: periods of a trickle of ids; now and then a longer sleep, and a piece of the sweep, or
 *         none for long. */
static void a_sweep_may_lag_behind(void **state) {
    (void)state;
    static const unsigned generations[] = {14, 30, 62};
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct test_random random = {seed};
        uint64_t period = test_random_below(&random, 1000);
        lethe_table *table = make_swept(generations[seed % 3], period);
        for (int step = 0; step < 3000; step++) {
            for (int i = 0; i < 8; i++) {
                uint64_t key = test_random_below(&random, UINT64_MAX);
                assert_int_equal(table->operations->insert(table, hash_of(key), period),
                                 LETHE_TABLE_ADDED);
            }
            bool is_lazy = step / 200 % 2 == 0;
            size_t most_bytes = is_lazy ? 0 : 64 * test_random_below(&random, 40);
            assert_true(lethe_table_sweep(table, most_bytes) <= most_bytes);
            assert_true(oldest_stamp(table) < 63);
            if (step % 20 == 0) assert_recount_writes_nothing(table);
            uint64_t sleep = test_random_below(&random, 10) > 0 ? 1 : 62;
            period += 1 + test_random_below(&random, sleep);
            lethe_table_advance(table, period);
        }
        lethe_table_free(table);
    }
}

/* Goal:   a table whose sweep took 63 periods for a lap, as they once did, can be gone on with.
 * Method: blocks as old as that let them be, wherever the sweep stands, are counted as a loaded
 *         table's are; then nobody sweeps but what has to be. */
static void an_older_sweep_is_gone_on_with(void **state) {
    (void)state;
    for (uint64_t first = 0; first < 70; first++) {
        lethe_table *table = make_swept(62, first);
        uint64_t total = table->shape.segments * table->shape.blocks, key = 0;
        for (uint64_t age = 0; age < 63; age++) {
            table->period = first + age;
            for (int i = 0; i < 20; i++, key++)
                (void)table->operations->insert(table, hash_of(key), table->period);
        }
        table->sweep_block = total * first / 69;
        assert_counts_are_right(table);
        for (int step = 0; step < 130; step++) {
            lethe_table_advance(table, table->period + 1);
            assert_true(oldest_stamp(table) <= 63);
        }
        lethe_table_free(table);
    }
}

int main(void) {
    if (!has_bmi2()) print_message("no BMI2 here: the portable path is compared with itself\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_paths_do_the_same),
        cmocka_unit_test(usual_shapes_are_usual),
        cmocka_unit_test(a_table_holds_what_it_was_planned_for),
        cmocka_unit_test(a_sweep_may_lag_behind),
        cmocka_unit_test(an_older_sweep_is_gone_on_with),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
