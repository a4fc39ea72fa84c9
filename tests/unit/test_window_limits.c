/* Goal: a window stays within its memory, says so when that strains it, refuses what makes no sense,
 * survives every failed allocation, and counts exactly (P4). */
#include "support/test.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/window.h"
#include "support/heap.h"
#include "support/random.h"
#include "window/chain.h"

static lethe_hash hash_of(uint64_t id) {
    return lethe_hash_u64(5, id);
}

static lethe_window *make(const lethe_window_options *options) {
    lethe_window *window;
    assert_ok(lethe_window_new(options, &window));
    return window;
}

static void bad_options_are_refused(void **state) {
    (void)state;
    const lethe_window_options bad[] = {
        {.error = -1e-3},
        {.error = 0.11},
        {.error = 9e-13},
        {.error = NAN},
        {.error = INFINITY},
        {.slack = -0.25},
        {.slack = 0.019},
        {.slack = 1.01},
        {.slack = NAN},
        {.window_ms = 999},
        {.window_ms = UINT64_C(30) * 24 * 3600 * 1000 + 1},
        {.window_ms = UINT64_MAX},
        {.capacity = UINT64_MAX},
        {.stripes = 3},
        {.stripes = 128},
        {.stripes = UINT32_MAX},
        {.kind = (lethe_window_kind)2},
        {.policy = (lethe_window_policy)2},
        {.kind = LETHE_WINDOW_BLOOM, .refresh_on_duplicate = true},
        {.kind = LETHE_WINDOW_BLOOM, .error = NAN},
        {.kind = LETHE_WINDOW_BLOOM, .stripes = 6},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct test_heap heap;
        test_heap_init(&heap, SIZE_MAX);
        lethe_window_options options = bad[i];
        options.allocator = &heap.allocator;
        lethe_window *window = (lethe_window *)&heap;
        if (lethe_window_new(&options, &window) != LETHE_EINVAL)
            fail_msg("option set %zu was accepted", i);
        assert_null(window);
        assert_int_equal(heap.live_blocks, 0);
    }
}

static void zero_is_the_default(void **state) {
    (void)state;
    lethe_window *window = make(NULL);
    lethe_window_stats stats = lethe_window_info(window, 0);
    assert_int_equal(stats.kind, LETHE_WINDOW_QUOTIENT);
    assert_int_equal(stats.window_ms, 600000);
    assert_true(stats.error_target == 1e-6 && stats.slack <= 0.25);
    assert_int_equal(stats.seed, LETHE_DEFAULT_SEED);
    assert_int_equal(lethe_window_seed(window), LETHE_DEFAULT_SEED);
    assert_int_equal(stats.ids + stats.fresh + stats.duplicates + stats.refused, 0);
    assert_int_equal(stats.oldest_age_ms, 0);
    assert_int_equal(stats.strain, 0);
    lethe_window_free(window);
    lethe_window_free(NULL);
}

/* The extremes of what is allowed work. */
static void extremes_are_allowed(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const lethe_window_options extreme[] = {
            {.error = 1e-12, .slack = 0.02, .window_ms = 1000},
            {.error = 0.1, .slack = 1, .window_ms = UINT64_C(30) * 24 * 3600 * 1000},
            {.stripes = 64, .capacity = 1},
            {.error = 1e-12, .capacity = 1},
        };
        for (size_t i = 0; i < sizeof extreme / sizeof extreme[0]; i++) {
            lethe_window_options options = extreme[i];
            options.kind = (lethe_window_kind)kind;
            lethe_window *window = make(&options);
            for (uint64_t id = 0; id < 3000; id++)
                assert_ok(lethe_window_record(window, hash_of(id), 7));
            for (uint64_t id = 0; id < 3000; id++)
                assert_int_equal(lethe_window_check(window, hash_of(id), 7), LETHE_DUPLICATE);
            lethe_window_free(window);
        }
    }
}

static void a_hint_above_the_cap_is_told(void **state) {
    (void)state;
    lethe_window *window;
    lethe_window_options options = {.capacity = 1000000, .max_memory_bytes = 100000};
    assert_int_equal(lethe_window_new(&options, &window), LETHE_EFULL);
    assert_null(window);
    options = (lethe_window_options){.max_memory_bytes = 1};
    assert_int_equal(lethe_window_new(&options, &window), LETHE_EFULL);
    assert_null(window);
}

static void assert_within_cap(const lethe_window *window, uint64_t now_ms) {
    lethe_window_stats stats = lethe_window_info(window, now_ms);
    if (stats.memory_bytes > stats.max_memory_bytes ||
        stats.peak_memory_bytes > stats.max_memory_bytes) {
        fail_msg("kind %d: %" PRIu64 " bytes, peak %" PRIu64 ", cap %" PRIu64, stats.kind,
                 stats.memory_bytes, stats.peak_memory_bytes, stats.max_memory_bytes);
    }
}

