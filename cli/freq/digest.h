/* freq/digest.h - a text of lines becomes a shorter list of keys with their weights.
 *
 * Guarantee  Of each key, the weights in the list add up to what the lines of the text say. The
 *            list depends on the text and the settings alone.
 * Memory     DIGEST_SETS pairs of counts and a list of DIGEST_LIST keys: at most 4.5 MiB.
 * Threads    One at a time. */
#ifndef LETHE_CLI_FREQ_DIGEST_H
#define LETHE_CLI_FREQ_DIGEST_H

#include "input/keys.h"

enum {
    DIGEST_SETS = 8192,
    DIGEST_LIST = 1 << 18,
    /* So many bytes after a text can be read, and say nothing. */
    DIGEST_PADDING = 64
};

/* A key of the text, and how often it counts. */
struct digest_key {
    uint32_t offset, size;
    uint64_t weight;
};

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

struct digest;

/* Returns NULL when memory is short. The caller frees it. */
struct digest *digest_new(const struct digest_settings *settings);
void digest_free(struct digest *digest); /* takes NULL */

/* Goes through a text, in which every line has its line end, and hands out lists until all of it is
 * in them. *lines becomes how many lines were read, the one that is wrong included; what that one
 * lacks goes to *problem. The text has less than 4 GiB, and DIGEST_PADDING more bytes after it.
 * Cost: O(size); a key that is frequent in the text costs no more than reading it. */
enum digest_result digest_text(struct digest *digest, lethe_bytes text, digest_visit *visit,
                               void *context, uint64_t *lines, struct key_problem *problem);

#endif
