/* man_page.c - a command's man page, in the macros of man(7).
 *
 * Text is escaped as it goes out: a backslash and a hyphen mean something to roff anywhere in a
 * line, a full stop and an apostrophe at its beginning. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "frame/exit_code.h"
#include "frame/help.h"
#include "lethe/version.h"

/* When these texts were last revised. Not the day of the build, which would make two builds of
 * the same source differ. */
static const char revised[] = "2026-11-17";

static void put_escaped(char c, FILE *stream) {
    switch (c) {
    case '\\':
        fputs("\\e", stream);
        break;
    case '-':
        fputs("\\-", stream);
        break;
    case '\'':
        fputs("\\(aq", stream);
        break;
    case '^':
        fputs("\\(ha", stream);
        break;
    case '~':
        fputs("\\(ti", stream);
        break;
    default:
        putc(c, stream);
    }
}

static void print_escaped(const char *text, size_t length, FILE *stream) {
    for (size_t i = 0; i < length; i++) {
        put_escaped(text[i], stream);
    }
}

/* Running text, in source lines of a readable length. What is between backquotes is bold. */
static void print_text(const char *text, FILE *stream) {
    bool bold = false;
    size_t column = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (column > 0 && column + length > 64) {
            putc('\n', stream);
            column = 0;
        } else if (column > 0) {
            putc(' ', stream);
        }
        if (column == 0 && (text[0] == '.' || text[0] == '\'')) fputs("\\&", stream);
        for (size_t i = 0; i < length; i++) {
            if (text[i] == '`') {
                bold = !bold;
                fputs(bold ? "\\fB" : "\\fR", stream);
            } else {
                put_escaped(text[i], stream);
            }
        }
        column += length + 1;
        text += length;
        text += strspn(text, " ");
    }
    putc('\n', stream);
}

/* The literal words of a synopsis are bold, what stands for something (in capitals) is italic,
 * and brackets are neither. */
static void print_synopsis(const char *text, FILE *stream) {
    static const char between[] = " []|.=";
    int depth = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, between);
        if (length == 0) {
            depth += *text == '[';
            depth -= *text == ']';
            /* No line is broken inside brackets. */
            if (*text == ' ' && depth > 0) {
                fputs("\\~", stream);
            } else {
                put_escaped(*text, stream);
            }
            text++;
            continue;
        }
        bool capitals = true;
        for (size_t i = 0; i < length; i++) {
            capitals = capitals && !islower((unsigned char)text[i]) && text[i] != '-';
        }
        fputs(capitals ? "\\fI" : "\\fB", stream);
        print_escaped(text, length, stream);
        fputs("\\fR", stream);
        text += length;
    }
}

/* "lethe-filter-build": the name of the page, or of the command when joined by spaces. */
static void print_name(const char *path, char joint, bool capitals, FILE *stream) {
    const char *program = "lethe";
    for (const char *at = program; *at != '\0'; at++) {
        putc(capitals ? toupper((unsigned char)*at) : *at, stream);
    }
    if (path[0] != '\0') put_escaped(joint, stream);
    for (const char *at = path; *at != '\0'; at++) {
        put_escaped(*at == ' ' ? joint
                    : capitals ? (char)toupper((unsigned char)*at)
                               : *at,
                    stream);
    }
}

static void print_synopses(const struct command *command, FILE *stream) {
    fputs(".SH SYNOPSIS\n", stream);
    for (const char *const *synopsis = command->synopses; *synopsis != NULL; synopsis++) {
        if (synopsis != command->synopses) fputs(".br\n", stream);
        fputs("\\fB", stream);
        print_name(command->path, ' ', false, stream);
        fputs("\\fR ", stream);
        print_synopsis(*synopsis, stream);
        putc('\n', stream);
    }
}

static void print_paragraphs(const char *const *paragraphs, FILE *stream) {
    for (const char *const *paragraph = paragraphs; *paragraph != NULL; paragraph++) {
        if (paragraph != paragraphs) fputs(".PP\n", stream);
        print_text(*paragraph, stream);
    }
}

static void print_option(const struct option *option, FILE *stream) {
    fputs(".TP\n", stream);
    if (option->letter != '\0') fprintf(stream, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stream);
    print_escaped(option->name, strlen(option->name), stream);
    fputs("\\fR", stream);
    if (option->value != NULL) fprintf(stream, " \\fI%s\\fR", option->value);
    putc('\n', stream);
    print_text(option->help, stream);
}

static void print_options(const struct command *command, FILE *stream) {
    fputs(".SH OPTIONS\n", stream);
    for (const struct option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (!option->hidden) print_option(option, stream);
    }
    print_option(&option_help, stream);
}

