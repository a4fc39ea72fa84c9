/* Goal: every kind of slot, spacing and instruction set does what Definition 2 of the paper
 *       says, slot by slot. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "filter/bloom/probe.h"
#include "filter/gaussian/bell.h"
#include "lethe/gaussian.h"
#include "support/random.h"
#include "support/reports.h"

static const uint32_t slot_types[] = {1, 2, 3, 4, 5, 6, 7, 8, 32, 64};
enum { TYPES = sizeof slot_types / sizeof slot_types[0], KEYS = 120, ABSENT = 400 };

/* The definition: m numbers, every one of them looked at for every hash function of every key. */
struct model {
    double *slots;
    uint64_t count;
    struct lethe_gaussian_rule rule;
};

static struct model model_make(const lethe_gaussian_shape *shape) {
    struct model model = {.count = shape->slots,
                          .rule = {.hashes = shape->hashes,
                                   .slot_bits = shape->slot_bits,
                                   .spacing = shape->spacing,
                                   .exponential = shape->exponential,
                                   .deviation_cap = shape->deviation_cap}};
    model.slots = calloc(shape->slots, sizeof *model.slots);
    return model;
}

/* Whether no slot is below the key's signature; raises the slots to it if adds. */
static bool model_visit(struct model *model, lethe_hash hash, bool adds) {
    bool found = true;
    for (uint32_t i = 1; i <= model->rule.hashes; i++) {
        uint64_t middle = lethe_bloom_next_position(&hash.low, hash.high, model->count);
        for (uint64_t slot = 0; slot < model->count; slot++) {
            uint64_t distance = slot > middle ? slot - middle : middle - slot;
            if (distance > LETHE_GAUSSIAN_MAX_RADIUS) continue;
            double level = lethe_gaussian_level(&model->rule, i, (uint32_t)distance);
            if (model->slots[slot] >= level) continue;
            found = false;
            if (adds) model->slots[slot] = level;
        }
    }
    return found;
}

static void check_slots(const struct model *model, const lethe_gaussian *filter) {
    double top = lethe_gaussian_top(model->rule.slot_bits);
    for (uint64_t slot = 0; slot < model->count; slot++)
        assert_true(lethe_gaussian_slot(filter, slot) == model->slots[slot] / top);
}

static void draw(struct test_random *random, lethe_hash *hashes, size_t count) {
    for (size_t i = 0; i < count; i++)
        hashes[i] = (lethe_hash){test_random_next(random), test_random_next(random)};
}

/* Adds by every way of adding, then asks by every way of asking. */
static void follow_model(const lethe_gaussian_options *options, struct test_random *random) {
    lethe_gaussian *filter;
    assert_ok(lethe_gaussian_new(options, &filter));
    lethe_gaussian_shape shape = gaussian_shape(filter);
    struct model model = model_make(&shape);
    lethe_hash keys[KEYS], absent[ABSENT];
    uint8_t present[ABSENT];
    size_t count = 1 + test_random_below(random, KEYS), half = count / 2, quarter = count / 4;
    draw(random, keys, count);
    draw(random, absent, ABSENT);
    for (size_t i = 0; i < quarter; i++) {
        model_visit(&model, keys[i], true);
        lethe_gaussian_add_hash(filter, keys[i]);
    }
    for (size_t i = quarter; i < half; i++)
        assert_int_equal(lethe_gaussian_add_and_test_hash(filter, keys[i]),
                         model_visit(&model, keys[i], true));
    lethe_gaussian_add_batch(filter, keys + half, quarter);
    for (size_t i = half; i < half + quarter; i++)
        model_visit(&model, keys[i], true);
    size_t rest = count - half - quarter;
    lethe_gaussian_add_and_test_batch(filter, keys + half + quarter, rest, present);
    for (size_t i = 0; i < rest; i++)
        assert_int_equal(present[i], model_visit(&model, keys[half + quarter + i], true));
    check_slots(&model, filter);

    for (size_t i = 0; i < count; i++)
        assert_true(lethe_gaussian_test_hash(filter, keys[i]));
    lethe_gaussian_test_batch(filter, absent, ABSENT, present);
    for (size_t i = 0; i < ABSENT; i++) {
        bool expected = model_visit(&model, absent[i], false);
        assert_int_equal(present[i], expected);
        assert_int_equal(lethe_gaussian_test_hash(filter, absent[i]), expected);
    }
    assert_int_equal(gaussian_stats(filter).additions, count);
    free(model.slots);
    lethe_gaussian_free(filter);
}

static uint64_t smallest_size(lethe_gaussian_options options) {
    options.slots = 1000;
    lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
    assert_ok(lethe_gaussian_plan(&options, &shape));
    return 2 * shape.radius + 1;
}

