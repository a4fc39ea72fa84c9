/* help_command.c - `lethe help`, and lethe itself without a command. */
#include <stdio.h>
#include <string.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/help.h"
#include "lethe/version.h"
#include "say/message.h"

int run_lethe(const struct arguments *arguments) {
    if (arguments_has(arguments, "version")) {
        printf("lethe %s (%s)\n", lethe_version(), lethe_cpu_path());
        return EXIT_DONE;
    }
    help_print_short(&command_lethe, stderr);
    return EXIT_USAGE;
}

/* One row a format; the names are the choices of --format. */
enum format {
    FORMAT_TEXT,
    FORMAT_MAN,
    FORMAT_BASH,
    FORMAT_ZSH,
    FORMAT_FISH,
    FORMAT_LIST,
    FORMAT_MARKDOWN
};

/* The name of each command's page, for the build: it writes one file for each. */
static void print_list(void) {
    for (const struct command *const *row = commands; *row != NULL; row++) {
        printf("%s\n", (*row)->path);
    }
}

int run_help(const struct arguments *arguments) {
    size_t used;
    const struct command *command =
        command_find(arguments->operands, arguments->operand_count, &used);
    if (used < arguments->operand_count) {
        if (command_child(command, NULL) != NULL) {
            return command_fail_unknown(command, arguments->operands[used]);
        }
        return message_fail(EXIT_USAGE, "'%s' has no command '%s'; try 'lethe help %s'",
                            command->path, arguments->operands[used], command->path);
    }
    size_t format = FORMAT_TEXT;
    int code = arguments_choice(arguments, "format", &format);
    if (code != EXIT_DONE) return code;
    switch ((enum format)format) {
    case FORMAT_TEXT:
        help_show(command);
        break;
    case FORMAT_MAN:
        man_page_print(command, stdout);
        break;
    case FORMAT_BASH:
        completion_print_bash(stdout);
        break;
    case FORMAT_ZSH:
        completion_print_zsh(stdout);
        break;
    case FORMAT_FISH:
        completion_print_fish(stdout);
        break;
    case FORMAT_LIST:
        print_list();
        break;
    case FORMAT_MARKDOWN:
        markdown_print(command, stdout);
        break;
    }
    return EXIT_DONE;
}
