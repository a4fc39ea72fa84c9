/* manual.c - the manual of `lethe count`. */
#include "frame/commands.h"

static const char *const count_description[] = {
    "Reads events from the files, or from standard input, and adds them to the counters in the "
    "store `DIR`. The store is created if it does not exist. The sender gives every event an id. "
    "If an event with the same id arrives again within the window, it is a duplicate and changes "
    "nothing. So senders can retry, and files can be read twice.",
    "A counter and the ids that changed it are written to disk together. After a crash, a kill or "
    "a full disk, run the same command again: the totals will be right. The store remembers how "
    "far each named file was read, and recognises the file by its content, even if it has grown or "
    "was renamed. It remembers that for ever, which takes about 130 bytes for each file. Data from "
    "a pipe must be sent again within the window.",
    "If there are too many keys to store, use `--sketch`. The store then keeps a sketch of a fixed "
    "size in place of the counters. It has an estimate for every key, and a list of the most "
    "frequent keys. Every event is still counted exactly once, but the value of a key is an "
    "estimate: never too low, and too high by a small amount that `lethe stat` reports. A negative "
    "delta that would take a key below zero is not applied. A store keeps its sketch: it cannot be "
    "changed back to counters.",
    "The last line of a file may be incomplete if it has no newline. It is left for the next run, "
    "with a warning. At the end of a pipe or of a compressed file, or with `--last-line`, it is "
    "taken as it is.",
    "Input compressed by gzip, zstd, bzip2 or xz is decompressed; see lethe(1). Read a file with "
    "the same format, fields and times each time. With different ones it is refused, unless "
    "nothing "
    "in it has been counted yet.",
    NULL,
};

