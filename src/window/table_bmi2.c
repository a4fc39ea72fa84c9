/* window/table_bmi2.c - the table's operations with PDEP, PEXT and POPCNT: compiled with -mbmi2 and called
 * only where core/cpu.h says that these are fast. */
#if defined(__x86_64__)
#define OPERATIONS lethe_table_bmi2
#include "window/table_hot.h"
#else
typedef int lethe_table_bmi2_is_for_x86;
#endif
