/* How often did each word occur, and which are the most frequent? In memory of a fixed size.
 * cc sketch.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     the: about 3
 *     1. the, 3
 *     2. river, 2
 */
#include <lethe/sketch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lethe_status run(lethe_sketch *sketch) {
    static const char *const words[] = {"the", "river", "of", "the", "river", "the"};
    for (int i = 0; i < 6; i++) {
        lethe_status status = lethe_sketch_add(sketch, words[i], strlen(words[i]), 1);
        if (status != LETHE_OK) return status;
    }
    printf("the: about %d\n", (int)lethe_sketch_count(sketch, "the", 3, NULL));
    lethe_sketch_top_entry entries[2];
    size_t listed;
    lethe_status status = lethe_sketch_top(sketch, entries, 2, &listed);
    for (size_t i = 0; i < listed && status == LETHE_OK; i++) {
        printf("%d. %.*s, %d\n", (int)i + 1, (int)entries[i].key.size,
               (const char *)entries[i].key.data, (int)entries[i].count);
    }
    return status;
}

int main(void) {
    lethe_sketch_options options = LETHE_INIT(lethe_sketch_options);
    options.kind = LETHE_SKETCH_FID;
    options.memory_bytes = 4 << 20;
    options.top = 10;
    lethe_sketch *sketch;
    lethe_status status = lethe_sketch_new(&options, &sketch);
    if (status == LETHE_OK) status = run(sketch);
    lethe_sketch_free(sketch);
    if (status != LETHE_OK) fprintf(stderr, "lethe: %s\n", lethe_strerror(status));
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
