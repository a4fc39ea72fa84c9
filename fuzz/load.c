/* Fuzzes every loader with raw bytes, as a file from a stranger. Whatever loads must work and must
 * save to the same bytes again. */
#include <assert.h>
#include <string.h>

#include <lethe/lethe.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lethe_memory_reader reader = {.data = data, .size = size};
    lethe_bloom *filter;
    if (lethe_bloom_load(lethe_source_from_memory(&reader), NULL, &filter) != LETHE_OK) {
        assert(filter == NULL);
        return 0;
    }
    lethe_memory_writer writer = {0};
    assert(lethe_bloom_save(filter, lethe_sink_to_memory(&writer)) == LETHE_OK);
    assert(writer.size == size && memcmp(writer.data, data, size) == 0);
    lethe_memory_writer_free(&writer);
    lethe_bloom_free(filter);
    return 0;
}
