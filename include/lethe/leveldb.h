/* lethe/leveldb.h - Lethe's filters in LevelDB: a filter policy by name.
 *
 * LevelDB keeps a filter for every 2 KiB of a table (for every data block, when those are larger) and asks it before it
 * reads the block. From C:
 *
 *   leveldb_filterpolicy_t *policy;
 *   lethe_status status = lethe_leveldb_policy("quotient", NULL, &policy);
 *   if (status == LETHE_OK) leveldb_options_set_filter_policy(options, policy);
 *
 * and from C++, with lethe/leveldb.hpp: options.filter_policy = lethe::NewFilterPolicy("quotient");
 *
 * The kinds: "quotient" errs least from 7 bits a key on, "bloom" below that; "blocked" is for data blocks of many thousand
 * keys; "gaussian" (lethe/gaussian.h) is for comparison: in equal memory the others err less. lethe/packed.h tells
 * more of each, and docs/choosing.md what was measured.
 *
 * Guarantee  A key that was written is never reported absent. Every filter carries a check of 16 bits: damaged bytes are
 *            told from a filter, but for one in 65,536, and mean "may be there". Any bytes are survived.
 * Names      A policy is called lethe.KIND.v1, followed by a mark of the seed if one was given. LevelDB writes the name into
 *            every table and uses only filters of its own policy's name: a database that was written with another
 *            policy, or with none, is read without filters, and gets them as its tables are rewritten.
 *            Options other than kind and seed may change from one opening to the next.
 * Memory     bits_per_key for each key, and 3 bytes for each filter.
 * Threads    Policies never change: all threads may use one.
 * Caveats    For keys that LevelDB compares byte by byte: not with a comparator that calls different bytes equal.
 *            Where the filters of a table lie is written by LevelDB, and nothing in them can tell when that is damaged:
 *            paranoid_checks has it verify its own checksum of all of it when it opens a table. */
#ifndef LETHE_LEVELDB_H
#define LETHE_LEVELDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* LevelDB's own type; leveldb/c.h says the same. */
typedef struct leveldb_filterpolicy_t leveldb_filterpolicy_t;

/* Zero in a field selects its default; NULL means all defaults. Ranges are those of lethe/packed.h. */
typedef struct lethe_leveldb_options {
    double bits_per_key; /* 0 -> 10 */
    uint32_t hashes;     /* k; 0 -> the best */
    uint32_t slot_bits;  /* gaussian: 0 -> 2; 1..4; otherwise 0 */
    uint64_t seed;       /* keys the hash; 0 -> LETHE_DEFAULT_SEED; not saved */
    const lethe_allocator
        *allocator; /* NULL -> the default; must outlive the policy. Filters themselves
                                         come from malloc, since LevelDB frees them */
} lethe_leveldb_options;

/* Makes a policy for leveldb_options_set_filter_policy. The caller owns *out (leveldb_filterpolicy_destroy, after the
 * database is closed). On error *out is NULL. Cost: under a millisecond.
 * Errors: LETHE_EINVAL (no such kind; an option out of its range), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_leveldb_policy(const char *kind,
                                                             const lethe_leveldb_options *options,
                                                             leveldb_filterpolicy_t **out);

/* What such a policy consists of, for whoever has another interface to LevelDB: lethe/leveldb.hpp is made of
 * these. */
typedef struct lethe_leveldb lethe_leveldb;

/* As above; the caller owns *out (lethe_leveldb_free). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_leveldb_new(const char *kind,
                                                          const lethe_leveldb_options *options,
                                                          lethe_leveldb **out);
/* Takes NULL. */
LETHE_API void lethe_leveldb_free(lethe_leveldb *policy);

/* "lethe.quotient.v1"; lives as long as the policy. Cost: O(1). */
LETHE_API const char *lethe_leveldb_name(const lethe_leveldb *policy);

/* Makes the filter of count keys: *size bytes from malloc, never none, which the caller frees. Without memory for it, it is a
 * single byte that says "may be there" of every key; NULL, and *size 0, only when there is none for
 * that. Cost: see lethe_packed_build. */
LETHE_API char *lethe_leveldb_create(const lethe_leveldb *policy, const char *const *keys,
                                     const size_t *sizes, size_t count, size_t *size);

/* Whether the key may be in a filter, which may be any bytes. Nothing is allocated.
 * Cost: a hash of the key and lethe_packed_test; if it is absent, a pass over the filter, a nanosecond for
 * every 8 bytes. */
LETHE_API bool lethe_leveldb_match(const lethe_leveldb *policy, const char *key, size_t key_size,
                                   const char *filter, size_t size);

#ifdef __cplusplus
}
#endif

#endif
