/* leveldb.c - filters of lethe/packed.h as LevelDB wants them: named, made of many keys, and
 * checked.
 *
 * IDEA    A policy is a lethe_packed under a name. LevelDB hands over the keys of a data block and
 *         keeps what it is given; later it hands that back with a key.
 * LAYOUT  a block of docs/format/packed.md, then 2 bytes: a check of the block, little-endian.
 * I1      A filter is never empty: LevelDB takes an empty one for that of no keys, and says
 *         "absent" by itself.
 * I2      What is not a filter of this layout, or fails its check, matches every key.
 * WHY     LevelDB verifies its checksum of all of a table's filters only with paranoid_checks, and
 *         a bit that fell to 0 would make a key absent that is there. The check is looked at only
 *         before a key is called absent, and costs a few nanoseconds where a read that is saved
 *         costs a thousand.
 * LIMIT   LevelDB's list of where each filter lies is its own: when that is damaged, it may ask the
 *         filter of other keys. */
#include <lethe/leveldb.h>

#include <leveldb/c.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lethe/hash.h>
#include <lethe/packed.h>

#define CHECK_MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

enum { NAME_BYTES = 64, CHECK_BYTES = 2, WORD_BYTES = 8, HASHES_AT_HAND = 256, FORMAT_VERSION = 1 };

struct lethe_leveldb {
    lethe_packed *packed;
    uint64_t seed;
    const lethe_allocator *allocator;
    char name[NAME_BYTES];
};

static const struct kind {
    const char *name;
    lethe_packed_kind kind;
} kinds[] = {
    {"bloom", LETHE_PACKED_BLOOM},
    {"blocked", LETHE_PACKED_BLOCKED},
    {"gaussian", LETHE_PACKED_GAUSSIAN},
    {"quotient", LETHE_PACKED_QUOTIENT},
};

static const struct kind *find_kind(const char *name) {
    for (size_t i = 0; name != NULL && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    }
    return NULL;
}

/* A seed of the caller's may be a secret: the name shows a hash of it. */
static void write_name(lethe_leveldb *policy, const char *kind, uint64_t seed) {
    if (seed == 0 || seed == LETHE_DEFAULT_SEED) {
        snprintf(policy->name, sizeof policy->name, "lethe.%s.v%d", kind, FORMAT_VERSION);
    } else {
        snprintf(policy->name, sizeof policy->name, "lethe.%s.v%d.%016" PRIx64, kind,
                 FORMAT_VERSION, lethe_hash_u64(seed, FORMAT_VERSION).high);
    }
}

/* Takes the caller's options by the rule for structs with a size (lethe/status.h). The library has
 * a function for that, but this plug-in uses only its public headers. */
static bool take_options(const lethe_leveldb_options *options, lethe_leveldb_options *given) {
    enum { FIRST_BYTES = offsetof(lethe_leveldb_options, allocator) + sizeof(void *) };
    *given = (lethe_leveldb_options)LETHE_INIT(lethe_leveldb_options);
    if (options == NULL) return true;
    if (options->size < FIRST_BYTES) return false;
    const unsigned char *bytes = (const unsigned char *)options;
    for (size_t i = sizeof *given; i < options->size; i++)
        if (bytes[i] != 0) return false;
    memcpy(given, options, options->size < sizeof *given ? options->size : sizeof *given);
    const lethe_allocator *allocator = given->allocator;
    return allocator == NULL || (allocator->allocate_zeroed != NULL && allocator->release != NULL);
}

lethe_status lethe_leveldb_new(const char *kind, const lethe_leveldb_options *options,
                               lethe_leveldb **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    const struct kind *found = find_kind(kind);
    lethe_leveldb_options given;
    if (found == NULL || !take_options(options, &given)) return LETHE_EINVAL;
    const lethe_allocator *allocator =
        given.allocator != NULL ? given.allocator : lethe_default_allocator();
    lethe_leveldb *policy = allocator->allocate_zeroed(allocator->context, sizeof *policy);
    if (policy == NULL) return LETHE_ENOMEM;
    *policy = (lethe_leveldb){.seed = given.seed != 0 ? given.seed : LETHE_DEFAULT_SEED,
                              .allocator = allocator};
    write_name(policy, found->name, given.seed);
    lethe_status status = lethe_packed_new(
        &LETHE_OPTIONS(lethe_packed_options, .kind = found->kind,
                       .bits_per_key = given.bits_per_key, .hashes = given.hashes,
                       .slot_bits = given.slot_bits, .seed = given.seed, .allocator = allocator),
        &policy->packed);
    if (status != LETHE_OK) {
        lethe_leveldb_free(policy);
        return status;
    }
    *out = policy;
    return LETHE_OK;
}