/* Records new ids from first on until one is refused, and returns that one. The heap's own books agree
 * with the cap. */
static uint64_t fill(lethe_window *window, uint64_t first, uint64_t now_ms) {
    for (uint64_t id = first;; id++) {
        lethe_window_answer answer;
        lethe_status status = lethe_window_check_and_record(window, hash_of(id), now_ms, &answer);
        if (id % 64 == 0) assert_within_cap(window, now_ms);
        if (status == LETHE_OK) continue;
        assert_int_equal(status, LETHE_EFULL);
        assert_int_equal(answer, LETHE_REFUSED);
        assert_within_cap(window, now_ms);
        return id;
    }
}

static void run_refuse(lethe_window_kind kind, uint32_t stripes, uint64_t cap) {
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    lethe_window_options options = {.kind = kind,
                                    .window_ms = 14000,
                                    .error = 1e-9,
                                    .max_memory_bytes = cap,
                                    .stripes = stripes,
                                    .allocator = &heap.allocator};
    lethe_window *window = make(&options);
    uint64_t now_ms = 1000, end = fill(window, 0, now_ms), again;
    assert_true(end > cap / 16);
    for (uint64_t id = 0; id < end; id++)
        assert_int_equal(lethe_window_check(window, hash_of(id), now_ms + 14000), LETHE_DUPLICATE);
    lethe_window_stats stats = lethe_window_info(window, now_ms);
    assert_true((stats.strain & LETHE_STRAIN_MEMORY) != 0);
    assert_true((stats.strain & LETHE_STRAIN_ERROR) == 0);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(stats.fresh, end);
    if (kind == LETHE_WINDOW_QUOTIENT) assert_int_equal(stats.ids, end);

    /* A duplicate is not refused, and a batch answers for every id. */
    lethe_hash ids[3] = {hash_of(1), hash_of(end), hash_of(2)};
    uint8_t answers[3];
    assert_int_equal(lethe_window_check_and_record_batch(window, ids, 3, now_ms, answers),
                     LETHE_EFULL);
    assert_int_equal(answers[0], LETHE_DUPLICATE);
    assert_int_equal(answers[1], LETHE_REFUSED);
    assert_int_equal(answers[2], LETHE_DUPLICATE);

    /* Once all has expired there is room again, for about as many; and so on for many windows. */
    for (int round = 0; round < 5; round++) {
        now_ms += 14000 * 5 / 4 + 1001;
        again = fill(window, end, now_ms) - end;
        assert_true(again > cap / 16);
        for (uint64_t id = end; id < end + again; id++)
            assert_int_equal(lethe_window_check(window, hash_of(id), now_ms), LETHE_DUPLICATE);
        end += again;
    }
    now_ms += 14000 * 5 / 4 + 1001;
    for (uint64_t id = end; id < end + 100; id++)
        assert_ok(lethe_window_record(window, hash_of(id), now_ms));
    assert_int_equal(lethe_window_info(window, now_ms).strain, 0);
    assert_true(heap.peak_bytes <= cap);
    lethe_window_free(window);
    assert_int_equal(heap.live_blocks, 0);
}

static void a_full_window_refuses_and_recovers(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        run_refuse((lethe_window_kind)kind, 0, 300000);
        run_refuse((lethe_window_kind)kind, 0, 1500000);
        run_refuse((lethe_window_kind)kind, 4, 1000000);
    }
}

/* Which ids were told fresh by feed: only these were recorded. */
enum { MOST_IDS = 1 << 24 };
static bool was_fresh[MOST_IDS];

/* At a load, in ids a window, for some windows; returns how many were refused. */
static uint64_t feed(lethe_window *window, uint64_t load, double windows, uint64_t window_ms,
                     uint64_t *now_ms, uint64_t *next_id) {
    enum { TICKS = 280, MOST = 1 << 16 };
    static lethe_hash ids[MOST];
    static uint8_t answers[MOST];
    uint64_t refused = 0;
    size_t count = (size_t)(load / TICKS);
    assert_true(count > 0 && count <= MOST);
    for (int tick = 0; tick < (int)(windows * TICKS); tick++) {
        *now_ms += window_ms / TICKS;
        for (size_t i = 0; i < count; i++)
            ids[i] = hash_of((*next_id)++);
        (void)!lethe_window_check_and_record_batch(window, ids, count, *now_ms, answers);
        for (size_t i = 0; i < count; i++) {
            refused += answers[i] == LETHE_REFUSED;
            uint64_t id = *next_id - count + i;
            assert_true(id < MOST_IDS);
            was_fresh[id] = answers[i] == LETHE_FRESH;
        }
    }
    return refused;
}

