/* Goal: a block is exactly a list of remainders in the order of their ages, for every shape. */
#include "support/test.h"

#include <string.h>

#include "support/random.h"
#include "window/queue_change.h"

enum { GUARD = 64, STEPS = 400 };

struct entry {
    uint64_t period, remainder;
};

/* The block, and beside it its entries as a plain list, youngest first. */
struct subject {
    struct lethe_queue_shape shape;
    unsigned char bytes[GUARD + 128 + GUARD];
    uint64_t period;
    struct entry entries[LETHE_QUEUE_MAX_SLOTS];
    unsigned used;
    struct test_random random;
};

static unsigned char *block_of(struct subject *subject) {
    return subject->bytes + GUARD;
}

/* Remainders that differ in one bit are as likely as any, so that each bit is seen to matter. */
static uint64_t draw_remainder(struct subject *subject) {
    uint64_t mask = (UINT64_C(1) << subject->shape.bits) - 1;
    uint64_t other = test_random_next(&subject->random);
    if (subject->used > 0 && test_random_below(&subject->random, 2) == 0) {
        other = subject->entries[test_random_below(&subject->random, subject->used)].remainder ^
                UINT64_C(1) << test_random_below(&subject->random, subject->shape.bits);
    }
    return other & mask;
}

static void model_expire(struct subject *subject) {
    while (subject->used > 0 &&
           subject->entries[subject->used - 1].period + subject->shape.generations <
               subject->period)
        subject->used--;
}

static void model_insert(struct subject *subject, unsigned at, struct entry entry) {
    memmove(subject->entries + at + 1, subject->entries + at,
            (subject->used - at) * sizeof(struct entry));
    subject->entries[at] = entry;
    subject->used++;
}

static unsigned model_count(const struct subject *subject, uint64_t remainder) {
    unsigned count = 0;
    for (unsigned i = 0; i < subject->used; i++)
        count += subject->entries[i].remainder == remainder;
    return count;
}

static void check_remainder(struct subject *subject, uint64_t remainder) {
    const struct lethe_queue_shape *shape = &subject->shape;
    uint32_t match = lethe_queue_match(shape, block_of(subject), remainder);
    unsigned count = model_count(subject, remainder), first = shape->slots;
    for (unsigned i = subject->used; i-- > 0;) {
        if (subject->entries[i].remainder == remainder) first = i;
    }
    assert_int_equal(lethe_queue_count(shape, block_of(subject), match, subject->period), count);
    assert_int_equal(lethe_queue_find(shape, block_of(subject), match, subject->period), first);
}

static void check_all(struct subject *subject) {
    const struct lethe_queue_shape *shape = &subject->shape;
    const unsigned char *block = block_of(subject);
    for (unsigned i = 0; i < GUARD; i++) {
        assert_int_equal(subject->bytes[i], 0xa5);
        assert_int_equal(block[shape->block_bytes + i], 0xa5);
    }
    assert_true(lethe_queue_is_valid(shape, block));
    lethe_queue_ages ages = lethe_queue_ages_at(shape, block, subject->period);
    assert_int_equal(lethe_queue_end(shape, ages) - shape->generations, subject->used);
    for (unsigned i = 0; i < subject->used; i++) {
        unsigned slot = lethe_queue_turn(shape, lethe_queue_head(shape, block), i);
        assert_int_equal(lethe_queue_remainder(shape, block, slot), subject->entries[i].remainder);
        assert_int_equal(lethe_queue_age(shape, ages, i),
                         subject->period - subject->entries[i].period);
        check_remainder(subject, subject->entries[i].remainder);
    }
    check_remainder(subject, draw_remainder(subject));
}

static void do_append(struct subject *subject) {
    const struct lethe_queue_shape *shape = &subject->shape;
    lethe_queue_ages ages = lethe_queue_ages_at(shape, block_of(subject), subject->period);
    unsigned end = lethe_queue_end(shape, ages);
    assert_int_equal(lethe_queue_is_full(shape, end), subject->used == shape->slots);
    if (subject->used == shape->slots) return;
    struct entry entry = {subject->period, draw_remainder(subject)};
    lethe_queue_append(shape, block_of(subject), ages, end, subject->period, entry.remainder);
    model_insert(subject, 0, entry);
}

