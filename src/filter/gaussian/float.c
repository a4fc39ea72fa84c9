/* filter/gaussian/float.c - slots of float, with the instructions that every machine has. */
#define VALUE float
#include "filter/gaussian/value_slots.inc.h"

#define LAST_BYTE 31
#define OPERATIONS lethe_gaussian_float_scalar
#include "filter/gaussian/loops.inc.h"
