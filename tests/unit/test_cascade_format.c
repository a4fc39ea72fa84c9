/* Goal: a cascade's pages, records and manifest are read back for ever, and nothing else is read as
 *       one.
 * Method: golden bytes; random pages against arrays; every bit of a manifest flipped; counts and
 *         lengths at their ends; a table made in memory that holds words. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "filter/cascade/log.h"
#include "filter/cascade/manifest.h"
#include "filter/cascade/page.h"
#include "filter/cascade/table.h"
#include "support/golden.h"
#include "support/random.h"

enum { PAGE = LETHE_CASCADE_PAGE_BYTES, MOST = LETHE_CASCADE_PAGE_ENTRIES };

static struct lethe_cascade_page_builder builder;
static unsigned char bytes[PAGE];
static uint64_t numbers[MOST], read_numbers[MOST];
static struct lethe_cascade_value values[MOST], read_values[MOST];
static uint16_t which[MOST];

/* Fills a page with numbers about gap apart, one in value_share with a value; returns how many
 * it took. */
static unsigned fill_page(struct test_random *random, unsigned low_bits, uint64_t gap,
                          unsigned value_share) {
    lethe_cascade_page_begin(&builder, low_bits);
    uint64_t number = test_random_next(random) >> 2;
    unsigned count = 0;
    for (; count < MOST; count++) {
        numbers[count] = number;
        values[count] = (struct lethe_cascade_value){.added = 1};
        bool fits;
        if (value_share > 0 && test_random_below(random, value_share) == 0) {
            uint64_t shift = test_random_below(random, 64 * 64);
            values[count].removed = test_random_next(random) >> shift % 64;
            values[count].added = test_random_next(random) >> shift / 64;
            if (lethe_cascade_value_is_one(values[count])) values[count].added = 2;
            fits = lethe_cascade_page_add_value(&builder, number, values[count]);
        } else {
            fits = lethe_cascade_page_add(&builder, &number, 1) == 1;
        }
        if (!fits) break;
        number += 1 + test_random_below(random, 2 * gap);
    }
    return count;
}

/* Looks for number i and for the one after it, from a place on. */
static void find(const struct lethe_cascade_page *page, struct lethe_cascade_page_place *from,
                 unsigned i, unsigned count) {
    uint64_t number;
    struct lethe_cascade_value value;
    assert_true(lethe_cascade_page_find(page, from, numbers[i], &number, &value));
    assert_int_equal(number, numbers[i]);
    assert_memory_equal(&value, &values[i], sizeof value);
    bool has_next = i + 1 < count;
    assert_int_equal(lethe_cascade_page_find(page, from, numbers[i] + 1, &number, &value),
                     has_next);
    if (has_next) assert_int_equal(number, numbers[i + 1]);
}

static void check_page(unsigned count) {
    struct lethe_cascade_page page;
    lethe_cascade_page_end(&builder, 9, bytes);
    assert_int_equal(lethe_cascade_page_open(bytes, 8, &page), LETHE_ECORRUPT);
    assert_ok(lethe_cascade_page_open(bytes, 9, &page));
    assert_int_equal(page.count, count);
    assert_ok(lethe_cascade_page_read(&page, read_numbers, which, read_values));
    assert_memory_equal(read_numbers, numbers, count * sizeof *numbers);
    unsigned extra = 0;
    struct lethe_cascade_page_place from = {0};
    for (unsigned i = 0; i < count; i++) {
        if (!lethe_cascade_value_is_one(values[i])) {
            assert_int_equal(which[extra], i);
            assert_memory_equal(&read_values[extra], &values[i], sizeof *values);
            extra++;
        }
        find(&page, &(struct lethe_cascade_page_place){0}, i, count);
        find(&page, &from, i, count);
    }
    /* One place may pass over many numbers, and past the last. */
    for (unsigned step = 2; step < count; step = 2 * step + 1) {
        struct lethe_cascade_page_place place = {0};
        for (unsigned i = step - 1; i < count; i += step)
            find(&page, &place, i, count);
        uint64_t number;
        struct lethe_cascade_value value;
        for (int i = 0; i < 2; i++)
            assert_false(lethe_cascade_page_find(&page, &place, UINT64_MAX, &number, &value));
    }
    assert_int_equal(extra, page.extra_count);
}

static void pages_hold_what_they_took(void **state) {
    (void)state;
    struct test_random random = {.state = 1};
    for (unsigned low_bits = 0; low_bits <= LETHE_CASCADE_MAX_LOW_BITS;
         low_bits += 1 + low_bits / 8) {
        for (unsigned share = 0; share < 4; share++) {
            uint64_t gap = UINT64_C(1) << (low_bits < 40 ? low_bits : 40);
            unsigned count = fill_page(&random, low_bits, gap, share * share * 3);
            assert_true(count > 50);
            check_page(count);
        }
        check_page(fill_page(&random, low_bits, 1, 0));
    }
    /* A number so far away that it has no place in the page. */
    lethe_cascade_page_begin(&builder, 4);
    uint64_t pair[] = {5, UINT64_C(1) << 61};
    assert_int_equal(lethe_cascade_page_add(&builder, pair, 2), 1);
}

