/* module/server/errors.h - the texts of errors: each is replied in one place or more, and
 * described on the reference pages. {noun} stands for what the type calls a value
 * (reply_error_of). The first word is what programs go by. */
#ifndef LETHE_MODULE_SERVER_ERRORS_H
#define LETHE_MODULE_SERVER_ERRORS_H

/* Keys and values. */
#define ERROR_WRONG_TYPE "WRONGTYPE Operation against a key holding the wrong kind of value"
#define ERROR_PARTIAL "PARTIAL the key is being loaded in pieces and is not whole yet"
#define ERROR_BUSY_KEY "BUSYKEY the key exists already"
#define ERROR_INTERNAL "ERR internal error"

#define ERROR_NO_VALUE "ERR no such {noun}"
#define ERROR_EXISTS "BUSYKEY the {noun} exists already"

/* Memory. */
#define ERROR_FULL "FULL the value has reached its cap; nothing was changed"
#define ERROR_NO_MEMORY "OOM not enough memory; nothing was changed"
#define ERROR_NO_MEMORY_LEFT                                                                      \
    "OOM more memory is needed than maxmemory leaves or lethe.largest-value allows; nothing was " \
    "changed"
#define ERROR_TOO_LARGE \
    "OOM the value is as large as lethe.largest-value or maxmemory allow; nothing was changed"
#define ERROR_SERVER_MEMORY "OOM command not allowed when used memory > 'maxmemory'."

/* A new value that is too large: its noun, its size, and the limit. */
#define ERROR_PLAN_TOO_LARGE(noun, bytes, limit) \
    "ERR the " noun " would take " bytes " bytes, and lethe.largest-value is " limit
#define ERROR_PLAN_NO_MEMORY(noun, bytes, left) \
    "OOM the " noun " would take " bytes " bytes, and maxmemory leaves " left

/* A value, the name of its argument or option, and the range: command/ranges.c. */
#define ERROR_VALUE(value, name, range) \
    "ERR the value '" value "' of " name " is out of its range: " range

/* Options and merges. */
#define ERROR_OPTIONS(word, names) \
    "ERR syntax error at '" word "': options are " names ", each with a value"
#define ERROR_MERGE_SELF "ERR a {noun} can't be merged into itself"
#define ERROR_MERGE_INTO "ERR no such {noun} to merge into"
#define ERROR_MERGE_FROM "ERR no such {noun} to merge from"
#define ERROR_CONTRADICTION(options) "ERR the options contradict each other: " options
#define ERROR_OPTION "ERR the options contradict each other"
#define ERROR_NO_ROOM \
    "FULL MAXMEMORY has no room for a window of that CAPACITY and ERROR; nothing was changed"
#define ERROR_MISMATCH "ERR the two values differ in seed or shape; nothing was changed"

/* Once-tables. */
#define ERROR_NO_TABLE "NOTABLE there is no such table; make it with ONCE.CREATE"
#define ERROR_EMPTY_ID "ERR an id is empty; nothing was changed"
#define ERROR_RANGE_SYNTAX "ERR syntax error: PER period is needed, and COUNT count may follow"
#define ERROR_NOT_METERED \
    "ERR the table does not count per that period; make it with ONCE.CREATE ... PER"
#define ERROR_OVERFLOW "ERR increment would overflow; nothing was changed"
#define ERROR_FORGET \
    "ERR a table of KIND forgetful can't forget a single id; make one of KIND quotient for that"
#define ERROR_SCAN_SYNTAX "ERR syntax error: the options are MATCH pattern and COUNT count"

/* Limits. */
#define ERROR_LIMIT_SYNTAX                                                                         \
    "ERR syntax error: one or more of LIMIT max [PER period] [SLIDING] or FLOOR min [PER period] " \
    "follow"
#define ERROR_LIMITS "ERR there are more than 8 limits"
#define ERROR_SLIDING "ERR SLIDING needs LIMIT with PER"
#define ERROR_SLIDING_KEEP                                                                   \
    "ERR SLIDING needs a table that keeps 2 buckets of that period or more; make it with a " \
    "larger KEEP"

/* Holds. */
#define ERROR_HOLD_SYNTAX \
    "ERR syntax error: LIMIT max [PER period] and LEASE ms are needed, and NOCREATE may be given"
#define ERROR_SETTLE_SYNTAX "ERR syntax error: only FORCE may follow"
#define ERROR_NO_HOLD \
    "NOHOLD there is no such hold, or it ended longer ago than the window; nothing was changed"
#define ERROR_HOLD_MISMATCH \
    "MISMATCH the hold has another counter, amount or limit; nothing was changed"
#define ERROR_SETTLED_OTHERWISE \
    "MISMATCH the hold was settled with another amount; nothing was changed"
#define ERROR_WAS_SETTLED "MISMATCH the hold was settled; nothing was changed"
#define ERROR_WAS_RELEASED "MISMATCH the hold was released; nothing was changed"

/* Claims. */
#define ERROR_BEGIN_SYNTAX \
    "ERR syntax error: LEASE ms is needed, and FINGERPRINT fingerprint and NOCREATE may be given"
#define ERROR_RENEW_SYNTAX "ERR syntax error: LEASE ms is needed"
#define ERROR_CLAIMS_SYNTAX \
    "ERR syntax error: the options are STATE state, MATCH pattern and COUNT count"

/* ONCE.CALL. */
#define ERROR_CALL_MISMATCH \
    "MISMATCH the id stands for another command or for a claim; nothing was changed"
#define ERROR_CALL_UNKNOWN "ERR unknown command to call"
#define ERROR_CALL_NOT_PLAIN "ERR only plain write commands can be called"
#define ERROR_CALL_ARITY "ERR wrong number of arguments for the command to call"
#define ERROR_CALL_NO_KEYS "ERR only commands that name their keys can be called"
#define ERROR_CALL_TABLE "ERR the command to call names the table itself"
#define ERROR_CALL_DENIED "NOPERM this user may not run the command to call"
#define ERROR_CALL_FAILED "ERR the command could not be called"

/* Sketches. */
#define ERROR_TOO_FEW "ERR fewer than that were added; nothing was changed"

/* GBF.EXTRACT. */
#define ERROR_EXTRACT "ERR the Bloom filter inside is too large for a reply: 512 MB"

/* DUMP and LOAD. */
#define ERROR_PIECE_SIZE "ERR pieces have 1 MiB, and only the last may be shorter"
#define ERROR_PIECE_ORDER "ERR not the next piece of this key"
#define ERROR_PIECES "ERR the pieces are not a saved value of this type; they were dropped"
#define ERROR_DUMP_GONE \
    "ERR the dump that piece 0 began is no longer kept; begin again with piece 0"
#define ERROR_DUMP_BUSY "BUSY another value is being dumped; try again later"

/* Effects. */
#define ERROR_EFFECT_CLIENT "ERR effects are accepted from a master or the log only"
#define ERROR_EFFECT_VERSION "ERR not an effect of a version that this module knows"
#define ERROR_EFFECT "ERR not an effect on this value"
#define ERROR_EFFECT_MEMORY "ERR not enough memory for what the master did"

#endif
