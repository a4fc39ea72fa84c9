/* plan.c - `lethe plan`: what counting will take, before anybody has counted.
 *
 * IDEA    Forward: rate and window lead to memory, disk and time. Backward (--memory): the longest
 *         window whose memory fits, by halving, since memory grows with the window. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "frame/commands.h"
#include "frame/units.h"
#include "redis/table.h"
#include "say/human.h"
#include "say/message.h"

static const uint64_t LEAST_WINDOW_MS = 1000, MOST_WINDOW_MS = UINT64_C(2592000000);
static const uint64_t DAY_MS = 86400000;
enum { KEY_BYTES = 16, AFTER_DAYS = 365, BATCH = 512, REPLICAS = 1 };

/* --- the command line --- */

int plan_read_rate(const struct arguments *arguments, double *events_per_s) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    const char *text = arguments_text(arguments, "rate"), *slash;
    char number[64];
    uint64_t count;
    if (text == NULL) return arguments_fail(arguments, "give --rate, such as --rate 50k/s");
    slash = strrchr(text, '/');
    size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
    if (length >= sizeof number)
        return arguments_fail(arguments, "--rate: '%.60s...' is too long", text);
    memcpy(number, text, length);
    number[length] = '\0';
    enum unit_problem problem = units_parse_count(number, &count);
    if (problem != UNIT_FINE) {
        return arguments_fail(arguments, "--rate: '%s' %s; give it as 50k/s, 10M/h or 1T/d", number,
                              units_problem_phrase(problem));
    }
    for (size_t i = 0; slash != NULL && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(slash + 1, units[i].name) != 0) continue;
        *events_per_s = (double)count / units[i].seconds;
        if (*events_per_s <= 1e12) return EXIT_DONE;
        return arguments_fail(arguments, "--rate: '%s' is more than 1T/s", text);
    }
    return arguments_fail(arguments, "--rate: '%s' needs its unit: /s, /m, /h or /d", text);
}

/* Options of servers and of stores do not mix. */
static int check_sides(const struct arguments *arguments, bool redis) {
    static const char *const of_servers[] = {"partitions", "partition-by", "replicas",
                                             "server-memory", "batch"};
    static const char *const of_stores[] = {"forever", "exact"};
    const char *const *names = redis ? of_stores : of_servers;
    size_t count =
        redis ? sizeof of_stores / sizeof of_stores[0] : sizeof of_servers / sizeof of_servers[0];
    for (size_t i = 0; i < count; i++) {
        if (!arguments_has(arguments, names[i])) continue;
        return arguments_fail(
            arguments, redis ? "--%s is for stores; a server has neither" : "--%s needs --redis",
            names[i]);
    }
    return EXIT_DONE;
}

static int read_periods(const struct arguments *arguments, struct plan_wants *wants) {
    wants->per = arguments_text(arguments, "per");
    wants->keep = arguments_text(arguments, "keep");
    if (wants->keep != NULL && wants->per == NULL)
        return arguments_fail(arguments, "--keep needs --per");
    if (wants->per != NULL && wants->keys == 0)
        return arguments_fail(arguments, "--per needs --keys: how many counters there are");
    if (!wants->redis || wants->per == NULL) return EXIT_DONE;
    const char *problem = redis_periods_parse(wants->per, wants->keep, &wants->periods);
    return problem != NULL ? arguments_fail(arguments, "%s", problem) : EXIT_DONE;
}

