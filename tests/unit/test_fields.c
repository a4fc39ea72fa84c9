/* Goal: packed fields are a plain array, for every width, and shifting a block touches nothing
 *       around it. Compiled a second time with the instructions that the fast path uses. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "filter/quotient/fields.h"
#include "support/random.h"

enum { BEFORE = 64, AFTER = 64, BLOCK = LETHE_FIELDS_A_BLOCK };

/* A block and, beside it, its fields one by one. */
struct subject {
    unsigned bits;
    unsigned char bytes[BEFORE + 8 * LETHE_FIELDS_MAX_BITS + AFTER];
    uint64_t fields[BLOCK];
    uint64_t ends;
    bool end[BLOCK];
};

static unsigned char *block_of(struct subject *subject) {
    return subject->bytes + BEFORE;
}

static void check_all(struct subject *subject) {
    for (unsigned i = 0; i < BEFORE; i++)
        assert_int_equal(subject->bytes[i], 0xb0);
    for (unsigned i = 0; i < AFTER; i++)
        assert_int_equal(block_of(subject)[8 * subject->bits + i], 0xaf);
    for (unsigned slot = 0; slot < BLOCK; slot++) {
        assert_int_equal(lethe_fields_get(block_of(subject), subject->bits, slot),
                         subject->fields[slot]);
        assert_int_equal(subject->ends >> slot & 1, subject->end[slot]);
    }
}

/* The widths that have a way of their own take it here: it is chosen by a constant. */
static void insert(struct subject *subject, bool special, unsigned slot, unsigned used,
                   uint64_t value) {
    if (special && subject->bits == 8) {
        lethe_fields_insert(block_of(subject), 8, slot, used, value);
    } else if (special && subject->bits == 16) {
        lethe_fields_insert(block_of(subject), 16, slot, used, value);
    } else {
        lethe_fields_insert(block_of(subject), subject->bits, slot, used, value);
    }
    memmove(&subject->fields[slot + 1], &subject->fields[slot],
            (BLOCK - 1 - slot) * sizeof subject->fields[0]);
    subject->fields[slot] = value;
    subject->ends = lethe_fields_insert_bit(subject->ends, slot, value & 1);
    memmove(&subject->end[slot + 1], &subject->end[slot], BLOCK - 1 - slot);
    subject->end[slot] = value & 1;
}

static void drop(struct subject *subject, bool special, unsigned slot, uint64_t last) {
    if (special && subject->bits == 8) {
        lethe_fields_drop(block_of(subject), 8, slot, last);
    } else if (special && subject->bits == 16) {
        lethe_fields_drop(block_of(subject), 16, slot, last);
    } else {
        lethe_fields_drop(block_of(subject), subject->bits, slot, last);
    }
    memmove(&subject->fields[slot], &subject->fields[slot + 1],
            (BLOCK - 1 - slot) * sizeof subject->fields[0]);
    subject->fields[BLOCK - 1] = last;
    subject->ends = lethe_fields_drop_bit(subject->ends, slot, last & 1);
    memmove(&subject->end[slot], &subject->end[slot + 1], BLOCK - 1 - slot);
    subject->end[BLOCK - 1] = last & 1;
}

static void run_width(unsigned bits, bool special) {
    struct test_random random = {.state = bits};
    struct subject subject = {.bits = bits};
    memset(subject.bytes, 0xb0, BEFORE);
    memset(block_of(&subject) + 8 * bits, 0xaf, AFTER);
    unsigned used = 0;
    for (unsigned step = 0; step < 2000; step++) {
        uint64_t value = test_random_next(&random) & lethe_fields_below(bits);
        /* Filled up, then at random between empty and full, with fields falling out and coming
         * in. */
        if (used == 0 || step < 64 || test_random_below(&random, 2) == 0) {
            insert(&subject, special,
                   (unsigned)test_random_below(&random, used < 64 ? used + 1 : 64), used, value);
            if (used < 64) used++;
        } else {
            bool more = used == 64 && test_random_below(&random, 2) == 0;
            drop(&subject, special, (unsigned)test_random_below(&random, used), more ? value : 0);
            if (!more) used--;
        }
        check_all(&subject);
    }
}

static void every_width_is_an_array(void **state) {
    (void)state;
    for (unsigned bits = 1; bits <= LETHE_FIELDS_MAX_BITS; bits++) {
        run_width(bits, false);
        run_width(bits, true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_width_is_an_array)};
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
