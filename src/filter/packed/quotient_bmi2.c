/* filter/packed/quotient_bmi2.c - quotient.c with PDEP, TZCNT and POPCNT: compiled with -mbmi2 and
 * chosen only where core/cpu.h says that these are fast. */
#if defined(__x86_64__)
#include "filter/packed/quotient_test.inc.h"

const struct lethe_packed_operations lethe_packed_quotient_bmi2 = OPERATIONS;
#else
typedef int lethe_packed_quotient_bmi2_is_for_x86;
#endif