/* Method: a load of about twice what fits at the error asked for. */
static void run_degrade(lethe_window_kind kind, uint32_t stripes, uint64_t capacity) {
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    const uint64_t window_ms = 28000, cap = 600000;
    lethe_window_options options = {.kind = kind,
                                    .window_ms = window_ms,
                                    .error = 1e-9,
                                    .max_memory_bytes = cap,
                                    .policy = LETHE_WINDOW_DEGRADE,
                                    .capacity = capacity,
                                    .stripes = stripes,
                                    .allocator = &heap.allocator};
    lethe_window *window = make(&options);
    uint64_t now_ms = 0, next_id = 0, load = 200000;
    for (int tenth = 0; tenth < 25; tenth++) {
        uint64_t refused = feed(window, load, 0.1, window_ms, &now_ms, &next_id);
        if (refused != 0) {
            fail_msg("kind %d, stripes %u, capacity %" PRIu64 ": %" PRIu64 " refused in step %d",
                     kind, stripes, capacity, refused, tenth);
        }
        assert_within_cap(window, now_ms);
        uint64_t young = (uint64_t)((double)load * 0.9);
        for (uint64_t id = next_id < young ? 0 : next_id - young; id < next_id; id += 17) {
            if (was_fresh[id])
                assert_int_equal(lethe_window_check(window, hash_of(id), now_ms), LETHE_DUPLICATE);
        }
    }
    lethe_window_stats stats = lethe_window_info(window, now_ms);
    const uint32_t both = LETHE_STRAIN_ERROR | LETHE_STRAIN_MEMORY;
    if (!(stats.error_estimate > 1e-9) || (stats.strain & both) != both) {
        fail_msg("kind %d, stripes %u, capacity %" PRIu64 ": strain %u, estimate %g", kind, stripes,
                 capacity, stats.strain, stats.error_estimate);
    }

    /* When the load is gone so is the strain. */
    assert_int_equal(feed(window, 2000, 4, window_ms, &now_ms, &next_id), 0);
    stats = lethe_window_info(window, now_ms);
    assert_int_equal(stats.strain, 0);
    assert_true(heap.peak_bytes <= cap);
    lethe_window_free(window);
    assert_int_equal(heap.live_blocks, 0);
}

static void a_full_window_degrades_and_recovers(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        run_degrade((lethe_window_kind)kind, 0, 0);
        run_degrade((lethe_window_kind)kind, 4, 0);
        run_degrade((lethe_window_kind)kind, 0, 80000);
    }
}

static void forget_answers(void **state) {
    (void)state;
    lethe_window *window = make(&(lethe_window_options){.window_ms = 14000, .error = 1e-12});
    lethe_window_answer answer;
    assert_int_equal(lethe_window_forget(window, hash_of(1), 0), LETHE_ENOTFOUND);
    assert_ok(lethe_window_check_and_record(window, hash_of(1), 0, &answer));
    assert_ok(lethe_window_check_and_record(window, hash_of(2), 0, &answer));
    assert_ok(lethe_window_forget(window, hash_of(1), 0));
    assert_int_equal(lethe_window_forget(window, hash_of(1), 0), LETHE_ENOTFOUND);
    assert_int_equal(lethe_window_check(window, hash_of(1), 0), LETHE_FRESH);
    assert_int_equal(lethe_window_check(window, hash_of(2), 0), LETHE_DUPLICATE);
    assert_int_equal(lethe_window_info(window, 0).ids, 1);
    assert_ok(lethe_window_check_and_record(window, hash_of(1), 0, &answer));
    assert_int_equal(answer, LETHE_FRESH);
    assert_int_equal(lethe_window_forget(window, hash_of(2), 30000), LETHE_ENOTFOUND);
    lethe_window_free(window);

    window = make(&(lethe_window_options){.kind = LETHE_WINDOW_BLOOM});
    assert_ok(lethe_window_record(window, hash_of(1), 0));
    assert_int_equal(lethe_window_forget(window, hash_of(1), 0), LETHE_EINVAL);
    assert_int_equal(lethe_window_check(window, hash_of(1), 0), LETHE_DUPLICATE);
    lethe_window_free(window);
}

/* Goal:   forgetting one id never costs another its memory, even where they look alike (P1).
 * Method: at an error of 0.1 many do; half of the ids are forgotten. */
static void forgetting_one_spares_the_others(void **state) {
    (void)state;
    enum { IDS = 20000 };
    lethe_window *window = make(&(lethe_window_options){.window_ms = 14000, .error = 0.1});
    static bool is_recorded[IDS];
    memset(is_recorded, 0, sizeof is_recorded);
    for (uint64_t id = 0; id < IDS; id++) {
        lethe_window_answer answer;
        assert_ok(lethe_window_check_and_record(window, hash_of(id), id / 4, &answer));
        is_recorded[id] = answer == LETHE_FRESH;
        if (id % 2 == 1 && is_recorded[id / 2]) {
            assert_ok(lethe_window_forget(window, hash_of(id / 2), id / 4));
            is_recorded[id / 2] = false;
        }
    }
    for (uint64_t id = 0; id < IDS; id++) {
        if (is_recorded[id])
            assert_int_equal(lethe_window_check(window, hash_of(id), IDS / 4), LETHE_DUPLICATE);
    }
    lethe_window_free(window);
}

