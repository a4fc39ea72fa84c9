/* Goal:   a window stays within its memory cap, reports it when that strains it, and gives back
 *         what has expired (P4).
 * Method: loads around and above what a cap has room for, under both policies; an allocator that
 *         counts. */
#include "support/test.h"

#include <inttypes.h>
#include <string.h>

#include "support/heap.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/window.h"

static lethe_hash hash_of(uint64_t id) {
    return lethe_hash_u64(5, id);
}

static void assert_within_cap(const lethe_window *window, uint64_t now_ms) {
    lethe_window_stats stats = window_stats(window, now_ms);
    if (stats.memory_bytes > stats.max_memory_bytes ||
        stats.peak_memory_bytes > stats.max_memory_bytes) {
        fail_msg("kind %d: %" PRIu64 " bytes, peak %" PRIu64 ", cap %" PRIu64, stats.kind,
                 stats.memory_bytes, stats.peak_memory_bytes, stats.max_memory_bytes);
    }
}

/* Records new ids from first on until one is refused, and returns that one. The heap's own books
 * agree with the cap. */
static uint64_t fill(lethe_window *window, uint64_t first, uint64_t now_ms) {
    for (uint64_t id = first;; id++) {
        lethe_answer answer;
        lethe_status status = lethe_window_add_and_test(window, hash_of(id), now_ms, &answer);
        if (id % 64 == 0) assert_within_cap(window, now_ms);
        if (status == LETHE_OK) continue;
        assert_int_equal(status, LETHE_EFULL);
        assert_int_equal(answer, LETHE_ANSWER_REFUSED);
        assert_within_cap(window, now_ms);
        return id;
    }
}

static void run_refuse(lethe_window_kind kind, uint32_t stripes, uint64_t cap) {
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .kind = kind, .window_ms = 14000, .error = 1e-9,
                      .max_memory_bytes = cap, .stripes = stripes, .allocator = &heap.allocator);
    lethe_window *window = test_window_make(&options);
    uint64_t now_ms = 1000, end = fill(window, 0, now_ms), again;
    assert_true(end > cap / 16);
    for (uint64_t id = 0; id < end; id++)
        assert_int_equal(lethe_window_test(window, hash_of(id), now_ms + 14000),
                         LETHE_ANSWER_DUPLICATE);
    lethe_window_stats stats = window_stats(window, now_ms);
    assert_true((stats.strain & LETHE_STRAIN_MEMORY) != 0);
    assert_true((stats.strain & LETHE_STRAIN_ERROR) == 0);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(stats.fresh, end);
    if (kind == LETHE_WINDOW_QUOTIENT) assert_int_equal(stats.ids, end);

    /* A duplicate is not refused, and a batch answers for every id. */
    lethe_hash ids[3] = {hash_of(1), hash_of(end), hash_of(2)};
    uint8_t answers[3];
    assert_int_equal(lethe_window_add_and_test_batch(window, ids, 3, now_ms, answers), LETHE_EFULL);
    assert_int_equal(answers[0], LETHE_ANSWER_DUPLICATE);
    assert_int_equal(answers[1], LETHE_ANSWER_REFUSED);
    assert_int_equal(answers[2], LETHE_ANSWER_DUPLICATE);

    /* Once all has expired there is room again, for about as many; and so on for many windows. */
    for (int round = 0; round < 5; round++) {
        now_ms += 14000 * 5 / 4 + 1001;
        again = fill(window, end, now_ms) - end;
        assert_true(again > cap / 16);
        for (uint64_t id = end; id < end + again; id++)
            assert_int_equal(lethe_window_test(window, hash_of(id), now_ms),
                             LETHE_ANSWER_DUPLICATE);
        end += again;
    }
    now_ms += 14000 * 5 / 4 + 1001;
    for (uint64_t id = end; id < end + 100; id++)
        assert_ok(lethe_window_add(window, hash_of(id), now_ms));
    assert_int_equal(window_stats(window, now_ms).strain, 0);
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
        (void)!lethe_window_add_and_test_batch(window, ids, count, *now_ms, answers);
        for (size_t i = 0; i < count; i++) {
            refused += answers[i] == LETHE_ANSWER_REFUSED;
            uint64_t id = *next_id - count + i;
            assert_true(id < MOST_IDS);
            was_fresh[id] = answers[i] == LETHE_ANSWER_FRESH;
        }
    }
    return refused;
}

