/* manual.c - the manual of `lethe count`. */
#include "count/manual.h"
#include "frame/commands.h"

static const char *const count_description[] = {
    "Reads events from the files, or from standard input, and adds them to the counters in the "
    "store `DIR`. The store is created if it does not exist. The sender gives every event an id. "
    "If an event with the same id arrives again within the window, it is a duplicate and changes "
    "nothing, even if its keys or deltas are others, which `--check-payload` reports. So senders "
    "can retry, and files can be read twice; and rows that share a number, such as the items of an "
    "order, need an id of several fields.",
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
    "Input compressed by gzip, zstd, bzip2 or xz is decompressed; see lethe(1). A compressed file "
    "that is damaged or cut short is found out before anything is counted. A damaged pipe is not: "
    "restore a backup of the store then. A file that was changed where it was read already, and "
    "also grew, is taken for the same file if its first 4096 bytes are the same and those before "
    "the place where reading stopped: log files are only added to. Read a file with "
    "the same format, fields and times each time. With different ones it is refused, unless "
    "nothing in it has been counted yet.",
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
     .help = "look every duplicate up in an index, by 80 bits of its id's hash: a fresh event is "
             "taken for a duplicate with a probability below 1e-15 among a billion ids. Takes 24 "
             "bytes of memory for each id in the window, or 18 of disk beyond 256 MiB, and 4 to 8 "
             "bytes more in the log. The store keeps this setting until `--no-exact`"},
    {.name = "no-exact", .help = "end `--exact`"},
    {.name = "check-payload",
     .help = "compare duplicates with the original: one with other keys or deltas is counted as "
             "mismatched; their order does not matter. Only events that were applied while the "
             "store was exact can be "
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
    {.name = "scale",
     .value = "N",
     .help = "for a new store: how many digits after the point its values have, up to 18, so that "
             "`--scale 2` counts hundredths exactly; default 0, whole numbers. It cannot be "
             "changed later, and later runs may leave it out"},
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
     .is_list = true,
     .help = "where the id, keys, deltas and time are, such as `id=1,key=2,delta=3,time=4`; see "
             "Fields"},
    {.name = "strict", .help = "a missing or empty delta is a mistake; without this it is 1"},
    {.name = "time-unit",
     .value = "UNIT",
     .choices = "s|ms|us",
     .help =
         "the unit of times that are numbers: seconds, milliseconds or microseconds since 1970; "
         "see Times"},
    {.name = "zone",
     .value = "ZONE",
     .help =
         "the zone of times that do not say theirs: a name such as `Europe/Berlin`, or an "
         "offset such as `+01:00`; with `--per`, days and longer periods are those of this zone "
         "too"},
    {.name = "per",
     .value = "PERIODS",
     .is_list = true,
     .help = "count per period, `1h,1d,1mo`; see Periods"},
    {.name = "keep",
     .value = "SPEC",
     .is_list = true,
     .help = "how long to keep periods, `1h=90d`; see Periods"},
    {.name = "limit",
     .is_list = true,
     .value = "MAX[/PERIOD]",
     .help = "skip events that would raise a counter above this; see Limits"},
    {.name = "max-future",
     .value = "D",
     .help = "with times: do not count an event that is further ahead of this machine's clock than "
             "this; default 1m"},
    {.name = "late",
     .value = "WHAT",
     .choices = "skip|count",
     .help = "what to do with an event that is older than the window: `skip` it, or `count` it "
             "although nobody knows whether it was counted before; default `skip`. See Late "
             "events"},
    {.name = "late-out",
     .value = "FILE",
     .help = "append the events that are older than the window to this file, as they were written, "
             "except that lines end with a newline alone; each exactly once, even after a kill and "
             "a rerun, or with `--from-start`; see Late events",
     .completion = COMPLETE_FILES},
    {.name = "on-error",
     .value = "WHAT",
     .choices = "skip|stop",
     .help = "what to do with a line that cannot be read: `skip` it, count it as unreadable and "
             "print the reason, for ten lines at most; or `stop` before it; default `skip`"},
    {.name = "follow",
     .help = "when all is counted, wait for more: count lines as they are written to the files, "
             "through rotation, until SIGINT or SIGTERM; see Following"},
    {.name = "report",
     .value = "D",
     .help = "with `--follow`: print the summary this often as well, from 1s to 1d; with `--json`, "
             "an object per line"},
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
             "error rise (`degrade`) until one and a half times as many events as with `refuse` "
             "have come at once, and refuse further ones; default `refuse`"},
    {.name = "sync",
     .value = "P",
     .help = "how long to gather events before writing them, up to 10s; with `always`, write "
             "whenever the disk is free; default 50ms"},
    {.name = "batch",
     .value = "N",
     .help = "the most events to write at once, up to 65536; default 32768. With `--redis`: the "
             "most events in one command, up to 4096; default 512"},
    {.name = "threads",
     .value = "N",
     .help = "how many threads may share what one could do, with the same results; default: as "
             "many as there are CPUs"},
    OPTIONS_REDIS,
    {.name = "partitions",
     .value = "P",
     .help = "with `--redis`: over how many keys to spread a new table, by the ids, up to 1024; "
             "default 1, in a cluster 16"},
    {.name = "partition-by",
     .value = "WHAT",
     .choices = "id|key",
     .help = "with `--redis`: what to spread a new table by, `id` or `key`; default `id`"},
    {.name = "wait",
     .value = "N",
     .help = "with `--redis`: an event is acknowledged when N replicas have it; default 0: when "
             "the master has it"},
    {.name = "retry",
     .value = "D",
     .help = "with `--redis`: how long to try again while a server does not answer; default 1m, "
             "and never more than half the window. If it is given, lethe also waits that long at "
             "the beginning for a server that is not running yet"},
    OPTION_JSON_SUMMARY,
    OPTION_QUIET,
    {0},
};

