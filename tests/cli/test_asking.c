/* Goal:   each line is new just once, whether memory or a cascade answers, and with `remembers` the
 *         cascade has every line that was answered: over runs, and whenever memory becomes full.
 * Method: ids with duplicates are asked about in batches of many sizes, in several runs on one
 *         folder, each of which ends with a checkpoint. Answers are compared with an exact set of
 *         all ids. Memory for none of the ids, for some, and for all; with another thread that
 *         adds, and without. The errors are so small that none is expected. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dedup/asking.h"
#include "output/temporary.h"
#include "say/message.h"
#include "support/random.h"

enum { IDS = 300000, ASKED = 200000, MOST = 20000, RUNS = 3 };

static const double ERROR = 1e-9;
static const uint64_t CAPACITY = 1000000;

struct world {
    char folder[TEMPORARY_BYTES];
    struct test_random random;
    struct asking asking;
    uint8_t all[IDS], answers[MOST];
    uint32_t ids[MOST];
    lethe_hash hashes[MOST];
    uint64_t different, lines; /* lines of this run */
    bool adds_beside, was_kept, was_given_up;
};

static void open_cascade(struct world *world, uint64_t memory_bytes, uint64_t capacity) {
    lethe_cascade_options options = LETHE_OPTIONS(
        lethe_cascade_options, .capacity = capacity, .error = ERROR,
        .memory_bytes = LETHE_CASCADE_MIN_MEMORY_BYTES, .durability = LETHE_CASCADE_CHECKPOINTED);
    world->asking = (struct asking){
        .remembers = true, .resident_bytes = memory_bytes, .resident_error = ERROR / 8};
    world->lines = 0;
    assert_int_equal(lethe_cascade_open(world->folder, &options, &world->asking.cascade, NULL),
                     LETHE_OK);
}

static void draw(struct world *world, size_t count) {
    /* Ids of one batch are near each other, so that many come twice in it. */
    uint64_t first = test_random_below(&world->random, IDS - MOST);
    for (size_t i = 0; i < count; i++) {
        world->ids[i] = (uint32_t)(first + test_random_below(&world->random, MOST));
        world->hashes[i] = lethe_hash_u64(lethe_cascade_seed(world->asking.cascade), world->ids[i]);
    }
}

static void ask(struct world *world, size_t count) {
    struct asking *asking = &world->asking;
    size_t done;
    if (asking_should_keep(asking, world->lines)) asking_keep(asking);
    if (world->adds_beside) asking_begin_adding(asking);
    bool was_quick = asking_is_quick(asking);
    world->was_kept |= was_quick;
    draw(world, count);
    assert_int_equal(asking_ask(asking, world->hashes, count, world->answers, &done), LETHE_OK);
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(world->answers[i], world->all[world->ids[i]]);
        world->different += !world->all[world->ids[i]];
        world->all[world->ids[i]] = 1;
    }
    world->was_given_up |= was_quick && !asking_is_quick(asking);
    world->lines += count;
    /* Now and then the other thread may be as far behind as it likes. */
    if (world->adds_beside && test_random_below(&world->random, 4) != 0) return;
    assert_int_equal(asking_settle(asking), LETHE_OK);
    assert_int_equal(
        lethe_cascade_test_batch(asking->cascade, world->hashes, count, 0, world->answers),
        LETHE_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(world->answers[i], 1);
}

static void run(struct world *world, uint64_t memory_bytes, uint64_t capacity) {
    open_cascade(world, memory_bytes, capacity);
    while (world->lines < ASKED)
        ask(world, 1 + test_random_below(&world->random, MOST));
    double error = asking_error(&world->asking);
    assert_int_equal(asking_end_adding(&world->asking), LETHE_OK);
    struct asking_facts facts = asking_facts_of(&world->asking);
    assert_true(fabs(facts.error - error) <= error * 1e-9);
    assert_int_equal(facts.entries, world->different);
    assert_true(facts.error <= ERROR || capacity < world->different);
    assert_int_equal(lethe_cascade_checkpoint(world->asking.cascade, 1, NULL, 0), LETHE_OK);
    asking_drop(&world->asking);
    assert_int_equal(lethe_cascade_close(world->asking.cascade, NULL), LETHE_OK);
}

static bool check_with(bool adds_beside, uint64_t memory_bytes, uint64_t capacity,
                       bool *was_given_up) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->random.state = 11;
    world->adds_beside = adds_beside;
    assert_int_equal(temporary_make("test", world->folder), EXIT_DONE);
    for (int i = 0; i < RUNS; i++)
        run(world, memory_bytes, capacity);
    temporary_remove(world->folder);
    bool was_kept = world->was_kept;
    *was_given_up = world->was_given_up;
    free(world);
    return was_kept;
}

