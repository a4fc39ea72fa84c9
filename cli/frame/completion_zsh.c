/* completion_zsh.c - writes the completion of lethe for zsh.
 *
 * Each command becomes a function that hands its options to _arguments; a group also describes
 * its parts and then calls the function of the one that was chosen, with the words before it
 * shifted away. */
#include <stdio.h>
#include <string.h>

#include "frame/help.h"

static void print_function_name(const struct command *command, FILE *stream) {
    fputs("_lethe", stream);
    if (command->path[0] == '\0') return;
    putc('_', stream);
    for (const char *at = command->path; *at != '\0'; at++) {
        putc(*at == ' ' || *at == '-' ? '_' : *at, stream);
    }
}

/* Text inside single quotes, where _arguments gives brackets and colons a meaning. */
static void print_escaped(const char *text, FILE *stream) {
    for (const char *at = text; *at != '\0'; at++) {
        switch (*at) {
        case '\'':
            fputs("'\\''", stream);
            break;
        case '`':
            break;
        case '[':
        case ']':
        case ':':
        case '\\':
            fprintf(stream, "\\%c", *at);
            break;
        default:
            putc(*at, stream);
        }
    }
}

static void print_value(const struct option *option, FILE *stream) {
    fputs(":", stream);
    print_escaped(option->value, stream);
    fputs(":", stream);
    if (option->choices != NULL) {
        putc('(', stream);
        for (const char *at = option->choices; *at != '\0'; at++) {
            putc(*at == '|' ? ' ' : *at, stream);
        }
        putc(')', stream);
    } else if (option->completion == COMPLETE_FILES) {
        fputs("_files", stream);
    } else {
        putc(' ', stream);
    }
}

static void print_option(const struct option *option, FILE *stream) {
    fputs("        ", stream);
    if (option->letter != '\0') {
        fprintf(stream, "'(-%c --%s)'{-%c,--%s}", option->letter, option->name, option->letter,
                option->name);
    } else {
        fprintf(stream, "'%s--%s", option->repeats ? "*" : "", option->name);
    }
    if (option->letter != '\0') putc('\'', stream);
    if (option->value != NULL) putc('=', stream);
    putc('[', stream);
    print_escaped(option->help, stream);
    putc(']', stream);
    if (option->value != NULL) print_value(option, stream);
    fputs("' \\\n", stream);
}

static void print_options(const struct command *command, FILE *stream) {
    for (const struct option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (!option->hidden) print_option(option, stream);
    }
    print_option(&option_help, stream);
}

static void print_leaf(const struct command *command, FILE *stream) {
    print_function_name(command, stream);
    fputs("() {\n    _arguments -S \\\n", stream);
    print_options(command, stream);
    switch (command->operands) {
    case COMPLETE_FILES:
        fputs("        '*:file:_files'\n", stream);
        break;
    case COMPLETE_COMMANDS:
        fputs("        '*::command:_lethe_command_words'\n", stream);
        break;
    case COMPLETE_NAMES:
        fprintf(stream, "        '*:name:($(lethe %s 2>/dev/null | cut -d \" \" -f 1))'\n",
                command->names);
        break;
    case COMPLETE_NOTHING:
        fputs("        '*: : '\n", stream);
        break;
    }
    fputs("}\n\n", stream);
}

static void print_group(const struct command *group, FILE *stream) {
    print_function_name(group, stream);
    fputs("() {\n"
          "    local curcontext=$curcontext state line\n"
          "    typeset -A opt_args\n"
          "    local -a parts=(\n",
          stream);
    for (const struct command *child = command_child(group, NULL); child != NULL;
         child = command_child(group, child)) {
        fprintf(stream, "        '%s:", command_name(child));
        print_escaped(child->summary, stream);
        fputs("'\n", stream);
    }
    fputs("    )\n    _arguments -C \\\n", stream);
    print_options(group, stream);
    fputs("        '1: :->command' \\\n"
          "        '*:: :->arguments'\n"
          "    case $state in\n"
          "    command) _describe -t commands command parts ;;\n"
          "    arguments)\n"
          "        case $words[1] in\n",
          stream);
    for (const struct command *child = command_child(group, NULL); child != NULL;
         child = command_child(group, child)) {
        fprintf(stream, "        %s) ", command_name(child));
        print_function_name(child, stream);
        fputs(" ;;\n", stream);
    }
    fputs("        esac\n        ;;\n    esac\n}\n\n", stream);
}

/* The words after `lethe help`: at each place, the parts of what stands before it. (A variable
 * called path would be the shell's own.) */
static void print_command_words(FILE *stream) {
    fputs("_lethe_command_words() {\n"
          "    local before=\"${(j: :)words[1,CURRENT-1]}\"\n"
          "    case $before in\n",
          stream);
    for (const struct command *const *row = commands; *row != NULL; row++) {
        const struct command *child = command_child(*row, NULL);
        if (child == NULL) continue;
        fprintf(stream, "    '%s') compadd --", (*row)->path);
        for (; child != NULL; child = command_child(*row, child)) {
            fprintf(stream, " %s", command_name(child));
        }
        fputs(" ;;\n", stream);
    }
    fputs("    esac\n}\n\n", stream);
}

void completion_print_zsh(FILE *stream) {
    fputs("#compdef lethe\n"
          "# zsh completion for lethe(1), written by 'lethe help --format zsh'.\n"
          "\n",
          stream);
    for (const struct command *const *row = commands; *row != NULL; row++) {
        if (command_child(*row, NULL) != NULL) {
            print_group(*row, stream);
        } else {
            print_leaf(*row, stream);
        }
    }
    print_command_words(stream);
    fputs("_lethe \"$@\"\n", stream);
}