static void all_kinds_follow_the_model(void **state) {
    (void)state;
    static const uint32_t numbers[] = {1, 2, 3, 5, 8, 12, 64};
    struct test_random random = {11};
    for (int level = 0; level <= (int)lethe_cpu_detect(); level++) {
        lethe_cpu_force((lethe_cpu_level)level);
        for (size_t type = 0; type < TYPES; type++) {
            for (int choice = 0; choice < 8; choice += TEST_SIZED(1, 3)) {
                for (size_t n = 0; n < 7; n++) {
                    lethe_gaussian_options options = LETHE_OPTIONS(
                        lethe_gaussian_options, .hashes = numbers[n], .slot_bits = slot_types[type],
                        .spacing = (lethe_gaussian_spacing)(choice % 2),
                        .exponential = (lethe_gaussian_exponential)(choice / 2 % 2),
                        .deviation_cap = choice / 4 == 0 ? 0 : 2.7);
                    uint64_t least = smallest_size(options);
                    options.slots = least + test_random_below(&random, n % 2 == 0 ? 3 : 200);
                    follow_model(&options, &random);
                }
            }
        }
    }
    lethe_cpu_force(lethe_cpu_detect());
}

/* Goal: all instruction sets leave the same bytes.
 * Method: the saved files of the same keys. */
static void all_paths_save_the_same_bytes(void **state) {
    (void)state;
    for (size_t type = 0; type < TYPES; type++) {
        for (int spacing = 0; spacing < 2; spacing++) {
            lethe_memory_writer first = {0};
            for (int level = 0; level <= (int)lethe_cpu_detect(); level++) {
                lethe_cpu_force((lethe_cpu_level)level);
                lethe_gaussian_options options = LETHE_OPTIONS(
                    lethe_gaussian_options, .slots = 9973, .hashes = 9,
                    .slot_bits = slot_types[type], .spacing = (lethe_gaussian_spacing)spacing);
                lethe_gaussian *filter;
                assert_ok(lethe_gaussian_new(&options, &filter));
                for (uint64_t i = 0; i < 500; i++)
                    lethe_gaussian_add_hash(filter, lethe_hash_u64(3, i));
                lethe_memory_writer writer = {0};
                assert_ok(lethe_gaussian_save(filter, lethe_sink_to_memory(&writer)));
                lethe_gaussian_free(filter);
                if (level == 0) {
                    first = writer;
                    continue;
                }
                assert_int_equal(writer.size, first.size);
                assert_memory_equal(writer.data, first.data, first.size);
                lethe_memory_writer_free(&writer);
            }
            lethe_memory_writer_free(&first);
        }
    }
    lethe_cpu_force(lethe_cpu_detect());
}

/* Goal: a union is what adding the keys of both gives, also for filters of every odd length. */
static void a_union_is_as_if_added(void **state) {
    (void)state;
    struct test_random random = {12};
    for (size_t type = 0; type < TYPES; type++) {
        for (uint64_t slots = 101; slots < 175; slots++) {
            lethe_gaussian_options options = LETHE_OPTIONS(
                lethe_gaussian_options, .slots = slots, .hashes = 4, .slot_bits = slot_types[type]);
            lethe_gaussian *a, *b, *both;
            assert_ok(lethe_gaussian_new(&options, &a));
            assert_ok(lethe_gaussian_new(&options, &b));
            assert_ok(lethe_gaussian_new(&options, &both));
            for (int i = 0; i < 20; i++) {
                lethe_hash hash;
                draw(&random, &hash, 1);
                lethe_gaussian_add_hash(i % 2 == 0 ? a : b, hash);
                lethe_gaussian_add_hash(both, hash);
            }
            assert_ok(lethe_gaussian_merge(a, b));
            for (uint64_t slot = 0; slot < slots; slot++)
                assert_true(lethe_gaussian_slot(a, slot) == lethe_gaussian_slot(both, slot));
            assert_int_equal(gaussian_stats(a).additions, 20);

            lethe_gaussian *copy;
            assert_ok(lethe_gaussian_copy(a, &copy));
            lethe_gaussian_clear(a);
            assert_int_equal(gaussian_stats(a).slots_full, 0);
            assert_int_equal(gaussian_stats(a).additions, 0);
            assert_ok(lethe_gaussian_merge(a, copy));
            for (uint64_t slot = 0; slot < slots; slot++)
                assert_true(lethe_gaussian_slot(a, slot) == lethe_gaussian_slot(both, slot));
            lethe_gaussian_free(copy);
            lethe_gaussian_free(a);
            lethe_gaussian_free(b);
            lethe_gaussian_free(both);
        }
    }
}

