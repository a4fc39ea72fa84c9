/* filter/packed/quotient_bmi2.c - quotient.c with PDEP, TZCNT and POPCNT: compiled with -mbmi2 and
 * chosen only where core/cpu.h says that these are fast. */
#if defined(__x86_64__)
#include "filter/packed/quotient_test.inc.h"

const struct lethe_packed_operations lethe_packed_quotient_bmi2 = {
    .unit_bytes = 1,
    .bits_least = BITS_BESIDE + 1,
    .hashes_most = 1,
    .hashes_step = 1,
    .best_hashes = lethe_packed_one_hash,
    .note = lethe_packed_quotient_note,
    .build = lethe_packed_quotient_build,
    .test = test,
};
#else
typedef int lethe_packed_quotient_bmi2_is_for_x86;
#endif
