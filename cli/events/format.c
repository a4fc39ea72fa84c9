/* format.c - makes a format out of options, and describes it again.
 *
 * I1      Formats that read a file differently are described differently: a mark is bound to the
 *         description. Those that an earlier version knew are described as it did. The scale of
 *         deltas is left out: a mark is kept in a store, whose scale never changes. */
#include "events/format.h"

#include <stdio.h>
#include <string.h>

#include "events/number.h"
#include "events/places.h"

static const char *const role_names[ROLE_COUNT] = {"id", "key", "delta", "time"};

const char *event_role_name(enum event_role role) {
    return role_names[role];
}

void event_format_order(struct event_format *format) {
    format->column_count = 0;
    for (size_t i = 0; i < format->place_count; i++) {
        if (format->places[i].kind != PLACE_COLUMN) continue;
        size_t at = format->column_count++;
        for (;
             at > 0 && format->places[format->by_column[at - 1]].column > format->places[i].column;
             at--) {
            format->by_column[at] = format->by_column[at - 1];
        }
        format->by_column[at] = (uint8_t)i;
    }
}

/* One byte that stands between fields and nowhere else. */
static bool set_delimiter(const struct event_format_options *options, struct event_format *format,
                          struct event_problem *problem) {
    const char *text = options->delimiter;
    format->delimiter = ',';
    if (text == NULL) return true;
    if (options->kind != EVENTS_CSV) {
        event_problem_set(problem, "--delimiter works only with --csv; plain lines have tabs, and "
                                   "JSON needs none");
        return false;
    }
    format->delimiter = strcmp(text, "\\t") == 0 ? '\t' : text[0];
    bool is_single = text[0] != '\0' && (text[1] == '\0' || strcmp(text, "\\t") == 0);
    if (!is_single || strchr("\"\r\n", format->delimiter) != NULL ||
        (unsigned char)format->delimiter >= 0x80) {
        event_problem_set(problem,
                          "--delimiter %.32s is not one ASCII character other than a "
                          "quote or a line end; give one such as ';', or \\t for a tab",
                          text);
        return false;
    }
    return true;
}

static bool set_times(const struct event_format_options *options, struct event_format *format,
                      struct event_problem *problem) {
    bool has_zone = options->zone != NULL, has_unit = options->time_unit != UNIT_BY_SIZE;
    format->time.unit = options->time_unit;
    if (!event_format_has_time(format) && options->has_periods) has_zone = false;
    if ((has_zone || has_unit) && !event_format_has_time(format)) {
        event_problem_set(problem, "--%s needs a time among the --fields, such as time=4",
                          has_zone ? "zone" : "time-unit");
        return false;
    }
    return !has_zone || event_zone_set(options->zone, &format->time.zone, problem);
}

/* The members that JSON is scanned for. */
static void plant_members(struct event_format *format) {
    member_tree_begin(&format->members);
    for (size_t i = 0; i < format->place_count; i++) {
        const struct event_place *place = &format->places[i];
        if (place->kind != PLACE_MEMBER) continue;
        format->members.of_place[i] =
            member_tree_add(&format->members, format->text, place->text, place->size);
    }
    format->scan = scan_choose();
}

/* The members beside those of ids and keys that have bytes which are not UTF-8. */
static bool plant_base64(struct event_format *format, struct event_problem *problem) {
    static const char end[] = "_base64";
    for (size_t i = 0; i < format->starts[ROLE_DELTA]; i++) {
        const struct event_place *place = &format->places[i];
        size_t size = place->size - 1 + sizeof end; /* a NUL ends both */
        if (place->kind != PLACE_MEMBER) continue;
        if (sizeof format->text - format->text_used < size) {
            event_problem_set(problem, "%s is too long; name less", format->fields_option);
            return false;
        }
        char *text = format->text + format->text_used;
        memcpy(text, format->text + place->text, place->size - 1);
        memcpy(text + place->size - 1, end, sizeof end);
        format->base64_nodes[i] =
            member_tree_add(&format->members, format->text, format->text_used, size);
        format->text_used += size;
    }
    format->takes_base64 = true;
    return true;
}

/* A member of the event itself, beside those that are named. */
static bool plant(struct event_format *format, const char *name, uint16_t *node,
                  struct event_problem *problem) {
    size_t size = strlen(name) + 1;
    if (sizeof format->text - format->text_used < size) {
        event_problem_set(problem, "%s is too long; name less", format->fields_option);
        return false;
    }
    memcpy(format->text + format->text_used, name, size);
    *node = member_tree_add(&format->members, format->text, format->text_used, size);
    format->text_used += size;
    return true;
}

