/* Goal:   a batch does what the single calls in its order do, to the last byte.
 * Method: the same ids to two parts, or two windows, one of them in batches and the other one by
 *         one; answers, counts and bytes are compared. Parts of every width of remainders on
 *         every code path, from the first id on, so that slabs are made in the middle of a
 *         batch; windows that grow, that degrade, and that forget, are merged, saved and loaded on
 *         the way. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/window.h"
#include "window/part.h"
#include "window/window.h"

enum { MOST = 2000, PART_IDS = 96, PERIOD = 100 };

/* Two parts of one shape: the first gets batches, the second single calls. */
struct pair {
    lethe_part *batched, *single;
};

static struct pair make_pair(const struct lethe_part_shape *shape,
                             const struct lethe_part_operations *set) {
    struct pair pair = {lethe_part_new(shape, PERIOD, NULL), lethe_part_new(shape, PERIOD, NULL)};
    assert_true(pair.batched != NULL && pair.single != NULL);
    pair.batched->operations = lethe_part_operations_for(set, &shape->queue);
    pair.single->operations = pair.batched->operations;
    return pair;
}

static void compare_and_free(struct pair pair) {
    const lethe_part *a = pair.batched, *b = pair.single;
    assert_int_equal(a->alive, b->alive);
    assert_memory_equal(a->added, b->added, sizeof a->added);
    for (uint64_t i = 0; i < a->shape.slabs; i++) {
        assert_int_equal(a->slabs[i] != NULL, b->slabs[i] != NULL);
        if (a->slabs[i] != NULL) assert_memory_equal(a->slabs[i], b->slabs[i], a->shape.slab_bytes);
    }
    lethe_part_free(pair.batched);
    lethe_part_free(pair.single);
}

static void check_and_insert_all(struct pair pair, const lethe_hash *ids) {
    const struct lethe_part_operations *operations = pair.single->operations;
    uint8_t answers[PART_IDS];
    lethe_part_result result, last = LETHE_PART_ADDED;
    size_t done =
        operations->add_and_test_batch(&pair.batched, 1, ids, PART_IDS, PERIOD, answers, &result);
    for (size_t i = 0; i < PART_IDS; i++) {
        last = operations->add_and_test(pair.single, ids[i], PERIOD);
        if (last > LETHE_PART_IS_DUPLICATE) {
            assert_int_equal(done, i);
            break;
        }
        assert_true(i < done);
        assert_int_equal(answers[i], last);
    }
    assert_int_equal(result > LETHE_PART_IS_DUPLICATE ? result : LETHE_PART_ADDED,
                     last > LETHE_PART_IS_DUPLICATE ? last : LETHE_PART_ADDED);
    for (size_t i = 0; i < done; i++)
        assert_true(operations->test(pair.batched, ids[i], PERIOD));
}

static void record_all(struct pair pair, const lethe_hash *ids) {
    const struct lethe_part_operations *operations = pair.single->operations;
    lethe_part_result result, one = LETHE_PART_ADDED;
    uint64_t inserted, sum = 0;
    size_t done = operations->add_batch(pair.batched, ids, PART_IDS, PERIOD, &inserted, &result);
    for (size_t i = 0; i < PART_IDS && one == LETHE_PART_ADDED; i++) {
        uint64_t more;
        (void)operations->add_batch(pair.single, &ids[i], 1, PERIOD, &more, &one);
        sum += more;
        assert_int_equal(one == LETHE_PART_ADDED, i < done);
    }
    assert_int_equal(result, one);
    assert_int_equal(inserted, sum);
    for (size_t i = 0; i < done; i++)
        assert_true(operations->test(pair.batched, ids[i], PERIOD));
}

