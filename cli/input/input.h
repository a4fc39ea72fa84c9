/* input.h - how every command reads: one stack, from file names to lines.
 *
 *   inputs   which files there are; standard input; whether all are files with a size
 *   source   one file: opened, waited for, decompressed (unpack)
 *   verify   compressed files, read to their ends before anything of them is used
 *   stream   a source behind a buffer: unread bytes lie together
 *   place    a place in a stream, by its content: marked (resume), and found by a later run
 *   lines    batches of lines, for dedup, filter and freq; keys: the fields of lines (--field)
 *   events/  batches of events, for count: records, fields, quotes, JSON
 *
 * Rules, the same for every command:
 *   - A file, or standard input, that begins as gzip, zstd, bzip2 or xz files do is decompressed.
 *     Several members one after the other are one input. A member that is cut short or damaged is
 *     EXIT_BAD_DATA, never an early end; within its first bytes too (packing_cut_short).
 *   - Nothing is used of compressed files before all of them were decompressed once and their
 *     checksums were right (verify.h): what is decompressed before that may be wrong. A pipe cannot
 *     be read twice, so lines of it are used before its checksum is known, and a message after
 *     damage says so (input_failure_advise).
 *   - A line ends with a newline. A carriage return before the newline is part of the line end, not
 *     of the line. Every other byte, also NUL, belongs to the line.
 *   - The last line needs no newline. In a file that may still grow, a command that remembers how
 *     far it has read leaves such a line for the next run.
 *   - Input that is not text is refused, EXIT_BAD_DATA, unless --binary insists (binary.h); so is
 *     text whose lines end with carriage returns alone, which would be one line.
 *   - A UTF-8 byte order mark at the start of a line is not part of the line: files that each begin
 *     with one may have been put together. UTF-16 is refused.
 *   - A place in an input is known by the content before it (resume.h). Offsets count decompressed
 *     bytes.
 *
 * Errors are kept as words in a struct input_failure and not printed: the reader of events has its
 * own thread, and the terminal belongs to another. */
#ifndef LETHE_CLI_INPUT_INPUT_H
#define LETHE_CLI_INPUT_INPUT_H

#include <stdbool.h>

/* Why reading ended early. Zeroed: it did not. */
struct input_failure {
    /* EXIT_DONE while all is well. */
    int code;
    /* Compressed data is damaged or cut short, and the text does not say yet what to do. */
    bool is_damage;
    /* For the user. Has room for a file name of 4096 bytes. */
    char text[4096 + 512];
};

void input_failure_set(struct input_failure *failure, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Completes the text of damage: what was used, and what to do. is_used says that lines of the
 * inputs were used already. Other failures stay as they are. */
void input_failure_advise(struct input_failure *failure, bool is_used);

#endif
