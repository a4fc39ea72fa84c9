/* options.c - reads the command line of `lethe count`: where the counters are, how the window is
 * kept, what the events look like. What an option leaves out stays as the store has it. */
#include <string.h>

#include "count/count.h"
#include "input/integer.h"
#include "say/message.h"
#include "store/counters.h"

int count_check_place(const struct arguments *arguments) {
    static const char *const of_servers[] = {"partitions", "partition-by", "wait", "retry"};
    static const struct {
        const char *name, *why;
    } of_stores[] = {
        {"sketch", "a server has sketches of its own, FID.ADD and others"},
        {"scale", "a table has whole numbers; count the smallest unit, such as cents"},
        {"exact", "a server keeps no log of ids"},
        {"check-payload", "a server keeps no log of ids"},
        {"no-exact", "a server keeps no log of ids"},
        {"no-check-payload", "a server keeps no log of ids"},
        {"forever", "a server's window forgets"},
        {"ledger-capacity", "it is an option of --forever"},
        {"ledger-memory", "it is an option of --forever"},
        {"ledger-error", "it is an option of --forever"},
        {"threads", "the server decides in one; send from several commands, each with files of its "
                    "own"},
        {"sync", "a server decides when to write: see its appendfsync, and --wait"},
        {"time-unit", "a table goes by the server's clock"},
        {"zone", "a table goes by the server's clock"},
        {"max-future", "a table goes by the server's clock"},
        {"late", "a table goes by the server's clock, and no event is late"},
        {"late-out", "a table goes by the server's clock, and no event is late"},
        {"limit", "events are spread over the table's partitions; take one by one with 'lethe "
                  "take'"},
    };
    int code = counters_check(arguments);
    bool is_server = arguments_has(arguments, "redis");
    for (size_t i = 0;
         i < sizeof of_servers / sizeof of_servers[0] && code == EXIT_DONE && !is_server; i++) {
        if (!arguments_has(arguments, of_servers[i])) continue;
        code = arguments_fail(arguments, "--%s needs --redis", of_servers[i]);
    }
    for (size_t i = 0; i < sizeof of_stores / sizeof of_stores[0] && code == EXIT_DONE; i++) {
        if (!is_server || !arguments_has(arguments, of_stores[i].name)) continue;
        code = arguments_fail(arguments, "--%s cannot be used with --redis: %s", of_stores[i].name,
                              of_stores[i].why);
    }
    return code;
}

static int read_sync(const struct arguments *arguments, uint64_t *interval_ms) {
    const char *text = arguments_text(arguments, "sync");
    *interval_ms = 50;
    if (text != NULL && strcmp(text, "always") == 0) {
        *interval_ms = 0;
        return EXIT_DONE;
    }
    return arguments_duration(arguments, "sync", 1, 10000, interval_ms);
}

static int read_sketch_options(const struct arguments *arguments, lethe_store_options *options) {
    uint64_t top = 0;
    if (arguments_has(arguments, "top") && !arguments_has(arguments, "sketch")) {
        return arguments_fail(arguments, "--top needs --sketch");
    }
    int code = arguments_size(arguments, "sketch", 4096, UINT64_C(1) << 32, &options->sketch_bytes);
    if (code == EXIT_DONE) code = arguments_count(arguments, "top", 1, 1 << 20, &top);
    options->sketch_top = (uint32_t)top;
    return code;
}

int count_read_scale(const struct arguments *arguments, int32_t *out) {
    const char *text = arguments_text(arguments, "scale");
    uint64_t digits = 0;
    if (text == NULL) return EXIT_DONE;
    if (!integer_parse_natural((lethe_bytes){.data = text, .size = strlen(text)}, &digits) ||
        digits > LETHE_SCALE_LIMIT) {
        return message_fail(EXIT_USAGE,
                            "--scale %s is not a number of digits; give one from 0 to %d, such as "
                            "2 for hundredths",
                            text, LETHE_SCALE_LIMIT);
    }
    *out = digits == 0 ? LETHE_SCALE_WHOLE : (int32_t)digits;
    return EXIT_DONE;
}

