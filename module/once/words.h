/* module/once/words.h - arguments and errors that the descriptions of several ONCE.* commands have
 * in common. */
#ifndef LETHE_MODULE_ONCE_WORDS_H
#define LETHE_MODULE_ONCE_WORDS_H

#include "command/command.h"
#include "once/ranges.h"
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
        .limits = &range_integer                                                           \
    }
#define NO_CREATE                                                                            \
    {                                                                                        \
        .name = "no-create", .type = REDIS_ARGUMENT_TOKEN, .flags = REDIS_ARGUMENT_OPTIONAL, \
        .token = "NOCREATE", .meaning = "Fail rather than make a table that does not exist"  \
    }

/* Of commands that list a few at a time; names: "names" or "ids", things: what is listed. */
#define CURSOR                                                           \
    {                                                                    \
        .name = "cursor", .type = REDIS_ARGUMENT_INTEGER,                \
        .meaning = "0 to begin, then the cursor that the previous call " \
                   "returned",                                           \
        .limits = &range_cursor                                          \
    }
#define MATCH_AND_COUNT(names, things)                                                     \
    {.name = "pattern",                                                                    \
     .type = REDIS_ARGUMENT_PATTERN,                                                       \
     .flags = REDIS_ARGUMENT_OPTIONAL,                                                     \
     .token = "MATCH",                                                                     \
     .meaning = "Return only " names " that match, with *, ?, [set] and \\",               \
     .fallback = "all " names},                                                            \
    {                                                                                      \
        .name = "count", .type = REDIS_ARGUMENT_INTEGER, .flags = REDIS_ARGUMENT_OPTIONAL, \
        .token = "COUNT", .meaning = "About how many " things " to look at",               \
        .limits = &range_listed, .fallback = "10"                                          \
    }
#define SCAN_ERRORS \
    { ERROR_SCAN_SYNTAX, "An option is not known, or has no value" }

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

#define PERIOD                                                                                \
    {                                                                                         \
        .name = "period", .type = REDIS_ARGUMENT_STRING, .token = "PER",                      \
        .meaning = "One of the periods that the table was made with", .limits = &range_period \
    }

#endif
