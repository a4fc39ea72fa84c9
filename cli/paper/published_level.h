/* paper/published_level.h - a published quotient filter in a file: one level of a cascade.
 *
 * It is written once, from one end to the other, and then read: in order, or a page at a time for
 * a lookup. All of it goes past the page cache where the file system can. */
#ifndef LETHE_CLI_PAPER_PUBLISHED_LEVEL_H
#define LETHE_CLI_PAPER_PUBLISHED_LEVEL_H

#include "paper/published_quotient.h"

enum { LEVEL_PAGE_BYTES = 4096, LEVEL_BUFFER_BYTES = 1 << 20 };

/* Each function that can fail returns false, or NULL, with errno. */

struct level_writer;
struct level_writer *level_writer_open(const char *path, const struct published_shape *shape);
/* Entries must come in ascending order. */
bool level_writer_put(struct level_writer *writer, uint64_t entry);
/* Writes the rest and closes the file. Frees the writer in any case. */
bool level_writer_close(struct level_writer *writer);

/* Reads entries in order: of a file, or of a filter in memory. */
struct level_reader;
struct level_reader *level_reader_open(const char *path, const struct published_shape *shape);
struct level_reader *level_reader_of(const struct published_quotient *filter,
                                     const struct published_shape *shape);
/* False at the end, and after a failure, with errno; errno is 0 at the end. */
bool level_reader_next(struct level_reader *reader, uint64_t *entry);
void level_reader_close(struct level_reader *reader); /* takes NULL */

/* Looks up fingerprints, a page at a time. */
struct level_lookup;
struct level_lookup *level_lookup_open(const char *path, const struct published_shape *shape);
/* *balance becomes how often the fingerprint is there, less its tombstones; *reads grows by the
 * pages that were read. */
bool level_lookup_balance(struct level_lookup *lookup, uint64_t fingerprint, int64_t *balance,
                          uint64_t *reads);
/* Reads one of the pages, for comparison: any number chooses one. */
bool level_lookup_read(struct level_lookup *lookup, uint64_t random);
void level_lookup_close(struct level_lookup *lookup); /* takes NULL */

#endif
