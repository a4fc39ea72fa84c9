/* module/change/events.c - what a change is called, on a master and on its replicas.
 *
 * IDEA    Subscribers on a replica see the same names as on the master: once.incrby, and not that
 *         an effect came. The steps of an effect do not say which command it was, so its number is
 *         sent along. It is in the letters of the command's name, "ONCE.EFFECT": bit i of the
 *         number makes letter i of EFFECT a small one.
 * WHY     Servers compare names of commands without regard to case. So a replica with an earlier
 *         version, which knows only two words of arguments and all of their bytes, takes the
 *         effect as always; a log can be read by both; and no byte is added to what is sent.
 * SPEED   Each change needs both names, so that they are made once for each type.
 * I1      A name in capitals has no event: it is from a version that did not send them. */
#include "change/events.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>

#include "value/value.h"

static const char *const words[EVENT_COUNT] = {
    [EVENT_MERGE] = "merge",     [EVENT_ADD] = "add",         [EVENT_REMOVE] = "remove",
    [EVENT_INCRBY] = "incrby",   [EVENT_MINCRBY] = "mincrby", [EVENT_DEL] = "del",
    [EVENT_FORGET] = "forget",   [EVENT_CALL] = "call",       [EVENT_TAKE] = "take",
    [EVENT_BEGIN] = "begin",     [EVENT_RENEW] = "renew",     [EVENT_DONE] = "done",
    [EVENT_ABORT] = "abort",     [EVENT_HOLD] = "hold",       [EVENT_SETTLE] = "settle",
    [EVENT_RELEASE] = "release",
};

/* --- Names, made once */

/* Of "EFFECT". */
enum { LETTERS = 6, TYPES_MOST = 8 };

struct names {
    char event[EVENT_BYTES], command[EVENT_BYTES];
};

static struct row {
    const struct value_type *type;
    struct names each[EVENT_COUNT];
} rows[TYPES_MOST];

static void write_event(const struct value_type *type, unsigned event, char name[EVENT_BYTES]) {
    const char *word = event == EVENT_CREATE ? type->create_word : words[event];
    if (word == NULL) {
        snprintf(name, EVENT_BYTES, "effect");
        return;
    }
    snprintf(name, EVENT_BYTES, "%s.%s", type->prefix, word);
    for (char *letter = name; *letter != '\0'; letter++)
        *letter = (char)tolower((unsigned char)*letter);
}

static void write_command(const struct value_type *type, unsigned event, char name[EVENT_BYTES]) {
    int size = snprintf(name, EVENT_BYTES, "%s", type->effect_name);
    for (unsigned i = 0; i < LETTERS; i++) {
        char *letter = name + size - LETTERS + i;
        if ((event >> i & 1) != 0) *letter = (char)tolower((unsigned char)*letter);
    }
}

static const struct names *names_of(const struct value_type *type, enum event event) {
    static struct row *last = rows; /* the type of one command is mostly that of the next */
    if (last->type == type) return &last->each[event];
    struct row *row = rows;
    for (; row->type != NULL; row++) {
        if (row->type != type) continue;
        last = row;
        return &row->each[event];
    }
    assert(row < rows + TYPES_MOST);
    row->type = type;
    for (unsigned i = 0; i < EVENT_COUNT; i++) {
        write_event(type, i, row->each[i].event);
        write_command(type, i, row->each[i].command);
    }
    return &row->each[event];
}

const char *event_name(const struct value_type *type, enum event event) {
    if (event == EVENT_NONE) return NULL;
    return names_of(type, event < EVENT_COUNT ? event : EVENT_UNKNOWN)->event;
}

const char *event_command(const struct value_type *type, enum event event) {
    return names_of(type, event)->command;
}

/* --- Reading */

enum event event_read(const redis_string *command) {
    size_t size;
    const char *text = redis.StringPtrLen(command, &size);
    unsigned event = 0;
    for (unsigned i = 0; i < LETTERS && size >= LETTERS; i++)
        event |= (unsigned)(islower((unsigned char)text[size - LETTERS + i]) != 0) << i;
    return (enum event)event;
}
