/* inputs.h - the files that a command reads, or standard input.
 *
 * They are looked at before the work starts, so that a name mistyped at the end of the command line
 * is reported at once and not after an hour. */
#ifndef LETHE_CLI_INPUT_INPUTS_H
#define LETHE_CLI_INPUT_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inputs {
    /* "-" is standard input. */
    char *const *paths;
    /* 1 or more. */
    size_t count;

    /* Each is a file with a size, which can be read twice. */
    bool all_regular;
    /* At least one of these files is compressed: its content is larger than its size. */
    bool has_packed;
    /* The first that is not a file, such as a pipe or a terminal; NULL if all_regular. */
    const char *stream;
    /* The sizes of all together, on disk; 0 unless all_regular. */
    uint64_t bytes;
    /* Where standard input was, if that is a regular file; 0 otherwise. */
    uint64_t standard_at;

    /* They are read even if they are not text (--binary). The command sets it. */
    bool takes_binary;
    /* No progress is shown (--quiet). The command sets it. */
    bool is_quiet;
};

/* Looks at the paths, or at standard input when there are none. paths must outlive *out.
 * Returns EXIT_DONE, or EXIT_ENVIRONMENT after naming the one that cannot be read. */
int inputs_look(char *const *paths, size_t count, struct inputs *out);

/* The same for files that are followed: some may not be there yet, and none may be anything but a
 * regular file. Nothing is known of their size, or what all of them will be. Returns also
 * EXIT_USAGE, after naming the one that cannot be followed. */
int inputs_look_followed(char *const *paths, size_t count, struct inputs *out);

/* Whether one of them is the file at path, under whatever name. */
bool inputs_include(const struct inputs *inputs, const char *path);

/* Refuses an output file that is one of them: EXIT_USAGE after saying so, otherwise EXIT_DONE. */
int inputs_check_output(const struct inputs *inputs, const char *out);

bool inputs_is_standard(const char *path);
/* Whether it is a named regular file, which can be opened again and again. */
bool inputs_is_file(const char *path);

/* What to call it in a message. */
const char *inputs_name(const char *path);

/* Writes why it cannot be read, by an errno, and what to do. */
void inputs_explain(const char *path, int error, char *text, size_t size);

#endif
