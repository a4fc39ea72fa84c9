/* top.c - `lethe top`: the largest counters. */
#include "frame/commands.h"
#include "say/message.h"
#include "store/counters.h"

struct listing {
    bool json;
    int code;
};

static bool print_one(void *context, lethe_bytes key, int64_t value) {
    struct listing *listing = context;
    listing->code = store_print(key, value, listing->json);
    return listing->code == EXIT_DONE;
}

int run_top(const struct arguments *arguments) {
    struct listing listing = {.json = arguments_has(arguments, "json")};
    uint64_t number = 20;
    struct counters counters;
    int code = counters_check(arguments);
    if (code == EXIT_DONE) code = arguments_count(arguments, "number", 1, 10000000, &number);
    if (code == EXIT_DONE) code = counters_open(arguments, false, &counters);
    if (code != EXIT_DONE) return code;
    code = counters_top(&counters, (size_t)number, print_one, &listing);
    if (listing.code != EXIT_DONE) code = listing.code;
    return counters_close(&counters, code);
}
