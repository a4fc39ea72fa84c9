/* module/command/command.h - one description per command.
 *
 * A description feeds the registration with the server (flags, arity, keys), COMMAND DOCS, the
 * categories of access control, and the reference pages in docs/commands, which
 * tools/command_pages.py writes from what the program lethe-commands prints. Redis describes its
 * own commands in much the same way.
 *
 * Texts are templates: {prefix} is the type's prefix, {noun} what it calls a value, {item} what it
 * remembers, {create} the name of the command that makes one. So types share descriptions. */
#ifndef LETHE_MODULE_COMMAND_COMMAND_H
#define LETHE_MODULE_COMMAND_COMMAND_H

#include "command/options.h"
#include "command/ranges.h"
#include "server/redis_api.h"

struct value_type;

/* An argument. A list ends with one whose name is NULL. */
struct argument {
    const char *name;
    redis_argument_type type;
    /* REDIS_ARGUMENT_OPTIONAL and REDIS_ARGUMENT_MULTIPLE. */
    int flags;
    /* A word before it, or itself the argument where the type is REDIS_ARGUMENT_TOKEN; or NULL. */
    const char *token;
    /* What it is, as a sentence without a full stop; which values it may have; what it is if
     * left out. */
    const char *meaning, *range, *fallback;
    /* Or the range by which it is read (ranges.h): a value out of it is an error that names it. */
    const struct range *limits;
    /* Of a block: what it consists of. */
    const struct argument *parts;
};

/* One form of a reply, and when it comes. resp3 is NULL where it does not differ. */
struct reply_form {
    const char *when, *resp2, *resp3;
};

/* An error (server/errors.h), and when it comes. */
struct error_form {
    const char *text, *when;
};

/* How a command uses its keys. */
enum {
    KEY_READS = REDIS_KEY_READ_ONLY | REDIS_KEY_ACCESS,
    KEY_CHANGES = REDIS_KEY_READ_WRITE | REDIS_KEY_ACCESS | REDIS_KEY_UPDATE,
    KEY_CREATES = REDIS_KEY_READ_WRITE | REDIS_KEY_INSERT,
    KEY_REMOVES = REDIS_KEY_READ_WRITE | REDIS_KEY_DELETE,
    KEY_MERGES = -1 /* the first is changed, the last is read */
};

/* One command. A table ends with one whose name is NULL. */
struct command {
    /* Without the prefix. */
    const char *name;
    redis_command_function *function;
    /* As the server has them: "write", "readonly", "deny-oom", "fast", "getkeys-api". */
    const char *flags;
    /* The name counts; -n is n or more. */
    int arity;
    int key_flags;
    /* The positions of its first and last key. */
    int first_key, last_key;
    /* Whether it changes what is remembered, or carries all of it away: the category @dangerous. */
    bool is_dangerous;

    const char *since, *summary, *complexity;
    /* What later releases have changed, the oldest first: HISTORY; NULL if nothing. A change is a
     * sentence without a full stop. */
    const redis_history *history;
    const struct argument *arguments;
    const struct reply_form *replies;
    /* Besides WRONGTYPE, PARTIAL and a wrong number of arguments, which every command has; NULL if
     * there are no others. */
    const struct error_form *errors;
    /* For its page: paragraphs, and a session that a test repeats ("> " before what is sent). */
    const char *details, *example;
};

/* The members for a command whose first argument is its one key. */
#define ONE_KEY(flags_) .key_flags = flags_, .first_key = 1, .last_key = 1

#define ARGUMENTS(...)          \
    (const struct argument[]) { \
        __VA_ARGS__, {          \
            .name = NULL        \
        }                       \
    }
#define REPLIES(...)              \
    (const struct reply_form[]) { \
        __VA_ARGS__, {            \
            .when = NULL          \
        }                         \
    }
#define ERRORS(...)               \
    (const struct error_form[]) { \
        __VA_ARGS__, {            \
            .text = NULL          \
        }                         \
    }
#define HISTORY(...)          \
    (const redis_history[]) { \
        __VA_ARGS__, {        \
            .since = NULL     \
        }                     \
    }
#define ARGUMENT_KEY(name_, meaning_) \
    { .name = name_, .type = REDIS_ARGUMENT_KEY, .meaning = meaning_ }

/* Descriptions of commands that every type has; MERGE is for those that can merge. */
extern const struct command common_commands[], merge_commands[];

enum { COMMANDS_LIMIT = 40, COMMAND_NAME_BYTES = 64, COMMAND_TEXT_BYTES = 4096 };

/* All commands of a type. */
struct command_list {
    struct command commands[COMMANDS_LIMIT];
    size_t count;
    /* The arguments of the one that makes a value: from the type's table of options. */
    struct argument options[OPTION_COUNT_LIMIT + 2];
    char ranges[OPTION_COUNT_LIMIT][OPTION_RANGE_BYTES];
};
void commands_of(const struct value_type *type, struct command_list *out);

/* Writes which values an argument may have; "" if any. Whether another one is an error that names
 * it, for any of a list. */
void argument_range(const struct argument *argument, char text[RANGE_TEXT_BYTES]);
bool arguments_are_checked(const struct argument *list);

/* Fills in a template. What does not fit is cut off. */
void expand(const char *template, const struct value_type *type, char *out, size_t room);
/* The whole name of a command, with the prefix. */
void command_name(const struct value_type *type, const struct command *command,
                  char name[COMMAND_NAME_BYTES]);
/* Its categories of access control, such as "write fast dangerous". */
void command_categories(const struct command *command, char categories[COMMAND_NAME_BYTES]);

/* Registers all commands of a type with the server. */
bool commands_register(redis_context *context, const struct value_type *type);

#endif