/* Method: a load of about twice what fits at the error asked for. */
static void run_degrade(lethe_window_kind kind, uint32_t stripes, uint64_t capacity) {
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    const uint64_t window_ms = 28000, cap = 600000;
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .kind = kind, .window_ms = window_ms, .error = 1e-9,
                      .max_memory_bytes = cap, .policy = LETHE_POLICY_DEGRADE, .capacity = capacity,
                      .stripes = stripes, .allocator = &heap.allocator);
    lethe_window *window = test_window_make(&options);
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
                assert_int_equal(lethe_window_test(window, hash_of(id), now_ms),
                                 LETHE_ANSWER_DUPLICATE);
        }
    }
    lethe_window_stats stats = window_stats(window, now_ms);
    const uint32_t both = LETHE_STRAIN_ERROR | LETHE_STRAIN_MEMORY;
    if (!(stats.error_estimate > 1e-9) || (stats.strain & both) != both) {
        fail_msg("kind %d, stripes %u, capacity %" PRIu64 ": strain %u, estimate %g", kind, stripes,
                 capacity, stats.strain, stats.error_estimate);
    }

    /* When the load is gone so is the strain. */
    assert_int_equal(feed(window, 2000, 4, window_ms, &now_ms, &next_id), 0);
    stats = window_stats(window, now_ms);
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

/* Goal:   a duplicate that can't be refreshed, for want of room, stays a duplicate, lives as long
 *         as it would have lived, and costs nobody else anything.
 * Method: a window that grew to its cap has its first ids in parts that are no longer written,
 *         and its newest part is full. All ids come again after half a window. */
static void run_refresh_at_the_cap(bool in_batches) {
    enum { MOST = 100000 };
    static lethe_hash ids[MOST];
    static uint8_t answers[MOST];
    static bool is_refreshed[MOST];
    const uint64_t window_ms = 30000, start_ms = 1000, again_ms = start_ms + window_ms / 2;
    lethe_window *window =
        test_window_make(&LETHE_OPTIONS(lethe_window_options, .window_ms = window_ms, .error = 1e-9,
                                        .max_memory_bytes = 300000, .refresh_on_duplicate = true));
    uint64_t end = fill(window, 0, start_ms), refreshed = 0;
    assert_true(end > 10000 && end < MOST);
    assert_true(window_stats(window, start_ms).parts > 1);
    for (uint64_t id = 0; id < end; id++)
        ids[id] = hash_of(id);
    if (in_batches) {
        assert_int_equal(lethe_window_add_and_test_batch(window, ids, end, again_ms, answers),
                         LETHE_EFULL);
        for (uint64_t id = 0; id < end; id++)
            assert_int_equal(answers[id], LETHE_ANSWER_DUPLICATE);
    }
    for (uint64_t id = 0; id < end; id++) {
        lethe_answer answer;
        lethe_status status = lethe_window_add_and_test(window, ids[id], again_ms, &answer);
        assert_true(status == LETHE_OK || status == LETHE_EFULL);
        assert_int_equal(answer, LETHE_ANSWER_DUPLICATE);
        is_refreshed[id] = status == LETHE_OK;
        refreshed += is_refreshed[id];
    }
    assert_true(refreshed > 0 && refreshed < end);
    lethe_window_stats stats = window_stats(window, again_ms);
    assert_int_equal(stats.ids, end);
    assert_int_equal(stats.duplicates, in_batches ? 2 * end : end);
    assert_int_equal(stats.refused, 1 + (end - refreshed) * (in_batches ? 2 : 1));
    assert_true((stats.strain & LETHE_STRAIN_MEMORY) != 0);
    assert_within_cap(window, again_ms);
    for (uint64_t id = 0; id < end; id++) {
        assert_int_equal(lethe_window_test(window, ids[id], start_ms + window_ms),
                         LETHE_ANSWER_DUPLICATE);
        assert_int_equal(lethe_window_test(window, ids[id], again_ms + window_ms),
                         is_refreshed[id] ? LETHE_ANSWER_DUPLICATE : LETHE_ANSWER_FRESH);
    }
    lethe_window_free(window);
}

