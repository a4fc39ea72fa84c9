/* filter/forgetful/forgetful.c - the public forgetful Bloom filter: makes filters and asks the
 * setting.
 *
 * IDEA    A list of Bloom filters, its members, newest first. An id is added to the first two. From
 *         time to time a new member is put in front, and old ones are dropped once their ids have
 *         expired. Since an id is in two neighbours, a test can require both, and their errors
 *         multiply.
 * LAYOUT  members: future | present | newest past | ... | oldest past
 *           own period:      p         p-1        p-2
 *           also contains:             p          p-1        (the period of the next newer one)
 * I1      Ids of member i's own period are in member i and, while is_paired, in member i + 1.
 * I2      Ids are only ever added to members 0 and 1.
 * I3      The clock never goes back, and expired ids stay expired.
 * I4      memory_bytes is what is allocated: filter, list and members.
 * WHY     Settings, not types of their own: the list, the members, copying, the totals and the
 *         format are the same. Only when a period begins, which members count and what may be
 *         dropped differ; see paper.c and elastic.c.
 * PAPER   R. Subramanyam, I. Gupta, L. Leslie, W. Wang, Idempotent distributed counters using a
 *         forgetful Bloom filter, 2015. docs/papers.md discusses it. */
#include "filter/forgetful/forgetful.h"

#include <assert.h>
#include <string.h>

#include "core/allocator.h"
#include "core/sized.h"

enum { FIRST_ROOM = 8 };

double lethe_forgetful_hinted_ids(const struct lethe_forgetful_plan *plan) {
    return plan->periods == 0 ? 0 : (double)plan->options.capacity / (double)plan->periods;
}

lethe_status lethe_forgetful_from_plan(const struct lethe_forgetful_plan *plan,
                                       const lethe_allocator *allocator, lethe_forgetful **out) {
    *out = NULL;
    lethe_forgetful *filter = lethe_alloc_zeroed(allocator, sizeof *filter);
    if (filter == NULL) return LETHE_ENOMEM;
    filter->plan = *plan;
    filter->allocator = allocator;
    filter->memory_bytes = sizeof *filter;
    filter->past = plan->options.past;
    filter->period_ms = plan->options.period_ms;
    filter->period_ids = lethe_forgetful_hinted_ids(plan);
    *out = filter;
    return LETHE_OK;
}

lethe_status lethe_forgetful_new(const lethe_forgetful_options *options, lethe_forgetful **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_forgetful_options taken;
    lethe_status status = LETHE_TAKE(options, &taken, allocator);
    if (status != LETHE_OK) return status;
    if (!lethe_allocator_is_usable(taken.allocator)) return LETHE_EINVAL;
    struct lethe_forgetful_plan plan;
    status = lethe_forgetful_plan_options(&taken, &plan);
    if (status != LETHE_OK) return status;
    lethe_forgetful *filter;
    status = lethe_forgetful_from_plan(&plan, taken.allocator, &filter);
    if (status != LETHE_OK) return status;
    if (lethe_forgetful_is_paper(filter)) status = lethe_forgetful_paper_begin(filter);
    if (status != LETHE_OK) {
        lethe_forgetful_free(filter);
        return status;
    }
    *out = filter;
    return LETHE_OK;
}

void lethe_forgetful_free(lethe_forgetful *filter) {
    if (filter == NULL) return;
    const lethe_allocator *allocator = filter->allocator;
    for (size_t i = 0; i < filter->count; i++)
        lethe_member_free(filter->members[i], allocator);
    lethe_release(allocator, filter->members, filter->room * sizeof(struct member *));
    lethe_release(allocator, filter, sizeof *filter);
}