static const struct option count_options[] = {
    OPTION_DB("the folder of the store; created if it does not exist"),
    {.name = "window",
     .value = "W",
     .help = "how long duplicates are recognised, from 1s to 30d: choose it longer than any sender "
             "retries; default: as the store was last opened, or 3d for a new store and 10m for a "
             "new table. A longer window does not bring back ids that are already forgotten"},
    {.name = "error",
     .value = "E",
     .help = "the probability that a fresh event is taken for a duplicate, from 1e-12 to 0.1; "
             "default: as before, or 1e-12 for a new store and 1e-9 for a new table"},
    {.name = "window-kind",
     .value = "KIND",
     .choices = "quotient|forgetful",
     .help = "for a new store or table: the filter that remembers ids, `quotient` or the paper's "
             "`forgetful` Bloom filter, which is larger and slower, and has no cap (`--memory`); "
             "default `quotient`. It cannot be changed later"},
    {.name = "exact",
     .help = "look every duplicate up in an index on disk, so that no fresh event is ever taken "
             "for one; slower, and about 30 bytes of disk more per id. The store keeps this "
             "setting until `--no-exact`"},
    {.name = "no-exact", .help = "end `--exact`"},
    {.name = "check-payload",
     .help = "compare duplicates with the original: one with other keys or deltas is counted as "
             "mismatched. Only events that were applied since the store became exact can be "
             "compared. Implies `--exact`. The store keeps this setting until "
             "`--no-check-payload`"},
    {.name = "no-check-payload", .help = "end `--check-payload`; the store stays exact"},
    {.name = "forever",
     .help = "keep ids on disk for ever when they leave the window, in a ledger. Duplicates are "
             "then recognised however late they arrive. No event is late any more, except those "
             "that were already late when `--forever` was turned on. This cannot be undone"},
    {.name = "ledger-capacity",
     .value = "N",
     .help = "with a new `--forever`: how many events to plan for; with more, the error rises; "
             "default 1.07G"},
    {.name = "ledger-memory", .value = "SIZE", .help = "the memory for the ledger; default 256MiB"},
    {.name = "ledger-error",
     .value = "E",
     .help = "with a new `--forever`: the ledger's error at its capacity; it adds to the window's; "
             "default 1e-9"},
    {.name = "sketch",
     .value = "MEMORY",
     .help = "create a store with a sketch of this size in place of counters, from 4KiB to 4GiB; "
             "later runs may leave it out"},
    {.name = "top",
     .value = "N",
     .help = "with `--sketch`: how many of the most frequent keys to list, up to 1048576; default "
             "1000"},
    {.name = "csv", .help = "the files are CSV"},
    {.name = "delimiter",
     .value = "C",
     .help = "with `--csv`: what is between fields, one character, or `\\t` for a tab; default a "
             "comma"},
    {.name = "jsonl", .help = "the files have one JSON object per line"},
    {.name = "cloudevents",
     .help = "the files have one CloudEvent per line, in JSON. Its source and its id together are "
             "the id; the key is its type, unless `--fields` has another key"},
    {.name = "fields",
     .value = "SPEC",
     .help = "where the id, keys, deltas and time are, such as `id=1,key=2,delta=3,time=4`; see "
             "Fields"},
    {.name = "strict", .help = "a missing or empty delta is a mistake; without this it is 1"},
    {.name = "time-unit",
     .value = "UNIT",
     .choices = "s|ms|us",
     .help = "what times count that are numbers: seconds, milliseconds or microseconds since 1970; "
             "see Times"},
    {.name = "zone",
     .value = "ZONE",
     .help = "the zone of times that do not say theirs: a name such as `Europe/Berlin`, or an "
             "offset such as `+01:00`"},
    {.name = "max-future",
     .value = "D",
     .help = "with times: do not count an event that is further ahead of this machine's clock than "
             "this; default 1m"},
    {.name = "late-out",
     .value = "FILE",
     .help = "append the events that are older than the window to this file, as they were written; "
             "each exactly once, even after a kill and a rerun",
     .completion = COMPLETE_FILES},
    {.name = "on-error",
     .value = "WHAT",
     .choices = "skip|stop",
     .help = "what to do with a line that cannot be read: `skip` it, count it as unreadable and "
             "print the reason, for ten lines at most; or `stop` before it; default `skip`"},
    {.name = "from-start", .help = "read the files from their start, whatever was read before"},
    {.name = "last-line",
     .help = "read the last line of a file even if it has no newline: the file is complete"},
    OPTION_BINARY,
    {.name = "memory",
     .value = "SIZE",
     .help = "the most memory for the window; default: as much as it needs"},
    {.name = "policy",
     .value = "POLICY",
     .choices = "refuse|degrade",
     .help = "what to do when the window reaches `--memory`: `refuse` fresh events, or let the "
             "error rise (`degrade`); default `refuse`"},
    {.name = "sync",
     .value = "P",
     .help = "how long to gather events before writing them, up to 10s; with `always`, write "
             "whenever the disk is free; default 50ms"},
    {.name = "batch",
     .value = "N",
     .help = "the most events to write at once, up to 65536; default 32768. With `--redis`: the "
             "most events in one command, up to 4096; default 512"},
    OPTION_REDIS,
    OPTION_TABLE,
    {.name = "partitions",
     .value = "P",
     .help = "with `--redis`: over how many keys to spread a new table, by the ids, up to 1024; "
             "default 1, in a cluster 16"},
    {.name = "wait",
     .value = "N",
     .help = "with `--redis`: an event is acknowledged when N replicas have it; default 0: when "
             "the master has it"},
    {.name = "retry",
     .value = "D",
     .help = "with `--redis`: how long to try again while a server does not answer; default 1m, "
             "and never more than half the window"},
    OPTION_JSON_SUMMARY,
    OPTION_QUIET,
    {0},
};

static const char *const count_events[] = {
    "A plain line is an id, a key and a delta, separated by tabs. The delta is a whole number, "
    "also "
    "if it is written as 3.0 or 1e2. It is 1 if it is left out, empty or null; with `--strict` "
    "that "
    "is a mistake. More pairs of a key and a delta may follow: they change together or not at all.",
    "Inside an id or a key, write a tab as `\\t`, a newline as `\\n`, a carriage return as `\\r`, "
    "NUL as `\\0` and a backslash as `\\\\`. Any byte may be written as `\\xHH`.",
    "A CSV record has the same fields in the same order, quoted as in RFC 4180. A JSON object has "
    "the members id, key and delta. `--fields` says otherwise.",
    "A line that cannot be read is reported with its number and not counted; see `--on-error`.",
    NULL,
};

