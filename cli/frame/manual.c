/* manual.c - the manual of lethe itself and of `lethe help`. */
#include "frame/commands.h"

static const char *const lethe_description[] = {
    "Lethe counts events that may arrive more than once. Every event has an id. `lethe count` "
    "recognises a duplicate by its id for as long as you choose, so senders can retry, logs can be "
    "replayed, and the totals stay right.",
    "`lethe dedup` prints each line once. Two families of commands work on the data structures "
    "themselves: a filter (`lethe filter`) says whether a line is certainly absent from a set or "
    "may be present, and a sketch (`lethe freq`) estimates how often each line occurred.",
    "Results go to standard output, and everything else to standard error. Progress is shown only "
    "when standard error is a terminal. Help that does not fit on the terminal is shown by a "
    "pager.",
    "Options may come before or after operands, as `--name value` or `--name=value`; those with a "
    "letter also as `-n 2` or `-n2`. Names cannot be abbreviated. If an option is given twice, the "
    "last value counts. `--` ends the options: a "
    "word after it is an operand even if it begins with a dash.",
    "A command that a signal ends early exits with 128 and the signal's number: 130 after SIGINT, "
    "143 after SIGTERM.",
    NULL,
};

static const struct option lethe_options[] = {
    {.name = "version", .help = "print the version, and the instruction set used on this CPU"},
    {0},
};

static const char *const lethe_input[] = {
    "Input comes from the named files in order, or from standard input if no file is named; `-` "
    "names standard input. Input compressed by gzip, zstd, bzip2 or xz is recognised by its first "
    "bytes and decompressed, from a pipe too, and even if several compressed files were joined. "
    "Compressed input that is cut short or damaged is an error; zeros after the end of a gzip file "
    "are ignored. All compressed files are read to "
    "their ends first, for their checksums: if one is damaged, nothing of any input is used, and "
    "the command can be repeated with a sound file. That takes one more decompression. A file "
    "without a checksum (`zstd --no-check`, `xz --check=none`) is used, with a warning. A pipe "
    "cannot be read twice: if it is damaged, lines before the damage are used already and may be "
    "wrong, and the message says so. Input that ends within these first "
    "bytes is cut short if they are no text in UTF-8, or if it is a file whose name ends in `.gz`, "
    "`.zst`, `.bz2` or `.xz` as its format's do; a file with such a name that is empty is cut "
    "short too.",
    "A line ends with a newline, or with a carriage return and a newline as in files from Windows. "
    "Neither is part of the line. All other bytes are, including NUL. An empty line is a line like "
    "any other, except that `lethe count` passes over one at the end of its input. The last line "
    "needs no newline. A line may be up to 1 GiB long, an event up to 1 "
    "MiB. Two files never share a line.",
    "Text is UTF-8, or any encoding in which a newline is one byte. A UTF-8 byte order mark at the "
    "start of a line is not part of it: files that begin with one can be joined. UTF-16 is "
    "refused, and so are lines that end with carriage returns alone, and input that is not "
    "text: it has NUL bytes among its first 4096, or begins like an archive or a document. "
    "`--binary` insists.",
    NULL,
};

static const char *const lethe_numbers[] = {
    "Counts: `500`, `1e6`, `10M`. The letters `k`, `M`, `G` and `T` are powers of 1000.",
    "Probabilities: `0.01`, `1e-6`, `1%`.",
    "Sizes: bytes, or a number with a unit: `512KiB` and `4GiB` (powers of 1024), `64MB` (1000).",
    "Durations always have a unit: `250ms`, `90s`, `10m`, `24h`, `7d`.",
    NULL,
};

static const char *const lethe_environment[] = {
    "`LETHE_CPU`: if set to `scalar`, `avx2` or `avx512`, Lethe uses no instruction set beyond "
    "that one. The results are the same.",
    "`LETHE_PAGER`, or else `PAGER`: the command that shows long help on a terminal; `cat` for "
    "none. "
    "Default: `less -FRX`.",
    "`LETHE_REDIS_PASSWORD`, or else `REDISCLI_AUTH`: the password for `--redis`, unless "
    "`--password-file` is given.",
    "`SSL_CERT_FILE`, `SSL_CERT_DIR`: the certificates that are trusted for `rediss://` instead of "
    "the system's, unless `--tls-ca` is given.",
    NULL,
};

static const struct section lethe_sections[] = {
    {"Input", lethe_input},
    {"Numbers", lethe_numbers},
    {"Environment", lethe_environment},
    {0},
};

const struct command command_lethe = {
    .path = "",
    .summary = "counts every event exactly once, and then forgets that it did",
    .synopses = SYNOPSES("COMMAND [ARGUMENT...]", "--help", "--version"),
    .description = lethe_description,
    .options = lethe_options,
    .sections = lethe_sections,
    .examples = EXAMPLES(
        {"Count the clicks in a log, each exactly once", "lethe count --db clicks clicks.tsv"},
        {"Print the ten largest counters", "lethe top --db clicks -n 10"},
        {"Print each line of a file once", "lethe dedup names.txt"}),
    .exit_done = "success",
    .exit_negative = "the answer is no, for example no line was found",
    .exit_skipped = "events were skipped: they are neither counted nor duplicates",
    .run = run_lethe,
};

static const char *const help_description[] = {
    "Prints the usage of a command, what it does, its options, examples and exit statuses, like "
    "`lethe COMMAND --help`. Without a command, it describes lethe and lists all commands.",
    NULL,
};

static const struct option help_options[] = {
    {.name = "format",
     .value = "FORMAT",
     .choices = "text|man|bash|zsh|fish|list|markdown",
     .help = "how to write it",
     .hidden = true},
    {0},
};

const struct command command_help = {
    .path = "help",
    .summary = "explain a command",
    .synopses = SYNOPSES("[COMMAND...]"),
    .description = help_description,
    .options = help_options,
    .examples = EXAMPLES({"Read about counting", "lethe help count"},
                         {"Read about building filters", "lethe help filter build"}),
    .exit_done = "success",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_COMMANDS,
    .run = run_help,
};