/* The members that an event may not have. */
static bool plant_guards(const struct event_format_options *options, struct event_format *format,
                         struct event_problem *problem) {
    for (size_t i = 0; i < options->guard_count; i++) {
        size_t before = format->members.count;
        uint16_t node;
        if (!plant(format, options->guards[i].name, &node, problem)) return false;
        bool is_named = format->members.count == before;
        if (is_named && options->guards[i].only == NULL) continue;
        format->guards[format->guard_count] = options->guards[i];
        format->guard_nodes[format->guard_count++] = node;
    }
    return true;
}

bool event_format_make(const struct event_format_options *options, struct event_format *out,
                       struct event_problem *problem) {
    char manner[EVENT_MANNER_BYTES];
    *out = (struct event_format){.kind = options->kind,
                                 .is_strict = options->is_strict,
                                 .is_cloud = options->is_cloud,
                                 .fields_option = options->fields_option != NULL
                                                      ? options->fields_option
                                                      : EVENT_FIELDS_OPTION};
    if (!set_delimiter(options, out, problem) || !event_places_read(options, out, problem) ||
        !set_times(options, out, problem)) {
        return false;
    }
    event_format_order(out);
    plant_members(out);
    if (options->takes_changes && !plant(out, "changes", &out->changes_node, problem)) return false;
    if (options->takes_base64 && !plant_base64(out, problem)) return false;
    if (!plant_guards(options, out, problem)) return false;
    event_format_describe(out, manner);
    if (strlen(manner) == sizeof manner - 1) {
        event_problem_set(problem, "%s is longer than a mark has room for; name less",
                          out->fields_option);
        return false;
    }
    return true;
}

bool event_format_set_scale(struct event_format *format, unsigned scale,
                            struct event_problem *problem) {
    for (size_t i = format->starts[ROLE_DELTA]; i < format->starts[ROLE_DELTA + 1]; i++) {
        const struct event_place *place = &format->places[i];
        lethe_bytes text = event_place_text(format, place);
        int64_t ignored;
        if (place->kind != PLACE_LITERAL) continue;
        enum decimal_problem reason = decimal_parse_scaled(text, scale, &ignored);
        if (reason == DECIMAL_FINE) continue;
        struct event_problem why;
        event_problem_number(&why, "delta", text, scale, reason);
        event_problem_set(problem, "%s: %.300s", format->fields_option, why.text);
        return false;
    }
    format->scale = scale;
    return true;
}

/* A text that is gathered piece by piece; what has no room is left out. */
struct manner {
    char *text;
    size_t used;
};

/* Adds an option after the others. */
static void add_option(struct manner *manner, const char *name, const char *value) {
    size_t room = EVENT_MANNER_BYTES - manner->used;
    int length = snprintf(manner->text + manner->used, room, "%s--%s%s%s",
                          manner->used > 0 ? " " : "", name, value[0] != '\0' ? " " : "", value);
    manner->used += (size_t)length < room ? (size_t)length : room - 1;
}

void event_format_describe(const struct event_format *format, char out[EVENT_MANNER_BYTES]) {
    struct manner manner = {.text = out};
    char fields[EVENT_MANNER_BYTES] = "", delimiter[3] = {format->delimiter};
    size_t used = 0;
    out[0] = '\0';
    if (format->kind == EVENTS_CSV) add_option(&manner, "csv", "");
    if (format->kind == EVENTS_JSONL) add_option(&manner, "jsonl", "");
    if (format->delimiter != ',') {
        add_option(&manner, "delimiter", format->delimiter == '\t' ? "\\t" : delimiter);
    }
    for (size_t i = 0; i < format->place_count && used < sizeof fields - 1; i++) {
        const struct event_place *place = &format->places[i];
        used += (size_t)snprintf(fields + used, sizeof fields - used, "%s%s=", i > 0 ? "," : "",
                                 role_names[place->role]);
        if (used >= sizeof fields) used = sizeof fields - 1;
        used += event_place_describe(format, place, fields + used, sizeof fields - used);
        if (used >= sizeof fields) used = sizeof fields - 1;
    }
    if (used > 0) add_option(&manner, "fields", fields);
    if (format->is_strict) add_option(&manner, "strict", "");
    const char *unit = event_time_unit_name(format->time.unit);
    if (unit[0] != '\0') add_option(&manner, "time-unit", unit);
    if (format->time.zone.name[0] != '\0') add_option(&manner, "zone", format->time.zone.name);
}