/* Gives the list the length that a list of so many members has. It must hold those that it has. */
static lethe_status resize(lethe_forgetful *filter, size_t count) {
    size_t room = FIRST_ROOM;
    while (room < count)
        room *= 2;
    if (room == filter->room) return LETHE_OK;
    struct member **members = lethe_alloc_zeroed(filter->allocator, room * sizeof(struct member *));
    if (members == NULL) return LETHE_ENOMEM;
    if (filter->count > 0)
        memcpy(members, filter->members, filter->count * sizeof(struct member *));
    lethe_release(filter->allocator, filter->members, filter->room * sizeof(struct member *));
    filter->memory_bytes += (room - filter->room) * sizeof(struct member *);
    filter->members = members;
    filter->room = room;
    return LETHE_OK;
}

lethe_status lethe_forgetful_reserve(lethe_forgetful *filter, size_t count) {
    if (count > LETHE_FORGETFUL_MOST_MEMBERS) return LETHE_EFULL;
    return count <= filter->room ? LETHE_OK : resize(filter, count);
}

lethe_status lethe_forgetful_fit(lethe_forgetful *filter, size_t count) {
    lethe_status status = lethe_forgetful_reserve(filter, count);
    /* A list that cannot be made shorter stays as it is. */
    if (status == LETHE_OK) (void)resize(filter, count);
    return status;
}

/* An odd number that depends on every bit of the seed and on how many salts came before. */
static uint64_t next_salt(lethe_forgetful *filter) {
    if (!filter->plan.options.salted) return 1;
    uint64_t mixed = filter->plan.options.seed + ++filter->salts * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 31) * UINT64_C(0x7fb5d329728ea185);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x81dadef4bc2dd44d);
    return (mixed ^ mixed >> 33) | 1;
}

struct member *lethe_forgetful_make_member(lethe_forgetful *filter, uint64_t bits,
                                           uint32_t hashes) {
    struct member *member = lethe_member_new(bits, hashes, next_salt(filter), filter->allocator);
    if (member != NULL) filter->memory_bytes += lethe_member_bytes(member);
    return member;
}

void lethe_forgetful_drop_member(lethe_forgetful *filter, struct member *member) {
    if (member == NULL) return;
    filter->memory_bytes -= lethe_member_bytes(member);
    lethe_member_free(member, filter->allocator);
}

void lethe_forgetful_reuse_member(lethe_forgetful *filter, struct member *member) {
    lethe_member_reuse(member, next_salt(filter));
}

void lethe_forgetful_push_front(lethe_forgetful *filter, struct member *member) {
    assert(filter->count < filter->room);
    memmove(filter->members + 1, filter->members, filter->count * sizeof(struct member *));
    filter->members[0] = member;
    filter->count++;
}

lethe_status lethe_forgetful_copy(const lethe_forgetful *filter, lethe_forgetful **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (filter == NULL) return LETHE_EINVAL;
    lethe_forgetful *copy;
    lethe_status status = lethe_forgetful_from_plan(&filter->plan, filter->allocator, &copy);
    if (status != LETHE_OK) return status;
    status = lethe_forgetful_reserve(copy, filter->count);
    for (size_t i = 0; status == LETHE_OK && i < filter->count; i++) {
        struct member *member = lethe_member_copy(filter->members[i], filter->allocator);
        if (member == NULL) {
            status = LETHE_ENOMEM;
        } else {
            copy->members[copy->count++] = member;
            copy->memory_bytes += lethe_member_bytes(member);
        }
    }
    if (status != LETHE_OK) {
        lethe_forgetful_free(copy);
        return status;
    }
    lethe_forgetful own = *copy;
    *copy = *filter;
    copy->members = own.members;
    copy->room = own.room;
    copy->memory_bytes = own.memory_bytes;
    *out = copy;
    return LETHE_OK;
}

