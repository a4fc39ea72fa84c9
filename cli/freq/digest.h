/* freq/digest.h - a text of lines becomes a shorter list of keys with their weights.
 *
 * Guarantee  Of each key, the weights in the lists add up to what the lines of the texts say, once
 *            the table is emptied. The lists depend on the texts of a table, their order and the
 *            settings alone.
 * Memory     A table has 64 bytes for each set. A digest has a list of DIGEST_LIST keys: at most
 *            2 MiB.
 * Threads    A table and a digest are used by one thread at a time. */
#ifndef LETHE_CLI_FREQ_DIGEST_H
#define LETHE_CLI_FREQ_DIGEST_H

#include "input/keys.h"

enum {
    DIGEST_LIST = 1 << 16,
    /* A key of at most so many bytes is in the table and the list as it is. */
    DIGEST_SHORT_BYTES = 16,
    /* So many bytes after a text can be read, and say nothing. */
    DIGEST_PADDING = 64
};

/* A key of the texts, and how often it counts. */
struct digest_key {
    /* A short key, padded with zeros, or the hash of a long one. */
    uint64_t low, high;
    uint64_t weight;
    /* Where a long key is in its text. */
    uint32_t size, offset;
};

/* The key itself. text is that of which the list was made; a short key does not need it. */
static inline lethe_bytes digest_key_bytes(const struct digest_key *key, const char *text) {
    const void *data =
        key->size <= DIGEST_SHORT_BYTES ? (const char *)&key->low : text + key->offset;
    return (lethe_bytes){.data = data, .size = key->size};
}

/* Takes the list. Returns false to end the work. */
typedef bool digest_visit(void *context, const struct digest_key *keys, size_t count);

struct digest_settings {
    struct key_fields fields;
    /* That of the hash by which long keys are told apart. */
    uint64_t seed;
    size_t longest_key;
};

enum digest_result {
    DIGEST_DONE = 0,
    /* A line lacks its key or its weight. */
    DIGEST_LACKS,
    /* A key is longer than longest_key. */
    DIGEST_LONG,
    /* The visit said so. */
    DIGEST_ENDED
};

/* Counts of keys. They stay from one text to the next, but not those of long keys. */
struct digest_table;

/* Returns NULL when memory is short. The caller frees it. sets is a power of two above 1. */
struct digest_table *digest_table_new(size_t sets);
void digest_table_free(struct digest_table *table); /* takes NULL */

struct digest;

/* Returns NULL when memory is short. The caller frees it. */
struct digest *digest_new(const struct digest_settings *settings);
void digest_free(struct digest *digest); /* takes NULL */

/* Goes through a text, in which every line has its line end, and hands out lists until all of it is
 * in them or in the table. *lines becomes how many lines were read, the one that is wrong included;
 * what that one lacks goes to *problem. The text has less than 4 GiB, and DIGEST_PADDING more bytes
 * after it.
 * Cost: O(size); a key that is frequent in the texts costs no more than reading it. */
enum digest_result digest_text(struct digest *digest, struct digest_table *table, lethe_bytes text,
                               digest_visit *visit, void *context, uint64_t *lines,
                               struct key_problem *problem);

/* Hands out what is in the table, which is empty then. Returns DIGEST_DONE or DIGEST_ENDED.
 * Cost: O(sets). */
enum digest_result digest_empty(struct digest *digest, struct digest_table *table,
                                digest_visit *visit, void *context);

#endif
