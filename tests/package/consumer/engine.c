/* A small program as a user of liblethe_counter would write it: an operation, and its copy. */
#include <inttypes.h>
#include <stdio.h>

#include <lethe/counter.h>

int main(int count, char **words) {
    if (count != 2) return 2;
    lethe_counter_options options = {.create = true};
    lethe_detail detail = {""};
    lethe_counter *counter;
    if (lethe_counter_open(words[1], &options, &counter, &detail) != LETHE_OK) {
        fprintf(stderr, "%s\n", detail.text);
        return 1;
    }
    lethe_change change = {.key = {"likes", 5}, .delta = 3};
    lethe_operation operation = {.id = {"payment-1", 9}, .changes = &change, .change_count = 1};
    lethe_operation twice[] = {operation, operation};
    uint8_t outcomes[2];
    int64_t value = 0;
    bool found = false;
    lethe_status status = lethe_counter_apply(counter, twice, 2, outcomes, NULL);
    if (status == LETHE_OK) {
        status = lethe_counter_get(counter, &change.key, 1, &value, &found);
    }
    if (status != LETHE_OK || lethe_counter_close(counter, &detail) != LETHE_OK) {
        fprintf(stderr, "%s\n", detail.text);
        return 1;
    }
    printf("applied %d\ncopies %d\nlikes %" PRId64 "\n", outcomes[0] == LETHE_APPLIED,
           outcomes[1] == LETHE_COPY, value);
    return 0;
}