/* A refreshed id may have copies in several tables; forgetting it forgets them all. */
static void forgetting_a_refreshed_id_forgets_it(void **state) {
    (void)state;
    lethe_window *window = make(
        &(lethe_window_options){.window_ms = 14000, .error = 1e-12, .refresh_on_duplicate = true});
    lethe_window_answer answer;
    for (uint64_t id = 0; id < 30000; id++) {
        assert_ok(lethe_window_check_and_record(window, hash_of(id), id / 4, &answer));
        assert_int_equal(answer, LETHE_FRESH);
        assert_ok(lethe_window_check_and_record(window, hash_of(7), id / 4, &answer));
        assert_int_equal(answer,
                         id < 7 ? (id == 0 ? LETHE_FRESH : LETHE_DUPLICATE) : LETHE_DUPLICATE);
        if (id == 6) id++; /* it is there already */
    }
    assert_true(lethe_window_info(window, 7500).parts > 1);
    assert_ok(lethe_window_forget(window, hash_of(7), 7500));
    assert_int_equal(lethe_window_check(window, hash_of(7), 7500), LETHE_FRESH);
    lethe_window_free(window);
}

static void refreshing_extends_a_life(void **state) {
    (void)state;
    lethe_window *window = make(
        &(lethe_window_options){.window_ms = 14000, .error = 1e-12, .refresh_on_duplicate = true});
    lethe_window_answer answer;
    for (uint64_t now_ms = 0; now_ms < 200000; now_ms += 13999) {
        assert_ok(lethe_window_check_and_record(window, hash_of(1), now_ms, &answer));
        assert_int_equal(answer, now_ms == 0 ? LETHE_FRESH : LETHE_DUPLICATE);
        assert_int_equal(lethe_window_info(window, now_ms).ids, 1);
    }
    lethe_window_free(window);
}

/* Goal:   a duplicate that can't be refreshed, for want of room, stays a duplicate, lives as long as it would
 *         have lived, and costs nobody else anything.
 * Method: a window that grew to its cap has its first ids in tables that are no longer written, and its
 *         newest table is full. All ids come again after half a window. */
static void run_refresh_at_the_cap(bool in_batches) {
    enum { MOST = 100000 };
    static lethe_hash ids[MOST];
    static uint8_t answers[MOST];
    static bool is_refreshed[MOST];
    const uint64_t window_ms = 30000, start_ms = 1000, again_ms = start_ms + window_ms / 2;
    lethe_window *window = make(&(lethe_window_options){.window_ms = window_ms,
                                                        .error = 1e-9,
                                                        .max_memory_bytes = 300000,
                                                        .refresh_on_duplicate = true});
    uint64_t end = fill(window, 0, start_ms), refreshed = 0;
    assert_true(end > 10000 && end < MOST);
    assert_true(lethe_window_info(window, start_ms).parts > 1);
    for (uint64_t id = 0; id < end; id++)
        ids[id] = hash_of(id);
    if (in_batches) {
        assert_int_equal(lethe_window_check_and_record_batch(window, ids, end, again_ms, answers),
                         LETHE_EFULL);
        for (uint64_t id = 0; id < end; id++)
            assert_int_equal(answers[id], LETHE_DUPLICATE);
    }
    for (uint64_t id = 0; id < end; id++) {
        lethe_window_answer answer;
        lethe_status status = lethe_window_check_and_record(window, ids[id], again_ms, &answer);
        assert_true(status == LETHE_OK || status == LETHE_EFULL);
        assert_int_equal(answer, LETHE_DUPLICATE);
        is_refreshed[id] = status == LETHE_OK;
        refreshed += is_refreshed[id];
    }
    assert_true(refreshed > 0 && refreshed < end);
    lethe_window_stats stats = lethe_window_info(window, again_ms);
    assert_int_equal(stats.ids, end);
    assert_int_equal(stats.duplicates, in_batches ? 2 * end : end);
    assert_int_equal(stats.refused, 1 + (end - refreshed) * (in_batches ? 2 : 1));
    assert_true((stats.strain & LETHE_STRAIN_MEMORY) != 0);
    assert_within_cap(window, again_ms);
    for (uint64_t id = 0; id < end; id++) {
        assert_int_equal(lethe_window_check(window, ids[id], start_ms + window_ms),
                         LETHE_DUPLICATE);
        assert_int_equal(lethe_window_check(window, ids[id], again_ms + window_ms),
                         is_refreshed[id] ? LETHE_DUPLICATE : LETHE_FRESH);
    }
    lethe_window_free(window);
}

