/* Fuzzes the filters without a header: the input's first byte picks a kind, the rest is a block.
 * Whatever it is gets an answer; and a block made from it as keys has them all. */
#include <assert.h>
#include <stdlib.h>

#include <lethe/lethe.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A block of every byte as a key, in bytes that are exactly as many. */
static void build_and_ask(const lethe_packed *packed, const uint8_t *data, size_t size) {
    lethe_hash hashes[256];
    size_t count = size < 256 ? size : 256;
    for (size_t i = 0; i < count; i++)
        hashes[i] = lethe_packed_hash(packed, data + i, 1);
    size_t block_size = lethe_packed_size(packed, count);
    void *block = malloc(block_size);
    assert(block != NULL);
    lethe_packed_build(packed, hashes, count, block, block_size);
    for (size_t i = 0; i < count; i++)
        assert(lethe_packed_test(packed, hashes[i], block, block_size));
    free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    lethe_packed_options options =
        LETHE_OPTIONS(lethe_packed_options, .kind = (lethe_packed_kind)(data[0] % 3));
    if (options.kind == LETHE_PACKED_GAUSSIAN) options.slot_bits = 1 + data[0] / 3 % 4;
    lethe_packed *packed;
    if (lethe_packed_new(&options, &packed) != LETHE_OK) return 0;
    for (uint64_t i = 0; i < 16; i++)
        (void)lethe_packed_test(packed, lethe_hash_u64(1, i), data + 1, size - 1);
    build_and_ask(packed, data, size);
    lethe_packed_free(packed);
    return 0;
}
