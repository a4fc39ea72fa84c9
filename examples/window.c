/* Counts clicks that may be sent twice: a retry within ten minutes is recognised and not counted.
 * cc window.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     click-1 at   0 s: counted
 *     click-2 at   1 s: counted
 *     click-1 at   2 s: duplicate
 *     click-3 at   3 s: counted
 *     click-1 at 900 s: counted
 *     4 clicks
 */
#include <lethe/window.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    /* Time is an argument: a program would take it from its clock, in milliseconds. */
    static const struct {
        const char *id;
        uint64_t now_ms;
    } clicks[] = {
        {"click-1", 0},    {"click-2", 1000},   {"click-1", 2000},
        {"click-3", 3000}, {"click-1", 900000},
    };
    lethe_window *window;
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .window_ms = 600000, .error = 1e-9);
    lethe_status status = lethe_window_new(&options, &window);
    if (status != LETHE_OK) {
        fprintf(stderr, "lethe: %s\n", lethe_strerror(status));
        return EXIT_FAILURE;
    }
    int count = 0;
    for (size_t i = 0; i < sizeof clicks / sizeof clicks[0]; i++) {
        lethe_hash id =
            lethe_hash_bytes(lethe_window_seed(window), clicks[i].id, strlen(clicks[i].id));
        lethe_answer answer;
        status = lethe_window_add_and_test(window, id, clicks[i].now_ms, &answer);
        if (status != LETHE_OK) break; /* out of memory: count nothing, ask for a retry */
        count += answer == LETHE_ANSWER_FRESH;
        printf("%s at %3d s: %s\n", clicks[i].id, (int)(clicks[i].now_ms / 1000),
               answer == LETHE_ANSWER_FRESH ? "counted" : "duplicate");
    }
    printf("%d clicks\n", count);
    lethe_window_free(window);
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
