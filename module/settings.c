/* module/settings.c - the configuration: lethe.* in CONFIG GET and SET.
 *
 * All of it except tick-ms and largest-value is what a table gets that is made by its first use. A change is for the
 * tables that are made from then on. */
#include <stdlib.h>
#include <string.h>

#include "frame.h"

static long long window_ms, capacity, max_memory_bytes;
static double error, slack;
static int policy;

static long long get_number(const char *name, void *data) {
    (void)name;
    return *(long long *)data;
}

static int set_number(const char *name, long long value, void *data, redis_string **problem) {
    (void)name;
    (void)problem;
    *(long long *)data = value;
    return REDIS_OK;
}

static long long get_tick(const char *name, void *data) {
    (void)name;
    (void)data;
    return (long long)settings_tick_ms;
}

static int set_tick(const char *name, long long value, void *data, redis_string **problem) {
    (void)name;
    (void)data;
    (void)problem;
    settings_tick_ms = (uint64_t)value;
    return REDIS_OK;
}

/* The server has no configuration values that are fractions, so these are texts. What is handed out
 * belongs to the module: the previous one is let go. */
struct fraction {
    double *value, least, most;
    redis_string *shown;
};
static struct fraction error_fraction = {&error, 1e-12, 0.1, NULL};
static struct fraction slack_fraction = {&slack, 0.02, 1, NULL};

static redis_string *get_fraction(const char *name, void *data) {
    (void)name;
    struct fraction *fraction = data;
    if (fraction->shown != NULL) redis.FreeString(NULL, fraction->shown);
    fraction->shown = redis.CreateStringPrintf(NULL, "%.12g", *fraction->value);
    return fraction->shown;
}

static int set_fraction(const char *name, redis_string *text, void *data, redis_string **problem) {
    (void)name;
    struct fraction *fraction = data;
    double value;
    if (redis.StringToDouble(text, &value) == REDIS_OK && value >= fraction->least &&
        value <= fraction->most) {
        *fraction->value = value;
        return REDIS_OK;
    }
    *problem = redis.CreateStringPrintf(NULL, "must be a number from %g to %g", fraction->least,
                                        fraction->most);
    return REDIS_ERROR;
}

static int get_policy(const char *name, void *data) {
    (void)name;
    (void)data;
    return policy;
}

static int set_policy(const char *name, int value, void *data, redis_string **problem) {
    (void)name;
    (void)data;
    (void)problem;
    policy = value;
    return REDIS_OK;
}

bool settings_register(redis_context *context) {
    static const char *names[] = {"refuse", "degrade"};
    static const int values[] = {LETHE_WINDOW_REFUSE, LETHE_WINDOW_DEGRADE};
    const long long longest_ms = 30LL * 24 * 3600 * 1000;
    bool is_registered =
        redis.RegisterNumericConfig(context, "window-ms", 600000, REDIS_CONFIG_DEFAULT, 1000,
                                    longest_ms, get_number, set_number, NULL,
                                    &window_ms) == REDIS_OK &&
        redis.RegisterNumericConfig(context, "capacity", 0, REDIS_CONFIG_DEFAULT, 0, 1LL << 36,
                                    get_number, set_number, NULL, &capacity) == REDIS_OK &&
        redis.RegisterNumericConfig(context, "max-memory", 0, REDIS_CONFIG_MEMORY, 0, INT64_MAX,
                                    get_number, set_number, NULL, &max_memory_bytes) == REDIS_OK &&
        redis.RegisterNumericConfig(context, "largest-value", 4LL << 30, REDIS_CONFIG_MEMORY, 0,
                                    INT64_MAX, get_number, set_number, NULL,
                                    &settings_largest_value_bytes) == REDIS_OK &&
        redis.RegisterNumericConfig(context, "tick-ms", 100, REDIS_CONFIG_DEFAULT, 1, 60000,
                                    get_tick, set_tick, NULL, NULL) == REDIS_OK &&
        redis.RegisterStringConfig(context, "error", "1e-09", REDIS_CONFIG_DEFAULT, get_fraction,
                                   set_fraction, NULL, &error_fraction) == REDIS_OK &&
        redis.RegisterStringConfig(context, "slack", "0.25", REDIS_CONFIG_DEFAULT, get_fraction,
                                   set_fraction, NULL, &slack_fraction) == REDIS_OK &&
        redis.RegisterEnumConfig(context, "policy", LETHE_WINDOW_REFUSE, REDIS_CONFIG_DEFAULT,
                                 names, values, 2, get_policy, set_policy, NULL, NULL) == REDIS_OK;
    return is_registered && redis.LoadConfigs(context) == REDIS_OK;
}

lethe_window_options settings_defaults(void) {
    return (lethe_window_options){
        .window_ms = (uint64_t)window_ms,
        .error = error,
        .slack = slack,
        .capacity = (uint64_t)capacity,
        .max_memory_bytes = (uint64_t)max_memory_bytes,
        .policy = (lethe_window_policy)policy,
        .seed = random_seed(),
        .allocator = &module_allocator,
    };
}
