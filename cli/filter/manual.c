/* manual.c - the manual of the `lethe filter` commands. */
#include "filter/kind.h"
#include "frame/commands.h"

static const char *const filter_description[] = {
    "A filter is a set of lines that needs about ten bits per line, however long the lines are. It "
    "answers \"certainly absent\" or \"may be present\". The first answer is always right. The "
    "second is wrong with a probability that you choose when you make the filter (its error), as "
    "long as the filter holds no more different lines than planned (its capacity).",
    "Filters of the same kind, size and seed can be merged. Build the parts with the same options, "
    "on different machines if you like, and merge them.",
    NULL,
};

static const char *const filter_kinds_text[] = {
    "`bloom`: the classical Bloom filter. Lines can only be added.",
    "`blocked`: a Bloom filter that keeps all bits of a line in one cache line. Several times as "
    "fast when the filter is large, for 5% more bits at an error of 1%, and 36% more at 1e-6.",
    "`quotient`: keeps a fingerprint of each line, and how often it was added. Lines can be "
    "removed. The smallest kind for errors below 0.1%.",
    "`gaussian`: a Bloom filter of small numbers instead of bits. It errs less often than a Bloom "
    "filter with as many bits, but takes several times the memory. That Bloom filter can be "
    "extracted. Use it if the number of bits is fixed by someone else.",
    "`cascade`: a folder on disk, for more lines than memory holds.",
    NULL,
};

static const struct section filter_sections[] = {{"Kinds", filter_kinds_text}, {0}};

const struct command command_filter = {
    .path = "filter",
    .summary = "make, query and combine filters",
    .synopses = SYNOPSES("COMMAND [ARGUMENT...]"),
    .description = filter_description,
    .sections = filter_sections,
    .exit_done = "success",
};

static const char *const filter_build_description[] = {
    "Adds every line of the files, or of standard input, to a new filter and writes the filter to "
    "`F`. An existing `F` is replaced only when the new filter is complete and on disk. If "
    "anything fails, or the command is interrupted, `F` stays as it was.",
    "The size of a filter is fixed when it is made. It follows from the number of different lines "
    "to expect (`--capacity`) and the error to allow (`--error`). Without `--capacity`, the lines "
    "of the files are counted first. A pipe cannot be read twice, so a pipe needs `--capacity`. "
    "You can add more lines than planned, but the error rises; a warning then reports it. Or give "
    "the size itself with `--bits`, and the number of bits that each line sets with `--hashes`.",
    "At the end, a line on standard error says how many lines were added, about how many of them "
    "were different, and the current error.",
    NULL,
};

static const struct option filter_build_options[] = {
    {.name = "kind",
     .value = "KIND",
     .choices = FILTER_KINDS,
     .help = "`bloom`: the classical filter, and the default. `blocked`: the fastest. `quotient`: "
             "the smallest for errors below 0.1%; lines can be removed. `gaussian`: errs less in "
             "the same number of slots, but takes more memory. `cascade`: a folder on disk, for "
             "more lines than memory holds; an existing F is not replaced"},
    {.name = "capacity",
     .value = "N",
     .help = "how many different lines to plan for; default: the number of lines in the files"},
    {.name = "error",
     .value = "E",
     .help = "the share of absent lines that may be reported as present, at capacity, from 1e-15 "
             "to 0.5; default 0.01"},
    {.name = "bits", .value = "M", .help = "the size in bits, instead of `--capacity`"},
    {.name = "slots", .value = "M", .help = "gaussian: the size in slots, instead of `--capacity`"},
    {.name = "hashes",
     .value = "K",
     .help = "with `--bits` or `--slots`: how many bits or slots each line sets, 1 to 64; default "
             "7. For blocked: 8, 16, 24 or 32; default 8"},
    {.name = "slot-bits",
     .value = "T",
     .help = "gaussian: the bits of a slot, 1 to 8, 32 or 64; default 4"},
    {.name = "spacing",
     .value = "HOW",
     .choices = "even|published",
     .help = "gaussian: how wide the marks of the hashes are: `even`, which errs least, or "
             "`published`, as in the paper; default `even`"},
    OPTION_SEED("filters"),
    OPTION_OUT("F", "the file to write"),
    OPTION_BINARY,
    OPTION_JSON_SUMMARY,
    OPTION_QUIET,
    {0},
};

