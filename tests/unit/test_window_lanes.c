/* Goal:   runs of ids that a crew adds make the window that one thread makes, to the last byte;
 *         and where that is not promised, it remembers the same ids for as long.
 * Method: the same runs to two windows, one with a crew and one without: windows of many shapes,
 *         beyond their capacity, under caps, of several parts, through periods, pauses and clocks
 *         that go back; crews of threads, and of one thread that does the tasks in another order.
 *         Ids that all want the same two blocks. Memory that is refused. */
#include "support/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/heap.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/window.h"
#include "window/window.h"

enum { MOST_RUNS = 60, MOST_IDS = 30000, THREADS = 3, WINDOW_MS = 60000 };

/* Fewer with a sanitizer; then no part becomes full. */
static unsigned run_count(void) {
#ifdef LETHE_FAST_BUILD
    return 20;
#else
    return MOST_RUNS;
#endif
}

typedef void task_function(void *argument, uint32_t number);

struct member {
    task_function *task;
    void *argument;
    uint32_t number;
};

static void *run_member(void *context) {
    const struct member *member = context;
    member->task(member->argument, member->number);
    return NULL;
}

static unsigned calls; /* of any crew's function */

/* A thread for each task. */
static void in_threads(void *context, task_function *task, void *argument) {
    pthread_t threads[THREADS];
    struct member members[THREADS];
    (void)context;
    calls++;
    for (uint32_t i = 0; i < THREADS; i++) {
        members[i] = (struct member){task, argument, i};
        if (pthread_create(&threads[i], NULL, run_member, &members[i]) != 0) abort();
    }
    for (uint32_t i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

/* The last first; the context is how many. */
static void backwards(void *context, task_function *task, void *argument) {
    calls++;
    for (uint32_t i = *(const uint32_t *)context; i > 0; i--)
        task(argument, i - 1);
}

static void not_at_all(void *context, task_function *task, void *argument) {
    (void)context, (void)task, (void)argument;
    calls++;
}

static uint32_t two = 2, five = 5, many = 100;
static const lethe_crew crews[] = {
    {.members = THREADS, .run = in_threads},
    {.members = 2, .run = backwards, .context = &two},
    {.members = 5, .run = backwards, .context = &five},
    {.members = 100, .run = backwards, .context = &many},
    {.members = 2, .run = not_at_all},
};

enum { CREWS = sizeof crews / sizeof crews[0] };

/* Runs to come, and their ids. */
struct runs {
    lethe_window_run runs[MOST_RUNS];
    lethe_hash *ids;
    size_t count;
};

/* How the ids come in. */
struct stream {
    uint64_t distinct;   /* ids */
    uint64_t pause_ms;   /* between runs at most, except for the longest */
    uint64_t longest_ms; /* now and then */
    uint64_t back_ms;    /* by how much a clock goes back, now and then */
};

static void draw_runs(struct test_random *random, const struct stream *stream, uint64_t *clock_ms,
                      struct runs *out) {
    out->count = 0;
    for (unsigned i = 0; i < run_count(); i++) {
        lethe_window_run *run = &out->runs[i];
        *clock_ms += test_random_below(random, stream->pause_ms + 1);
        if (test_random_below(random, 40) == 0) *clock_ms += stream->longest_ms;
        run->now_ms = *clock_ms;
        if (test_random_below(random, 10) == 0) run->now_ms -= stream->back_ms;
        uint64_t most = test_random_below(random, 3) == 0 ? MOST_IDS : 500;
        run->count = test_random_below(random, most + 1);
        for (uint64_t j = 0; j < run->count; j++)
            out->ids[out->count++] = lethe_hash_u64(1, test_random_below(random, stream->distinct));
    }
}

static lethe_status add_one_by_one(lethe_window *window, const struct runs *runs) {
    const lethe_hash *ids = runs->ids;
    lethe_status first = LETHE_OK;
    for (unsigned i = 0; i < run_count(); i++) {
        lethe_status status =
            lethe_window_add_batch(window, ids, runs->runs[i].count, runs->runs[i].now_ms, NULL);
        if (first == LETHE_OK) first = status;
        ids += runs->runs[i].count;
    }
    return first;
}

/* Adds the same to both; both say and become the same. Returns how often the crew was called. */
static unsigned compare(const lethe_window_options *options, const struct stream *stream,
                        const lethe_crew *crew, unsigned laps) {
    lethe_window *shared = test_window_make(options), *alone = test_window_make(options);
    struct test_random random = {.state = 1};
    struct runs runs = {.ids = malloc((size_t)MOST_RUNS * MOST_IDS * sizeof *runs.ids)};
    uint64_t clock_ms = 1600000000000;
    assert_non_null(runs.ids);
    calls = 0;
    for (unsigned lap = 0; lap < laps; lap++) {
        draw_runs(&random, stream, &clock_ms, &runs);
        lethe_status status = add_one_by_one(alone, &runs);
        assert_int_equal(lethe_window_add_runs(shared, runs.ids, runs.runs, run_count(), crew),
                         status);
        lethe_window_stats a = window_stats(shared, clock_ms);
        lethe_window_stats b = window_stats(alone, clock_ms);
        assert_memory_equal(&a, &b, sizeof a);
    }
    test_window_assert_same(shared, alone);
    lethe_window_free(shared);
    lethe_window_free(alone);
    free(runs.ids);
    return calls;
}

static const struct stream steady = {
    .distinct = 1 << 20, .pause_ms = 200, .longest_ms = 2 * WINDOW_MS, .back_ms = 5000};

/* Five MiB and more: several slabs. */
static void windows_of_every_shape_are_the_same(void **state) {
    (void)state;
    static const struct {
        double error;
        uint64_t capacity;
        bool one_line;
    } shapes[] = {{1e-3, 3000000, false}, {1e-6, 2000000, false}, {1e-12, 900000, false},
                  {1e-12, 900000, true},  {3e-5, 2000000, false}, {1e-9, 4000000, false}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        lethe_window_options options =
            LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS, .error = shapes[i].error,
                          .capacity = shapes[i].capacity, .one_line = shapes[i].one_line);
        assert_true(compare(&options, &steady, &crews[i % CREWS], TEST_SIZED(3, 1)) > 1);
    }
}

static void every_crew_will_do(void **state) {
    (void)state;
    lethe_window_options options = LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS,
                                                 .error = 1e-6, .capacity = 2000000);
    for (unsigned i = 0; i < CREWS; i++)
        assert_true(compare(&options, &steady, &crews[i], 1) > 1);
    assert_int_equal(compare(&options, &steady, NULL, 1), 0);
    const lethe_crew alone = {.members = 1, .run = not_at_all};
    assert_int_equal(compare(&options, &steady, &alone, 1), 0);
}

