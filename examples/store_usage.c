/* Counts calls per hour and per day, at the times that the events carry, and prints the hours.
 * cc store_usage.c $(pkg-config --cflags --libs lethe_store) && ./a.out FOLDER
 *
 *     calls in hour 0: 2
 *     calls in hour 1: 0
 *     calls in hour 2: 5
 *     calls at other times: 0
 */
#include <lethe/store.h>
#include <lethe/store_usage.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Midnight of some day, UTC. */
static const uint64_t midnight_ms = 1767225600000;
enum { HOUR_MS = 3600000 };

static lethe_bytes bytes_of(const char *text) {
    lethe_bytes bytes = {text, strlen(text)};
    return bytes;
}

static lethe_status count(lethe_store *store, const char *id, uint64_t time_ms, int64_t calls) {
    lethe_change change;
    memset(&change, 0, sizeof change);
    change.key = bytes_of("calls");
    change.delta = calls;
    lethe_operation operation;
    memset(&operation, 0, sizeof operation);
    operation.id = bytes_of(id);
    operation.changes = &change;
    operation.change_count = 1;
    operation.time_ms = time_ms;
    uint8_t outcome;
    return lethe_store_apply(store, &operation, 1, &outcome, NULL);
}

static bool show(void *context, const lethe_usage_row *row) {
    (void)context;
    if (row->is_rest) {
        printf("calls at other times: %d\n", (int)row->value);
    } else {
        printf("calls in hour %d: %d\n", (int)((row->from_ms - midnight_ms) / HOUR_MS),
               (int)row->value);
    }
    return true;
}

static lethe_status run(lethe_store *store) {
    lethe_status status = count(store, "a", midnight_ms + 5, 2);
    if (status == LETHE_OK) status = count(store, "b", midnight_ms + 2 * HOUR_MS, 5);
    if (status == LETHE_OK) status = count(store, "a", midnight_ms + 5, 2); /* sent again */
    if (status != LETHE_OK) return status;
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    query.by = "1h";
    return lethe_store_usage(store, &query, show, NULL);
}

int main(int count, char **words) {
    lethe_store *store;
    lethe_store_options options = LETHE_INIT(lethe_store_options);
    options.create = true;
    options.event_time = LETHE_SWITCH_ON;
    options.per = "1h,1d";
    lethe_detail detail = {""};
    if (count != 2 || lethe_store_open(words[1], &options, &store, &detail) != LETHE_OK) {
        fprintf(stderr, "store_usage: %s\n", count == 2 ? detail.text : "which folder?");
        return EXIT_FAILURE;
    }
    lethe_status status = run(store);
    lethe_status closed = lethe_store_close(store, &detail);
    return status == LETHE_OK && closed == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
