/* format.h - how a line says what happened: which format, and what is where in it. */
#ifndef LETHE_CLI_EVENTS_FORMAT_H
#define LETHE_CLI_EVENTS_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "events/problem.h"
#include "events/scan.h"
#include "events/time.h"
#include "lethe/hash.h"

enum event_kind {
    EVENTS_PLAIN = 0, /* fields between tabs, escaped as in escape.h */
    EVENTS_CSV,       /* RFC 4180, with any delimiter */
    EVENTS_JSONL      /* one object per line */
};

enum event_role { ROLE_ID = 0, ROLE_KEY, ROLE_DELTA, ROLE_TIME, ROLE_COUNT };

enum {
    EVENT_COLUMN_LIMIT = 65536,
    EVENT_PLACES_LIMIT = 32,
    /* Of a name or a literal. */
    EVENT_NAME_BYTES = 128,
    /* Of all that --fields names. */
    EVENT_NAMES_BYTES = 640,
    /* Of the options that describe a format: what a mark has room for. */
    EVENT_MANNER_BYTES = 640
};

enum event_place_kind {
    PLACE_COLUMN = 0, /* by its number, or by a header that gave it one */
    PLACE_MEMBER,     /* of a JSON object */
    PLACE_LITERAL     /* nowhere: the same in every event */
};

/* Where one part of an event is found. */
struct event_place {
    enum event_role role;
    enum event_place_kind kind;
    /* From 1; 0 until a header says. */
    uint32_t column;
    /* In the format's text: the literal, the name of the column, or the names that lead to a
     * member, each with a NUL after it. Columns without a header have none. */
    uint32_t text, size;
};

/* A member of a JSON object that an event may not have, or only with one text: any other event is
 * unreadable, for the reason that is given. null is as good as nothing. */
struct event_guard {
    const char *name;
    /* The text that it may have; NULL: none. */
    const char *only;
    const char *reason;
};
enum { EVENT_GUARDS_LIMIT = 2 };

/* The option that names fields, as messages call it, where nobody says otherwise. */
#define EVENT_FIELDS_OPTION "--fields"

/* By default a plain line or CSV record is id, key[, delta[, key, delta]...]. */
struct event_format {
    enum event_kind kind;
    /* Between the fields of CSV. */
    char delimiter;
    /* A delta that is missing is a mistake; otherwise it is 1. */
    bool is_strict;
    /* What --fields is called here. */
    const char *fields_option;
    /* A delta in the data of an event without data is a mistake, too: it is somewhere. */
    bool is_cloud;
    /* Deltas are units of 10^-scale: the store's, which may be known only when that is open. */
    unsigned scale;
    /* A header has the names of the columns. */
    bool has_names;
    struct event_time_rule time;

    /* Ids, keys, deltas and times, in this order; those of role r begin at starts[r]. None: the
     * usual order. */
    struct event_place places[EVENT_PLACES_LIMIT];
    size_t place_count, starts[ROLE_COUNT + 1];
    /* The places that have a column, the leftmost first. */
    uint8_t by_column[EVENT_PLACES_LIMIT];
    size_t column_count;
    char text[EVENT_NAMES_BYTES];
    size_t text_used;
    /* The members that the places of JSON name, and how they are looked for. */
    struct member_tree members;
    scan_function *scan;
    /* Of JSON events: the member that lists changes, in place of a key and a delta; the root where
     * there is none (changes.h). */
    uint16_t changes_node;
    /* Of ids and keys of JSON events: the member NAME_base64 beside the one that the place names;
     * the root where there is none. */
    uint16_t base64_nodes[EVENT_PLACES_LIMIT];
    bool takes_base64;
    /* What JSON events may not have, and where it would be. */
    struct event_guard guards[EVENT_GUARDS_LIMIT];
    uint16_t guard_nodes[EVENT_GUARDS_LIMIT];
    size_t guard_count;
};

/* The options that make a format. All but the kind may be zero. */
struct event_format_options {
    enum event_kind kind;
    /* Of --fields, such as id=1,key=2,delta=3,time=4. */
    const char *fields;
    /* What that option is called in messages; NULL: so. */
    const char *fields_option;
    /* Of --delimiter: a character, or \t. */
    const char *delimiter;
    /* Of --zone. */
    const char *zone;
    /* It may be for the periods of the store alone, where events have no time. */
    bool has_periods;
    enum event_time_unit time_unit;
    bool is_strict;
    /* The lines are CloudEvents: the id is source and id, the key is the type unless the fields
     * say otherwise. */
    bool is_cloud;
    /* Of JSON: an event may have a member `changes`, a list of objects with key and delta, in place
     * of its key and delta. */
    bool takes_changes;
    /* Of JSON: an id or a key may be in a member NAME_base64, which counts in place of NAME. */
    bool takes_base64;
    /* Of JSON: up to EVENT_GUARDS_LIMIT of them; the texts stay. A member that the fields name may
     * be there: they say what it means. */
    const struct event_guard *guards;
    size_t guard_count;
};

/* Makes a format. Returns false after saying what is wrong with the options. A zone by name is
 * that of the whole process from then on. */
bool event_format_make(const struct event_format_options *options, struct event_format *out,
                       struct event_problem *problem);

/* Sets the scale of deltas. Returns false after saying which literal delta does not fit it. */
bool event_format_set_scale(struct event_format *format, unsigned scale,
                            struct event_problem *problem);

/* How many places a role has. */
static inline size_t event_format_count(const struct event_format *format, enum event_role role) {
    return format->starts[role + 1] - format->starts[role];
}

/* Whether a delta is the same in every event. */
static inline bool event_format_has_literal_delta(const struct event_format *format) {
    bool has_literal = false;
    for (size_t i = format->starts[ROLE_DELTA]; i < format->starts[ROLE_DELTA + 1]; i++) {
        has_literal = has_literal || format->places[i].kind == PLACE_LITERAL;
    }
    return has_literal;
}

/* Whether events have a time. */
static inline bool event_format_has_time(const struct event_format *format) {
    return event_format_count(format, ROLE_TIME) > 0;
}

/* Whether the first record of a file is not an event but names the columns. */
static inline bool event_format_has_header(const struct event_format *format) {
    return format->has_names && format->kind != EVENTS_JSONL;
}

/* What a place has in the format's text. */
static inline lethe_bytes event_place_text(const struct event_format *format,
                                           const struct event_place *place) {
    return (lethe_bytes){.data = format->text + place->text, .size = place->size};
}

/* Puts by_column in order, when the columns are known. */
void event_format_order(struct event_format *format);

/* Writes the options that describe a format, always in the same order and words: a mark is bound to
 * them. Empty for plain lines in their usual order. */
void event_format_describe(const struct event_format *format, char out[EVENT_MANNER_BYTES]);

/* "id", "key", "delta" or "time". */
const char *event_role_name(enum event_role role);

#endif
