/* output.h - standard output, where results go and nothing else.
 *
 * A reader that leaves early (`| head`) ends lethe by SIGPIPE, silently, as it ends any filter.
 * Every other failure to write is an error: a full disk must not look like success. */
#ifndef LETHE_CLI_OUTPUT_OUTPUT_H
#define LETHE_CLI_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Prepares the three standard streams; call first. */
void output_begin(void);

/* A failure to write was reported otherwise: it is not reported again at the end. */
void output_reported(void);

/* Writes bytes. Returns EXIT_DONE, or EXIT_ENVIRONMENT after saying why. */
int output_write(const void *data, size_t size);

/* Writes what is buffered. */
int output_flush(void);

/* For a command that has something to tidy up first. After the first call, a write to a reader that
 * has left fails with EPIPE and does not end the process. The second call ends the process by
 * SIGPIPE after all, and does not return. */
void output_outlive_reader(void);
void output_end_with_reader(void);

/* For such a command: reports why lines could not be written, by errno. Says nothing if the reader
 * has left. attempt completes "cannot ...". Returns the exit code. */
int output_fail(const char *attempt, const char *name, bool *has_no_reader);

/* Flushes and closes standard output; code is what the program would end with. Returns what it
 * should end with: success turns into EXIT_ENVIRONMENT if something could not be written. */
int output_end(int code);

#endif
