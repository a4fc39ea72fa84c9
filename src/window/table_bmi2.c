/* window/table_bmi2.c - the operations of tables with AVX2, BMI2 and POPCNT. They are called
 * only if core/cpu.h says that PDEP is fast. */
#if defined(__x86_64__)
#define OPERATIONS lethe_table_bmi2
#include "window/table_hot.inc.h"
#else
typedef int lethe_table_bmi2_is_for_x86;
#endif
