/* manual.c - the manual of the `lethe sample` commands. */
#include "frame/commands.h"

static const char *const sample_description[] = {
    "Generates data for demonstrations and tests. The same options always give the same data.",
    NULL,
};

const struct command command_sample = {
    .path = "sample",
    .summary = "generate data to try lethe with",
    .synopses = SYNOPSES("COMMAND [ARGUMENT...]"),
    .description = sample_description,
    .exit_done = "success",
};

static const char *const sample_events_description[] = {
    "Prints lines that `lethe count` reads: a random id, a key, and a delta from 1 to 9. A few "
    "keys are frequent and most are rare (Zipf's law). Some lines are retries: they repeat one of "
    "the last thousand other lines. The same options give the same lines.",
    NULL,
};

static const struct option sample_events_options[] = {
    {.name = "count",
     .value = "N",
     .help = "how many lines to print, including retries; default 5M"},
    {.name = "retries", .value = "R", .help = "the share of lines that are retries; default 6%"},
    {.name = "keys", .value = "N", .help = "how many different keys there can be; default 100k"},
    {.name = "seed", .value = "S", .help = "another seed gives other lines; default 1"},
    {.name = "truth",
     .value = "FILE",
     .help = "write the correct totals to FILE: each key that occurred, a tab, and its total "
             "without retries, in the order of `lethe list`",
     .completion = COMPLETE_FILES},
    {0},
};

const struct command command_sample_events = {
    .path = "sample events",
    .summary = "print events with retries, and write the correct totals",
    .synopses = SYNOPSES("[--count N] [--retries R] [--keys N] [--seed S] [--truth FILE]"),
    .description = sample_events_description,
    .options = sample_events_options,
    .examples = EXAMPLES({"Verify that the totals are right",
                          "lethe sample events --truth truth | lethe count --db d && lethe list "
                          "--db d | cmp - truth"}),
    .exit_done = "success",
    .run = run_sample_events,
};
