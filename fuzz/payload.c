/* Fuzzes what lies behind the checksums: the input is a payload, which this program puts into a
 * frame that is right. The loader must refuse it or give a filter that works. */
#include <assert.h>
#include <string.h>

#include <lethe/lethe.h>

#include "core/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Frames the payload, cut to whole 32-bit numbers. */
static bool frame(const uint8_t *payload, size_t size, lethe_memory_writer *writer) {
    lethe_encoder *encoder;
    size = size / 4 * 4;
    if (lethe_encoder_begin(lethe_sink_to_memory(writer), "BLOM", 1, size, NULL, &encoder) !=
        LETHE_OK) {
        return false;
    }
    for (size_t at = 0; at < size; at += 4) {
        uint32_t value;
        memcpy(&value, payload + at, sizeof value);
        lethe_encoder_put_u32(encoder, value);
    }
    return lethe_encoder_end(encoder) == LETHE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lethe_memory_writer writer = {0};
    if (!frame(data, size, &writer)) {
        lethe_memory_writer_free(&writer);
        return 0;
    }
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_bloom *filter;
    if (lethe_bloom_load(lethe_source_from_memory(&reader), NULL, &filter) == LETHE_OK) {
        lethe_bloom_add(filter, data, size);
        assert(lethe_bloom_test(filter, data, size));
        lethe_bloom_stats stats = lethe_bloom_info(filter);
        assert(stats.fill >= 0 && stats.fill <= 1);
        assert(stats.error_estimate >= 0 && stats.error_estimate <= 1);
        lethe_bloom_free(filter);
    }
    lethe_memory_writer_free(&writer);
    return 0;
}