static void a_refresh_may_fail_at_the_cap(void **state) {
    (void)state;
    run_refresh_at_the_cap(false);
    run_refresh_at_the_cap(true);
}

/* Goal: the bits an id takes, in steady state, are what is promised: over the ids of one window. */
static void an_id_takes_few_bits(void **state) {
    (void)state;
    static const struct { double error, bits; } targets[] = {{1e-3, 22}, {1e-6, 32}, {1e-12, 58}};
    const uint64_t load = 280 * 3600, window_ms = 280000; /* about a million */
    for (size_t i = 0; i < 3; i++) {
        for (int hinted = 0; hinted < 2; hinted++) {
            lethe_window *window = test_window_make(
                &LETHE_OPTIONS(lethe_window_options, .window_ms = window_ms,
                               .error = targets[i].error, .capacity = hinted ? load : 0));
            uint64_t now_ms = 0, next_id = 0;
            assert_int_equal(feed(window, load, 3.3, window_ms, &now_ms, &next_id), 0);
            while (window_work(window, now_ms, 100))
                continue;
            lethe_window_stats stats = window_stats(window, now_ms);
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

/* Adds fresh ids until there are so many, all within a tenth of W. */
static void grow_to(lethe_window *window, uint64_t *next_id, uint64_t ids, uint64_t now_ms) {
    enum { BATCH = 1000 };
    lethe_hash hashes[BATCH];
    while (*next_id < ids) {
        for (size_t i = 0; i < BATCH; i++)
            hashes[i] = hash_of((*next_id)++);
        assert_ok(lethe_window_add_batch(window, hashes, BATCH, now_ms, NULL));
    }
}

/* Goal:   while a window grows that nobody gave a capacity, an id never takes much more than in a
 *         full one, the error stays within its bounds, and the parts stay few.
 * Method: ids that come much faster than W passes; a look after each thousand, from the moment on
 *         at which the steps are small. Those of a window under a cap are what they always were. */
static void growing_takes_few_bytes(void **state) {
    (void)state;
    static const struct { double error, bytes; } targets[] = {{1e-6, 7}, {1e-9, 10}, {1e-12, 12}};
    enum { FROM = 150000, LOOK = 1000 };
    const uint64_t to = test_is_large() ? 4000000 : 1000000;
    for (size_t i = 0; i < 3; i++) {
        lethe_window_options options =
            LETHE_OPTIONS(lethe_window_options, .error = targets[i].error);
        lethe_window *window = test_window_make(&options);
        for (uint64_t ids = 0; ids < to;) {
            uint64_t now_ms = 1000 + ids * 50 / LOOK;
            grow_to(window, &ids, ids + LOOK, now_ms);
            lethe_window_stats stats = window_stats(window, now_ms);
            assert_true(stats.error_estimate <= targets[i].error);
            assert_true(stats.parts <= 14);
            if (ids >= FROM && (double)stats.memory_bytes > targets[i].bytes * (double)ids)
                fail_msg("error %g: %" PRIu64 " ids take %" PRIu64 " bytes", targets[i].error, ids,
                         stats.memory_bytes);
        }
        lethe_window_free(window);
    }
}

/* Goal: a window under a cap has the parts that earlier versions give it, so that replicas of both
 *       refuse the same ids. */
static void a_capped_window_grows_as_ever(void **state) {
    (void)state;
    static const uint64_t capacities[] = {1024, 4096, 20480, 102400, 512000};
    lethe_window *window = test_window_make(
        &LETHE_OPTIONS(lethe_window_options, .error = 1e-6, .max_memory_bytes = UINT64_C(1) << 40));
    uint64_t ids = 0, room = 0;
    for (unsigned i = 0; i < 5; i++) {
        room += capacities[i];
        /* To the middle of each part. */
        grow_to(window, &ids, room - capacities[i] / 2, 1000);
        lethe_window_stats stats = window_stats(window, 1000);
        assert_int_equal(stats.parts, i + 1);
        assert_int_equal(stats.capacity, capacities[i]);
    }
    /* That many with remainders of 30 bits in blocks of one line; 2.95 million bytes otherwise. */
    assert_in_range(window_stats(window, 1000).memory_bytes, 2980000, 2990000);
    lethe_window_free(window);
}

/* Goal: two windows that grew to some million ids can be merged, and the merged one grows on. */
static void grown_windows_are_merged(void **state) {
    (void)state;
    lethe_window_options options = LETHE_OPTIONS(lethe_window_options, .error = 1e-6);
    lethe_window *windows[3];
    uint64_t next_id = 0;
    for (unsigned i = 0; i < 3; i++) {
        windows[i] = test_window_make(&options);
        grow_to(windows[i], &next_id, (i + 1) * UINT64_C(1000000), 1000);
    }
    assert_ok(lethe_window_merge(windows[0], windows[1]));
    assert_ok(lethe_window_merge(windows[0], windows[2]));
    assert_true(window_stats(windows[0], 1000).parts > 24);
    grow_to(windows[0], &next_id, 4000000, 1000);
    /* All but those few that are taken for others. */
    assert_in_range(window_stats(windows[0], 1000).ids, 3999980, 4000000);
    for (uint64_t id = 0; id < next_id; id += 997)
        assert_int_equal(lethe_window_test(windows[0], hash_of(id), 1000), LETHE_ANSWER_DUPLICATE);
    for (unsigned i = 0; i < 3; i++)
        lethe_window_free(windows[i]);
}

/* Goal: memory follows the load down again. */
static void memory_is_given_back(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        lethe_window *window = test_window_make(&LETHE_OPTIONS(
            lethe_window_options, .kind = (lethe_window_kind)kind, .window_ms = 28000));
        uint64_t now_ms = 0, next_id = 0;
        feed(window, 1000000, 2, 28000, &now_ms, &next_id);
        uint64_t before = window_stats(window, now_ms).memory_bytes;
        feed(window, 1000, 3, 28000, &now_ms, &next_id);
        while (window_work(window, now_ms, 1))
            continue;
        assert_true(window_stats(window, now_ms).memory_bytes < before / 50);
        lethe_window_free(window);
    }
}

/* Goal: no single call gives back much memory, also when all has expired at once; with a cap, where
 *       that leaves room for another
 * part. Method: many slabs, one id in each, a jump of the clock; two slabs and what lists
 * them may go with a call. */
static void run_slow_release(uint64_t cap) {
    enum { WINDOW_MS = 28000, MOST_BLOCKS = 4, CALLS = 60000 };
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    lethe_window *window = test_window_make(
        &LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS, .capacity = 10000000,
                       .max_memory_bytes = cap, .allocator = &heap.allocator));
    uint64_t id = 0;
    for (; id < 500; id++)
        assert_ok(lethe_window_add(window, hash_of(id), 1000));
    size_t full = heap.live_blocks, most = 0;
    assert_true(full > 15);
    for (uint64_t end = id + CALLS; id < end; id++) {
        size_t before = heap.live_blocks;
        lethe_answer answer;
        /* The same few ids, so that no slab is taken while others are given back. */
        assert_ok(lethe_window_add_and_test(window, hash_of(id % 2), 5 * WINDOW_MS, &answer));
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

/* Goal: under a cap, what is decided doesn't depend on when memory of expired parts goes back, as
 *       it differs between
 * a window and its copies, and the cap holds all the same.
 * Method: loads that rise and fall, and a jump of the clock; one window gives everything back after
 *         each step, the other as little
 * as it can. Some of it waits at least once, or the test would show nothing. */
static void giving_back_late_decides_nothing(void **state) {
    (void)state;
    enum { WINDOW_MS = 28000 };
    static const struct {
        uint64_t load;
        int tenths; /* of a window */
    } steps[] = {{1500000, 12}, {10000, 9},    {2000000, 12}, {10000, 8},  {2500000, 14},
                 {0, 30},       {1500000, 12}, {10000, 7},    {1000000, 6}};
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS, .max_memory_bytes = 12 << 20);
    lethe_window *eager = test_window_make(&options), *idle = test_window_make(&options);
    uint64_t now_ms = 0, next_id = 0;
    bool has_waited = false;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (steps[i].load == 0) now_ms += (uint64_t)steps[i].tenths * WINDOW_MS / 10;
        for (int tenth = 0; tenth < steps[i].tenths && steps[i].load > 0; tenth++) {
            uint64_t now_again_ms = now_ms, next_again = next_id;
            uint64_t refused = feed(eager, steps[i].load, 0.1, WINDOW_MS, &now_ms, &next_id);
            (void)window_work(eager, now_ms, UINT32_MAX);
            assert_int_equal(feed(idle, steps[i].load, 0.1, WINDOW_MS, &now_again_ms, &next_again),
                             refused);
            assert_within_cap(eager, now_ms);
            assert_within_cap(idle, now_ms);
            has_waited |=
                window_stats(idle, now_ms).memory_bytes > window_stats(eager, now_ms).memory_bytes;
        }
        test_window_assert_same(eager, idle);
    }
    assert_true(has_waited);
    lethe_window_free(eager);
    lethe_window_free(idle);
}

/* Goal:   a batch of records is so many records, to the last byte, and announcing ids changes
 *         nothing.
 * Method: two windows of each kind, with stripes and without, get the same ids, some of them
 *         again and again while the window grows and time passes. */
static void run_record_batch(const lethe_window_options *options) {
    enum { BATCH = 700, ROUNDS = 120 };
    lethe_window *one = test_window_make(options), *other = test_window_make(options);
    struct test_random random = {3};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        lethe_hash ids[BATCH];
        uint64_t now_ms = round * round * 20;
        for (size_t i = 0; i < BATCH; i++) {
            ids[i] = hash_of(test_random_below(&random, 1000 + round * round * 5));
            lethe_window_prefetch(other, ids[i]);
        }
        for (size_t i = 0; i < BATCH; i++)
            assert_ok(lethe_window_add(one, ids[i], now_ms));
        assert_ok(lethe_window_add_batch(other, ids, BATCH, now_ms, NULL));
        assert_ok(lethe_window_add_batch(other, NULL, 0, now_ms, NULL));
    }
    test_window_assert_same(one, other);
    lethe_window_free(one);
    lethe_window_free(other);
}

