/* filter/gaussian/narrow.c - narrow bells in packed slots, with the instructions that every machine
 * has.
 *
 * The spacing that is the default makes bells of at most 57 bits in slots of up to five bits: then
 * the slots of a probe are one word, read at a byte address and shifted by up to seven bits, and
 * word.h compares or raises them all at once. A vector would hold nothing more. */
#include "filter/gaussian/narrow_slots.inc.h"

#define LAST_BYTE 7
#define OPERATIONS lethe_gaussian_narrow_scalar
#include "filter/gaussian/loops.inc.h"
