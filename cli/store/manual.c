/* manual.c - the manual of the commands that read and change counters, and that maintain stores. */
#include "frame/commands.h"

#define ESCAPED_KEYS                                                                              \
    "Keys are escaped as in the lines that `lethe count` reads: a backslash is `\\\\`, a tab is " \
    "`\\t`, and any byte may be `\\xHH`."

#define MISSING_PARTITIONS                                                                        \
    "If partitions of a table are missing, because they were deleted or a server has lost them, " \
    "what is printed lacks what was counted in them: a message names them, and the exit status "  \
    "is 3."

static const char *const get_description[] = {
    "Prints each counter as its key, a tab and its value, in the order in which the keys were "
    "given. In a store with a scale, all values have as many digits after the point. " ESCAPED_KEYS,
    "This works while `lethe count` is running. It prints what was on disk when it started. In a "
    "server, it prints what the counters are when they are read, each as the sum over the table's "
    "partitions. " MISSING_PARTITIONS " A counter of a table that is spread by key needs only its "
    "own partition.",
    "In a store with a sketch, the values are estimates, and a key whose estimate is 0 does not "
    "exist. With `--bounds`, each line has two more fields: a lower and an upper bound of the true "
    "value. The upper bound is certain. The true value is below the lower bound with at most the "
    "probability that `lethe stat` reports.",
    NULL,
};

static const struct option get_options[] = {
    OPTION_DB_STORE,
    OPTIONS_REDIS,
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
                         SYNOPSIS_REDIS "[--keys FILE] [--binary] [--json] [-q] [KEY...]"),
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
    "counters of a server are all fetched into memory first. " MISSING_PARTITIONS,
    NULL,
};

static const struct option list_options[] = {
    OPTION_DB_STORE,
    OPTIONS_REDIS,
    {.name = "prefix", .value = "P", .help = "print only counters whose keys begin with P"},
    OPTION_JSON("print one object per line, with key and value"),
    {0},
};

const struct command command_list = {
    .path = "list",
    .summary = "print all counters, or those with a prefix",
    .synopses = SYNOPSES("--db DIR [--prefix P] [--json]", SYNOPSIS_REDIS "[--prefix P] [--json]"),
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
    "partitions, all counters are fetched into memory first. " MISSING_PARTITIONS,
    "For a store with a sketch, prints the most frequent keys that it lists, with their estimates. "
    "`lethe count --top` sets how many it lists.",
    "With `--by`, a warning says if the store got these periods (`lethe count --per`) only after "
    "the one that is asked for had begun: then what was counted before is missing.",
    NULL,
};

static const struct option top_options[] = {
    OPTION_DB_STORE,
    OPTIONS_REDIS,
    {.name = "number", .value = "N", .letter = 'n', .help = "how many to print; default 20"},
    {.name = "by",
     .value = "PERIOD",
     .help = "of a store or table that counts per period: print what counters got in one period, "
             "such as "
             "`1h`; needs `--at`"},
    {.name = "at",
     .value = "T",
     .help = "a time in that period, such as `2024-03-31` or `2024-03-31T14:00:00`; without an "
             "offset it is local time in the store's zone, and in UTC for a table"},
    OPTION_JSON("print one object per line, with key and value"),
    {0},
};

const struct command command_top = {
    .path = "top",
    .summary = "print the largest counters",
    .synopses = SYNOPSES("--db DIR [-n N] [--by PERIOD --at T] [--json]",
                         SYNOPSIS_REDIS "[-n N] [--by PERIOD --at T] [--json]"),
    .description = top_description,
    .options = top_options,
    .examples =
        EXAMPLES({"Print the ten pages with the most clicks", "lethe top --db clicks -n 10"}),
    .exit_done = "success, even if there is no counter",
    .exit_negative = "the period was dropped, as `lethe count --keep` asked for",
    .run = run_top,
};

