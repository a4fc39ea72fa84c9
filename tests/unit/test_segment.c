/* Goal:   the log's records are read back as they were written, their bytes never change, and no
 *         bytes that are not theirs are believed or harm the reader.
 * Method: round trips at the edges of every number; golden files; each byte of a segment
 *         altered, cut off and added to: either an error, or a segment that keeps all rules. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "engine/log/segment.h"
#include "support/golden.h"
#include "support/random.h"

static lethe_bytes bytes_of(const lethe_buffer *buffer) {
    return (lethe_bytes){.data = buffer->data, .size = buffer->size};
}

/* With digests, and lags, if these are asked for. */
static void make_noted_ids(lethe_buffer *buffer, bool has_digests, bool has_lags) {
    static unsigned char digests_data[] = {1, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0xff};
    static unsigned char lags_data[] = {0, 0, 0, 0, 7, 1, 0, 0, 0, 0, 0, 4};
    lethe_buffer digests = {.data = digests_data, .size = has_digests ? sizeof digests_data : 0};
    lethe_buffer lags = {.data = lags_data, .size = has_lags ? sizeof lags_data : 0};
    const lethe_id_run runs[] = {{.clock_ms = 1600000000000, .count = 2},
                                 {.clock_ms = 1600000000001, .count = 1}};
    assert_ok(lethe_id_segment_begin(buffer));
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(lethe_buffer_reserve(buffer, LETHE_LOG_ID_BYTES));
        lethe_id_segment_append(buffer, lethe_log_id_of(lethe_hash_u64(1, i)));
    }
    assert_ok(lethe_id_segment_end(buffer, runs, 2, (lethe_id_notes){&digests, &lags}));
}

static void make_ids(lethe_buffer *buffer) {
    make_noted_ids(buffer, false, false);
}

static const int64_t edges[] = {0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN, 1 << 20};
enum { EDGES = sizeof edges / sizeof edges[0] };

static void make_changes(lethe_buffer *buffer) {
    static const char key[] = "a key with \0 in it";
    assert_ok(lethe_changes_begin(buffer));
    for (size_t i = 0; i < EDGES; i++) {
        lethe_new_value change = {.key = {key, 1 + i}, .value = edges[i], .deleted = i == 3};
        if (change.deleted) change.value = 0;
        assert_ok(lethe_changes_append(buffer, &change));
    }
    lethe_changes_end(buffer, EDGES);
}

/* The same as deltas, of which none is 0. */
static void make_deltas(lethe_buffer *buffer) {
    static const char key[] = "a key with \0 in it";
    assert_ok(lethe_deltas_begin(buffer));
    for (size_t i = 1; i < EDGES; i++) {
        lethe_change change = {.key = {key, i}, .delta = edges[i]};
        assert_ok(lethe_deltas_append(buffer, &change));
    }
    lethe_changes_end(buffer, EDGES - 1);
}

static void ids_come_back(void **state) {
    (void)state;
    lethe_buffer buffer = {0};
    make_ids(&buffer);
    lethe_id_segment ids;
    assert_ok(lethe_id_segment_open(bytes_of(&buffer), &ids));
    assert_int_equal(ids.count, 3);
    assert_int_equal(ids.run_count, 2);
    assert_int_equal(lethe_id_segment_run(&ids, 1).clock_ms, 1600000000001);
    for (uint64_t i = 0; i < 3; i++) {
        lethe_log_id id = lethe_log_id_load(ids.ids + i * LETHE_LOG_ID_BYTES);
        lethe_hash hash = lethe_hash_u64(1, i);
        assert_true(id.low == hash.low && id.high == hash.high >> 48);
    }
    lethe_buffer_free(&buffer);
}

