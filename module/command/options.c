/* module/command/options.c - parses, writes and reads options by their table. options.h has the
 * essay.
 *
 * A field is found by its offset and copied as bytes, so that one function serves every
 * structure of options. A value that a command leaves out keeps what the type's default_options
 * put there. */
#include "command/options.h"

#include <assert.h>
#include <inttypes.h>
#include <lethe/lethe.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "change/effect.h"
#include "server/settings.h"

/* --- Arguments of commands */

bool is_word(const redis_string *string, const char *word) {
    size_t size;
    const char *text = redis.StringPtrLen(string, &size);
    return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

uint64_t random_seed(void) {
    uint64_t seed = 0;
    while (seed == 0)
        redis.GetRandomBytes((unsigned char *)&seed, sizeof seed);
    return seed;
}

bool parse_number(const redis_string *string, uint64_t least, uint64_t most, uint64_t *out) {
    long long number;
    if (redis.StringToLongLong(string, &number) != REDIS_OK || number < 0) return false;
    *out = (uint64_t)number;
    return *out >= least && *out <= most;
}

bool parse_count(const redis_string *string, uint64_t *out) {
    return parse_number(string, 0, INT64_MAX, out);
}

/* --- One option */

const struct option_unit option_milliseconds = {
    .name = "milliseconds",
    .suffixes = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}},
    .examples = "90s, 10m, 24h or 3d"};

/* As the server's own settings have them. */
const struct option_unit option_bytes = {.name = "bytes",
                                         .suffixes = {{"b", 1},
                                                      {"k", 1000},
                                                      {"kb", 1 << 10},
                                                      {"m", 1000000},
                                                      {"mb", 1 << 20},
                                                      {"g", 1000000000},
                                                      {"gb", 1 << 30}},
                                         .examples = "64kb, 100mb or 1gb"};

/* A number of a unit, plain or with a suffix. */
static bool parse_with_unit(const struct option *option, const redis_string *value, uint64_t *out) {
    if (parse_number(value, option->least, option->most, out)) return true;
    if (option->unit == NULL) return false;
    size_t size, digits = 0;
    const char *text = redis.StringPtrLen(value, &size);
    uint64_t number = 0;
    for (; digits < size && text[digits] >= '0' && text[digits] <= '9'; digits++) {
        if (number > (UINT64_MAX - 9) / 10) return false;
        number = 10 * number + (uint64_t)(text[digits] - '0');
    }
    const struct option_suffix *suffix = option->unit->suffixes;
    while (suffix->text != NULL && (strlen(suffix->text) != size - digits ||
                                    strncasecmp(suffix->text, text + digits, size - digits) != 0))
        suffix++;
    return digits > 0 && suffix->text != NULL && number <= option->most / suffix->factor &&
           (*out = number * suffix->factor) >= option->least;
}

const struct option *option_find(const struct option *table, const redis_string *name) {
    for (const struct option *option = table; option->token != NULL; option++) {
        if (is_word(name, option->token)) return option;
    }
    return NULL;
}

static bool parse_word(const struct option *option, const redis_string *value, int *out) {
    for (*out = 0; option->words[*out] != NULL; ++*out) {
        if (is_word(value, option->words[*out])) return true;
    }
    return false;
}

static bool is_listed(const struct option *option, uint32_t number) {
    const uint32_t *known = option->values;
    while (known != NULL && *known != 0 && *known != number)
        known++;
    return known == NULL || *known != 0;
}

bool option_parse(const struct option *option, const redis_string *value, void *options) {
    unsigned char *field = (unsigned char *)options + option->offset;
    uint64_t large;
    uint32_t small;
    long long seed;
    double fraction;
    int word;
    switch (option->kind) {
    case OPTION_LARGE:
        if (!parse_with_unit(option, value, &large)) return false;
        memcpy(field, &large, sizeof large);
        return true;
    case OPTION_SMALL:
        if (!parse_number(value, option->least, option->most, &large)) return false;
        small = (uint32_t)large;
        if (!is_listed(option, small)) return false;
        memcpy(field, &small, sizeof small);
        return true;
    case OPTION_SEED:
        if (redis.StringToLongLong(value, &seed) != REDIS_OK || seed == 0) return false;
        memcpy(field, &seed, sizeof seed);
        return true;
    case OPTION_OWN:
        return option->parse(value, options);
    case OPTION_FRACTION:
        if (redis.StringToDouble(value, &fraction) != REDIS_OK ||
            !(fraction >= option->least_fraction && fraction <= option->most_fraction)) {
            return false;
        }
        memcpy(field, &fraction, sizeof fraction);
        return true;
    default:
        if (!parse_word(option, value, &word)) return false;
        memcpy(field, &word, sizeof word);
        return true;
    }
}

