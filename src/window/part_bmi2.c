/* window/part_bmi2.c - the operations of parts with AVX2, BMI2 and POPCNT. They are called
 * only if core/cpu.h says that PDEP is fast. */
#if defined(__x86_64__)
#define OPERATIONS lethe_part_bmi2
#include "window/part_hot.inc.h"
#else
typedef int lethe_part_bmi2_is_for_x86;
#endif
