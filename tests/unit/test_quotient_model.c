/* Goal: a quotient filter is exactly a multiset of fingerprints, whatever is done to it.
 * Method: random schedules of additions, removals, merges, doublings, halvings, copies, saving
 *         and loading, beside a sorted list of (fingerprint, count). After each step of note the
 *         whole filter is read through and compared, and checked against its own invariants. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "filter/quotient/quotient.h"
#include "support/random.h"
#include "support/reports.h"

/* The exact multiset, ascending. */
struct model {
    lethe_quotient_entry *entries;
    size_t size, room;
};

static size_t model_find(const struct model *model, uint64_t fingerprint) {
    size_t low = 0, high = model->size;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (model->entries[middle].fingerprint < fingerprint) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint64_t model_count(const struct model *model, uint64_t fingerprint) {
    size_t at = model_find(model, fingerprint);
    return at < model->size && model->entries[at].fingerprint == fingerprint
               ? model->entries[at].count
               : 0;
}

static void model_set(struct model *model, uint64_t fingerprint, uint64_t count) {
    size_t at = model_find(model, fingerprint);
    bool has = at < model->size && model->entries[at].fingerprint == fingerprint;
    if (has && count == 0) {
        memmove(&model->entries[at], &model->entries[at + 1],
                (--model->size - at) * sizeof model->entries[0]);
    } else if (has) {
        model->entries[at].count = count;
    } else if (count != 0) {
        if (model->size == model->room) {
            model->room = 2 * model->room + 64;
            model->entries = realloc(model->entries, model->room * sizeof model->entries[0]);
            assert_non_null(model->entries);
        }
        memmove(&model->entries[at + 1], &model->entries[at],
                (model->size++ - at) * sizeof model->entries[0]);
        model->entries[at] = (lethe_quotient_entry){fingerprint, count};
    }
}

static void check_sums(const lethe_quotient *filter, const struct model *model) {
    lethe_quotient_stats stats = quotient_stats(filter);
    uint64_t total = 0, slots = 0, counted = 0;
    for (size_t i = 0; i < model->size; i++) {
        total += model->entries[i].count;
        slots += model->entries[i].count == 1 ? 1 : 2;
        counted += model->entries[i].count > 2;
    }
    assert_int_equal(stats.distinct, model->size);
    assert_int_equal(stats.total, total);
    assert_int_equal(stats.slots_used, slots);
    assert_int_equal(stats.counted, counted);
}

/* Reads the filter through, in pieces of random length. */
static void check_all(const lethe_quotient *filter, const struct model *model,
                      struct test_random *random) {
    assert_true(lethe_quotient_is_sound(filter));
    check_sums(filter, model);
    uint64_t from =
        test_random_below(random, 2) == 0
            ? 0
            : lethe_quotient_fingerprint(filter, (lethe_hash){.high = test_random_next(random)});
    lethe_quotient_cursor cursor = lethe_quotient_seek(filter, from);
    size_t at = model_find(model, from), got, room;
    lethe_quotient_entry entries[300];
    do {
        room = 1 + test_random_below(random, 300);
        got = lethe_quotient_next(&cursor, entries, room);
        assert_true(got <= model->size - at);
        for (size_t i = 0; i < got; i++, at++) {
            assert_int_equal(entries[i].fingerprint, model->entries[at].fingerprint);
            assert_int_equal(entries[i].count, model->entries[at].count);
        }
    } while (got == room);
    assert_int_equal(at, model->size);
    for (int i = 0; i < 50; i++) {
        uint64_t fingerprint =
            lethe_quotient_fingerprint(filter, (lethe_hash){.high = test_random_next(random)});
        uint64_t count = model_count(model, fingerprint);
        assert_int_equal(lethe_quotient_count_fingerprint(filter, fingerprint), count);
        assert_int_equal(lethe_quotient_test_fingerprint(filter, fingerprint), count != 0);
    }
}

/* Fingerprints like a hash's, or crowded around a few places, or from a few. */
static uint64_t draw(const lethe_quotient *filter, struct test_random *random) {
    uint64_t fingerprint =
        lethe_quotient_fingerprint(filter, (lethe_hash){.high = test_random_next(random)});
    uint64_t kind = test_random_below(random, 16);
    if (kind == 0) return fingerprint & ~UINT64_C(0) << 3 << filter->table.bits / 2;
    if (kind == 1) {
        uint64_t near = filter->max_fingerprint - test_random_below(random, 64);
        return near > filter->max_fingerprint ? 0 : near;
    }
    if (kind == 2) return test_random_below(random, 64) & filter->max_fingerprint;
    return fingerprint;
}

static uint64_t draw_count(struct test_random *random) {
    uint64_t kind = test_random_below(random, 8);
    return kind < 6 ? 1 : kind == 6 ? 2 : 1 + test_random_below(random, 1000);
}

/* Adds one of the model's or a drawn fingerprint to both; LETHE_EFULL must leave all as it was. */
static void add(lethe_quotient *filter, struct model *model, struct test_random *random) {
    uint64_t fingerprint = model->size > 0 && test_random_below(random, 8) == 0
                               ? model->entries[test_random_below(random, model->size)].fingerprint
                               : draw(filter, random);
    uint64_t count = draw_count(random), before = model_count(model, fingerprint);
    lethe_status status = lethe_quotient_add_fingerprint(filter, fingerprint, count);
    assert_true(status == LETHE_OK || status == LETHE_EFULL);
    uint64_t after = status == LETHE_OK ? before + count : before;
    if (after != before) model_set(model, fingerprint, after);
    assert_int_equal(lethe_quotient_count_fingerprint(filter, fingerprint), after);
}

static void remove_some(lethe_quotient *filter, struct model *model, struct test_random *random) {
    uint64_t fingerprint = model->size > 0 && test_random_below(random, 8) != 0
                               ? model->entries[test_random_below(random, model->size)].fingerprint
                               : draw(filter, random);
    uint64_t before = model_count(model, fingerprint);
    uint64_t count = before > 1 && test_random_below(random, 2) == 0
                         ? 1 + test_random_below(random, before)
                         : draw_count(random);
    lethe_status status = lethe_quotient_remove_fingerprint(filter, fingerprint, count);
    assert_int_equal(status, count <= before ? LETHE_OK : LETHE_ENOTFOUND);
    if (status == LETHE_OK) model_set(model, fingerprint, before - count);
    assert_int_equal(lethe_quotient_count_fingerprint(filter, fingerprint),
                     model_count(model, fingerprint));
}

/* Adds a batch of drawn fingerprints, some of them more than once. */
static void add_batch(lethe_quotient *filter, struct model *model, struct test_random *random) {
    uint64_t fingerprints[200];
    uint8_t present[200], added[200];
    size_t count = test_random_below(random, 200), failed = 0;
    for (size_t i = 0; i < count; i++)
        fingerprints[i] =
            i > 0 && test_random_below(random, 8) == 0 ? fingerprints[i - 1] : draw(filter, random);
    lethe_status status = lethe_quotient_add_fingerprint_batch(filter, fingerprints, count, added);
    for (size_t i = 0; i < count; i++) {
        failed += added[i] == 0;
        if (added[i] == 1)
            model_set(model, fingerprints[i], model_count(model, fingerprints[i]) + 1);
    }
    assert_int_equal(status, failed == 0 ? LETHE_OK : LETHE_EFULL);
    lethe_quotient_test_fingerprint_batch(filter, fingerprints, count, present);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(present[i], model_count(model, fingerprints[i]) != 0);
}

/* Takes a few away into a second filter, of another number of slots, and merges it back, twice. */
static void merge_with_another(lethe_quotient **filter, struct model *model,
                               struct test_random *random) {
    lethe_quotient *other, *merged;
    lethe_quotient_shape shape = (*filter)->shape;
    assert_ok(lethe_quotient_new(&LETHE_OPTIONS(lethe_quotient_options, .slots = shape.slots,
                                                .remainder_bits = shape.remainder_bits),
                                 &other));
    if (test_random_below(random, 2) == 0 && shape.remainder_bits > 1)
        assert_ok(lethe_quotient_double(other));
    struct model more = {0};
    for (uint64_t i = test_random_below(random, 200); i > 0; i--)
        add(other, &more, random);
    const lethe_quotient *three[] = {*filter, other, other};
    lethe_status status = lethe_quotient_new_merged(three, 3, &merged);
    assert_true(status == LETHE_OK || status == LETHE_EFULL);
    if (status == LETHE_OK) {
        for (size_t i = 0; i < more.size; i++) {
            uint64_t fingerprint = more.entries[i].fingerprint;
            model_set(model, fingerprint,
                      model_count(model, fingerprint) + 2 * more.entries[i].count);
        }
        lethe_quotient_free(*filter);
        *filter = merged;
    }
    lethe_quotient_free(other);
    free(more.entries);
}

/* What is saved and loaded is saved as the same bytes again. */
static void reload(lethe_quotient **filter) {
    lethe_memory_writer first = {0}, second = {0};
    lethe_quotient *loaded;
    assert_ok(lethe_quotient_save(*filter, lethe_sink_to_memory(&first)));
    lethe_memory_reader reader = {.data = first.data, .size = first.size};
    assert_ok(lethe_quotient_load(lethe_source_from_memory(&reader), NULL, &loaded));
    assert_ok(lethe_quotient_save(loaded, lethe_sink_to_memory(&second)));
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    lethe_memory_writer_free(&first);
    lethe_memory_writer_free(&second);
    lethe_quotient_free(*filter);
    *filter = loaded;
}

static void replace_by_copy(lethe_quotient **filter) {
    lethe_quotient *copy;
    assert_ok(lethe_quotient_copy(*filter, &copy));
    lethe_quotient_free(*filter);
    *filter = copy;
}

static void resize(lethe_quotient *filter, struct test_random *random) {
    uint32_t bits = filter->shape.remainder_bits;
    if (test_random_below(random, 2) == 0) {
        lethe_status status = lethe_quotient_double(filter);
        assert_int_equal(status, bits == 1 ? LETHE_EINVAL : LETHE_OK);
    } else {
        bool odd = filter->table.blocks % 2 != 0 || bits == LETHE_QUOTIENT_MAX_REMAINDER_BITS;
        lethe_status status = lethe_quotient_halve(filter);
        assert_true(odd ? status == LETHE_EINVAL : status == LETHE_OK || status == LETHE_EFULL);
    }
}

static void run_schedule(lethe_quotient_options options, unsigned steps, uint64_t seed) {
    struct test_random random = {.state = seed};
    struct model model = {0};
    lethe_quotient *filter;
    assert_ok(lethe_quotient_new(&options, &filter));
    for (unsigned step = 0; step < steps; step++) {
        uint64_t kind = test_random_below(&random, 100);
        uint64_t some = test_random_below(&random, 100);
        if (kind < 50) {
            add_batch(filter, &model, &random);
        } else if (kind < 65) {
            for (; some > 0; some--)
                add(filter, &model, &random);
        } else if (kind < 85) {
            for (some *= 2; some > 0; some--)
                remove_some(filter, &model, &random);
        } else if (kind < 89) {
            merge_with_another(&filter, &model, &random);
        } else if (kind < 93) {
            resize(filter, &random);
        } else if (kind < 96) {
            reload(&filter);
        } else if (kind < 99) {
            replace_by_copy(&filter);
        } else if (kind == 99 && some == 0) {
            assert_ok(lethe_quotient_clear(filter));
            model.size = 0;
        }
        check_all(filter, &model, &random);
    }
    lethe_quotient_free(filter);
    free(model.entries);
}

static unsigned schedule_steps = 60;

static void any_shape_is_a_multiset(void **state) {
    (void)state;
    static const uint32_t widths[] = {1,  2,  3,  5,  7,  8,  9,  13, 15,
                                      16, 17, 24, 31, 32, 40, 55, 56, 57};
    static const uint64_t slots[] = {64, 128, 192, 1024, 4096};
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        for (size_t s = 0; s < sizeof slots / sizeof slots[0]; s++) {
            lethe_quotient_options options = LETHE_OPTIONS(
                lethe_quotient_options, .slots = slots[s], .remainder_bits = widths[w]);
            if (!lethe_quotient_is_valid_size(slots[s], widths[w])) continue;
            run_schedule(options, schedule_steps, 1000 * w + s);
            options.grow_to = 8 * slots[s];
            run_schedule(options, schedule_steps, 500 + 1000 * w + s);
        }
    }
}