void lethe_forgetful_clear(lethe_forgetful *filter) {
    if (filter == NULL) return;
    size_t kept = lethe_forgetful_is_paper(filter) ? (size_t)filter->past + 2 : 0;
    while (filter->count > kept)
        lethe_forgetful_drop_member(filter, filter->members[--filter->count]);
    lethe_forgetful own = *filter;
    *filter = (lethe_forgetful){
        .plan = own.plan,
        .allocator = own.allocator,
        .members = own.members,
        .count = own.count,
        .room = own.room,
        .memory_bytes = own.memory_bytes,
        .past = own.past,
        .period_ms = own.period_ms,
        .period_ids = lethe_forgetful_hinted_ids(&own.plan),
    };
    for (size_t i = 0; i < filter->count; i++) {
        lethe_forgetful_reuse_member(filter, filter->members[i]);
        filter->members[i]->is_paired = i + 1 < filter->count;
    }
}

void lethe_forgetful_put(lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms) {
    struct member *newest = filter->members[0];
    lethe_member_add(newest, hash);
    lethe_member_add(filter->members[1], hash);
    if (newest->own_ids++ == 0) newest->first_ms = now_ms;
    newest->last_ms = now_ms;
    filter->clock_ms = now_ms;
    filter->has_clock = true;
    filter->was_refused = false;
    filter->fresh++;
}

static bool test(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms) {
    return lethe_forgetful_is_paper(filter) ? lethe_forgetful_paper_test(filter, hash, now_ms)
                                            : lethe_forgetful_elastic_test(filter, hash, now_ms);
}

lethe_status lethe_forgetful_make_room(lethe_forgetful *filter, uint64_t now_ms) {
    now_ms = lethe_forgetful_time(filter, now_ms);
    lethe_status status = lethe_forgetful_is_paper(filter)
                              ? lethe_forgetful_paper_prepare(filter, now_ms)
                              : lethe_forgetful_elastic_prepare(filter, now_ms);
    if (status == LETHE_EFULL) {
        filter->refused++;
        filter->was_refused = true;
    }
    if (status == LETHE_OK) {
        filter->clock_ms = now_ms;
        filter->has_clock = true;
    }
    return status;
}

static lethe_status add(lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms) {
    lethe_status status = lethe_forgetful_make_room(filter, now_ms);
    if (status == LETHE_OK) lethe_forgetful_put(filter, hash, now_ms);
    return status;
}

uint64_t lethe_forgetful_seed(const lethe_forgetful *filter) {
    return filter != NULL ? filter->plan.options.seed : 0;
}

bool lethe_forgetful_test(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms) {
    return filter != NULL && test(filter, hash, lethe_forgetful_time(filter, now_ms));
}

lethe_status lethe_forgetful_add(lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms) {
    if (filter == NULL) return LETHE_EINVAL;
    return add(filter, hash, lethe_forgetful_time(filter, now_ms));
}

lethe_status lethe_forgetful_add_and_test(lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms,
                                          lethe_answer *answer) {
    if (answer == NULL) return LETHE_EINVAL;
    *answer = LETHE_ANSWER_REFUSED;
    if (filter == NULL) return LETHE_EINVAL;
    now_ms = lethe_forgetful_time(filter, now_ms);
    if (test(filter, hash, now_ms)) {
        *answer = LETHE_ANSWER_DUPLICATE;
        filter->clock_ms = now_ms;
        filter->duplicates++;
        return LETHE_OK;
    }
    lethe_status status = add(filter, hash, now_ms);
    if (status == LETHE_OK) *answer = LETHE_ANSWER_FRESH;
    return status;
}

lethe_status lethe_forgetful_work(lethe_forgetful *filter, uint64_t now_ms, unsigned budget,
                                  bool *more) {
    if (more == NULL) return LETHE_EINVAL;
    *more = false;
    if (filter == NULL) return LETHE_EINVAL;
    now_ms = lethe_forgetful_time(filter, now_ms);
    *more = lethe_forgetful_is_paper(filter) ? lethe_forgetful_paper_work(filter, now_ms, budget)
                                             : lethe_forgetful_elastic_work(filter, now_ms, budget);
    filter->clock_ms = now_ms;
    filter->has_clock = true;
    return LETHE_OK;
}
