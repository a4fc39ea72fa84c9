/* lethe/leveldb.h - Lethe's filters in LevelDB: a filter policy by name.
 *
 * LevelDB keeps one filter for every 2 KiB of a table (or for every data block, when blocks are
 * larger) and asks it before it reads the block. From C:
 *
 *   leveldb_filterpolicy_t *policy;
 *   lethe_status status = lethe_leveldb_policy("quotient", NULL, &policy);
 *   if (status == LETHE_OK) leveldb_options_set_filter_policy(options, policy);
 *
 * and from C++, with lethe/leveldb.hpp: options.filter_policy = lethe::NewFilterPolicy("quotient");
 *
 * Kinds: "quotient" has the smallest error from 7 bits per key on, and "bloom" below that.
 * "blocked" is for data blocks of many thousand keys. "gaussian" (lethe/gaussian.h) is for
 * comparison; in equal memory the others have smaller errors. lethe/packed.h describes each kind,
 * and docs/choosing.md says what was measured.
 *
 * Guarantee  A key that was written is never reported absent. Every filter carries a check of 16
 *            bits. Damaged bytes are recognised, except for one case in 65,536, and then mean "may
 *            be there". Any bytes are safe to read.
 * Names      A policy is called lethe.KIND.v1, followed by a mark of the seed if one was given.
 *            LevelDB writes the name into every table and uses only filters of its own policy's
 *            name. A database that was written with another policy, or with none, is read without
 *            filters and gets them as its tables are rewritten. Options other than kind and seed
 *            may change from one opening to the next.
 * Memory     bits_per_key for each key, and 3 bytes for each filter.
 * Threads    A policy never changes, so all threads may use one.
 * Caveats    Only for keys that LevelDB compares byte by byte, not for a comparator that treats
 *            different bytes as equal. LevelDB itself records where the filters of a table are, and
 *            filters cannot detect damage there: with paranoid_checks, LevelDB verifies its own
 *            checksum of all that when it opens a table. */
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

/* LevelDB's own type; leveldb/c.h declares the same. */
typedef struct leveldb_filterpolicy_t leveldb_filterpolicy_t;

/* Zero in a field selects its default; NULL options are all defaults. The ranges are those of
 * lethe/packed.h. */
typedef struct lethe_leveldb_options {
    size_t size;

    /* 0 -> 10 */
    double bits_per_key;
    /* k; 0 -> the best. */
    uint32_t hashes;
    /* Gaussian: 0 -> 2; 1..4. Otherwise 0. */
    uint32_t slot_bits;

    /* Keys the hash; 0 -> LETHE_DEFAULT_SEED. It is not saved. */
    uint64_t seed;
    /* NULL -> the default one. It must outlive the policy. Filters themselves come from malloc,
     * since LevelDB frees them. */
    const lethe_allocator *allocator;
} lethe_leveldb_options;

/* Makes a policy for leveldb_options_set_filter_policy. The caller owns *out
 * (leveldb_filterpolicy_destroy, after the database is closed). On error *out is NULL.
 * Cost: under a millisecond.
 * Errors: LETHE_EINVAL (no such kind, or an option out of its range), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_leveldb_policy(const char *kind,
                                                             const lethe_leveldb_options *options,
                                                             leveldb_filterpolicy_t **out);

/* What such a policy consists of, for programs with another interface to LevelDB. lethe/leveldb.hpp
 * is made of these functions. */
typedef struct lethe_leveldb lethe_leveldb;

/* As above; the caller owns *out (lethe_leveldb_free). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_leveldb_new(const char *kind,
                                                          const lethe_leveldb_options *options,
                                                          lethe_leveldb **out);

/* Takes NULL. */
LETHE_API void lethe_leveldb_free(lethe_leveldb *policy);

/* Such as "lethe.quotient.v1"; it lives as long as the policy. "" for NULL. Cost: O(1). */
LETHE_API const char *lethe_leveldb_name(const lethe_leveldb *policy);

/* Makes the filter of count keys: *size bytes from malloc, at least one, which the caller frees.
 * When there is no memory for it, the filter is a single byte that says "may be there" of every
 * key. The result is NULL, and *size 0, only when there is no memory for that byte either, or when
 * an argument is missing. Cost: see lethe_packed_build. */
LETHE_API char *lethe_leveldb_create(const lethe_leveldb *policy, const char *const *keys,
                                     const size_t *sizes, size_t count, size_t *size);

/* Whether the key may be in a filter, which may be any bytes; true where policy or filter is NULL.
 * Nothing is allocated. Cost: a hash of the key and lethe_packed_test; if the key is absent, also a
 * pass over the filter, one nanosecond for every 8 bytes. */
LETHE_API bool lethe_leveldb_match(const lethe_leveldb *policy, const char *key, size_t key_size,
                                   const char *filter, size_t size);

#ifdef __cplusplus
}
#endif

#endif
