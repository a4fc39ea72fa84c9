/* manual.c - the manual of `lethe dedup`. */
#include "frame/commands.h"

static const char *const dedup_description[] = {
    "Prints the lines of the files, or of standard input, in their order, and leaves out "
    "duplicates: lines that came before. It is like `awk '!seen[$0]++'`, but in bounded memory. "
    "Fingerprints of lines are kept on disk, a few bytes each. A new line is taken for a "
    "duplicate, and dropped, with the small probability `--error`; a duplicate is not printed, "
    "except as described below for crashes and with `--window`. The summary reports how many lines "
    "were probably dropped wrongly.",
    "Lines are printed as they were written, with their line ends; a last line without one gets a "
    "newline. Compressed input is decompressed. lethe(1) says what a line is.",
    "Without `--db`, everything is forgotten at the end; until then it is in memory, and what "
    "finds no room there in a folder in `TMPDIR`, or /tmp. Files whose lines do not fit in memory "
    "are read twice, first to find the duplicates, so nothing is printed before all was read. "
    "Meanwhile each line takes nine bytes in the folder, and one bit in memory.",
    "With `--db`, the lines that were seen are remembered in `DIR` for later runs, together with "
    "how far each file was read. It remembers the last 40 files or so, and recognises them by "
    "their content. A second run continues where the first one stopped, and reads what was "
    "appended since. `--from-start` reads from the start; lines that were seen are still dropped. "
    "A last line that has no newline may be incomplete: it is left for the next run, with a "
    "message. At the end of a pipe or of a compressed file, or with `--last-line`, it is complete. "
    "What `DIR` has is also kept in memory, as long as it fits and enough lines come to make up "
    "for reading it.",
    "After a crash or a kill, a line that was delivered before the last checkpoint is not printed "
    "again, and no line is lost. Checkpoints are made about once a second, at the end, and on "
    "Ctrl-C; before each one, standard output is synced if it is a file. Lines printed after the "
    "last checkpoint are printed again by the next run, unless they went to the file of `--out`: "
    "when the same input comes again they are found there, so that each line is in that file "
    "exactly once. Other programs may add lines to the file too.",
    NULL,
};

static const struct option dedup_options[] = {
    OPTION_DB("remember in this folder what was seen; it is created if it does not exist"),
    {.name = "error",
     .value = "E",
     .help =
         "the probability that a new line is taken for a duplicate, up to 0.1; default: as before, "
         "or 1e-6 for a new folder. The smallest is 1e-15, or what `--capacity` allows: about "
         "2.7e-10 at its default, and 3e-8 with `--window`; for fewer lines it is less"},
    {.name = "capacity",
     .value = "N",
     .help = "how many different lines to plan for; with more of them the error rises; default "
             "1.07G"},
    {.name = "memory", .value = "SIZE", .help = "the most memory to use; default 256MiB"},
    {.name = "window",
     .value = "W",
     .help = "forget lines that were first seen longer ago than this"},
    {.name = "forever", .help = "never forget; the default"},
    {.name = "field",
     .value = "N",
     .help = "compare only field N of the lines, from 1; default the whole line"},
    {.name = "delimiter",
     .value = "C",
     .help = "what is between fields, also within quotes, which mean nothing here; default a tab"},
    {.name = "out",
     .value = "FILE",
     .help = "add the lines to this file instead of printing them",
     .completion = COMPLETE_FILES},
    {.name = "from-start", .help = "with `--db`: read files from the start"},
    {.name = "last-line",
     .help = "with `--db`: take the last line of a file even if it has no newline, because nobody "
             "writes to the file any more"},
    OPTION_BINARY,
    OPTION_JSON("print the summary as JSON, on standard error, or with `--out` on standard output"),
    OPTION_QUIET,
    {0},
};

const struct command command_dedup = {
    .path = "dedup",
    .summary = "print each line the first time it is seen",
    .synopses = SYNOPSES("[--db DIR] [--error E] [--capacity N] [--memory SIZE] [--window W | "
                         "--forever] [--field N] [--delimiter C] [--out FILE] [--from-start] "
                         "[--last-line] [--binary] [--json] [-q] [FILE...]"),
    .description = dedup_description,
    .options = dedup_options,
    .examples = EXAMPLES(
        {"Print each line of a large file once", "lethe dedup urls.txt.zst > unique.txt"},
        {"Print what is new in a log since the last run",
         "lethe dedup --db seen --field 2 access.log >> new.log"},
        {"Drop what was seen within a day", "lethe dedup --db seen --window 24h < events"}),
    .exit_done = "all lines were read and the new ones printed",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_dedup,
};
