/* bench/keys.h - generated keys, the same for every run with the same seed. */
#ifndef LETHE_BENCH_KEYS_H
#define LETHE_BENCH_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* A one-to-one scrambling of 64 bits: different inputs give different keys. */
uint64_t keys_scramble(uint64_t value);

/* count different random-looking keys, numbers first.. of the seed's sequence. Ends the program
 * when there is no memory; the caller frees them. */
uint64_t *keys_make(uint64_t seed, uint64_t first, size_t count);

#endif