static void what_exact_mode_notes_comes_back(void **state) {
    (void)state;
    const uint32_t digests[] = {1, UINT32_C(1) << 31, UINT32_MAX}, lags[] = {0, 263, 1 << 26};
    const uint64_t clocks[] = {1600000000000, 1600000000000, 1600000000001};
    for (unsigned form = 0; form < 3; form++) {
        lethe_buffer buffer = {0};
        make_noted_ids(&buffer, form >= 1, form >= 2);
        lethe_id_segment ids;
        assert_ok(lethe_id_segment_open(bytes_of(&buffer), &ids));
        assert_int_equal(ids.count, 3);
        for (uint32_t i = 0; i < 3; i++) {
            lethe_index_entry entry =
                lethe_id_segment_entry(&ids, i, lethe_id_segment_run(&ids, i / 2));
            assert_int_equal(entry.digest, form >= 1 ? digests[i] : 0);
            assert_int_equal(entry.clock_ms, clocks[i] - (form >= 2 ? lags[i] : 0));
        }
        if (form >= 1) { /* a digest that is not known */
            buffer.data[8 + 3 * LETHE_LOG_ID_BYTES] = 0;
            assert_int_equal(lethe_id_segment_open(bytes_of(&buffer), &ids), LETHE_ECORRUPT);
        }
        lethe_buffer_free(&buffer);
    }
}

static void changes_come_back(void **state) {
    (void)state;
    lethe_buffer buffer = {0};
    make_changes(&buffer);
    lethe_changes changes;
    assert_ok(lethe_changes_open(bytes_of(&buffer), &changes));
    for (size_t i = 0; i < EDGES; i++) {
        lethe_new_value change;
        assert_ok(lethe_changes_next(&changes, &change));
        assert_int_equal(change.key.size, 1 + i);
        assert_int_equal(change.deleted, i == 3);
        assert_true(change.value == (i == 3 ? 0 : edges[i]));
    }
    assert_int_equal(changes.left, 0);
    lethe_buffer_free(&buffer);
}

static void deltas_come_back(void **state) {
    (void)state;
    lethe_buffer buffer = {0};
    make_deltas(&buffer);
    lethe_changes deltas;
    assert_int_equal(lethe_changes_open(bytes_of(&buffer), &deltas), LETHE_ECORRUPT);
    assert_ok(lethe_deltas_open(bytes_of(&buffer), &deltas));
    for (size_t i = 1; i < EDGES; i++) {
        lethe_change change;
        assert_ok(lethe_deltas_next(&deltas, &change));
        assert_int_equal(change.key.size, i);
        assert_true(change.delta == edges[i]);
    }
    assert_int_equal(deltas.left, 0);
    buffer.data[0] = 5;
    assert_int_equal(lethe_deltas_open(bytes_of(&buffer), &deltas), LETHE_EVERSION);
    assert_int_equal(lethe_changes_open(bytes_of(&buffer), &deltas), LETHE_EVERSION);
    /* No delta is 0. */
    lethe_change change = {.key = {"key", 3}};
    assert_ok(lethe_deltas_begin(&buffer));
    assert_ok(lethe_deltas_append(&buffer, &change));
    lethe_changes_end(&buffer, 1);
    assert_ok(lethe_deltas_open(bytes_of(&buffer), &deltas));
    assert_int_equal(lethe_deltas_next(&deltas, &change), LETHE_ECORRUPT);
    lethe_buffer_free(&buffer);
}

static const lethe_new_value with_buckets[] = {
    {.key = {"key", 3}, .value = -5},
    {.key = {"\1\0\0\0\0\7key", 9}, .value = 7, .is_bucket = true},
    {.key = {"\1\0\0\0\0\7key", 9}, .value = 8},
    {.key = {"\2\0\0\0\0\7k", 7}, .deleted = true, .is_bucket = true}};

static void make_buckets(lethe_buffer *buffer) {
    assert_ok(lethe_changes_begin(buffer));
    lethe_changes_take_buckets(buffer);
    for (size_t i = 0; i < 4; i++)
        assert_ok(lethe_changes_append(buffer, &with_buckets[i]));
    lethe_changes_end(buffer, 4);
}

