/* module/once/meter_commands.c - descriptions of the commands about periods. */
#include "once/once.h"
#include "once/words.h"

#define TIME(name_, meaning_) \
    { .name = name_, .type = REDIS_ARGUMENT_STRING, .meaning = meaning_, .limits = &range_time }

const struct command once_meter_commands[] = {
    {
        .name = "RANGE",
        .function = once_range,
        .flags = "readonly",
        .arity = -7,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Returns what was added to a counter in each period",
        .complexity = "O(log n + COUNT) for n buckets",
        .arguments = ARGUMENTS(TABLE, COUNTER, TIME("from", "Buckets that begin then or later"),
                               TIME("to", "Buckets that begin then or earlier"), PERIOD,
                               {.name = "count",
                                .type = REDIS_ARGUMENT_INTEGER,
                                .flags = REDIS_ARGUMENT_OPTIONAL,
                                .token = "COUNT",
                                .meaning = "The most buckets to return",
                                .limits = &range_buckets,
                                .fallback = "1000"}),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array: where the next call begins, as its `from`, or 0 at "
                                     "the end; an array of beginnings and values in turn, the "
                                     "oldest first"}),
        .errors = ERRORS({ERROR_RANGE_SYNTAX, "PER is missing, or a word is neither PER nor COUNT"},
                         {ERROR_NOT_METERED, "The table was not made with that PER"}),
        .details =
            "A bucket is named by the time at which its period begins, in milliseconds since 1970; "
            "periods are those of UTC. Periods without an operation have no bucket. A counter's "
            "value is the sum of its buckets and of a rest, which KEEP has dropped; ONCE.GET and "
            "ONCE.RANGE in one MULTI show both at one moment.\n\n"
            "An operation belongs to the period in which the master applied it, by the wall clock "
            "of the master's host. If that clock is set back, operations belong to earlier buckets "
            "again.",
        .example = "> ONCE.CREATE calls PER hour KEEP 48 PER month\n"
                   "OK\n"
                   "> ONCE.INCRBY calls op-1 alice 3\n"
                   "1) (integer) 1\n"
                   "2) (integer) 3\n"
                   "> ONCE.RANGE calls alice - + PER month\n"
                   "...\n"
                   "> ONCE.RANGE calls bob - + PER hour\n"
                   "1) (integer) 0\n"
                   "2) (empty array)\n"
                   "> ONCE.RANGE calls alice - + PER day\n"
                   "(error) ERR the table does not count per that period; make it with ONCE.CREATE "
                   "... PER\n",
    },
    {.name = NULL},
};
