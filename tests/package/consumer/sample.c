/* A small program as a user of liblethe would write it; valid C and C++ alike. It goes through
 * the parts that link differently: version, allocation, hashing, SIMD and saving. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <lethe/lethe.h>

static lethe_status run(void) {
    lethe_bloom_options options = LETHE_INIT(lethe_bloom_options);
    options.layout = LETHE_BLOOM_BLOCKED;
    options.capacity = 1000;

    lethe_bloom *filter = NULL;
    lethe_status status = lethe_bloom_new(&options, &filter);
    if (status != LETHE_OK) return status;
    lethe_bloom_add(filter, "styx", 4);

    lethe_memory_writer writer;
    memset(&writer, 0, sizeof writer);
    status = lethe_bloom_save(filter, lethe_sink_to_memory(&writer));
    lethe_bloom_free(filter);
    if (status != LETHE_OK) return status;

    lethe_memory_reader reader = {writer.data, writer.size, 0};
    lethe_bloom *loaded = NULL;
    status = lethe_bloom_load(lethe_source_from_memory(&reader), NULL, &loaded);
    lethe_memory_writer_free(&writer);
    if (status != LETHE_OK) return status;
    printf("styx %d\n", lethe_bloom_test(loaded, "styx", 4));
    printf("acheron %d\n", lethe_bloom_test(loaded, "acheron", 7));
    lethe_bloom_stats stats = LETHE_INIT(lethe_bloom_stats);
    status = lethe_bloom_info(loaded, &stats);
    if (status == LETHE_OK) printf("additions %" PRIu64 "\n", stats.additions);
    lethe_bloom_free(loaded);
    return status;
}

int main(void) {
    if (strcmp(lethe_version(), LETHE_VERSION) != 0) {
        fprintf(stderr, "the headers are of %s, the library of %s\n", LETHE_VERSION,
                lethe_version());
        return 1;
    }
    lethe_status status = run();
    if (status != LETHE_OK) {
        fprintf(stderr, "%s\n", lethe_strerror(status));
        return 1;
    }
    return 0;
}