static const char *const count_fields[] = {
    "`--fields` is a list with commas between its parts. `id=1,key=2` are columns of plain lines "
    "and CSV, from 1. `id=request,key=user` are names: of columns, and then the first record of "
    "each file is a header, or of JSON members. A name that is not in a header stops the run "
    "before "
    "anything is created.",
    "`id=meta.id` or `id=/meta/id` is a JSON member within another. The second is a JSON pointer "
    "(RFC 6901): `~1` in it is a slash, `~0` a tilde, and numbers are elements of arrays. "
    "`key=\"a, b\"` is a name as it is, with its commas and dots; a quote in it is doubled.",
    "`key=page,key=country` are two keys of one event. They change together or not at all, by the "
    "same delta. With as many deltas as keys, each key has its own, in their order. `key=:clicks` "
    "is the key clicks in every event; a delta can be such a literal too. So "
    "`key=page,delta=bytes,key=:requests,delta=:1` adds up bytes per page, and counts requests.",
    "`id=order,id=item` is one id made of two fields: each after its length, so that a and bc are "
    "not ab and c. None of them may be empty. docs/format/id.md has the bytes. "
    "`time=date,time=clock` is a time in two fields.",
    NULL,
};

static const char *const count_times[] = {
    "Without a time among the fields, the window goes by the clock. With one, it goes by the "
    "events' own time. A store does one or the other, from its first event on.",
    "A time is RFC 3339, such as `2023-11-14T22:13:20.5+01:00`, or of the common log format, such "
    "as "
    "`10/Oct/2000:13:55:36 -0700`, or a number since 1970. A time like `2023-11-14 22:13:20`, "
    "which "
    "does not say its zone, needs `--zone`. If clocks there were put back and showed it twice, it "
    "is "
    "the first of the two. If they were put forward over it, it cannot be read.",
    "Numbers count milliseconds. Without `--time-unit`, a number below 1e11 is taken for seconds, "
    "and one from 1e14 on for microseconds; a warning says so, once. All of these may have a "
    "fraction. A time before 1970 or after the year 9999 cannot be read.",
    "An event older than the window is late: it is no longer known whether it is a duplicate. "
    "`--late-out` keeps such events.",
    "An event is future if its time is further ahead of this machine's clock than `--max-future`. "
    "It is also future if it is ahead of the events before it by more than the window, unless at "
    "least half of the events that follow agree with it. So one wrong time does not make other "
    "events late.",
    NULL,
};

static const char *const count_outcomes[] = {
    "At the end, a line on standard error says how many events had which outcome. `--json` prints "
    "an object on standard output instead. Its first member is events, the sum of all outcomes:",
    "`applied`: counted. `duplicates`: counted before, within the window. `late` and `future`: see "
    "above. `overflow`: a counter would leave the range of 64 bits, or a sketch's key would fall "
    "below zero. `invalid`: an id or key is empty or too long. `refused`: the window has reached "
    "its `--memory`. `mismatched`: the id came before with other keys or deltas "
    "(`--check-payload`). `unreadable`: the line is not an event.",
    "The other members are resumed_at (bytes that were read by earlier runs), pending (last lines "
    "that may be incomplete), seconds, error_estimate (the probability now that a fresh event is "
    "taken for a duplicate), expected_wrongly_dropped (how many fresh events of this run were "
    "probably taken for duplicates) and, with `--redis`, doubtful.",
    "Events that are neither applied nor duplicates are skipped. If there are any, the exit status "
    "is 5. Correct the lines, or the options, then count the file again with `--from-start` within "
    "the window, or send the pipe's data again: events that were applied are duplicates. Late "
    "events stay late; `--late-out` keeps them.",
    NULL,
};

