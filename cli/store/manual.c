/* manual.c - the manual of the commands that read and change counters, and that maintain stores. */
#include "frame/commands.h"

#define ESCAPED_KEYS                                                                              \
    "Keys are escaped as in the lines that `lethe count` reads: a backslash is `\\\\`, a tab is " \
    "`\\t`, and any byte may be `\\xHH`."

static const char *const get_description[] = {
    "Prints each counter as its key, a tab and its value, in the order in which the keys were "
    "given. " ESCAPED_KEYS,
    "This works while `lethe count` is running. It prints what was on disk when it started. In a "
    "server, it prints what the counters are when they are read, each as the sum over the table's "
    "partitions.",
    "In a store with a sketch, the values are estimates, and a key whose estimate is 0 does not "
    "exist. With `--bounds`, each line has two more fields: a lower and an upper bound of the true "
    "value. The upper bound is certain. The true value is below the lower bound with at most the "
    "probability that `lethe stat` reports.",
    NULL,
};

static const struct option get_options[] = {
    OPTION_DB_STORE,
    OPTION_REDIS,
    OPTION_TABLE,
    {.name = "keys",
     .value = "FILE",
     .help = "read keys from a file too, one per line; `-` is standard input",
     .completion = COMPLETE_FILES},
    OPTION_BINARY,
    {.name = "bounds",
     .help = "of a store with a sketch: print a lower and an upper bound of the true value"},
    OPTION_JSON(
        "print one object per line, with key and value; the value of a missing counter is null"),
    {.name = "quiet", .letter = 'q', .help = "do not name missing counters on standard error"},
    {0},
};

const struct command command_get = {
    .path = "get",
    .summary = "print the values of counters",
    .synopses = SYNOPSES("--db DIR [--keys FILE] [--binary] [--bounds] [--json] [-q] [KEY...]",
                         "--redis URL --table T [--keys FILE] [--binary] [--json] [-q] [KEY...]"),
    .description = get_description,
    .options = get_options,
    .examples = EXAMPLES({"Print two counters", "lethe get --db clicks /home /about"}),
    .exit_done = "all counters exist",
    .exit_negative = "at least one counter does not exist",
    .operands_most = OPERANDS_UNLIMITED,
    .run = run_get,
};

static const char *const list_description[] = {
    "Prints each counter as its key, a tab and its value, ordered by the bytes of the "
    "keys. " ESCAPED_KEYS,
    "A store with a sketch does not store its keys and cannot list them: use `lethe top`. The "
    "counters of a server are all fetched into memory first.",
    NULL,
};

static const struct option list_options[] = {
    OPTION_DB_STORE,
    OPTION_REDIS,
    OPTION_TABLE,
    {.name = "prefix", .value = "P", .help = "print only counters whose keys begin with P"},
    OPTION_JSON("print one object per line, with key and value"),
    {0},
};

const struct command command_list = {
    .path = "list",
    .summary = "print all counters, or those with a prefix",
    .synopses =
        SYNOPSES("--db DIR [--prefix P] [--json]", "--redis URL --table T [--prefix P] [--json]"),
    .description = list_description,
    .options = list_options,
    .examples =
        EXAMPLES({"Print the counters of one user", "lethe list --db usage --prefix user-42/"}),
    .exit_done = "success, even if there is no counter",
    .run = run_list,
};

static const char *const top_description[] = {
    "Prints the counters with the largest values, the largest first, each as its key, a tab and "
    "its value. Equal values are ordered by the bytes of their keys. For a table with several "
    "partitions, all counters are fetched into memory first.",
    "For a store with a sketch, prints the most frequent keys that it lists, with their estimates. "
    "`lethe count --top` sets how many it lists.",
    NULL,
};

static const struct option top_options[] = {
    OPTION_DB_STORE,
    OPTION_REDIS,
    OPTION_TABLE,
    {.name = "number", .value = "N", .letter = 'n', .help = "how many to print; default 20"},
    OPTION_JSON("print one object per line, with key and value"),
    {0},
};

