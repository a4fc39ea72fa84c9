/* filter/packed/packed.c - filters of a few dozen keys in the caller's bytes.
 *
 * IDEA    A block is an array of bits followed by one byte, its note. The note says what cannot be
 *         seen from the outside: k, for the Gaussian filter the bits of a slot, for the quotient
 *         filter r. The size of the array follows from the size of the block. So that byte is all
 *         that has to be read before the first probe.
 * LAYOUT  bloom:    m = 8(size - 1) bits; note: k, 1 to 32
 *         blocked:  lines of 64 bytes; note: k, a multiple of 8 up to 32
 *         gaussian: m = floor(8(size - 1) / t) slots of t bits; note: k + 64(t - 1), k from 1 to 12
 *         quotient: unary counts of B buckets, remainders from the end; note: r, 1 to 56
 *         Bits are numbered as in docs/format/bloom.md, and probes fall as there.
 * I1      Every other note means "may be there", and so does a size that is too small for one word
 *         or not a number of whole lines.
 * LIMIT   The whole block is one range of probes. For blocks larger than the second-level cache the
 *         filters with a header are better, because they have batches. */
#include "filter/packed/packed.h"

#include <math.h>
#include <string.h>

#include "core/allocator.h"
#include "core/cpu.h"
#include "core/sized.h"

#define DEFAULT_BITS_PER_KEY 10.0

enum { DEFAULT_SLOT_BITS = 2 };

uint32_t lethe_packed_classic_hashes(double slots_per_key, uint32_t most) {
    double best = round(slots_per_key * 0.6931471805599453);
    if (best < 1) return 1;
    return best > most ? most : (uint32_t)best;
}

static const struct lethe_packed_operations *operations_for(lethe_packed_kind kind) {
    switch (kind) {
    case LETHE_PACKED_BLOOM:
        return &lethe_packed_bloom;
    case LETHE_PACKED_BLOCKED:
        return &lethe_packed_blocked;
    case LETHE_PACKED_GAUSSIAN:
        return &lethe_packed_gaussian;
    case LETHE_PACKED_QUOTIENT:
#if defined(__x86_64__)
        if (lethe_cpu_has_fast_pdep()) return &lethe_packed_quotient_bmi2;
#endif
        return &lethe_packed_quotient;
    }
    return NULL;
}

/* Fills in the defaults, and returns whether everything is within its limits. */
static bool complete(lethe_packed_options *options,
                     const struct lethe_packed_operations *operations) {
    if (options->bits_per_key == 0) options->bits_per_key = DEFAULT_BITS_PER_KEY;
    /* Written so that a NaN is refused as well. */
    if (!(options->bits_per_key >= operations->bits_least &&
          options->bits_per_key <= LETHE_PACKED_MAX_BITS_PER_KEY))
        return false;
    if (options->kind != LETHE_PACKED_GAUSSIAN) {
        if (options->slot_bits != 0) return false;
    } else if (options->slot_bits == 0) {
        options->slot_bits = DEFAULT_SLOT_BITS;
    }
    if (options->slot_bits > LETHE_PACKED_MAX_SLOT_BITS) return false;
    if (options->hashes == 0) options->hashes = operations->best_hashes(options);
    if (options->seed == 0) options->seed = LETHE_DEFAULT_SEED;
    return options->hashes <= operations->hashes_most &&
           options->hashes % operations->hashes_step == 0;
}

lethe_status lethe_packed_new(const lethe_packed_options *options, lethe_packed **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_packed_options completed;
    lethe_status status = LETHE_TAKE(options, &completed, allocator);
    if (status != LETHE_OK) return status;
    if (!lethe_allocator_is_usable(completed.allocator)) return LETHE_EINVAL;
    const struct lethe_packed_operations *operations = operations_for(completed.kind);
    if (operations == NULL || !complete(&completed, operations)) return LETHE_EINVAL;
    lethe_packed *packed = lethe_alloc_zeroed(completed.allocator, sizeof *packed);
    if (packed == NULL) return LETHE_ENOMEM;
    packed->operations = operations;
    packed->options = completed;
    lethe_packed_make_bells(packed);
    lethe_packed_make_shares(packed);
    *out = packed;
    return LETHE_OK;
}

void lethe_packed_free(lethe_packed *packed) {
    if (packed != NULL) lethe_release(packed->options.allocator, packed, sizeof *packed);
}

lethe_hash lethe_packed_hash(const lethe_packed *packed, const void *key, size_t size) {
    return lethe_hash_bytes(packed != NULL ? packed->options.seed : 0, key, size);
}

uint32_t lethe_packed_hashes(const lethe_packed *packed) {
    return packed != NULL ? packed->options.hashes : 0;
}

size_t lethe_packed_size(const lethe_packed *packed, size_t count) {
    if (packed == NULL) return 0;
    size_t unit = packed->operations->unit_bytes;
    double bytes = ceil((double)count * packed->options.bits_per_key / 8);
    if (bytes < LETHE_PACKED_WORD_BYTES) bytes = LETHE_PACKED_WORD_BYTES;
    if (bytes > (double)(PTRDIFF_MAX / 2)) return 0;
    return ((size_t)bytes + unit - 1) / unit * unit + LETHE_PACKED_NOTE_BYTES;
}

/* Whether a block of this size has an array of this kind. */
static bool has_array(const lethe_packed *packed, size_t size) {
    return size >= LETHE_PACKED_WORD_BYTES + LETHE_PACKED_NOTE_BYTES &&
           (size - LETHE_PACKED_NOTE_BYTES) % packed->operations->unit_bytes == 0;
}

lethe_status lethe_packed_build(const lethe_packed *packed, const lethe_hash *hashes, size_t count,
                                void *bytes, size_t size) {
    if (packed == NULL || (hashes == NULL && count > 0) || (bytes == NULL && size > 0))
        return LETHE_EINVAL;
    unsigned char *array = bytes;
    /* Where there is no place for an array, the note stays 0, which means "may be there". */
    if (size > 0) memset(array, 0, size);
    if (!has_array(packed, size)) return LETHE_OK;
    size_t array_bytes = size - LETHE_PACKED_NOTE_BYTES;
    array[array_bytes] = (unsigned char)packed->operations->note(packed, count, array_bytes);
    packed->operations->build(packed, hashes, count, array, array_bytes);
    return LETHE_OK;
}

bool lethe_packed_test(const lethe_packed *packed, lethe_hash hash, const void *bytes,
                       size_t size) {
    if (packed == NULL || bytes == NULL || !has_array(packed, size)) return true;
    const unsigned char *array = bytes;
    size_t array_bytes = size - LETHE_PACKED_NOTE_BYTES;
    return packed->operations->test(packed, hash, array, array_bytes, array[array_bytes]);
}
