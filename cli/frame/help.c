/* help.c - what `lethe help` and `--help` print. */
#include "frame/help.h"

#include <string.h>

#include "frame/exit_code.h"
#include "frame/text.h"

const struct exit_meaning exit_meanings[] = {
    {EXIT_USAGE, "the command line is wrong, or does not fit the store or its files; nothing was "
                 "counted"},
    {EXIT_BAD_DATA,
     "bad data: a file is damaged, of another kind or written by a newer lethe; files do not "
     "match; a line is too long; or partitions of a table are missing"},
    {EXIT_ENVIRONMENT, "the environment failed: disk, memory, permissions, network"},
    {0},
};

static const char *space_before(const char *path) {
    return path[0] == '\0' ? "" : " ";
}

static void print_synopses(const struct command *command, FILE *stream) {
    for (const char *const *synopsis = command->synopses; *synopsis != NULL; synopsis++) {
        int length = fprintf(stream, "  lethe%s%s ", space_before(command->path), command->path);
        text_fill(stream, *synopsis, (size_t)length, (size_t)length);
    }
}

/* A term on the left and its meaning on the right, in a column that starts at indent. */
static void print_entry(const char *term, const char *meaning, size_t indent, FILE *stream) {
    int length = fprintf(stream, "  %s", term);
    if ((size_t)length + 2 > indent) {
        putc('\n', stream);
        length = 0;
    }
    text_fill(stream, meaning, indent, (size_t)length);
}

/* The commands of a group and of the groups in it, under their families if it has several. */
static void print_children(const struct command *group, const char **family, FILE *stream) {
    for (const struct command *child = command_child(group, NULL); child != NULL;
         child = command_child(group, child)) {
        if (*family == NULL || strcmp(*family, command_family(child)) != 0) {
            *family = command_family(child);
            fprintf(stream, "\n%s\n", group->path[0] == '\0' ? *family : "Commands");
        }
        const struct command *grandchild = command_child(child, NULL);
        if (grandchild == NULL) print_entry(child->path, child->summary, 18, stream);
        print_children(child, family, stream);
    }
}

static void print_option(const struct option *option, FILE *stream) {
    char term[64];
    char letter[] = "-x, ";
    letter[1] = option->letter;
    snprintf(term, sizeof term, "%s--%s%s%s", option->letter != '\0' ? letter : "", option->name,
             option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
    print_entry(term, option->help, 20, stream);
}

static void print_options(const struct command *command, FILE *stream) {
    fputs("\nOptions\n", stream);
    for (const struct option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (!option->hidden) print_option(option, stream);
    }
    print_option(&option_help, stream);
}

static void print_paragraphs(const char *const *paragraphs, FILE *stream) {
    for (const char *const *paragraph = paragraphs; *paragraph != NULL; paragraph++) {
        if (paragraph != paragraphs) putc('\n', stream);
        text_fill(stream, *paragraph, 2, 0);
    }
}

static void print_exits(const struct command *command, FILE *stream) {
    fputs("\nExit status\n", stream);
    print_entry("0", command->exit_done, 5, stream);
    if (command->exit_negative != NULL) print_entry("1", command->exit_negative, 5, stream);
    for (const struct exit_meaning *exit = exit_meanings; exit->meaning != NULL; exit++) {
        char code[16];
        snprintf(code, sizeof code, "%d", exit->code);
        print_entry(code, exit->meaning, 5, stream);
    }
    if (command->exit_skipped != NULL) print_entry("5", command->exit_skipped, 5, stream);
}

/* What long and short help begin with. */
static void print_overview(const struct command *command, FILE *stream) {
    const char *family = NULL;
    fprintf(stream, "lethe%s%s: ", space_before(command->path), command->path);
    fprintf(stream, "%s\n\nUsage\n", command->summary);
    print_synopses(command, stream);
    print_children(command, &family, stream);
}

void help_print(const struct command *command, FILE *stream) {
    print_overview(command, stream);
    fputs("\nDescription\n", stream);
    print_paragraphs(command->description, stream);
    print_options(command, stream);
    for (const struct section *section = command->sections;
         section != NULL && section->heading != NULL; section++) {
        fprintf(stream, "\n%s\n", section->heading);
        print_paragraphs(section->paragraphs, stream);
    }
    if (command->examples != NULL) fputs("\nExamples\n", stream);
    for (const struct example *example = command->examples;
         example != NULL && example->command != NULL; example++) {
        if (example != command->examples) putc('\n', stream);
        text_fill(stream, example->purpose, 2, 0);
        fprintf(stream, "    $ %s\n", example->command);
    }
    if (command->exit_done != NULL) print_exits(command, stream);
}

void help_print_short(const struct command *command, FILE *stream) {
    print_overview(command, stream);
    fprintf(stream, "\nFor more, run 'lethe help%s%s'.\n", space_before(command->path),
            command->path);
}
