/* module/once/ranges.h - the ranges of the arguments of ONCE.* commands: command/ranges.h. */
#ifndef LETHE_MODULE_ONCE_RANGES_H
#define LETHE_MODULE_ONCE_RANGES_H

#include "command/ranges.h"

/* What is added, a limit: 64 bits. What is taken, without 0. What is held and settled. */
extern const struct range range_integer, range_amount, range_held, range_settled;
extern const struct range range_lease, range_period, range_time;
/* ONCE.TOP; COUNT of ONCE.RANGE and of commands that list a few at a time; their cursor. */
extern const struct range range_top, range_buckets, range_listed, range_cursor;
/* Of ONCE.CLAIMS. */
extern const struct range range_state;
/* The ids of claims and holds, tokens and fingerprints. */
extern const struct range range_claim_id, range_hold_id, range_token, range_fingerprint;

#endif
