/* Fuzzes what lies behind the checksums: the input's first byte picks a type, the rest is a
 * payload, which this program puts into a frame that is right. The loader must refuse it or give
 * something that works. */
#include <assert.h>
#include <string.h>

#include <lethe/lethe.h>

#include "core/codec.h"
#include "structures/structure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool frame(const char *type, uint16_t version, const uint8_t *payload, size_t size,
                  lethe_memory_writer *writer) {
    lethe_encoder *encoder;
    if (lethe_encoder_begin(lethe_sink_to_memory(writer), type, version, size, NULL, &encoder) !=
        LETHE_OK) {
        return false;
    }
    lethe_encoder_put_bytes(encoder, payload, size);
    return lethe_encoder_end(encoder) == LETHE_OK;
}

/* What every structure can do: it reports facts, takes a key, answers, and is saved. */
static void try_alike(const struct structure *row, lethe_source source, const uint8_t *data,
                      size_t size) {
    void *object;
    if (row->load(source, NULL, &object) != LETHE_OK) {
        assert(object == NULL);
        return;
    }
    row = structure_of_object(row, object);
    struct structure_facts facts;
    assert(structure_report(row, object, 0, &facts) == LETHE_OK);
    uint64_t now_ms = structure_number(&facts, "clock_ms");
    lethe_hash hash = lethe_hash_bytes(row->seed(object), data, size);
    uint8_t present;
    if (row->add != NULL) (void)!row->add(object, &hash, 1, now_ms);
    assert(row->test(object, &hash, 1, now_ms, &present) == LETHE_OK && present <= 1);
    void *copy = NULL;
    if (row->copy != NULL && row->copy(object, &copy) == LETHE_OK && row->merge != NULL)
        (void)!row->merge(object, copy);
    row->free(copy);
    lethe_memory_writer writer = {0};
    assert(row->save(object, lethe_sink_to_memory(&writer)) == LETHE_OK);
    lethe_memory_writer_free(&writer);
    row->free(object);
}

static void try_bloom(lethe_source source, const uint8_t *data, size_t size) {
    lethe_bloom *filter;
    if (lethe_bloom_load(source, NULL, &filter) != LETHE_OK) return;
    lethe_bloom_add(filter, data, size);
    assert(lethe_bloom_test(filter, data, size));
    lethe_bloom_stats stats = LETHE_INIT(lethe_bloom_stats);
    assert(lethe_bloom_info(filter, &stats) == LETHE_OK);
    assert(stats.fill >= 0 && stats.fill <= 1);
    assert(stats.error_estimate >= 0 && stats.error_estimate <= 1);
    lethe_bloom_free(filter);
}

static void try_forgetful(lethe_source source, const uint8_t *data, size_t size) {
    lethe_forgetful *filter;
    if (lethe_forgetful_load(source, NULL, &filter) != LETHE_OK) return;
    lethe_forgetful_stats stats = LETHE_INIT(lethe_forgetful_stats);
    assert(lethe_forgetful_info(filter, 0, &stats) == LETHE_OK);
    lethe_hash hash = lethe_hash_bytes(stats.seed, data, size);
    lethe_answer answer;
    if (lethe_forgetful_add_and_test(filter, hash, stats.clock_ms, &answer) == LETHE_OK)
        assert(lethe_forgetful_test(filter, hash, stats.clock_ms));
    bool more;
    (void)lethe_forgetful_work(filter, stats.clock_ms + stats.window_ms, 4, &more);
    lethe_forgetful_free(filter);
}

