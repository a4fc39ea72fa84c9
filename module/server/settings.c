/* module/server/settings.c - the configuration: lethe.* in CONFIG GET and SET.
 *
 * All settings except tick-ms, largest-value, largest-reply and kept-replies are defaults of values
 * that their first use makes. A change holds for values that are made from then on. */
#include "server/settings.h"

#include <stdio.h>

#include "command/options.h"
#include "server/allocator.h"
#include "server/reply.h"

static long long window_ms, capacity, max_memory_bytes, largest_value_bytes, largest_reply_bytes,
    kept_replies_bytes;
static long long tick_ms = 100;
static double error, slack;
static int policy, window_kind;

struct setting settings[] = {
    {.name = "window-ms",
     .kind = SETTING_NUMBER,
     .initial = 600000,
     .least = 1000,
     .most = 2592000000,
     .fallback = "600000",
     .meaning = "The retry window W, in milliseconds",
     .value = &window_ms},
    {.name = "error",
     .kind = SETTING_FRACTION,
     .least_fraction = 1e-12,
     .most_fraction = 0.1,
     .fallback = "1e-09",
     .meaning = "The probability that a fresh id is taken for a duplicate",
     .value = &error},
    {.name = "slack",
     .kind = SETTING_FRACTION,
     .least_fraction = 0.02,
     .most_fraction = 1,
     .fallback = "0.25",
     .meaning = "How much longer than W an id may be remembered, as a share of W",
     .value = &slack},
    {.name = "capacity",
     .kind = SETTING_NUMBER,
     .most = 1LL << 36,
     .fallback = "0",
     .meaning = "The number of ids expected within W; 0: values start small and grow",
     .value = &capacity},
    {.name = "max-memory",
     .kind = SETTING_BYTES,
     .most = INT64_MAX,
     .fallback = "0",
     .meaning = "The cap on the memory of the remembered ids of a value; 0 for no cap",
     .value = &max_memory_bytes},
    {.name = "policy",
     .kind = SETTING_WORD,
     .words = {[LETHE_POLICY_REFUSE] = "refuse", [LETHE_POLICY_DEGRADE] = "degrade"},
     .fallback = "refuse",
     .meaning = "What happens at that cap: fresh ids are refused, or the error rises",
     .value = &policy},
    {.name = "window-kind",
     .kind = SETTING_WORD,
     .words = {[LETHE_WINDOW_QUOTIENT] = "quotient", [LETHE_WINDOW_FORGETFUL] = "forgetful"},
     .fallback = "quotient",
     .meaning = "How once-tables remember ids: by the quotient filter, or by the paper's Bloom "
                "filter",
     .value = &window_kind},
    {.name = "largest-value",
     .kind = SETTING_BYTES,
     .initial = 1LL << 32,
     .most = INT64_MAX,
     .fallback = "4294967296",
     .meaning = "How large a client may make a value, in bytes; 0 for any size",
     .value = &largest_value_bytes},
    {.name = "largest-reply",
     .kind = SETTING_BYTES,
     .initial = 1 << 16,
     .most = 512 << 20,
     .fallback = "65536",
     .meaning = "How large a reply of a claim may be to be kept, in bytes; 0: none is kept",
     .value = &largest_reply_bytes},
    {.name = "kept-replies",
     .kind = SETTING_BYTES,
     .initial = 1 << 26,
     .most = INT64_MAX,
     .fallback = "67108864",
     .meaning = "How many bytes of replies of claims a table keeps; the oldest are dropped first",
     .value = &kept_replies_bytes},
    {.name = "tick-ms",
     .kind = SETTING_NUMBER,
     .initial = 100,
     .least = 1,
     .most = 60000,
     .fallback = "100",
     .meaning = "How often the timer looks for values that have something to forget, in "
                "milliseconds",
     .value = &tick_ms},
    {.name = NULL},
};

/* --- The server's callbacks */

static long long get_number(const char *name, void *data) {
    (void)name;
    return *(long long *)((struct setting *)data)->value;
}

