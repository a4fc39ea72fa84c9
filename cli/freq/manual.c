/* manual.c - the manual of the `lethe freq` commands. */
#include "frame/commands.h"
#include "freq/file.h"

/* clang-format off: one field per line */
/* Which fields of a line hold the key and its weight. */
#define FREQ_FIELD_OPTIONS                                                                 \
    {.name = "field",                                                                      \
     .value = "N",                                                                         \
     .help = "the key is field N of a line, from 1; default: the whole line"},             \
        {.name = "weight-field",                                                           \
         .value = "M",                                                                     \
         .help = "field M says how often the key counts, a whole number from 1; default: " \
                 "once"},                                                                  \
    {                                                                                      \
        .name = "delimiter", .value = "C",                                                 \
        .help = "what separates fields, also within quotes, which mean nothing here; "     \
                "default: a tab"                                                           \
    }

#define FREQ_BOUNDS_OPTION \
    { .name = "bounds", .help = "also print a lower and an upper bound of the true count" }
/* clang-format on */

static const char *const freq_description[] = {
    "A sketch counts how often each key was added. Its memory is fixed when it is made, however "
    "many different keys there are. It answers with an estimate. Keys are lines, or a field of "
    "each line. A sketch does not store its keys, but it can keep a list of the most frequent ones "
    "(`--top`).",
    "Sketches of the same kind, size and seed can be merged. Build the parts with the same "
    "options, on different machines if you like, and merge them.",
    NULL,
};

static const char *const freq_kinds_text[] = {
    "`cm`, the Count-Min sketch, is the plain choice. It is never below the truth, and merges and "
    "removes without loss.",
    "`cu`, with conservative update, errs less in the same memory. It can remove if it was made "
    "with `--removal`, which doubles the memory.",
    "`count`, the Count-sketch, errs in both directions, and least if a few keys are very "
    "frequent.",
    "`cml`, Count-Min-Log, has counters of 8 or 16 bits that hold logarithms. It errs in both "
    "directions. It can remove if it was made with `--removal subtraction`.",
    "`fid`, the FID-sketch, has a small part that answers queries and two larger parts that keep "
    "it accurate. It is for readers with little memory: `lethe freq export` gives them the small "
    "part alone. In equal total memory, `cu` errs less.",
    NULL,
};

static const struct section freq_sections[] = {{"Kinds", freq_kinds_text}, {0}};

const struct command command_freq = {
    .path = "freq",
    .summary = "estimate how often lines occur, in little memory",
    .synopses = SYNOPSES("COMMAND [ARGUMENT...]"),
    .description = freq_description,
    .sections = freq_sections,
    .exit_done = "success",
};

static const char *const freq_build_description[] = {
    "Adds every line of the files, or of standard input, to a new sketch and writes the sketch to "
    "`S`. An existing `S` is replaced only when the new sketch is complete and on disk. If "
    "anything fails, or the command is interrupted, `S` stays as it was.",
    "The size of a sketch is fixed when it is made. Give it in one of three ways: `--depth` rows "
    "of `--width` counters; as many counters as fit into `--memory`; or as many as an error needs "
    "(`--epsilon` and `--delta`). An estimate exceeds the truth by at most epsilon times the total "
    "of all weights, except with probability delta. (A sketch of kind `count` is off in either "
    "direction by at most epsilon times the square root of the sum of the squared frequencies.) By "
    "default there are 4 rows of 65,536 counters: 1 MiB, or 12 MiB for kind `fid`.",
    "A full counter stays full and never wraps around. A warning reports how many there are.",
    NULL,
};

static const struct option freq_build_options[] = {
    {.name = "kind",
     .value = "KIND",
     .choices = FREQ_KINDS,
     .help = "`cm` Count-Min, `cu` conservative update, `count` Count-sketch, `cml` Count-Min-Log, "
             "`fid` FID-sketch; default `cm`"},
    {.name = "width", .value = "W", .help = "counters in a row; default 65536"},
    {.name = "depth", .value = "D", .help = "rows, 1 to 32; default 4, or 5 for kind `count`"},
    {.name = "is-width",
     .value = "W2",
     .help = "fid: counters in a row of its IS part; default 10 times W"},
    {.name = "is-depth", .value = "D2", .help = "fid: rows of its IS part, 1 to 32; default D"},
    {.name = "memory", .value = "SIZE", .help = "the size of all counters together, such as 4MiB"},
    {.name = "epsilon",
     .value = "E",
     .help = "the error to allow, as a share of the total, such as 0.001"},
    {.name = "delta", .value = "D", .help = "the probability of a larger error; default 0.02"},
    {.name = "bits",
     .value = "B",
     .help = "the bits of a counter: 8, 16, 32 or 64; default 32, or 16 for kind `cml`"},
    {.name = "removal",
     .value = "HOW",
     .choices = FREQ_REMOVALS,
     .help = "how kinds `cu`, `cml` and `fid` can remove: `subtraction`, the default of `fid`; "
             "`count-min`, with the same answers, not for `cml`; or `none`, the default of the "
             "others"},
    FREQ_FIELD_OPTIONS,
    {.name = "top",
     .value = "N",
     .help = "also keep the N most frequent keys, for `lethe freq top`"},
    {.name = "threads",
     .value = "N",
     .help = "how many threads count lines, 1 to 256, beside the one that reads; the sketch is the "
             "same for any number; default: as many as there are cores; at most four are used, "
             "two with kinds `cml` and `fid`"},
    OPTION_SEED("sketches"),
    OPTION_OUT("S", "the file to write"),
    OPTION_BINARY,
    OPTION_JSON_SUMMARY,
    OPTION_QUIET,
    {0},
};

