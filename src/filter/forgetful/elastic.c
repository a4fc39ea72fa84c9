/* filter/forgetful/elastic.c - the setting for production: any load, one window, one error.
 *
 * IDEA    The user gives W and e, and the list of members arranges itself. A period ends after its
 *         time, or as soon as its members contain what their share of the error allows. The next
 *         member is sized for the load seen so far, so a load that grows a hundredfold costs a few
 *         short periods. A member is dropped only after its youngest id is older than W.
 * PAIRS   An id counts only if two neighbours contain it. This includes the newest two, where the
 *         paper tests the future alone, and the oldest two, of which the paper has dropped one
 *         already. An id of period p is in members p and p - 1, so p - 1 is kept while p is within
 *         W. That costs one more member, and no member is ever tested alone: every term of the
 *         error is a product, and each member may use the square root of its share. At 1e-6 this
 *         saves a third of the memory.
 * HUBS    A test looks at the pairs (0,1) (1,2) (2,3) (3,4)... If member 1 does not contain the id,
 *         the first two pairs do not match; if member 3 does not, nor do the next two. So every
 *         second member is tested first, and half of the members suffice to recognise a fresh id.
 * STARTS  The first period, and one after a pause of two periods or more, begins with two new
 *         members instead of one; the second has no own period. So no member takes ids for longer
 *         than three periods, which keeps even a chance match with an old id within the slack (W +
 *         3t).
 * I1      While is_open, members 0 and 1 take ids, and the period began at period_began_ms.
 * I2      own_ids > 0 only while an older neighbour contains those ids too (is_paired). When they
 *         have expired and the neighbour is dropped, own_ids is set to 0.
 * I3      A period that has begun takes one id at that time, however small its member is, and is
 *         kept until then: room was made for that id (lethe_forgetful_make_room).
 * I4      The sum, over live pairs, of the products of their limits is at most e, except after a
 *         merge or under LETHE_POLICY_DEGRADE at a cap.
 * LIMIT   Additions at one single instant show no rate. Then each new member is GROWTH times as
 *         large as the one before, and the last may be too large by that factor. */
#include <assert.h>
#include <math.h>

#include "filter/forgetful/forgetful.h"

enum {
    GROWTH = 4,       /* a new period expects at most this many times the ids of the last one */
    FEWEST_IDS = 64,  /* and at least this many ids */
    DROPS_AT_ONCE = 4 /* expired members that one call drops */
};

/* With it, the periods of a steady load end by time and not because a member is full. */
#define HEADROOM (1 + 1.0 / 32)

bool lethe_forgetful_elastic_is_live(const lethe_forgetful *filter, size_t index, uint64_t now_ms) {
    const struct member *member = filter->members[index];
    return member->own_ids > 0 && now_ms - member->last_ms <= filter->plan.options.window_ms;
}

size_t lethe_forgetful_elastic_hub(const lethe_forgetful *filter, size_t index, uint64_t now_ms) {
    for (; index + 1 < filter->count; index++) {
        if (lethe_forgetful_elastic_is_live(filter, index, now_ms)) return index + 1;
    }
    return 0;
}

bool lethe_forgetful_elastic_confirm(const lethe_forgetful *filter, size_t hub, lethe_hash hash,
                                     uint64_t now_ms) {
    if (lethe_forgetful_elastic_is_live(filter, hub - 1, now_ms) &&
        lethe_member_test(filter->members[hub - 1], hash)) {
        return true;
    }
    return lethe_forgetful_elastic_is_live(filter, hub, now_ms) &&
           lethe_member_test(filter->members[hub + 1], hash);
}

bool lethe_forgetful_elastic_test(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms) {
    size_t hub = lethe_forgetful_elastic_hub(filter, 0, now_ms);
    for (; hub != 0; hub = lethe_forgetful_elastic_hub(filter, hub + 1, now_ms)) {
        if (lethe_member_test(filter->members[hub], hash) &&
            lethe_forgetful_elastic_confirm(filter, hub, hash, now_ms)) {
            return true;
        }
    }
    return false;
}