/* Returns whether lines were kept in memory, and in *was_given_up whether they were given up: the
 * same with another thread that adds and without. */
static bool check(uint64_t memory_bytes, uint64_t capacity, bool *was_given_up) {
    bool was_given_up_beside;
    bool was_kept = check_with(false, memory_bytes, capacity, was_given_up);
    assert_int_equal(check_with(true, memory_bytes, capacity, &was_given_up_beside), was_kept);
    assert_int_equal(was_given_up_beside, *was_given_up);
    return was_kept;
}

static void each_line_is_new_once(void **state) {
    (void)state;
    bool was_given_up;
    assert_false(check(0, CAPACITY, &was_given_up));
    assert_true(check((uint64_t)512 << 10, CAPACITY, &was_given_up) && was_given_up);
    assert_true(check((uint64_t)8 << 20, CAPACITY, &was_given_up) && !was_given_up);
}

/* Two errors add up, so memory gives way before the cascade's own error is all of what is
 * allowed. */
static void memory_gives_way_near_the_capacity(void **state) {
    (void)state;
    bool was_given_up;
    assert_true(check((uint64_t)8 << 20, IDS / 2, &was_given_up) && was_given_up);
}

/* What is in the cascade is read into memory only when lines enough were asked about. */
static void a_few_lines_do_not_read_all(void **state) {
    (void)state;
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->random.state = 12;
    assert_int_equal(temporary_make("test", world->folder), EXIT_DONE);
    run(world, (uint64_t)8 << 20, CAPACITY);
    open_cascade(world, (uint64_t)8 << 20, CAPACITY);
    world->was_kept = false;
    ask(world, 100);
    ask(world, 100);
    assert_false(world->was_kept);
    while (world->lines < world->different)
        ask(world, MOST);
    assert_true(world->was_kept);
    asking_drop(&world->asking);
    assert_int_equal(lethe_cascade_close(world->asking.cascade, NULL), LETHE_OK);
    temporary_remove(world->folder);
    free(world);
}

/* Hands some hashes over, from that of number `first` on. */
static lethe_status put(struct adding *adding, uint64_t first, size_t count) {
    lethe_hash *room = adding_room(adding, count);
    assert_non_null(room);
    for (size_t i = 0; i < count; i++)
        room[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, first + i);
    return adding_put(adding, count);
}

/* A cascade that refuses one batch would take a smaller one after it. But what came later must not
 * be there without what came before. */
static void after_a_failure_nothing_is_added(void **state) {
    (void)state;
    enum { ROOM = 1000, FIRST = 10 };
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    assert_int_equal(temporary_make("test", world->folder), EXIT_DONE);
    lethe_cascade_options options = LETHE_OPTIONS(
        lethe_cascade_options, .capacity = ROOM, .error = ERROR, .refuse_over_capacity = true,
        .memory_bytes = LETHE_CASCADE_MIN_MEMORY_BYTES, .durability = LETHE_CASCADE_CHECKPOINTED);
    lethe_cascade *cascade;
    assert_int_equal(lethe_cascade_open(world->folder, &options, &cascade, NULL), LETHE_OK);
    struct adding *adding = adding_new(cascade);
    assert_non_null(adding);
    assert_int_equal(put(adding, 0, FIRST), LETHE_OK);
    assert_int_equal(adding_wait(adding), LETHE_OK);
    (void)put(adding, FIRST, 2 * ROOM); /* may know already */
    for (size_t i = 0; i < 2 * ADDING_BATCHES; i++)
        (void)put(adding, 3 * ROOM + i, 1);
    assert_int_equal(adding_wait(adding), LETHE_EFULL);
    assert_int_equal(put(adding, 4 * ROOM, 1), LETHE_EFULL);
    assert_int_equal(adding_wait(adding), LETHE_EFULL);
    adding_free(adding);
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    assert_int_equal(lethe_cascade_info(cascade, 0, &stats), LETHE_OK);
    assert_int_equal(stats.entries, FIRST);
    assert_int_equal(lethe_cascade_close(cascade, NULL), LETHE_OK);
    temporary_remove(world->folder);
    free(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_new_once),
        cmocka_unit_test(memory_gives_way_near_the_capacity),
        cmocka_unit_test(a_few_lines_do_not_read_all),
        cmocka_unit_test(after_a_failure_nothing_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
