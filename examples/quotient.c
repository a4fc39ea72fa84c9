/* A set that counts and removes, and grows by itself.
 * cc quotient.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     styx: 2
 *     after a removal: 1
 *     after 10000 keys: doubled 7 times
 */
#include <lethe/quotient.h>
#include <stdio.h>
#include <stdlib.h>

static lethe_status run(lethe_quotient *filter) {
    lethe_status status = lethe_quotient_add(filter, "styx", 4, 2);
    if (status != LETHE_OK) return status;
    printf("styx: %d\n", (int)lethe_quotient_count(filter, "styx", 4));
    status = lethe_quotient_remove(filter, "styx", 4, 1);
    if (status != LETHE_OK) return status;
    printf("after a removal: %d\n", (int)lethe_quotient_count(filter, "styx", 4));
    for (uint64_t key = 0; key < 10000 && status == LETHE_OK; key++) {
        lethe_hash hash = lethe_hash_u64(lethe_quotient_seed(filter), key);
        status = lethe_quotient_add_hash(filter, hash, 1);
    }
    lethe_quotient_stats stats = LETHE_INIT(lethe_quotient_stats);
    if (status == LETHE_OK) status = lethe_quotient_info(filter, &stats);
    if (status == LETHE_OK) printf("after 10000 keys: doubled %d times\n", (int)stats.doublings);
    return status;
}

int main(void) {
    lethe_quotient_options options = LETHE_INIT(lethe_quotient_options);
    options.capacity = 100;
    options.grow_to = 1000000;
    lethe_quotient *filter;
    lethe_status status = lethe_quotient_new(&options, &filter);
    if (status == LETHE_OK) status = run(filter);
    lethe_quotient_free(filter);
    if (status != LETHE_OK) fprintf(stderr, "lethe: %s\n", lethe_strerror(status));
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
