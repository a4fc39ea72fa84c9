/* hold.c - `lethe hold place`, `settle` and `release`: sets an amount aside under a limit, and ends
 * that. */
#include "lethe/holds.h"

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
#include "take/take.h"

enum { DEFAULT_LEASE_MS = 60000 };

/* What the command line says, and what became of it. */
struct holding {
    const char *folder;
    lethe_bytes id;
    uint64_t wait_ms;
    lethe_hold hold;
    lethe_hold_answer answer;
    lethe_limit limit;
    bool has_limit; /* the answer says how it stands */
    struct store_printing printing;
};

static int read_words(const struct arguments *arguments, struct holding *out) {
    *out = (struct holding){.wait_ms = STORE_DEFAULT_WAIT_MS,
                            .hold = LETHE_INIT(lethe_hold),
                            .printing = {.json = arguments_has(arguments, "json")}};
    int code = store_folder(arguments, &out->folder);
    if (code == EXIT_DONE) code = store_read_word(&store_id, arguments->operands[0], &out->id);
    if (code == EXIT_DONE)
        code = arguments_duration(arguments, "wait", 1, UINT64_C(86400000), &out->wait_ms);
    return code;
}

/* --- what is printed --- */

static int print_json(const struct holding *holding, const lethe_hold *hold) {
    struct decimal_text value, left;
    struct json object = json_begin(stdout);
    json_bytes(&object, "id", holding->id);
    json_string(&object, "answer", lethe_hold_answer_name(holding->answer));
    if (hold->key.size > 0) json_bytes(&object, "key", hold->key);
    if (holding->has_limit) {
        const lethe_limit *limit = &holding->limit;
        unsigned scale = holding->printing.scale;
        json_number(&object, "value", decimal_show(limit->value, scale, &value));
        json_number(&object, "left", decimal_show(limit->left, scale, &left));
        if (limit->resets_ms != LETHE_NEVER_RESETS)
            json_signed(&object, "resets_ms", limit->resets_ms);
        else
            json_null(&object, "resets_ms");
    }
    if (hold->state == LETHE_HOLD_IS_OPEN) json_integer(&object, "lease_ms", hold->left_ms);
    json_end(&object);
    return EXIT_DONE;
}

static int print_line(const struct holding *holding, const lethe_hold *hold) {
    char line[ESCAPE_FACTOR * LETHE_KEY_LIMIT_BYTES + 160];
    size_t length = (size_t)snprintf(line, 20, "%s\t", lethe_hold_answer_name(holding->answer));
    length += escape_write(hold->key, line + length);
    if (holding->has_limit) {
        const lethe_limit *limit = &holding->limit;
        struct decimal_text value, left;
        decimal_show(limit->value, holding->printing.scale, &value);
        decimal_show(limit->left, holding->printing.scale, &left);
        length += (size_t)snprintf(line + length, 80, "\t%s\t%s\t", value.text, left.text);
        length += limit->resets_ms != LETHE_NEVER_RESETS
                      ? (size_t)snprintf(line + length, 40, "%" PRId64, limit->resets_ms)
                      : (size_t)snprintf(line + length, 40, "-");
    }
    line[length++] = '\n';
    return output_write(line, length);
}

/* An answer that is no refusal by the limit, and changed nothing. */
static int explain(const struct holding *holding) {
    struct event_excerpt excerpt;
    const char *id = event_excerpt(holding->id, &excerpt);
    switch (holding->answer) {
    case LETHE_HOLD_MISMATCH:
        return message_fail(EXIT_BAD_DATA,
                            "'%s' stands for another hold, or ended in another way; nothing was "
                            "changed, see 'lethe hold list --all'",
                            id);
    case LETHE_HOLD_OVERFLOW:
        return message_fail(EXIT_BAD_DATA,
                            "'%s': a sum would exceed the range of 64 bits; nothing was changed, "
                            "check the amount",
                            id);
    default:
        message_note("there is no hold '%s': it was never placed, or ended longer ago than the "
                     "window",
                     id);
        return EXIT_NEGATIVE;
    }
}

/* hold is what the store shows of it now; a hold that was refused shows what was asked for. */
static int report(const struct holding *holding, const lethe_hold *hold) {
    bool is_told = holding->answer == LETHE_HOLD_MISMATCH ||
                   holding->answer == LETHE_HOLD_OVERFLOW || holding->answer == LETHE_HOLD_UNKNOWN;
    int code = EXIT_DONE;
    if (holding->printing.json)
        code = print_json(holding, hold);
    else if (!is_told)
        code = print_line(holding, hold);
    if (code == EXIT_DONE && is_told) return explain(holding);
    return code == EXIT_DONE && holding->answer == LETHE_HOLD_LIMITED ? EXIT_NEGATIVE : code;
}

