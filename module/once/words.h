/* module/once/words.h - arguments and errors that the descriptions of several ONCE.* commands have
 * in common. */
#ifndef LETHE_MODULE_ONCE_WORDS_H
#define LETHE_MODULE_ONCE_WORDS_H

#include "command/command.h"
#include "once/resolutions.h"
#include "server/errors.h"

#define TABLE ARGUMENT_KEY("table", "The key of the table")
#define ID                                                                                 \
    {                                                                                      \
        .name = "id", .type = REDIS_ARGUMENT_STRING,                                       \
        .meaning = "The id of the operation; every retry repeats it", .range = "not empty" \
    }
#define IDS                                                                            \
    {                                                                                  \
        .name = "id", .type = REDIS_ARGUMENT_STRING, .flags = REDIS_ARGUMENT_MULTIPLE, \
        .meaning = "An id", .range = "not empty"                                       \
    }
#define COUNTER \
    { .name = "counter", .type = REDIS_ARGUMENT_STRING, .meaning = "The name of a counter" }
#define COUNTERS                                                                            \
    {                                                                                       \
        .name = "counter", .type = REDIS_ARGUMENT_STRING, .flags = REDIS_ARGUMENT_MULTIPLE, \
        .meaning = "The name of a counter"                                                  \
    }
#define DELTA                                                                              \
    {                                                                                      \
        .name = "delta", .type = REDIS_ARGUMENT_INTEGER, .meaning = "What is added to it", \
        .range = "-9223372036854775808 to 9223372036854775807"                             \
    }
#define NO_CREATE                                                                            \
    {                                                                                        \
        .name = "no-create", .type = REDIS_ARGUMENT_TOKEN, .flags = REDIS_ARGUMENT_OPTIONAL, \
        .token = "NOCREATE", .meaning = "Fail rather than make a table that does not exist"  \
    }

/* Errors of every command that takes operations. */
#define GROWTH_ERRORS                                                                 \
    {ERROR_TOO_LARGE, "The id is fresh, and the table may not grow"}, {               \
        ERROR_SERVER_MEMORY, "The id is fresh, and the server has used up its memory" \
    }
#define OPERATION_ERRORS                                               \
    {ERROR_EMPTY_ID, "An id is the empty string"},                     \
        {ERROR_NO_TABLE, "There is no table, and NOCREATE was given"}, \
        {ERROR_FULL, "The id is fresh, and the table has reached its MAXMEMORY"}, GROWTH_ERRORS
/* Of commands that make a record of an id, which no window has to remember. */
#define RECORD_ERRORS                              \
    {ERROR_EMPTY_ID, "An id is the empty string"}, \
        {ERROR_NO_TABLE, "There is no table, and NOCREATE was given"}, GROWTH_ERRORS

#define PERIOD                                                                              \
    {                                                                                       \
        .name = "period", .type = REDIS_ARGUMENT_STRING, .token = "PER",                    \
        .meaning = "One of the periods that the table was made with", .range = PERIOD_RANGE \
    }

#endif
