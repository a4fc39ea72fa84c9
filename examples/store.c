/* Counts page views from a queue that delivers some messages twice, and continues where it stopped.
 * cc store.c $(pkg-config --cflags --libs lethe_store) && ./a.out FOLDER
 *
 * The counters, the ids and the position in the queue become durable in one step. Kill the program
 * at any moment and run it again: every view counts once. It prints, the first time:
 *
 *     continues at message 0
 *     view-1: applied
 *     view-2: applied
 *     view-1: duplicate
 *     view-3: applied
 *     page:home 2, all 3
 */
#include <lethe/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 4 };
static const struct {
    const char *id, *page;
} queue[MESSAGES] = {
    {"view-1", "page:home"},
    {"view-2", "page:about"},
    {"view-1", "page:home"}, /* sent again: the first answer was lost */
    {"view-3", "page:home"},
};

static lethe_bytes bytes_of(const char *text) {
    lethe_bytes bytes = {.data = text, .size = strlen(text)};
    return bytes;
}

/* The mark says how far the queue was read. */
static bool read_mark(void *context, const lethe_mark *mark) {
    size_t *position = (size_t *)context;
    if (mark->name.size == 5 && memcmp(mark->name.data, "queue", 5) == 0) {
        memcpy(position, mark->value.data, sizeof *position);
    }
    return true;
}

/* Counts message i: one view of its page and one of all pages, both or neither. */
static lethe_status count(lethe_store *store, size_t i) {
    lethe_change changes[] = {{.key = bytes_of(queue[i].page), .delta = 1},
                              {.key = bytes_of("all"), .delta = 1}};
    lethe_operation view = {.id = bytes_of(queue[i].id), .changes = changes, .change_count = 2};
    size_t next = i + 1;
    lethe_mark mark = {.name = bytes_of("queue"), .value = {&next, sizeof next}};
    uint8_t outcome;
    uint64_t ticket;
    lethe_status status = lethe_store_submit(store, &view, 1, &mark, 1, &outcome, NULL, &ticket);
    if (status == LETHE_OK) status = lethe_store_wait(store, ticket); /* now it is durable */
    if (status == LETHE_OK) {
        printf("%s: %s\n", queue[i].id, outcome == LETHE_OUTCOME_APPLIED ? "applied" : "duplicate");
    }
    return status;
}

static lethe_status run(lethe_store *store) {
    size_t position = 0;
    lethe_status status = lethe_store_marks(store, read_mark, &position);
    printf("continues at message %zu\n", position);
    for (size_t i = position; i < MESSAGES && status == LETHE_OK; i++) {
        status = count(store, i);
    }
    lethe_bytes keys[] = {bytes_of("page:home"), bytes_of("all")};
    int64_t values[2];
    bool found[2];
    if (status == LETHE_OK) status = lethe_store_get(store, keys, 2, values, found);
    if (status == LETHE_OK) printf("page:home %d, all %d\n", (int)values[0], (int)values[1]);
    return status;
}

int main(int count, char **words) {
    lethe_store *store;
    lethe_store_options options =
        LETHE_OPTIONS(lethe_store_options, .window_ms = 86400000, .create = true);
    lethe_detail detail;
    if (count != 2 || lethe_store_open(words[1], &options, &store, &detail) != LETHE_OK) {
        fprintf(stderr, "store: %s\n", count == 2 ? detail.text : "which folder?");
        return EXIT_FAILURE;
    }
    lethe_status status = run(store);
    lethe_status closed = lethe_store_close(store, &detail);
    return status == LETHE_OK && closed == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