/* Closes the store, and says what became of it. */
static int finish(struct holding *holding, lethe_store *store, lethe_status status) {
    lethe_hold shown = LETHE_INIT(lethe_hold);
    if (status == LETHE_OK) status = lethe_hold_get(store, holding->id, &shown);
    if (status != LETHE_OK) {
        int code = store_fail_call(status, "write the store", holding->folder, store);
        return store_close(holding->folder, store, code);
    }
    int code = store_close(holding->folder, store, EXIT_DONE);
    if (code == EXIT_DONE)
        code = report(holding, shown.state != LETHE_HOLD_IS_NONE ? &shown : &holding->hold);
    lethe_hold_free(&shown);
    return code;
}

/* --- place --- */

/* With the store open: what depends on its scale and its periods. */
static int read_numbers(const struct arguments *arguments, const lethe_store *store,
                        struct bounds *bounds, struct holding *holding) {
    unsigned scale = holding->printing.scale = lethe_store_scale(store);
    int code = bounds_place(bounds, store, holding->folder);
    if (code == EXIT_DONE)
        code = take_read_amount(arguments->operands[2], scale, &holding->hold.amount);
    if (code == EXIT_DONE && holding->hold.amount < 1)
        code = message_fail(EXIT_USAGE, "the amount '%s' is not above 0", arguments->operands[2]);
    if (code == EXIT_DONE) code = bounds_scale(bounds, scale);
    if (code != EXIT_DONE) return code;
    const struct bound *bound = &bounds->each[0];
    holding->hold.max = bound->value;
    holding->hold.flags = bound->period[0] != '\0' ? LETHE_CHANGE_BUCKET : 0;
    holding->hold.resolution = bound->resolution;
    return EXIT_DONE;
}

static int read_place(const struct arguments *arguments, struct bounds *bounds,
                      struct holding *holding) {
    lethe_hold *hold = &holding->hold;
    char *text = arguments->operands[1];
    hold->lease_ms = DEFAULT_LEASE_MS;
    int code = bounds_read(arguments, "limit", true, bounds);
    if (code == EXIT_DONE && bounds->count != 1)
        code = arguments_fail(arguments, "--limit MAX is missing, or there is more than one: what "
                                         "value and held may become together");
    if (code == EXIT_DONE)
        code = store_read_key((lethe_bytes){text, strlen(text)}, EXIT_USAGE, text, &hold->key);
    if (code == EXIT_DONE)
        code = arguments_duration(arguments, "lease", 1, LETHE_LEASE_LIMIT_MS, &hold->lease_ms);
    hold->id = holding->id;
    return code;
}

int run_hold_place(const struct arguments *arguments) {
    struct holding holding;
    struct bounds bounds = {.count = 0};
    lethe_store_options options = LETHE_INIT(lethe_store_options);
    lethe_store *store;
    int code = read_words(arguments, &holding);
    if (code == EXIT_DONE) code = read_place(arguments, &bounds, &holding);
    if (code == EXIT_DONE) code = store_read_new(arguments, &options);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    code = store_open_in_turn(holding.folder, &options, holding.wait_ms, &store);
    if (code != EXIT_DONE) return code;
    code = read_numbers(arguments, store, &bounds, &holding);
    if (code != EXIT_DONE) return store_close(holding.folder, store, code);
    lethe_status status = lethe_hold_place(store, &holding.hold, &holding.answer, &holding.limit);
    holding.has_limit = status == LETHE_OK && holding.answer != LETHE_HOLD_MISMATCH;
    return finish(&holding, store, status);
}

/* --- settle and release --- */

static int open_for(struct holding *holding, lethe_store **store) {
    interrupt_begin();
    int code = store_open_in_turn(holding->folder, &LETHE_OPTIONS(lethe_store_options),
                                  holding->wait_ms, store);
    if (code == EXIT_DONE) holding->printing.scale = lethe_store_scale(*store);
    return code;
}

int run_hold_settle(const struct arguments *arguments) {
    struct holding holding;
    lethe_store *store;
    int64_t actual;
    int code = read_words(arguments, &holding);
    if (code == EXIT_DONE) code = open_for(&holding, &store);
    if (code != EXIT_DONE) return code;
    code = take_read_amount(arguments->operands[1], holding.printing.scale, &actual);
    if (code == EXIT_DONE && actual < 0)
        code = message_fail(EXIT_USAGE, "the amount '%s' is below 0", arguments->operands[1]);
    if (code != EXIT_DONE) return store_close(holding.folder, store, code);
    uint32_t flags = arguments_has(arguments, "force") ? LETHE_SETTLE_FORCE : 0;
    lethe_status status =
        lethe_hold_settle(store, holding.id, actual, flags, &holding.answer, &holding.limit);
    holding.has_limit = status == LETHE_OK && holding.answer != LETHE_HOLD_MISMATCH &&
                        holding.answer != LETHE_HOLD_UNKNOWN;
    return finish(&holding, store, status);
}

int run_hold_release(const struct arguments *arguments) {
    struct holding holding;
    lethe_store *store;
    int code = read_words(arguments, &holding);
    if (code == EXIT_DONE) code = open_for(&holding, &store);
    if (code != EXIT_DONE) return code;
    lethe_status status = lethe_hold_release(store, holding.id, &holding.answer);
    return finish(&holding, store, status);
}
