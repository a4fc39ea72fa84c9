/* filter/forgetful/budget.c - how the elastic setting divides its error, its bits and its memory.
 *
 * PERIODS With s periods in a window, s + 2 pairs can be live and so s + 3 members, each with the
 *         ids of two periods. An id thus costs 2 (s + 3)/s times the bits of one member, at an
 *         error of sqrt(e / (s + 2)) per member. Few periods make members large, many periods make
 *         their errors small. The minimum is at 16 for 1e-3 and beyond 60 for 1e-12, and it is
 *         flat. So we take the fewest periods within 2% of it, since every period adds a member to
 *         test. A member takes ids for at most 3 periods, so 3/s of the window must fit in the
 *         slack.
 * SHARES  Periods that end early add pairs, and it is not known how many there will be. So a new
 *         pair gets its regular share, e / (S + S/4) with S = s + 2, as long as enough is left, and
 *         never more than a part of what is left: (e - sum over live pairs) / (S/4). In steady
 *         state the two are equal. With more pairs than S, the shares shrink geometrically, and
 *         their sum always stays below e. For members that are being filled the sum uses their
 *         limits; for the others their actual error, which is lower after a quiet period.
 * SIZES   A filter with k hashes reaches an error limit p when a share f = p^(1/k) of its m bits is
 *         set, after n = m ln(1/(1-f)) / k ids. Of the two k around log2(1/p) we take the one that
 *         needs fewer bits.
 * ROOM    Under a memory cap M, a period that begins on time must always find room. Otherwise
 *         ids would be refused, or kept too long, merely because time passes. In i periods, the
 *         members still needed will take u_i bytes, and i more members will have been made. So a
 *         new member may take min over i of (M - u_i) / (i + 1), and the next one will have as
 *         much.
 * EXPECTED The ids expected in a period determine the size of the next member, and are saved. A
 *         forged number must not make a member of any size, so it is bounded by what is there: the
 *         capacity option, and the bits of the two members that are being filled. Without a cap
 *         those were made for more ids than that. With one they may be smaller; then the bound
 *         holds for a running filter too, so that saving and loading it change nothing. */
#include <math.h>

#include "filter/forgetful/forgetful.h"

enum { MOST_PERIODS = 64, MOST_HASHES = 64, FEWEST_BITS = 512 };

/* The part of the regular shares that is reserved for unexpected pairs. */
#define SPARE (1.0 / 4)
/* How many more bits than the minimum are accepted in exchange for fewer members. */
#define TOLERANCE 1.02
/* The most bits of one member. */
#define MOST_BITS 0x1p46
/* The share when nothing is left, relative to the regular one. */
#define LEAST_SHARE 0x1p-20

/* A measure of the bits per id: the members per id, times the logarithm of the error of each. */
static double bits_at(double error, uint32_t periods) {
    double s = periods;
    return 2 * (s + 3) / s * log2((1 + SPARE) * (s + 2) / error);
}

uint32_t lethe_forgetful_choose_periods(double error, double slack) {
    uint32_t fewest = (uint32_t)ceil(3 / slack);
    uint32_t most = fewest > MOST_PERIODS ? fewest : MOST_PERIODS;
    double best = bits_at(error, fewest);
    for (uint32_t s = fewest; s <= most; s++)
        best = fmin(best, bits_at(error, s));
    for (uint32_t s = fewest; s <= most; s++) {
        if (bits_at(error, s) <= best * TOLERANCE) return s;
    }
    return most;
}

double lethe_forgetful_share(const lethe_forgetful *filter, bool rotates, uint64_t now_ms) {
    double pairs = filter->plan.periods + 2, error = filter->plan.options.error;
    double used = 0;
    for (size_t i = 0; i + 1 < filter->count; i++) {
        if (!lethe_forgetful_elastic_is_live(filter, i, now_ms)) continue;
        const struct member *newer = filter->members[i];
        double newer_error = lethe_member_error(newer);
        if (i == 0 && rotates) newer_error = fmax(newer_error, newer->limit);
        used += newer_error * lethe_member_error(filter->members[i + 1]);
    }
    double regular = error / (pairs * (1 + SPARE));
    double left = (error - used) / (pairs * SPARE);
    return fmax(fmin(regular, left), regular * LEAST_SHARE);
}

struct lethe_forgetful_size lethe_forgetful_size_for(double ids, double limit) {
    struct lethe_forgetful_size size = {0};
    double best = INFINITY, ideal = fmax(1, floor(log2(1 / limit)));
    for (double k = ideal; k <= ideal + 1 && k <= MOST_HASHES; k++) {
        double bits = -k * ids / log1p(-pow(limit, 1 / k));
        if (bits < best) {
            best = bits;
            size.hashes = (uint32_t)k;
        }
    }
    size.bits = (uint64_t)fmin(fmax(ceil(best), FEWEST_BITS), MOST_BITS);
    return size;
}

double lethe_forgetful_most_expected(const lethe_forgetful *filter) {
    double most = lethe_forgetful_hinted_ids(&filter->plan);
    for (size_t i = 0; filter->is_open && i < 2; i++)
        most += (double)filter->members[i]->bits.range;
    return most;
}

static uint64_t add_saturated(uint64_t a, uint64_t b) {
    return a + b < a ? UINT64_MAX : a + b;
}

/* Until when member index is needed; UINT64_MAX for the two that are being filled. */
static uint64_t needed_until_ms(const lethe_forgetful *filter, size_t index) {
    if (filter->is_open && index < 2) return UINT64_MAX;
    const struct member *member = filter->members[index];
    uint64_t last_ms = member->own_ids > 0 ? member->last_ms : 0;
    if (index > 0 && filter->members[index - 1]->own_ids > 0) {
        uint64_t newer_ms = filter->members[index - 1]->last_ms;
        if (newer_ms > last_ms) last_ms = newer_ms;
    }
    return add_saturated(last_ms, filter->plan.options.window_ms);
}

/* The bytes that will have been freed by then. */
static uint64_t freed_by(const lethe_forgetful *filter, uint64_t time_ms) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < filter->count; i++) {
        if (needed_until_ms(filter, i) < time_ms) bytes += lethe_member_bytes(filter->members[i]);
    }
    return bytes;
}

uint64_t lethe_forgetful_room(const lethe_forgetful *filter, unsigned wanted, uint64_t now_ms) {
    uint64_t cap_bytes = filter->plan.options.max_memory_bytes;
    if (cap_bytes == 0) return UINT64_MAX;
    uint64_t room_bytes = UINT64_MAX;
    for (uint32_t i = 0; i <= filter->plan.periods + 2; i++) {
        uint64_t then_ms = add_saturated(now_ms, i * filter->plan.period_ms);
        uint64_t used = filter->memory_bytes - freed_by(filter, then_ms);
        uint64_t each = used >= cap_bytes ? 0 : (cap_bytes - used) / (i + wanted);
        if (each < room_bytes) room_bytes = each;
    }
    return room_bytes;
}
