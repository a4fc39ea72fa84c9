/* markdown.c - a command's page for the site, in Markdown.
 *
 * The same description as a man page (man_page.c), written with links between the pages. Page names
 * are those of the man pages: lethe-filter-build.md. A term and its meaning are a definition list,
 * a term and then a line that begins with a colon, which the site's reader knows.
 *
 * What stands between backquotes is literal in the description and in Markdown alike. In other text
 * each letter that Markdown would take for a mark is escaped. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "frame/exit_code.h"
#include "frame/help.h"
#include "frame/text.h"

static void put_escaped(char c, FILE *stream) {
    if (strchr("\\*_<>[]#|~$", c) != NULL) putc('\\', stream);
    putc(c, stream);
}

/* Running text, on one line. */
static void print_text(const char *text, FILE *stream) {
    bool literal = false;
    for (const char *at = text; *at != '\0'; at++) {
        literal = literal != (*at == '`');
        if (literal || *at == '`') {
            putc(*at, stream);
        } else {
            put_escaped(*at, stream);
        }
    }
    putc('\n', stream);
}

/* The same as a sentence. A summary has neither a capital nor a full stop. */
static void print_sentence(const char *text, FILE *stream) {
    putc(toupper((unsigned char)text[0]), stream);
    for (const char *at = text + 1; *at != '\0'; at++) {
        put_escaped(*at, stream);
    }
    fputs(".\n", stream);
}

/* "lethe-filter-build", or "lethe filter build" when joined by spaces. */
static void print_name(const char *path, char joint, FILE *stream) {
    fputs("lethe", stream);
    if (path[0] != '\0') putc(joint, stream);
    for (const char *at = path; *at != '\0'; at++) {
        putc(*at == ' ' ? joint : *at, stream);
    }
}

static void print_synopses(const struct command *command, FILE *stream) {
    fputs("\n```text\n", stream);
    for (const char *const *synopsis = command->synopses; *synopsis != NULL; synopsis++) {
        print_name(command->path, ' ', stream);
        putc(' ', stream);
        size_t indent = strlen("lethe ") + strlen(command->path) + (command->path[0] != '\0');
        text_fill(stream, *synopsis, indent, indent);
    }
    fputs("```\n", stream);
}

static void print_paragraphs(const char *const *paragraphs, FILE *stream) {
    for (const char *const *paragraph = paragraphs; *paragraph != NULL; paragraph++) {
        putc('\n', stream);
        print_text(*paragraph, stream);
    }
}

/* The commands of a group and of the groups in it, under their families if it has several; a group
 * itself does nothing. */
static void print_children(const struct command *group, const char **family, FILE *stream) {
    for (const struct command *child = command_child(group, NULL); child != NULL;
         child = command_child(group, child)) {
        if (group->path[0] == '\0' &&
            (*family == NULL || strcmp(*family, command_family(child)) != 0)) {
            *family = command_family(child);
            fprintf(stream, "\n### %s\n", *family);
        }
        print_children(child, family, stream);
        if (command_child(child, NULL) != NULL) continue;
        fputs("\n[", stream);
        print_name(child->path, ' ', stream);
        fputs("](", stream);
        print_name(child->path, '-', stream);
        fputs(".md)\n: ", stream);
        print_sentence(child->summary, stream);
    }
}

static void print_option(const struct option *option, FILE *stream) {
    fputs("\n`", stream);
    if (option->letter != '\0') fprintf(stream, "-%c, ", option->letter);
    fprintf(stream, "--%s%s%s`\n: ", option->name, option->value != NULL ? " " : "",
            option->value != NULL ? option->value : "");
    print_text(option->help, stream);
}

static void print_options(const struct command *command, FILE *stream) {
    fputs("\n## Options\n", stream);
    for (const struct option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (!option->hidden) print_option(option, stream);
    }
    print_option(&option_help, stream);
}

static void print_examples(const struct command *command, FILE *stream) {
    fputs("\n## Examples\n", stream);
    for (const struct example *example = command->examples; example->command != NULL; example++) {
        putc('\n', stream);
        for (const char *at = example->purpose; *at != '\0'; at++) {
            put_escaped(*at, stream);
        }
        fprintf(stream, ":\n\n```sh\n%s\n```\n", example->command);
    }
}

static void print_exit(int code, const char *meaning, FILE *stream) {
    fprintf(stream, "\n`%d`\n: ", code);
    print_text(meaning, stream);
}

static void print_exits(const struct command *command, FILE *stream) {
    fputs("\n## Exit status\n", stream);
    print_exit(0, command->exit_done, stream);
    if (command->exit_negative != NULL) print_exit(1, command->exit_negative, stream);
    for (const struct exit_meaning *exit = exit_meanings; exit->meaning != NULL; exit++) {
        print_exit(exit->code, exit->meaning, stream);
    }
    if (command->exit_skipped != NULL) print_exit(EXIT_SKIPPED, command->exit_skipped, stream);
}

void markdown_print(const struct command *command, FILE *stream) {
    fputs("# ", stream);
    print_name(command->path, ' ', stream);
    fputs("\n\n", stream);
    print_sentence(command->summary, stream);
    print_synopses(command, stream);
    print_paragraphs(command->description, stream);
    if (command_child(command, NULL) != NULL) {
        const char *family = NULL;
        fputs("\n## Commands\n", stream);
        print_children(command, &family, stream);
    }
    print_options(command, stream);
    for (const struct section *section = command->sections;
         section != NULL && section->heading != NULL; section++) {
        fprintf(stream, "\n## %s\n", section->heading);
        print_paragraphs(section->paragraphs, stream);
    }
    if (command->examples != NULL) print_examples(command, stream);
    if (command->exit_done != NULL) print_exits(command, stream);
}