/* A batch finds what is in two older parts, and nothing else. */
static void ask_older(const struct lethe_part_shape *shape, const struct lethe_part_operations *set,
                      const lethe_hash *ids) {
    struct pair older = make_pair(shape, set), newest = make_pair(shape, set);
    lethe_part *parts[] = {newest.batched, older.batched, older.single};
    const struct lethe_part_operations *operations = parts[0]->operations;
    lethe_part_result result;
    uint64_t inserted;
    for (size_t i = 0; i < 2; i++)
        (void)operations->add_batch(parts[1 + i], ids + i * PART_IDS / 3, PART_IDS / 3, PERIOD,
                                    &inserted, &result);
    uint8_t answers[PART_IDS];
    operations->test_batch(parts, 3, ids, PART_IDS, PERIOD, answers);
    for (size_t i = 0; i < PART_IDS; i++) {
        bool is_there = operations->test(parts[1], ids[i], PERIOD) ||
                        operations->test(parts[2], ids[i], PERIOD);
        assert_int_equal(answers[i], is_there);
    }
    for (size_t i = 0; i < 3; i++)
        lethe_part_free(parts[i]);
    lethe_part_free(newest.single);
}

static void run_parts(const struct lethe_part_operations *set) {
    static const struct { uint64_t slabs, blocks; } sizes[] = {{1, 2}, {1, 7}, {3, 40}};
    for (unsigned bits = 1; bits <= LETHE_QUEUE_MAX_BITS; bits++) {
        for (unsigned variant = 0; variant < 9; variant++) {
            struct lethe_part_shape shape = {
                .queue = {.bits = bits, .generations = 30, .block_bytes = 32U << variant / 3},
                .slabs = sizes[variant % 3].slabs,
                .blocks = sizes[variant % 3].blocks,
                .capacity = 1,
            };
            if (!lethe_part_finish_shape(&shape)) continue; /* too little room for such bits */
            shape.capacity = shape.slabs * shape.blocks * shape.queue.slots;
            for (unsigned seed = 1; seed <= 4; seed++) {
                lethe_hash ids[PART_IDS];
                for (uint64_t i = 0; i < PART_IDS; i++)
                    ids[i] = lethe_hash_u64(seed, i - i % 8 / 7);
                struct pair pair = make_pair(&shape, set);
                check_and_insert_all(pair, ids);
                compare_and_free(pair);
                pair = make_pair(&shape, set);
                record_all(pair, ids);
                compare_and_free(pair);
                ask_older(&shape, set, ids);
            }
        }
    }
}

static void a_batch_into_a_new_part_is_its_single_calls(void **state) {
    (void)state;
    run_parts(lethe_part_portable);
#if defined(__x86_64__)
    if (lethe_cpu_detect() >= LETHE_CPU_AVX2) run_parts(lethe_part_bmi2);
#endif
}

/* One batch to both windows: asked and recorded, or only recorded. */
static void feed(lethe_window *batched, lethe_window *single, const lethe_hash *ids, size_t count,
                 uint64_t now_ms, bool records) {
    uint8_t answers[MOST];
    lethe_status status =
        records ? lethe_window_add_batch(batched, ids, count, now_ms, NULL)
                : lethe_window_add_and_test_batch(batched, ids, count, now_ms, answers);
    lethe_status first = LETHE_OK;
    for (size_t i = 0; i < count; i++) {
        lethe_answer answer = LETHE_ANSWER_FRESH;
        lethe_status one = records ? lethe_window_add(single, ids[i], now_ms)
                                   : lethe_window_add_and_test(single, ids[i], now_ms, &answer);
        if (first == LETHE_OK) first = one;
        if (!records) {
            assert_int_equal(answers[i], answer);
            if (answer != LETHE_ANSWER_REFUSED)
                assert_int_equal(lethe_window_test(batched, ids[i], now_ms),
                                 LETHE_ANSWER_DUPLICATE);
        }
    }
    assert_int_equal(status, first);
}

/* Both forget an id, if they are of the kind that can; and both take over another window. */
static void forget_and_merge(lethe_window *batched, lethe_window *single, lethe_hash id,
                             uint64_t next_id, uint64_t now_ms, bool merges) {
    assert_int_equal(lethe_window_remove(batched, id, now_ms),
                     lethe_window_remove(single, id, now_ms));
    if (!merges) return;
    lethe_status statuses[2];
    for (int i = 0; i < 2; i++) {
        lethe_window *window = i == 0 ? batched : single,
                     *other = test_window_make(&window->options);
        for (uint64_t j = 0; j < 100; j++) {
            lethe_hash one = lethe_hash_u64(LETHE_DEFAULT_SEED, next_id + 50 - j);
            assert_ok(lethe_window_add(other, one, now_ms));
        }
        statuses[i] = lethe_window_merge(window, other);
        lethe_window_free(other);
    }
    assert_int_equal(statuses[0], statuses[1]);
}