void option_range(const struct option *option, char range[OPTION_RANGE_BYTES]) {
    if (option->kind == OPTION_FRACTION) {
        snprintf(range, OPTION_RANGE_BYTES, "%g to %g", option->least_fraction,
                 option->most_fraction);
    } else if (option->kind == OPTION_SEED) {
        snprintf(range, OPTION_RANGE_BYTES, "any 64-bit integer except 0");
    } else if (option->kind == OPTION_WORD) {
        snprintf(range, OPTION_RANGE_BYTES, "%s or %s", option->words[0], option->words[1]);
    } else if (option->range != NULL) {
        snprintf(range, OPTION_RANGE_BYTES, "%s", option->range);
    } else if (option->unit != NULL) {
        snprintf(range, OPTION_RANGE_BYTES, "%" PRIu64 " to %" PRIu64 " %s, or such as %s",
                 option->least, option->most, option->unit->name, option->unit->examples);
    } else {
        snprintf(range, OPTION_RANGE_BYTES, "%" PRIu64 " to %" PRIu64, option->least, option->most);
    }
}

void option_names(const struct option *table, char names[OPTION_NAMES_BYTES]) {
    size_t used = 0;
    names[0] = '\0';
    for (const struct option *option = table; option->token != NULL; option++) {
        bool is_last = option[1].token == NULL;
        const char *before = option == table ? "" : is_last ? " and " : ", ";
        used += (size_t)snprintf(names + used, OPTION_NAMES_BYTES - used, "%s%s", before,
                                 option->token);
    }
    assert(used < OPTION_NAMES_BYTES);
}

/* --- Effects */

static bool is_zero(const struct option *option, const void *options) {
    int word;
    assert(option->kind == OPTION_WORD);
    memcpy(&word, (const unsigned char *)options + option->offset, sizeof word);
    return word == 0;
}

/* Whether a late option has another value than 0. */
static bool is_late(const struct option *table, const void *options) {
    for (const struct option *option = table; option->token != NULL; option++) {
        if (option->is_late && !is_zero(option, options)) return true;
    }
    return false;
}

void options_write(const struct option *table, const void *options, struct effect *effect) {
    bool with_late = is_late(table, options);
    effect_u8(effect, with_late ? STEP_CREATE_LATE : STEP_CREATE);
    for (const struct option *option = table; option->token != NULL; option++) {
        const unsigned char *field = (const unsigned char *)options + option->offset;
        int word;
        if (option->kind == OPTION_OWN || (option->is_late && !with_late)) continue;
        switch (option->kind) {
        case OPTION_SMALL:
            effect_bytes(effect, field, sizeof(uint32_t));
            break;
        case OPTION_WORD:
            memcpy(&word, field, sizeof word);
            effect_u8(effect, (uint8_t)word);
            break;
        default:
            effect_bytes(effect, field, sizeof(uint64_t));
        }
    }
}

bool options_read(const struct option *table, uint8_t step, struct effect_reader *reader,
                  void *options) {
    bool with_late = step == STEP_CREATE_LATE, has_late = false;
    for (const struct option *option = table; option->token != NULL; option++) {
        unsigned char *field = (unsigned char *)options + option->offset;
        uint64_t large;
        uint32_t small;
        int word, known = 0;
        if (option->kind == OPTION_OWN) continue;
        has_late |= option->is_late;
        if (option->is_late && !with_late) {
            memset(field, 0, sizeof word);
            continue;
        }
        switch (option->kind) {
        case OPTION_SMALL:
            small = effect_read_u32(reader);
            memcpy(field, &small, sizeof small);
            break;
        case OPTION_WORD:
            word = effect_read_u8(reader);
            while (option->words[known] != NULL)
                known++;
            if (word >= known) return false;
            memcpy(field, &word, sizeof word);
            break;
        default:
            large = effect_read_u64(reader); /* also the bytes of a double */
            memcpy(field, &large, sizeof large);
        }
    }
    return has_late || !with_late;
}

/* --- Options of types with a window */

const char *const window_policies[] = {
    [LETHE_POLICY_REFUSE] = "refuse", [LETHE_POLICY_DEGRADE] = "degrade", NULL};
static_assert(sizeof(lethe_policy) == sizeof(int), "an OPTION_WORD is an int");

#define FIELD(kind_, field_) .kind = kind_, .offset = offsetof(lethe_window_options, field_)

const struct option window_options[] = {
#include "command/window_rows.inc.h"
    {0},
};

void window_options_default(void *options) {
    *(lethe_window_options *)options = settings_defaults();
}

/* Both kinds of window take about this many bits per id besides those for the error. */
enum { BITS_BESIDES = 20 };

uint64_t window_planned_bytes(const struct value_type *type, const void *options) {
    (void)type;
    const lethe_window_options *window = options;
    if (!(window->error > 0 && window->error < 1)) return 0;
    double bits = BITS_BESIDES - log2(window->error);
    double bytes = (double)window->capacity * bits / 8;
    if (window->max_memory_bytes > 0 && bytes > (double)window->max_memory_bytes)
        return window->max_memory_bytes;
    return bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX;
}