static void a_refresh_may_fail_at_the_cap(void **state) {
    (void)state;
    run_refresh_at_the_cap(false);
    run_refresh_at_the_cap(true);
}

static void assert_same_bytes(const lethe_window *one, const lethe_window *other) {
    lethe_memory_writer first = {0}, second = {0};
    assert_ok(lethe_window_save(one, lethe_sink_to_memory(&first)));
    assert_ok(lethe_window_save(other, lethe_sink_to_memory(&second)));
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    lethe_memory_writer_free(&first);
    lethe_memory_writer_free(&second);
}

/* Goal:   a batch of records is so many records, to the last byte, and announcing ids changes nothing.
 * Method: two windows of each kind, with stripes and without, get the same ids, some of them again and again
 *         while the window grows and time passes. */
static void run_record_batch(const lethe_window_options *options) {
    enum { BATCH = 700, ROUNDS = 120 };
    lethe_window *one = make(options), *other = make(options);
    struct test_random random = {3};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        lethe_hash ids[BATCH];
        uint64_t now_ms = round * round * 20;
        for (size_t i = 0; i < BATCH; i++) {
            ids[i] = hash_of(test_random_below(&random, 1000 + round * round * 5));
            lethe_window_prefetch(other, ids[i]);
        }
        for (size_t i = 0; i < BATCH; i++)
            assert_ok(lethe_window_record(one, ids[i], now_ms));
        assert_ok(lethe_window_record_batch(other, ids, BATCH, now_ms));
        assert_ok(lethe_window_record_batch(other, NULL, 0, now_ms));
    }
    assert_same_bytes(one, other);
    lethe_window_free(one);
    lethe_window_free(other);
}

static void a_batch_of_records_is_records(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (uint32_t stripes = 0; stripes <= 4; stripes += 4) {
            run_record_batch(&(lethe_window_options){.kind = (lethe_window_kind)kind,
                                                     .window_ms = 100000,
                                                     .error = 1e-6,
                                                     .stripes = stripes});
        }
    }
    /* At the cap all ids are tried, and those that found no room are not remembered. */
    lethe_window *window = make(&(lethe_window_options){.error = 1e-9, .max_memory_bytes = 100000});
    uint64_t end = fill(window, 0, 5);
    lethe_hash ids[3] = {hash_of(1), hash_of(end), hash_of(end - 1)};
    assert_int_equal(lethe_window_record_batch(window, ids, 3, 5), LETHE_EFULL);
    assert_int_equal(lethe_window_check(window, hash_of(end), 5), LETHE_FRESH);
    assert_int_equal(lethe_window_info(window, 5).ids, end);
    lethe_window_free(window);
}

/* Goal:   counters are exact.
 * Method: random ids, singly and in batches, against an exact map; at 1e-12 nothing looks alike. */
static void counters_are_exact(void **state) {
    (void)state;
    enum { KEYS = 5000, BATCH = 100 };
    for (int kind = 0; kind < 2; kind++) {
        lethe_window *window = make(&(lethe_window_options){
            .kind = (lethe_window_kind)kind, .window_ms = 1000000, .error = 1e-12, .stripes = 2});
        struct test_random random = {11};
        static bool is_known[KEYS];
        memset(is_known, 0, sizeof is_known);
        uint64_t fresh = 0, duplicates = 0;
        for (uint64_t round = 0; round < 300; round++) {
            lethe_hash ids[BATCH];
            uint8_t answers[BATCH];
            uint64_t keys[BATCH];
            for (size_t i = 0; i < BATCH; i++) {
                keys[i] = test_random_below(&random, KEYS);
                ids[i] = hash_of(keys[i]);
            }
            if (round % 2 == 0) {
                assert_ok(lethe_window_check_and_record_batch(window, ids, BATCH, round, answers));
            } else {
                for (size_t i = 0; i < BATCH; i++) {
                    lethe_window_answer answer;
                    assert_ok(lethe_window_check_and_record(window, ids[i], round, &answer));
                    answers[i] = (uint8_t)answer;
                }
            }
            for (size_t i = 0; i < BATCH; i++) {
                assert_int_equal(answers[i], is_known[keys[i]] ? LETHE_DUPLICATE : LETHE_FRESH);
                fresh += !is_known[keys[i]];
                duplicates += is_known[keys[i]];
                is_known[keys[i]] = true;
            }
            lethe_window_stats stats = lethe_window_info(window, round);
            assert_int_equal(stats.fresh, fresh);
            assert_int_equal(stats.duplicates, duplicates);
            assert_int_equal(stats.ids, fresh);
            assert_int_equal(stats.refused, 0);
            assert_int_equal(stats.clock_ms, round);
        }
        lethe_window_free(window);
    }
}

/* Tries once more what failed for want of memory: only one allocation fails. */
static bool failed_once(lethe_status status, int *failures) {
    assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
    *failures += status == LETHE_ENOMEM;
    return status == LETHE_ENOMEM;
}