double lethe_forgetful_elastic_error(const lethe_forgetful *filter, uint64_t now_ms) {
    double none = 1;
    for (size_t i = 0; i + 1 < filter->count; i++) {
        if (!lethe_forgetful_elastic_is_live(filter, i, now_ms)) continue;
        none *=
            1 - lethe_member_error(filter->members[i]) * lethe_member_error(filter->members[i + 1]);
    }
    return 1 - none;
}

/* Ends the period after a whole window without an id. Then the load is unknown again. */
static void close_period(lethe_forgetful *filter) {
    filter->is_open = false;
    filter->period_ids = lethe_forgetful_hinted_ids(&filter->plan);
}

/* Whether the period has begun and taken no id yet, which it still may (I3). */
static bool is_begun(const lethe_forgetful *filter, uint64_t now_ms) {
    return filter->is_open && filter->members[0]->own_ids == 0 &&
           now_ms - filter->period_began_ms <= filter->plan.options.window_ms;
}

/* Drops at most that many expired members. Returns whether more are left. */
static bool drop_expired(lethe_forgetful *filter, size_t most, uint64_t now_ms) {
    size_t kept = 0, dropped = 0;
    bool more = false, was_needed = false; /* by the newer neighbour */
    for (size_t i = 0; i < filter->count; i++) {
        struct member *member = filter->members[i];
        bool is_live = lethe_forgetful_elastic_is_live(filter, i, now_ms) ||
                       (i == 0 && is_begun(filter, now_ms));
        if (is_live || was_needed || dropped == most) {
            if (!is_live && !was_needed) more = true;
            if (!is_live) {
                member->own_ids = 0;
                member->is_paired = false;
            }
            filter->members[kept++] = member;
        } else {
            if (i <= 1) close_period(filter);
            lethe_forgetful_drop_member(filter, member);
            dropped++;
        }
        was_needed = is_live;
    }
    filter->count = kept;
    return more;
}

bool lethe_forgetful_elastic_work(lethe_forgetful *filter, uint64_t now_ms, unsigned budget) {
    return drop_expired(filter, budget, now_ms);
}

/* Whether one of the two open members is as full as its limit allows. */
static bool is_full(const lethe_forgetful *filter) {
    const struct member *first = filter->members[0], *second = filter->members[1];
    return first->bits_set + first->bits.hashes > first->half_bits ||
           second->bits_set + second->bits.hashes > second->limit_bits;
}

bool lethe_forgetful_elastic_is_due(const lethe_forgetful *filter, uint64_t now_ms) {
    if (!filter->is_open) return true;
    uint64_t age_ms = now_ms - filter->period_began_ms;
    if (age_ms == 0 && filter->members[0]->own_ids == 0) return false;
    return age_ms >= filter->plan.period_ms || is_full(filter);
}

/* How a new period begins. */
struct beginning {
    /* With two new members. */
    bool is_start;
    /* Before its time, because a member of the last period is full. */
    bool is_early;
    /* The ids expected in it. */
    double ids;
};

/* How many ids to expect in the next period: at the rate of the last period, but at most GROWTH
 * times the last expectation, and at least half of that for each period that has passed. */
static double expect_ids(const lethe_forgetful *filter, uint64_t now_ms) {
    double expected = fmax(filter->period_ids, FEWEST_IDS);
    if (!filter->is_open) return expected;
    uint64_t age_ms = now_ms - filter->period_began_ms;
    double periods = fmax((double)age_ms, 1) / (double)filter->plan.period_ms;
    double seen = (double)filter->members[0]->own_ids / periods;
    double least = ldexp(expected, -(int)fmin(periods, 60));
    return fmax(fmax(fmin(seen, GROWTH * expected), least), FEWEST_IDS);
}

static struct beginning plan_beginning(const lethe_forgetful *filter, uint64_t now_ms) {
    struct beginning beginning = {.is_start = true, .ids = expect_ids(filter, now_ms)};
    if (!filter->is_open) return beginning;
    uint64_t age_ms = now_ms - filter->period_began_ms;
    beginning.is_start = age_ms / 2 >= filter->plan.period_ms;
    beginning.is_early = age_ms < filter->plan.period_ms;
    return beginning;
}