const struct command command_top = {
    .path = "top",
    .summary = "print the largest counters",
    .synopses = SYNOPSES("--db DIR [-n N] [--json]", "--redis URL --table T [-n N] [--json]"),
    .description = top_description,
    .options = top_options,
    .examples =
        EXAMPLES({"Print the ten pages with the most clicks", "lethe top --db clicks -n 10"}),
    .exit_done = "success, even if there is no counter",
    .run = run_top,
};

static const char *const set_description[] = {
    "Sets a counter to a value, whether or not it exists. Use it to correct a counter by hand. It "
    "has no id, so running it again later discards what was counted in between. " ESCAPED_KEYS,
    "`lethe count` must not be running on the store.",
    NULL,
};

static const struct option set_options[] = {
    OPTION_DB_STORE,
    OPTION_JSON("print an object with key and value"),
    {0},
};

const struct command command_set = {
    .path = "set",
    .summary = "set a counter to a value",
    .synopses = SYNOPSES("--db DIR [--json] KEY VALUE"),
    .description = set_description,
    .options = set_options,
    .examples = EXAMPLES({"Start again from zero", "lethe set --db clicks /home 0"}),
    .exit_done = "the counter is set and on disk",
    .operands_least = 2,
    .operands_most = 2,
    .run = run_set,
};

static const char *const del_description[] = {
    "Deletes counters. The ids of their events are still remembered until they leave the window, "
    "so an old event does not bring a counter back. With `--db`, `lethe count` must not be running "
    "on the store. " ESCAPED_KEYS,
    NULL,
};

static const struct option del_options[] = {
    OPTION_DB_STORE,
    OPTION_REDIS,
    OPTION_TABLE,
    OPTION_JSON("print one object per line, with the key and whether it existed"),
    {0},
};

const struct command command_del = {
    .path = "del",
    .summary = "delete counters",
    .synopses = SYNOPSES("--db DIR [--json] KEY...", "--redis URL --table T [--json] KEY..."),
    .description = del_description,
    .options = del_options,
    .examples = EXAMPLES({"Delete the counter of a page", "lethe del --db clicks /old"}),
    .exit_done = "all counters are deleted",
    .exit_negative = "at least one counter did not exist; the others are deleted",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .run = run_del,
};

static const char *const stat_description[] = {
    "Prints how many counters there are, how many events had which outcome over the store's life, "
    "and how much is on disk. A bar chart then shows the ids that are remembered, by age. This "
    "works while `lethe count` is running.",
    "The number of counters is exact up to 100,000. Above that it is an estimate, and `about` "
    "stands before it: a counter that was changed in several runs may be counted more than once "
    "(`lethe check` counts exactly). In a store that an earlier version wrote to, refused includes "
    "what overflowed or was invalid then.",
    NULL,
};

static const char *const stat_json[] = {
    "For a store: store, counters, counters_exact (false: counters is an estimate), window_ms, "
    "window_kind, error (the error allowed, of the window and the ledger together), error_estimate "
    "(the current error), window_error, ledger_error, exact, check_payload, event_time, forever, "
    "ledger_bytes, clock_ms, applied, duplicates, late, future, overflow, invalid, refused, "
    "mismatched, commits, folded, log_ids, log_bytes, changes_bytes, index_bytes, counters_bytes, "
    "and periods, an array of "
    "objects with first_ms, last_ms and ids.",
    "With a sketch, also sketch_bytes, sketch_top, sketch_total (the sum of all keys), "
    "sketch_error and sketch_delta: an estimate is too high by more than sketch_error with a "
    "probability of at most sketch_delta.",
    "For a table: table, partitions, counters, window_ms, window_kind, error, error_estimate, "
    "clock_ms, "
    "applied, duplicates, refused, ids, oldest_age_ms, memory_bytes, window_bytes, may_be_evicted "
    "and strain. With several partitions, counters is the sum over them, and a counter in several "
    "partitions is counted several times. strain says which promises cannot be kept at the moment: "
    "the sum of 1 for the error, 2 for the memory and 4 for the clock.",
    NULL,
};

