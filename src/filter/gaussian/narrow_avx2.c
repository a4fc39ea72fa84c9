/* filter/gaussian/narrow_avx2.c - narrow bells where there is BMI2: shifts by any count and AND-NOT
 * are one instruction each, which is most of what comparing slots takes. */
#if defined(__x86_64__)

#include "filter/gaussian/narrow_slots.inc.h"

#define LAST_BYTE 7
#define OPERATIONS lethe_gaussian_narrow_avx2
#include "filter/gaussian/loops.inc.h"

#else
typedef int lethe_gaussian_narrow_avx2_is_for_x86;
#endif