/* One that comes from another block, of any age. */
static void do_insert(struct subject *subject) {
    const struct lethe_queue_shape *shape = &subject->shape;
    if (subject->used == shape->slots) return;
    unsigned age = (unsigned)test_random_below(&subject->random, shape->generations + 1), at = 0;
    if (age > subject->period) age = 0;
    struct entry entry = {subject->period - age, draw_remainder(subject)};
    while (at < subject->used && subject->entries[at].period > entry.period)
        at++;
    lethe_queue_insert(shape, block_of(subject), subject->period, age, entry.remainder);
    model_insert(subject, at, entry);
}

static void do_remove(struct subject *subject) {
    if (subject->used == 0) return;
    unsigned at = (unsigned)test_random_below(&subject->random, subject->used);
    lethe_queue_remove(&subject->shape, block_of(subject), subject->period, at);
    subject->used--;
    memmove(subject->entries + at, subject->entries + at + 1,
            (subject->used - at) * sizeof(struct entry));
}

/* At once what removing and adding do one after the other, to the last byte. */
static void do_replace(struct subject *subject) {
    if (subject->used == 0) return;
    const struct lethe_queue_shape *shape = &subject->shape;
    struct entry entry = {subject->period, draw_remainder(subject)};
    unsigned at = (unsigned)test_random_below(&subject->random, subject->used);
    unsigned char replaced[128];
    memcpy(replaced, block_of(subject), shape->block_bytes);
    lethe_queue_replace(shape, replaced, subject->period, at, entry.remainder);
    lethe_queue_remove(shape, block_of(subject), subject->period, at);
    lethe_queue_insert(shape, block_of(subject), subject->period, 0, entry.remainder);
    assert_memory_equal(replaced, block_of(subject), shape->block_bytes);
    memmove(subject->entries + 1, subject->entries, at * sizeof(struct entry));
    subject->entries[0] = entry;
}

/* Mostly a period at a time, so that entries get old. */
static void do_advance(struct subject *subject) {
    uint64_t chance = test_random_below(&subject->random, 20);
    subject->period += chance > 1 ? 1 : test_random_below(&subject->random, 128);
    model_expire(subject);
    if (chance % 2 == 0) {
        lethe_queue_refresh(&subject->shape, block_of(subject), subject->period);
    } else {
        check_all(subject);
        lethe_queue_refresh(&subject->shape, block_of(subject), subject->period);
    }
}

static void run_model(struct lethe_queue_shape shape, uint64_t seed) {
    struct subject subject = {.shape = shape, .random = {seed}, .period = 1000};
    memset(subject.bytes, 0xa5, sizeof subject.bytes);
    memset(block_of(&subject), 0, shape.block_bytes);
    lethe_queue_refresh(&shape, block_of(&subject), subject.period);
    for (int step = 0; step < STEPS; step++) {
        switch (test_random_below(&subject.random, 9)) {
        case 0:
            do_advance(&subject);
            break;
        case 1:
            do_remove(&subject);
            break;
        case 2:
        case 3:
            do_insert(&subject);
            break;
        case 4:
            do_replace(&subject);
            break;
        default:
            do_append(&subject);
        }
        check_all(&subject);
    }
}

/* Method: random operations on a block and on a plain list, of every shape. */
static void a_block_is_a_list(void **state) {
    (void)state;
    for (unsigned bits = 1; bits <= LETHE_QUEUE_MAX_BITS; bits++) {
        for (unsigned block_bytes = 32; block_bytes <= 128; block_bytes *= 2) {
            for (unsigned generations = 1; generations <= LETHE_QUEUE_MAX_GENERATIONS;
                 generations += bits % 3 + 3) {
                struct lethe_queue_shape shape;
                if (lethe_queue_plan(bits, generations, block_bytes, &shape))
                    run_model(shape, bits * 100 + generations);
            }
        }
    }
}

static void shapes_that_make_no_sense_are_refused(void **state) {
    (void)state;
    struct lethe_queue_shape shape;
    assert_false(lethe_queue_plan(0, 30, 64, &shape));
    assert_false(lethe_queue_plan(58, 30, 64, &shape));
    assert_false(lethe_queue_plan(25, 0, 64, &shape));
    assert_false(lethe_queue_plan(25, 63, 64, &shape));
    assert_false(lethe_queue_plan(25, 30, 0, &shape));
    assert_false(lethe_queue_plan(25, 30, 48, &shape));
    assert_false(lethe_queue_plan(57, 62, 32, &shape)); /* not four of them fit */
    assert_true(lethe_queue_plan(25, 30, 64, &shape));
    assert_int_equal(shape.slots, 18);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_a_list),
        cmocka_unit_test(shapes_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
