/* module/once/ranges.c - the ranges of the arguments of ONCE.* commands. */
#include "once/ranges.h"

#include "once/claims.h"
#include "once/holds.h"
#include "once/resolutions.h"

const struct range range_integer = {.least = INT64_MIN, .most = INT64_MAX};
const struct range range_amount = {.least = INT64_MIN, .most = INT64_MAX, .is_nonzero = true};
const struct range range_held = {.least = 1, .most = INT64_MAX};
const struct range range_settled = {.least = 0, .most = INT64_MAX};
const struct range range_lease = {.least = 1, .most = LEASE_MOST_MS, .more = " milliseconds"};
const struct range range_period = {.kind = RANGE_TEXT, .more = PERIOD_RANGE};
const struct range range_time = {
    .least = 0, .most = INT64_MAX, .more = " milliseconds since 1970, - or +"};

const struct range range_top = {.least = 0, .most = INT64_MAX};
const struct range range_buckets = {.least = 1, .most = RESOLUTION_KEEP_MOST};
const struct range range_listed = {.least = 1, .most = INT64_MAX};
const struct range range_cursor = {.least = 0, .most = UINT64_MAX};
const struct range range_state = {.kind = RANGE_TEXT, .more = "running, expired or done"};

const struct range range_claim_id = {
    .kind = RANGE_BYTES, .least = 1, .most = CLAIM_ID_MOST, .more = ", kept exactly"};
const struct range range_hold_id = {.kind = RANGE_BYTES, .least = 1, .most = HOLD_ID_MOST};
const struct range range_token = {.kind = RANGE_BYTES, .least = 1, .most = CLAIM_TOKEN_MOST};
const struct range range_fingerprint = {
    .kind = RANGE_BYTES, .least = 1, .most = CLAIM_FINGERPRINT_MOST, .more = ", kept exactly"};