static void assert_same(const lethe_new_value *change, const lethe_new_value *expected) {
    assert_int_equal(change->key.size, expected->key.size);
    assert_memory_equal(change->key.data, expected->key.data, change->key.size);
    assert_true(change->value == expected->value && change->deleted == expected->deleted);
    assert_true(change->is_bucket == expected->is_bucket);
    assert_true(change->is_beside == expected->is_beside);
    assert_true(change->which == expected->which && change->label == expected->label);
}

static void assert_comes_back(lethe_bytes segment, const lethe_new_value *all, size_t count) {
    lethe_changes changes;
    assert_ok(lethe_changes_open(segment, &changes));
    for (size_t i = 0; i < count; i++) {
        lethe_new_value change;
        assert_ok(lethe_changes_next(&changes, &change));
        assert_same(&change, &all[i]);
    }
    assert_int_equal(changes.left, 0);
    assert_int_equal(lethe_deltas_open(segment, &changes), LETHE_ECORRUPT);
}

static void buckets_come_back(void **state) {
    (void)state;
    lethe_buffer buffer = {0};
    make_buckets(&buffer);
    assert_comes_back(bytes_of(&buffer), with_buckets, 4);
    lethe_buffer_free(&buffer);
}

/* As earlier versions wrote them. */
static void buckets_of_version_3_are_read(void **state) {
    (void)state;
    size_t size;
    unsigned char *saved = golden_read("counter-buckets-v3.bin", &size);
    assert_comes_back((lethe_bytes){saved, size}, with_buckets, 4);
    /* Which had no buckets without a key. */
    lethe_buffer buffer = {0};
    lethe_changes changes;
    lethe_new_value change;
    uint64_t last[LETHE_BESIDE_LIMIT] = {0};
    assert_ok(lethe_changes_begin(&buffer));
    lethe_changes_take_buckets(&buffer);
    assert_ok(lethe_changes_append(&buffer, &with_buckets[0]));
    assert_ok(lethe_changes_append_beside(&buffer, last, &(lethe_new_value){.value = 1}));
    lethe_changes_end(&buffer, 2);
    buffer.data[0] = 3;
    assert_ok(lethe_changes_open(bytes_of(&buffer), &changes));
    assert_ok(lethe_changes_next(&changes, &change));
    assert_int_equal(lethe_changes_next(&changes, &change), LETHE_ECORRUPT);
    lethe_buffer_free(&buffer);
    free(saved);
}

#define LAST_LABEL ((UINT64_C(1) << 40) - 1)
static const lethe_new_value with_beside[] = {
    {.key = {"a", 1}, .value = 9},
    {.key = {"a", 1}, .value = -4, .is_bucket = true, .is_beside = true, .label = 474000},
    {.key = {"a", 1},
     .value = INT64_MIN,
     .is_bucket = true,
     .is_beside = true,
     .which = 7,
     .label = LAST_LABEL},
    {.key = {"b", 1}, .deleted = true},
    {.key = {"b", 1}, .deleted = true, .is_bucket = true, .is_beside = true, .label = 474000},
    {.key = {"b", 1}, .value = 3, .is_bucket = true, .is_beside = true, .which = 7},
    {.key = {"\1\0\0\0\0\7b", 7}, .value = 7, .is_bucket = true},
    {.key = {"c", 1}, .value = INT64_MAX},
    {.key = {"c", 1}, .value = INT64_MAX, .is_bucket = true, .is_beside = true, .label = 473999}};
enum { BESIDE = sizeof with_beside / sizeof with_beside[0] };

static void make_beside(lethe_buffer *buffer) {
    uint64_t last[LETHE_BESIDE_LIMIT] = {0};
    assert_ok(lethe_changes_begin(buffer));
    lethe_changes_take_buckets(buffer);
    for (size_t i = 0; i < BESIDE; i++) {
        const lethe_new_value *change = &with_beside[i];
        assert_ok(change->is_beside ? lethe_changes_append_beside(buffer, last, change)
                                    : lethe_changes_append(buffer, change));
    }
    lethe_changes_end(buffer, BESIDE);
}

