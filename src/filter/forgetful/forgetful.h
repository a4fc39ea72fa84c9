/* filter/forgetful/forgetful.h - what the files of the forgetful Bloom filter share.
 *
 * forgetful.c has the public functions; options.c checks what they are given. member.c is one of the
 * Bloom filters in the list. paper.c and elastic.c are the two settings, budget.c how the elastic one
 * divides its error and sizes its filters; batch.c, info.c, merge.c and format.c one call each. */
#ifndef LETHE_FILTER_FORGETFUL_FORGETFUL_H
#define LETHE_FILTER_FORGETFUL_FORGETFUL_H

#include "filter/forgetful/member.h"
#include "lethe/forgetful.h"

enum { LETHE_FORGETFUL_MOST_MEMBERS = 4096, LETHE_FORGETFUL_DAY_MS = 86400000 };

/* The options with their defaults filled in, and what follows from them. */
struct lethe_forgetful_plan {
    lethe_forgetful_options options; /* without the allocator */
    uint32_t periods;                /* elastic: a window is so many periods */
    uint64_t period_ms;              /* elastic: how long one lasts at most */
};

struct lethe_forgetful {
    struct lethe_forgetful_plan plan;
    const lethe_allocator *allocator;
    struct member **members; /* newest first: future, present, past... */
    size_t count, room;      /* of members */
    uint64_t memory_bytes;
    uint64_t clock_ms; /* the latest time seen */
    uint64_t period_began_ms;
    uint64_t salts; /* handed out so far */
    uint64_t fresh, duplicates, refused;
    bool has_clock;     /* some time was seen */
    bool is_open;       /* elastic: members 0 and 1 are still being filled */
    bool is_strained;   /* elastic: the cap was in the way since the last period began */
    bool was_refused;   /* the last record was */
    double period_ids;  /* elastic: ids expected in a period */
    uint32_t past;      /* paper: N as it is now */
    uint64_t period_ms; /* paper: t as it is now */
    uint64_t ticked_ms; /* paper: when Algorithm 3 last ran */
};

/* Checks options and fills in the defaults. Pure. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_plan_options(const lethe_forgetful_options *options,
                                                           struct lethe_forgetful_plan *out);

/* Makes a filter without members. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_from_plan(const struct lethe_forgetful_plan *plan,
                                                        const lethe_allocator *allocator,
                                                        lethe_forgetful **out);

/* Room for that many members in all. Errors: LETHE_ENOMEM, LETHE_EFULL; then nothing changed. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_reserve(lethe_forgetful *filter, size_t count);

/* Makes an empty member that knows its salt; counts its memory. NULL when out of memory. */
struct member *lethe_forgetful_make_member(lethe_forgetful *filter, uint64_t bits, uint32_t hashes);
/* Takes a member out of the count and frees it; takes NULL. It must not be in the list. */
void lethe_forgetful_drop_member(lethe_forgetful *filter, struct member *member);

/* Empties a member and gives it a new salt. */
void lethe_forgetful_reuse_member(lethe_forgetful *filter, struct member *member);

/* Puts a member in front of the others; there must be room. */
void lethe_forgetful_push_front(lethe_forgetful *filter, struct member *member);

/* Time inside never goes back: the later of now_ms and the clock. */
static inline uint64_t lethe_forgetful_time(const lethe_forgetful *filter, uint64_t now_ms) {
    return now_ms > filter->clock_ms ? now_ms : filter->clock_ms;
}

/* Each setting: all members of a new filter; is a hash held at now; get ready to record at
 * now (afterwards members 0 and 1 take the id); let time pass; the error as it is now.
 * now is a result of lethe_forgetful_time. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_paper_begin(lethe_forgetful *filter);
bool lethe_forgetful_paper_check(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms);
LETHE_MUST_CHECK lethe_status lethe_forgetful_paper_prepare(lethe_forgetful *filter,
                                                            uint64_t now_ms);
bool lethe_forgetful_paper_advance(lethe_forgetful *filter, uint64_t now_ms);
double lethe_forgetful_paper_error(const lethe_forgetful *filter, uint64_t now_ms);
/* How many members still count at now, the newest ones; how many refreshes are overdue. */
size_t lethe_forgetful_paper_live(const lethe_forgetful *filter, uint64_t now_ms, uint64_t *due);
/* Whether a match in member index counts by itself, being the first, the last, or not covered. */
bool lethe_forgetful_paper_is_alone(const lethe_forgetful *filter, size_t index, size_t live,
                                    uint64_t due);

bool lethe_forgetful_elastic_check(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms);
LETHE_MUST_CHECK lethe_status lethe_forgetful_elastic_prepare(lethe_forgetful *filter,
                                                              uint64_t now_ms);
bool lethe_forgetful_elastic_advance(lethe_forgetful *filter, uint64_t now_ms);
double lethe_forgetful_elastic_error(const lethe_forgetful *filter, uint64_t now_ms);
/* Whether the members index and index + 1 together hold ids that are not expired at now. */
bool lethe_forgetful_elastic_is_live(const lethe_forgetful *filter, size_t index, uint64_t now_ms);
/* Whether recording one more id needs a new period first. */
bool lethe_forgetful_elastic_is_due(const lethe_forgetful *filter, uint64_t now_ms);
/* From index on, the next live pair's older member: the hub, which the following pair has as its
 * newer one. Returns 0 when there is no more. The search goes on at the hub + 1. */
size_t lethe_forgetful_elastic_hub(const lethe_forgetful *filter, size_t index, uint64_t now_ms);
/* Given that the hub matches, whether one of its two pairs does. */
bool lethe_forgetful_elastic_confirm(const lethe_forgetful *filter, size_t hub, lethe_hash hash,
                                     uint64_t now_ms);

/* Ids in a period as the capacity option has it; 0 without one. */
double lethe_forgetful_hinted_ids(const struct lethe_forgetful_plan *plan);

/* Records a hash that the setting has prepared for. */
void lethe_forgetful_add(lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms);

/* budget.c: how many periods a window has, for the fewest bits within the slack. */
uint32_t lethe_forgetful_choose_periods(double error, double slack);
/* The share of the error that one more pair of filters may have, given what is alive. rotates: the
 * newest member goes on as the second. */
double lethe_forgetful_share(const lethe_forgetful *filter, bool rotates, uint64_t now_ms);
/* The most bytes that each of wanted new members may take so that, at the cap, every period
 * that begins by time later on can have as much. UINT64_MAX without a cap. */
uint64_t lethe_forgetful_room(const lethe_forgetful *filter, unsigned wanted, uint64_t now_ms);

/* The size of a filter that reaches the error limit with so many ids. */
struct lethe_forgetful_size {
    uint64_t bits;
    uint32_t hashes;
};
struct lethe_forgetful_size lethe_forgetful_size_for(double ids, double limit);

#endif
