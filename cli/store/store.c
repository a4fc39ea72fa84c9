/* store.c - opens stores, and turns what goes wrong with them into words and exit codes. */
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "events/problem.h"
#include "frame/clock.h"
#include "frame/interrupt.h"
#include "input/decimal.h"
#include "output/output.h"
#include "say/escape.h"
#include "say/json.h"
#include "say/message.h"

int store_folder(const struct arguments *arguments, const char **out) {
    *out = arguments_text(arguments, "db");
    if (*out != NULL) return EXIT_DONE;
    return arguments_fail(arguments, "--db DIR is missing: the folder of the store");
}

/* What each failure means at the command line. The library's own words come before the advice. */
static const struct explanation {
    int code;
    const char *advice;
} explanations[] = {
    [LETHE_EINVAL] = {EXIT_USAGE, "check the options and the folder"},
    [LETHE_ENOMEM] = {EXIT_ENVIRONMENT, "free some memory"},
    [LETHE_EFULL] = {EXIT_ENVIRONMENT, "give more --memory, or a shorter --window"},
    [LETHE_EVERSION] = {EXIT_BAD_DATA, "upgrade lethe"},
    [LETHE_ECORRUPT] = {EXIT_BAD_DATA, "restore a backup, with 'lethe restore'"},
    [LETHE_EIO] = {EXIT_ENVIRONMENT, "check the permissions and the device"},
    [LETHE_ENOSPACE] = {EXIT_ENVIRONMENT, "make room there and run again"},
    [LETHE_ENOTFOUND] = {EXIT_ENVIRONMENT, "check the name; 'lethe count' creates stores"},
    [LETHE_EBUSY] = {EXIT_ENVIRONMENT, "wait until it is done, or stop it"},
};

int store_fail(lethe_status status, const char *attempt, const char *folder,
               const lethe_detail *detail) {
    static const struct explanation unknown = {EXIT_ENVIRONMENT, "report this"};
    const struct explanation *why = &unknown;
    if ((size_t)status < sizeof explanations / sizeof explanations[0] &&
        explanations[status].advice != NULL) {
        why = &explanations[status];
    }
    const char *reason = lethe_strerror(status);
    if (detail != NULL && detail->text[0] != '\0') reason = detail->text;
    /* The library often knows itself what to do. */
    bool has_advice = strstr(reason, "; ") != NULL;
    return message_fail(why->code, "cannot %s %s: %s%s%s", attempt, folder, reason,
                        has_advice ? "" : "; ", has_advice ? "" : why->advice);
}

int store_fail_call(lethe_status status, const char *attempt, const char *folder,
                    const lethe_store *store) {
    lethe_detail detail = {""};
    lethe_store_explain(store, &detail);
    return store_fail(status, attempt, folder, &detail);
}

/* How often to ask whether it is free. */
enum { PAUSE_MS = 20 };

int store_open_in_turn(const char *folder, const lethe_store_options *options, uint64_t wait_ms,
                       lethe_store **out) {
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    uint64_t begun_ms = clock_ms();
    for (;;) {
        lethe_detail detail = {""};
        interrupt_hold();
        lethe_status status = lethe_store_open(folder, options, out, &detail);
        interrupt_release();
        if (status == LETHE_OK && detail.text[0] != '\0')
            message_warn("%s: %s", folder, detail.text);
        if (status == LETHE_OK) return EXIT_DONE;
        if (status != LETHE_EBUSY || clock_ms() - begun_ms >= wait_ms)
            return store_fail(status, "open the store", folder, &detail);
        if (interrupt_requested()) return interrupt_code();
        nanosleep(&pause, NULL);
    }
}

int store_open(const char *folder, const lethe_store_options *options, lethe_store **out) {
    return store_open_in_turn(folder, options, 0, out);
}

int store_open_reader(const struct arguments *arguments, lethe_store **out) {
    const char *folder;
    *out = NULL;
    int code = store_folder(arguments, &folder);
    if (code != EXIT_DONE) return code;
    return store_open(folder, &LETHE_OPTIONS(lethe_store_options, .read_only = true), out);
}

