/* command.h - what a command is: one description, from which everything about it comes.
 *
 * The parser, `lethe help`, the man pages and the completions of bash, zsh and fish all read the
 * same struct command; none of them knows any command by name.
 *
 * Text and code stand apart. The manual.c of a folder describes the folder's commands: their
 * texts, options and examples, and nothing else. The other files hold the code. To add a command,
 * write its function run_NAME, describe it in manual.c as command_NAME, and add the row NAME to
 * commands.h. Options that several families share are in options.h.
 *
 * The texts are plain English in paragraphs without line breaks. What stands between `backquotes`
 * is literal: bold in a man page, and bare in a terminal's help. */
#ifndef LETHE_CLI_FRAME_COMMAND_H
#define LETHE_CLI_FRAME_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct arguments;

/* What a shell should offer for an operand or an option's value. */
enum completion { COMPLETE_NOTHING = 0, COMPLETE_FILES, COMPLETE_COMMANDS, COMPLETE_NAMES };

struct option {
    const char *name;    /* without its dashes: "capacity" */
    const char *value;   /* how its value is called, "N"; NULL for a flag */
    const char *choices; /* the only values it takes, "bloom|blocked"; NULL for any */
    const char *help;    /* a phrase or a sentence or two */
    char letter;         /* 'q' when -q means the same; 0 for none */
    bool hidden;         /* parsed, but not documented: for the build */
    bool may_be_empty;   /* its value: for texts that are passed on as they are */
    bool repeats;        /* each of its values counts, and not only the last (arguments_all) */
    bool is_list;        /* of its values: given twice, the last alone would be too little */
    enum completion completion;
};

struct example {
    const char *purpose; /* a sentence without its full stop */
    const char *command;
};

struct section {
    const char *heading; /* "Lines" */
    const char *const *paragraphs;
};

/* Every list ends with NULL, or an element that is all zero; an absent one is NULL. */
struct command {
    const char *path;               /* "filter build"; "" is lethe itself */
    const char *summary;            /* what it does, in a line, with no capital and no full stop */
    const char *const *synopses;    /* what follows "lethe PATH": one string per form */
    const char *const *description; /* paragraphs */
    const struct option *options;   /* without --help, which every command has */
    const struct section *sections; /* further headings of the manual */
    const struct example *examples;
    const char *exit_done;     /* what 0 means */
    const char *exit_negative; /* what 1 means; NULL when it is never returned */
    const char *exit_skipped;  /* what 5 means; the same */
    size_t operands_least, operands_most;
    enum completion operands;
    const char *names; /* of COMPLETE_NAMES: what follows "lethe" to print them, one on each line */
    bool forwards;     /* arguments are for another program: not parsed */
    /* Does the work and returns an exit code. NULL for a group of commands. */
    int (*run)(const struct arguments *arguments);
};

enum { OPERANDS_UNLIMITED = INT_MAX };

/* Short lists are written in place. Longer ones are arrays of their own before the command. */
#define SYNOPSES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define EXAMPLES(...) ((const struct example[]){__VA_ARGS__, {0}})

/* --help, which every command has without listing it. */
extern const struct option option_help;

/* All commands in the order of the manual, ending with NULL. */
extern const struct command *const commands[];

/* Finds the command that the most leading words name; lethe itself when none does.
 * Stores how many words its path took. */
const struct command *command_find(char *const *words, size_t count, size_t *used);

/* The next command directly below group, after the given one or from the beginning (NULL).
 * NULL when there is no more. */
const struct command *command_child(const struct command *group, const struct command *after);

/* The last word of a command's path: "build". */
const char *command_name(const struct command *command);

/* The heading under which `lethe help` lists a command: "Counting events". */
const char *command_family(const struct command *command);

/* Says that group has no command of that name, and which one may be meant. Returns EXIT_USAGE. */
int command_fail_unknown(const struct command *group, const char *word);

/* Runs what the words after "lethe" say. Returns the exit code. */
int command_dispatch(int count, char **words);

#endif
