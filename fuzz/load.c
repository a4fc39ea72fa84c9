/* Fuzzes every loader with raw bytes, as a file from a stranger. Whatever loads must work and must
 * save to the same bytes again. */
#include <assert.h>
#include <string.h>

#include <lethe/lethe.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was saved of what was loaded is what was loaded. */
static void compare_and_free(lethe_memory_writer *writer, const uint8_t *data, size_t size) {
    assert(writer->size == size && memcmp(writer->data, data, size) == 0);
    lethe_memory_writer_free(writer);
}

static void load_bloom(const uint8_t *data, size_t size) {
    lethe_memory_reader reader = {.data = data, .size = size};
    lethe_bloom *filter;
    if (lethe_bloom_load(lethe_source_from_memory(&reader), NULL, &filter) != LETHE_OK) {
        assert(filter == NULL);
        return;
    }
    lethe_memory_writer writer = {0};
    assert(lethe_bloom_save(filter, lethe_sink_to_memory(&writer)) == LETHE_OK);
    compare_and_free(&writer, data, size);
    lethe_bloom_free(filter);
}

static void load_forgetful(const uint8_t *data, size_t size) {
    lethe_memory_reader reader = {.data = data, .size = size};
    lethe_forgetful *filter;
    if (lethe_forgetful_load(lethe_source_from_memory(&reader), NULL, &filter) != LETHE_OK) {
        assert(filter == NULL);
        return;
    }
    lethe_memory_writer writer = {0};
    assert(lethe_forgetful_save(filter, lethe_sink_to_memory(&writer)) == LETHE_OK);
    compare_and_free(&writer, data, size);
    lethe_forgetful_free(filter);
}

static void load_gaussian(const uint8_t *data, size_t size) {
    lethe_memory_reader reader = {.data = data, .size = size};
    lethe_gaussian *filter;
    if (lethe_gaussian_load(lethe_source_from_memory(&reader), NULL, &filter) != LETHE_OK) {
        assert(filter == NULL);
        return;
    }
    lethe_memory_writer writer = {0};
    assert(lethe_gaussian_save(filter, lethe_sink_to_memory(&writer)) == LETHE_OK);
    compare_and_free(&writer, data, size);
    lethe_gaussian_free(filter);
}

/* Whether a frame is of the same version as another one. */
static bool has_version_of(const uint8_t *data, const lethe_memory_writer *writer) {
    return memcmp(data + 12, (const uint8_t *)writer->data + 12, 2) == 0;
}

static void load_window(const uint8_t *data, size_t size) { /* NOLINT(misc-no-recursion) */
    lethe_memory_reader reader = {.data = data, .size = size};
    lethe_window *window;
    if (lethe_window_load(lethe_source_from_memory(&reader), NULL, &window) != LETHE_OK) {
        assert(window == NULL);
        return;
    }
    lethe_memory_writer writer = {0};
    assert(lethe_window_save(window, lethe_sink_to_memory(&writer)) == LETHE_OK);
    lethe_window_free(window);
    if (has_version_of(data, &writer)) {
        compare_and_free(&writer, data, size);
    } else {
        /* What is written of an older version is of the latest, and stays as it is. */
        load_window(writer.data, writer.size);
        lethe_memory_writer_free(&writer);
    }
}

static void load_quotient(const uint8_t *data, size_t size) {
    lethe_memory_reader reader = {.data = data, .size = size};
    lethe_quotient *filter;
    if (lethe_quotient_load(lethe_source_from_memory(&reader), NULL, &filter) != LETHE_OK) {
        assert(filter == NULL);
        return;
    }
    lethe_memory_writer writer = {0};
    assert(lethe_quotient_save(filter, lethe_sink_to_memory(&writer)) == LETHE_OK);
    compare_and_free(&writer, data, size);
    lethe_quotient_free(filter);
}

static void load_sketch(const uint8_t *data, size_t size, bool as_export) {
    lethe_memory_reader reader = {.data = data, .size = size};
    lethe_source source = lethe_source_from_memory(&reader);
    lethe_sketch *sketch;
    lethe_status status = as_export ? lethe_sketch_import(source, NULL, &sketch)
                                    : lethe_sketch_load(source, NULL, &sketch);
    if (status != LETHE_OK) {
        assert(sketch == NULL);
        return;
    }
    lethe_memory_writer writer = {0};
    lethe_sink sink = lethe_sink_to_memory(&writer);
    status = as_export ? lethe_sketch_export(sketch, sink) : lethe_sketch_save(sketch, sink);
    assert(status == LETHE_OK);
    compare_and_free(&writer, data, size);
    lethe_sketch_free(sketch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    load_bloom(data, size);
    load_forgetful(data, size);
    load_gaussian(data, size);
    load_quotient(data, size);
    load_sketch(data, size, false);
    load_sketch(data, size, true);
    load_window(data, size);
    return 0;
}