const struct command command_filter_build = {
    .path = "filter build",
    .summary = "make a filter from lines",
    .synopses = SYNOPSES(
        "[--kind bloom|blocked|quotient|gaussian|cascade] [--capacity N] [--error E] [--seed S] "
        "--out F [FILE...]",
        "[--kind bloom|blocked] --bits M [--hashes K] [--seed S] --out F [FILE...]",
        "--kind gaussian [--slots M --hashes K] [--slot-bits T] [--seed S] --out F [FILE...]"),
    .description = filter_build_description,
    .options = filter_build_options,
    .examples = EXAMPLES({"Plan for the lines of a file, with the default error of 1%",
                          "lethe filter build --out known.lethe known.txt"},
                         {"Read a pipe, with one false positive in a million",
                          "curl -s https://example.com/ids.gz | lethe filter build --kind blocked "
                          "--capacity 50M --error 1e-6 --out ids.lethe"},
                         {"Choose the shape yourself",
                          "lethe filter build --bits 6250 --hashes 5 --out small.lethe ids.txt"}),
    .exit_done = "the filter was written",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_filter_build,
};

static const char *const filter_test_description[] = {
    "Prints those lines of the files, or of standard input, that may be in the filter `F`, in "
    "their order. Every line that was added is printed. Of the other lines, a small share is "
    "printed too: the current error, which `lethe filter info` reports. With `--invert`, prints "
    "the lines that were certainly never added.",
    "A last line without a newline is printed with one.",
    NULL,
};

static const struct option filter_test_options[] = {
    {.name = "invert", .help = "print the lines that are certainly absent"},
    {.name = "count", .help = "print only how many lines would be printed"},
    OPTION_BINARY,
    OPTION_QUIET,
    {0},
};

const struct command command_filter_test = {
    .path = "filter test",
    .summary = "print the lines that may be in a filter",
    .synopses = SYNOPSES("[--invert] [--count] [--binary] F [FILE...]"),
    .description = filter_test_description,
    .options = filter_test_options,
    .examples = EXAMPLES({"Print the lines of today that were never seen before",
                          "lethe filter test --invert seen.lethe today.txt"},
                         {"Is this line known? (See the exit status.)",
                          "echo user-42 | lethe filter test --count known.lethe"}),
    .exit_done = "at least one line was printed or counted",
    .exit_negative = "no line was printed or counted",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_filter_test,
};

static const char *const filter_info_description[] = {
    "Reads the filter `F`, verifies it, and prints its kind, size and seed, what it was planned "
    "for, and its state: how many lines were added and not removed again, about how many different "
    "ones it holds, the share of bits that are set, and the probability that an absent line is "
    "reported as present (the current error).",
    "The JSON object has the members file, kind, seed (a string), capacity, planned_error, "
    "additions, distinct_estimate, fill, error_estimate, memory_bytes and file_bytes, and the "
    "shape: bits and hashes (bloom, blocked), slots and remainder_bits (quotient), slots, hashes, "
    "slot_bits and spacing (gaussian), or fingerprint_bits (cascade). capacity and planned_error "
    "are null for a filter made with `--bits`. additions is null for a cascade filter, which "
    "does not keep that number. distinct_estimate is null if all bits are set. In a "
    "file name, bytes that are not UTF-8 are replaced by U+FFFD.",
    NULL,
};

static const struct option filter_info_options[] = {
    OPTION_JSON_OBJECT,
    {0},
};