/* A mode that the store keeps unless it is switched. */
static int read_mode(const struct arguments *arguments, const char *on, const char *off,
                     lethe_switch *out) {
    bool turns_on = arguments_has(arguments, on), turns_off = arguments_has(arguments, off);
    if (turns_on && turns_off)
        return arguments_fail(arguments, "--%s and --%s cannot be used together", on, off);
    *out = turns_on ? LETHE_SWITCH_ON : turns_off ? LETHE_SWITCH_OFF : LETHE_SWITCH_KEEP;
    return EXIT_DONE;
}

static int read_ledger_options(const struct arguments *arguments, lethe_store_options *options) {
    options->forever = arguments_has(arguments, "forever") ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    int code = arguments_count(arguments, "ledger-capacity", 1, UINT64_C(1) << 44,
                               &options->ledger_capacity);
    if (code == EXIT_DONE) {
        code = arguments_size(arguments, "ledger-memory", 1 << 22, UINT64_C(1) << 40,
                              &options->ledger_memory_bytes);
    }
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "ledger-error", 1e-15, 0.1, &options->ledger_error);
    }
    if (code == EXIT_DONE && options->forever == LETHE_SWITCH_ON &&
        (arguments_has(arguments, "exact") || arguments_has(arguments, "check-payload"))) {
        code =
            arguments_fail(arguments, "--forever cannot be used with --exact or --check-payload: a "
                                      "ledger cannot be searched exactly");
    }
    return code;
}

/* --zone is that of times in events; with --per it is that of the store's days as well. */
static int read_meters(const struct arguments *arguments, lethe_store_options *options) {
    options->per = arguments_text(arguments, "per");
    options->keep = arguments_text(arguments, "keep");
    if (options->per != NULL) options->zone = arguments_text(arguments, "zone");
    if (options->per != NULL && arguments_has(arguments, "sketch")) {
        return arguments_fail(arguments, "--per cannot be used with --sketch: a sketch has no "
                                         "counts per period");
    }
    return EXIT_DONE;
}

int count_read_window(const struct arguments *arguments, struct count_window_options *options) {
    size_t policy = LETHE_POLICY_REFUSE;
    int code =
        arguments_duration(arguments, "window", 1000, UINT64_C(2592000000), &options->window_ms);
    if (code == EXIT_DONE) {
        code = arguments_probability(arguments, "error", 1e-12, 0.1, &options->error);
    }
    if (code == EXIT_DONE) {
        code =
            arguments_size(arguments, "memory", 1 << 16, UINT64_C(1) << 50, &options->memory_bytes);
    }
    if (code == EXIT_DONE) code = arguments_choice(arguments, "policy", &policy);
    options->policy = (lethe_policy)policy;
    size_t kind = LETHE_WINDOW_QUOTIENT;
    if (code == EXIT_DONE) code = arguments_choice(arguments, "window-kind", &kind);
    options->forgetful = !arguments_has(arguments, "window-kind") ? LETHE_SWITCH_KEEP
                         : kind == LETHE_WINDOW_FORGETFUL         ? LETHE_SWITCH_ON
                                                                  : LETHE_SWITCH_OFF;
    if (code == EXIT_DONE && options->memory_bytes > 0 && kind == LETHE_WINDOW_FORGETFUL) {
        code = arguments_fail(arguments, "a window of the forgetful kind has no cap; leave "
                                         "--memory out, or --window-kind forgetful");
    }
    return code;
}

