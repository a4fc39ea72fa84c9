/* filter/forgetful/forgetful.h - what the files of the forgetful Bloom filter share.
 *
 * forgetful.c has the essay and the public functions; options.c checks options; member.c is one
 * Bloom filter of the list. paper.c and elastic.c are the settings. budget.c says how the
 * elastic setting divides its error and sizes its filters. batch.c, info.c, merge.c and format.c
 * have the other public functions. */
#ifndef LETHE_FILTER_FORGETFUL_FORGETFUL_H
#define LETHE_FILTER_FORGETFUL_FORGETFUL_H

#include "filter/forgetful/member.h"
#include "lethe/forgetful.h"

enum { LETHE_FORGETFUL_MOST_MEMBERS = 4096, LETHE_FORGETFUL_DAY_MS = 86400000 };

/* The options with their defaults filled in, and what follows from them. */
struct lethe_forgetful_plan {
    /* Without the allocator. */
    lethe_forgetful_options options;

    /* Elastic: the periods in a window, and how long one lasts at most. */
    uint32_t periods;
    uint64_t period_ms;
};

struct lethe_forgetful {
    struct lethe_forgetful_plan plan;
    const lethe_allocator *allocator;

    /* Newest first: future, present, past... */
    struct member **members;
    size_t count, room;
    uint64_t memory_bytes;

    /* The latest time seen, if any was. */
    uint64_t clock_ms;
    bool has_clock;

    uint64_t period_began_ms;
    /* How many salts were used so far. */
    uint64_t salts;
    uint64_t fresh, duplicates, refused;
    /* Whether the last addition was refused. */
    bool was_refused;

    /* Elastic: whether members 0 and 1 are still being filled. */
    bool is_open;
    /* Elastic: whether the cap was a limit since the last period began. */
    bool is_strained;
    /* Elastic: ids expected in a period, at most lethe_forgetful_most_expected. */
    double period_ids;

    /* Paper: the current N and t, and when Algorithm 3 last ran. */
    uint32_t past;
    uint64_t period_ms;
    uint64_t ticked_ms;
};

/* Checks options and fills in the defaults. Pure. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_plan_options(const lethe_forgetful_options *options,
                                                           struct lethe_forgetful_plan *out);

/* Makes a filter without members. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_from_plan(const struct lethe_forgetful_plan *plan,
                                                        const lethe_allocator *allocator,
                                                        lethe_forgetful **out);

/* Makes room for that many members in all. Errors, with nothing changed: LETHE_ENOMEM,
 * LETHE_EFULL. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_reserve(lethe_forgetful *filter, size_t count);

/* The same, and shortens a list that is longer than one that was loaded with so many members would
 * be: under a cap its length decides on the room that is left, and a filter that was saved and
 * loaded must make the same members as the original. count is at least that of the members. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_fit(lethe_forgetful *filter, size_t count);

/* Makes an empty member with the next salt, and counts its memory. NULL if out of memory. */
struct member *lethe_forgetful_make_member(lethe_forgetful *filter, uint64_t bits, uint32_t hashes);
/* Frees a member, which must not be in the list, and subtracts its memory. Takes NULL. */
void lethe_forgetful_drop_member(lethe_forgetful *filter, struct member *member);

/* Empties a member and gives it the next salt. */
void lethe_forgetful_reuse_member(lethe_forgetful *filter, struct member *member);

/* Puts a member in front of the others. There must be room. */
void lethe_forgetful_push_front(lethe_forgetful *filter, struct member *member);

/* Whether paper.c runs the filter: the paper's setting, corrected or as printed. */
static inline bool lethe_forgetful_is_paper(const lethe_forgetful *filter) {
    return filter->plan.options.setting != LETHE_FORGETFUL_ELASTIC;
}

/* The later of now_ms and the clock: inside, time never goes back. */
static inline uint64_t lethe_forgetful_time(const lethe_forgetful *filter, uint64_t now_ms) {
    return now_ms > filter->clock_ms ? now_ms : filter->clock_ms;
}

