/* The forgetful Bloom filter: an id is recognised for a minute, and then forgotten.
 * cc forgetful.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     after   0 s: fresh
 *     after  60 s: duplicate
 *     after  90 s: fresh
 */
#include <lethe/forgetful.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    lethe_forgetful_options options = LETHE_INIT(lethe_forgetful_options);
    options.window_ms = 60000;
    options.error = 1e-9;
    lethe_forgetful *filter;
    lethe_status status = lethe_forgetful_new(&options, &filter);
    lethe_hash id = lethe_hash_bytes(lethe_forgetful_seed(filter), "click-1", 7);
    static const uint64_t seconds[] = {0, 60, 90};
    for (int i = 0; i < 3 && status == LETHE_OK; i++) {
        lethe_answer answer;
        status = lethe_forgetful_add_and_test(filter, id, seconds[i] * 1000, &answer);
        if (status == LETHE_OK) {
            printf("after %3d s: %s\n", (int)seconds[i],
                   answer == LETHE_ANSWER_FRESH ? "fresh" : "duplicate");
        }
    }
    lethe_forgetful_free(filter);
    if (status != LETHE_OK) fprintf(stderr, "lethe: %s\n", lethe_strerror(status));
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