int count_read_store(const struct arguments *arguments, lethe_store_options *options) {
    uint64_t batch = 0, threads = 0;
    struct count_window_options window = {0};
    int code = count_read_window(arguments, &window);
    if (code == EXIT_DONE) code = arguments_count(arguments, "threads", 1, 1024, &threads);
    if (code == EXIT_DONE) code = read_sync(arguments, &options->commit_interval_ms);
    if (code == EXIT_DONE) code = arguments_count(arguments, "batch", 1, 65536, &batch);
    if (code == EXIT_DONE) {
        code = arguments_duration(arguments, "max-future", 1, UINT64_C(31536000000),
                                  &options->max_future_ms);
    }
    if (code == EXIT_DONE) code = read_sketch_options(arguments, options);
    if (code == EXIT_DONE) code = read_ledger_options(arguments, options);
    if (code == EXIT_DONE) code = count_read_scale(arguments, &options->scale);
    if (code == EXIT_DONE) code = read_meters(arguments, options);
    if (code == EXIT_DONE) code = read_mode(arguments, "exact", "no-exact", &options->exact);
    if (code == EXIT_DONE) {
        code = read_mode(arguments, "check-payload", "no-check-payload", &options->check_payload);
    }
    options->window_ms = window.window_ms;
    options->error = window.error;
    options->max_memory_bytes = window.memory_bytes;
    options->policy = window.policy;
    options->forgetful = window.forgetful;
    options->commit_operations = (uint32_t)batch;
    options->threads = (uint32_t)threads;
    options->create = true;
    return code;
}

/* The formats exclude each other; none: plain lines. */
static int read_kind(const struct arguments *arguments, struct event_format_options *out) {
    static const struct {
        const char *name;
        enum event_kind kind;
    } kinds[] = {{"csv", EVENTS_CSV}, {"jsonl", EVENTS_JSONL}, {"cloudevents", EVENTS_JSONL}};
    const char *given = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!arguments_has(arguments, kinds[i].name)) continue;
        if (given != NULL) {
            return arguments_fail(arguments, "--%s and --%s cannot be used together", given,
                                  kinds[i].name);
        }
        given = kinds[i].name;
        out->kind = kinds[i].kind;
    }
    return EXIT_DONE;
}

/* What becomes of late events. */
static int read_late(const struct arguments *arguments, struct event_options *options) {
    size_t late = 0;
    int code = arguments_choice(arguments, "late", &late);
    options->counts_late = late == 1;
    if (code == EXIT_DONE && options->counts_late && arguments_has(arguments, "late-out")) {
        code = arguments_fail(arguments, "--late count and --late-out cannot be used together: the "
                                         "first leaves nothing for the list");
    }
    return code;
}

int count_read_events(const struct arguments *arguments, struct event_options *options) {
    size_t unit = 0;
    struct event_problem problem;
    struct event_format_options format = {
        .fields = arguments_text(arguments, "fields"),
        .delimiter = arguments_text(arguments, "delimiter"),
        .zone = arguments_text(arguments, "zone"),
        .has_periods = arguments_has(arguments, "per"),
        .is_strict = arguments_has(arguments, "strict"),
        .is_cloud = arguments_has(arguments, "cloudevents"),
    };
    int code = read_kind(arguments, &format);
    if (code == EXIT_DONE) code = arguments_choice(arguments, "time-unit", &unit);
    if (code != EXIT_DONE) return code;
    if (arguments_has(arguments, "time-unit")) {
        format.time_unit = (enum event_time_unit)(UNIT_SECONDS + unit);
    }
    if (!event_format_make(&format, &options->format, &problem)) {
        return message_fail(EXIT_USAGE, "%s", problem.text);
    }
    size_t on_error = 0;
    code = arguments_choice(arguments, "on-error", &on_error);
    options->stops_on_error = on_error == 1;
    options->from_start = arguments_has(arguments, "from-start");
    options->last_line = arguments_has(arguments, "last-line");
    return code == EXIT_DONE ? read_late(arguments, options) : code;
}

int count_set_scale(struct event_options *options, unsigned scale) {
    struct event_problem problem = {""};
    if (event_format_set_scale(&options->format, scale, &problem)) return EXIT_DONE;
    return message_fail(EXIT_USAGE, "%s", problem.text);
}

void count_read_reporting(const struct arguments *arguments, struct counting *counting) {
    const char *on_error = arguments_text(arguments, "on-error");
    counting->quiet = arguments_has(arguments, "quiet");
    counting->json = arguments_has(arguments, "json");
    counting->stops_on_error = on_error != NULL && strcmp(on_error, "stop") == 0;
}
