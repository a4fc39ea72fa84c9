/* core/bits.c - counting the set bits of whole arrays.
 *
 * The baseline of x86-64 has no POPCNT, and the compiler's replacement is ten times slower. */
#include "core/bits.h"

#include "core/inline.h"

#include "core/cpu.h"

LETHE_INLINE uint64_t count_words(const uint64_t *first, const uint64_t *second, size_t count) {
    uint64_t set = 0;
    for (size_t i = 0; i < count; i++)
        set += lethe_popcount64(second == NULL ? first[i] : first[i] | second[i]);
    return set;
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) static uint64_t
count_words_popcnt(const uint64_t *first, const uint64_t *second, size_t count) {
    return count_words(first, second, count);
}
#endif

uint64_t lethe_popcount_words(const uint64_t *first, const uint64_t *second, size_t count) {
#if defined(__x86_64__)
    if (lethe_cpu() >= LETHE_CPU_AVX2) return count_words_popcnt(first, second, count);
#endif
    return count_words(first, second, count);
}
