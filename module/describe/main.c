/* module/describe/main.c - lethe-commands: prints the descriptions of all commands and settings
 * as JSON.
 *
 * It is linked with the module's own tables, without a server. tools/command_pages.py makes the
 * reference pages of what it prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/info.h"
#include "server/errors.h"
#include "server/settings.h"
#include "types.h"
#include "value/transfer.h"
#include "value/value.h"

/* Where the next thing is printed: whether a comma goes before it, and for which type. */
struct printer {
    bool is_first;
    const struct value_type *type;
};

static void print_string(const struct printer *printer, const char *template) {
    static char text[COMMAND_TEXT_BYTES];
    expand(template, printer->type, text, sizeof text);
    putchar('"');
    for (const char *letter = text; *letter != '\0'; letter++) {
        if (*letter == '\n') {
            fputs("\\n", stdout);
        } else {
            if (*letter == '"' || *letter == '\\') putchar('\\');
            putchar(*letter);
        }
    }
    putchar('"');
}

/* A comma, if need be, and the name of what follows; NULL in arrays. */
static void begin(struct printer *printer, const char *name) {
    if (!printer->is_first) putchar(',');
    printer->is_first = false;
    if (name == NULL) return;
    print_string(printer, name);
    putchar(':');
}

static void open_bracket(struct printer *printer, const char *name, char bracket) {
    begin(printer, name);
    putchar(bracket);
    printer->is_first = true;
}

static void close_bracket(struct printer *printer, char bracket) {
    putchar(bracket);
    printer->is_first = false;
}

static void print_text(struct printer *printer, const char *name, const char *text) {
    if (text == NULL) return;
    begin(printer, name);
    print_string(printer, text);
}

static void print_flag(struct printer *printer, const char *name, bool is_set) {
    if (!is_set) return;
    begin(printer, name);
    fputs("true", stdout);
}

/* Words that are separated by spaces, as an array. */
static void print_words(struct printer *printer, const char *name, const char *words) {
    open_bracket(printer, name, '[');
    while (*words != '\0') {
        char word[COMMAND_NAME_BYTES];
        size_t size = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)size, words);
        print_text(printer, NULL, word);
        words += size + (words[size] == ' ');
    }
    close_bracket(printer, ']');
}

static const char *type_name(redis_argument_type type) {
    static const char *const names[] = {
        [REDIS_ARGUMENT_STRING] = "string",   [REDIS_ARGUMENT_INTEGER] = "integer",
        [REDIS_ARGUMENT_DOUBLE] = "double",   [REDIS_ARGUMENT_KEY] = "key",
        [REDIS_ARGUMENT_PATTERN] = "pattern", [REDIS_ARGUMENT_TOKEN] = "pure-token",
        [REDIS_ARGUMENT_ONE_OF] = "oneof",    [REDIS_ARGUMENT_BLOCK] = "block"};
    return names[type];
}

static void print_arguments(struct printer *printer, const struct argument *list) {
    open_bracket(printer, "arguments", '[');
    for (; list->name != NULL; list++) {
        open_bracket(printer, NULL, '{');
        print_text(printer, "name", list->name);
        print_text(printer, "type", type_name(list->type));
        print_text(printer, "token", list->token);
        print_text(printer, "meaning", list->meaning);
        char range[RANGE_TEXT_BYTES];
        argument_range(list, range);
        print_text(printer, "range", range[0] != '\0' ? range : NULL);
        print_flag(printer, "checked", list->limits != NULL);
        print_text(printer, "default", list->fallback);
        print_flag(printer, "optional", (list->flags & REDIS_ARGUMENT_OPTIONAL) != 0);
        print_flag(printer, "multiple", (list->flags & REDIS_ARGUMENT_MULTIPLE) != 0);
        if (list->parts != NULL) print_arguments(printer, list->parts);
        close_bracket(printer, '}');
    }
    close_bracket(printer, ']');
}

static void print_replies(struct printer *printer, const struct reply_form *form) {
    open_bracket(printer, "replies", '[');
    for (; form->when != NULL; form++) {
        open_bracket(printer, NULL, '{');
        print_text(printer, "when", form->when);
        print_text(printer, "resp2", form->resp2);
        print_text(printer, "resp3", form->resp3 != NULL ? form->resp3 : form->resp2);
        close_bracket(printer, '}');
    }
    close_bracket(printer, ']');
}