static void record_each(lethe_window *window, uint64_t first, uint64_t end, int *failures) {
    for (uint64_t id = first; id < end; id++) {
        lethe_window_answer answer;
        lethe_status status = lethe_window_check_and_record(window, hash_of(id), id, &answer);
        if (failed_once(status, failures)) {
            assert_int_equal(answer, LETHE_REFUSED);
            for (uint64_t earlier = first; earlier < id; earlier++) {
                assert_int_equal(lethe_window_check(window, hash_of(earlier), id), LETHE_DUPLICATE);
            }
            assert_ok(lethe_window_check_and_record(window, hash_of(id), id, &answer));
        }
        assert_int_equal(answer, LETHE_FRESH);
    }
}

/* Makes two windows, fills them, merges, saves and loads. Returns whether an allocation failed: not
 * every failure shows, since giving memory back may be put off. */
static bool run_with_failure(lethe_window_kind kind, size_t fail_at) {
    enum { IDS = 3000 };
    struct test_heap heap;
    test_heap_init(&heap, fail_at);
    lethe_window_options options = {.kind = kind,
                                    .window_ms = 100000,
                                    .error = 1e-12,
                                    .stripes = 2,
                                    .allocator = &heap.allocator};
    lethe_window *window, *other, *loaded = NULL;
    int failures = 0;
    if (failed_once(lethe_window_new(&options, &window), &failures)) {
        assert_null(window);
        assert_ok(lethe_window_new(&options, &window));
    }
    if (failed_once(lethe_window_new(&options, &other), &failures)) {
        assert_null(other);
        assert_ok(lethe_window_new(&options, &other));
    }
    record_each(window, 0, IDS, &failures);
    record_each(other, IDS, 2 * IDS, &failures);
    if (failed_once(lethe_window_merge(window, other), &failures)) {
        assert_int_equal(lethe_window_info(window, 0).ids, IDS);
        assert_int_equal(lethe_window_info(other, 0).ids, IDS);
        assert_ok(lethe_window_merge(window, other));
    }
    assert_int_equal(lethe_window_info(other, 0).ids, 0);
    lethe_memory_writer writer = {0};
    if (failed_once(lethe_window_save(window, lethe_sink_to_memory(&writer)), &failures)) {
        lethe_memory_writer_free(&writer);
        assert_ok(lethe_window_save(window, lethe_sink_to_memory(&writer)));
    }
    for (int attempt = 0; attempt < 2 && loaded == NULL; attempt++) {
        lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
        lethe_status status =
            lethe_window_load(lethe_source_from_memory(&reader), &heap.allocator, &loaded);
        assert_true(failed_once(status, &failures) == (loaded == NULL));
    }
    for (uint64_t id = 0; id < 2 * IDS; id++)
        assert_int_equal(lethe_window_check(loaded, hash_of(id), 2 * IDS), LETHE_DUPLICATE);
    lethe_memory_writer_free(&writer);
    lethe_window_free(loaded);
    lethe_window_free(window);
    lethe_window_free(other);
    assert_int_equal(heap.live_blocks, 0);
    assert_int_equal(heap.live_bytes, 0);
    assert_true(failures <= 1);
    return heap.allocations > fail_at;
}

/* Goal:   every failed allocation is reported, leaks nothing and costs no id its memory.
 * Method: fail allocation n = 0, 1, ... until none fails any more. */
static void each_failed_allocation_is_survived(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        size_t n = 0;
        while (run_with_failure((lethe_window_kind)kind, n))
            n++;
        assert_true(n > 20);
    }
}

static void unlike_windows_are_not_merged(void **state) {
    (void)state;
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    const lethe_window_options options[] = {
        {.window_ms = 2000},
        {.window_ms = 2001},
        {.window_ms = 2000, .kind = LETHE_WINDOW_BLOOM},
        {.window_ms = 2000, .seed = 3},
        {.window_ms = 2000, .slack = 0.1},
        {.window_ms = 2000, .stripes = 1},
        {.window_ms = 2000, .allocator = &heap.allocator},
    };
    lethe_window *window = make(&options[0]);
    assert_ok(lethe_window_record(window, hash_of(1), 5));
    for (size_t i = 1; i < sizeof options / sizeof options[0]; i++) {
        lethe_window *other = make(&options[i]);
        assert_ok(lethe_window_record(other, hash_of(2), 5));
        assert_int_equal(lethe_window_merge(window, other), LETHE_EMISMATCH);
        assert_int_equal(lethe_window_info(other, 5).ids, 1);
        lethe_window_free(other);
    }
    assert_int_equal(lethe_window_merge(window, window), LETHE_EMISMATCH);
    assert_int_equal(lethe_window_info(window, 5).ids, 1);
    lethe_window_free(window);
}