const struct command command_freq_build = {
    .path = "freq build",
    .summary = "count lines into a sketch",
    .synopses = SYNOPSES(
        "[--kind KIND] [--width W [--is-width W2]] [--depth D [--is-depth D2]] [--top N] --out S "
        "[FILE...]",
        "[--kind KIND] --memory SIZE [--depth D] [--top N] --out S [FILE...]",
        "[--kind KIND] --epsilon E [--delta D] [--top N] --out S [FILE...]"),
    .description = freq_build_description,
    .options = freq_build_options,
    .examples = EXAMPLES(
        {"Find the most frequent words of a text",
         "tr -cs '[:alpha:]' '\\n' < text | lethe freq build --top 100 --out words.lethe"},
        {"Count bytes by address, from a log with tabs between its fields",
         "lethe freq build --field 1 --weight-field 5 --memory 4MiB --out bytes.lethe log"},
        {"Make a sketch as in the FID paper",
         "lethe freq build --kind fid --width 30k --is-width 300k --out f.lethe items"}),
    .exit_done = "the sketch was written",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_freq_build,
};

static const char *const freq_query_description[] = {
    "Prints each key, a tab, and the estimate of the sketch or export `S`: first for the keys on "
    "the command line, then for the lines of `FILE`, in their order.",
    "With `--bounds`, each line has two more fields: a lower and an upper bound of the true count, "
    "which hold except with the probability that `lethe freq info` reports as delta. The upper "
    "bound is `-` if a full counter leaves it open.",
    "With `--json`, there is one object per line, with key, estimate, least and most (with "
    "`--bounds`), and saturated, which is 1 if the estimate rests on a full counter. For a key "
    "that is not UTF-8, key_hex holds its bytes.",
    NULL,
};

static const struct option freq_query_options[] = {
    {.name = "keys",
     .value = "FILE",
     .help = "read keys from a file too, one per line; `-` is standard input",
     .completion = COMPLETE_FILES},
    OPTION_BINARY,
    FREQ_BOUNDS_OPTION,
    OPTION_JSON("print one JSON object per key instead"),
    {0},
};

const struct command command_freq_query = {
    .path = "freq query",
    .summary = "estimate how often keys were added",
    .synopses = SYNOPSES("[--keys FILE] [--binary] [--bounds] [--json] S [KEY...]"),
    .description = freq_query_description,
    .options = freq_query_options,
    .examples = EXAMPLES(
        {"How often do some words occur?", "lethe freq query words.lethe the of and"},
        {"Print every key of a list, the most frequent first",
         "lethe freq query --keys list words.lethe | sort -t \"$(printf '\\t')\" -k 2 -rn"}),
    .exit_done = "at least one estimate is not 0",
    .exit_negative = "all estimates are 0",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_freq_query,
};

static const char *const freq_top_description[] = {
    "Prints the most frequent keys of the sketch `S`, each with a tab and its estimate, the "
    "largest first. The sketch must have been built with `--top`, which sets how many keys it "
    "keeps.",
    "A key that is more frequent than the others by more than the error is always listed. If keys "
    "were removed, it may be missing until it is added again. In sketches of kind `count` and "
    "`cml`, it is very probably listed.",
    "With `--bounds`, each line has two more fields: a lower and an upper bound of the true count. "
    "With `--json`, there is one object per line, as for `lethe freq query`.",
    NULL,
};

static const struct option freq_top_options[] = {
    {.name = "number", .letter = 'n', .value = "N", .help = "list N keys; default 20"},
    FREQ_BOUNDS_OPTION,
    OPTION_JSON("print one JSON object per key instead"),
    {0},
};

const struct command command_freq_top = {
    .path = "freq top",
    .summary = "list the most frequent keys of a sketch",
    .synopses = SYNOPSES("[-n N] [--bounds] [--json] S"),
    .description = freq_top_description,
    .options = freq_top_options,
    .examples = EXAMPLES({"Print the ten most frequent words", "lethe freq top -n 10 words.lethe"}),
    .exit_done = "at least one key is listed",
    .exit_negative = "the sketch is empty",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run_freq_top,
};

