/* module/command/list.c - the commands of a type: its own and those that every type has. */
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "value/value.h"

void expand(const char *template, const struct value_type *type, char *out, size_t room) {
    const struct {
        const char *name, *text;
    } places[] = {{"{prefix}", type->prefix},
                  {"{noun}", type->noun},
                  {"{create}", type->create_word},
                  {"{item}", type->item}};
    size_t used = 0;
    while (*template != '\0' && used + 1 < room) {
        const char *text = NULL;
        for (unsigned i = 0; i < sizeof places / sizeof places[0] && text == NULL; i++) {
            size_t size = strlen(places[i].name);
            if (strncmp(template, places[i].name, size) != 0) continue;
            text = places[i].text;
            template += size;
        }
        if (text == NULL) {
            out[used++] = *template ++;
        } else {
            int written = snprintf(out + used, room - used, "%s", text);
            used += written > 0 ? (size_t)written : 0;
        }
    }
    out[used < room ? used : room - 1] = '\0';
}

void argument_range(const struct argument *argument, char text[RANGE_TEXT_BYTES]) {
    snprintf(text, RANGE_TEXT_BYTES, "%s", argument->range != NULL ? argument->range : "");
    if (argument->limits != NULL) range_text(argument->limits, text);
}

bool arguments_are_checked(const struct argument *list) {
    for (; list->name != NULL; list++) {
        if (list->limits != NULL) return true;
        if (list->parts != NULL && arguments_are_checked(list->parts)) return true;
    }
    return false;
}

void command_name(const struct value_type *type, const struct command *command,
                  char name[COMMAND_NAME_BYTES]) {
    snprintf(name, COMMAND_NAME_BYTES, "%s.%s", type->prefix, command->name);
}

void command_categories(const struct command *command, char categories[COMMAND_NAME_BYTES]) {
    bool is_write = strstr(command->flags, "write") != NULL;
    bool is_fast = strstr(command->flags, "fast") != NULL;
    snprintf(categories, COMMAND_NAME_BYTES, "%s %s%s", is_write ? "write" : "read",
             is_fast ? "fast" : "slow", command->is_dangerous ? " dangerous" : "");
}

static redis_argument_type type_of_option(const struct option *option) {
    if (option->kind == OPTION_FRACTION) return REDIS_ARGUMENT_DOUBLE;
    if (option->unit != NULL) return REDIS_ARGUMENT_STRING;
    bool is_word = option->kind == OPTION_WORD || (option->kind == OPTION_OWN && option->most == 0);
    return is_word ? REDIS_ARGUMENT_STRING : REDIS_ARGUMENT_INTEGER;
}

/* The key, and one optional argument per option. */
static void list_options(const struct value_type *type, struct command_list *out) {
    struct argument *argument = out->options;
    *argument++ = (struct argument)ARGUMENT_KEY("key", "The key of the new {noun}");
    for (unsigned i = 0; type->options[i].token != NULL; i++) {
        const struct option *option = &type->options[i];
        option_range(option, out->ranges[i]);
        *argument++ = (struct argument){
            .name = option->name,
            .type = type_of_option(option),
            .flags = REDIS_ARGUMENT_OPTIONAL,
            .token = option->token,
            .meaning = option->meaning,
            .range = out->ranges[i],
            .fallback = option->fallback,
        };
    }
    *argument = (struct argument){.name = NULL};
}

static void add_table(const struct command *table, struct command_list *out) {
    for (; table->name != NULL && out->count < COMMANDS_LIMIT; table++)
        out->commands[out->count++] = *table;
}

void commands_of(const struct value_type *type, struct command_list *out) {
    out->count = 0;
    list_options(type, out);
    add_table(common_commands, out);
    /* The first of them makes a value. */
    out->commands[0].name = type->create_word;
    out->commands[0].arguments = out->options;
    if (type->merge != NULL) add_table(merge_commands, out);
    for (int i = 0; i < COMMAND_TABLES_LIMIT && type->commands[i] != NULL; i++)
        add_table(type->commands[i], out);
}