/* Many shards into one: all are known, the error is the sum and shows, and growth goes on. */
static void many_windows_become_one(void **state) {
    (void)state;
    enum { SHARDS = 12, IDS = 4000 };
    for (int kind = 0; kind < 2; kind++) {
        lethe_window_options options = {
            .kind = (lethe_window_kind)kind, .window_ms = 100000, .error = 1e-12};
        lethe_window *window = make(&options);
        uint64_t merged = 0;
        for (uint64_t shard = 0; shard < SHARDS; shard++) {
            lethe_window *other = make(&options);
            for (uint64_t id = 0; id < IDS; id++)
                assert_ok(lethe_window_record(other, hash_of(shard * IDS + id), id));
            lethe_status status = lethe_window_merge(window, other);
            assert_true(status == LETHE_OK || status == LETHE_EFULL);
            if (status == LETHE_OK) merged = shard + 1;
            lethe_window_free(other);
            if (status != LETHE_OK) break;
        }
        assert_true(merged >= 6);
        for (uint64_t id = 0; id < merged * IDS; id++)
            assert_int_equal(lethe_window_check(window, hash_of(id), IDS), LETHE_DUPLICATE);
        assert_int_equal(lethe_window_info(window, IDS).ids, merged * IDS);
        /* However many parts there are, new ids find room. */
        for (uint64_t id = 0; id < 100000; id++)
            assert_ok(lethe_window_record(window, hash_of((UINT64_C(1) << 40) + id), IDS));
        lethe_window_free(window);
    }
}

/* A merge that would exceed the cap is refused, whatever the policy, and changes nothing. */
static void a_merge_stays_within_the_cap(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int policy = 0; policy < 2; policy++) {
            lethe_window_options options = {.kind = (lethe_window_kind)kind,
                                            .window_ms = 100000,
                                            .error = 1e-9,
                                            .max_memory_bytes = 400000,
                                            .policy = (lethe_window_policy)policy};
            lethe_window *window = make(&options), *other = make(&options);
            for (uint64_t id = 0; id < 30000; id++) {
                assert_ok(lethe_window_record(window, hash_of(id), id));
                assert_ok(lethe_window_record(other, hash_of(id + 30000), id));
            }
            lethe_window_stats before = lethe_window_info(window, 30000);
            assert_int_equal(lethe_window_merge(window, other), LETHE_EFULL);
            assert_int_equal(lethe_window_info(window, 30000).memory_bytes, before.memory_bytes);
            assert_int_equal(lethe_window_info(window, 30000).ids, before.ids);
            for (uint64_t id = 0; id < 30000; id++) {
                assert_int_equal(lethe_window_check(other, hash_of(id + 30000), 30000),
                                 LETHE_DUPLICATE);
            }
            lethe_window_free(window);
            lethe_window_free(other);
        }
    }
}

/* Goal: the bits an id takes, in steady state, are what is promised: over the ids of one window. */
static void an_id_takes_few_bits(void **state) {
    (void)state;
    static const struct { double error, bits; } targets[] = {{1e-3, 22}, {1e-6, 32}, {1e-12, 58}};
    const uint64_t load = 280 * 3600, window_ms = 280000; /* about a million */
    for (size_t i = 0; i < 3; i++) {
        for (int hinted = 0; hinted < 2; hinted++) {
            lethe_window *window = make(&(lethe_window_options){
                .window_ms = window_ms, .error = targets[i].error, .capacity = hinted ? load : 0});
            uint64_t now_ms = 0, next_id = 0;
            assert_int_equal(feed(window, load, 3.3, window_ms, &now_ms, &next_id), 0);
            while (lethe_window_work(window, now_ms, 100))
                continue;
            lethe_window_stats stats = lethe_window_info(window, now_ms);
            double bits = (double)stats.memory_bytes * 8 / (double)load;
            double most = hinted ? targets[i].bits : 1.3 * targets[i].bits;
            print_message("error %g, %s: %.2f bits an id, peak %.2f, %u parts\n", targets[i].error,
                          hinted ? "hinted" : "grown", bits,
                          (double)stats.peak_memory_bytes * 8 / (double)load, stats.parts);
            assert_true(bits <= most);
            if (hinted) assert_int_equal(stats.parts, 1);
            lethe_window_free(window);
        }
    }
}

/* Goal: memory follows the load down again. */
static void memory_is_given_back(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        lethe_window *window =
            make(&(lethe_window_options){.kind = (lethe_window_kind)kind, .window_ms = 28000});
        uint64_t now_ms = 0, next_id = 0;
        feed(window, 1000000, 2, 28000, &now_ms, &next_id);
        uint64_t before = lethe_window_info(window, now_ms).memory_bytes;
        feed(window, 1000, 3, 28000, &now_ms, &next_id);
        while (lethe_window_work(window, now_ms, 1))
            continue;
        assert_true(lethe_window_info(window, now_ms).memory_bytes < before / 50);
        lethe_window_free(window);
    }
}

