/* filter/quotient/hot_avx2.c - the quotient filter's operations with AVX2, PDEP and POPCNT:
 * compiled with their flags and called only where core/cpu.h says that these are fast. */
#if defined(__x86_64__)
#define OPERATIONS lethe_quotient_avx2
#include "filter/quotient/hot.inc.h"
#else
typedef int lethe_quotient_avx2_is_for_x86;
#endif