static void buckets_beside_counters_come_back(void **state) {
    (void)state;
    lethe_buffer buffer = {0};
    lethe_changes changes;
    lethe_new_value change;
    make_beside(&buffer);
    assert_comes_back(bytes_of(&buffer), with_beside, BESIDE);
    /* One that no counter comes before, and labels that there are none of. */
    for (unsigned form = 0; form < 3; form++) {
        assert_ok(lethe_changes_begin(&buffer));
        lethe_changes_take_buckets(&buffer);
        if (form > 0) assert_ok(lethe_changes_append(&buffer, &with_beside[0]));
        const uint64_t labels[] = {5, LAST_LABEL + 1, (uint64_t)-1};
        assert_ok(lethe_changes_append_beside(&buffer, (uint64_t[LETHE_BESIDE_LIMIT]){0},
                                              &(lethe_new_value){.label = labels[form]}));
        lethe_changes_end(&buffer, form > 0 ? 2 : 1);
        assert_ok(lethe_changes_open(bytes_of(&buffer), &changes));
        if (form > 0) assert_ok(lethe_changes_next(&changes, &change));
        assert_int_equal(lethe_changes_next(&changes, &change), LETHE_ECORRUPT);
    }
    lethe_buffer_free(&buffer);
}

static void values_come_back(void **state) {
    (void)state;
    for (size_t i = 0; i < EDGES; i++) {
        unsigned char record[LETHE_VALUE_LIMIT_BYTES];
        size_t size = lethe_value_store(record, edges[i]);
        int64_t value;
        assert_ok(lethe_value_load((lethe_bytes){record, size}, &value));
        assert_true(value == edges[i]);
        assert_int_equal(lethe_value_load((lethe_bytes){record, size - 1}, &value), LETHE_ECORRUPT);
    }
    static const unsigned char endless[] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
    int64_t value;
    assert_int_equal(lethe_value_load((lethe_bytes){endless, sizeof endless}, &value),
                     LETHE_ECORRUPT);
}

/* Two ids of the log are equal only if 80 bits are; what the window sees of them differs with
 * them. */
static void expanded_ids_differ_as_the_ids_do(void **state) {
    (void)state;
    lethe_log_id a = {.low = 5, .high = 7}, b = {.low = 5, .high = 8}, c = {.low = 6, .high = 7};
    assert_true(lethe_log_id_expand(a).high != lethe_log_id_expand(b).high);
    assert_true(lethe_log_id_expand(a).high != lethe_log_id_expand(c).high);
    assert_true(lethe_log_id_expand(a).low != lethe_log_id_expand(c).low);
}

/* Reads a segment to its end, whatever it is. */
static void read_ids(lethe_bytes segment) {
    lethe_id_segment ids;
    if (lethe_id_segment_open(segment, &ids) != LETHE_OK) return;
    uint64_t total = 0;
    for (uint32_t i = 0; i < ids.run_count; i++) {
        total += lethe_id_segment_run(&ids, i).count;
    }
    assert_int_equal(total, ids.count);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ids.count; i++) {
        sum += lethe_log_id_load(ids.ids + (size_t)i * LETHE_LOG_ID_BYTES).low;
        sum += lethe_id_segment_entry(&ids, i, (lethe_id_run){.clock_ms = 1 << 30}).digest;
    }
    assert_true(sum != 1);
}

static void read_changes(lethe_bytes segment) {
    lethe_changes changes;
    if (lethe_changes_open(segment, &changes) != LETHE_OK) return;
    while (changes.left > 0) {
        lethe_new_value change;
        if (lethe_changes_next(&changes, &change) != LETHE_OK) return;
        assert_true(change.key.size >= 1 && change.key.size <= LETHE_KEY_LIMIT_BYTES);
    }
}

