/* module/once_table.c - the table of ONCE.* commands, except those that every type has. */
#include "once.h"

/* An error, rather than a new table, where there is none. */
#define NO_CREATE ARGUMENT_TOKEN("NOCREATE", "no-create")

static redis_argument pair_parts[] = {ARGUMENT("counter", STRING, 0), ARGUMENT("delta", INTEGER, 0),
                                      ARGUMENT_END};
static redis_argument operation_parts[] = {ARGUMENT("id", STRING, 0),
                                           ARGUMENT("counter", STRING, 0),
                                           ARGUMENT("delta", INTEGER, 0), ARGUMENT_END};
static redis_argument incrby_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT("id", STRING, 0),
    ARGUMENT_BLOCK("increment", REDIS_ARGUMENT_MULTIPLE, pair_parts), NO_CREATE, ARGUMENT_END};
static redis_argument mincrby_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT_BLOCK("operation", REDIS_ARGUMENT_MULTIPLE, operation_parts),
    NO_CREATE, ARGUMENT_END};
static redis_argument get_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("counter", STRING, 0),
                                         ARGUMENT_END};
static redis_argument counters_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT("counter", STRING, REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};
static redis_argument ids_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT("id", STRING, REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};
static redis_argument no_create_parts[] = {ARGUMENT_TOKEN("NOCREATE", "no-create"),
                                           ARGUMENT_TOKEN("IDS", "ids"), ARGUMENT_END};
static redis_argument add_arguments[] = {
    ARGUMENT_KEY("table", 0), ARGUMENT_BLOCK("option", REDIS_ARGUMENT_OPTIONAL, no_create_parts),
    ARGUMENT("id", STRING, REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};
static redis_argument id_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("id", STRING, 0),
                                        ARGUMENT_END};
static redis_argument scan_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("cursor", INTEGER, 0),
                                          ARGUMENT_NAMED("MATCH", "pattern", PATTERN),
                                          ARGUMENT_NAMED("COUNT", "count", INTEGER), ARGUMENT_END};
static redis_argument top_arguments[] = {ARGUMENT_KEY("table", 0), ARGUMENT("count", INTEGER, 0),
                                         ARGUMENT_END};
static redis_argument call_arguments[] = {
    ARGUMENT_KEY("table", 0),
    ARGUMENT("id", STRING, 0),
    NO_CREATE,
    ARGUMENT("command", STRING, 0),
    ARGUMENT("argument", STRING, REDIS_ARGUMENT_OPTIONAL | REDIS_ARGUMENT_MULTIPLE),
    ARGUMENT_END};

const struct command once_commands[] = {
    {"INCRBY", once_incrby, "write fast", -5, KEY_CHANGES, 1, 1,
     "Adds to counters unless the operation's id was seen within the window", "O(counters)",
     incrby_arguments},
    {"MINCRBY", once_mincrby, "write fast", -5, KEY_CHANGES, 1, 1,
     "Many operations in one command, each on its own", "O(operations)", mincrby_arguments},
    {"GET", once_get, "readonly fast", 3, KEY_READS, 1, 1, "The value of a counter", "O(1)",
     get_arguments},
    {"MGET", once_mget, "readonly fast", -3, KEY_READS, 1, 1, "The values of counters",
     "O(counters)", counters_arguments},
    {"SCAN", once_scan, "readonly", -3, KEY_READS, 1, 1, "Counters, a few at a time",
     "O(1) for each call, O(n) for all", scan_arguments},
    {"TOP", once_top, "readonly", 3, KEY_READS, 1, 1, "The largest counters",
     "O(n log count) for n counters", top_arguments},
    {"DEL", once_del, "write fast", -3, KEY_REMOVES, 1, 1, "Removes counters, not ids",
     "O(counters)", counters_arguments},
    {"ADD", once_add, "write fast", -3, KEY_CHANGES, 1, 1, "Remembers ids: 1 new, 0 seen", "O(ids)",
     add_arguments},
    {"SEEN", once_seen, "readonly fast", -3, KEY_READS, 1, 1,
     "Whether ids were seen within the window", "O(ids)", ids_arguments},
    {"FORGET", once_forget_command, "write fast", 3, KEY_REMOVES, 1, 1,
     "Forgets one id, because its operation is to be done again", "O(1)", id_arguments},
    {"CALL", once_call, "write getkeys-api", -4, KEY_CHANGES, 1, 1,
     "Runs a write command unless its id was seen within the window", "that of the command",
     call_arguments},
    {0},
};
