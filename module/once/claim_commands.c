/* module/once/claim_commands.c - descriptions of the commands about claims. */
#include "once/once.h"
#include "once/words.h"

#define CLAIM_ID                                                           \
    {                                                                      \
        .name = "id", .type = REDIS_ARGUMENT_STRING,                       \
        .meaning = "The id of the work; everybody who may do it knows it", \
        .limits = &range_claim_id                                          \
    }
#define TOKEN                                                                      \
    {                                                                              \
        .name = "token", .type = REDIS_ARGUMENT_STRING,                            \
        .meaning = "Who does the work: random, and new for each attempt to do it", \
        .limits = &range_token                                                     \
    }
#define LEASE                                                                        \
    {                                                                                \
        .name = "milliseconds", .type = REDIS_ARGUMENT_INTEGER, .token = "LEASE",    \
        .meaning = "For how long nobody else gets the claim", .limits = &range_lease \
    }
#define CLAIM_ERRORS \
    { ERROR_EMPTY_ID, "The id is the empty string" }
#define ABSENT_TABLE \
    { ERROR_NO_TABLE, "There is no table" }

#define REPLY_LOST \
    { .when = "the lease has been given to another token", .resp2 = "array: `lost`" }
#define REPLY_UNKNOWN                                                                          \
    {                                                                                          \
        .when = "there is no such claim: never begun, aborted, or forgotten after the window", \
        .resp2 = "array: `unknown`"                                                            \
    }