static void what_differs_is_not_united(void **state) {
    (void)state;
    const lethe_gaussian_options options[] = {
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 500, .hashes = 5),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 501, .hashes = 5),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 500, .hashes = 4),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 500, .hashes = 5, .slot_bits = 3),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 500, .hashes = 5, .seed = 9),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 500, .hashes = 5,
                      .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 500, .hashes = 5, .deviation_cap = 1),
    };
    lethe_gaussian *filters[7];
    for (size_t i = 0; i < 7; i++) {
        assert_ok(lethe_gaussian_new(&options[i], &filters[i]));
        lethe_gaussian_add(filters[i], "key", 3);
    }
    for (size_t i = 0; i < 7; i++) {
        for (size_t j = 0; j < 7; j++) {
            lethe_status expected = i == j ? LETHE_OK : LETHE_EMISMATCH;
            assert_int_equal(lethe_gaussian_merge(filters[i], filters[j]), expected);
        }
    }
    for (size_t i = 0; i < 7; i++)
        lethe_gaussian_free(filters[i]);
}

/* Goal: info counts what is, and its error is the rate that fresh keys meet. */
static void info_tells_the_truth(void **state) {
    (void)state;
    for (size_t type = 0; type < TYPES; type++) {
        lethe_gaussian *filter;
        lethe_gaussian_options options = LETHE_OPTIONS(lethe_gaussian_options, .slots = 2000,
                                                       .hashes = 3, .slot_bits = slot_types[type]);
        assert_ok(lethe_gaussian_new(&options, &filter));
        for (uint64_t i = 0; i < 400; i++)
            lethe_gaussian_add_hash(filter, lethe_hash_u64(5, i));
        lethe_gaussian_stats stats = gaussian_stats(filter);
        uint64_t full = 0, passed = 0, asked = 400000;
        for (uint64_t slot = 0; slot < 2000; slot++)
            full += lethe_gaussian_slot(filter, slot) == 1;
        assert_int_equal(stats.slots_full, full);
        assert_true(fabs(stats.distinct_estimate - 400) < 40);
        for (uint64_t i = 0; i < asked; i++)
            passed += lethe_gaussian_test_hash(filter, lethe_hash_u64(6, i));
        double rate = (double)passed / (double)asked, deviation = sqrt(rate / (double)asked);
        print_message("%u bits: %.5f estimated, %.5f measured, %.5f as a Bloom filter\n",
                      slot_types[type], stats.error_estimate, rate, stats.bloom_error);
        assert_true(fabs(rate - stats.error_estimate) < 4.5 * deviation);
        assert_true(stats.error_estimate <= stats.bloom_error);
        lethe_gaussian_free(filter);
    }
}

/* Goal:   a sample comes near to what info counts, and is info itself when it has all slots.
 * Method: a filter at half load, of a sixteenth of whose slots is looked at, with fixed seeds. */
static void samples_come_near(void **state) {
    (void)state;
    enum { SLOTS = 1 << 18 };
    for (size_t type = 0; type < TYPES; type++) {
        lethe_gaussian *filter;
        lethe_gaussian_options options = LETHE_OPTIONS(lethe_gaussian_options, .slots = SLOTS,
                                                       .hashes = 3, .slot_bits = slot_types[type]);
        assert_ok(lethe_gaussian_new(&options, &filter));
        for (uint64_t i = 0; i < SLOTS / 6; i++)
            lethe_gaussian_add_hash(filter, lethe_hash_u64(5, i));
        lethe_gaussian_stats all = gaussian_stats(filter);
        lethe_gaussian_stats most = gaussian_estimate(filter, UINT64_C(24) * SLOTS);
        lethe_gaussian_stats few = gaussian_estimate(filter, SLOTS / 16);
        assert_int_equal(all.slots_full, most.slots_full);
        assert_true(all.fill == most.fill && all.error_estimate == most.error_estimate);
        print_message("%u bits: error %.5f, by a sample %.5f; fill %.4f, %.4f\n", slot_types[type],
                      all.error_estimate, few.error_estimate, all.fill, few.fill);
        assert_true(fabs(few.fill - all.fill) < 0.02 * all.fill);
        assert_true(fabs(few.distinct_estimate - all.distinct_estimate) < SLOTS / 6 * 0.03);
        assert_true(fabs(few.error_estimate - all.error_estimate) < 0.3 * all.error_estimate);
        assert_true(few.error_estimate <= few.bloom_error);
        for (uint64_t slots = 0; slots < 3; slots++)
            assert_true(gaussian_estimate(filter, slots).fill <= 1);
        lethe_gaussian_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_follow_the_model),
        cmocka_unit_test(all_paths_save_the_same_bytes),
        cmocka_unit_test(a_union_is_as_if_added),
        cmocka_unit_test(what_differs_is_not_united),
        cmocka_unit_test(info_tells_the_truth),
        cmocka_unit_test(samples_come_near),
    };
    return cmocka_run_group_tests_name("gaussian_model", tests, NULL, NULL);
}
