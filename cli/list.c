/* list.c - `lethe list`: all counters, by their keys. */
#include <string.h>

#include "commands.h"
#include "counters.h"
#include "escape.h"
#include "message.h"

struct listing {
    lethe_bytes prefix;
    bool json;
    int code;
};

static bool print_one(void *context, lethe_bytes key, int64_t value) {
    struct listing *listing = context;
    lethe_bytes prefix = listing->prefix;
    if (key.size < prefix.size || memcmp(key.data, prefix.data, prefix.size) != 0) return false;
    listing->code = store_print(key, value, listing->json);
    return listing->code == EXIT_DONE;
}

static int run(const struct arguments *arguments) {
    struct listing listing = {.json = arguments_has(arguments, "json"), .prefix = {.data = ""}};
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
    struct counters counters;
    if (code == EXIT_DONE) code = counters_open(arguments, false, &counters);
    if (code != EXIT_DONE) return code;
    code = counters_each(&counters, listing.prefix, print_one, &listing);
    if (listing.code != EXIT_DONE) code = listing.code;
    return counters_close(&counters, code);
}

const struct command command_list = {
    .path = "list",
    .summary = "print all counters, or those that begin alike",
    .synopses = (const char *const[]){"--db DIR [--prefix P] [--json]",
                                      "--redis URL --table T [--prefix P] [--json]", NULL},
    .description =
        (const char *const[]){
            "Prints each counter as its key, a tab and its value, in the order of the keys' bytes. "
            "A store that keeps a sketch can't: its keys are not stored. "
            "Keys are escaped as in the lines that `lethe count` reads. Those in a server are all "
            "fetched first, which takes memory for them.",
            NULL},
    .options =
        (const struct option[]){
            OPTION_DB("the folder of the counters"),
            OPTION_REDIS,
            OPTION_TABLE,
            {.name = "prefix", .value = "P", .help = "only counters whose keys begin with this"},
            OPTION_JSON("print an object with key and value a line"),
            {0}},
    .examples =
        (const struct example[]){
            {"The counters of one user", "lethe list --db usage --prefix user-42/"}, {0}},
    .exit_done = "done, also when there is none",
    .run = run,
};