void lethe_leveldb_free(lethe_leveldb *policy) {
    if (policy == NULL) return;
    lethe_packed_free(policy->packed);
    policy->allocator->release(policy->allocator->context, policy, sizeof *policy);
}

const char *lethe_leveldb_name(const lethe_leveldb *policy) {
    return policy != NULL ? policy->name : "";
}

/* 8 bytes as a little-endian word. */
static uint64_t word_at(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The sum of the words times the powers of an odd number: a change of one word always changes it.
 * The last word is that of the last 8 bytes, wherever it begins; a block has 9 or more. A hash that
 * is good for more takes longer. */
static unsigned check_of(const lethe_leveldb *policy, const unsigned char *block, size_t size) {
    uint64_t sum = policy->seed + size, power = CHECK_MULTIPLIER;
    for (size_t at = 0; at + WORD_BYTES < size; at += WORD_BYTES, power *= CHECK_MULTIPLIER)
        sum += word_at(block + at) * power;
    sum += word_at(block + size - WORD_BYTES) * power;
    return (unsigned)((sum ^ sum >> 32) * CHECK_MULTIPLIER >> 48);
}

/* Fills a block and its check. */
static void fill(const lethe_leveldb *policy, const lethe_hash *hashes, size_t count,
                 unsigned char *bytes, size_t block_size) {
    (void)lethe_packed_build(policy->packed, hashes, count, bytes, block_size);
    unsigned check = check_of(policy, bytes, block_size);
    bytes[block_size] = (unsigned char)(check & 0xff);
    bytes[block_size + 1] = (unsigned char)(check >> 8);
}

/* A filter that is too short to be one: it matches every key. */
static char *create_without_memory(size_t *size) {
    char *byte = calloc(1, 1);
    *size = byte != NULL ? 1 : 0;
    return byte;
}

char *lethe_leveldb_create(const lethe_leveldb *policy, const char *const *keys,
                           const size_t *sizes, size_t count, size_t *size) {
    if (size == NULL) return NULL;
    *size = 0;
    if (policy == NULL || ((keys == NULL || sizes == NULL) && count > 0)) return NULL;
    lethe_hash at_hand[HASHES_AT_HAND], *hashes = at_hand;
    size_t block_size = lethe_packed_size(policy->packed, count);
    if (count > HASHES_AT_HAND) hashes = calloc(count, sizeof *hashes);
    unsigned char *bytes = block_size > 0 ? malloc(block_size + CHECK_BYTES) : NULL;
    if (hashes != NULL && bytes != NULL) {
        for (size_t i = 0; i < count; i++)
            hashes[i] = lethe_packed_hash(policy->packed, keys[i], sizes[i]);
        fill(policy, hashes, count, bytes, block_size);
        *size = block_size + CHECK_BYTES;
    } else {
        free(bytes);
        bytes = (unsigned char *)create_without_memory(size);
    }
    if (hashes != at_hand) free(hashes);
    return (char *)bytes;
}

bool lethe_leveldb_match(const lethe_leveldb *policy, const char *key, size_t key_size,
                         const char *filter, size_t size) {
    if (policy == NULL || filter == NULL || size <= WORD_BYTES + CHECK_BYTES) return true;
    /* The filter is rarely in the cache: it can be on its way while the key is hashed. */
    __builtin_prefetch(filter);
    __builtin_prefetch(filter + size - 1);
    const unsigned char *bytes = (const unsigned char *)filter;
    size_t block_size = size - CHECK_BYTES;
    unsigned check = bytes[block_size] | (unsigned)bytes[block_size + 1] << 8;
    lethe_hash hash = lethe_packed_hash(policy->packed, key, key_size);
    if (lethe_packed_test(policy->packed, hash, bytes, block_size)) return true;
    return check_of(policy, bytes, block_size) != check;
}

static void destroy(void *state) {
    lethe_leveldb_free(state);
}

static char *create(void *state, const char *const *keys, const size_t *sizes, int count,
                    size_t *size) {
    char *filter = lethe_leveldb_create(state, keys, sizes, (size_t)count, size);
    /* Not one byte to be had, and no way to say so: LevelDB would take no filter for the filter of
     * no keys. It ends the program itself where it lacks memory. */
    if (filter == NULL) abort();
    return filter;
}

static uint8_t match(void *state, const char *key, size_t key_size, const char *filter,
                     size_t size) {
    return lethe_leveldb_match(state, key, key_size, filter, size);
}

static const char *name(void *state) {
    return lethe_leveldb_name(state);
}

lethe_status lethe_leveldb_policy(const char *kind, const lethe_leveldb_options *options,
                                  leveldb_filterpolicy_t **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_leveldb *policy;
    lethe_status status = lethe_leveldb_new(kind, options, &policy);
    if (status == LETHE_OK) {
        *out = leveldb_filterpolicy_create(policy, destroy, create, match, name);
    }
    return status;
}
