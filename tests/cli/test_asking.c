/* Goal:   each line is new just once, whether memory or a cascade answers, and with `remembers` the
 *         cascade has every line that was answered: over runs, and whenever memory becomes full.
 * Method: ids with duplicates are asked about in batches of many sizes, in several runs on one
 *         folder, each of which ends with a checkpoint. Answers are compared with an exact set of
 *         all ids. Memory for none of the ids, for some, and for all. The errors are so small that
 *         none is expected. */
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
    bool was_kept, was_given_up;
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
    struct asking_facts facts = asking_facts_of(&world->asking);
    assert_int_equal(facts.entries, world->different);
    assert_true(facts.error <= ERROR || capacity < world->different);
    assert_int_equal(lethe_cascade_checkpoint(world->asking.cascade, 1, NULL, 0), LETHE_OK);
    asking_drop(&world->asking);
    assert_int_equal(lethe_cascade_close(world->asking.cascade, NULL), LETHE_OK);
}

/* Returns whether lines were kept in memory, and in *was_given_up whether they were given up. */
static bool check(uint64_t memory_bytes, uint64_t capacity, bool *was_given_up) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->random.state = 11;
    assert_int_equal(temporary_make("test", world->folder), EXIT_DONE);
    for (int i = 0; i < RUNS; i++)
        run(world, memory_bytes, capacity);
    temporary_remove(world->folder);
    bool was_kept = world->was_kept;
    *was_given_up = world->was_given_up;
    free(world);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_new_once),
        cmocka_unit_test(memory_gives_way_near_the_capacity),
        cmocka_unit_test(a_few_lines_do_not_read_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
