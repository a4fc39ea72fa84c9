/* tests/support/structures.c - see structures.h. */
#include "support/structures.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "support/golden.h"
#include "support/heap.h"
#include "support/test.h"

lethe_hash sample_hash(const struct structure *row, const void *object, uint64_t n) {
    return lethe_hash_u64(row->seed(object), n);
}

static lethe_status add_keys(const struct structure *row, void *object) {
    lethe_status status = LETHE_OK;
    for (uint64_t n = 0; n < SAMPLE_KEYS && status == LETHE_OK; n++) {
        lethe_hash hash = sample_hash(row, object, n);
        status = row->add(object, &hash, 1, SAMPLE_FIRST_MS + n * 50);
    }
    return status;
}

lethe_status sample_try(const struct structure *row, const struct test_folder *folder,
                        const lethe_allocator *allocator, void **out) {
    static unsigned made;
    char path[400];
    (void)snprintf(path, sizeof path, "%s/%u", folder != NULL ? folder->path : "", made++);
    const struct structure_plan plan = {
        .capacity = 100,
        .error = 0.01,
        .memory_bytes = row->lives_in_folder ? 1 << 20 : 512,
        .window_ms = row->lives_in_folder ? 0 : 14000,
        .folder = path,
        .allocator = allocator,
    };
    lethe_status status = structure_make(row, &plan, out);
    if (status != LETHE_OK || row->add == NULL) return status;
    status = add_keys(row, *out);
    if (status == LETHE_OK) return LETHE_OK;
    row->free(*out);
    *out = NULL;
    return status;
}

void *sample_make(const struct structure *row, const struct test_folder *folder) {
    void *object;
    lethe_status status = sample_try(row, folder, NULL, &object);
    if (status != LETHE_OK) fail_msg("%s: %s", row->name, lethe_strerror(status));
    return object;
}

void sample_save(const struct structure *row, const void *object, lethe_memory_writer *writer) {
    *writer = (lethe_memory_writer){0};
    assert_ok(row->save(object, lethe_sink_to_memory(writer)));
}

lethe_status sample_load(const struct structure *row, const void *data, size_t size,
                         const lethe_allocator *allocator, void **out) {
    lethe_memory_reader reader = {.data = data, .size = size};
    return row->load(lethe_source_from_memory(&reader), allocator, out);
}

void forge_frame(const char *type, uint16_t version, const void *payload, size_t size,
                 lethe_memory_writer *writer) {
    *writer = (lethe_memory_writer){0};
    lethe_encoder *encoder;
    assert_ok(
        lethe_encoder_begin(lethe_sink_to_memory(writer), type, version, size, NULL, &encoder));
    lethe_encoder_put_bytes(encoder, payload, size);
    assert_ok(lethe_encoder_end(encoder));
}

lethe_status forge_load_frame(const struct structure *row, lethe_memory_writer *frame,
                              size_t *peak_bytes, void (*use)(void *object)) {
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    void *loaded;
    lethe_status status = sample_load(row, frame->data, frame->size, &heap.allocator, &loaded);
    *peak_bytes = heap.peak_bytes;
    assert_true((loaded != NULL) == (status == LETHE_OK));
    if (loaded != NULL && use != NULL) use(loaded);
    row->free(loaded);
    lethe_memory_writer_free(frame);
    assert_int_equal(heap.live_blocks, 0);
    return status;
}

lethe_status forge_load(const struct structure *row, uint16_t version, const void *payload,
                        size_t size, size_t *peak_bytes, void (*use)(void *object)) {
    lethe_memory_writer frame;
    forge_frame(row->type, version, payload, size, &frame);
    return forge_load_frame(row, &frame, peak_bytes, use);
}

enum { MOST_SPECIMENS = 128, VERSION_AT = 12 };

/* Takes the bytes over. */
static void add_specimen(struct specimens *specimens, const struct structure *row, const char *name,
                         void *data, size_t size) {
    assert_true(specimens->count < MOST_SPECIMENS);
    struct specimen *specimen = &specimens->all[specimens->count++];
    *specimen = (struct specimen){.row = row, .data = data, .size = size};
    (void)snprintf(specimen->name, sizeof specimen->name, "%s", name);
    memcpy(&specimen->version, specimen->data + VERSION_AT, sizeof specimen->version);
}

/* Adds a golden file, if a row loads it. */
static void add_golden(struct specimens *specimens, const char *name) {
    size_t size;
    void *golden = golden_read(name, &size), *loaded;
    EACH_STRUCTURE(row) {
        if (row->load == NULL || sample_load(row, golden, size, NULL, &loaded) != LETHE_OK)
            continue;
        const struct structure *own = structure_of_object(row, loaded);
        row->free(loaded);
        add_specimen(specimens, own, name, golden, size);
        return;
    }
    free(golden);
}

struct specimens specimens_gather(void) {
    struct specimens specimens = {.all = calloc(MOST_SPECIMENS, sizeof *specimens.all)};
    assert_non_null(specimens.all);
    EACH_STRUCTURE(row) {
        if (row->save == NULL) continue;
        void *object = sample_make(row, NULL);
        lethe_memory_writer writer;
        sample_save(row, object, &writer);
        row->free(object);
        void *data = malloc(writer.size);
        assert_non_null(data);
        memcpy(data, writer.data, writer.size);
        add_specimen(&specimens, row, row->name, data, writer.size);
        lethe_memory_writer_free(&writer);
    }
    DIR *folder = opendir(TEST_GOLDEN_DIR);
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        if (entry->d_name[0] != '.') add_golden(&specimens, entry->d_name);
    closedir(folder);
    return specimens;
}

void specimens_free(struct specimens *specimens) {
    for (size_t i = 0; i < specimens->count; i++)
        free(specimens->all[i].data);
    free(specimens->all);
}
