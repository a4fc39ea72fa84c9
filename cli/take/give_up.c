/* give_up.c - `lethe give-up`: remembers ids without counting anything, so that no attempt that was
 * delayed is applied any more.
 *
 * WHY  What was refused is not remembered. So whoever has turned a user away, and sends the
 *      operation no more, says so; and learns whether an attempt got through after all. */
#include <stdio.h>
#include <stdlib.h>

#include "frame/commands.h"
#include "frame/interrupt.h"
#include "output/output.h"
#include "say/escape.h"
#include "say/json.h"
#include "say/message.h"
#include "store/counters.h"
#include "take/take.h"

/* By a store that checks payloads, what was applied differs from what was given up. */
static const char *word_of(uint8_t outcome) {
    switch (outcome) {
    case LETHE_OUTCOME_APPLIED:
        return "given up";
    case LETHE_OUTCOME_DUPLICATE:
        return "duplicate";
    case LETHE_OUTCOME_MISMATCH:
        return "applied";
    default: /* refused: the window has no memory left */
        return "refused";
    }
}

/* The worse of two exit codes. */
static int code_of(int code, uint8_t outcome) {
    if (outcome == LETHE_OUTCOME_APPLIED || code == EXIT_SKIPPED) return code;
    bool is_known = outcome == LETHE_OUTCOME_DUPLICATE || outcome == LETHE_OUTCOME_MISMATCH;
    return is_known ? EXIT_NEGATIVE : EXIT_SKIPPED;
}

static int print(bool json, lethe_bytes id, uint8_t outcome) {
    if (json) {
        struct json object = json_begin(stdout);
        json_bytes(&object, "id", id);
        json_string(&object, "outcome", word_of(outcome));
        json_end(&object);
        return EXIT_DONE;
    }
    char line[ESCAPE_FACTOR * LETHE_ID_LIMIT_BYTES + 40];
    size_t length = (size_t)snprintf(line, 20, "%s\t", word_of(outcome));
    length += escape_write(id, line + length);
    line[length++] = '\n';
    return output_write(line, length);
}

/* With the store open. */
static int give_up_in(const char *folder, lethe_store *store, const lethe_bytes *ids, size_t count,
                      uint8_t *outcomes) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    lethe_store_info(store, &stats);
    if (stats.event_time) {
        return message_fail(EXIT_USAGE,
                            "%s goes by the time of its events, and giving up has none; count an "
                            "event with that id, its time, and a delta of 0",
                            folder);
    }
    lethe_operation *operations = calloc(count, sizeof *operations);
    if (operations == NULL) return message_fail_memory();
    for (size_t i = 0; i < count; i++) {
        operations[i] = (lethe_operation){.id = ids[i], .flags = LETHE_OPERATION_GIVE_UP};
    }
    lethe_status status = lethe_store_apply(store, operations, count, outcomes, NULL);
    free(operations);
    if (status == LETHE_OK) return EXIT_DONE;
    return store_fail_call(status, "write the store", folder, store);
}

static int give_up(const struct arguments *arguments, const lethe_bytes *ids, size_t count,
                   uint8_t *outcomes) {
    if (arguments_has(arguments, "redis")) return give_up_redis(arguments, ids, count, outcomes);
    struct counters counters;
    interrupt_begin();
    int code = counters_open(arguments, true, &counters);
    if (code != EXIT_DONE) return code;
    code = give_up_in(counters.name, counters.store, ids, count, outcomes);
    return counters_close(&counters, code);
}

/* With room for the ids and what becomes of them. */
static int run_with(const struct arguments *arguments, lethe_bytes *ids, uint8_t *outcomes) {
    size_t count = arguments->operand_count;
    int code = counters_check(arguments);
    for (size_t i = 0; i < count && code == EXIT_DONE; i++)
        code = store_read_word(&store_id, arguments->operands[i], &ids[i]);
    if (code == EXIT_DONE) code = give_up(arguments, ids, count, outcomes);
    int negative = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        negative = code_of(negative, outcomes[i]);
        code = print(arguments_has(arguments, "json"), ids[i], outcomes[i]);
    }
    if (code == EXIT_DONE && negative == EXIT_SKIPPED) {
        return message_fail(EXIT_SKIPPED, "some ids were not given up: the window has no memory "
                                          "left for them; give them up again later");
    }
    return code == EXIT_DONE ? negative : code;
}

int run_give_up(const struct arguments *arguments) {
    size_t count = arguments->operand_count;
    lethe_bytes *ids = calloc(count, sizeof *ids);
    uint8_t *outcomes = calloc(count, sizeof *outcomes);
    bool has_room = ids != NULL && outcomes != NULL;
    int code = has_room ? run_with(arguments, ids, outcomes) : message_fail_memory();
    free(ids);
    free(outcomes);
    return code;
}
