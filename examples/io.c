/* Saves a filter into memory, as it would go over a network, and loads it again; damage is found.
 * cc io.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     loaded: styx is there
 *     after damage: saved data is damaged
 */
#include <lethe/bloom.h>
#include <lethe/io.h>
#include <stdio.h>
#include <stdlib.h>

static lethe_status save(lethe_memory_writer *writer) {
    lethe_bloom *filter;
    lethe_status status = lethe_bloom_new(NULL, &filter);
    lethe_bloom_add(filter, "styx", 4);
    if (status == LETHE_OK) status = lethe_bloom_save(filter, lethe_sink_to_memory(writer));
    lethe_bloom_free(filter);
    return status;
}

static lethe_status load(const lethe_memory_writer *writer, lethe_bloom **out) {
    lethe_memory_reader reader = {writer->data, writer->size, 0};
    return lethe_bloom_load(lethe_source_from_memory(&reader), NULL, out);
}

int main(void) {
    lethe_memory_writer writer = {NULL, 0, 0};
    lethe_bloom *filter = NULL;
    lethe_status status = save(&writer);
    if (status == LETHE_OK) status = load(&writer, &filter);
    if (status == LETHE_OK) {
        printf("loaded: styx is %s\n", lethe_bloom_test(filter, "styx", 4) ? "there" : "not there");
        lethe_bloom_free(filter);
        ((char *)writer.data)[writer.size / 2] ^= 1;
        printf("after damage: %s\n", lethe_strerror(load(&writer, &filter)));
    }
    lethe_memory_writer_free(&writer);
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
