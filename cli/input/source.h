/* source.h - the bytes of one input, decompressed if they are compressed. See input.h for the
 * stack.
 *
 * Threads  A source belongs to one thread. Another may set *stop. */
#ifndef LETHE_CLI_INPUT_SOURCE_H
#define LETHE_CLI_INPUT_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/input.h"

struct source;

/* Opens the file at path, or standard input for "-". While the source waits for input, *stop set to
 * true, or a signal, ends the wait; stop may be NULL. Returns NULL after a failure. */
struct source *source_open(const char *path, const atomic_bool *stop,
                           struct input_failure *failure);
/* Reads a descriptor that is open on the named regular file at path, and closes it at the end. */
struct source *source_adopt(const char *path, int descriptor, struct input_failure *failure);
void source_close(struct source *source); /* takes NULL */

/* From now on a signal does not stop reading. */
void source_ignore_signals(struct source *source);

enum source_result {
    SOURCE_MORE = 0, /* at least one byte was read */
    SOURCE_END,
    SOURCE_STOPPED, /* by stop or a signal */
    SOURCE_FAILED
};

/* Reads decompressed bytes. room is from 1 byte to 1 GiB. */
enum source_result source_read(struct source *source, char *out, size_t room, size_t *got,
                               struct input_failure *failure);

/* Whether a read would have to wait for somebody to write. */
bool source_would_wait(const struct source *source);

/* Whether it is a named regular file: one that can be read again, from the start or from where it
 * was left. */
bool source_is_regular(const struct source *source);

/* Its descriptor, for reading by offset; -1 unless it is a named regular file. */
int source_descriptor(const struct source *source);

/* The same, but only of a file that is not compressed, once something was read; -1 of all
 * others. */
int source_plain_file(const struct source *source);

/* Whether it is compressed, once something was read. */
bool source_is_packed(const struct source *source);

/* Whether a last line without its newline may still be written: in a regular file that is not
 * compressed. */
bool source_may_grow(const struct source *source);

/* After SOURCE_END of a file that may grow: the next read looks whether it has. */
void source_look_again(struct source *source);

/* Goes back to the start of a named regular file. */
bool source_rewind(struct source *source);

/* Goes to a byte of a file that source_plain_file has a descriptor of. */
bool source_seek(struct source *source, uint64_t offset);

/* How many bytes of the file itself, as it lies on disk, have been read. */
uint64_t source_bytes(const struct source *source);

const char *source_path(const struct source *source);

#endif