static int set_number(const char *name, long long value, void *data, redis_string **problem) {
    (void)name;
    (void)problem;
    *(long long *)((struct setting *)data)->value = value;
    return REDIS_OK;
}

/* The text is released at the next call. */
static redis_string *get_fraction(const char *name, void *data) {
    (void)name;
    struct setting *setting = data;
    if (setting->shown != NULL) redis.FreeString(NULL, setting->shown);
    char text[FRACTION_BYTES];
    fraction_text(*(double *)setting->value, text);
    setting->shown = redis.CreateStringPrintf(NULL, "%s", text);
    return setting->shown;
}

static int set_fraction(const char *name, redis_string *text, void *data, redis_string **problem) {
    (void)name;
    const struct setting *setting = data;
    double value;
    if (redis.StringToDouble(text, &value) == REDIS_OK && value >= setting->least_fraction &&
        value <= setting->most_fraction) {
        *(double *)setting->value = value;
        return REDIS_OK;
    }
    *problem = redis.CreateStringPrintf(NULL, "must be a number from %g to %g",
                                        setting->least_fraction, setting->most_fraction);
    return REDIS_ERROR;
}

static int get_word(const char *name, void *data) {
    (void)name;
    return *(int *)((struct setting *)data)->value;
}

static int set_word(const char *name, int value, void *data, redis_string **problem) {
    (void)name;
    (void)problem;
    *(int *)((struct setting *)data)->value = value;
    return REDIS_OK;
}

/* --- Registration */

static int register_one(redis_context *context, struct setting *setting) {
    static const int values[] = {0, 1};
    switch (setting->kind) {
    case SETTING_FRACTION:
        return redis.RegisterStringConfig(context, setting->name, setting->fallback,
                                          REDIS_CONFIG_DEFAULT, get_fraction, set_fraction, NULL,
                                          setting);
    case SETTING_WORD:
        return redis.RegisterEnumConfig(context, setting->name, values[0], REDIS_CONFIG_DEFAULT,
                                        setting->words, values, 2, get_word, set_word, NULL,
                                        setting);
    default:
        return redis.RegisterNumericConfig(
            context, setting->name, setting->initial,
            setting->kind == SETTING_BYTES ? REDIS_CONFIG_MEMORY : REDIS_CONFIG_DEFAULT,
            setting->least, setting->most, get_number, set_number, NULL, setting);
    }
}

bool settings_register(redis_context *context) {
    for (struct setting *setting = settings; setting->name != NULL; setting++) {
        if (register_one(context, setting) != REDIS_OK) return false;
    }
    return redis.LoadConfigs(context) == REDIS_OK;
}

void setting_range(const struct setting *setting, char range[SETTING_RANGE_BYTES]) {
    if (setting->kind == SETTING_WORD) {
        snprintf(range, SETTING_RANGE_BYTES, "%s or %s", setting->words[0], setting->words[1]);
    } else if (setting->kind == SETTING_FRACTION) {
        snprintf(range, SETTING_RANGE_BYTES, "%g to %g", setting->least_fraction,
                 setting->most_fraction);
    } else {
        snprintf(range, SETTING_RANGE_BYTES, "%lld to %lld", setting->least, setting->most);
    }
}

/* --- What the module asks for */

lethe_window_options settings_defaults(void) {
    return LETHE_OPTIONS(
        lethe_window_options, .kind = (lethe_window_kind)window_kind,
        .window_ms = (uint64_t)window_ms, .error = error, .slack = slack,
        .capacity = (uint64_t)capacity, .max_memory_bytes = (uint64_t)max_memory_bytes,
        .policy = (lethe_policy)policy, .seed = random_seed(), .allocator = &module_allocator);
}

uint64_t settings_tick_ms(void) {
    return (uint64_t)tick_ms;
}

uint64_t settings_largest_reply_bytes(void) {
    return (uint64_t)largest_reply_bytes;
}

uint64_t settings_kept_replies_bytes(void) {
    return (uint64_t)kept_replies_bytes;
}

uint64_t settings_largest_value_bytes(void) {
    return (uint64_t)largest_value_bytes;
}