static const char *const set_description[] = {
    "Sets a counter to a value, whether or not it exists. Use it to correct a counter by hand. It "
    "has no id, so running it again later discards what was counted in between. " ESCAPED_KEYS,
    "The value is a whole number or, in a store with a scale (`lethe count --scale`), a decimal "
    "number such as 3.50 with no more digits after the point than the scale.",
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
    OPTIONS_REDIS,
    OPTION_JSON("print one object per line, with the key and whether it existed"),
    {0},
};

const struct command command_del = {
    .path = "del",
    .summary = "delete counters",
    .synopses = SYNOPSES("--db DIR [--json] KEY...", SYNOPSIS_REDIS "[--json] KEY..."),
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
    "and how much is on disk. A bar chart then shows the ids that are remembered, by age: their "
    "age now, or, if the store goes by the events' time, when the latest event happened. This "
    "works while `lethe count` is running.",
    "`DIR` may also be what `lethe dedup --db` or `lethe filter build --kind cascade` made. Then "
    "this prints how many lines or entries are remembered, with which error, and, for `lethe "
    "dedup`, of how many files it is known how far they were read.",
    "The number of counters is exact up to 100,000. Above that it is an estimate, and `about` "
    "stands before it: a counter that was changed in several runs may be counted more than once "
    "(`lethe check` counts exactly). In a store that an earlier version wrote to, refused includes "
    "what overflowed or was invalid then.",
    NULL,
};

static const char *const stat_json[] = {
    "For a store: store, kind (`store`), counters, counters_exact (false: counters is an "
    "estimate), window_ms, "
    "window_kind, error (the error allowed, of the window and the ledger together), error_estimate "
    "(the current error), window_error, ledger_error, exact, check_payload, event_time, forever, "
    "scale (digits after the point), ledger_bytes, clock_ms, applied, duplicates, late, future, "
    "overflow, invalid, refused, "
    "mismatched, commits, folded, log_ids, log_bytes, changes_bytes, index_bytes, counters_bytes, "
    "and periods, an array of "
    "objects with first_ms, last_ms and ids. If it counts per period, also per, keep and zone, as "
    "`lethe count` takes them, and buckets_bytes.",
    "With a sketch, also sketch_bytes, sketch_top, sketch_total (the sum of all keys), "
    "sketch_error and sketch_delta: an estimate is too high by more than sketch_error with a "
    "probability of at most sketch_delta.",
    "For what `lethe dedup` or `lethe filter` made: store, kind (`dedup` or `cascade`), entries, "
    "log_entries (those that are in no run yet), capacity, error, error_estimate, window_ms (0: "
    "nothing is forgotten), checkpoint (how many there were), runs, runs_bytes, log_bytes; and for "
    "`dedup` files and has_output.",
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
    OPTION_DB_STORE,
    OPTIONS_REDIS,
    OPTION_JSON_OBJECT,
    {0},
};

const struct command command_stat = {
    .path = "stat",
    .summary = "report what a store or a table holds, and the state of its window",
    .synopses = SYNOPSES("--db DIR [--json]", SYNOPSIS_REDIS "[--json]"),
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
    "It works while `lethe count` or another command is writing: it then verifies the store as of "
    "one moment. It does not read RocksDB's files OPTIONS and IDENTITY, on which no value depends.",
    "`DIR` may be what `lethe count`, `lethe dedup --db` or `lethe filter build --kind cascade` "
    "made.",
    "If the store is damaged, the message names the first fault. Restore a backup with `lethe "
    "restore`.",
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
    "Adds a backup of the store to the folder `DIR2`, which is created if it does not exist; the "
    "folder that it is to be in must exist. `DIR` may be what `lethe count`, `lethe dedup --db` or "
    "`lethe filter build --kind cascade` made. "
    "This works while another command is writing to the store. The backup is the store as of one "
    "moment: everything that was acknowledged before, and how far each file had been read then.",
    "Backups are numbered. Data that an earlier backup in `DIR2` already has is not copied again. "
    "`DIR2` must not be inside a store, and holds the backups of one store only.",
    "The store is verified first, as by `lethe check`, and the backup afterwards. If either is "
    "damaged, no backup is added, and the earlier ones stay as they are. A backup that was killed "
    "leaves the earlier ones, and can be run again.",
    "`--list` prints the backups in `DIR2`, the oldest first: number, time, kind, size, and how "
    "many events, lines or keys there were. `--prune` removes old ones, and the data that only "
    "they needed. The latest backup that stays is verified first: if none is sound, nothing is "
    "removed.",
    NULL,
};