static int read_wants(const struct arguments *arguments, struct plan_wants *wants) {
    size_t by = 0;
    bool redis = arguments_has(arguments, "redis");
    *wants = (struct plan_wants){.redis = redis,
                                 .window_ms = redis ? 600000 : 3 * DAY_MS,
                                 .error = redis ? 1e-9 : 1e-12,
                                 .key_bytes = KEY_BYTES,
                                 .after_ms = AFTER_DAYS * DAY_MS,
                                 .replicas = REPLICAS,
                                 .server_memory_bytes = (uint64_t)32 << 30,
                                 .batch = BATCH,
                                 .forever = arguments_has(arguments, "forever"),
                                 .exact = arguments_has(arguments, "exact"),
                                 .json = arguments_has(arguments, "json")};
    int code = plan_read_rate(arguments, &wants->events_per_s);
    if (code == EXIT_DONE) code = check_sides(arguments, redis);
    if (code == EXIT_DONE && wants->forever && wants->exact)
        code = arguments_fail(arguments, "--exact cannot be used with --forever");
    if (code == EXIT_DONE && arguments_has(arguments, "window") &&
        arguments_has(arguments, "memory"))
        code = arguments_fail(arguments, "--memory asks for the window; leave --window out");
    if (code == EXIT_DONE)
        code = arguments_duration(arguments, "window", LEAST_WINDOW_MS, MOST_WINDOW_MS,
                                  &wants->window_ms);
    if (code == EXIT_DONE)
        code = arguments_probability(arguments, "error", 1e-12, 0.1, &wants->error);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "keys", 1, UINT64_C(1000000000000), &wants->keys);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "key-bytes", 1, LETHE_KEY_LIMIT_BYTES, &wants->key_bytes);
    if (code == EXIT_DONE)
        code = arguments_duration(arguments, "after", DAY_MS, 36500 * DAY_MS, &wants->after_ms);
    if (code == EXIT_DONE)
        code =
            arguments_size(arguments, "memory", 1 << 20, (uint64_t)1 << 50, &wants->memory_bytes);
    if (code == EXIT_DONE)
        code =
            arguments_count(arguments, "partitions", 1, REDIS_PARTITIONS_LIMIT, &wants->partitions);
    if (code == EXIT_DONE) code = arguments_choice(arguments, "partition-by", &by);
    if (code == EXIT_DONE) code = arguments_count(arguments, "replicas", 1, 8, &wants->replicas);
    if (code == EXIT_DONE)
        code = arguments_size(arguments, "server-memory", 64 << 20, (uint64_t)1 << 46,
                              &wants->server_memory_bytes);
    if (code == EXIT_DONE) code = arguments_count(arguments, "batch", 1, 1 << 20, &wants->batch);
    wants->by_key = by == 1;
    return code == EXIT_DONE ? read_periods(arguments, wants) : code;
}

/* --- which window fits --- */

/* What counts towards --memory: all of a store's; all tables of all servers, as these count it. */
static int memory_of(const struct plan_wants *wants, uint64_t *bytes) {
    if (wants->redis) {
        struct plan_table table;
        int code = plan_table(wants, &table);
        *bytes = table.used_bytes;
        return code;
    }
    lethe_store_needs needs;
    int code = plan_store(wants, &needs);
    *bytes = needs.memory_bytes;
    return code;
}

/* Whether a window of that length fits; EXIT_NEGATIVE if it does not. */
static int fits(struct plan_wants *wants, uint64_t window_ms) {
    uint64_t bytes;
    wants->window_ms = window_ms;
    int code = memory_of(wants, &bytes);
    if (code != EXIT_DONE) return code;
    return bytes <= wants->memory_bytes ? EXIT_DONE : EXIT_NEGATIVE;
}

/* The most ids that are planned at all. */
static uint64_t longest_ms(const struct plan_wants *wants) {
    double most = 0x1p36 / 1.1 / wants->events_per_s * 1000;
    if (wants->redis) most *= REDIS_PARTITIONS_LIMIT;
    return most < (double)MOST_WINDOW_MS ? (uint64_t)most : MOST_WINDOW_MS;
}

static int find_window(struct plan_wants *wants) {
    uint64_t low = LEAST_WINDOW_MS, high = longest_ms(wants);
    struct human_text size;
    int code = high < low ? EXIT_NEGATIVE : fits(wants, low);
    if (code == EXIT_NEGATIVE) {
        return message_fail(EXIT_NEGATIVE,
                            "%s are too little: not even a window of 1 s fits with the rest",
                            human_bytes(wants->memory_bytes, &size));
    }
    if (code == EXIT_DONE) code = fits(wants, high);
    if (code != EXIT_NEGATIVE) return code;
    while (high - low > low / 1000 + 1) {
        uint64_t middle = low + (high - low) / 2;
        code = fits(wants, middle);
        if (code != EXIT_DONE && code != EXIT_NEGATIVE) return code;
        *(code == EXIT_DONE ? &low : &high) = middle;
    }
    /* In whole seconds, or minutes where that changes little. */
    wants->window_ms = low > 6000000 ? low / 60000 * 60000 : low > 1000 ? low / 1000 * 1000 : low;
    return EXIT_DONE;
}

int run_plan(const struct arguments *arguments) {
    if (arguments_has(arguments, "simulate")) return plan_simulate(arguments);
    if (arguments_has(arguments, "out")) return arguments_fail(arguments, "--out needs --simulate");
    if (arguments->operand_count > 0)
        return arguments_fail(arguments, "'%s' is one argument too many", arguments->operands[0]);
    struct plan_wants wants;
    int code = read_wants(arguments, &wants);
    if (code == EXIT_DONE && wants.memory_bytes > 0) code = find_window(&wants);
    if (code != EXIT_DONE) return code;
    if (wants.redis) {
        struct plan_table table;
        code = plan_table(&wants, &table);
        if (code == EXIT_DONE) plan_print_table(&wants, &table);
        return code;
    }
    lethe_store_needs needs;
    code = plan_store(&wants, &needs);
    if (code == EXIT_DONE) plan_print_store(&wants, &needs);
    return code;
}