static void a_batch_of_records_is_records(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (uint32_t stripes = 0; stripes <= 4; stripes += 4) {
            run_record_batch(&LETHE_OPTIONS(lethe_window_options, .kind = (lethe_window_kind)kind,
                                            .window_ms = 100000, .error = 1e-6,
                                            .stripes = stripes));
        }
    }
    /* At the cap all ids are tried, and those that found no room are not remembered. */
    lethe_window *window = test_window_make(
        &LETHE_OPTIONS(lethe_window_options, .error = 1e-9, .max_memory_bytes = 100000));
    uint64_t end = fill(window, 0, 5);
    lethe_hash ids[3] = {hash_of(1), hash_of(end), hash_of(end - 1)};
    assert_int_equal(lethe_window_add_batch(window, ids, 3, 5, NULL), LETHE_EFULL);
    assert_int_equal(lethe_window_test(window, hash_of(end), 5), LETHE_ANSWER_FRESH);
    assert_int_equal(window_stats(window, 5).ids, end);
    lethe_window_free(window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_of_records_is_records),
        cmocka_unit_test(a_full_window_refuses_and_recovers),
        cmocka_unit_test(a_full_window_degrades_and_recovers),
        cmocka_unit_test(a_refresh_may_fail_at_the_cap),
        cmocka_unit_test(an_id_takes_few_bits),
        cmocka_unit_test(growing_takes_few_bytes),
        cmocka_unit_test(a_capped_window_grows_as_ever),
        cmocka_unit_test(grown_windows_are_merged),
        cmocka_unit_test(memory_is_given_back),
        cmocka_unit_test(a_call_gives_back_little),
        cmocka_unit_test(giving_back_late_decides_nothing),
    };
    return cmocka_run_group_tests_name("window_memory", tests, NULL, NULL);
}
