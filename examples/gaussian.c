/* A Gaussian Bloom filter, and the classical one that is in it.
 * cc gaussian.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     styx: perhaps in one, perhaps in the other
 *     its error is smaller than that of the Bloom filter: yes
 */
#include <lethe/gaussian.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    lethe_gaussian_options options = LETHE_INIT(lethe_gaussian_options);
    options.capacity = 10000;
    lethe_gaussian *filter;
    lethe_bloom *inside = NULL;
    lethe_status status = lethe_gaussian_new(&options, &filter);
    lethe_gaussian_add(filter, "styx", 4);
    for (uint64_t key = 0; key < 1000; key++) {
        lethe_gaussian_add_hash(filter, lethe_hash_u64(lethe_gaussian_seed(filter), key));
    }
    if (status == LETHE_OK) status = lethe_gaussian_extract(filter, &inside);
    lethe_gaussian_stats stats = LETHE_INIT(lethe_gaussian_stats);
    if (status == LETHE_OK) status = lethe_gaussian_info(filter, &stats);
    if (status == LETHE_OK) {
        printf("styx: %s in one, %s in the other\n",
               lethe_gaussian_test(filter, "styx", 4) ? "perhaps" : "surely not",
               lethe_bloom_test(inside, "styx", 4) ? "perhaps" : "surely not");
        printf("its error is smaller than that of the Bloom filter: %s\n",
               stats.error_estimate < stats.bloom_error ? "yes" : "no");
    }
    lethe_bloom_free(inside);
    lethe_gaussian_free(filter);
    if (status != LETHE_OK) fprintf(stderr, "lethe: %s\n", lethe_strerror(status));
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
