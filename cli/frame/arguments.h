/* arguments.h - a command's options and operands, parsed by its own description.
 *
 * Options are long: --name value or --name=value; a few have a letter. They may stand before,
 * between and after the operands; "--" ends them. They are never abbreviated, so an option added
 * later cannot change what an old script means. If an option is given twice, its last value counts,
 * so that an alias can be overridden, unless its description says that it repeats. A list is
 * refused then: who gives two limits wants both. "-" alone is an operand, and so is a negative
 * number. */
#ifndef LETHE_CLI_FRAME_ARGUMENTS_H
#define LETHE_CLI_FRAME_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/command.h"
#include "frame/exit_code.h"

enum { OPTIONS_LIMIT = 64, EARLIER_LIMIT = 255 };

struct arguments {
    const struct command *command;
    const char *values[OPTIONS_LIMIT]; /* by place in the command's table; NULL when not given */
    /* Of options that repeat: what was given before the last value, in its order. */
    struct {
        size_t place;
        const char *value;
    } earlier[EARLIER_LIMIT];
    size_t earlier_count;
    char **operands;
    size_t operand_count;
    bool wants_help;
    /* The words after the command's name. Without operands, they are as they were given. */
    char **words;
    size_t word_count;
};

/* Sorts words into options and operands. Rearranges words: operands point into it.
 * Returns EXIT_DONE or EXIT_USAGE. */
int arguments_parse(const struct command *command, int count, char **words, struct arguments *out);

/* Whether there are as many operands as the command takes. */
int arguments_check_operands(const struct arguments *arguments);

/* Every name below must be in the command's table: another one is a mistake in this program. */

bool arguments_has(const struct arguments *arguments, const char *name);

/* An option's value as it was written, or NULL. */
const char *arguments_text(const struct arguments *arguments, const char *name);

/* Every value of an option that repeats, in their order. Returns how many there are. */
size_t arguments_all(const struct arguments *arguments, const char *name,
                     const char *out[EARLIER_LIMIT + 1]);

/* The values of options that need not be given: *out keeps what it holds when they are not. Each
 * returns EXIT_DONE, or EXIT_USAGE after saying what is accepted. */
int arguments_count(const struct arguments *arguments, const char *name, uint64_t least,
                    uint64_t most, uint64_t *out);
int arguments_probability(const struct arguments *arguments, const char *name, double least,
                          double most, double *out);
int arguments_size(const struct arguments *arguments, const char *name, uint64_t least,
                   uint64_t most, uint64_t *out_bytes);
int arguments_duration(const struct arguments *arguments, const char *name, uint64_t least_ms,
                       uint64_t most_ms, uint64_t *out_ms);
int arguments_seed(const struct arguments *arguments, const char *name, uint64_t *out);
/* Stores the place of the value among the option's choices, from 0. */
int arguments_choice(const struct arguments *arguments, const char *name, size_t *out);

/* Says that the command line is wrong in a way that only the command itself can see, and adds how
 * to get help. */
int arguments_fail(const struct arguments *arguments, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
