/* set.c - `lethe set`: a counter changed by hand. */
#include <stdlib.h>
#include <string.h>

#include "events/number.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "say/message.h"
#include "store/store.h"

static int set_counter(const char *folder, lethe_store *store, lethe_bytes key, int64_t value) {
    lethe_status status = lethe_store_set(store, &key, &value, 1);
    if (status == LETHE_OK) return EXIT_DONE;
    if (status == LETHE_EINVAL && store_has_sketch(store)) {
        return message_fail(EXIT_USAGE,
                            "%s keeps a sketch: it has no counters to set; count a delta instead",
                            folder);
    }
    return store_fail_call(status, "write the store", folder, store);
}

int run_set(const struct arguments *arguments) {
    const char *folder, *text = arguments->operands[1];
    struct store_printing printing = {.json = arguments_has(arguments, "json")};
    struct decimal number;
    int64_t value = 0;
    lethe_bytes *keys;
    lethe_store *store;
    int code = store_folder(arguments, &folder);
    /* What is no number by any scale needs no store to be refused. */
    if (code == EXIT_DONE && !decimal_parse((lethe_bytes){text, strlen(text)}, &number)) {
        code = event_read_number("value", text, 0, &value);
    }
    if (code == EXIT_DONE) code = store_read_keys(arguments->operands, 1, &keys);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    code = store_open(folder, NULL, &store);
    if (code == EXIT_DONE) {
        printing.scale = lethe_store_scale(store);
        code = event_read_number("value", text, printing.scale, &value);
        if (code == EXIT_DONE) code = set_counter(folder, store, keys[0], value);
        code = store_close(folder, store, code);
        if (code == EXIT_DONE && printing.json) code = store_print(printing, keys[0], value);
    }
    free(keys);
    return code;
}
