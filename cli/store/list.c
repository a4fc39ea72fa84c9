/* list.c - `lethe list`: all counters, by their keys. */
#include <string.h>

#include "frame/commands.h"
#include "say/escape.h"
#include "say/message.h"
#include "store/counters.h"

struct listing {
    struct counters counters;
    lethe_bytes prefix;
    int code;
};

static bool print_one(void *context, lethe_bytes key, int64_t value) {
    struct listing *listing = context;
    lethe_bytes prefix = listing->prefix;
    if (key.size < prefix.size || memcmp(key.data, prefix.data, prefix.size) != 0) return false;
    listing->code = store_print(listing->counters.printing, key, value);
    return listing->code == EXIT_DONE;
}

int run_list(const struct arguments *arguments) {
    struct listing listing = {.prefix = {.data = ""}};
    const char *prefix = arguments_text(arguments, "prefix");
    char key[ESCAPE_FACTOR * LETHE_KEY_LIMIT_BYTES];
    int code = counters_check(arguments);
    if (code == EXIT_DONE && prefix != NULL) {
        lethe_bytes text = {.data = prefix, .size = strlen(prefix)};
        if (text.size > sizeof key) {
            return message_fail(EXIT_USAGE, "--prefix is longer than any key; give a shorter one");
        }
        code = store_read_key(text, EXIT_USAGE, key, &listing.prefix);
    }
    if (code == EXIT_DONE) code = counters_open(arguments, false, &listing.counters);
    if (code != EXIT_DONE) return code;
    code = counters_each(&listing.counters, listing.prefix, print_one, &listing);
    if (listing.code != EXIT_DONE) code = listing.code;
    return counters_close(&listing.counters, code);
}
