/* A Bloom filter in ten lines: skip the lookups that cannot succeed.
 * cc bloom.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     alice: perhaps
 *     bob: surely not
 *     14.4 bits per key
 */
#include <lethe/bloom.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    lethe_bloom *seen;
    lethe_bloom_options options =
        LETHE_OPTIONS(lethe_bloom_options, .capacity = 1000000, .error = 0.001);
    lethe_status status = lethe_bloom_new(&options, &seen);
    if (status != LETHE_OK) {
        fprintf(stderr, "lethe: %s\n", lethe_strerror(status));
        return EXIT_FAILURE;
    }
    lethe_bloom_add(seen, "alice", 5);
    printf("alice: %s\n", lethe_bloom_test(seen, "alice", 5) ? "perhaps" : "surely not");
    printf("bob: %s\n", lethe_bloom_test(seen, "bob", 3) ? "perhaps" : "surely not");
    lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
    lethe_bloom_get_shape(seen, &shape);
    printf("%.1f bits per key\n", (double)shape.bits / 1e6);
    lethe_bloom_free(seen);
}
