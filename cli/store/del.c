/* del.c - `lethe del`: counters deleted by hand. */
#include <stdlib.h>

#include "events/problem.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "say/json.h"
#include "say/message.h"
#include "store/counters.h"

/* Says what became of each key. */
static int report_deleted(const char *name, const lethe_bytes *keys, const bool *existed,
                          size_t count, bool json) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < count; i++) {
        if (!existed[i]) code = EXIT_NEGATIVE;
        if (json) {
            struct json object = json_begin(stdout);
            json_bytes(&object, "key", keys[i]);
            json_boolean(&object, "existed", existed[i]);
            json_end(&object);
        } else if (!existed[i]) {
            struct event_excerpt excerpt;
            message_note("%s has no counter '%s'", name, event_excerpt(keys[i], &excerpt));
        }
    }
    return code;
}

int run_del(const struct arguments *arguments) {
    size_t count = arguments->operand_count;
    lethe_bytes *keys;
    struct counters counters;
    int code = counters_check(arguments);
    if (code == EXIT_DONE) code = store_read_keys(arguments->operands, count, &keys);
    if (code != EXIT_DONE) return code;
    bool *existed = calloc(count, sizeof *existed);
    if (existed == NULL) {
        free(keys);
        return message_fail_memory();
    }
    interrupt_begin();
    code = counters_open(arguments, true, &counters);
    if (code == EXIT_DONE) {
        int answer = EXIT_DONE;
        code = counters_delete(&counters, keys, count, existed);
        if (code == EXIT_DONE) {
            answer = report_deleted(counters.name, keys, existed, count,
                                    arguments_has(arguments, "json"));
        }
        code = counters_close(&counters, code);
        if (code == EXIT_DONE) code = answer;
    }
    free(existed);
    free(keys);
    return code;
}