static void read_deltas(lethe_bytes segment) {
    lethe_changes deltas;
    if (lethe_deltas_open(segment, &deltas) != LETHE_OK) return;
    while (deltas.left > 0) {
        lethe_change change;
        if (lethe_deltas_next(&deltas, &change) != LETHE_OK) return;
        assert_true(change.key.size >= 1 && change.key.size <= LETHE_KEY_LIMIT_BYTES);
        assert_true(change.delta != 0);
    }
}

/* Each copy is of exactly its own size, so that the sanitizers see a byte read too far. */
static void try_all(const lethe_buffer *original, void (*read)(lethe_bytes segment)) {
    struct test_random random = {.state = 9};
    for (size_t size = 0; size <= original->size + 1; size++) {
        for (unsigned round = 0; round < 60; round++) {
            unsigned char *copy = calloc(1, size > 0 ? size : 1);
            size_t common = size < original->size ? size : original->size;
            if (common > 0) memcpy(copy, original->data, common);
            if (round > 0 && size > 0) {
                copy[test_random_below(&random, size)] = (unsigned char)test_random_next(&random);
            }
            read((lethe_bytes){copy, size});
            free(copy);
        }
    }
}

static void foreign_bytes_are_harmless(void **state) {
    (void)state;
    lethe_buffer ids = {0}, changes = {0}, deltas = {0};
    make_ids(&ids);
    make_changes(&changes);
    make_deltas(&deltas);
    for (unsigned form = 0; form < 3; form++) {
        make_noted_ids(&ids, form >= 1, form >= 2);
        try_all(&ids, read_ids);
    }
    make_ids(&ids);
    try_all(&changes, read_changes);
    try_all(&deltas, read_deltas);
    make_buckets(&changes);
    try_all(&changes, read_changes);
    make_beside(&changes);
    try_all(&changes, read_changes);
    lethe_buffer_free(&deltas);
    lethe_id_segment opened;
    for (size_t size = 0; size < ids.size; size++) {
        assert_int_equal(lethe_id_segment_open((lethe_bytes){ids.data, size}, &opened),
                         LETHE_ECORRUPT);
    }
    ids.data[0] = 4;
    assert_int_equal(lethe_id_segment_open(bytes_of(&ids), &opened), LETHE_EVERSION);
    lethe_buffer_free(&ids);
    lethe_buffer_free(&changes);
}

static void bytes_stay_as_they_are(void **state) {
    (void)state;
    lethe_buffer ids = {0}, changes = {0}, deltas = {0};
    make_ids(&ids);
    make_changes(&changes);
    make_deltas(&deltas);
    golden_check("counter-ids-v1.bin", ids.data, ids.size);
    make_noted_ids(&ids, true, false);
    golden_check("counter-ids-v2.bin", ids.data, ids.size);
    make_noted_ids(&ids, true, true);
    golden_check("counter-ids-v3.bin", ids.data, ids.size);
    golden_check("counter-changes-v1.bin", changes.data, changes.size);
    golden_check("counter-deltas-v2.bin", deltas.data, deltas.size);
    make_beside(&changes);
    golden_check("counter-buckets-v4.bin", changes.data, changes.size);
    lethe_buffer_free(&deltas);
    lethe_buffer_free(&ids);
    lethe_buffer_free(&changes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_come_back),
        cmocka_unit_test(what_exact_mode_notes_comes_back),
        cmocka_unit_test(changes_come_back),
        cmocka_unit_test(deltas_come_back),
        cmocka_unit_test(buckets_come_back),
        cmocka_unit_test(buckets_of_version_3_are_read),
        cmocka_unit_test(buckets_beside_counters_come_back),
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(expanded_ids_differ_as_the_ids_do),
        cmocka_unit_test(foreign_bytes_are_harmless),
        cmocka_unit_test(bytes_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
