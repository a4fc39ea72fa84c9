/* manual.c - the manual of `lethe plan`. */
#include "frame/commands.h"

static const char *const plan_description[] = {
    "Says what it takes to count events at a steady rate: memory, disk, how long a store takes to "
    "open, and how it grows; with `--redis` what a table in servers takes: partitions, masters, "
    "slots, memory, what is sent to replicas, and how long it takes to move a partition or to make "
    "a new replica. Nothing is created and no server is asked.",
    "Sizes are computed by the code that allocates them. Memory agrees with real stores and tables "
    "within a tenth. Disk is the most that a store takes while it counts at this rate, before "
    "changes are folded: less just after a fold, less for a file that is counted faster than its "
    "events came, and less for keys that compress well. Times and work are those of the machine on "
    "which they were measured; "
    "docs/scale.md says which. Measure your own before you buy.",
    "The rate is that of fresh events. Duplicates take work, and no memory. With `--memory` "
    "instead "
    "of `--window` it is the other way round: the longest window that fits.",
    NULL,
};

static const char *const plan_servers[] = {
    "The number of masters is what keeps each busy for half of its time at most, and its data in "
    "half of its memory: while a snapshot is made, the system copies every page that is written. "
    "The number of partitions is a power of two, at most 1024. It lets a partition take 256 MiB "
    "at most, unless more of them would not make it much smaller, and gives each master four.",
    "With `--partition-by id` a counter is in each partition in which it has got an event, and all "
    "of them are counted here.",
    NULL,
};

static const char *const plan_simulations[] = {
    "With `--simulate`, clusters are simulated in virtual time, with what things take as it was "
    "measured: queues, hot keys, a master that fails, tables that move to new masters. Each figure "
    "is printed as a table, and written as `NAME.csv`, `NAME.gnuplot` and, where there is gnuplot, "
    "`NAME.svg`. Without a name, lists the figures; `all` stands for all of them. Every run "
    "produces the same.",
    NULL,
};

static const struct section plan_sections[] = {
    {"Servers", plan_servers}, {"Simulations", plan_simulations}, {0}};

static const struct option plan_options[] = {
    {.name = "rate",
     .value = "R",
     .help = "fresh events, such as `50k/s`, `10M/h` or `1T/d`; must be given"},
    {.name = "window",
     .value = "W",
     .help = "how long duplicates are recognised, from 1s to 30d; default 3d, with `--redis` 10m"},
    {.name = "error",
     .value = "E",
     .help = "the probability that a fresh id is taken for a duplicate, from 1e-12 to 0.1; default "
             "1e-12, with `--redis` 1e-9"},
    {.name = "memory",
     .value = "SIZE",
     .help = "instead of `--window`: the longest window with which a store takes no more than "
             "this, or, with `--redis`, all masters together"},
    {.name = "keys", .value = "N", .help = "how many counters there are, all used equally often"},
    {.name = "key-bytes", .value = "N", .help = "how long their keys are; default 16"},
    {.name = "per",
     .is_list = true,
     .value = "PERIODS",
     .help = "count per period too, such as `1h,1d`; needs `--keys`"},
    {.name = "keep",
     .value = "SPEC",
     .is_list = true,
     .help = "how long to keep periods, such as `1h=90d`"},
    {.name = "after",
     .value = "D",
     .help = "for how long it has counted, for what grows: periods and the ledger; from 1d to "
             "36500d, default 365d"},
    {.name = "exact", .help = "a store that compares ids exactly"},
    {.name = "forever", .help = "a store that remembers ids for ever"},
    {.name = "redis", .help = "plan a table in Redis or Valkey, and its servers"},
    {.name = "partitions",
     .value = "P",
     .help = "with `--redis`: spread the table over P partitions, 1 to 1024; default: as many as "
             "are good"},
    {.name = "partition-by",
     .value = "WHAT",
     .choices = "id|key",
     .help = "with `--redis`: what events are spread by; default id"},
    {.name = "replicas", .value = "N", .help = "with `--redis`: of each master; default 1"},
    {.name = "server-memory",
     .value = "SIZE",
     .help = "with `--redis`: the memory of one server; default 32GiB"},
    {.name = "batch",
     .value = "N",
     .help = "with `--redis`: events in a command; default 512, as `lethe count` sends them"},
    OPTION_JSON("print one object, with sizes in bytes and times in seconds"),
    {.name = "simulate", .help = "simulate clusters, and draw the figures that are named"},
    {.name = "out",
     .value = "DIR",
     .help = "with `--simulate`: the folder for the files, created if needed; default `scale`",
     .completion = COMPLETE_FILES},
    OPTION_QUIET,
    {0},
};

const struct command command_plan = {
    .path = "plan",
    .summary = "say what counting so many events will take",
    .synopses = SYNOPSES("--rate R [--window W|--memory SIZE] [--error E] [--keys N] [--key-bytes "
                         "N] [--per PERIODS] [--keep SPEC] [--after D] [--exact|--forever] "
                         "[--json]",
                         "--redis --rate R [--window W|--memory SIZE] [--error E] [--keys N] "
                         "[--key-bytes N] [--per PERIODS] [--keep SPEC] [--after D] [--partitions "
                         "P] [--partition-by WHAT] [--replicas N] [--server-memory SIZE] [--batch "
                         "N] [--json]",
                         "--simulate [--out DIR] [--quiet] [NAME...]"),
    .description = plan_description,
    .options = plan_options,
    .sections = plan_sections,
    .examples = EXAMPLES(
        {"See what a day of retries takes at 50,000 events a second",
         "lethe plan --rate 50k/s --window 24h --error 1e-12"},
        {"The same with ten million counters, per hour, remembered for ever",
         "lethe plan --rate 50k/s --window 24h --keys 10M --per 1h --forever"},
        {"Find the window that 2 GiB suffice for", "lethe plan --rate 50k/s --memory 2GiB"},
        {"Plan a cluster for a trillion events a day",
         "lethe plan --redis --rate 1T/d --window 1h"},
        {"Draw the figures of docs/scale.md", "lethe plan --simulate --out docs/scale all"}),
    .exit_done = "success",
    .exit_negative = "no window fits into the memory",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_NAMES,
    .names = "plan --simulate",
    .run = run_plan,
};