static const char *const count_events[] = {
    "A plain line is an id, a key and a delta, separated by tabs. The delta is a whole number, "
    "also if it is written as 3.0 or 1e2. It is 1 if it is left out, empty or null; with "
    "`--strict` that is a mistake. More pairs of a key and a delta may follow: they change "
    "together or not at all. Of several pairs, each has its delta, which may be empty.",
    "In a store with a `--scale`, a delta may have a fraction, such as 3.50 or -0.25, with as many "
    "digits as the scale. It is counted exactly. A line with more digits cannot be read, unless "
    "they are zeros. Values are whole numbers of the last digit, of 64 bits: with `--scale 2` they "
    "go up to 92233720368547758.07, and estimates of a sketch up to 42949672.94. All commands "
    "print them with all their digits, also in JSON.",
    "Inside an id or a key, write a tab as `\\t`, a newline as `\\n`, a carriage return as `\\r`, "
    "NUL as `\\0` and a backslash as `\\\\`. Any byte may be written as `\\xHH`.",
    "A CSV record has the same fields in the same order, quoted as in RFC 4180. A JSON object has "
    "the members id, key and delta. `--fields` says otherwise.",
    "Lines inside the quotes of a CSV field are never events. If quotes end wrongly, their record "
    "cannot be read, up to the end of that line. If they do not end, the run stops before their "
    "record with exit status 3. If the file may still grow, the record is pending instead: it is "
    "left for the next run, with a warning; from 32 KiB on, the exit status is 5, because a stray "
    "quote holds back all that follows. Mend the file, and run the same command again: it "
    "continues there.",
    "A line of JSON is one object as in RFC 8259, in UTF-8, nested 1024 deep at most. Ids and keys "
    "are strings, or whole numbers of any size, taken as they are written, except that -0 is 0. "
    "Members that are asked for must not repeat. What the others hold does not matter.",
    "A line that cannot be read is reported with its number and not counted; see `--on-error`. An "
    "empty line is such a line, unless it is the last one of a file.",
    NULL,
};

static const char *const count_fields[] = {
    "`--fields` is a list with commas between its parts. `id=1,key=2` are columns of plain lines "
    "and CSV, from 1. `id=request,key=user` are names: of columns, and then the first record of "
    "each file is a header, or of JSON members. A name that is not in a header stops the run "
    "before anything is created.",
    "`id=meta.id` or `id=/meta/id` is a JSON member within another. The second is a JSON pointer "
    "(RFC 6901): `~1` in it is a slash, `~0` a tilde, and numbers are elements of arrays. A member "
    "that is not there, or null, is missing, and so is all that is within it. A path that leads "
    "through a number or a string is a mistake. "
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
    "as `10/Oct/2000:13:55:36 -0700`, or a number since 1970. A time like `2023-11-14 22:13:20`, "
    "which "
    "does not say its zone, needs `--zone`. If clocks there were put back and showed it twice, it "
    "is the first of the two. If they were put forward over it, it cannot be read.",
    "Numbers count milliseconds. Without `--time-unit`, a number below 1e11 is taken for seconds, "
    "and one from 1e14 on for microseconds; a warning says so, once. All of these may have a "
    "fraction. A time before 1970 or after the year 9999 cannot be read.",
    "An event is future if its time is further ahead of this machine's clock than `--max-future`. "
    "It is also future if it is ahead of the latest event so far by more than the window, and more "
    "of the events that follow would become late by it than agree with it; the first event of a "
    "store is judged by those that follow as well. So one wrong time does not make other events "
    "late.",
    "Events should come in the order of their times, as far as the window reaches. Where the "
    "newest come first, most events are future or late. Choose a window as long as such a file "
    "lasts, or turn the file round, as in `tac FILE | lethe count ...`; a header must stay first.",
    NULL,
};

