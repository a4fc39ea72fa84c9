/* tests/cli/reading.h - files of events, read into texts that tests compare.
 *
 * A text has an event a line: "LINE|ID|KEY=DELTA,KEY=DELTA", and "@TIME" after it if there is one,
 * or "LINE!" if the line is unreadable. */
#ifndef LETHE_TESTS_CLI_READING_H
#define LETHE_TESTS_CLI_READING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "events/events.h"

/* A text that grows. */
struct text {
    char *data;
    size_t size, room;
};

void add(struct text *text, const void *data, size_t size);
void add_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* So many events, all of them right. */
struct text many_lines(size_t count);

/* Adds an operation of a batch, as a line. */
void add_operation(struct text *text, const struct event_batch *batch, size_t place);

/* What a reading gave. */
struct reading {
    struct text text;
    int code;
    char failure[256];
    char warning[320];
    uint64_t resumed_at, offset, line, unreadable, events, marks, pending;
};

/* The one file that is written and read, in a folder of its own. */
extern char file_path[64];
bool make_file_path(void);
void remove_file_path(void);
void write_file(const void *data, size_t size);

struct event_options options_for(enum event_kind kind, const char *fields);
/* Reads a file, with the marks of a table or none. The caller frees the reading's text. */
struct reading read_path(const char *path, const struct event_options *options,
                         struct resume_table *table);
struct reading read_bytes(const void *data, size_t size, const struct event_options *options);
/* Reads bytes, and compares. */
void check(enum event_kind kind, const char *fields, const char *input, size_t size,
           const char *expected);

typedef size_t (*packer)(const char *data, size_t size, char *out, size_t room);
size_t pack_gzip(const char *data, size_t size, char *out, size_t room);
size_t pack_zstd(const char *data, size_t size, char *out, size_t room);
size_t pack_bzip2(const char *data, size_t size, char *out, size_t room);
size_t pack_xz(const char *data, size_t size, char *out, size_t room);
/* Packs a text in two members, cut in the middle of a line. */
size_t pack_twice(packer pack, const struct text *text, char *out, size_t room);

#endif