/* What a command can fail with whose arguments have ranges. */
static const struct error_form range_errors[] = {
    {ERROR_VALUE("...", "NAME", "..."),
     "An argument is out of its range; the error names it, its value and the range"},
    {NULL, NULL},
};

/* What every command can fail with, besides its own errors. LOAD opens keys in a way of its own. */
static const struct error_form common_errors[] = {
    {"ERR wrong number of arguments for '...' command", "There are too few arguments, or too many"},
    {ERROR_WRONG_TYPE, "A key holds something else"},
    {ERROR_PARTIAL, "The last piece has not come yet ({prefix}.LOAD)"},
    {NULL, NULL},
};

static void print_forms(struct printer *printer, const struct error_form *form) {
    for (; form != NULL && form->text != NULL; form++) {
        open_bracket(printer, NULL, '{');
        print_text(printer, "text", form->text);
        print_text(printer, "when", form->when);
        close_bracket(printer, '}');
    }
}

static void print_errors(struct printer *printer, const struct command *command) {
    open_bracket(printer, "errors", '[');
    print_forms(printer, command->errors);
    if (arguments_are_checked(command->arguments)) print_forms(printer, range_errors);
    if (command->function != load_command) print_forms(printer, common_errors);
    close_bracket(printer, ']');
}

static void print_fields(struct printer *printer, const struct info_field *field) {
    open_bracket(printer, "fields", '[');
    for (; field->name != NULL; field++) {
        open_bracket(printer, NULL, '{');
        print_text(printer, "name", field->name);
        print_text(printer, "meaning", field->meaning);
        close_bracket(printer, '}');
    }
    close_bracket(printer, ']');
}

/* Empty for a command that no release has changed. */
static void print_history(struct printer *printer, const redis_history *entry) {
    open_bracket(printer, "history", '[');
    for (; entry != NULL && entry->since != NULL; entry++) {
        open_bracket(printer, NULL, '{');
        print_text(printer, "since", entry->since);
        print_text(printer, "changes", entry->changes);
        close_bracket(printer, '}');
    }
    close_bracket(printer, ']');
}

static void print_command(struct printer *printer, const struct command *command) {
    char name[COMMAND_NAME_BYTES], categories[COMMAND_NAME_BYTES];
    command_name(printer->type, command, name);
    command_categories(command, categories);
    open_bracket(printer, name, '{');
    print_text(printer, "summary", command->summary);
    print_text(printer, "since", command->since);
    print_history(printer, command->history);
    print_text(printer, "group", printer->type->prefix);
    print_text(printer, "complexity", command->complexity);
    begin(printer, "arity");
    printf("%d", command->arity);
    print_words(printer, "flags", command->flags);
    print_words(printer, "categories", categories);
    print_arguments(printer, command->arguments);
    print_replies(printer, command->replies);
    print_errors(printer, command);
    if (strcmp(command->name, "INFO") == 0) print_fields(printer, printer->type->info_fields);
    print_text(printer, "details", command->details);
    print_text(printer, "example", command->example);
    close_bracket(printer, '}');
    putchar('\n');
}

static void print_setting(struct printer *printer, const struct setting *setting) {
    char name[COMMAND_NAME_BYTES], range[SETTING_RANGE_BYTES];
    snprintf(name, sizeof name, "lethe.%s", setting->name);
    setting_range(setting, range);
    open_bracket(printer, name, '{');
    print_text(printer, "meaning", setting->meaning);
    print_text(printer, "range", range);
    print_text(printer, "default", setting->fallback);
    close_bracket(printer, '}');
    putchar('\n');
}

int main(void) {
    struct printer printer = {.is_first = true, .type = value_types[0]};
    open_bracket(&printer, NULL, '{');
    open_bracket(&printer, "commands", '{');
    for (const struct value_type *const *type = value_types; *type != NULL; type++) {
        struct command_list list;
        printer.type = *type;
        commands_of(*type, &list);
        for (size_t i = 0; i < list.count; i++)
            print_command(&printer, &list.commands[i]);
    }
    close_bracket(&printer, '}');
    open_bracket(&printer, "settings", '{');
    for (const struct setting *setting = settings; setting->name != NULL; setting++)
        print_setting(&printer, setting);
    close_bracket(&printer, '}');
    close_bracket(&printer, '}');
    putchar('\n');
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
