/* module/once_table.c - the table of ONCE.* commands. */
#include "once.h"

static redis_argument pair_parts[] = {ARGUMENT("counter", STRING, 0), ARGUMENT("delta", INTEGER, 0),
                                      ARGUMENT_END};
static redis_argument operation_parts[] = {ARGUMENT("id", STRING, 0),
                                           ARGUMENT("counter", STRING, 0),
                                           ARGUMENT("delta", INTEGER, 0), ARGUMENT_END};
static redis_argument incrby_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT("id", STRING, 0),
    ARGUMENT_BLOCK("increment", REDIS_ARGUMENT_MULTIPLE, pair_parts), ARGUMENT_END};
static redis_argument mincrby_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT_BLOCK("operation", REDIS_ARGUMENT_MULTIPLE, operation_parts),
    ARGUMENT_END};
static redis_argument get_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("counter", STRING, 0),
                                         ARGUMENT_END};
static redis_argument counters_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT("counter", STRING, REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};
static redis_argument ids_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT("id", STRING, REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};
static redis_argument id_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("id", STRING, 0),
                                        ARGUMENT_END};
static redis_argument scan_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("cursor", INTEGER, 0),
                                          ARGUMENT_NAMED("MATCH", "pattern", PATTERN),
                                          ARGUMENT_NAMED("COUNT", "count", INTEGER), ARGUMENT_END};
static redis_argument top_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("count", INTEGER, 0),
                                         ARGUMENT_END};
static redis_argument info_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT_END};
static redis_argument call_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT("id", STRING, 0), ARGUMENT("command", STRING, 0),
    ARGUMENT("argument", STRING, REDIS_ARGUMENT_OPTIONAL | REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};
static redis_argument effect_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("data", STRING, 0),
                                            ARGUMENT_END};
static redis_argument load_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("number", INTEGER, 0),
                                          ARGUMENT("last", INTEGER, 0), ARGUMENT("data", STRING, 0),
                                          ARGUMENT_END};
static redis_argument dump_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("number", INTEGER, 0),
                                          ARGUMENT_END};

enum {
    READS = REDIS_KEY_READ_ONLY | REDIS_KEY_ACCESS,
    CHANGES = REDIS_KEY_READ_WRITE | REDIS_KEY_ACCESS | REDIS_KEY_UPDATE,
    CREATES = REDIS_KEY_READ_WRITE | REDIS_KEY_INSERT,
    REMOVES = REDIS_KEY_READ_WRITE | REDIS_KEY_DELETE
};

const struct command once_commands[] = {
    {"ONCE.CREATE", once_create, "write deny-oom", -2, CREATES, 1, 1, "Creates a once-table",
     "O(capacity)", option_arguments},
    {"ONCE.INCRBY", once_incrby, "write deny-oom fast", -5, CHANGES, 1, 1,
     "Adds to counters unless the operation's id was seen within the window", "O(counters)",
     incrby_arguments},
    {"ONCE.MINCRBY", once_mincrby, "write deny-oom fast", -5, CHANGES, 1, 1,
     "Many operations in one command, each on its own", "O(operations)", mincrby_arguments},
    {"ONCE.GET", once_get, "readonly fast", 3, READS, 1, 1, "The value of a counter", "O(1)",
     get_arguments},
    {"ONCE.MGET", once_mget, "readonly fast", -3, READS, 1, 1, "The values of counters",
     "O(counters)", counters_arguments},
    {"ONCE.SCAN", once_scan, "readonly", -3, READS, 1, 1, "Counters, a few at a time",
     "O(1) for each call, O(n) for all", scan_arguments},
    {"ONCE.TOP", once_top, "readonly", 3, READS, 1, 1, "The largest counters",
     "O(n log count) for n counters", top_arguments},
    {"ONCE.DEL", once_del, "write fast", -3, REMOVES, 1, 1, "Removes counters, not ids",
     "O(counters)", counters_arguments},
    {"ONCE.ADD", once_add, "write deny-oom fast", -3, CHANGES, 1, 1, "Remembers ids: 1 new, 0 seen",
     "O(ids)", ids_arguments},
    {"ONCE.SEEN", once_seen, "readonly fast", -3, READS, 1, 1,
     "Whether ids were seen within the window", "O(ids)", ids_arguments},
    {"ONCE.FORGET", once_forget_command, "write fast", 3, REMOVES, 1, 1,
     "Forgets one id, because its operation is to be done again", "O(1)", id_arguments},
    {"ONCE.INFO", once_info, "readonly fast", 2, READS, 1, 1, "How a table stands", "O(1)",
     info_arguments},
    {"ONCE.CALL", once_call, "write deny-oom getkeys-api", -4, CHANGES, 1, 1,
     "Runs a write command unless its id was seen within the window", "that of the command",
     call_arguments},
    {"ONCE.EFFECT", once_effect_command, "write", 3, CHANGES, 1, 1,
     "Internal: what a master did, for its replicas and its log", "O(size)", effect_arguments},
    {"ONCE.LOAD", once_load_command, "write deny-oom", 5, CHANGES, 1, 1,
     "Loads a table that ONCE.DUMP wrote, piece by piece",
     "O(size) for the last piece, O(1) for others", load_arguments},
    {"ONCE.DUMP", once_dump_command, "readonly", 3, READS, 1, 1,
     "One piece of a table, to be loaded by ONCE.LOAD", "O(size of the table)", dump_arguments},
    {0},
};
