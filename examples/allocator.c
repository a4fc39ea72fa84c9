/* A filter whose memory comes from the program's own allocator, here one with a limit.
 * cc allocator.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     a filter for 1000 keys: there is room
 *     a filter for 100000000 keys: not enough memory
 *     all memory is back: yes
 */
#include <lethe/allocator.h>
#include <lethe/bloom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct limited {
    size_t left_bytes;
};

static void *allocate_zeroed(void *context, size_t size) {
    struct limited *memory = (struct limited *)context;
    size_t rounded = (size + 63) / 64 * 64;
    if (rounded > memory->left_bytes) return NULL;
    void *block = aligned_alloc(64, rounded);
    if (block == NULL) return NULL;
    memory->left_bytes -= rounded;
    return memset(block, 0, rounded);
}

static void release(void *context, void *block, size_t size) {
    struct limited *memory = (struct limited *)context;
    memory->left_bytes += (size + 63) / 64 * 64;
    free(block);
}

int main(void) {
    const size_t limit_bytes = 1 << 20;
    struct limited memory = {limit_bytes};
    lethe_allocator allocator = {&memory, allocate_zeroed, release}; /* outlives the filters */
    static const int capacities[] = {1000, 100000000};
    for (int i = 0; i < 2; i++) {
        lethe_bloom_options options = LETHE_INIT(lethe_bloom_options);
        options.capacity = (uint64_t)capacities[i];
        options.allocator = &allocator;
        lethe_bloom *filter;
        lethe_status status = lethe_bloom_new(&options, &filter);
        printf("a filter for %d keys: %s\n", capacities[i],
               status == LETHE_OK ? "there is room" : lethe_strerror(status));
        lethe_bloom_free(filter);
    }
    printf("all memory is back: %s\n", memory.left_bytes == limit_bytes ? "yes" : "no");
    return EXIT_SUCCESS;
}
