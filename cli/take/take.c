/* take.c - `lethe take`: adds to a counter unless that would pass a limit, once per id. */
#include "take/take.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "events/number.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "output/output.h"
#include "say/escape.h"
#include "say/json.h"
#include "say/message.h"
#include "store/counters.h"

int take_read_amount(const char *text, unsigned scale, int64_t *out) {
    return event_read_number("amount", text, scale, out);
}

static int check_time(const struct taking *taking, const lethe_store *store) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    lethe_store_info(store, &stats);
    if (!stats.event_time) return EXIT_DONE;
    return message_fail(EXIT_USAGE,
                        "%s goes by the time of its events, and what is taken now has none; use "
                        "another store, or 'lethe count --limit'",
                        taking->folder);
}

/* With the store open. */
static int take_from(lethe_store *store, struct taking *taking) {
    int64_t amount = 0;
    taking->printing.scale = lethe_store_scale(store);
    int code = bounds_place(&taking->bounds, store, taking->folder);
    if (code == EXIT_DONE) code = check_time(taking, store);
    if (code == EXIT_DONE) code = take_read_amount(taking->amount, taking->printing.scale, &amount);
    if (code == EXIT_DONE) code = bounds_scale(&taking->bounds, taking->printing.scale);
    if (code != EXIT_DONE) return code;
    lethe_status status = bounds_apply(store, taking->id, taking->key, amount, &taking->bounds,
                                       &taking->outcome, &taking->limit);
    if (status == LETHE_OK) return EXIT_DONE;
    return store_fail_call(status, "write the store", taking->folder, store);
}

static int take_store(const struct arguments *arguments, struct taking *taking) {
    lethe_store_options options = LETHE_INIT(lethe_store_options);
    lethe_store *store;
    int code = store_read_new(arguments, &options);
    if (code == EXIT_DONE) code = store_folder(arguments, &taking->folder);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    code = store_open(taking->folder, &options, &store);
    if (code != EXIT_DONE) return code;
    return store_close(taking->folder, store, take_from(store, taking));
}

static const char *word_of(lethe_outcome outcome) {
    if (outcome == LETHE_OUTCOME_LIMITED) return "limited";
    return outcome == LETHE_OUTCOME_DUPLICATE ? "duplicate" : "applied";
}

static int print(const struct taking *taking) {
    const lethe_limit *limit = &taking->limit;
    struct decimal_text value, left;
    decimal_show(limit->value, taking->printing.scale, &value);
    decimal_show(limit->left, taking->printing.scale, &left);
    bool resets = limit->resets_ms != LETHE_NEVER_RESETS;
    if (taking->printing.json) {
        struct json object = json_begin(stdout);
        json_bytes(&object, "id", taking->id);
        json_string(&object, "outcome", word_of(taking->outcome));
        json_bytes(&object, "key", taking->key);
        json_number(&object, "value", value.text);
        json_number(&object, "left", left.text);
        if (resets)
            json_signed(&object, "resets_ms", limit->resets_ms);
        else
            json_null(&object, "resets_ms");
        json_end(&object);
        return EXIT_DONE;
    }
    char line[ESCAPE_FACTOR * LETHE_KEY_LIMIT_BYTES + 160];
    size_t length = (size_t)snprintf(line, 20, "%s\t", word_of(taking->outcome));
    length += escape_write(taking->key, line + length);
    length += (size_t)snprintf(line + length, 80, "\t%s\t%s\t", value.text, left.text);
    length += resets ? (size_t)snprintf(line + length, 40, "%" PRId64 "\n", limit->resets_ms)
                     : (size_t)snprintf(line + length, 40, "-\n");
    return output_write(line, length);
}

static int report(const struct taking *taking) {
    switch (taking->outcome) {
    case LETHE_OUTCOME_APPLIED:
    case LETHE_OUTCOME_DUPLICATE:
        return print(taking);
    case LETHE_OUTCOME_LIMITED: {
        int code = print(taking);
        return code == EXIT_DONE ? EXIT_NEGATIVE : code;
    }
    case LETHE_OUTCOME_MISMATCH:
        return message_fail(EXIT_BAD_DATA, "this id came before with another key or amount, or was "
                                           "given up; nothing was taken, use a new id");
    case LETHE_OUTCOME_OVERFLOW:
        return message_fail(EXIT_BAD_DATA, "the counter would exceed the range of 64 bits; nothing "
                                           "was taken, check the amount");
    case LETHE_OUTCOME_REFUSED:
        return message_fail(EXIT_SKIPPED, "the window has no memory left for the id; nothing was "
                                          "taken, send it again later");
    default:
        return message_fail(EXIT_ENVIRONMENT,
                            "nothing was taken, and the answer (%d) is not one "
                            "that taking has; report this",
                            (int)taking->outcome);
    }
}

/* What belongs to stores only. */
static int check_redis(const struct arguments *arguments) {
    static const struct {
        const char *name, *why;
    } all[] = {{"window", "a table has its own; make it with ONCE.CREATE"},
               {"error", "a table has its own; make it with ONCE.CREATE"},
               {"scale", "a table has whole numbers"},
               {"per", "a table counts in the periods that ONCE.CREATE gave it"},
               {"zone", "a table goes by UTC"},
               {"keep", "a table keeps what ONCE.CREATE says"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!arguments_has(arguments, all[i].name)) continue;
        return arguments_fail(arguments, "--%s cannot be used with --redis: %s", all[i].name,
                              all[i].why);
    }
    return EXIT_DONE;
}

int run_take(const struct arguments *arguments) {
    struct taking taking = {.printing = {.json = arguments_has(arguments, "json")}};
    struct decimal number;
    bool is_server = arguments_has(arguments, "redis");
    int code = counters_check(arguments);
    if (code == EXIT_DONE && is_server) code = check_redis(arguments);
    if (code == EXIT_DONE) code = bounds_read(arguments, "limit", true, &taking.bounds);
    if (code == EXIT_DONE) code = bounds_read(arguments, "min", false, &taking.bounds);
    if (code == EXIT_DONE && taking.bounds.count == 0) {
        code = arguments_fail(arguments,
                              "--limit MAX or --min MIN is missing: what the counter may not pass");
    }
    if (code == EXIT_DONE) code = store_read_word(&store_id, arguments->operands[0], &taking.id);
    if (code == EXIT_DONE) {
        char *text = arguments->operands[1];
        code = store_read_key((lethe_bytes){text, strlen(text)}, EXIT_USAGE, text, &taking.key);
    }
    taking.amount = arguments->operands[2];
    /* What is no number by any scale needs no store to be refused. */
    if (code == EXIT_DONE &&
        !decimal_parse((lethe_bytes){taking.amount, strlen(taking.amount)}, &number)) {
        int64_t ignored;
        code = take_read_amount(taking.amount, 0, &ignored);
    }
    if (code == EXIT_DONE)
        code = is_server ? take_redis(arguments, &taking) : take_store(arguments, &taking);
    return code == EXIT_DONE ? report(&taking) : code;
}