const struct command once_claim_commands[] = {
    {
        .name = "BEGIN",
        .function = once_begin_claim,
        .flags = "write fast",
        .arity = -6,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Claims work that is to be done once, or reports who has and what came of it",
        .complexity = "O(log n), with n claims",
        .arguments =
            ARGUMENTS(TABLE, CLAIM_ID, TOKEN,
                      {.name = "fingerprint",
                       .type = REDIS_ARGUMENT_STRING,
                       .flags = REDIS_ARGUMENT_OPTIONAL,
                       .token = "FINGERPRINT",
                       .meaning = "What the work is, such as a hash of the request; the same id "
                                  "with another one is a mismatch",
                       .limits = &range_fingerprint,
                       .fallback = "none, which also differs from any"},
                      LEASE, NO_CREATE),
        .replies = REPLIES({.when = "do the work: the claim is yours until the lease is over",
                            .resp2 = "array: `new`"},
                           {.when = "somebody else has it",
                            .resp2 = "array: `running`, milliseconds until the lease is over"},
                           {.when = "it is done; nil if the reply is gone, and an empty string if "
                                    "an empty one was kept",
                            .resp2 = "array: `done`, the reply or nil",
                            .resp3 = "array: `done`, the reply or null"},
                           {.when = "the id stands for other work; nothing was changed",
                            .resp2 = "array: `mismatch`"}),
        .errors = ERRORS(
            CLAIM_ERRORS, {ERROR_BEGIN_SYNTAX, "There is no LEASE, or a word too many"},
            {ERROR_NO_TABLE, "There is no table, and NOCREATE was given"},
            {ERROR_TOO_LARGE, "The claim is new, and the table may not grow"},
            {ERROR_SERVER_MEMORY, "The claim is new, and the server has used up its memory"}),
        .details =
            "Sent again with the same token it answers `new` again, so an answer that was lost "
            "locks nobody out; the lease then lasts as long as the longer of both. A lease goes by "
            "the table's own clock and never ends early; it may be reported a millisecond longer "
            "than asked for. When it is over, the next one who begins gets the claim.\n\n"
            "There is one recorded completion, not one execution: a holder that is slower than its "
            "lease may work at the same time as the next one. To survive a failover, use WAIT "
            "after BEGIN, before the work is begun, and after DONE, before anybody is told.\n\n"
            "A claim that is done is forgotten W after DONE; one that was abandoned, W after its "
            "lease. Claims and the ids of operations are separate: neither is a duplicate of the "
            "other. A table that does not exist is made with the server's defaults, unless "
            "NOCREATE is given.",
        .example = "> ONCE.BEGIN work order-7 token-a LEASE 60000\n"
                   "1) \"new\"\n"
                   "> ONCE.DONE work order-7 token-a receipt-1\n"
                   "1) \"done\"\n"
                   "2) (integer) 1\n"
                   "> ONCE.BEGIN work order-7 token-b LEASE 60000\n"
                   "1) \"done\"\n"
                   "2) \"receipt-1\"\n"
                   "> ONCE.BEGIN work order-7 token-b FINGERPRINT f LEASE 60000\n"
                   "1) \"mismatch\"\n",
    },
    {
        .name = "RENEW",
        .function = once_renew,
        .flags = "write fast",
        .arity = 6,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Extends the lease of a claim",
        .complexity = "O(log n), with n claims",
        .arguments = ARGUMENTS(TABLE, CLAIM_ID, TOKEN, LEASE),
        .replies = REPLIES({.when = "it is still yours",
                            .resp2 = "array: `renewed`, milliseconds until the lease is over"},
                           {.when = "you have completed it before", .resp2 = "array: `done`"},
                           REPLY_LOST, REPLY_UNKNOWN),
        .errors = ERRORS(CLAIM_ERRORS, {ERROR_RENEW_SYNTAX, "There is no LEASE"}, ABSENT_TABLE),
        .details = "From now on, and never shorter than it was. A lease that is over can be "
                   "renewed as long as nobody else has begun. It is never refused for memory.",
        .example = "> ONCE.BEGIN work order-7 token-a LEASE 60000\n"
                   "1) \"new\"\n"
                   "> ONCE.RENEW work order-7 token-b LEASE 60000\n"
                   "1) \"lost\"\n"
                   "> ONCE.RENEW work order-8 token-a LEASE 60000\n"
                   "1) \"unknown\"\n",
    },
    {
        .name = "DONE",
        .function = once_done,
        .flags = "write fast",
        .arity = -4,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Completes a claim, with a reply for all who ask later",
        .complexity = "O(log n), with n claims, and O(number of replies dropped)",
        .arguments = ARGUMENTS(TABLE, CLAIM_ID, TOKEN,
                               {.name = "reply",
                                .type = REDIS_ARGUMENT_STRING,
                                .flags = REDIS_ARGUMENT_OPTIONAL,
                                .meaning = "What everybody gets who begins the same work",
                                .range = "kept up to lethe.largest-reply bytes",
                                .fallback = "an empty string"}),
        .replies = REPLIES({.when = "completed, by this",
                            .resp2 = "array: `done`, 1 if the reply is kept and 0 if not"},
                           {.when = "you have completed it before; the first reply stays",
                            .resp2 = "array: `duplicate`, 1 if that is still kept and 0 if not"},
                           REPLY_LOST, REPLY_UNKNOWN),
        .errors = ERRORS(CLAIM_ERRORS, ABSENT_TABLE),
        .details =
            "It succeeds until the lease has been given to another, also when it is over. It is "
            "never refused for memory: a reply that is larger than `lethe.largest-reply`, or does "
            "not fit because memory is short, is not kept, which the answer says. All replies of a "
            "table together take at most `lethe.kept-replies` bytes; the oldest are dropped "
            "first, at most 4096 by one command, and BEGIN then answers `done` and nil.",
        .example = "> ONCE.BEGIN work order-7 token-a LEASE 60000\n"
                   "1) \"new\"\n"
                   "> ONCE.DONE work order-7 token-a receipt-1\n"
                   "1) \"done\"\n"
                   "2) (integer) 1\n"
                   "> ONCE.DONE work order-7 token-a receipt-2\n"
                   "1) \"duplicate\"\n"
                   "2) (integer) 1\n"
                   "> ONCE.DONE work order-7 token-b\n"
                   "1) \"lost\"\n",
    },
    {
        .name = "ABORT",
        .function = once_abort,
        .flags = "write fast",
        .arity = 4,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Gives a claim back: the work was not done",
        .complexity = "O(log n), with n claims",
        .arguments = ARGUMENTS(TABLE, CLAIM_ID, TOKEN),
        .replies = REPLIES(
            {.when = "the next one who begins gets it", .resp2 = "array: `aborted`"},
            {.when = "you have completed it before; it stays done", .resp2 = "array: `done`"},
            REPLY_LOST, REPLY_UNKNOWN),
        .errors = ERRORS(CLAIM_ERRORS, ABSENT_TABLE),
        .details = "The claim is forgotten, so a second ABORT answers `unknown`. It is never "
                   "refused for memory.",
        .example = "> ONCE.BEGIN work order-7 token-a LEASE 60000\n"
                   "1) \"new\"\n"
                   "> ONCE.ABORT work order-7 token-a\n"
                   "1) \"aborted\"\n"
                   "> ONCE.BEGIN work order-7 token-b LEASE 60000\n"
                   "1) \"new\"\n",
    },
    {
        .name = "CLAIMS",
        .function = once_list_claims,
        .flags = "readonly",
        .arity = -3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Lists claims, a few at a time",
        .complexity = "O(1) for each call, O(n) for a whole list of n claims",
        .arguments = ARGUMENTS(TABLE, CURSOR,
                               {.name = "state",
                                .type = REDIS_ARGUMENT_STRING,
                                .flags = REDIS_ARGUMENT_OPTIONAL,
                                .token = "STATE",
                                .meaning = "Return only those in that state",
                                .limits = &range_state,
                                .fallback = "any state"},
                               MATCH_AND_COUNT("ids", "claims")),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array: the next cursor, 0 at the end; an array with, per "
                                     "claim, an array of its id, its state, milliseconds, and the "
                                     "bytes of its reply or -1 if there is none"}),
        .errors = ERRORS({ERROR_CLAIMS_SYNTAX, "An option is not known, or has no value"}),
        .details =
            "A claim is `running` while its lease lasts; the milliseconds are what is left of it. "
            "It is `expired` when the lease is over and nobody has begun since, and `done` after "
            "DONE or ONCE.CALL with KEEP; the milliseconds are then those until it is forgotten. "
            "Tokens and replies are not shown.",
        .example = "> ONCE.BEGIN work order-7 token-a LEASE 60000\n"
                   "1) \"new\"\n"
                   "> ONCE.CLAIMS work 0 STATE done\n"
                   "1) \"0\"\n"
                   "2) (empty array)\n",
    },
    {.name = NULL},
};
