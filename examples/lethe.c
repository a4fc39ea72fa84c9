/* All of liblethe with one include: a set that removes, and the same keys counted.
 * cc lethe.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     red: seen 2 times, counted 2
 *     blue: seen 1 times, counted 1
 *     green: seen 0 times, counted 0
 */
#include <lethe/lethe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    static const char *const words[] = {"red", "blue", "red"};
    static const char *const asked[] = {"red", "blue", "green"};
    lethe_quotient *seen = NULL;
    lethe_sketch *counts = NULL;
    lethe_status status = lethe_quotient_new(NULL, &seen);
    if (status == LETHE_OK) status = lethe_sketch_new(NULL, &counts);
    for (int i = 0; i < 3 && status == LETHE_OK; i++) {
        status = lethe_quotient_add(seen, words[i], strlen(words[i]), 1);
        if (status == LETHE_OK) status = lethe_sketch_add(counts, words[i], strlen(words[i]), 1);
    }
    for (int i = 0; i < 3 && status == LETHE_OK; i++) {
        printf("%s: seen %d times, counted %d\n", asked[i],
               (int)lethe_quotient_count(seen, asked[i], strlen(asked[i])),
               (int)lethe_sketch_count(counts, asked[i], strlen(asked[i]), NULL));
    }
    lethe_sketch_free(counts);
    lethe_quotient_free(seen);
    if (status != LETHE_OK) fprintf(stderr, "lethe: %s\n", lethe_strerror(status));
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