const struct command command_filter_info = {
    .path = "filter info",
    .summary = "describe a filter and report how full it is",
    .synopses = SYNOPSES("[--json] F"),
    .description = filter_info_description,
    .options = filter_info_options,
    .examples = EXAMPLES({"Print the current error, for a script",
                          "lethe filter info --json known.lethe | jq .error_estimate"}),
    .exit_done = "the filter is sound",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run_filter_info,
};

static const char *const filter_remove_description[] = {
    "Removes every line of the files, or of standard input, from the filter `F`, once for each "
    "time it occurs, and replaces `F` as a whole. Filters of the kinds `quotient` and `cascade` "
    "can do this.",
    "Remove only lines that were added. A line that the filter does not know is ignored, and a "
    "warning reports how many there were. But a line that was never added may be taken for "
    "present, with the error that `lethe filter info` reports. Removing it then removes another "
    "line, which may be reported as absent although it was added.",
    "At the end, a line on standard error says how many lines were removed, and about how many "
    "different ones are left.",
    NULL,
};

static const struct option filter_remove_options[] = {
    OPTION_OUT("F2", "the file to write, instead of `F`"),
    OPTION_BINARY,
    OPTION_JSON_SUMMARY,
    OPTION_QUIET,
    {0},
};

const struct command command_filter_remove = {
    .path = "filter remove",
    .summary = "remove lines from a filter",
    .synopses = SYNOPSES("[--out F2] [--binary] F [FILE...]"),
    .description = filter_remove_description,
    .options = filter_remove_options,
    .examples = EXAMPLES({"Remove the users who left", "lethe filter remove users.lethe left.txt"}),
    .exit_done = "all lines were removed",
    .exit_negative = "some lines were not there; the others were removed",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_filter_remove,
};

static const char *const filter_merge_description[] = {
    "Writes to `F` a filter with the lines of all the filters `A`, `B` and so on: the same filter "
    "as building it from all their lines. They must have the same kind, size and seed. They do if "
    "they were built with the same `--capacity` and `--error`.",
    "The capacity is that of the first filter, so plan each part for the whole. A filter of kind "
    "`quotient` doubles its slots if needed. `F` may be one of the merged filters. It is replaced "
    "as a whole or not at all.",
    NULL,
};

static const struct option filter_merge_options[] = {
    OPTION_OUT("F", "the file to write"),
    OPTION_JSON_SUMMARY,
    OPTION_QUIET,
    {0},
};

const struct command command_filter_merge = {
    .path = "filter merge",
    .summary = "write the union of filters",
    .synopses = SYNOPSES("--out F A [B...]"),
    .description = filter_merge_description,
    .options = filter_merge_options,
    .examples = EXAMPLES({"Add the lines of today to those of all days",
                          "lethe filter merge --out all.lethe all.lethe today.lethe"}),
    .exit_done = "the filter was written",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_FILES,
    .run = run_filter_merge,
};

static const char *const filter_extract_description[] = {
    "Writes to `B` the classical Bloom filter that is inside the Gaussian filter `G`. It is bit "
    "for bit what `lethe filter build --kind bloom` makes of the same lines, with as many bits as "
    "`G` has slots, and with the same hashes and seed. It is smaller, and errs more often. `B` is "
    "replaced as a whole or not at all.",
    NULL,
};

static const struct option filter_extract_options[] = {
    OPTION_OUT("B", "the file to write"),
    OPTION_JSON_SUMMARY,
    OPTION_QUIET,
    {0},
};

const struct command command_filter_extract = {
    .path = "filter extract",
    .summary = "write the Bloom filter inside a Gaussian filter",
    .synopses = SYNOPSES("--out B G"),
    .description = filter_extract_description,
    .options = filter_extract_options,
    .examples = EXAMPLES({"Make a filter for a program that knows only Bloom filters",
                          "lethe filter extract --out plain.lethe gaussian.lethe"}),
    .exit_done = "the filter was written",
    .operands_least = 1,
    .operands_most = 1,
    .operands = COMPLETE_FILES,
    .run = run_filter_extract,
};
