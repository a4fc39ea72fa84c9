/* module/once/limit_commands.c - descriptions of the commands about limits. */
#include "once/once.h"
#include "once/words.h"

/* clang-format off */
#define BOUND_PERIOD \
    {.name = "period", .type = REDIS_ARGUMENT_STRING, .flags = REDIS_ARGUMENT_OPTIONAL, \
     .token = "PER", .limits = &range_period, .fallback = "on the total", \
     .meaning = "On the bucket of the present period, one of those that the table was made with"}
#define LIMITS \
    {.name = "limit", .type = REDIS_ARGUMENT_BLOCK, \
     .flags = REDIS_ARGUMENT_OPTIONAL | REDIS_ARGUMENT_MULTIPLE, \
     .meaning = "What increases may not pass; all must hold", \
     .parts = ARGUMENTS({.name = "max", .type = REDIS_ARGUMENT_INTEGER, .token = "LIMIT", \
                         .meaning = "The most that the total, or the bucket, may become", \
                         .limits = &range_integer}, \
                        BOUND_PERIOD, \
                        {.name = "sliding", .type = REDIS_ARGUMENT_TOKEN, \
                         .flags = REDIS_ARGUMENT_OPTIONAL, .token = "SLIDING", \
                         .meaning = "Count the bucket before too, by the share of it that is " \
                                    "less than a period ago"})}, \
    {.name = "floor", .type = REDIS_ARGUMENT_BLOCK, \
     .flags = REDIS_ARGUMENT_OPTIONAL | REDIS_ARGUMENT_MULTIPLE, \
     .meaning = "What decreases may not pass; of both together, there are 1 to 8", \
     .parts = ARGUMENTS({.name = "min", .type = REDIS_ARGUMENT_INTEGER, .token = "FLOOR", \
                         .meaning = "The least that the total, or the bucket, may become", \
                         .limits = &range_integer}, \
                        BOUND_PERIOD)}
/* clang-format on */

#define LIMIT_ERRORS                                                             \
    {ERROR_LIMIT_SYNTAX,                                                         \
     "There is neither LIMIT nor FLOOR, or a word that does not belong to one"}, \
        {ERROR_LIMITS, "There are more than 8"},                                 \
        {ERROR_NOT_METERED, "The table was not made with that PER"},             \
        {ERROR_SLIDING, "SLIDING without LIMIT and PER"}, {                      \
        ERROR_SLIDING_KEEP, "The table keeps one bucket of that period only"     \
    }

const struct command once_limit_commands[] = {
    {
        .name = "TAKE",
        .function = once_take,
        .flags = "write fast",
        .arity = -7,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Adds to a counter, or takes away, unless that would pass a limit; once per id",
        .complexity = "O(number of limits)",
        .arguments = ARGUMENTS(TABLE, ID, COUNTER,
                               {.name = "amount",
                                .type = REDIS_ARGUMENT_INTEGER,
                                .meaning = "What is added to it",
                                .limits = &range_amount},
                               LIMITS, NO_CREATE),
        .replies =
            REPLIES({.when = "applied", .resp2 = "array: 1, value, left, milliseconds to reset"},
                    {.when = "a duplicate; nothing was changed",
                     .resp2 = "array: 0, value, left, milliseconds to reset"},
                    {.when = "limited; nothing was changed, and the id is not remembered",
                     .resp2 = "array: -1, value, left, milliseconds to reset"}),
        .errors = ERRORS(LIMIT_ERRORS,
                         {ERROR_OVERFLOW, "The id is fresh, and a sum would not fit into 64 bits"},
                         OPERATION_ERRORS),
        .details =
            "LIMIT judges increases and FLOOR decreases: an amount below zero is taken away, "
            "unless "
            "the counter would fall below the floor. A limit that does not judge the amount is "
            "not asked.\n\n"
            "The value is what the limit is on: the total, the bucket, or with SLIDING an "
            "estimate. "
            "What is left is how far the value is from the limit, or 0 if it is beyond. A bucket "
            "is reset when its period ends, by "
            "the wall clock of the server; a total never is, which is -1. Of several limits, the "
            "reply is about the one that refuses for longest, or else about the one that leaves "
            "least.\n\n"
            "A refusal is not remembered: the same id may be sent again later, and an "
            "attempt that was delayed may be applied. Who gives up sends `ONCE.ADD table id`: the "
            "answer 1 "
            "means that it can no longer be applied within the window, and 0 that it was "
            "applied.\n\n"
            "A table that does not exist is made with the server's defaults, unless NOCREATE is "
            "given or a limit has PER. Limits hold in one table: the partitions of a table that is "
            "spread by id cannot keep one.",
        .example = "> ONCE.CREATE quota PER month\n"
                   "OK\n"
                   "> ONCE.TAKE quota req-1 alice 60 LIMIT 100\n"
                   "1) (integer) 1\n"
                   "2) (integer) 60\n"
                   "3) (integer) 40\n"
                   "4) (integer) -1\n"
                   "> ONCE.TAKE quota req-2 alice 60 LIMIT 100\n"
                   "1) (integer) -1\n"
                   "2) (integer) 60\n"
                   "3) (integer) 40\n"
                   "4) (integer) -1\n"
                   "> ONCE.TAKE quota req-1 alice 60 LIMIT 100\n"
                   "1) (integer) 0\n"
                   "2) (integer) 60\n"
                   "3) (integer) 40\n"
                   "4) (integer) -1\n"
                   "> ONCE.TAKE quota req-3 alice 1 LIMIT 100 LIMIT 1000 PER month\n"
                   "1) (integer) 1\n"
                   "2) (integer) 61\n"
                   "3) (integer) 39\n"
                   "4) (integer) -1\n"
                   "> ONCE.TAKE quota req-4 alice -80 FLOOR 0\n"
                   "1) (integer) -1\n"
                   "2) (integer) 61\n"
                   "3) (integer) 61\n"
                   "4) (integer) -1\n",
    },
    {
        .name = "PEEK",
        .function = once_peek,
        .flags = "readonly fast",
        .arity = -5,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Reports how much is left until a limit",
        .complexity = "O(number of limits)",
        .arguments = ARGUMENTS(TABLE, COUNTER, LIMITS),
        .replies =
            REPLIES({.when = "always", .resp2 = "array: value, left, milliseconds to reset"}),
        .errors = ERRORS(LIMIT_ERRORS),
        .details =
            "Of several limits, the reply is about the one that leaves least. It takes nothing: "
            "somebody else may be faster. To decide and take in one step, use ONCE.TAKE. A replica "
            "answers by its own wall clock.",
        .example = "> ONCE.TAKE quota req-1 alice 60 LIMIT 100\n"
                   "...\n"
                   "> ONCE.PEEK quota alice LIMIT 100\n"
                   "1) (integer) 60\n"
                   "2) (integer) 40\n"
                   "3) (integer) -1\n"
                   "> ONCE.PEEK quota bob LIMIT 100\n"
                   "1) (integer) 0\n"
                   "2) (integer) 100\n"
                   "3) (integer) -1\n",
    },
    {.name = NULL},
};