static const char *const count_files[] = {
    "Without times, files are read one after the other. With times, several files are merged: the "
    "next event is the oldest of those that come next in the files. So the logs of two servers can "
    "be counted in one run. Within a file the order of lines stays.",
    "Each file has its own mark, and is opened when the time of its first event comes. At most 64 "
    "are open at once. If more overlap, those that begin first are merged and the others wait "
    "until "
    "one ends; a warning says so. A pipe or standard input cannot be merged with others, and files "
    "that are followed are not merged.",
    "All files are looked at first. If one of them is refused, nothing is counted.",
    NULL,
};

static const char *const count_late[] = {
    "An event older than the window is late: its id may be forgotten, so nobody knows whether it "
    "is a duplicate. It is not counted, and the exit status is 5.",
    "Count files of the same time in one run: they are merged. A longer `--window`, given before "
    "the events come, makes fewer of them late. With `--forever` none is.",
    "`--late count` counts late events all the same. Use it for events that were not counted "
    "before, such as a log that was forgotten. It recognises a late event as a duplicate only if "
    "its id was counted within the window, by the time of the latest event. From then on its id is "
    "remembered for as long as any other. With `--late count`, a file in which nothing was counted "
    "is read from its start.",
    "`--late-out` writes late events to a file instead, after the header of their file if there is "
    "one: files with another header need another list. With `--from-start`, what the list has "
    "already is not added again. The list also has late retries of events that were counted: "
    "nobody knows which. Look at it, take out what was counted before, then count that file with "
    "`--late count`, which counts all of it. Do so if only some events of a file were late. To "
    "read the whole file again "
    "is wrong then: events that were counted on time, and have left the window since, would be "
    "counted twice. So `--late count` refuses `--from-start` for such a file.",
    NULL,
};

static const char *const count_outcomes[] = {
    "At the end, a line on standard error says how many events had which outcome. `--json` prints "
    "an object on standard output instead. Its first member is events, the sum of all outcomes:",
    "`applied`: counted. `duplicates`: counted before, within the window. `late` and `future`: see "
    "above. `overflow`: a counter, or what it has in a period, would leave the range of 64 bits, "
    "or a sketch's key would fall below zero. `invalid`: the store could not take the event, which "
    "`lethe count` finds out before: an id or key that is empty or too long is unreadable. "
    "`refused`: the window has "
    "reached its `--memory`. `mismatched`: the id came before with other keys or deltas "
    "(`--check-payload`). `limited`: see Limits. `unreadable`: the line is not an event.",
    "The other members are applied_late (how many of the applied events were late, with `--late "
    "count`), resumed_at (bytes that were read by earlier runs), pending (last lines, or records "
    "of CSV, that may be incomplete), unreported (events that earlier runs skipped, and were "
    "killed before "
    "they could report it), seconds, error_estimate (the probability now that a fresh event is "
    "taken for a duplicate), expected_wrongly_dropped (how many fresh events of this run were "
    "probably taken for duplicates) and, with `--redis`, doubtful.",
    "Events that are neither applied nor duplicates are skipped. If there are any, the exit status "
    "is 5. Correct the lines, or the options, then count the file again with `--from-start` within "
    "the window, or send the pipe's data again: events that were applied are duplicates. For late "
    "events see above. If a run that skipped events is killed, the next one reports them, and its "
    "exit status is 5.",
    NULL,
};

static const char *const count_following[] = {
    "With `--follow`, `lethe count` counts what is in the files, one after the other, and then "
    "what "
    "is written to them. A line is on disk within `--sync` after it is written, and the file's "
    "mark "
    "with it: the command can be killed at any moment, and run again with or without `--follow`. A "
    "line waits until its newline is written. SIGINT and SIGTERM end the command: it commits what "
    "it has read, prints its summary, and its exit status is 0, or 5 if events were skipped.",
    "A file that is renamed, with a new one in its place, is read to its end. What a program still "
    "writes to it is read as well, until it has been quiet for a minute, beside the new file, "
    "which is read from its start. A file that is not there is waited for. If a file gets shorter "
    "(copytruncate of logrotate), a warning says so, and it is read from its start. Lines that "
    "were "
    "written to it after it was last read, and before it was cut, are then not counted: count the "
    "copy as well.",
    "If a file was rotated while nobody followed it, the rest of it has another name. Name that "
    "first, as in `lethe count --db DIR --follow FILE.1 FILE`: each line is counted once, because "
    "files are recognised by their content. FILE.1 need not be there. With copytruncate, count "
    "FILE.1 once without `--follow` instead.",
    "Lines of several files are counted in the order in which they are read. If the events have "
    "times, the window must cover how far the files are apart.",
    "Only regular files can be followed that are not compressed, 256 at most. Changes are noticed "
    "by inotify. A file on another machine, where that does not work, is looked at every second.",
    NULL,
};

