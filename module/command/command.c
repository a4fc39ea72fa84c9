/* module/command/command.c - registers commands with the server, as their descriptions say.
 *
 * The server copies what it is given, so the texts are put together on the stack. COMMAND DOCS
 * has no place for the ranges and defaults of a module's arguments, nor for its replies: they
 * are part of the summaries of arguments and command. */
#include "command/command.h"

#include <stdio.h>
#include <string.h>

#include "value/value.h"

enum {
    ARGUMENTS_LIMIT = 24,
    ARGUMENT_TEXT_BYTES = 256,
    SUMMARY_BYTES = 768,
    HISTORY_LIMIT = 16,
    CHANGE_BYTES = 256
};

/* A command's arguments as the server wants them. */
struct converted {
    redis_argument arguments[ARGUMENTS_LIMIT];
    char names[ARGUMENTS_LIMIT][COMMAND_NAME_BYTES];
    char texts[ARGUMENTS_LIMIT][ARGUMENT_TEXT_BYTES];
    size_t used;
};

/* "The number of rows. Range: 1 to 32. Default: 4." */
static void summarize_argument(const struct argument *argument, const struct value_type *type,
                               char text[ARGUMENT_TEXT_BYTES]) {
    char template[ARGUMENT_TEXT_BYTES], range[RANGE_TEXT_BYTES];
    argument_range(argument, range);
    snprintf(
        template, sizeof template, "%s%s%s%s%s", argument->meaning != NULL ? argument->meaning : "",
        range[0] != '\0' ? ". Range: " : "", range, argument->fallback != NULL ? ". Default: " : "",
        argument->fallback != NULL ? argument->fallback : "");
    expand(template, type, text, ARGUMENT_TEXT_BYTES);
}

/* Converts a list and the parts of its blocks. NULL when there are too many. */
static redis_argument *convert(const struct argument *list, const struct value_type *type,
                               struct converted *out) {
    size_t count = 0, first = out->used;
    while (list[count].name != NULL)
        count++;
    if (first + count + 1 > ARGUMENTS_LIMIT) return NULL;
    out->used += count + 1;
    int keys = 0;
    for (size_t i = 0; i < count; i++) {
        const struct argument *argument = &list[i];
        expand(argument->name, type, out->names[first + i], COMMAND_NAME_BYTES);
        summarize_argument(argument, type, out->texts[first + i]);
        redis_argument *parts =
            argument->parts != NULL ? convert(argument->parts, type, out) : NULL;
        if (argument->parts != NULL && parts == NULL) return NULL;
        bool is_key = argument->type == REDIS_ARGUMENT_KEY;
        out->arguments[first + i] = (redis_argument){
            .name = out->names[first + i],
            .type = argument->type,
            .key_spec = is_key ? keys++ : -1,
            .token = argument->token,
            .summary = out->texts[first + i],
            .flags = argument->flags,
            .parts = parts,
        };
    }
    out->arguments[first + count] = (redis_argument){.name = NULL};
    return out->arguments + first;
}

/* A command's history as the server wants it. */
struct converted_history {
    redis_history entries[HISTORY_LIMIT + 1];
    char texts[HISTORY_LIMIT][CHANGE_BYTES];
};

/* False when there are too many changes. */
static bool convert_history(const redis_history *list, const struct value_type *type,
                            struct converted_history *out) {
    size_t count = 0;
    for (; list != NULL && list[count].since != NULL; count++) {
        if (count == HISTORY_LIMIT) return false;
        expand(list[count].changes, type, out->texts[count], CHANGE_BYTES);
        out->entries[count] = (redis_history){list[count].since, out->texts[count]};
    }
    out->entries[count] = (redis_history){NULL, NULL};
    return true;
}

