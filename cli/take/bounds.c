/* bounds.c - reads limits. */
#include "take/bounds.h"

#include <stdio.h>
#include <string.h>

#include "events/number.h"
#include "say/message.h"

static int fail_syntax(const char *option, lethe_bytes text) {
    struct event_excerpt excerpt;
    return message_fail(EXIT_USAGE,
                        "--%s '%s' is not a limit; give a number, and a period after a slash if "
                        "the limit is per period, such as 1000 or 10/1m",
                        option, event_excerpt(text, &excerpt));
}

/* One of them: NUMBER or NUMBER/PERIOD. */
static int read_one(const char *option, lethe_bytes text, struct bound *out) {
    const char *slash = memchr(text.data, '/', text.size);
    struct decimal number;
    out->option = option;
    out->text = text;
    out->period[0] = '\0';
    if (slash != NULL) {
        out->text.size = (size_t)(slash - (const char *)text.data);
        size_t size = text.size - out->text.size - 1;
        if (size == 0 || size >= BOUND_PERIOD_BYTES) return fail_syntax(option, text);
        memcpy(out->period, slash + 1, size);
        out->period[size] = '\0';
    }
    return decimal_parse(out->text, &number) ? EXIT_DONE : fail_syntax(option, text);
}

int bounds_read(const struct arguments *arguments, const char *option, bool is_max,
                struct bounds *bounds) {
    const char *text = arguments_text(arguments, option);
    while (text != NULL) {
        const char *comma = strchr(text, ',');
        lethe_bytes part = {.data = text, .size = comma ? (size_t)(comma - text) : strlen(text)};
        if (bounds->count == BOUNDS_LIMIT) {
            return arguments_fail(arguments, "there are more than %d limits", BOUNDS_LIMIT);
        }
        struct bound *bound = &bounds->each[bounds->count++];
        bound->is_max = is_max;
        int code = read_one(option, part, bound);
        if (code != EXIT_DONE) return code;
        text = comma != NULL ? comma + 1 : NULL;
    }
    return EXIT_DONE;
}

int bounds_scale(struct bounds *bounds, unsigned scale) {
    for (size_t i = 0; i < bounds->count; i++) {
        struct bound *bound = &bounds->each[i];
        struct event_problem problem;
        enum decimal_problem reason = decimal_parse_scaled(bound->text, scale, &bound->value);
        if (reason == DECIMAL_FINE) continue;
        event_problem_number(&problem, "limit", bound->text, scale, reason);
        return message_fail(EXIT_USAGE, "%s", problem.text);
    }
    return EXIT_DONE;
}

int bounds_fail_time(const char *folder, const char *period) {
    return message_fail(EXIT_USAGE,
                        "%s goes by the time of its events: whoever sends an old time would escape "
                        "a limit per %s; leave the period out, or use a store without times",
                        folder, period);
}

int bounds_place(struct bounds *bounds, const lethe_store *store, const char *folder) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    if (bounds->count == 0) return EXIT_DONE;
    lethe_store_info(store, &stats);
    if (stats.sketch_bytes > 0) {
        return message_fail(EXIT_USAGE,
                            "%s keeps a sketch: its values are estimates, and no limit can be kept "
                            "by them; use a store with counters",
                            folder);
    }
    for (size_t i = 0; i < bounds->count; i++) {
        struct bound *bound = &bounds->each[i];
        if (bound->period[0] == '\0') continue;
        if (stats.event_time) return bounds_fail_time(folder, bound->period);
        if (lethe_store_resolution(store, bound->period, &bound->resolution) == LETHE_OK) continue;
        return message_fail(EXIT_USAGE,
                            "%s does not count per %s, so it can't keep a limit on that; add the "
                            "period with --per%s%s",
                            folder, bound->period, stats.per[0] != '\0' ? ", beside " : "",
                            stats.per);
    }
    return EXIT_DONE;
}

void bound_put(const struct bound *bound, lethe_change *change) {
    change->flags = bound->is_max ? LETHE_CHANGE_MAX : LETHE_CHANGE_MIN;
    if (bound->period[0] != '\0') change->flags |= LETHE_CHANGE_BUCKET;
    change->resolution = bound->resolution;
    change->max = change->min = bound->value;
}