static const struct section count_sections[] = {
    {"Events", count_events},
    {"Fields", count_fields},
    {"Times", count_times},
    {"Several files", count_files},
    {"Late events", count_late},
    {"Periods", count_periods},
    {"Limits", count_limits},
    {"Outcomes", count_outcomes},
    {"Following", count_following},
    {"Servers", count_servers},
    {"Connections", count_connections},
    {0},
};

const struct command command_count = {
    .path = "count",
    .summary = "count events, each exactly once",
    .synopses = SYNOPSES(
        "--db DIR [--window W] [--error E] [--window-kind quotient|forgetful] [--exact|--no-exact] "
        "[--check-payload|--no-check-payload] [--forever] [--ledger-capacity N] [--ledger-memory "
        "SIZE] [--ledger-error E] [--scale N] [--sketch MEMORY [--top N]] [--csv [--delimiter "
        "C]|--jsonl|--cloudevents] [--fields SPEC] [--strict] [--time-unit s|ms|us] [--zone ZONE] "
        "[--per PERIODS] [--keep SPEC] [--limit MAX[/PERIOD]] [--max-future D] [--late skip|count] "
        "[--late-out FILE] "
        "[--on-error skip|stop] "
        "[--follow [--report D]] "
        "[--from-start] [--last-line] [--binary] [--memory SIZE] [--policy refuse|degrade] [--sync "
        "P] [--batch N] [--threads N] [--json] [-q] [FILE...]",
        SYNOPSIS_REDIS
        "[--partitions P] [--partition-by id|key] [--per PERIODS] [--keep SPEC] [--wait N] "
        "[--retry D] [--window W] [--error E] "
        "[--window-kind quotient|forgetful] [--csv [--delimiter C]|--jsonl|--cloudevents] "
        "[--fields SPEC] [--strict] [--on-error skip|stop] [--follow [--report D]] [--from-start] "
        "[--last-line] [--binary] [--memory SIZE] [--policy refuse|degrade] [--batch N] [--json] "
        "[-q] [FILE...]"),
    .description = count_description,
    .options = count_options,
    .sections = count_sections,
    .examples = EXAMPLES({"Count clicks that may be retried for up to an hour",
                          "lethe count --db clicks --window 1h clicks.tsv"},
                         {"Continue with a log that is still being written",
                          "lethe count --db clicks -q clicks.tsv"},
                         {"Count a log as it is written, through rotation, until stopped",
                          "lethe count --db clicks --follow clicks.tsv.1 clicks.tsv"},
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
                         {"Count the logs of all servers by their own time",
                          "lethe count --db usage --jsonl --fields id=request,key=user,time=at "
                          "server-*.jsonl"},
                         {"Count by local times without a zone",
                          "lethe count --db sales --csv --fields id=number,key=shop,time=sold "
                          "--zone Europe/Berlin sales.csv"},
                         {"Add up prices such as 19.99, exactly",
                          "lethe count --db sales --scale 2 --csv --fields "
                          "id=number,key=shop,delta=price sales.csv"},
                         {"Count per hour and per day of a zone as well",
                          "lethe count --db usage --per 1h,1d --zone Europe/Berlin --keep 1h=90d "
                          "--jsonl --fields id=request,key=user,time=at log.jsonl"},
                         {"Count billions of addresses in 256 MiB",
                          "lethe count --db addresses --sketch 256MiB packets.tsv"},
                         {"Count in a cluster, each event on a master and a replica",
                          "lethe count --redis redis://10.0.0.1:6379,10.0.0.2:6379 --table clicks "
                          "--wait 1 clicks.tsv"},
                         {"Count over TLS as the user app, with the password from a file",
                          "lethe count --redis rediss://app@redis.example.com:6380/2 "
                          "--password-file ~/.redis-password --table clicks clicks.tsv"}),
    .exit_done = "all events were read; each is counted and on disk, or is a duplicate",
    .exit_skipped =
        "all events were read, and some were skipped: they are neither counted nor duplicates, and "
        "the summary says how many and why; or 32 KiB or more are pending, behind quotes that do "
        "not end. All other events are counted and on disk",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_count,
};