static void try_window(lethe_source source, const uint8_t *data, size_t size) {
    lethe_window *window;
    if (lethe_window_load(source, NULL, &window) != LETHE_OK) return;
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    assert(lethe_window_info(window, 0, &stats) == LETHE_OK);
    assert(stats.error_estimate >= 0);
    lethe_hash first = lethe_hash_bytes(stats.seed, data, size);
    for (uint64_t i = 0; i < 64; i++) {
        lethe_hash id = {.low = first.low + i * UINT64_C(0x9e3779b97f4a7c15),
                         .high = first.high + i * UINT64_C(0xd1342543de82ef95)};
        uint64_t now_ms = stats.clock_ms + i * stats.period_ms / 8;
        lethe_answer answer;
        if (lethe_window_add_and_test(window, id, now_ms, &answer) != LETHE_OK) continue;
        assert(lethe_window_test(window, id, now_ms) == LETHE_ANSWER_DUPLICATE);
        if (i % 4 == 0 && answer == LETHE_ANSWER_FRESH)
            (void)!lethe_window_remove(window, id, now_ms);
    }
    bool more;
    (void)lethe_window_work(window, stats.clock_ms + 300 * stats.period_ms, 1, &more);
    (void)lethe_window_info(window, UINT64_MAX, &stats);
    lethe_window_free(window);
}

/* Whatever counters a sketch was loaded with: what is added is answered for, unless a counter is
 * full. */
static void try_sketch(lethe_source source, const uint8_t *data, size_t size) {
    lethe_sketch *sketch, *copy;
    if (lethe_sketch_load(source, NULL, &sketch) != LETHE_OK) return;
    lethe_sketch_stats stats = LETHE_INIT(lethe_sketch_stats);
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    assert(lethe_sketch_info(sketch, &stats) == LETHE_OK);
    assert(lethe_sketch_get_shape(sketch, &shape) == LETHE_OK);
    assert(stats.error_above >= 0 && stats.counters_saturated <= stats.counters_used);
    uint64_t before = lethe_sketch_count(sketch, data, size, NULL);
    bool never_under = shape.kind != LETHE_SKETCH_COUNT && shape.kind != LETHE_SKETCH_LOG;
    if (lethe_sketch_add(sketch, data, size, 3) == LETHE_OK) {
        uint64_t after = lethe_sketch_count(sketch, data, size, NULL);
        assert(!never_under || after >= before);
        lethe_status removed = lethe_sketch_remove(sketch, data, size, 3);
        assert(removed == LETHE_OK || removed == LETHE_EINVAL || removed == LETHE_ENOTFOUND);
    }
    if (lethe_sketch_copy(sketch, &copy) == LETHE_OK) {
        assert(lethe_sketch_merge(sketch, copy) == LETHE_OK);
        lethe_sketch_free(copy);
    }
    lethe_sketch_top_entry entries[4];
    size_t listed;
    (void)!lethe_sketch_top(sketch, entries, 4, &listed);
    lethe_sketch_free(sketch);
}

static void try_export(lethe_source source, const uint8_t *data, size_t size) {
    lethe_sketch *sketch;
    if (lethe_sketch_import(source, NULL, &sketch) != LETHE_OK) return;
    lethe_sketch_stats stats = LETHE_INIT(lethe_sketch_stats);
    assert(lethe_sketch_info(sketch, &stats) == LETHE_OK && stats.query_only);
    (void)lethe_sketch_count(sketch, data, size, NULL);
    assert(lethe_sketch_add(sketch, data, size, 1) == LETHE_EINVAL);
    lethe_sketch_free(sketch);
}

/* Whatever slots and bells a filter was loaded with: what is added is found, and no more than
 * underneath. */
static void try_gaussian(lethe_source source, const uint8_t *data, size_t size) {
    lethe_gaussian *filter;
    lethe_bloom *bloom;
    if (lethe_gaussian_load(source, NULL, &filter) != LETHE_OK) return;
    lethe_gaussian_add(filter, data, size);
    assert(lethe_gaussian_test(filter, data, size));
    lethe_gaussian_stats stats = LETHE_INIT(lethe_gaussian_stats);
    assert(lethe_gaussian_info(filter, &stats) == LETHE_OK);
    assert(stats.fill >= 0 && stats.fill <= 1);
    assert(stats.error_estimate >= 0 && stats.error_estimate <= stats.bloom_error * (1 + 1e-9));
    if (lethe_gaussian_extract(filter, &bloom) == LETHE_OK) {
        lethe_bloom_stats beneath = LETHE_INIT(lethe_bloom_stats);
        assert(lethe_bloom_info(bloom, &beneath) == LETHE_OK);
        assert(beneath.bits_set == stats.slots_full);
        for (size_t i = 1; i < size; i++)
            assert(!lethe_gaussian_test(filter, data, i) || lethe_bloom_test(bloom, data, i));
        lethe_bloom_free(bloom);
    }
    lethe_gaussian_free(filter);
}

