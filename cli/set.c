/* set.c - `lethe set`: a counter changed by hand. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "integer.h"
#include "interrupt.h"
#include "message.h"
#include "store.h"

static int run(const struct arguments *arguments) {
    const char *folder, *text = arguments->operands[1];
    int64_t value = 0;
    lethe_bytes *keys;
    lethe_counter *counter;
    int code = store_folder(arguments, &folder);
    if (code != EXIT_DONE) return code;
    if (integer_parse((lethe_bytes){.data = text, .size = strlen(text)}, &value) != INTEGER_FINE) {
        return message_fail(EXIT_USAGE,
                            "the value '%s' is not a whole number of 64 bits; give one from "
                            "%" PRId64 " to %" PRId64,
                            text, INT64_MIN, INT64_MAX);
    }
    code = store_read_keys(arguments->operands, 1, &keys);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    code = store_open(folder, NULL, &counter);
    if (code == EXIT_DONE) {
        lethe_status status = lethe_counter_set(counter, keys, &value, 1);
        if (status == LETHE_EINVAL && store_has_sketch(counter)) {
            code = message_fail(EXIT_USAGE,
                                "%s keeps a sketch: it has no counters to set; count a delta "
                                "instead",
                                folder);
        } else if (status != LETHE_OK)
            code = store_fail_call(status, "write the store", folder, counter);
        code = store_close(folder, counter, code);
        if (code == EXIT_DONE && arguments_has(arguments, "json")) {
            code = store_print(keys[0], value, true);
        }
    }
    free(keys);
    return code;
}

const struct command command_set = {
    .path = "set",
    .summary = "set a counter to a value",
    .synopses = (const char *const[]){"--db DIR [--json] KEY VALUE", NULL},
    .description =
        (const char *const[]){
            "Sets a counter, whatever it was, also one that is not there yet. This is for putting "
            "things right by hand: it has no id, so doing it again later undoes what was counted "
            "in between. The key is escaped as in the lines that `lethe count` reads.",
            NULL},
    .options = (const struct option[]){OPTION_DB("the folder of the counters"),
                                       OPTION_JSON("print an object with key and value"),
                                       {0}},
    .examples =
        (const struct example[]){{"Start again from zero", "lethe set --db clicks /home 0"}, {0}},
    .exit_done = "the counter is set, and on disk",
    .operands_least = 2,
    .operands_most = 2,
    .run = run,
};