/* A part that becomes full is continued by one thread, and the next one by several. */
static void more_than_a_window_expects_is_the_same(void **state) {
    (void)state;
    static const struct stream rushing = {.distinct = 1 << 24, .pause_ms = 20};
    lethe_window_options options = LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS,
                                                 .error = 1e-3, .capacity = 1800000);
    assert_true(compare(&options, &rushing, &crews[0], 12) > 1);
    options.capacity = 0;
    (void)compare(&options, &rushing, &crews[0], 2);
}

static void capped_windows_are_the_same(void **state) {
    (void)state;
    static const struct stream rushing = {.distinct = 1 << 22, .pause_ms = 100};
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS, .error = 1e-6,
                      .capacity = 1200000, .max_memory_bytes = 6 << 20);
    for (int policy = LETHE_POLICY_REFUSE; policy <= LETHE_POLICY_DEGRADE; policy++) {
        options.policy = (lethe_policy)policy;
        assert_true(compare(&options, &rushing, &crews[1], TEST_SIZED(8, 2)) > 0);
    }
}

static void other_windows_are_the_same(void **state) {
    (void)state;
    lethe_window_options options = LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS,
                                                 .error = 1e-6, .capacity = 2000000, .stripes = 4);
    assert_int_equal(compare(&options, &steady, &crews[0], 1), 0);
    options.stripes = 0;
    options.kind = LETHE_WINDOW_FORGETFUL;
    assert_int_equal(compare(&options, &steady, &crews[0], 1), 0);
    options = LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS, .capacity = 100000);
    assert_int_equal(compare(&options, &steady, &crews[0], 1), 0); /* one slab */
}

