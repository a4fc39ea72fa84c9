/* Fuzzes every loader with raw bytes, as a file from a stranger. Whatever loads must work and
 * must be saved as the same bytes again. */
#include <assert.h>
#include <string.h>

#include "structures/structure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VERSION_AT = 12, VERSION_BYTES = 2 };

/* Loads, saves, and compares. What is written of an older version is of the latest, and is saved
 * as the same bytes again. */
static void load(const struct structure *row, const uint8_t *data, size_t size, bool is_first) {
    lethe_memory_reader reader = {.data = data, .size = size};
    void *loaded;
    if (row->load(lethe_source_from_memory(&reader), NULL, &loaded) != LETHE_OK) {
        assert(is_first && loaded == NULL);
        return;
    }
    lethe_memory_writer writer = {0};
    assert(row->save(loaded, lethe_sink_to_memory(&writer)) == LETHE_OK);
    row->free(loaded);
    const uint8_t *written = writer.data;
    if (memcmp(data + VERSION_AT, written + VERSION_AT, VERSION_BYTES) == 0) {
        assert(writer.size == size && memcmp(written, data, size) == 0);
    } else {
        assert(is_first);
        load(row, written, writer.size, false); /* NOLINT(misc-no-recursion) */
    }
    lethe_memory_writer_free(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *done = "";
    for (const struct structure *const *row = structures; *row != NULL; row++) {
        /* Kinds of one type share a loader, and stand beside each other. */
        if ((*row)->load == NULL || strcmp((*row)->type, done) == 0) continue;
        load(*row, data, size, true);
        done = (*row)->type;
    }
    return 0;
}