/* Makes a member for that many ids and an error limit; a smaller one if the room is too small. */
static lethe_status make_member(lethe_forgetful *filter, double ids, double limit,
                                uint64_t room_bytes, struct member **out) {
    *out = NULL;
    struct lethe_forgetful_size size = lethe_forgetful_size_for(ids * HEADROOM, limit);
    if (lethe_member_bytes_for(size.bits) > room_bytes) {
        uint64_t smallest_bytes = lethe_member_bytes_for(lethe_forgetful_size_for(0, limit).bits);
        if (room_bytes < smallest_bytes) return LETHE_EFULL;
        size.bits = (room_bytes - sizeof(struct member)) / 8 * 64;
        filter->is_strained = true;
    }
    *out = lethe_forgetful_make_member(filter, size.bits, size.hashes);
    if (*out == NULL) return LETHE_ENOMEM;
    lethe_member_set_limit(*out, limit);
    return LETHE_OK;
}

/* Makes the second member of a start. It has no own period, and takes the ids of one period
 * only. */
static lethe_status make_second(lethe_forgetful *filter, const struct beginning *beginning,
                                double share, uint64_t room_bytes, struct member **out) {
    *out = NULL;
    if (!beginning->is_start) return LETHE_OK;
    return make_member(filter, beginning->ids, sqrt(share), room_bytes, out);
}

/* Whether the room suffices. A period begins early only if its member will not be tiny. */
static bool is_room_enough(const lethe_forgetful *filter, const struct beginning *beginning,
                           uint64_t room_bytes) {
    if (!beginning->is_early) return true;
    uint64_t fair_bytes = filter->plan.options.max_memory_bytes / (filter->plan.periods + 4);
    return room_bytes >= fair_bytes / 2;
}

static lethe_status begin_period(lethe_forgetful *filter, const struct beginning *beginning,
                                 uint64_t now_ms) {
    unsigned wanted = beginning->is_start ? 2 : 1;
    size_t usual = filter->plan.periods + 8;
    size_t count = filter->count + wanted;
    lethe_status status = lethe_forgetful_fit(filter, count > usual ? count : usual);
    if (status != LETHE_OK) return status;
    uint64_t room_bytes = lethe_forgetful_room(filter, wanted, now_ms);
    if (!is_room_enough(filter, beginning, room_bytes)) return LETHE_EFULL;

    double share = lethe_forgetful_share(filter, !beginning->is_start, now_ms);
    double limit = sqrt(share);
    if (!beginning->is_start) {
        const struct member *second = filter->members[0];
        limit = fmin(limit, share / fmax(second->limit, lethe_member_error(second)));
    }
    bool was_strained = filter->is_strained;
    uint64_t salts = filter->salts;
    filter->is_strained = false;
    struct member *first, *second = NULL;
    status = make_member(filter, 2 * beginning->ids, limit, room_bytes, &first);
    if (status == LETHE_OK) {
        status = make_second(filter, beginning, share, room_bytes, &second);
    }
    if (status != LETHE_OK) {
        lethe_forgetful_drop_member(filter, first);
        filter->is_strained = was_strained;
        filter->salts = salts; /* a replica may have failed at another of the two */
        return status;
    }
    if (second != NULL) lethe_forgetful_push_front(filter, second);
    lethe_forgetful_push_front(filter, first);
    first->is_paired = true;
    filter->is_open = true;
    filter->period_began_ms = now_ms;
    filter->period_ids = fmin(beginning->ids, lethe_forgetful_most_expected(filter));
    return LETHE_OK;
}

lethe_status lethe_forgetful_elastic_prepare(lethe_forgetful *filter, uint64_t now_ms) {
    if (!lethe_forgetful_elastic_is_due(filter, now_ms)) return LETHE_OK;
    struct beginning beginning = plan_beginning(filter, now_ms);
    /* Under a cap all expired members must go. Otherwise a few, so that the pause is bounded. */
    bool is_capped = filter->plan.options.max_memory_bytes != 0;
    drop_expired(filter, is_capped ? SIZE_MAX : DROPS_AT_ONCE, now_ms);
    if (!filter->is_open) beginning.is_start = true;
    lethe_status status = begin_period(filter, &beginning, now_ms);
    if (status != LETHE_EFULL) return status;
    filter->is_strained = true;
    bool goes_on = filter->plan.options.policy == LETHE_POLICY_DEGRADE && filter->is_open;
    return goes_on ? LETHE_OK : LETHE_EFULL;
}