int store_close(const char *folder, lethe_store *store, int code) {
    lethe_detail detail = {""};
    lethe_status status = lethe_store_close(store, &detail);
    /* A negative answer, skipped events or a signal say nothing about the store. */
    bool has_failed = code == EXIT_USAGE || code == EXIT_BAD_DATA || code == EXIT_ENVIRONMENT;
    if (status == LETHE_OK || has_failed) return code;
    return store_fail(status, "close the store", folder, &detail);
}

double store_error_estimate(const lethe_store_stats *stats) {
    /* Exact mode looks up what the window takes for a duplicate. */
    return stats->exact ? 0 : stats->window.error_estimate + stats->ledger.error_estimate;
}

bool store_has_sketch(lethe_store *store) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    lethe_store_info(store, &stats);
    return stats.sketch_bytes > 0;
}

int store_read_bytes(const struct store_bytes *what, lethe_bytes text, int code, char *out,
                     lethe_bytes *result) {
    struct event_excerpt excerpt;
    size_t size, at;
    if (!escape_read(text, out, &size, &at)) {
        return message_fail(code,
                            "the %s '%s' has a backslash that is not an escape; write \\\\ for a "
                            "backslash, \\t for a tab, \\xHH for any byte",
                            what->name, event_excerpt(text, &excerpt));
    }
    *result = (lethe_bytes){.data = out, .size = size};
    if (size >= what->least && size <= what->most) return EXIT_DONE;
    return message_fail(code, "the %s '%s' has %zu bytes; %s has from %zu to %zu", what->name,
                        event_excerpt(*result, &excerpt), size, what->any, what->least, what->most);
}

const struct store_bytes store_id = {"id", "an id", 1, LETHE_ID_LIMIT_BYTES};

int store_read_word(const struct store_bytes *what, char *word, lethe_bytes *result) {
    lethe_bytes text = {.data = word, .size = strlen(word)};
    /* What is unescaped is never longer, so it may take the place of what it is read from. */
    return store_read_bytes(what, text, EXIT_USAGE, word, result);
}

int store_read_key(lethe_bytes text, int code, char *out, lethe_bytes *key) {
    static const struct store_bytes what = {"key", "a key", 1, LETHE_KEY_LIMIT_BYTES};
    return store_read_bytes(&what, text, code, out, key);
}

int store_read_keys(char *const *operands, size_t count, lethe_bytes **keys) {
    *keys = malloc((count + 1) * sizeof **keys);
    if (*keys == NULL) return message_fail_memory();
    for (size_t i = 0; i < count; i++) {
        /* What is unescaped is never longer, so it may take the place of what it is read from. */
        lethe_bytes text = {.data = operands[i], .size = strlen(operands[i])};
        int code = store_read_key(text, EXIT_USAGE, operands[i], &(*keys)[i]);
        if (code == EXIT_DONE) continue;
        free(*keys);
        *keys = NULL;
        return code;
    }
    return EXIT_DONE;
}

int store_print_estimate(struct store_printing how, lethe_bytes key, lethe_estimate estimate) {
    struct decimal_text most, least;
    decimal_show_natural(estimate.value, how.scale, &most);
    decimal_show_natural(estimate.least, how.scale, &least);
    if (how.json) {
        struct json object = json_begin(stdout);
        json_bytes(&object, "key", key);
        json_number(&object, "value", most.text);
        json_number(&object, "least", least.text);
        json_number(&object, "most", most.text);
        json_end(&object);
        return EXIT_DONE;
    }
    char line[ESCAPE_FACTOR * LETHE_KEY_LIMIT_BYTES + 100];
    size_t length = escape_write(key, line);
    length +=
        (size_t)snprintf(line + length, 100, "\t%s\t%s\t%s\n", most.text, least.text, most.text);
    return output_write(line, length);
}

int store_print(struct store_printing how, lethe_bytes key, int64_t value) {
    struct decimal_text shown;
    decimal_show(value, how.scale, &shown);
    if (how.json) {
        struct json object = json_begin(stdout);
        json_bytes(&object, "key", key);
        json_number(&object, "value", shown.text);
        json_end(&object);
        return EXIT_DONE;
    }
    char line[ESCAPE_FACTOR * LETHE_KEY_LIMIT_BYTES + 40];
    size_t length = escape_write(key, line);
    length += (size_t)snprintf(line + length, 40, "\t%s\n", shown.text);
    return output_write(line, length);
}
