/* filter/gaussian/double.c - slots of double, with the instructions that every machine has. */
#define VALUE double
#include "filter/gaussian/value_slots.inc.h"

#define LAST_BYTE 31
#define OPERATIONS lethe_gaussian_double_scalar
#include "filter/gaussian/loops.inc.h"
