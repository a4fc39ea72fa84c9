/* help_command.c - `lethe help`, and lethe itself without a command. */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "help.h"
#include "lethe/version.h"
#include "message.h"

static int run_lethe(const struct arguments *arguments) {
    if (arguments_has(arguments, "version")) {
        printf("lethe %s (%s)\n", lethe_version(), lethe_cpu_path());
        return EXIT_DONE;
    }
    help_print_short(&command_lethe, stderr);
    return EXIT_USAGE;
}

const struct command command_lethe = {
    .path = "",
    .summary = "counts every event exactly once, and then forgets that it did",
    .synopses = (const char *const[]){"COMMAND [ARGUMENT...]", "--help", "--version", NULL},
    .description =
        (const char *const[]){
            "Lethe counts events that may come more than once: `lethe count` recognises a copy "
            "by its id for as long as you choose, and the totals are right. A filter "
            "(`lethe filter`) made from the lines of a file answers for any other line whether it "
            "is surely absent or may be present, wrongly present with a probability that you "
            "choose, never wrongly absent. A sketch (`lethe freq`) tells how often each line "
            "occurred, never too low by its default kind, in memory fixed beforehand.",
            "Results go to standard output, and everything else to standard error. Progress is "
            "shown only when standard error is a terminal.",
            "Options may stand before or after operands, as `--name value` or `--name=value`. "
            "They cannot be abbreviated. The last one counts when one is given twice, and `--` "
            "ends them: what follows is a file name even if it begins with a dash.",
            NULL},
    .options =
        (const struct option[]){
            {.name = "version",
             .help = "print the version, and the instruction set that is used on this CPU"},
            {0}},
    .sections =
        (const struct section[]){
            {"Lines",
             (const char *const[]){
                 "An item is a line: the bytes up to a newline, which is not part of it. Any "
                 "other byte is, also NUL and the carriage return of a file from Windows (`tr -d "
                 "'\\r'` removes it). A last line needs no newline. An empty line is an item like "
                 "any other. A line may be up to 1 GiB long. Input comes from the named files in "
                 "order, or from standard input if none is named; `-` names standard input. A "
                 "file of gzip or zstd is refused, except by `lethe count`: give its lines through "
                 "a pipe.",
                 NULL}},
            {"Numbers",
             (const char *const[]){
                 "A count is written in digits, with a power of ten (`1e6`) or with one of `k`, "
                 "`M`, `G` and `T` for powers of 1000: `10M`.",
                 "A probability is written `0.01`, `1e-6` or `1%`.",
                 "A size is in bytes or has a unit: `512KiB`, `64MiB`, `4GiB` are powers of 1024, "
                 "`64MB` of 1000. A duration always has a unit: `250ms`, `90s`, `10m`, `24h`, "
                 "`7d`.",
                 NULL}},
            {"Environment",
             (const char *const[]){
                 "`LETHE_CPU` set to `scalar`, `avx2` or `avx512` makes Lethe use no more than "
                 "that instruction set. The results are the same.",
                 NULL}},
            {0}},
    .examples =
        (const struct example[]){
            {"Put the lines of a file into a filter, with one false positive in 1000",
             "lethe filter build --error 0.001 --out known.lethe known.txt"},
            {"Print the lines of a stream that are surely not in it",
             "cat stream.txt | lethe filter test --invert known.lethe"},
            {0}},
    .exit_done = "done",
    .exit_negative = "the answer is negative, such as no line found",
    .exit_passed_over = "events were passed over that are neither counted nor duplicates",
    .run = run_lethe,
};

/* One row a format; the names are the choices of --format. */
enum format { FORMAT_TEXT, FORMAT_MAN, FORMAT_BASH, FORMAT_ZSH, FORMAT_LIST };

/* The name of each command's page, for the build: it writes one file for each. */
static void print_list(void) {
    for (const struct command *const *row = commands; *row != NULL; row++) {
        printf("%s\n", (*row)->path);
    }
}

static int run_help(const struct arguments *arguments) {
    size_t used;
    const struct command *command =
        command_find(arguments->operands, arguments->operand_count, &used);
    if (used < arguments->operand_count) {
        if (command_child(command, NULL) != NULL) {
            return command_fail_unknown(command, arguments->operands[used]);
        }
        return message_fail(EXIT_USAGE,
                            "'%s' has no parts, and no help about '%s'; try 'lethe help %s'",
                            command->path, arguments->operands[used], command->path);
    }
    size_t format = FORMAT_TEXT;
    int code = arguments_choice(arguments, "format", &format);
    if (code != EXIT_DONE) return code;
    switch ((enum format)format) {
    case FORMAT_TEXT:
        help_print(command, stdout);
        break;
    case FORMAT_MAN:
        manual_print(command, stdout);
        break;
    case FORMAT_BASH:
        completion_print_bash(stdout);
        break;
    case FORMAT_ZSH:
        completion_print_zsh(stdout);
        break;
    case FORMAT_LIST:
        print_list();
        break;
    }
    return EXIT_DONE;
}

const struct command command_help = {
    .path = "help",
    .summary = "tell how a command is used",
    .synopses = (const char *const[]){"[COMMAND...]", NULL},
    .description =
        (const char *const[]){
            "Prints what `lethe COMMAND --help` prints: the usage of a command, what it does, its "
            "options, examples and exit statuses. Without a command, lists all commands.",
            NULL},
    .options = (const struct option[]){{.name = "format",
                                        .value = "FORMAT",
                                        .choices = "text|man|bash|zsh|list",
                                        .help = "how to write it",
                                        .hidden = true},
                                       {0}},
    .examples =
        (const struct example[]){{"Read about building filters", "lethe help filter build"}, {0}},
    .exit_done = "done",
    .operands_most = OPERANDS_UNLIMITED,
    .operands = COMPLETE_COMMANDS,
    .run = run_help,
};