/* Returns the fewest bits that the newest part's remainders had. */
static unsigned run_windows(const lethe_window_options *options, uint64_t seed) {
    static lethe_hash ids[MOST];
    struct test_random random = {seed};
    lethe_window *batched = test_window_make(options), *single = test_window_make(options);
    uint64_t now_ms = 1000000, next_id = 0;
    unsigned fewest = LETHE_QUEUE_MAX_BITS;
    for (int step = 0; step < 60; step++) {
        size_t count = test_random_below(&random, MOST);
        now_ms += test_random_below(&random, options->window_ms / 20);
        for (size_t i = 0; i < count; i++) {
            uint64_t back =
                test_random_below(&random, 8) == 0 ? 1 + test_random_below(&random, 9999) : 0;
            ids[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, back < next_id ? next_id - back : 0);
            next_id += back == 0;
        }
        feed(batched, single, ids, count, now_ms, test_random_below(&random, 4) == 0);
        lethe_hash id = lethe_hash_u64(LETHE_DEFAULT_SEED, test_random_below(&random, next_id + 1));
        forget_and_merge(batched, single, id, next_id, now_ms, test_random_below(&random, 12) == 0);
        test_window_assert_same(batched, single);
        if (test_random_below(&random, 8) == 0) test_window_reload(&batched);
        if (!lethe_window_is_forgetful(batched)) {
            unsigned bits = batched->stripes[0].chain.parts[0]->shape.queue.bits;
            if (bits < fewest) fewest = bits;
        }
    }
    lethe_window_free(batched);
    lethe_window_free(single);
    return fewest;
}

static void batches_into_a_window_are_their_single_calls(void **state) {
    (void)state;
    lethe_cpu_level best = lethe_cpu();
    for (int path = 0; path < 2; path++) {
        lethe_cpu_force(path == 0 ? best : LETHE_CPU_SCALAR);
        for (uint32_t variant = 0; variant < 8; variant++) {
            lethe_window_options options = LETHE_OPTIONS(
                lethe_window_options, .window_ms = 60000, .error = variant % 2 == 0 ? 1e-6 : 1e-3,
                .stripes = variant / 2 % 2 == 0 ? 0 : 2, .refresh_on_duplicate = variant / 4 != 0);
            (void)run_windows(&options, variant);
        }
        /* So tight that the remainders get shorter than a byte. */
        lethe_window_options options =
            LETHE_OPTIONS(lethe_window_options, .window_ms = 60000, .error = 0.1,
                          .policy = LETHE_POLICY_DEGRADE, .max_memory_bytes = 35000);
        unsigned fewest = LETHE_QUEUE_MAX_BITS;
        for (uint64_t seed = 110; seed < 113; seed++) {
            unsigned bits = run_windows(&options, seed);
            if (bits < fewest) fewest = bits;
        }
        assert_true(fewest < 8);
        options.stripes = 2;
        (void)run_windows(&options, 101);
        options.policy = LETHE_POLICY_REFUSE;
        (void)run_windows(&options, 102);
    }
    lethe_cpu_force(best);
}

static void batches_into_the_bloom_kind_as_well(void **state) {
    (void)state;
    for (uint32_t stripes = 0; stripes <= 2; stripes += 2) {
        lethe_window_options options =
            LETHE_OPTIONS(lethe_window_options, .kind = LETHE_WINDOW_FORGETFUL, .window_ms = 60000,
                          .error = 1e-3, .stripes = stripes);
        (void)run_windows(&options, stripes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_into_a_new_part_is_its_single_calls),
        cmocka_unit_test(batches_into_a_window_are_their_single_calls),
        cmocka_unit_test(batches_into_the_bloom_kind_as_well),
    };
    return cmocka_run_group_tests_name("window_batch", tests, NULL, NULL);
}
