/* Goal: a block is exactly a list of buckets, for every width of remainder and number of planes. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "filter/quotient/block.h"
#include "support/random.h"

enum { MAX_PLANES = 6 };

struct entry {
    unsigned bucket, value;
    uint64_t remainder;
};

/* The block and, beside it, its entries as a plain list in bucket order. */
struct subject {
    unsigned bits, planes;
    uint64_t unary;
    uint32_t plane[MAX_PLANES];
    unsigned char before[8]; /* is read, too */
    unsigned char remainders[4 * LETHE_BLOCK_MAX_REMAINDER_BITS + LETHE_BLOCK_BEYOND_BYTES];
    struct entry entries[LETHE_BLOCK_SLOTS];
    unsigned used;
};

static uint64_t mask_of(unsigned bits) {
    return (UINT64_C(1) << bits) - 1;
}

static void check_all(const struct subject *subject) {
    for (unsigned i = 0; i < LETHE_BLOCK_BEYOND_BYTES; i++)
        assert_int_equal(subject->remainders[4 * subject->bits + i], 0xa0 + i);
    assert_int_equal(lethe_block_used(subject->unary), subject->used);
    unsigned slot = 0;
    for (unsigned bucket = 0; bucket < LETHE_BLOCK_BUCKETS; bucket++) {
        struct lethe_block_run run = lethe_block_find(subject->unary, bucket);
        assert_int_equal(run.start, slot);
        for (unsigned i = 0; i < run.count; i++, slot++) {
            const struct entry *entry = &subject->entries[slot];
            assert_int_equal(entry->bucket, bucket);
            assert_int_equal(lethe_block_remainder(subject->remainders, subject->bits,
                                                   mask_of(subject->bits), slot),
                             entry->remainder);
            assert_int_equal(lethe_block_get_planes(subject->plane, subject->planes, slot),
                             entry->value);
        }
    }
    assert_int_equal(slot, subject->used);
}

static void insert(struct subject *subject, struct entry entry) {
    struct lethe_block_run run = lethe_block_find(subject->unary, entry.bucket);
    lethe_block_insert(&subject->unary, subject->plane, subject->planes, subject->remainders,
                       subject->bits, run, subject->used, entry.remainder, entry.value);
    memmove(&subject->entries[run.start + 1], &subject->entries[run.start],
            (subject->used - run.start) * sizeof entry);
    subject->entries[run.start] = entry;
    subject->used++;
}

static void drop(struct subject *subject, uint32_t slots) {
    lethe_block_drop(&subject->unary, subject->plane, subject->planes, subject->remainders,
                     subject->bits, slots);
    unsigned kept = 0;
    for (unsigned slot = 0; slot < subject->used; slot++) {
        if ((slots >> slot & 1) == 0) subject->entries[kept++] = subject->entries[slot];
    }
    subject->used = kept;
}

/* Method: random inserts, single and many drops, values changed, matches counted, each step compared
 * with the list; buckets uniform, or all in one. */
static void run_model(unsigned bits, unsigned planes, uint64_t seed) {
    struct subject subject = {.bits = bits, .planes = planes};
    /* What lies beyond the block must stay as it is. */
    for (unsigned i = 0; i < LETHE_BLOCK_BEYOND_BYTES; i++)
        subject.remainders[4 * bits + i] = (unsigned char)(0xa0 + i);
    struct test_random random = {seed};
    unsigned spread = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 5 : LETHE_BLOCK_BUCKETS;
    unsigned first = (unsigned)test_random_below(&random, LETHE_BLOCK_BUCKETS - spread + 1);
    for (int step = 0; step < 600; step++) {
        bool grow = test_random_below(&random, 8) != 0;
        if (grow && subject.used < LETHE_BLOCK_SLOTS) {
            insert(
                &subject,
                (struct entry){.bucket = first + (unsigned)test_random_below(&random, spread),
                               .value = (unsigned)test_random_below(&random, UINT64_C(1) << planes),
                               .remainder = test_random_next(&random) & mask_of(bits)});
        } else if (subject.used > 0) {
            uint32_t slots = UINT32_C(1) << test_random_below(&random, subject.used);
            if (step % 3 == 0)
                slots |= (uint32_t)(test_random_next(&random) & test_random_next(&random));
            if (step % 50 == 0) slots = ~UINT32_C(0);
            if (subject.used < 32) slots &= (UINT32_C(1) << subject.used) - 1;
            if (slots != 0) drop(&subject, slots);
        }
        if (subject.used > 0 && planes > 0) {
            unsigned slot = (unsigned)test_random_below(&random, subject.used);
            unsigned value = (unsigned)test_random_below(&random, UINT64_C(1) << planes);
            lethe_block_set_planes(subject.plane, planes, slot, value);
            subject.entries[slot].value = value;
            uint32_t match = lethe_block_match_planes(subject.plane, planes, value);
            for (unsigned i = 0; i < subject.used; i++)
                assert_int_equal(match >> i & 1, subject.entries[i].value == value);
        }
        check_all(&subject);
    }
}

static void a_block_is_a_list_of_buckets(void **state) {
    (void)state;
    for (unsigned bits = 1; bits <= LETHE_BLOCK_MAX_REMAINDER_BITS; bits++) {
        for (uint64_t seed = 0; seed < 6; seed++)
            run_model(bits, (unsigned)(bits + seed) % (MAX_PLANES + 1), seed + 100 * bits);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_a_list_of_buckets),
    };
    return cmocka_run_group_tests_name("block", tests, NULL, NULL);
}