/* The commands of a group and of the groups in it, under their families if it has several; a group
 * itself does nothing. */
static void print_children(const struct command *group, const char **family, FILE *stream) {
    for (const struct command *child = command_child(group, NULL); child != NULL;
         child = command_child(group, child)) {
        if (group->path[0] == '\0' &&
            (*family == NULL || strcmp(*family, command_family(child)) != 0)) {
            *family = command_family(child);
            fprintf(stream, ".SS %s\n", *family);
        }
        print_children(child, family, stream);
        if (command_child(child, NULL) != NULL) continue;
        fputs(".TP\n\\fB", stream);
        print_name(child->path, '-', false, stream);
        fputs("\\fR(1)\n", stream);
        print_text(child->summary, stream);
    }
}

static void print_examples(const struct command *command, FILE *stream) {
    fputs(".SH EXAMPLES\n", stream);
    for (const struct example *example = command->examples; example->command != NULL; example++) {
        if (example != command->examples) fputs(".PP\n", stream);
        print_text(example->purpose, stream);
        fputs(".PP\n.RS 4\n.nf\n", stream);
        print_escaped(example->command, strlen(example->command), stream);
        fputs("\n.fi\n.RE\n", stream);
    }
}

static void print_exit(int code, const char *meaning, FILE *stream) {
    fprintf(stream, ".TP\n\\fB%d\\fR\n", code);
    print_text(meaning, stream);
}

static void print_exits(const struct command *command, FILE *stream) {
    fputs(".SH EXIT STATUS\n", stream);
    print_exit(0, command->exit_done, stream);
    if (command->exit_negative != NULL) print_exit(1, command->exit_negative, stream);
    for (const struct exit_meaning *exit = exit_meanings; exit->meaning != NULL; exit++) {
        print_exit(exit->code, exit->meaning, stream);
    }
    if (command->exit_skipped != NULL) {
        print_exit(EXIT_SKIPPED, command->exit_skipped, stream);
    }
}

/* Whether other belongs to the same group as command, or is that group. */
static bool is_related(const struct command *command, const struct command *other) {
    size_t group = (size_t)(command_name(command) - command->path);
    if (other == command) return false;
    if (other->path[0] == '\0') return true;
    if (command->path[0] == '\0') return strchr(other->path, ' ') == NULL;
    size_t own = strlen(command->path);
    if (strncmp(other->path, command->path, own) == 0 && other->path[own] == ' ') return true;
    return group > 0 && strncmp(other->path, command->path, group - 1) == 0;
}

static void print_see_also(const struct command *command, FILE *stream) {
    fputs(".SH SEE ALSO\n", stream);
    bool first = true;
    for (const struct command *const *row = commands; *row != NULL; row++) {
        if (!is_related(command, *row)) continue;
        if (!first) fputs(",\n", stream);
        first = false;
        fputs("\\fB", stream);
        print_name((*row)->path, '-', false, stream);
        fputs("\\fR(1)", stream);
    }
    putc('\n', stream);
}

void man_page_print(const struct command *command, FILE *stream) {
    fputs(".\\\" Written by 'lethe help --format man' from the command's own description.\n.TH ",
          stream);
    print_name(command->path, '-', true, stream);
    fprintf(stream, " 1 \"%s\" \"Lethe %s\" \"Lethe Manual\"\n", revised, lethe_version());
    /* No hyphens, no stretched spaces: both hurt where commands are quoted. */
    fputs(".nh\n.ad l\n.ss 12 0\n.SH NAME\n", stream);
    print_name(command->path, '-', false, stream);
    fputs(" \\- ", stream);
    print_text(command->summary, stream);
    print_synopses(command, stream);
    fputs(".SH DESCRIPTION\n", stream);
    print_paragraphs(command->description, stream);
    if (command_child(command, NULL) != NULL) {
        const char *family = NULL;
        fputs(".SH COMMANDS\n", stream);
        print_children(command, &family, stream);
    }
    print_options(command, stream);
    for (const struct section *section = command->sections;
         section != NULL && section->heading != NULL; section++) {
        fputs(".SH ", stream);
        for (const char *at = section->heading; *at != '\0'; at++) {
            putc(toupper((unsigned char)*at), stream);
        }
        putc('\n', stream);
        print_paragraphs(section->paragraphs, stream);
    }
    if (command->examples != NULL) print_examples(command, stream);
    if (command->exit_done != NULL) print_exits(command, stream);
    print_see_also(command, stream);
}
