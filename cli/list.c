/* list.c - `lethe list`: all counters, by their keys. */
#include <string.h>

#include "commands.h"
#include "escape.h"
#include "message.h"
#include "store.h"

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
    const char *prefix = arguments_text(arguments, "prefix"), *folder;
    char key[ESCAPE_FACTOR * LETHE_KEY_LIMIT_BYTES];
    int code = store_folder(arguments, &folder);
    if (code == EXIT_DONE && prefix != NULL) {
        lethe_bytes text = {.data = prefix, .size = strlen(prefix)};
        if (text.size > sizeof key) {
            return message_fail(EXIT_USAGE, "--prefix is longer than any key; give a shorter one");
        }
        code = store_read_key(text, EXIT_USAGE, key, &listing.prefix);
    }
    lethe_counter *counter;
    if (code == EXIT_DONE) code = store_open_reader(arguments, &counter);
    if (code != EXIT_DONE) return code;
    lethe_status status = lethe_counter_each(counter, listing.prefix, print_one, &listing);
    code = listing.code;
    if (code == EXIT_DONE && status != LETHE_OK) {
        code = store_fail_call(status, "read the store", folder, counter);
    }
    return store_close(folder, counter, code);
}

const struct command command_list = {
    .path = "list",
    .summary = "print all counters, or those that begin alike",
    .synopses = (const char *const[]){"--db DIR [--prefix P] [--json]", NULL},
    .description =
        (const char *const[]){
            "Prints each counter as its key, a tab and its value, in the order of the keys' bytes. "
            "Keys are escaped as in the lines that `lethe count` reads.",
            NULL},
    .options =
        (const struct option[]){
            OPTION_DB("the folder of the counters"),
            {.name = "prefix", .value = "P", .help = "only counters whose keys begin with this"},
            OPTION_JSON("print an object with key and value a line"),
            {0}},
    .examples =
        (const struct example[]){
            {"The counters of one user", "lethe list --db usage --prefix user-42/"}, {0}},
    .exit_done = "done, also when there is none",
    .run = run,
};
