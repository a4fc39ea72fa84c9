/* events_source.h - the bytes of a file, decompressed if they are compressed.
 *
 * gzip and zstd are recognised by their first bytes, several members or frames behind each other are one
 * stream. What fails is told in words and not printed: a source is read by a thread of its own, and the terminal
 * belongs to another. */
#ifndef LETHE_CLI_EVENTS_SOURCE_H
#define LETHE_CLI_EVENTS_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why reading ended before its time. */
struct event_failure {
    int code; /* EXIT_DONE: it did not */
    char text[4096 + 512];
};
void event_failure_set(struct event_failure *failure, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct event_source;

/* Opens the file at path, or standard input for "-". While it waits for input, *stop set to true, or a signal,
 * ends the wait. NULL after a failure. */
struct event_source *event_source_open(const char *path, const atomic_bool *stop,
                                       struct event_failure *failure);
void event_source_close(struct event_source *source); /* takes NULL */

enum source_result {
    SOURCE_MORE = 0, /* at least a byte was read */
    SOURCE_END,
    SOURCE_STOPPED, /* by stop or a signal */
    SOURCE_FAILED
};
enum source_result event_source_read(struct event_source *source, char *out, size_t room,
                                     size_t *got, struct event_failure *failure);

/* Whether a read would have to wait for somebody to write. */
bool event_source_would_wait(const struct event_source *source);

/* A named file that can be read again, from the start or from where it was left. */
bool event_source_is_regular(const struct event_source *source);

/* Of a regular file that is not compressed, once something was read: its descriptor, to read it beside; -1 of all
 * others. */
int event_source_file(const struct event_source *source);

/* Whether a last line without its newline may still be written: in a regular file that is not compressed. */
bool event_source_may_grow(const struct event_source *source);

/* Goes back to the start of a named regular file. */
bool event_source_rewind(struct event_source *source);

/* Goes to a byte of a file that has a descriptor. */
bool event_source_seek(struct event_source *source, uint64_t offset);

/* How many bytes of the file itself have been read. */
uint64_t event_source_bytes(const struct event_source *source);

#endif