static void make_manifest(struct lethe_cascade_manifest *manifest) {
    memset(manifest, 0, sizeof *manifest);
    lethe_cascade_options options =
        LETHE_OPTIONS(lethe_cascade_options, .capacity = 1000000, .error = 0.001,
                      .memory_bytes = 1 << 20, .window_ms = 100000);
    assert_ok(lethe_cascade_plan_shape(&options, &manifest->shape));
    manifest->shape.identity = UINT64_C(0x0123456789abcdef);
    manifest->next_run_id = 9;
    manifest->end_key = 5000;
    manifest->clock_ms = 1000000;
    manifest->sequence = 77;
    manifest->note_bytes = 5;
    memcpy(manifest->note, "noted", 5);
    manifest->ranges[1].covered_key = 4000;
    manifest->ranges[1].run_count = 2;
    manifest->ranges[1].runs[0] = (struct lethe_cascade_run_facts){.id = 8,
                                                                   .level = 1,
                                                                   .age_bits = 1,
                                                                   .entries = 100,
                                                                   .pages = 1,
                                                                   .first_period = 39,
                                                                   .last_period = 40};
    manifest->ranges[1].runs[1] = (struct lethe_cascade_run_facts){.id = 3,
                                                                   .level = 2,
                                                                   .age_bits = 2,
                                                                   .entries = 9000,
                                                                   .pages = 8,
                                                                   .first_period = 36,
                                                                   .last_period = 39};
}

static lethe_status load(const void *data, size_t size, struct lethe_cascade_manifest *out) {
    lethe_memory_reader reader = {.data = data, .size = size};
    return lethe_cascade_manifest_load(lethe_source_from_memory(&reader), out);
}

