/* module/server/settings.h - the configuration: lethe.* in CONFIG GET and CONFIG SET.
 *
 * A setting is described once, in a table: its registration and its line on the page
 * docs/commands/settings.md come from there. */
#ifndef LETHE_MODULE_SERVER_SETTINGS_H
#define LETHE_MODULE_SERVER_SETTINGS_H

#include <lethe/lethe.h>

#include "server/redis_api.h"

enum setting_kind {
    SETTING_NUMBER,
    SETTING_BYTES,    /* a number that may have a unit, such as 64mb */
    SETTING_FRACTION, /* the server has none, so it is a text */
    SETTING_WORD      /* one of two words */
};

/* One setting. */
struct setting {
    /* Without the module's name. */
    const char *name;
    enum setting_kind kind;
    /* Of numbers: the default and the range. Of fractions: the range. */
    long long initial, least, most;
    double least_fraction, most_fraction;
    /* Of words: words[i] means i, and the first is the default. */
    const char *words[2];
    /* The default, and what the setting means, as a sentence without a full stop. */
    const char *fallback, *meaning;
    /* Where it is kept: a long long, double or int. */
    void *value;
    /* Of a fraction: the text that was last returned, which the module owns. */
    redis_string *shown;
};

/* All of them; a name of NULL is the last. */
extern struct setting settings[];

/* Registers the settings and reads their values. */
bool settings_register(redis_context *context);

/* The options of a value with a window that its first use makes. The seed is a new one each
 * time. */
lethe_window_options settings_defaults(void);
/* lethe.tick-ms: how often the timer runs. */
uint64_t settings_tick_ms(void);
/* lethe.largest-reply and lethe.kept-replies: how large one reply of a claim may be, and all of a
 * table. */
uint64_t settings_largest_reply_bytes(void);
uint64_t settings_kept_replies_bytes(void);
/* lethe.largest-value: how large a client may make a value; 0: any size. */
uint64_t settings_largest_value_bytes(void);

enum { SETTING_RANGE_BYTES = 64 };
/* Writes the range, such as "1 to 60000". */
void setting_range(const struct setting *setting, char range[SETTING_RANGE_BYTES]);

#endif
