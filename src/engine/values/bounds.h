/* engine/values/bounds.h - bounds that changes carry: judging by them, and how counters stand under
 * them. Needs the store's lock. */
#ifndef LETHE_ENGINE_VALUES_BOUNDS_H
#define LETHE_ENGINE_VALUES_BOUNDS_H

#include "engine/values/values.h"

/* Whether a change whose flags are not 0 has bounds on something that the values have. */
bool lethe_bounds_are_valid(const lethe_values *values, const lethe_change *change);

/* Whether an operation that is valid would cross a bound, by what all its changes do together.
 * Nothing is changed. limits, unless NULL, has one for each change, whose is_crossed is set.
 * Cost: O(n log n) for n changes, and a lookup for each that has bounds. Errors: LETHE_ENOMEM,
 * those of lethe_values_read. */
LETHE_MUST_CHECK lethe_status lethe_bounds_judge(lethe_values *values,
                                                 const lethe_operation *operation,
                                                 lethe_limit *limits, bool *is_limited,
                                                 lethe_detail *detail);

/* Fills in how the counters of a valid operation stand now, except is_crossed. Errors: those of
 * lethe_values_read. */
LETHE_MUST_CHECK lethe_status lethe_bounds_stand(lethe_values *values,
                                                 const lethe_operation *operation,
                                                 lethe_limit *limits, lethe_detail *detail);

#endif
