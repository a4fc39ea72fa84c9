/* inputs.h - the files that a command reads lines from, or standard input.
 *
 * They are looked at before the work starts, so that a name mistyped at the end of the command
 * line is reported at once and not after an hour. */
#ifndef LETHE_CLI_INPUTS_H
#define LETHE_CLI_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inputs {
    char *const *paths; /* "-" is standard input */
    size_t count;       /* 1 or more */
    bool all_regular;   /* each is a file with a size, that can be read twice */
    const char *stream; /* the first that is not: a pipe, a terminal; NULL if all_regular */
    uint64_t bytes;     /* of all together, if all_regular */
};

/* Looks at the paths, or at standard input when there are none. paths must outlive *out.
 * Returns EXIT_DONE, or EXIT_ENVIRONMENT after naming the one that cannot be read. */
int inputs_look(char *const *paths, size_t count, struct inputs *out);

/* Whether one of them is the file at path, under whatever name. */
bool inputs_include(const struct inputs *inputs, const char *path);

/* Opens one of them. The caller gives the descriptor back to inputs_close. It is -1 if a signal
 * asked to stop while nobody had the other end of a pipe open. */
int inputs_open(const char *path, int *out_descriptor);
void inputs_close(int descriptor);

/* How to call it in a message. */
const char *inputs_name(const char *path);

/* Says that reading it failed, by errno. Returns EXIT_ENVIRONMENT. */
int inputs_fail(const char *path);

/* Writes what inputs_fail says of an error. */
void inputs_explain(const char *path, int error, char *text, size_t size);

#endif
