/* Goal: a part remembers exactly what it should, counts it exactly, and does so with the same
 *       bytes whichever instruction set its operations were compiled for. */
#include "support/test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "support/random.h"
#include "window/part.h"

enum { KEYS = 3000, STEPS = 60, OPERATIONS = 200, BATCH = 150 };

/* Two parts that are treated alike, and when each key was last recorded, plus one. */
struct subject {
    struct test_random random;
    lethe_part *parts[2];
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

static const struct lethe_part_operations *other_operations(void) {
#if defined(__x86_64__)
    if (has_bmi2()) return lethe_part_bmi2;
#endif
    return lethe_part_portable;
}

static void assert_same_parts(const lethe_part *a, const lethe_part *b) {
    assert_int_equal(a->alive, b->alive);
    assert_int_equal(a->slabs_allocated, b->slabs_allocated);
    assert_memory_equal(a->added, b->added, sizeof a->added);
    for (uint64_t i = 0; i < a->shape.slabs; i++) {
        assert_int_equal(a->slabs[i] != NULL, b->slabs[i] != NULL);
        if (a->slabs[i] != NULL) assert_memory_equal(a->slabs[i], b->slabs[i], a->shape.slab_bytes);
    }
}

/* Counting from the blocks gives what was counted on the way. */
static void assert_counts_are_right(lethe_part *part) {
    uint64_t alive = part->alive, recorded[LETHE_PART_PERIODS];
    memcpy(recorded, part->added, sizeof recorded);
    assert_true(lethe_part_recount(part));
    assert_int_equal(part->alive, alive);
    for (unsigned age = 0; age <= part->shape.queue.generations; age++) {
        uint64_t at = (part->period - age) % LETHE_PART_PERIODS;
        assert_int_equal(part->added[at], recorded[at]);
    }
    memcpy(part->added, recorded, sizeof recorded);
}

static bool is_alive(const struct subject *subject, uint64_t key) {
    return subject->recorded[key] != 0 && subject->period + 1 - subject->recorded[key] <=
                                              subject->parts[0]->shape.queue.generations;
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
    lethe_part_result results[2];
    for (int i = 0; i < 2; i++) {
        lethe_part *part = subject->parts[i];
        results[i] = part->operations->add_and_test(part, hash_of(key), subject->period);
    }
    assert_int_equal(results[0], results[1]);
    judge(subject, key, results[0] == LETHE_PART_IS_DUPLICATE);
    if (results[0] == LETHE_PART_ADDED) subject->recorded[key] = subject->period + 1;
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
        lethe_part *part = subject->parts[i];
        lethe_part_result result;
        done[i] =
            part->operations->add_batch(part, ids, count, subject->period, &inserted[i], &result);
        assert_int_equal(result == LETHE_PART_ADDED, done[i] == count);
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
        lethe_part *part = subject->parts[i];
        matches[i] = part->operations->count_matches(part, hash_of(key), subject->period);
        removed[i] = part->operations->remove(part, hash_of(key), subject->period);
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
        const struct lethe_part_operations *operations = subject->parts[i]->operations;
        lethe_part_result result;
        if (inserts) {
            done[i] = operations->add_and_test_batch(&subject->parts[i], 1, ids, BATCH,
                                                     subject->period, answers[i], &result);
            assert_int_equal(result == LETHE_PART_ADDED, done[i] == BATCH);
        } else {
            operations->test_batch(&subject->parts[i], 1, ids, BATCH, subject->period, answers[i]);
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
        lethe_part *part = subject->parts[i];
        answers[i] = part->operations->test(part, hash_of(key), subject->period);
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
        lethe_part_advance(subject->parts[i], subject->period);
}

/* A part with blocks of that shape, or NULL if there is none. As full as can be, if it is to be
 * tight: then both blocks of many ids are full, and so are those that their entries could move
 * to. */
static bool make_shape(unsigned bits, unsigned generations, unsigned block_bytes, uint64_t capacity,
                       bool is_tight, struct lethe_part_shape *shape) {
    *shape = (struct lethe_part_shape){
        .queue.bits = bits, .queue.generations = generations, .queue.block_bytes = block_bytes};
    if (!lethe_queue_plan(bits, generations, block_bytes, &shape->queue)) return false;
    unsigned slots = shape->queue.slots;
    shape->slabs = is_tight ? 1 : 2;
    shape->blocks = (capacity + slots) / slots / shape->slabs + 2;
    shape->capacity = shape->slabs * shape->blocks * slots;
    if (!is_tight) shape->capacity -= shape->capacity / 8;
    return lethe_part_finish_shape(shape);
}

static void run_model(unsigned bits, unsigned generations, unsigned block_bytes, uint64_t capacity,
                      bool is_tight, uint64_t seed) {
    struct lethe_part_shape shape;
    if (!make_shape(bits, generations, block_bytes, capacity, is_tight, &shape)) return;
    struct subject subject = {.random = {seed}, .is_exact = bits >= 48};
    subject.period = test_random_below(&subject.random, 1000);
    for (int i = 0; i < 2; i++) {
        subject.parts[i] = lethe_part_new(&shape, subject.period, NULL);
        assert_non_null(subject.parts[i]);
    }
    subject.parts[0]->operations = lethe_part_operations_for(lethe_part_portable, &shape.queue);
    subject.parts[1]->operations = lethe_part_operations_for(other_operations(), &shape.queue);
    for (int step = 0; step < STEPS; step++) {
        run_operations(&subject);
        assert_same_parts(subject.parts[0], subject.parts[1]);
        for (int i = 0; i < 2; i++)
            assert_counts_are_right(subject.parts[i]);
        advance(&subject);
    }
    for (uint64_t key = 0; key < KEYS; key++)
        do_check(&subject, key);
    for (int i = 0; i < 2; i++)
        lethe_part_free(subject.parts[i]);
}

/* Method: random operations on two parts, one for each instruction set, of every shape of
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

/* The shapes that have code of their own are those that are planned, as their parts say. */
static void usual_shapes_are_usual(void **state) {
    (void)state;
    static const double errors[LETHE_PART_USUAL] = {1e-6, 1e-3, 1e-12, 1e-12, 1e-9};
    for (int i = 0; i < LETHE_PART_USUAL; i++) {
        struct lethe_queue_shape queue = lethe_part_usual[i];
        assert_true(lethe_queue_plan(queue.bits, queue.generations, queue.block_bytes, &queue));
        assert_memory_equal(&queue, &lethe_part_usual[i], sizeof queue);
        struct lethe_part_shape shape;
        assert_true(lethe_part_plan(10000000, errors[i] * 0.995, 30, i == 3, &shape));
        assert_memory_equal(&shape.queue, &lethe_part_usual[i], sizeof queue);
    }
}

/* Goal: a part planned for n ids holds n ids. */
static void a_part_holds_what_it_was_planned_for(void **state) {
    (void)state;
    static const uint64_t capacities[] = {1, 10, 100, 1024, 5000, 100000, 3000000};
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        struct lethe_part_shape shape;
        assert_true(lethe_part_plan(capacities[i], 1e-6, 30, false, &shape));
        lethe_part *part = lethe_part_new(&shape, 5, NULL);
        assert_non_null(part);
        for (uint64_t id = 0; id < capacities[i]; id++) {
            if (part->operations->insert(part, hash_of(id), 5) != LETHE_PART_ADDED)
                fail_msg("full after %" PRIu64 " of %" PRIu64, id, capacities[i]);
        }
        assert_int_equal(part->operations->insert(part, hash_of(capacities[i]), 5),
                         LETHE_PART_IS_FULL);
        for (uint64_t id = 0; id < capacities[i]; id++)
            assert_true(part->operations->test(part, hash_of(id), 5));
        assert_true(lethe_part_allocated_bytes(part) <= lethe_part_planned_bytes(&shape));
        lethe_part_free(part);
    }
}

/* How many periods ago the oldest of the blocks with entries was written or swept. */
static unsigned oldest_stamp(const lethe_part *part) {
    const struct lethe_queue_shape *queue = &part->shape.queue;
    unsigned oldest = 0;
    for (uint64_t i = 0; i < part->shape.slabs * part->shape.blocks; i++) {
        unsigned char *slab = part->slabs[i / part->shape.blocks];
        if (slab == NULL) continue;
        const unsigned char *block = lethe_part_block(part, slab, i % part->shape.blocks);
        unsigned age = (uint8_t)((uint8_t)part->period - lethe_queue_stamp(queue, block));
        if (lethe_queue_stored_ages(queue, block) != 0 && age > oldest) oldest = age;
    }
    return oldest;
}

static lethe_part *make_swept(unsigned generations, uint64_t period) {
    struct lethe_part_shape shape;
    assert_true(make_shape(48, generations, 64, KEYS, false, &shape));
    lethe_part *part = lethe_part_new(&shape, period, NULL);
    assert_non_null(part);
    return part;
}

/* A part that was saved and loaded has the bytes that it had. */
static void assert_recount_writes_nothing(lethe_part *part) {
    size_t size = part->shape.slab_bytes;
    unsigned char *copy = malloc(part->shape.slabs * size);
    assert_non_null(copy);
    for (uint64_t i = 0; i < part->shape.slabs; i++) {
        if (part->slabs[i] != NULL) memcpy(copy + i * size, part->slabs[i], size);
    }
    assert_counts_are_right(part);
    for (uint64_t i = 0; i < part->shape.slabs; i++) {
        if (part->slabs[i] != NULL) assert_memory_equal(copy + i * size, part->slabs[i], size);
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
        lethe_part *part = make_swept(generations[seed % 3], period);
        for (int step = 0; step < 3000; step++) {
            for (int i = 0; i < 8; i++) {
                uint64_t key = test_random_below(&random, UINT64_MAX);
                assert_int_equal(part->operations->insert(part, hash_of(key), period),
                                 LETHE_PART_ADDED);
            }
            bool is_lazy = step / 200 % 2 == 0;
            size_t most_bytes = is_lazy ? 0 : 64 * test_random_below(&random, 40);
            assert_true(lethe_part_sweep(part, most_bytes) <= most_bytes);
            assert_true(oldest_stamp(part) < 63);
            if (step % 20 == 0) assert_recount_writes_nothing(part);
            uint64_t sleep = test_random_below(&random, 10) > 0 ? 1 : 62;
            period += 1 + test_random_below(&random, sleep);
            lethe_part_advance(part, period);
        }
        lethe_part_free(part);
    }
}

/* Goal:   a part whose sweep took 63 periods for a lap, as they once did, can be gone on with.
 * Method: blocks as old as that let them be, wherever the sweep stands, are counted as a loaded
 *         part's are; then nobody sweeps but what has to be. */
static void an_older_sweep_is_gone_on_with(void **state) {
    (void)state;
    for (uint64_t first = 0; first < 70; first++) {
        lethe_part *part = make_swept(62, first);
        uint64_t total = part->shape.slabs * part->shape.blocks, key = 0;
        for (uint64_t age = 0; age < 63; age++) {
            part->period = first + age;
            for (int i = 0; i < 20; i++, key++)
                (void)part->operations->insert(part, hash_of(key), part->period);
        }
        part->sweep_block = total * first / 69;
        assert_counts_are_right(part);
        for (int step = 0; step < 130; step++) {
            lethe_part_advance(part, part->period + 1);
            assert_true(oldest_stamp(part) <= 63);
        }
        lethe_part_free(part);
    }
}

int main(void) {
    if (!has_bmi2()) print_message("no BMI2 here: the portable path is compared with itself\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_paths_do_the_same),
        cmocka_unit_test(usual_shapes_are_usual),
        cmocka_unit_test(a_part_holds_what_it_was_planned_for),
        cmocka_unit_test(a_sweep_may_lag_behind),
        cmocka_unit_test(an_older_sweep_is_gone_on_with),
    };
    return cmocka_run_group_tests_name("window_part", tests, NULL, NULL);
}
