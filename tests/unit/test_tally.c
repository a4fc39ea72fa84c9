/* Goal:   a tally finds every record that was added and no other, whatever tags and keys have in
 *         common, while it grows, and after some were dropped.
 * Method: random additions and searches against an array. Tags are few and lie together, also at
 *         the table's end, so that runs of slots are long, cross cache lines and go around it; keys
 *         of one tag are many, of lengths on both sides of those that are compared quickly. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/values/tally.h"
#include "support/random.h"

enum { KEYS = 9000, LONGEST = 24, ROOM_BYTES = 8 };

/* How tags are spread: all alike, a few, some at the end of the table, all over it. */
enum { ALIKE, FEW, AT_THE_END, ANY, SPREADS };

static struct {
    char key[LONGEST];
    size_t size;
    uint32_t tag;
    lethe_tally_record *record;
    int64_t value;
} model[KEYS];

static uint32_t draw_tag(struct test_random *random, unsigned spread) {
    uint64_t drawn = test_random_next(random);
    if (spread == ALIKE) return 0;
    if (spread == FEW) return (uint32_t)(drawn % 40) << 27 | (uint32_t)(drawn >> 32) % 3;
    if (spread == AT_THE_END) return UINT32_MAX - (uint32_t)(drawn % 1000);
    return (uint32_t)drawn;
}

static void draw_keys(struct test_random *random, unsigned spread, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        model[i].tag = draw_tag(random, spread);
        model[i].size = 4 + test_random_below(random, LONGEST - 4);
        memset(model[i].key, 'k', LONGEST);
        memcpy(model[i].key, &i, sizeof i);
        model[i].record = NULL;
        model[i].value = 0;
    }
}

static lethe_bytes key_of(unsigned i) {
    return (lethe_bytes){.data = model[i].key, .size = model[i].size};
}

static void expect(const lethe_tally *tally, unsigned i) {
    lethe_tally_prefetch_slot(tally, model[i].tag);
    const lethe_tally_record *ahead =
        lethe_tally_prefetch_record(tally, model[i].tag, model[i].size);
    const lethe_tally_record *found = lethe_tally_find(tally, model[i].tag, key_of(i));
    assert_ptr_equal(found, model[i].record);
    if (found == NULL) return;
    assert_non_null(ahead);
    assert_int_equal(found->value, model[i].value);
}

static void add(lethe_tally *tally, struct test_random *random, unsigned i) {
    model[i].record = lethe_tally_add(tally, model[i].tag, key_of(i));
    assert_non_null(model[i].record);
    model[i].record->value = model[i].value = (int64_t)test_random_next(random);
}

static bool is_odd(const void *context, const lethe_tally_record *record) {
    (void)context;
    return (record->value & 1) != 0;
}

static uint32_t tag_of(const void *context, lethe_bytes key) {
    (void)context;
    unsigned i;
    memcpy(&i, key.data, sizeof i);
    return model[i].tag;
}

/* Where the others went is found by searching. */
static void drop_even(lethe_tally *tally, unsigned count) {
    assert_ok(lethe_tally_keep(tally, &(lethe_tally_filter){.stays = is_odd, .tag = tag_of}));
    for (unsigned i = 0; i < count; i++) {
        bool stays = model[i].record != NULL && (model[i].value & 1) != 0;
        model[i].record = lethe_tally_find(tally, model[i].tag, key_of(i));
        assert_int_equal(model[i].record != NULL, stays);
        expect(tally, i);
    }
}

static void try_seed(uint64_t seed) {
    struct test_random random = {.state = seed};
    unsigned spread = seed % SPREADS;
    unsigned count = spread == ALIKE ? 300 : spread == ANY ? KEYS : 1500;
    lethe_tally *tally;
    assert_ok(lethe_tally_new(NULL, seed % 2 == 0 ? 0 : ROOM_BYTES, &tally));
    draw_keys(&random, spread, count);
    for (unsigned step = 0; step < 4 * count; step++) {
        unsigned i = (unsigned)test_random_below(&random, count);
        expect(tally, i);
        if (model[i].record == NULL) add(tally, &random, i);
        if (step == 2 * count) drop_even(tally, count);
    }
    for (unsigned i = 0; i < count; i++)
        expect(tally, i);
    lethe_tally_free(tally);
}

static void a_tally_is_a_map(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++)
        try_seed(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_tally_is_a_map)};
    return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
