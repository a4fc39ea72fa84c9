/* manual.c - the manual of `lethe paper`. */
#include "frame/commands.h"

static const char *const paper_description[] = {
    "Repeats the experiment behind a figure with Lethe's own code, on virtual time and with fixed "
    "seeds. Most figures take seconds. Prints the numbers as a table, then what the paper claims "
    "and what was measured here, even where they differ.",
    "Writes the table as `NAME.csv`, and a plot as `NAME.svg`, drawn by gnuplot from the script "
    "`NAME.gnuplot`. Without gnuplot there is no plot, and the rest is the same. Every run "
    "produces the same bytes, except for fbf-14-real, fbf-15, fid-12 to fid-16, gbf-6, "
    "gbf-offload, gbf-speed, cf-3 and qf, which measure what happens on this machine. Those that "
    "measure time "
    "need an idle one.",
    "Without a name, lists the figures. The name `all` stands for all of them.",
    NULL,
};

static const char *const paper_figures[] = {
    "`fbf-8` to `fbf-15`: the paper on the forgetful Bloom filter. `fbf-14` simulates its store; "
    "`fbf-14-real` and `fbf-15` start redis-server with Lethe's module, ten and four times, on "
    "this machine, and stop it again. `fbf-salt` shows the effect of a separate salt for each "
    "filter.",
    "`fid-2` to `fid-16`: the paper on the FID-sketch. `fid-memory` compares sketches of equal "
    "memory. `fid-13` to `fid-16` run on an OpenCL device; on a machine without one they say so.",
    "`gbf-1` to `gbf-6`: the paper on the Gaussian Bloom filter. `gbf-spacing` shows the effect of "
    "other deviations, `gbf-speed` what adding and asking cost. `gbf-table-1` is its Table 1: "
    "`lethe-bench` creates a LevelDB database in TMPDIR, which takes a minute. `gbf-offload` has "
    "an OpenCL device keep a filter while the CPU sorts; so do two columns of `gbf-6`.",
    "`cf-3`, `qf-1` and `qf`: the paper on cascade and quotient filters, as published and ours.",
    NULL,
};

static const struct section paper_sections[] = {{"Figures", paper_figures}, {0}};

static const struct option paper_options[] = {
    {.name = "out",
     .value = "DIR",
     .help = "the folder for the files, created if needed; default `paper`",
     .completion = COMPLETE_FILES},
    {.name = "full",
     .help =
         "run cf-3 in the paper's own size, 8.59 G keys: takes an hour, 400 MiB of memory and 75 "
         "GB of disk in TMPDIR; the same as `--scale 1`"},
    {.name = "scale",
     .value = "N",
     .help = "divide cf-3's keys, memory and disk by N, a power of two up to 1024; default 256, "
             "which takes a minute or two"},
    OPTION_QUIET,
    {0},
};

const struct command command_paper = {
    .path = "paper",
    .summary = "reproduce the figures of the papers behind Lethe",
    .synopses = SYNOPSES("[--out DIR] [--full | --scale N] [--quiet] [NAME...]"),
    .description = paper_description,
    .options = paper_options,
    .sections = paper_sections,
    .examples =
        EXAMPLES({"See whether more filters lower the error", "lethe paper fbf-12"},
                 {"Draw the figures of the documentation", "lethe paper --out docs/papers all"}),
    .exit_done = "the figures were made, or listed",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_NAMES,
    .names = "paper",
    .run = run_paper,
};