static void the_bytes_are_golden(void **state) {
    (void)state;
    struct test_random random = {.state = 3};
    unsigned count = fill_page(&random, 12, 4096, 50);
    check_page(count);
    golden_check("cascade-page-v1.bin", bytes, sizeof bytes);

    static struct lethe_cascade_record record = {
        .first_key = 1000, .now_ms = 5, .count = 100, .removes = true};
    static struct lethe_cascade_record again;
    static unsigned char encoded[33000];
    for (uint32_t i = 0; i < record.count; i++)
        record.fingerprints[i] = test_random_next(&random) >> 22;
    size_t size = lethe_cascade_record_encode(&record, 6, 11, encoded);
    golden_check("cascade-record-v1.bin", encoded, size);
    assert_int_equal(lethe_cascade_record_decode(encoded, size, 6, 11, &again), size);
    assert_memory_equal(&again, &record, sizeof record);
    assert_int_equal(lethe_cascade_record_decode(encoded, size, 6, 12, &again), 0);
    assert_int_equal(lethe_cascade_record_decode(encoded, size, 5, 11, &again), 0);
    assert_int_equal(lethe_cascade_record_decode(encoded, size - 1, 6, 11, &again), 0);

    static struct lethe_cascade_manifest manifest, loaded;
    make_manifest(&manifest);
    lethe_memory_writer writer = {0};
    assert_ok(lethe_cascade_manifest_save(&manifest, lethe_sink_to_memory(&writer)));
    golden_check("cascade-manifest-v1.bin", writer.data, writer.size);
    assert_ok(load(writer.data, writer.size, &loaded));
    assert_memory_equal(&loaded, &manifest, sizeof manifest);
    for (size_t i = 0; i < writer.size * 8; i++) {
        ((unsigned char *)writer.data)[i / 8] ^= (unsigned char)(1 << i % 8);
        assert_int_not_equal(load(writer.data, writer.size, &loaded), LETHE_OK);
        ((unsigned char *)writer.data)[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    for (size_t i = 0; i < writer.size; i++)
        assert_int_not_equal(load(writer.data, i, &loaded), LETHE_OK);
    lethe_memory_writer_free(&writer);
}

/* Method: a manifest with a right checksum that makes no sense. */
static void senseless_manifests_are_refused(void **state) {
    (void)state;
    static struct lethe_cascade_manifest manifest, loaded;
    for (int i = 0; i < 14; i++) {
        make_manifest(&manifest);
        manifest.is_exact = true;
        struct lethe_cascade_run_facts *run = &manifest.ranges[1].runs[0];
        switch (i) {
        case 0:
            run->id = 9;
            break;
        case 1:
            run->id = 3;
            break;
        case 2:
            run->level = 0;
            break;
        case 3:
            run->level = LETHE_CASCADE_LEVELS;
            break;
        case 4:
            run->pages = 0;
            break;
        case 5:
            run->pages = 101;
            break;
        case 6:
            run->entries = UINT64_MAX;
            break;
        case 7:
            run->tombstones = 1;
            break;
        case 8:
            run->age_bits = 9;
            break;
        case 9:
            run->last_period = 41;
            break;
        case 10:
            run->first_period = 41;
            break;
        case 11:
            manifest.ranges[0].covered_key = UINT64_MAX;
            manifest.is_exact = false;
            break;
        case 12:
            manifest.ranges[0].covered_key = 5001;
            break;
        default:
            manifest.shape.fingerprint_bits = 56;
            break;
        }
        lethe_memory_writer writer = {0};
        assert_ok(lethe_cascade_manifest_save(&manifest, lethe_sink_to_memory(&writer)));
        assert_int_equal(load(writer.data, writer.size, &loaded), LETHE_ECORRUPT);
        lethe_memory_writer_free(&writer);
    }
}

/* Goal: what earlier versions wrote wrongly, and what can't be misunderstood, is mended. */
static void mistakes_of_earlier_versions_are_mended(void **state) {
    (void)state;
    static struct lethe_cascade_manifest manifest, loaded;
    make_manifest(&manifest);
    manifest.ranges[0].covered_key = 5001; /* the end was noted before a record was counted */
    manifest.ranges[1].runs[0].level = 3;  /* a merge of newer runs overtook one of older ones */
    lethe_memory_writer writer = {0};
    assert_ok(lethe_cascade_manifest_save(&manifest, lethe_sink_to_memory(&writer)));
    assert_ok(load(writer.data, writer.size, &loaded));
    manifest.end_key = 5001;
    manifest.ranges[1].runs[1].level = 3;
    assert_memory_equal(&loaded, &manifest, sizeof manifest);
    lethe_memory_writer_free(&writer);
}

/* Goal: composing what runs say of a key in any grouping is what happened to it.
 * Method: random histories cut in two places, against counting. */
static void values_compose(void **state) {
    (void)state;
    struct test_random random = {.state = 4};
    for (int i = 0; i < 20000; i++) {
        struct lethe_cascade_value parts[3] = {{0}};
        uint64_t start = test_random_below(&random, 5), exact = start;
        for (int part = 0; part < 3; part++) {
            for (uint64_t step = test_random_below(&random, 6); step > 0; step--) {
                bool removes = test_random_below(&random, 2) == 0;
                struct lethe_cascade_value change = {.removed = removes, .added = !removes};
                parts[part] = lethe_cascade_compose(change, parts[part]);
                exact = removes ? exact - (exact > 0) : exact + 1;
            }
        }
        struct lethe_cascade_value first = {.added = start};
        struct lethe_cascade_value left = lethe_cascade_compose(
            parts[2], lethe_cascade_compose(parts[1], lethe_cascade_compose(parts[0], first)));
        struct lethe_cascade_value right = lethe_cascade_compose(
            lethe_cascade_compose(lethe_cascade_compose(parts[2], parts[1]), parts[0]), first);
        assert_int_equal(left.added, exact);
        assert_int_equal(right.added, exact);
        assert_int_equal(left.removed, right.removed);
    }
}

/* Memory that a table is made in is not touched before the first word, so it may hold anything. */
static void a_table_reads_no_slots_before_its_first_word(void **state) {
    (void)state;
    enum { HOMES = 64, BITS = 40 };
    uint64_t slots = lethe_cascade_table_slots(HOMES), at = 0, tag, word = 2;
    uint64_t *memory = malloc(slots * sizeof *memory);
    assert_non_null(memory);
    for (uint64_t i = 0; i < slots; i++)
        memory[i] = i << (BITS - 6); /* words, most of them at home */
    struct lethe_cascade_words words = {.bits = BITS, .tag_bits = LETHE_CASCADE_VALUE_TAG_BITS};
    struct lethe_cascade_table table;
    struct lethe_cascade_value value;
    size_t value_count;
    lethe_cascade_table_init(&table, words, HOMES, memory, NULL);
    for (uint64_t i = 0; i < HOMES; i++)
        assert_false(lethe_cascade_table_find(&table, i << (BITS - 6), &tag, &value));
    assert_int_equal(
        lethe_cascade_table_read(&table, &at, read_numbers, read_values, MOST, &value_count), 0);
    assert_int_equal(lethe_cascade_table_apply(&table, word, false), LETHE_OK);
    assert_true(lethe_cascade_table_find(&table, word, &tag, &value));
    at = 0;
    assert_int_equal(
        lethe_cascade_table_read(&table, &at, read_numbers, read_values, MOST, &value_count), 1);
    assert_int_equal(read_numbers[0], word);
    lethe_cascade_table_drop(&table);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_hold_what_they_took),
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(senseless_manifests_are_refused),
        cmocka_unit_test(mistakes_of_earlier_versions_are_mended),
        cmocka_unit_test(values_compose),
        cmocka_unit_test(a_table_reads_no_slots_before_its_first_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
