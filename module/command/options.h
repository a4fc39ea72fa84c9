/* module/command/options.h - the options with which a value is made:
 * PREFIX.RESERVE key NAME value ...
 *
 * A type has one table of its options. From it come the parsing of the command, the error for a
 * value out of range, the step C of an effect and its reading, COMMAND DOCS and the reference
 * pages. */
#ifndef LETHE_MODULE_COMMAND_OPTIONS_H
#define LETHE_MODULE_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/redis_api.h"

struct effect;
struct effect_reader;
struct value_type;

/* What an option's value is, and its bytes in an effect. */
enum option_kind {
    OPTION_LARGE,    /* uint64_t: 8 bytes */
    OPTION_SMALL,    /* uint32_t: 4 bytes */
    OPTION_FRACTION, /* double: 8 bytes */
    OPTION_SEED,     /* uint64_t except 0, any sign in the command: 8 bytes */
    OPTION_WORD,     /* an enum of int's size: 1 byte */
    OPTION_OWN       /* by a function of the type, which also writes and reads its steps */
};

/* What a number is counted in, and how people write larger ones. */
struct option_unit {
    const char *name;
    /* A number and one of these, in any case, is so many times the number. A NULL ends them. */
    struct option_suffix {
        const char *text;
        uint64_t factor;
    } suffixes[8];
    const char *examples;
};

extern const struct option_unit option_milliseconds, option_bytes;

/* One option. A table ends with one whose token is NULL; it has the order of the fields in
 * effects. */
struct option {
    const char *token;
    /* Of its value, in the syntax. */
    const char *name;
    /* Of OPTION_LARGE; may be NULL. */
    const struct option_unit *unit;
    enum option_kind kind;
    /* Of the field in the type's structure of options. */
    size_t offset;
    /* The range of numbers, and that of fractions. */
    uint64_t least, most;
    double least_fraction, most_fraction;
    /* Of OPTION_SMALL: only these, up to a 0; NULL: all in the range. */
    const uint32_t *values;
    /* A word of a later version. In an effect it is left out where it is 0, so that what earlier
     * versions know has the bytes that they know, and anything else is refused by them. */
    bool is_late;
    /* Of OPTION_WORD: words[i] means i. NULL ends them. */
    const char *const *words;
    /* Of OPTION_OWN: reads the value into the type's options, or false if it is out of its range;
     * and that range. */
    bool (*parse)(const redis_string *value, void *options);
    const char *range;
    /* The default, and what the option means, as sentences without a full stop. */
    const char *fallback, *meaning;
};

/* The last row of a type that can be merged. */
#define OPTION_ROW_OF_SEED(type_, field_)                                                        \
    {                                                                                            \
        .token = "SEED", .name = "seed", .kind = OPTION_SEED, .offset = offsetof(type_, field_), \
        .fallback = "random",                                                                    \
        .meaning = "The seed of the hash; a {noun} can be merged only with one of the same seed" \
    }

enum { OPTION_COUNT_LIMIT = 12, OPTION_RANGE_BYTES = 128, OPTION_NAMES_BYTES = 96 };

/* The option of that name; NULL if there is none. */
const struct option *option_find(const struct option *table, const redis_string *name);
/* Reads a value into the type's options. False when it is out of its range. Numbers that are listed
 * one by one: values. */
bool option_parse(const struct option *option, const redis_string *value, void *options);
/* Writes the range, such as "1 to 32" or "refuse or degrade". */
void option_range(const struct option *option, char range[OPTION_RANGE_BYTES]);
/* Writes the names, such as "WIDTH, DEPTH and SEED". */
void option_names(const struct option *table, char names[OPTION_NAMES_BYTES]);

/* The step of an effect that makes a value, without the late options and with them. */
enum { STEP_CREATE = 'C', STEP_CREATE_LATE = 'c' };

/* The step and all options of a table, to an effect; and the options from one, after the step.
 * False when a word is not known, or the step; numbers are looked at by the type's make. */
void options_write(const struct option *table, const void *options, struct effect *effect);
bool options_read(const struct option *table, uint8_t step, struct effect_reader *reader,
                  void *options);

/* Options of types with a window: a lethe_window_options, with which their own options begin. */
extern const struct option window_options[];
extern const char *const window_policies[];
void window_options_default(void *options);
uint64_t window_planned_bytes(const struct value_type *type, const void *options);

/* Arguments of commands. */
bool is_word(const redis_string *string, const char *word); /* in any case */
bool parse_count(const redis_string *string, uint64_t *out);
/* Numbers from least to most. */
bool parse_number(const redis_string *string, uint64_t least, uint64_t most, uint64_t *out);
/* A secret seed. */
uint64_t random_seed(void);

#endif