/* The functions of each setting. begin makes the members of a new filter. test is whether a hash
 * counts as added at now_ms. prepare makes members 0 and 1 ready to take an id at now_ms. work
 * does background work; it returns whether there is more. error is the current error. now_ms
 * comes from lethe_forgetful_time. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_paper_begin(lethe_forgetful *filter);
bool lethe_forgetful_paper_test(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms);
LETHE_MUST_CHECK lethe_status lethe_forgetful_paper_prepare(lethe_forgetful *filter,
                                                            uint64_t now_ms);
bool lethe_forgetful_paper_work(lethe_forgetful *filter, uint64_t now_ms, unsigned budget);
double lethe_forgetful_paper_error(const lethe_forgetful *filter, uint64_t now_ms);
/* How many members, from the newest on, still count at now_ms. *due is the number of overdue
 * refreshes. */
size_t lethe_forgetful_paper_live(const lethe_forgetful *filter, uint64_t now_ms, uint64_t *due);
/* Whether a match in member index counts without a second one: if the member is the first, the
 * last (as printed only with N = 1), or not paired. */
bool lethe_forgetful_paper_is_alone(const lethe_forgetful *filter, size_t index, size_t live,
                                    uint64_t due);

bool lethe_forgetful_elastic_test(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms);
LETHE_MUST_CHECK lethe_status lethe_forgetful_elastic_prepare(lethe_forgetful *filter,
                                                              uint64_t now_ms);
bool lethe_forgetful_elastic_work(lethe_forgetful *filter, uint64_t now_ms, unsigned budget);
double lethe_forgetful_elastic_error(const lethe_forgetful *filter, uint64_t now_ms);
/* Whether the pair of members index and index + 1 contains ids that have not expired at now_ms. */
bool lethe_forgetful_elastic_is_live(const lethe_forgetful *filter, size_t index, uint64_t now_ms);
/* Whether a new period must begin before another id is added. */
bool lethe_forgetful_elastic_is_due(const lethe_forgetful *filter, uint64_t now_ms);
/* The hub of the next live pair from index on: the older member of that pair, which is also the
 * newer member of the pair after it. 0 if there is none. The search continues at hub + 1. */
size_t lethe_forgetful_elastic_hub(const lethe_forgetful *filter, size_t index, uint64_t now_ms);
/* Whether one of the two pairs of a hub matches, given that the hub matches. */
bool lethe_forgetful_elastic_confirm(const lethe_forgetful *filter, size_t hub, lethe_hash hash,
                                     uint64_t now_ms);

/* The ids per period according to the capacity option; 0 without it. */
double lethe_forgetful_hinted_ids(const struct lethe_forgetful_plan *plan);
/* budget.c: the most ids that a period is expected to bring, given the members. */
double lethe_forgetful_most_expected(const lethe_forgetful *filter);

/* Makes room for one hash at now_ms: adding it then can't fail. No room counts as a refusal.
 * Errors: LETHE_EFULL, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_forgetful_make_room(lethe_forgetful *filter, uint64_t now_ms);

/* Adds a hash after the setting's prepare. */
void lethe_forgetful_put(lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms);

/* budget.c: the number of periods in a window that needs the fewest bits within the slack. */
uint32_t lethe_forgetful_choose_periods(double error, double slack);
/* The share of the error that a new pair of members may use, given the live ones. rotates: the
 * newest member becomes the second. */
double lethe_forgetful_share(const lethe_forgetful *filter, bool rotates, uint64_t now_ms);
/* The most bytes that each of wanted new members may take under the cap, such that every later
 * period that begins on time can have as much. UINT64_MAX without a cap. */
uint64_t lethe_forgetful_room(const lethe_forgetful *filter, unsigned wanted, uint64_t now_ms);

/* The size of a member that reaches the error limit with that many ids. */
struct lethe_forgetful_size {
    uint64_t bits;
    uint32_t hashes;
};
struct lethe_forgetful_size lethe_forgetful_size_for(double ids, double limit);

#endif