/* Goal: no single call gives back much memory, also when all has expired at once; with a cap, where that leaves room for another
 * table. Method: many segments, one id in each, a jump of the clock; two segments and what lists them may go with a call. */
static void run_slow_release(uint64_t cap) {
    enum { WINDOW_MS = 28000, MOST_BLOCKS = 4, CALLS = 60000 };
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    lethe_window *window = make(&(lethe_window_options){.window_ms = WINDOW_MS,
                                                        .capacity = 10000000,
                                                        .max_memory_bytes = cap,
                                                        .allocator = &heap.allocator});
    uint64_t id = 0;
    for (; id < 500; id++)
        assert_ok(lethe_window_record(window, hash_of(id), 1000));
    size_t full = heap.live_blocks, most = 0;
    assert_true(full > 15);
    for (uint64_t end = id + CALLS; id < end; id++) {
        size_t before = heap.live_blocks;
        lethe_window_answer answer;
        /* The same few ids, so that no segment is taken while others are given back. */
        assert_ok(lethe_window_check_and_record(window, hash_of(id % 2), 5 * WINDOW_MS, &answer));
        size_t now = heap.live_blocks;
        if (now < before && before - now > most) most = before - now;
    }
    assert_in_range(most, 1, MOST_BLOCKS);
    assert_true(heap.live_blocks < full / 2);
    lethe_window_free(window);
}

static void a_call_gives_back_little(void **state) {
    (void)state;
    run_slow_release(0);
    run_slow_release(100 << 20);
}

/* Goal: under a cap, what is decided doesn't depend on when memory of expired tables goes back, as it differs between
 * a window and its copies, and the cap holds all the same.
 * Method: loads that rise and fall, and a jump of the clock; one window gives everything back after each step, the other as little
 * as it can. Some of it waits at least once, or the test would show nothing. */
static void giving_back_late_decides_nothing(void **state) {
    (void)state;
    enum { WINDOW_MS = 28000 };
    static const struct {
        uint64_t load;
        int tenths; /* of a window */
    } steps[] = {{1500000, 12}, {10000, 9},    {2000000, 12}, {10000, 8},  {2500000, 14},
                 {0, 30},       {1500000, 12}, {10000, 7},    {1000000, 6}};
    lethe_window_options options = {.window_ms = WINDOW_MS, .max_memory_bytes = 12 << 20};
    lethe_window *eager = make(&options), *idle = make(&options);
    uint64_t now_ms = 0, next_id = 0;
    bool has_waited = false;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (steps[i].load == 0) now_ms += (uint64_t)steps[i].tenths * WINDOW_MS / 10;
        for (int tenth = 0; tenth < steps[i].tenths && steps[i].load > 0; tenth++) {
            uint64_t now_again_ms = now_ms, next_again = next_id;
            uint64_t refused = feed(eager, steps[i].load, 0.1, WINDOW_MS, &now_ms, &next_id);
            (void)lethe_window_work(eager, now_ms, UINT32_MAX);
            assert_int_equal(feed(idle, steps[i].load, 0.1, WINDOW_MS, &now_again_ms, &next_again),
                             refused);
            assert_within_cap(eager, now_ms);
            assert_within_cap(idle, now_ms);
            has_waited |= lethe_window_info(idle, now_ms).memory_bytes >
                          lethe_window_info(eager, now_ms).memory_bytes;
        }
        assert_same_bytes(eager, idle);
    }
    assert_true(has_waited);
    lethe_window_free(eager);
    lethe_window_free(idle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(zero_is_the_default),
        cmocka_unit_test(extremes_are_allowed),
        cmocka_unit_test(a_hint_above_the_cap_is_told),
        cmocka_unit_test(a_full_window_refuses_and_recovers),
        cmocka_unit_test(a_full_window_degrades_and_recovers),
        cmocka_unit_test(forget_answers),
        cmocka_unit_test(forgetting_one_spares_the_others),
        cmocka_unit_test(forgetting_a_refreshed_id_forgets_it),
        cmocka_unit_test(refreshing_extends_a_life),
        cmocka_unit_test(a_refresh_may_fail_at_the_cap),
        cmocka_unit_test(a_batch_of_records_is_records),
        cmocka_unit_test(counters_are_exact),
        cmocka_unit_test(each_failed_allocation_is_survived),
        cmocka_unit_test(unlike_windows_are_not_merged),
        cmocka_unit_test(many_windows_become_one),
        cmocka_unit_test(a_merge_stays_within_the_cap),
        cmocka_unit_test(an_id_takes_few_bits),
        cmocka_unit_test(memory_is_given_back),
        cmocka_unit_test(a_call_gives_back_little),
        cmocka_unit_test(giving_back_late_decides_nothing),
    };
    return cmocka_run_group_tests_name("window_limits", tests, NULL, NULL);
}