static const struct section stat_sections[] = {{"JSON members", stat_json}, {0}};

static const struct option stat_options[] = {
    OPTION_DB_STORE, OPTION_REDIS, OPTION_TABLE, OPTION_JSON_OBJECT, {0},
};

const struct command command_stat = {
    .path = "stat",
    .summary = "report what a store or a table holds, and the state of its window",
    .synopses = SYNOPSES("--db DIR [--json]", "--redis URL --table T [--json]"),
    .description = stat_description,
    .options = stat_options,
    .sections = stat_sections,
    .examples =
        EXAMPLES({"Print the share of duplicates",
                  "lethe stat --db clicks --json | jq '.duplicates / (.applied + .duplicates)'"}),
    .exit_done = "success",
    .run = run_stat,
};

static const char *const check_description[] = {
    "Reads the whole store, verifies all checksums and the form of every record, and verifies that "
    "the records agree with each other. It changes nothing, so it also works on a read-only disk. "
    "`lethe count` must not be running on the store.",
    "If the store is damaged, the message names the first fault. Restore the latest backup with "
    "`lethe restore`.",
    NULL,
};

static const struct option check_options[] = {
    OPTION_DB_STORE,
    OPTION_JSON("print what was found as one JSON object"),
    {0},
};

const struct command command_check = {
    .path = "check",
    .summary = "verify every byte of a store",
    .synopses = SYNOPSES("--db DIR [--json]"),
    .description = check_description,
    .options = check_options,
    .examples = EXAMPLES({"Check a store after a disk error", "lethe check --db clicks"}),
    .exit_done = "the store is sound",
    .run = run_check,
};

static const char *const backup_description[] = {
    "Adds a backup of the store to the folder `DIR2`, which is created if it does not exist. Data "
    "that an earlier backup there already has is not copied again. `DIR2` must not be inside a "
    "store, and holds the backups of one store only. `lethe count` must not be running on the "
    "store.",
    "The store is verified first, as by `lethe check`, and the backup afterwards. If either is "
    "damaged, no backup is added, and the earlier ones stay as they are.",
    NULL,
};

static const struct option backup_options[] = {
    OPTION_DB_STORE,
    {.name = "to", .value = "DIR2", .help = "the folder of backups", .completion = COMPLETE_FILES},
    OPTION_QUIET,
    {0},
};

const struct command command_backup = {
    .path = "backup",
    .summary = "back up a store",
    .synopses = SYNOPSES("--db DIR --to DIR2 [-q]"),
    .description = backup_description,
    .options = backup_options,
    .examples = EXAMPLES({"Run this each night", "lethe backup --db clicks --to backups/clicks"}),
    .exit_done = "the backup is complete and on disk",
    .run = run_backup,
};

static const char *const restore_description[] = {
    "Writes the latest backup in `DIR2` to `DIR`, which must be missing or empty. The backup also "
    "holds how far each file had been read: run `lethe count` on the same files again, and it "
    "continues where the backup was made.",
    "The result is verified. After this command there is a complete store in `DIR`, or none. A "
    "restore that was killed can be run again.",
    NULL,
};

static const struct option restore_options[] = {
    {.name = "from",
     .value = "DIR2",
     .help = "the folder of backups",
     .completion = COMPLETE_FILES},
    OPTION_DB("the folder to write"),
    OPTION_QUIET,
    {0},
};

const struct command command_restore = {
    .path = "restore",
    .summary = "restore a store from its latest backup",
    .synopses = SYNOPSES("--from DIR2 --db DIR [-q]"),
    .description = restore_description,
    .options = restore_options,
    .examples =
        EXAMPLES({"After a disk was lost", "lethe restore --from backups/clicks --db clicks"}),
    .exit_done = "the store is complete and on disk",
    .run = run_restore,
};
