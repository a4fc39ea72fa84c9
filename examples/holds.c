/* A call that costs at most 30 units, under a quota of 100: set the most aside, settle what it was.
 * cc holds.c $(pkg-config --cflags --libs lethe_store) && ./a.out FOLDER
 *
 *     call-1: held, 70 left
 *     call-2, of 80: limited, 70 left
 *     call-1, which took 12: settled, 88 left
 *     quota used: 12
 */
#include <lethe/holds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lethe_bytes bytes_of(const char *text) {
    lethe_bytes bytes = {text, strlen(text)};
    return bytes;
}

/* Sets an amount aside for a minute, under the quota. */
static lethe_status place(lethe_store *store, const char *id, int64_t amount,
                          lethe_hold_answer *answer, lethe_limit *limit) {
    lethe_hold hold = LETHE_INIT(lethe_hold);
    hold.id = bytes_of(id);
    hold.key = bytes_of("quota:alice");
    hold.amount = amount;
    hold.max = 100;
    hold.lease_ms = 60000;
    return lethe_hold_place(store, &hold, answer, limit);
}

static lethe_status run(lethe_store *store) {
    lethe_hold_answer answer;
    lethe_limit limit;
    lethe_status status = place(store, "call-1", 30, &answer, &limit);
    if (status != LETHE_OK) return status;
    printf("call-1: %s, %d left\n", lethe_hold_answer_name(answer), (int)limit.left);
    status = place(store, "call-2", 80, &answer, &limit);
    if (status != LETHE_OK) return status;
    printf("call-2, of 80: %s, %d left\n", lethe_hold_answer_name(answer), (int)limit.left);
    status = lethe_hold_settle(store, bytes_of("call-1"), 12, 0, &answer, &limit);
    if (status != LETHE_OK) return status;
    printf("call-1, which took 12: %s, %d left\n", lethe_hold_answer_name(answer), (int)limit.left);
    lethe_bytes key = bytes_of("quota:alice");
    int64_t value;
    bool found;
    status = lethe_store_get(store, &key, 1, &value, &found);
    if (status == LETHE_OK) printf("quota used: %d\n", (int)value);
    return status;
}

int main(int count, char **words) {
    lethe_store *store;
    lethe_store_options options = LETHE_INIT(lethe_store_options);
    options.create = true;
    lethe_detail detail = {""};
    if (count != 2 || lethe_store_open(words[1], &options, &store, &detail) != LETHE_OK) {
        fprintf(stderr, "holds: %s\n", count == 2 ? detail.text : "which folder?");
        return EXIT_FAILURE;
    }
    lethe_status status = run(store);
    lethe_status closed = lethe_store_close(store, &detail);
    return status == LETHE_OK && closed == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
