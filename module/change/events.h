/* module/change/events.h - the events that changes of values are announced by, such as
 * "once.incrby": a master's, and its replicas'. events.c has the essay. */
#ifndef LETHE_MODULE_CHANGE_EVENTS_H
#define LETHE_MODULE_CHANGE_EVENTS_H

#include "server/redis_api.h"

struct value_type;

/* These numbers are in logs and streams (docs/format/module.md), so none is ever used for anything
 * else. 63 is the most. */
enum event {
    EVENT_UNKNOWN = 0, /* from a version that sent no names */
    EVENT_NONE = 1,    /* nothing that anybody is told of */
    EVENT_CREATE = 2,  /* CREATE or RESERVE */
    EVENT_MERGE = 3,
    EVENT_ADD = 4,
    EVENT_REMOVE = 5,
    EVENT_INCRBY = 6,
    EVENT_MINCRBY = 7,
    EVENT_DEL = 8,
    EVENT_FORGET = 9,
    EVENT_CALL = 10,
    EVENT_TAKE = 11,
    EVENT_BEGIN = 12,
    EVENT_RENEW = 13,
    EVENT_DONE = 14,
    EVENT_ABORT = 15,
    EVENT_HOLD = 16,
    EVENT_SETTLE = 17,
    EVENT_RELEASE = 18,
    EVENT_COUNT
};

enum { EVENT_BYTES = 32 };

/* The name of an event, such as "fbf.add"; NULL for EVENT_NONE. One that a later version sends is
 * "effect", as is EVENT_UNKNOWN. */
const char *event_name(const struct value_type *type, enum event event);

/* The name of the command that carries an effect, with the event in it; and the event of such a
 * name. */
const char *event_command(const struct value_type *type, enum event event);
enum event event_read(const redis_string *command);

#endif