/* The summary, and the forms of the reply: "... Reply: 1 (added), or 0 (there already)". */
static void summarize(const struct command *command, const struct value_type *type,
                      char text[SUMMARY_BYTES]) {
    char template[SUMMARY_BYTES];
    size_t used = (size_t)snprintf(template, sizeof template, "%s", command->summary);
    for (const struct reply_form *form = command->replies; form->when != NULL; form++) {
        if (used >= sizeof template) break;
        used += (size_t)snprintf(template + used, sizeof template - used, "%s%s (%s)",
                                 form == command->replies ? ". Reply: " : ", or ", form->resp2,
                                 form->when);
    }
    expand(template, type, text, SUMMARY_BYTES);
}

/* One key or several at fixed places. */
static redis_key_spec spec_of(uint64_t flags, int first, int last) {
    return (redis_key_spec){
        .flags = flags,
        .search = REDIS_SEARCH_INDEX,
        .begin.index.position = first,
        .find = REDIS_FIND_RANGE,
        .keys.range = {last == -1 ? -1 : last - first, 1, 0},
    };
}

static void find_specs(const struct command *command, redis_key_spec specs[3]) {
    int first = command->first_key, last = command->last_key;
    memset(specs, 0, 3 * sizeof *specs);
    if (command->key_flags == KEY_MERGES) {
        specs[0] = spec_of(KEY_CHANGES, first, first);
        specs[1] = spec_of(KEY_READS, last, last);
        return;
    }
    specs[0] = spec_of((uint64_t)command->key_flags, first, last);
    if (strstr(command->flags, "getkeys-api") == NULL) return;
    /* The keys of the command that is called: only that command knows them. */
    specs[1] = (redis_key_spec){
        .flags = REDIS_KEY_READ_WRITE | REDIS_KEY_UPDATE | REDIS_KEY_INCOMPLETE,
        .search = REDIS_SEARCH_INDEX,
        .begin.index.position = 3,
        .find = REDIS_FIND_UNKNOWN,
    };
}

static const redis_command_info_version info_version = {
    .version = 1,
    .history_bytes = sizeof(redis_history),
    .key_spec_bytes = sizeof(redis_key_spec),
    .argument_bytes = sizeof(redis_argument),
};

static bool describe(redis_command *created, const struct value_type *type,
                     const struct command *command) {
    struct converted converted = {.used = 0};
    struct converted_history history;
    char summary[SUMMARY_BYTES];
    redis_key_spec specs[3];
    summarize(command, type, summary);
    find_specs(command, specs);
    if (!convert_history(command->history, type, &history)) return false;
    redis_command_info info = {
        .version = &info_version,
        .summary = summary,
        .complexity = command->complexity,
        .since = command->since,
        .history = command->history != NULL ? history.entries : NULL,
        .arity = command->arity,
        .key_specs = specs,
        .arguments = convert(command->arguments, type, &converted),
    };
    return info.arguments != NULL && redis.SetCommandInfo(created, &info) == REDIS_OK;
}

/* What rules like +@write and -@dangerous mean: docs/acl.md. A server that is too old for
 * categories needs rules by name. */
static bool categorize(redis_command *created, const struct command *command) {
    if (redis.SetCommandACLCategories == NULL) return true;
    char categories[COMMAND_NAME_BYTES];
    command_categories(command, categories);
    return redis.SetCommandACLCategories(created, categories) == REDIS_OK;
}

static bool register_one(redis_context *context, const struct value_type *type,
                         const struct command *command) {
    char name[COMMAND_NAME_BYTES];
    command_name(type, command, name);
    redis_command *created = NULL;
    if (redis.CreateCommand(context, name, command->function, command->flags, command->first_key,
                            command->last_key, 1) == REDIS_OK) {
        created = redis.GetCommand(context, name);
    }
    if (created != NULL && describe(created, type, command) && categorize(created, command))
        return true;
    redis.Log(context, "warning", "command %s can't be added", name);
    return false;
}

bool commands_register(redis_context *context, const struct value_type *type) {
    struct command_list list;
    commands_of(type, &list);
    for (size_t i = 0; i < list.count; i++) {
        if (!register_one(context, type, &list.commands[i])) return false;
    }
    return true;
}
