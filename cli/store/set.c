/* set.c - `lethe set`: a counter changed by hand. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frame/commands.h"
#include "frame/interrupt.h"
#include "input/integer.h"
#include "say/message.h"
#include "store/store.h"

int run_set(const struct arguments *arguments) {
    const char *folder, *text = arguments->operands[1];
    int64_t value = 0;
    lethe_bytes *keys;
    lethe_store *store;
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
    code = store_open(folder, NULL, &store);
    if (code == EXIT_DONE) {
        lethe_status status = lethe_store_set(store, keys, &value, 1);
        if (status == LETHE_EINVAL && store_has_sketch(store)) {
            code = message_fail(EXIT_USAGE,
                                "%s keeps a sketch: it has no counters to set; count a delta "
                                "instead",
                                folder);
        } else if (status != LETHE_OK)
            code = store_fail_call(status, "write the store", folder, store);
        code = store_close(folder, store, code);
        if (code == EXIT_DONE && arguments_has(arguments, "json")) {
            code = store_print(keys[0], value, true);
        }
    }
    free(keys);
    return code;
}