/* The same on the path for any CPU. */
static void the_portable_path_as_well(void **state) {
    lethe_cpu_level level = lethe_cpu();
    lethe_cpu_force(LETHE_CPU_SCALAR);
    any_shape_is_a_multiset(state);
    lethe_cpu_force(level);
}

/* Goal: a million equal fingerprints are one entry, among others that come and go. */
static void millions_of_equal_keys_are_one_entry(void **state) {
    (void)state;
    lethe_quotient *filter;
    assert_ok(
        lethe_quotient_new(&LETHE_OPTIONS(lethe_quotient_options, .capacity = 1000), &filter));
    lethe_hash hashes[1000];
    for (size_t i = 0; i < 1000; i++)
        hashes[i] = lethe_hash_u64(lethe_quotient_seed(filter), i % 4 == 0 ? 7 : 8 + i % 2);
    for (int i = 0; i < 4000; i++)
        assert_ok(lethe_quotient_add_batch(filter, hashes, 1000, NULL));
    assert_int_equal(quotient_stats(filter).distinct, 3);
    assert_int_equal(quotient_stats(filter).total, 4000000);
    assert_int_equal(quotient_stats(filter).slots_used, 6);
    assert_int_equal(lethe_quotient_count_hash(filter, hashes[0]), 1000000);
    for (int i = 0; i < 3999; i++)
        assert_ok(lethe_quotient_remove_batch(filter, hashes, 1000, NULL));
    assert_int_equal(lethe_quotient_count_hash(filter, hashes[0]), 250);
    assert_ok(lethe_quotient_remove_batch(filter, hashes, 1000, NULL));
    assert_int_equal(quotient_stats(filter).total, 0);
    assert_int_equal(quotient_stats(filter).slots_used, 0);
    uint8_t removed[3] = {7, 7, 7};
    assert_int_equal(lethe_quotient_remove_batch(filter, hashes, 1, removed), LETHE_ENOTFOUND);
    assert_memory_equal(removed, ((uint8_t[]){0, 7, 7}), 3);
    assert_int_equal(quotient_stats(filter).missed_removals, 1);
    /* What is not there does not keep the batch from what follows it. */
    assert_ok(lethe_quotient_add_hash(filter, hashes[0], 1));
    const lethe_hash mixed[3] = {hashes[1], hashes[0], hashes[0]};
    assert_int_equal(lethe_quotient_remove_batch(filter, mixed, 3, removed), LETHE_ENOTFOUND);
    assert_memory_equal(removed, ((uint8_t[]){0, 1, 0}), 3);
    assert_int_equal(quotient_stats(filter).total, 0);
    lethe_quotient_free(filter);
}

