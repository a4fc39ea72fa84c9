/* Goal: when several threads add the same id at once, exactly one of them finds it fresh, whatever
 *       else goes on meanwhile. */
#include "support/reports.h"
#include "support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lethe/window.h"

enum { THREADS = 4, IDS = 40000, BATCH = 257, WINDOW_MS = 60000 };

struct race {
    lethe_window *window;
    atomic_uint fresh[IDS]; /* how often each id was told fresh */
    atomic_uint others;     /* answers that are neither */
    atomic_bool is_over;
    pthread_barrier_t barrier;
};

struct racer {
    struct race *race;
    unsigned number;
};

static void tell(struct race *race, size_t id, unsigned answer) {
    if (answer == LETHE_ANSWER_FRESH) atomic_fetch_add(&race->fresh[id], 1);
    if (answer != LETHE_ANSWER_FRESH && answer != LETHE_ANSWER_DUPLICATE)
        atomic_fetch_add(&race->others, 1);
}

static void one_by_one(struct race *race, size_t first, size_t count) {
    for (size_t id = first; id < first + count; id++) {
        lethe_answer answer;
        /* Time passes with the ids, but far less than the window. */
        if (lethe_window_add_and_test(race->window, lethe_hash_u64(9, id), id, &answer) !=
            LETHE_OK) {
            atomic_fetch_add(&race->others, 1);
        }
        tell(race, id, answer);
    }
}

static void as_a_batch(struct race *race, size_t first, size_t count) {
    lethe_hash ids[BATCH] = {{0}};
    uint8_t answers[BATCH];
    for (size_t i = 0; i < count; i++)
        ids[i] = lethe_hash_u64(9, first + i);
    if (lethe_window_add_and_test_batch(race->window, ids, count, first, answers) != LETHE_OK)
        atomic_fetch_add(&race->others, 1);
    for (size_t i = 0; i < count; i++)
        tell(race, first + i, answers[i]);
}

/* All threads go through the same ids in the same order, so they stay close together. */
static void *run_racer(void *argument) {
    struct racer *racer = argument;
    struct race *race = racer->race;
    pthread_barrier_wait(&race->barrier);
    for (size_t first = 0; first < IDS; first += BATCH) {
        size_t count = IDS - first < BATCH ? IDS - first : BATCH;
        bool batch = (racer->number + first / BATCH) % 2 == 0;
        (batch ? as_a_batch : one_by_one)(race, first, count);
    }
    return NULL;
}

/* Reads, works and saves all the time. */
static void *run_observer(void *argument) {
    struct race *race = argument;
    pthread_barrier_wait(&race->barrier);
    uint64_t ids = 0;
    for (uint64_t round = 0; !atomic_load(&race->is_over); round++) {
        lethe_window_stats stats = window_stats(race->window, round % IDS);
        if (stats.ids < ids || stats.ids > IDS) atomic_fetch_add(&race->others, 1);
        ids = stats.ids; /* nothing expires, so they only become more */
        lethe_hash hashes[BATCH];
        uint8_t answers[BATCH];
        for (size_t i = 0; i < BATCH; i++)
            hashes[i] = lethe_hash_u64(9, (round * BATCH + i) % IDS);
        lethe_window_test_batch(race->window, hashes, BATCH, round % IDS, answers);
        (void)lethe_window_test(race->window, hashes[0], round % IDS);
        (void)window_work(race->window, round % 1000, 1);
        if (round % 64 == 0) {
            lethe_memory_writer writer = {0};
            if (lethe_window_save(race->window, lethe_sink_to_memory(&writer)) != LETHE_OK)
                atomic_fetch_add(&race->others, 1);
            lethe_memory_writer_free(&writer);
        }
    }
    return NULL;
}

static void run_race(lethe_window_kind kind, uint32_t stripes) {
    struct race *race = calloc(1, sizeof *race);
    assert_non_null(race);
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .kind = kind, .window_ms = WINDOW_MS, .error = 1e-12,
                      .stripes = stripes, .seed = 9);
    assert_ok(lethe_window_new(&options, &race->window));
    pthread_barrier_init(&race->barrier, NULL, THREADS + 1);
    pthread_t threads[THREADS], observer;
    struct racer racers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        racers[i] = (struct racer){.race = race, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_racer, &racers[i]), 0);
    }
    assert_int_equal(pthread_create(&observer, NULL, run_observer, race), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&race->is_over, true);
    pthread_join(observer, NULL);

    assert_int_equal(atomic_load(&race->others), 0);
    for (size_t id = 0; id < IDS; id++)
        assert_int_equal(atomic_load(&race->fresh[id]), 1);
    lethe_window_stats stats = window_stats(race->window, IDS);
    assert_int_equal(stats.fresh, IDS);
    assert_int_equal(stats.duplicates, (THREADS - 1) * IDS);
    assert_int_equal(stats.ids, IDS);
    pthread_barrier_destroy(&race->barrier);
    lethe_window_free(race->window);
    free(race);
}

/* Method: four threads send the same ids, singly and in batches, while a fifth reads, works and
 * saves. At an error of 1e-12 no id looks like another. */
static void each_id_is_fresh_exactly_once(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        run_race((lethe_window_kind)kind, 1);
        run_race((lethe_window_kind)kind, 4);
        run_race((lethe_window_kind)kind, 64);
    }
}

struct forgetter {
    lethe_window *window;
    unsigned number;
    unsigned failures;
};

/* Own ids, in a window that all share: recorded, forgotten, and fresh again. */
static void *run_forgetter(void *argument) {
    struct forgetter *self = argument;
    for (uint64_t i = 0; i < 5000; i++) {
        lethe_hash id = lethe_hash_u64(9, (uint64_t)self->number << 32 | i);
        lethe_answer first, second;
        bool fine = lethe_window_add_and_test(self->window, id, i, &first) == LETHE_OK &&
                    first == LETHE_ANSWER_FRESH &&
                    lethe_window_remove(self->window, id, i) == LETHE_OK &&
                    lethe_window_test(self->window, id, i) == LETHE_ANSWER_FRESH &&
                    lethe_window_remove(self->window, id, i) == LETHE_ENOTFOUND &&
                    lethe_window_add(self->window, id, i) == LETHE_OK &&
                    lethe_window_add_and_test(self->window, id, i, &second) == LETHE_OK &&
                    second == LETHE_ANSWER_DUPLICATE;
        self->failures += !fine;
    }
    return NULL;
}

static void threads_forget_their_own(void **state) {
    (void)state;
    lethe_window *window;
    lethe_window_options options = LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS,
                                                 .error = 1e-12, .stripes = 4, .seed = 9);
    assert_ok(lethe_window_new(&options, &window));
    pthread_t threads[THREADS];
    struct forgetter forgetters[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        forgetters[i] = (struct forgetter){.window = window, .number = i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, run_forgetter, &forgetters[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(forgetters[i].failures, 0);
    }
    assert_int_equal(window_stats(window, 0).ids, THREADS * 5000);
    lethe_window_free(window);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_id_is_fresh_exactly_once),
        cmocka_unit_test(threads_forget_their_own),
    };
    return cmocka_run_group_tests_name("window_threads", tests, NULL, NULL);
}
