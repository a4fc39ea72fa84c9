/* A window under a memory cap, with either policy: refuse new ids, or let the error rise.
 * cc policy.c $(pkg-config --cflags --libs lethe) && ./a.out
 *
 *     refuse: ids were refused; strained: memory
 *     degrade: no id was refused; strained: error memory
 */
#include <lethe/policy.h>
#include <lethe/window.h>
#include <stdio.h>
#include <stdlib.h>

static lethe_status fill(const char *title, lethe_policy policy) {
    enum { IDS = 400000 };
    lethe_window_options options = LETHE_INIT(lethe_window_options);
    options.policy = policy;
    options.error = 1e-9;
    options.max_memory_bytes = 2 << 20;
    lethe_window *window;
    lethe_status status = lethe_window_new(&options, &window);
    if (status != LETHE_OK) return status;
    int refused = 0;
    for (uint64_t i = 0; i < IDS; i++) {
        lethe_answer answer;
        status = lethe_window_add_and_test(window, lethe_hash_u64(lethe_window_seed(window), i), i,
                                           &answer);
        refused += answer == LETHE_ANSWER_REFUSED;
        if (status != LETHE_OK && status != LETHE_EFULL) break;
        status = LETHE_OK;
    }
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    if (status == LETHE_OK) status = lethe_window_info(window, IDS, &stats);
    if (status == LETHE_OK) {
        printf("%s: %s refused; strained:%s%s\n", title, refused > 0 ? "ids were" : "no id was",
               (stats.strain & LETHE_STRAIN_ERROR) != 0 ? " error" : "",
               (stats.strain & LETHE_STRAIN_MEMORY) != 0 ? " memory" : "");
    }
    lethe_window_free(window);
    return status;
}

int main(void) {
    lethe_status status = fill("refuse", LETHE_POLICY_REFUSE);
    if (status == LETHE_OK) status = fill("degrade", LETHE_POLICY_DEGRADE);
    if (status != LETHE_OK) fprintf(stderr, "lethe: %s\n", lethe_strerror(status));
    return status == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
