/* command.c - finds the command that is meant and runs it. */
#include "frame/command.h"

#include <string.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/help.h"
#include "frame/suggest.h"
#include "say/message.h"

#define COMMAND_ROW(name, family) &command_##name,
const struct command *const commands[] = {COMMANDS(COMMAND_ROW) NULL};

#define FAMILY_ROW(name, family) family,
static const char *const families[] = {COMMANDS(FAMILY_ROW) NULL};

const struct option option_help = {.name = "help", .letter = 'h', .help = "show this help"};

/* How many words the path has if the given words begin with all of them, else -1. */
static int match_path(const char *path, char *const *words, size_t count) {
    int matched = 0;
    while (*path != '\0') {
        size_t length = strcspn(path, " ");
        if ((size_t)matched == count || strlen(words[matched]) != length ||
            strncmp(words[matched], path, length) != 0) {
            return -1;
        }
        matched++;
        path += length;
        path += strspn(path, " ");
    }
    return matched;
}

const struct command *command_find(char *const *words, size_t count, size_t *used) {
    const struct command *best = &command_lethe;
    int best_words = 0;
    for (const struct command *const *row = commands; *row != NULL; row++) {
        int matched = match_path((*row)->path, words, count);
        if (matched > best_words) {
            best = *row;
            best_words = matched;
        }
    }
    *used = (size_t)best_words;
    return best;
}

const char *command_name(const struct command *command) {
    const char *space = strrchr(command->path, ' ');
    return space == NULL ? command->path : space + 1;
}

const char *command_family(const struct command *command) {
    size_t place = 0;
    while (commands[place] != command) {
        place++;
    }
    return families[place];
}

static bool is_child(const struct command *group, const struct command *command) {
    size_t parent_length = (size_t)(command_name(command) - command->path);
    if (parent_length == 0) return group->path[0] == '\0' && command->path[0] != '\0';
    return strlen(group->path) == parent_length - 1 &&
           strncmp(group->path, command->path, parent_length - 1) == 0;
}

const struct command *command_child(const struct command *group, const struct command *after) {
    bool is_behind = after == NULL;
    for (const struct command *const *row = commands; *row != NULL; row++) {
        if (is_behind && is_child(group, *row)) return *row;
        is_behind = is_behind || *row == after;
    }
    return NULL;
}

int command_fail_unknown(const struct command *group, const char *word) {
    const char *space = group->path[0] == '\0' ? "" : " ";
    struct suggestion suggestion = suggestion_for(word);
    for (const struct command *child = command_child(group, NULL); child != NULL;
         child = command_child(group, child)) {
        suggestion_offer(&suggestion, command_name(child));
    }
    if (suggestion.best != NULL) {
        return message_fail(EXIT_USAGE, "unknown command '%s%s%s'; did you mean '%s%s%s'?",
                            group->path, space, word, group->path, space, suggestion.best);
    }
    return message_fail(EXIT_USAGE, "unknown command '%s%s%s'; 'lethe help%s%s' lists the commands",
                        group->path, space, word, space, group->path);
}

int command_dispatch(int count, char **words) {
    size_t used;
    const struct command *command = command_find(words, (size_t)count, &used);
    words += used;
    count -= (int)used;
    bool is_group = command_child(command, NULL) != NULL;
    if (is_group && count > 0 && words[0][0] != '-') return command_fail_unknown(command, words[0]);

    struct arguments arguments;
    int code = arguments_parse(command, count, words, &arguments);
    if (code != EXIT_DONE) return code;
    if (arguments.wants_help) {
        help_show(command);
        return EXIT_DONE;
    }
    code = arguments_check_operands(&arguments);
    if (code != EXIT_DONE) return code;
    if (command->run == NULL) {
        help_print_short(command, stderr);
        return EXIT_USAGE;
    }
    return command->run(&arguments);
}
