/* module/once/commands.c - descriptions of the ONCE.* commands, except those that every type
 * has. */
#include "command/command.h"
#include "once/once.h"
#include "once/words.h"
#include "server/errors.h"

const struct command once_commands[] = {
    {
        .name = "INCRBY",
        .function = once_incrby,
        .flags = "write fast",
        .arity = -5,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Adds to counters, unless the id was seen within the window",
        .complexity = "O(number of counters)",
        .arguments = ARGUMENTS(TABLE, ID,
                               {.name = "increment",
                                .type = REDIS_ARGUMENT_BLOCK,
                                .flags = REDIS_ARGUMENT_MULTIPLE,
                                .parts = ARGUMENTS(COUNTER, DELTA)},
                               NO_CREATE),
        .replies = REPLIES({.when = "applied", .resp2 = "array: 1, the value of each counter"},
                           {.when = "a duplicate; nothing was changed",
                            .resp2 = "array: 0, the value of each counter"}),
        .errors = ERRORS({ERROR_OVERFLOW, "The id is fresh, and a sum would not fit into 64 bits"},
                         OPERATION_ERRORS),
        .details =
            "All counters of the operation change, or none. A counter that does not exist begins "
            "at "
            "0. After an error the id is not remembered, and the operation can be sent again. "
            "While "
            "memory is short, duplicates are still answered: a client that retries an operation "
            "learns that it was applied.\n\n"
            "A table that does not exist is made with the server's defaults (`lethe.*` in CONFIG "
            "GET), "
            "unless NOCREATE is given.",
        .example = "> ONCE.INCRBY clicks op-1 post:7 1\n"
                   "1) (integer) 1\n"
                   "2) (integer) 1\n"
                   "> ONCE.INCRBY clicks op-1 post:7 1\n"
                   "1) (integer) 0\n"
                   "2) (integer) 1\n"
                   "> ONCE.INCRBY clicks op-2 post:7 1 total 1\n"
                   "1) (integer) 1\n"
                   "2) (integer) 2\n"
                   "3) (integer) 1\n"
                   "> ONCE.INCRBY other op-3 post:7 1 NOCREATE\n"
                   "(error) NOTABLE there is no such table; make it with ONCE.CREATE\n",
    },
    {
        .name = "MINCRBY",
        .function = once_mincrby,
        .flags = "write fast",
        .arity = -5,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Applies many operations in one command, each on its own",
        .complexity = "O(number of operations)",
        .arguments = ARGUMENTS(TABLE,
                               {.name = "operation",
                                .type = REDIS_ARGUMENT_BLOCK,
                                .flags = REDIS_ARGUMENT_MULTIPLE,
                                .parts = ARGUMENTS(ID, COUNTER, DELTA)},
                               NO_CREATE),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array: per operation an array of 1 if applied or 0 if a "
                                     "duplicate, and the counter's value; or an error"}),
        .errors = ERRORS({ERROR_OVERFLOW, "In place of one operation's answer"}, OPERATION_ERRORS),
        .details =
            "Each operation changes one counter. One that fails does not keep the others from "
            "being applied. Fifty operations in one command take about half of the time of "
            "fifty pipelined ONCE.INCRBY.",
        .example = "> ONCE.MINCRBY clicks op-1 post:7 1 op-2 post:8 5 op-1 post:7 1\n"
                   "1) 1) (integer) 1\n"
                   "   2) (integer) 1\n"
                   "2) 1) (integer) 1\n"
                   "   2) (integer) 5\n"
                   "3) 1) (integer) 0\n"
                   "   2) (integer) 1\n",
    },
    {
        .name = "GET",
        .function = once_get,
        .flags = "readonly fast",
        .arity = 3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Returns the value of a counter",
        .complexity = "O(1)",
        .arguments = ARGUMENTS(TABLE, COUNTER),
        .replies = REPLIES({.when = "the counter exists", .resp2 = "integer: its value"},
                           {.when = "no such counter or table", .resp2 = "nil", .resp3 = "null"}),
        .example = "> ONCE.INCRBY clicks op-1 post:7 3\n"
                   "1) (integer) 1\n"
                   "2) (integer) 3\n"
                   "> ONCE.GET clicks post:7\n"
                   "(integer) 3\n"
                   "> ONCE.GET clicks post:8\n"
                   "(nil)\n",
    },
    {
        .name = "MGET",
        .function = once_mget,
        .flags = "readonly fast",
        .arity = -3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Returns the values of counters",
        .complexity = "O(number of counters)",
        .arguments = ARGUMENTS(TABLE, COUNTERS),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array: per counter its value, or nil if it does not exist",
                            .resp3 = "array: per counter its value, or null if it does not exist"}),
        .example = "> ONCE.INCRBY clicks op-1 post:7 3 post:8 4\n"
                   "1) (integer) 1\n"
                   "2) (integer) 3\n"
                   "3) (integer) 4\n"
                   "> ONCE.MGET clicks post:8 none post:7\n"
                   "1) (integer) 4\n"
                   "2) (nil)\n"
                   "3) (integer) 3\n",
    },
    {
        .name = "SCAN",
        .function = once_scan,
        .flags = "readonly",
        .arity = -3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Lists the counters, a few at a time",
        .complexity = "O(COUNT) per call, O(n) for all n counters",
        .arguments = ARGUMENTS(TABLE, CURSOR, MATCH_AND_COUNT("names", "counters")),
        .replies =
            REPLIES({.when = "always",
                     .resp2 = "array: the next cursor as a string, \"0\" at the end; an array "
                              "of names and values in turn"}),
        .errors = ERRORS(SCAN_ERRORS),
        .details = "Every counter that exists from the first call to the last is returned at least "
                   "once, whatever is added and removed meanwhile. A cursor is valid only on the "
                   "server that returned it.",
        .example = "> ONCE.INCRBY clicks op-1 post:7 3\n"
                   "1) (integer) 1\n"
                   "2) (integer) 3\n"
                   "> ONCE.SCAN clicks 0 MATCH post:* COUNT 100\n"
                   "1) \"0\"\n"
                   "2) 1) \"post:7\"\n"
                   "   2) (integer) 3\n",
    },
    {
        .name = "TOP",
        .function = once_top,
        .flags = "readonly",
        .arity = 3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Lists the largest counters",
        .complexity = "O(n log count) for n counters",
        .arguments = ARGUMENTS(TABLE, {.name = "count",
                                       .type = REDIS_ARGUMENT_INTEGER,
                                       .meaning = "How many",
                                       .limits = &range_top}),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array: names and values in turn, the largest value first"}),
        .details = "Counters of equal value come in the order of their names.",
        .example = "> ONCE.INCRBY clicks op-1 post:7 3 post:8 5 post:9 1\n"
                   "...\n"
                   "> ONCE.TOP clicks 2\n"
                   "1) \"post:8\"\n"
                   "2) (integer) 5\n"
                   "3) \"post:7\"\n"
                   "4) (integer) 3\n",
    },
    {
        .name = "DEL",
        .function = once_del,
        .flags = "write fast",
        .arity = -3,
        ONE_KEY(KEY_REMOVES),
        .since = "0.1.0",
        .summary = "Removes counters; ids stay remembered",
        .complexity = "O(number of counters)",
        .arguments = ARGUMENTS(TABLE, COUNTERS),
        .replies = REPLIES({.when = "always", .resp2 = "integer: how many existed"}),
        .details =
            "The operations that were applied remain duplicates: sent again, they do not bring "
            "the counter back.",
        .example = "> ONCE.INCRBY clicks op-1 post:7 3\n"
                   "...\n"
                   "> ONCE.DEL clicks post:7 none\n"
                   "(integer) 1\n"
                   "> ONCE.INCRBY clicks op-1 post:7 3\n"
                   "1) (integer) 0\n"
                   "2) (integer) 0\n",
    },
    {
        .name = "ADD",
        .function = once_add,
        .flags = "write fast",
        .arity = -3,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Remembers ids, without counters",
        .complexity = "O(number of ids)",
        .arguments = ARGUMENTS(
            TABLE,
            {.name = "option",
             .type = REDIS_ARGUMENT_BLOCK,
             .flags = REDIS_ARGUMENT_OPTIONAL,
             .meaning = "NOCREATE is followed by IDS, since an id may be any word",
             .parts = ARGUMENTS({.name = "no-create",
                                 .type = REDIS_ARGUMENT_TOKEN,
                                 .token = "NOCREATE",
                                 .meaning = "Fail rather than make a table that does not exist"},
                                {.name = "ids",
                                 .type = REDIS_ARGUMENT_TOKEN,
                                 .token = "IDS",
                                 .meaning = "The ids follow"})},
            IDS),
        .replies =
            REPLIES({.when = "always",
                     .resp2 = "array: per id 1 if fresh, 0 if a duplicate, or an error",
                     .resp3 = "array: per id true if fresh, false if a duplicate, or an error"}),
        .errors = ERRORS(OPERATION_ERRORS),
        .details = "For deduplication: do the work for the ids that are answered with 1.",
        .example = "> ONCE.ADD seen a b a\n"
                   "1) (integer) 1\n"
                   "2) (integer) 1\n"
                   "3) (integer) 0\n"
                   "> ONCE.ADD other NOCREATE IDS a\n"
                   "(error) NOTABLE there is no such table; make it with ONCE.CREATE\n",
    },
    {
        .name = "SEEN",
        .function = once_seen,
        .flags = "readonly fast",
        .arity = -3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Reports whether ids were seen within the window",
        .complexity = "O(number of ids)",
        .arguments = ARGUMENTS(TABLE, IDS),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array: per id 1 if seen, otherwise 0",
                            .resp3 = "array: per id true if seen, otherwise false"}),
        .details = "It remembers nothing. To decide and remember in one step, use ONCE.ADD.",
        .example = "> ONCE.ADD seen a\n"
                   "1) (integer) 1\n"
                   "> ONCE.SEEN seen a b\n"
                   "1) (integer) 1\n"
                   "2) (integer) 0\n",
    },
    {
        .name = "FORGET",
        .function = once_forget_command,
        .flags = "write fast",
        .arity = 3,
        ONE_KEY(KEY_REMOVES),
        .is_dangerous = true,
        .since = "0.1.0",
        .summary = "Forgets one id, because its operation is to be done again",
        .complexity = "O(1)",
        .arguments = ARGUMENTS(TABLE, ID),
        .replies = REPLIES({.when = "it was remembered", .resp2 = "1", .resp3 = "true"},
                           {.when = "it was not", .resp2 = "0", .resp3 = "false"}),
        .errors = ERRORS({ERROR_FORGET, "The table's KIND is forgetful"}),
        .details =
            "Counters keep their values. Forgetting an id that was never remembered may forget "
            "another one, with the probability of the table's ERROR.",
        .example = "> ONCE.INCRBY clicks op-1 post:7 1\n"
                   "...\n"
                   "> ONCE.FORGET clicks op-1\n"
                   "(integer) 1\n"
                   "> ONCE.INCRBY clicks op-1 post:7 1\n"
                   "1) (integer) 1\n"
                   "2) (integer) 2\n",
    },
    {
        .name = "CALL",
        .function = once_call,
        .flags = "write getkeys-api",
        .arity = -4,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Runs a write command, unless the id was seen within the window",
        .complexity = "That of the command",
        .arguments = ARGUMENTS(TABLE, ID, NO_CREATE,
                               {.name = "keep",
                                .type = REDIS_ARGUMENT_TOKEN,
                                .flags = REDIS_ARGUMENT_OPTIONAL,
                                .token = "KEEP",
                                .meaning = "Keep the reply, and return it to whoever sends the "
                                           "same command with the same id again"},
                               {.name = "command",
                                .type = REDIS_ARGUMENT_STRING,
                                .meaning = "A write command that names its keys"},
                               {.name = "argument",
                                .type = REDIS_ARGUMENT_STRING,
                                .flags = REDIS_ARGUMENT_OPTIONAL | REDIS_ARGUMENT_MULTIPLE,
                                .meaning = "The command's arguments"}),
        .replies = REPLIES({.when = "done", .resp2 = "array: 1, the command's reply"},
                           {.when = "done in part: its reply holds errors",
                            .resp2 = "array: 2, the command's reply"},
                           {.when = "a duplicate; the command was not run",
                            .resp2 = "array: 0, nil",
                            .resp3 = "array: 0, null"},
                           {.when = "with KEEP, the same command again; it was not run",
                            .resp2 = "array: 0, the reply of the first time"},
                           {.when = "with KEEP, the same again, and the reply is gone",
                            .resp2 = "array: -1, nil",
                            .resp3 = "array: -1, null"},
                           {.when = "the command failed; the id is not remembered",
                            .resp2 = "the command's error"}),
        .errors =
            ERRORS({ERROR_CALL_UNKNOWN, "There is no such command"},
                   {ERROR_CALL_NOT_PLAIN, "It reads, blocks, administers, or is a script"},
                   {ERROR_CALL_ARITY, "It has too few or too many arguments"},
                   {ERROR_CALL_NO_KEYS, "It names no key"},
                   {ERROR_CALL_TABLE, "One of its keys is the table"},
                   {ERROR_CALL_DENIED, "The user may not run it, or not with these keys"},
                   {ERROR_CALL_FAILED, "The server could not run it"},
                   {ERROR_CALL_MISMATCH,
                    "With KEEP, and the id was used with another command, by another user, or by "
                    "ONCE.BEGIN"},
                   {ERROR_VALUE("...", "id", "..."), "With KEEP, and the id is too long"},
                   OPERATION_ERRORS),
        .details =
            "The id and what the command does are replicated and logged as one transaction. In a "
            "cluster the table and the command's keys must be in one slot.\n\n"
            "With KEEP the id is that of a claim, as in ONCE.BEGIN, which is done at once. It is "
            "kept exactly, with a hash of the user and all words of the command, and with its "
            "reply: strings, "
            "integers, nil and arrays of these. The reply has the form of version 2 of the "
            "protocol for everybody. A reply that is larger than `lethe.largest-reply`, or has "
            "arrays more than 8 deep, is returned but not kept; `lethe.kept-replies` bounds all "
            "of them. Only the same user gets the reply again, and needs the right to run the "
            "command, as at first.",
        .example = "> ONCE.CALL done op-1 LPUSH jobs 42\n"
                   "1) (integer) 1\n"
                   "2) (integer) 1\n"
                   "> ONCE.CALL done op-1 LPUSH jobs 42\n"
                   "1) (integer) 0\n"
                   "2) (nil)\n"
                   "> ONCE.CALL done op-3 KEEP LPUSH jobs 43\n"
                   "1) (integer) 1\n"
                   "2) (integer) 2\n"
                   "> ONCE.CALL done op-3 KEEP LPUSH jobs 43\n"
                   "1) (integer) 0\n"
                   "2) (integer) 2\n"
                   "> ONCE.CALL done op-2 GET jobs\n"
                   "(error) ERR only plain write commands can be called\n",
    },
    {.name = NULL},
};