/* Adds ones until there is room for just so many more entries. */
static void fill_up_to(lethe_quotient *filter, struct model *model, uint64_t room,
                       struct test_random *random) {
    while (filter->slots_used + room < filter->limit) {
        uint64_t fingerprint =
            lethe_quotient_fingerprint(filter, (lethe_hash){.high = test_random_next(random)});
        if (model_count(model, fingerprint) != 0) continue;
        assert_ok(lethe_quotient_add_fingerprint(filter, fingerprint, 1));
        model_set(model, fingerprint, 1);
    }
}

/* Goal:   a count is kept when its own addition doubles the filter.
 * Method: filters without a single count beside it, or with one, with 0 to 3 free slots, get
 *         a new fingerprint or one of theirs any number of times; each is read through, saved,
 *         loaded and read again. */
static void counts_survive_the_doubling_they_cause(void **state) {
    (void)state;
    static const uint64_t counts[] = {1, 2, 3, 4, 100, UINT64_MAX / 2};
    enum { COUNTS = sizeof counts / sizeof counts[0], VARIANTS = 4 * COUNTS * 2 * 2 };
    for (uint64_t variant = 0; variant < VARIANTS; variant++) {
        struct test_random random = {.state = variant};
        struct model model = {0};
        lethe_quotient *filter;
        assert_ok(lethe_quotient_new(&LETHE_OPTIONS(lethe_quotient_options, .slots = 256,
                                                    .remainder_bits = 20, .grow_to = 100000),
                                     &filter));
        bool is_known = variant & 1, has_counts = variant >> 1 & 1;
        if (has_counts) {
            assert_ok(lethe_quotient_add_fingerprint(filter, 12345, 7));
            model_set(&model, 12345, 7);
        }
        fill_up_to(filter, &model, variant / 4 % 4, &random);
        uint64_t count = counts[variant / 16];
        uint64_t fingerprint = is_known ? model.entries[model.size / 2].fingerprint : 54321;
        assert_ok(lethe_quotient_add_fingerprint(filter, fingerprint, count));
        model_set(&model, fingerprint, model_count(&model, fingerprint) + count);
        check_all(filter, &model, &random);
        reload(&filter);
        check_all(filter, &model, &random);
        assert_ok(lethe_quotient_remove_fingerprint(filter, fingerprint, count));
        lethe_quotient_free(filter);
        free(model.entries);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) schedule_steps = (unsigned)strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_is_a_multiset),
        cmocka_unit_test(the_portable_path_as_well),
        cmocka_unit_test(counts_survive_the_doubling_they_cause),
        cmocka_unit_test(millions_of_equal_keys_are_one_entry),
    };
    return cmocka_run_group_tests_name("quotient_model", tests, NULL, NULL);
}
