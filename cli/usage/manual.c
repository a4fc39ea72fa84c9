/* manual.c - the manual of `lethe usage`. */
#include "frame/commands.h"

static const char *const usage_description[] = {
    "Prints what each counter got in each period, of a store or table that counts per period "
    "(`lethe count --per`): a line per period and counter, with the period, the key and the value, "
    "separated by "
    "tabs. Periods come in their order. In each, counters are ordered by the bytes of their keys. "
    "A period in which nothing was counted is 0.",
    "Without `--from`, the lines begin with the first period in which one of the counters has "
    "something, and then the rest of each counter follows, unless it is 0: what its value has "
    "beyond the periods. That is what `--keep` has dropped, what `lethe set` changed, and what was "
    "counted before the store had these periods. So the periods and the rest always add up to the "
    "counter's value. With `--from`, the rest is printed if some of the periods were dropped, "
    "or had begun when the store got periods of this length: what was counted before is in no "
    "period.",
    "This works while `lethe count` is running. All lines of a store are of one moment.",
    "In a server (`--redis`), periods are those of UTC, and values are sums over the table's "
    "partitions. All buckets of the counters are fetched into memory first; if somebody counts "
    "meanwhile, the rest of a counter may be off by that. A server keeps a number of periods for "
    "each counter (KEEP of ONCE.CREATE): one that was dropped is 0 here, and in the rest. If "
    "partitions are missing, because they were deleted or a server has lost them, what is printed "
    "lacks what was counted in them: a message names them, and the exit status is 3.",
    NULL,
};

static const struct option usage_options[] = {
    OPTION_DB_STORE,
    OPTIONS_REDIS,
    {.name = "by",
     .value = "PERIOD",
     .help = "the periods: one of those that the store or table counts in, such as `1d`; the "
             "default is the "
             "first of them"},
    {.name = "from",
     .value = "T",
     .help = "from the period that this time is in, such as `2024-03-31` or `2024-03-31T14:00:00`; "
             "without an offset it is local time in the store's zone"},
    {.name = "to", .value = "T", .help = "up to the last period that begins before this time"},
    {.name = "prefix", .value = "P", .help = "print only counters whose keys begin with P"},
    OPTION_JSON("print one object per line, with key, by, from and value; the rest is an object "
                "with key, by and rest"),
    {.name = "csv",
     .help = "print lines of a CSV file, with a heading: key,by,from,value; keys are as they are, "
             "in quotes where that is needed"},
    {.name = "plot", .help = "draw bars in the terminal, for each counter"},
    {.name = "svg",
     .value = "FILE",
     .help = "draw bars, for each counter, to this file, as a picture in SVG",
     .completion = COMPLETE_FILES},
    {0},
};

const struct command command_usage = {
    .path = "usage",
    .summary = "print what counters got in each period",
    .synopses = SYNOPSES("--db DIR [--by PERIOD] [--from T] [--to T] [--json|--csv|--plot|--svg "
                         "FILE] [--prefix P|KEY...]",
                         SYNOPSIS_REDIS
                         "[--by PERIOD] [--from T] [--to T] [--json|--csv|--plot|--svg FILE] "
                         "[--prefix P|KEY...]"),
    .description = usage_description,
    .options = usage_options,
    .examples = EXAMPLES({"Print what one customer used each day of March",
                          "lethe usage --db usage --by 1d --from 2024-03-01 --to 2024-04-01 "
                          "customer-42"},
                         {"Draw the hours of a day",
                          "lethe usage --db usage --by 1h --from 2024-03-31 --to 2024-04-01 --plot "
                          "customer-42"},
                         {"Print the hours of a table in a server",
                          "lethe usage --redis redis://localhost --table usage --by 1h"},
                         {"Write all months of all customers to a CSV file",
                          "lethe usage --db usage --by 1mo --prefix customer- --csv > months.csv"}),
    .exit_done = "success, even if there is no counter",
    .operands_most = OPERANDS_UNLIMITED,
    .run = run_usage,
};