static const char *const freq_info_description[] = {
    "Reads the sketch or export `S`, verifies it, and prints its kind, size and seed, the total of "
    "all weights (added minus removed), how many counters are used and full, and by how much an "
    "estimate may be off.",
    "The JSON object has the members file, type (sketch or export), kind, width, depth, is_width, "
    "is_depth, counter_bits, removal, seed (a string), epsilon, delta, total, counters_used, "
    "counters_full, "
    "error_above, error_below, relative_error, top, top_listed, memory_bytes, query_memory_bytes "
    "and file_bytes.",
    "With probability 1 - delta, the true count is between the estimate less error_above and the "
    "estimate plus error_below. For kind `cml`, add about relative_error of the estimate in both "
    "directions.",
    NULL,
};

static const struct option freq_info_options[] = {
    OPTION_JSON_OBJECT,
    {0},
};

const struct command command_freq_info = {
    .path = "freq info",
    .summary = "describe a sketch and report its error",
    .synopses = SYNOPSES("[--json] S"),
    .description = freq_info_description,
    .options = freq_info_options,
    .examples = EXAMPLES({"Print the current error, for a script",
                          "lethe freq info --json words.lethe | jq .error_above"}),
    .exit_done = "the sketch is sound",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run_freq_info,
};

static const char *const freq_remove_description[] = {
    "Removes every line of the files, or of standard input, from the sketch `S` and replaces it: "
    "all lines are removed, or none.",
    "Remove only lines that were added. If the sketch can tell that a line was not added that "
    "often, the command ends and `S` stays as it was. But a sketch does not notice every such "
    "line, and the estimates of other lines may then become too low.",
    "The kinds `cm` and `count` can always remove. `fid` can unless it was made with `--removal "
    "none`, and `cu` and `cml` can if they were made with `--removal`.",
    NULL,
};

static const struct option freq_remove_options[] = {
    FREQ_FIELD_OPTIONS, OPTION_OUT("S2", "write the result here and leave `S` as it is"),
    OPTION_BINARY,      OPTION_JSON_SUMMARY,
    OPTION_QUIET,       {0},
};

const struct command command_freq_remove = {
    .path = "freq remove",
    .summary = "remove lines from a sketch",
    .synopses = SYNOPSES("[--field N] [--weight-field M] [--out S2] [--binary] S [FILE...]"),
    .description = freq_remove_description,
    .options = freq_remove_options,
    .examples = EXAMPLES({"Remove the oldest day from a sketch of several days",
                          "lethe freq remove days.lethe oldest.txt"}),
    .exit_done = "the sketch was written",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_freq_remove,
};

static const char *const freq_merge_description[] = {
    "Writes to `S` one sketch of everything that was added to the sketches `A`, `B` and so on. "
    "They must have the same kind, width, depth, bits, removal, top and seed. They do if they were "
    "built with the same options. `S` may be one of the merged sketches. It is replaced as a whole "
    "or not at all.",
    "For the kinds `cm` and `count`, the result is bit for bit the same as building it from all "
    "lines. `cu` and `fid` are still never below the truth, but further above it than one sketch "
    "would be. `cml` rounds at random. A key that no sketch kept among its most frequent ones is "
    "not listed in `S`.",
    NULL,
};

static const struct option freq_merge_options[] = {
    OPTION_OUT("S", "the file to write"),
    OPTION_JSON_SUMMARY,
    OPTION_QUIET,
    {0},
};

const struct command command_freq_merge = {
    .path = "freq merge",
    .summary = "merge sketches into one",
    .synopses = SYNOPSES("--out S A [B...]"),
    .description = freq_merge_description,
    .options = freq_merge_options,
    .examples = EXAMPLES({"Add the lines of today to those of all days",
                          "lethe freq merge --out all.lethe all.lethe today.lethe"}),
    .exit_done = "the sketch was written",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_freq_merge,
};

static const char *const freq_export_description[] = {
    "Writes to `Q` the part of the sketch `S` that answers queries: a twelfth of a `fid` sketch of "
    "default size, or half of a `cu` sketch with `--removal`. `lethe freq query` and `lethe freq "
    "info` read it like a sketch, with the same answers. It cannot be added to, merged or removed "
    "from. After adding to `S`, export it again.",
    NULL,
};

static const struct option freq_export_options[] = {
    OPTION_OUT("Q", "the file to write"),
    OPTION_JSON("print a description as JSON on standard output"),
    OPTION_QUIET,
    {0},
};

const struct command command_freq_export = {
    .path = "freq export",
    .summary = "write only the part of a sketch that answers queries",
    .synopses = SYNOPSES("--out Q S"),
    .description = freq_export_description,
    .options = freq_export_options,
    .examples = EXAMPLES({"Give readers the small part of a large sketch",
                          "lethe freq export --out answers.lethe sketch.lethe"}),
    .exit_done = "the export was written",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run_freq_export,
};