static const char *const count_servers[] = {
    "With `--redis`, the counters are a table in a Redis or Valkey server that has loaded the "
    "module lethe.so, or in a cluster of such servers. Every event is sent again until it is "
    "acknowledged, through lost connections and failovers. This is safe, because a duplicate "
    "changes nothing. Without `--wait`, events that a master acknowledged can be lost with it.",
    "A table T with one partition is the once-table T of `ONCE.INCRBY T`. With more partitions, T "
    "describes them; they are named T:{tag} and spread evenly over the cluster. The number of "
    "partitions, the window, its kind and the error of a table cannot be changed.",
    "T:files holds how far each named file was read. It is written after the events are "
    "acknowledged, so a run that continues sends the last events again. Start that run within the "
    "window.",
    "The window goes by the server's clock. If an event had to be sent twice and the second answer "
    "is duplicate, it was probably this run that applied it, and the first answer was lost. The "
    "summary reports how many such events there were; in JSON, doubtful, which duplicates "
    "includes.",
    NULL,
};

static const struct section count_sections[] = {
    {"Events", count_events},     {"Fields", count_fields},   {"Times", count_times},
    {"Outcomes", count_outcomes}, {"Servers", count_servers}, {0},
};

const struct command command_count = {
    .path = "count",
    .summary = "count events, each exactly once",
    .synopses = SYNOPSES(
        "--db DIR [--window W] [--error E] [--window-kind quotient|forgetful] [--exact|--no-exact] "
        "[--check-payload|--no-check-payload] [--forever] [--ledger-capacity N] [--ledger-memory "
        "SIZE] [--ledger-error E] [--sketch MEMORY [--top N]] [--csv [--delimiter "
        "C]|--jsonl|--cloudevents] [--fields SPEC] [--strict] [--time-unit s|ms|us] [--zone ZONE] "
        "[--max-future D] [--late-out FILE] [--on-error skip|stop] [--from-start] [--last-line] "
        "[--binary] [--memory SIZE] [--policy refuse|degrade] [--sync P] [--batch N] [--json] [-q] "
        "[FILE...]",
        "--redis URL --table T [--partitions P] [--wait N] [--retry D] [--window W] [--error E] "
        "[--window-kind quotient|forgetful] [--csv [--delimiter C]|--jsonl|--cloudevents] "
        "[--fields SPEC] [--strict] [--on-error skip|stop] [--from-start] [--last-line] [--binary] "
        "[--memory SIZE] [--policy refuse|degrade] [--batch N] [--json] [-q] [FILE...]"),
    .description = count_description,
    .options = count_options,
    .sections = count_sections,
    .examples = EXAMPLES({"Count clicks that may be retried for up to an hour",
                          "lethe count --db clicks --window 1h clicks.tsv"},
                         {"Continue with a log that is still being written",
                          "lethe count --db clicks -q clicks.tsv"},
                         {"Count the bytes sent to each user, from a log in JSON",
                          "lethe count --db usage --jsonl --fields "
                          "id=request,key=user,delta=bytes,time=at log.jsonl.zst"},
                         {"Add up bytes per page and country, and count the requests",
                          "lethe count --db usage --csv --delimiter ';' --fields "
                          "'id=host,id=request,key=page,delta=bytes,key=country,delta=bytes,"
                          "key=:requests,delta=:1' access.csv"},
                         {"Count CloudEvents by their subject, by their own time",
                          "lethe count --db events --cloudevents --fields key=subject,time=time "
                          "events.jsonl"},
                         {"Count by local times without a zone",
                          "lethe count --db sales --csv --fields id=number,key=shop,time=sold "
                          "--zone Europe/Berlin sales.csv"},
                         {"Count billions of addresses in 256 MiB",
                          "lethe count --db addresses --sketch 256MiB packets.tsv"},
                         {"Count in a cluster, each event on a master and a replica",
                          "lethe count --redis redis://10.0.0.1:6379,10.0.0.2:6379 --table clicks "
                          "--wait 1 clicks.tsv"}),
    .exit_done = "all events were read; each is counted and on disk, or is a duplicate",
    .exit_skipped =
        "all events were read, and some were skipped: they are neither counted nor duplicates, and "
        "the summary says how many and why; the others are counted and on disk",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_count,
};
