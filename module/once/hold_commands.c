/* module/once/hold_commands.c - descriptions of the commands about holds. */
#include "once/once.h"
#include "once/words.h"

#define HOLD_ID                                                                           \
    {                                                                                     \
        .name = "id", .type = REDIS_ARGUMENT_STRING,                                      \
        .meaning = "The id of the hold; every retry repeats it", .limits = &range_hold_id \
    }

#define HOLD_ERRORS                                                                               \
    {ERROR_EMPTY_ID, "The id is the empty string"}, {ERROR_NO_TABLE, "There is no such table"}, { \
        ERROR_NO_HOLD, "There is none of that id, or it ended longer ago than the window"         \
    }

#define STANDING "value, left, milliseconds to reset"

const struct command once_hold_commands[] = {
    {
        .name = "HOLD",
        .function = once_hold,
        .flags = "write fast",
        .arity = -9,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Sets an amount aside under a limit, until it is settled or released",
        .complexity = "O(log n) for n holds",
        .arguments = ARGUMENTS(
            TABLE, HOLD_ID, COUNTER,
            {.name = "amount",
             .type = REDIS_ARGUMENT_INTEGER,
             .meaning = "The most that is expected to be settled",
             .limits = &range_held},
            {.name = "max",
             .type = REDIS_ARGUMENT_INTEGER,
             .token = "LIMIT",
             .meaning = "The most that value and held together may become",
             .limits = &range_integer},
            {.name = "period",
             .type = REDIS_ARGUMENT_STRING,
             .flags = REDIS_ARGUMENT_OPTIONAL,
             .token = "PER",
             .meaning = "On the bucket of the present period, one of those that the table was "
                        "made with",
             .limits = &range_period,
             .fallback = "on the total"},
            {.name = "milliseconds",
             .type = REDIS_ARGUMENT_INTEGER,
             .token = "LEASE",
             .meaning = "For how long it is held at least",
             .limits = &range_lease},
            NO_CREATE),
        .replies = REPLIES({.when = "held", .resp2 = "array: 1, " STANDING ", of the lease"},
                           {.when = "a duplicate; nothing was changed",
                            .resp2 = "array: 0, " STANDING
                                     ", what is left of the lease, or 0 if the hold has ended"},
                           {.when = "limited; nothing was changed, and the id is not remembered",
                            .resp2 = "array: -1, " STANDING ", 0"}),
        .errors = ERRORS(
            {ERROR_HOLD_SYNTAX, "LIMIT or LEASE is missing, or there is a word too many"},
            {ERROR_NOT_METERED, "The table was not made with that PER"},
            {ERROR_HOLD_MISMATCH, "The id stands for a hold that differs"},
            {ERROR_OVERFLOW, "What is held of the counter, or what the counter or one of its "
                             "present buckets would have with it, would not fit into 64 bits"},
            RECORD_ERRORS),
        .details =
            "What is held is apart from the value, and every LIMIT counts it: of HOLD, of TAKE and "
            "of what SETTLE takes beyond the amount. What is left is the limit less the value and "
            "less what is held.\n\n"
            "The hold lasts until ONCE.SETTLE or ONCE.RELEASE, or until its lease is over, which "
            "is never early and may be some tenths of a second late. How it ended is remembered "
            "for the table's window. Ids of holds are kept exactly, and have nothing to do with "
            "those of operations and claims.\n\n"
            "A refusal is not remembered, as with ONCE.TAKE. A table that does not exist is made "
            "with the server's defaults, unless NOCREATE is given or the limit has PER.",
        .example = "> ONCE.HOLD quota job-1 alice 60 LIMIT 100 LEASE 60000\n"
                   "1) (integer) 1\n"
                   "2) (integer) 0\n"
                   "3) (integer) 40\n"
                   "4) (integer) -1\n"
                   "5) (integer) 60000\n"
                   "> ONCE.TAKE quota req-1 alice 41 LIMIT 100\n"
                   "1) (integer) -1\n"
                   "2) (integer) 0\n"
                   "3) (integer) 40\n"
                   "4) (integer) -1\n"
                   "> ONCE.SETTLE quota job-1 25\n"
                   "1) (integer) 1\n"
                   "2) (integer) 25\n"
                   "3) (integer) 75\n"
                   "4) (integer) -1\n",
    },
    {
        .name = "SETTLE",
        .function = once_settle,
        .flags = "write fast",
        .arity = -4,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Adds what a hold really was to its counter, once, and ends the hold",
        .complexity = "O(log n) for n holds",
        .arguments = ARGUMENTS(TABLE, HOLD_ID,
                               {.name = "actual",
                                .type = REDIS_ARGUMENT_INTEGER,
                                .meaning = "What is added; it may differ from the hold's amount",
                                .limits = &range_settled},
                               {.name = "force",
                                .type = REDIS_ARGUMENT_TOKEN,
                                .flags = REDIS_ARGUMENT_OPTIONAL,
                                .token = "FORCE",
                                .meaning = "Add it even beyond the limit"}),
        .replies = REPLIES({.when = "settled", .resp2 = "array: 1, " STANDING},
                           {.when = "a duplicate: it was settled with the same; nothing was "
                                    "changed",
                            .resp2 = "array: 0, " STANDING},
                           {.when = "limited; nothing was changed, and the hold is as it was",
                            .resp2 = "array: -1, " STANDING}),
        .errors = ERRORS({ERROR_SETTLE_SYNTAX, "The last word is not FORCE"},
                         {ERROR_SETTLED_OTHERWISE, "It was settled with another amount"},
                         {ERROR_WAS_RELEASED, "It was released"},
                         {ERROR_OVERFLOW, "A sum would not fit into 64 bits"}, HOLD_ERRORS),
        .details =
            "What is settled belongs to the bucket in which the hold was made. Up to the hold's "
            "amount it always fits; what is beyond is judged by the limit of the hold. FORCE is "
            "the only way past a limit; `holds_forced` of ONCE.INFO counts how often that was "
            "used. If KEEP has dropped the bucket meanwhile, it stays dropped: the total has what "
            "is settled, and beyond the amount nothing is left.\n\n"
            "After the end of the lease nothing is held any more. SETTLE is then a new take: now, "
            "in the present bucket, under the limit of the hold.\n\n"
            "It is never refused because memory is short.",
        .example = "> ONCE.HOLD quota job-1 alice 60 LIMIT 100 LEASE 60000\n"
                   "...\n"
                   "> ONCE.SETTLE quota job-1 101\n"
                   "1) (integer) -1\n"
                   "2) (integer) 0\n"
                   "3) (integer) 40\n"
                   "4) (integer) -1\n"
                   "> ONCE.SETTLE quota job-1 70\n"
                   "1) (integer) 1\n"
                   "2) (integer) 70\n"
                   "3) (integer) 30\n"
                   "4) (integer) -1\n"
                   "> ONCE.SETTLE quota job-1 70\n"
                   "1) (integer) 0\n"
                   "2) (integer) 70\n"
                   "3) (integer) 30\n"
                   "4) (integer) -1\n"
                   "> ONCE.SETTLE quota job-1 71\n"
                   "(error) MISMATCH the hold was settled with another amount; nothing was "
                   "changed\n",
    },
    {
        .name = "RELEASE",
        .function = once_release,
        .flags = "write fast",
        .arity = 3,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Ends a hold of which nothing was used",
        .complexity = "O(log n) for n holds",
        .arguments = ARGUMENTS(TABLE, HOLD_ID),
        .replies = REPLIES({.when = "released", .resp2 = "1"},
                           {.when = "a duplicate: it was released before", .resp2 = "0"}),
        .errors = ERRORS({ERROR_WAS_SETTLED, "It was settled"}, HOLD_ERRORS),
        .details = "A hold whose lease is over can be released too: it cannot be settled any more "
                   "then. It is never refused because memory is short.",
        .example = "> ONCE.HOLD quota job-1 alice 60 LIMIT 100 LEASE 60000\n"
                   "...\n"
                   "> ONCE.RELEASE quota job-1\n"
                   "(integer) 1\n"
                   "> ONCE.RELEASE quota job-1\n"
                   "(integer) 0\n"
                   "> ONCE.SETTLE quota job-1 5\n"
                   "(error) MISMATCH the hold was released; nothing was changed\n",
    },
    {
        .name = "HOLDS",
        .function = once_list_holds,
        .flags = "readonly",
        .arity = -3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Lists the holds that are open, a few at a time",
        .complexity = "O(COUNT) per call, O(n) for all n holds",
        .arguments = ARGUMENTS(TABLE, CURSOR, MATCH_AND_COUNT("ids", "holds")),
        .replies =
            REPLIES({.when = "always",
                     .resp2 = "array: the next cursor as a string, \"0\" at the end; an array of "
                              "holds, each an array of id, counter, amount, limit, period or "
                              "\"total\", the beginning of its bucket or -1, and the "
                              "milliseconds that are left of its lease"}),
        .errors = ERRORS(SCAN_ERRORS),
        .details = "Every hold that is open from the first call to the last is returned at least "
                   "once. A cursor is valid only on the server that returned it.",
        .example = "> ONCE.HOLD quota job-1 alice 60 LIMIT 100 LEASE 60000\n"
                   "...\n"
                   "> ONCE.HOLDS quota 0 MATCH job-* COUNT 100\n"
                   "...\n"
                   "> ONCE.HOLDS quota 0 MATCH x*\n"
                   "1) \"0\"\n"
                   "2) (empty array)\n",
    },
    {.name = NULL},
};