/* An id whose blocks are those of others that this function has made. */
static lethe_hash crowded_id(const struct lethe_part_shape *shape, struct test_random *random) {
    uint64_t mask = (UINT64_C(1) << shape->queue.bits) - 1;
    for (;;) {
        uint64_t low = test_random_next(random);
        if (lethe_part_other_block(shape->blocks, low & mask, 0) == 7)
            return (lethe_hash){.low = low, .high = 0};
    }
}

/* Where two blocks are full, and all that is in them could go nowhere else, a new part is made in
 * the middle of a lane. Nothing is forgotten because of that. */
static void crowded_blocks_lose_nothing(void **state) {
    (void)state;
    enum { CROWD = 60, OTHERS = 50000, ALL = CROWD + OTHERS };
    lethe_window_options options = LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS,
                                                 .error = 1e-6, .capacity = 2000000);
    lethe_hash *ids = malloc(ALL * sizeof *ids);
    assert_non_null(ids);
    for (unsigned i = 0; i < CREWS; i++) {
        lethe_window *shared = test_window_make(&options), *alone = test_window_make(&options);
        struct test_random random = {.state = i + 1};
        for (unsigned j = 0; j < ALL; j++) {
            ids[j] = j % 50 == 0 && j / 50 < CROWD
                         ? crowded_id(&shared->stripes[0].chain.parts[0]->shape, &random)
                         : lethe_hash_u64(3, j);
        }
        const lethe_window_run runs[] = {{1000, ALL / 2}, {1100, ALL - ALL / 2}};
        assert_ok(lethe_window_add_batch(alone, ids, ALL / 2, 1000, NULL));
        assert_ok(lethe_window_add_batch(alone, ids + ALL / 2, ALL - ALL / 2, 1100, NULL));
        assert_ok(lethe_window_add_runs(shared, ids, runs, 2, &crews[i]));
        lethe_window_stats a = window_stats(shared, 1100), b = window_stats(alone, 1100);
        assert_in_range(a.parts, 2, b.parts);         /* it was made when more ids were known */
        assert_in_range(a.ids, b.ids - 2, b.ids + 2); /* two of them may look alike */
        assert_int_equal(a.refused, 0);
        for (unsigned j = 0; j < ALL; j++) {
            assert_int_equal(lethe_window_test(shared, ids[j], 1000 + WINDOW_MS),
                             LETHE_ANSWER_DUPLICATE);
        }
        lethe_window_free(shared);
        lethe_window_free(alone);
    }
    free(ids);
}

/* Refused memory is reported; what was added stays, and the rest can be added later. */
static void memory_that_is_refused_is_reported(void **state) {
    (void)state;
    enum { ALL = 50000 };
    lethe_hash *ids = malloc(ALL * sizeof *ids);
    assert_non_null(ids);
    for (unsigned i = 0; i < ALL; i++)
        ids[i] = lethe_hash_u64(4, i);
    lethe_status status = LETHE_ENOMEM;
    for (size_t n = 4; status != LETHE_OK; n++) {
        struct test_heap heap;
        test_heap_init(&heap, SIZE_MAX);
        lethe_window *window = test_window_make(
            &LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS, .error = 1e-6,
                           .capacity = 2000000, .allocator = &heap.allocator));
        heap.fail_at = n;
        const lethe_window_run run = {1000, ALL};
        status = lethe_window_add_runs(window, ids, &run, 1, &crews[1]);
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        assert_ok(lethe_window_add_runs(window, ids, &run, 1, &crews[1]));
        for (unsigned i = 0; i < ALL; i++)
            assert_int_equal(lethe_window_test(window, ids[i], 1000), LETHE_ANSWER_DUPLICATE);
        assert_in_range(window_stats(window, 1000).ids, ALL - 2, ALL);
        lethe_window_free(window);
        assert_int_equal(heap.live_bytes, 0);
    }
    free(ids);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_every_shape_are_the_same),
        cmocka_unit_test(every_crew_will_do),
        cmocka_unit_test(more_than_a_window_expects_is_the_same),
        cmocka_unit_test(capped_windows_are_the_same),
        cmocka_unit_test(other_windows_are_the_same),
        cmocka_unit_test(crowded_blocks_lose_nothing),
        cmocka_unit_test(memory_that_is_refused_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
