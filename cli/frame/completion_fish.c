/* completion_fish.c - writes the completion of lethe for fish.
 *
 * Every offer is a line of its own with a condition. __lethe_at is true where the words before the
 * cursor are exactly the given ones, so that the parts of a group come next; __lethe_in where they
 * begin with them, so that the options and operands of a command may come. */
#include <stdio.h>

#include "frame/help.h"

static const char opening[] =
    "# fish completion for lethe(1), written by 'lethe help --format fish'.\n"
    "\n"
    "function __lethe_at\n"
    "    set -l words (commandline -opc)\n"
    "    test \"$words[2..-1]\" = \"$argv\"\n"
    "end\n"
    "\n"
    "function __lethe_in\n"
    "    set -l words (commandline -opc)[2..-1]\n"
    "    set -l last (count $argv)\n"
    "    test (count $words) -ge $last; and test \"$words[1..$last]\" = \"$argv\"\n"
    "end\n"
    "\n"
    "complete -c lethe -f\n";

/* Text in single quotes. */
static void print_quoted(const char *text, FILE *stream) {
    putc('\'', stream);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '`') continue;
        if (*at == '\'' || *at == '\\') putc('\\', stream);
        putc(*at, stream);
    }
    putc('\'', stream);
}

/* The beginning of an offer: where it is made. */
static void print_condition(const char *test, const char *before, const char *path, FILE *stream) {
    fprintf(stream, "complete -c lethe -n '%s%s%s%s%s'", test, before[0] != '\0' ? " " : "", before,
            path[0] != '\0' ? " " : "", path);
}

/* The parts of a group, after the word before if there is one. */
static void print_parts(const struct command *group, const char *before, FILE *stream) {
    for (const struct command *child = command_child(group, NULL); child != NULL;
         child = command_child(group, child)) {
        print_condition("__lethe_at", before, group->path, stream);
        fprintf(stream, " -a %s -d ", command_name(child));
        print_quoted(child->summary, stream);
        putc('\n', stream);
    }
}

static void print_option(const struct command *command, const struct option *option, FILE *stream) {
    bool is_group = command_child(command, NULL) != NULL;
    print_condition(is_group ? "__lethe_at" : "__lethe_in", "", command->path, stream);
    if (option->letter != '\0') fprintf(stream, " -s %c", option->letter);
    fprintf(stream, " -l %s", option->name);
    if (option->value != NULL) fputs(option->completion == COMPLETE_FILES ? " -rF" : " -x", stream);
    if (option->choices != NULL) {
        fputs(" -a '", stream);
        for (const char *at = option->choices; *at != '\0'; at++)
            putc(*at == '|' ? ' ' : *at, stream);
        putc('\'', stream);
    }
    fputs(" -d ", stream);
    print_quoted(option->help, stream);
    putc('\n', stream);
}

static void print_operands(const struct command *command, FILE *stream) {
    if (command->operands == COMPLETE_FILES) {
        print_condition("__lethe_in", "", command->path, stream);
        fputs(" -F\n", stream);
    } else if (command->operands == COMPLETE_NAMES) {
        print_condition("__lethe_in", "", command->path, stream);
        fprintf(stream, " -a '(lethe %s 2>/dev/null | string split -f 1 \" \")'\n", command->names);
    } else if (command->operands == COMPLETE_COMMANDS) {
        for (const struct command *const *row = commands; *row != NULL; row++)
            print_parts(*row, command->path, stream);
    }
}

void completion_print_fish(FILE *stream) {
    fputs(opening, stream);
    for (const struct command *const *row = commands; *row != NULL; row++) {
        print_parts(*row, "", stream);
        for (const struct option *option = (*row)->options; option != NULL && option->name != NULL;
             option++) {
            if (!option->hidden) print_option(*row, option, stream);
        }
        print_option(*row, &option_help, stream);
        print_operands(*row, stream);
    }
}
