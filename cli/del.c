/* del.c - `lethe del`: counters deleted by hand. */
#include <stdlib.h>

#include "commands.h"
#include "counters.h"
#include "events_problem.h"
#include "interrupt.h"
#include "json.h"
#include "message.h"

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

static int run(const struct arguments *arguments) {
    size_t count = arguments->operand_count;
    lethe_bytes *keys;
    struct counters counters;
    int code = counters_check(arguments);
    if (code == EXIT_DONE) code = store_read_keys(arguments->operands, count, &keys);
    if (code != EXIT_DONE) return code;
    bool *existed = calloc(count, sizeof *existed);
    if (existed == NULL) {
        free(keys);
        return message_fail(EXIT_ENVIRONMENT, "not enough memory; free some");
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

const struct command command_del = {
    .path = "del",
    .summary = "delete counters",
    .synopses = (const char *const[]){"--db DIR [--json] KEY...",
                                      "--redis URL --table T [--json] KEY...", NULL},
    .description =
        (const char *const[]){
            "Deletes counters. The ids of the events that were counted in them are still "
            "remembered until they leave the window. Keys are escaped as in the lines that "
            "`lethe count` reads.",
            NULL},
    .options =
        (const struct option[]){OPTION_DB("the folder of the counters"),
                                OPTION_REDIS,
                                OPTION_TABLE,
                                OPTION_JSON("print an object a line with the key and whether it "
                                            "existed"),
                                {0}},
    .examples = (const struct example[]){{"Forget a page", "lethe del --db clicks /old"}, {0}},
    .exit_done = "all of them are deleted",
    .exit_negative = "at least one did not exist; the others are deleted",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .run = run,
};