static const char *const backup_json[] = {
    "Of a backup: number, kind (`store`, `dedup` or `cascade`), time_ms, bytes (what a restore "
    "writes), copied_bytes (what no earlier backup had), and records: events applied, lines or "
    "keys. A number that an earlier version of lethe did not record is null. When one is added, "
    "also store and backups. `--list` prints one object per line.",
    "With `--keep`, also removed, kept and freed_bytes.",
    NULL,
};

static const struct section backup_sections[] = {{"JSON members", backup_json}, {0}};

static const struct option backup_options[] = {
    OPTION_DB_STORE,
    {.name = "to", .value = "DIR2", .help = "the folder of backups", .completion = COMPLETE_FILES},
    {.name = "keep", .value = "N", .help = "afterwards, remove all backups except the latest N"},
    {.name = "list", .help = "add nothing; list the backups"},
    {.name = "prune", .help = "add nothing; only remove what `--keep` does not keep"},
    OPTION_JSON("print what was done, or what is there, as JSON"),
    OPTION_QUIET,
    {0},
};

const struct command command_backup = {
    .path = "backup",
    .summary = "back up a store, list its backups, remove old ones",
    .synopses = SYNOPSES("--db DIR --to DIR2 [--keep N] [--json] [-q]", "--list --to DIR2 [--json]",
                         "--prune --keep N --to DIR2 [--json] [-q]"),
    .description = backup_description,
    .options = backup_options,
    .sections = backup_sections,
    .examples = EXAMPLES({"Run this each night, and keep a week",
                          "lethe backup -q --db clicks --to /backup/clicks --keep 7"},
                         {"See what there is", "lethe backup --list --to /backup/clicks"}),
    .exit_done = "the backup is complete and on disk, or the list was printed",
    .run = run_backup,
};

static const char *const restore_description[] = {
    "Writes the latest backup in `DIR2`, or the one with the number `N`, to `DIR`, which must be "
    "missing or empty, and not in `DIR2`. The backup also holds how far each file had been read: "
    "run `lethe count` or "
    "`lethe dedup` on the same files again, and it continues where the backup was made.",
    "The result is verified. After this command there is a complete store in `DIR`, or none. A "
    "restore that was killed can be run again. If the backup is damaged, the message names another "
    "one that is sound.",
    NULL,
};

static const struct option restore_options[] = {
    {.name = "from",
     .value = "DIR2",
     .help = "the folder of backups",
     .completion = COMPLETE_FILES},
    OPTION_DB("the folder to write"),
    {.name = "number", .value = "N", .help = "which backup; default the latest"},
    OPTION_JSON("print what was restored as one JSON object: store, backups, and what `lethe "
                "backup` prints"),
    OPTION_QUIET,
    {0},
};

const struct command command_restore = {
    .path = "restore",
    .summary = "restore a store from a backup",
    .synopses = SYNOPSES("--from DIR2 --db DIR [--number N] [--json] [-q]"),
    .description = restore_description,
    .options = restore_options,
    .examples =
        EXAMPLES({"After a disk was lost", "lethe restore --from /backup/clicks --db clicks"},
                 {"Look at an older state",
                  "lethe restore --from /backup/clicks --number 12 --db clicks-then"}),
    .exit_done = "the store is complete and on disk",
    .run = run_restore,
};