static lethe_quotient_stats stats_of_quotient(const lethe_quotient *filter) {
    lethe_quotient_stats stats = LETHE_INIT(lethe_quotient_stats);
    assert(lethe_quotient_info(filter, &stats) == LETHE_OK);
    return stats;
}

/* What was loaded is a multiset like any other: it can be read through, added to and removed from,
 * doubled and merged, and its entries stay in order and keep their sum. */
static void try_quotient(lethe_source source, const uint8_t *data, size_t size) {
    lethe_quotient *filter, *merged;
    if (lethe_quotient_load(source, NULL, &filter) != LETHE_OK) return;
    lethe_quotient_stats stats = stats_of_quotient(filter);
    assert(stats.error_estimate >= 0 && stats.error_estimate <= 1 && stats.load <= 0.96);
    uint64_t before = lethe_quotient_count(filter, data, size), distinct = 0, last = 0;
    if (lethe_quotient_add(filter, data, size, 2) == LETHE_OK) {
        assert(lethe_quotient_count(filter, data, size) == before + 2);
        assert(lethe_quotient_remove(filter, data, size, 2) == LETHE_OK);
    }
    lethe_quotient_cursor cursor = lethe_quotient_seek(filter, 0);
    lethe_quotient_entry entry;
    while (lethe_quotient_next(&cursor, &entry, 1) == 1) {
        assert(distinct == 0 || entry.fingerprint > last);
        assert(lethe_quotient_count_fingerprint(filter, entry.fingerprint) == entry.count);
        last = entry.fingerprint;
        distinct++;
    }
    assert(distinct == stats.distinct);
    (void)!lethe_quotient_double(filter);
    if (lethe_quotient_new_merged((const lethe_quotient *[]){filter, filter}, 2, &merged) ==
        LETHE_OK) {
        assert(stats_of_quotient(merged).distinct == stats.distinct);
        assert(lethe_quotient_count_fingerprint(merged, last) ==
               2 * lethe_quotient_count_fingerprint(filter, last));
        lethe_quotient_free(merged);
    }
    while (stats_of_quotient(filter).distinct > 0) {
        cursor = lethe_quotient_seek(filter, 0);
        assert(lethe_quotient_next(&cursor, &entry, 1) == 1);
        assert(lethe_quotient_remove_fingerprint(filter, entry.fingerprint, entry.count) ==
               LETHE_OK);
    }
    lethe_quotient_free(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* Corpora name kinds by their place, so new ones go to the end. */
    static const struct {
        const struct structure *row;
        uint16_t version;
        void (*try)(lethe_source source, const uint8_t *data, size_t size);
    } kinds[] = {
        {&structure_bloom, 1, try_bloom},       {&structure_forgetful, 1, try_forgetful},
        {&structure_window, 1, try_window},     {&structure_count_min, 1, try_sketch},
        {&structure_export, 1, try_export},     {&structure_gaussian, 1, try_gaussian},
        {&structure_quotient, 1, try_quotient}, {&structure_window, 2, try_window},
    };
    if (size == 0) return 0;
    size_t kind = data[0] % (sizeof kinds / sizeof kinds[0]);
    lethe_memory_writer writer = {0};
    if (frame(kinds[kind].row->type, kinds[kind].version, data + 1, size - 1, &writer)) {
        lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
        kinds[kind].try(lethe_source_from_memory(&reader), data, size);
        reader.position = 0;
        try_alike(kinds[kind].row, lethe_source_from_memory(&reader), data, size);
    }
    lethe_memory_writer_free(&writer);
    return 0;
}
