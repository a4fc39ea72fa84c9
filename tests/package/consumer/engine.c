/* A small program as a user of liblethe_store would write it: an operation, and its copy. */
#include <inttypes.h>
#include <stdio.h>

#include <lethe/store.h>

int main(int count, char **words) {
    if (count != 2) return 2;
    lethe_store_options options = LETHE_OPTIONS(lethe_store_options, .create = true);
    lethe_detail detail = {""};
    lethe_store *store;
    if (lethe_store_open(words[1], &options, &store, &detail) != LETHE_OK) {
        fprintf(stderr, "%s\n", detail.text);
        return 1;
    }
    lethe_change change = {.key = {"likes", 5}, .delta = 3};
    lethe_operation operation = {.id = {"payment-1", 9}, .changes = &change, .change_count = 1};
    lethe_operation twice[] = {operation, operation};
    uint8_t outcomes[2];
    int64_t value = 0;
    bool found = false;
    lethe_status status = lethe_store_apply(store, twice, 2, outcomes, NULL);
    if (status == LETHE_OK) {
        status = lethe_store_get(store, &change.key, 1, &value, &found);
    }
    if (status != LETHE_OK || lethe_store_close(store, &detail) != LETHE_OK) {
        fprintf(stderr, "%s\n", detail.text);
        return 1;
    }
    printf("applied %d\ncopies %d\nlikes %" PRId64 "\n", outcomes[0] == LETHE_OUTCOME_APPLIED,
           outcomes[1] == LETHE_OUTCOME_DUPLICATE, value);
    return 0;
}
