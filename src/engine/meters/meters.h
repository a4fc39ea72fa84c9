/* engine/meters/meters.h - which periods a store counts in, and how long it keeps them.
 *
 *   zone.c, zone_rule.c   local time            period.c   from moments to labels, and back
 *   settings.c            what is asked for     meters.c   what the store has, on disk
 *   buckets.c             changing buckets      usage.c    reading them
 *
 * The record about meters is beside the store's state, and is written by the commits that change
 * it. A store without meters has none. */
#ifndef LETHE_ENGINE_METERS_METERS_H
#define LETHE_ENGINE_METERS_METERS_H

#include "engine/disk/disk.h"
#include "engine/log/state.h"
#include "engine/meters/period.h"

enum { LETHE_METERS_LIMIT = 8, LETHE_BUCKET_PREFIX_BYTES = 1 + LETHE_LABEL_BYTES };

/* One resolution. */
typedef struct lethe_meter {
    lethe_resolution resolution;
    /* 0: for ever. */
    uint64_t keep_ms;
    /* Buckets with lower labels were dropped, and none is made. */
    uint64_t kept_from;
    /* The store's time when it got the resolution, or the wall clock's if that is later and decides
     * the period, if it had counted before; otherwise 0. Periods that began by then lack what was
     * counted before. */
    uint64_t added_ms;

    /* In memory only. A bucket with this label or a higher one that is not in memory is not on disk
     * either. */
    uint64_t known_from;
    /* The highest label of any bucket that was changed. */
    uint64_t newest;
    /* All loose buckets in memory have lower labels. */
    uint64_t loose_end;
    /* Where the last moment was, and how keys of its buckets begin. */
    lethe_stretch stretch;
    unsigned char prefix[LETHE_BUCKET_PREFIX_BYTES];
    /* From this moment of the store's clock on, kept_from may rise. */
    uint64_t drop_after_ms;
} lethe_meter;

typedef struct lethe_meters {
    uint32_t count;
    lethe_meter all[LETHE_METERS_LIMIT];
    char zone_name[LETHE_ZONE_NAME_BYTES];
    /* The first commit that can have buckets. */
    uint64_t since;

    /* In memory only. NULL until it is needed, by a reader. */
    lethe_zone *zone;
    /* The record on disk is another. */
    bool is_changed;
} lethe_meters;

/* What a commit does to meters. */
typedef struct lethe_meters_step {
    bool writes;
    /* Resolutions whose buckets below kept_from go. */
    uint32_t drops;
    lethe_meters after;
} lethe_meters_step;

/* --- settings.c: what is asked for --- */

/* Whether options that concern meters can be right at all. Errors: LETHE_EINVAL, those of
 * lethe_zone_load. */
LETHE_MUST_CHECK lethe_status lethe_meters_check(const lethe_store_options *options,
                                                 lethe_detail *detail);
/* Whether they can be those of a new store, too. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_meters_check_new(const lethe_store_options *options,
                                                     lethe_detail *detail);
/* Makes meters what the options ask for, from what the store has. has_counted: a bucket may have
 * got something, by an operation or by a hold. Errors: LETHE_EINVAL (something that can't change
 * would), those of lethe_zone_load. */
LETHE_MUST_CHECK lethe_status lethe_meters_resolve(lethe_meters *meters,
                                                   const lethe_store_options *options,
                                                   const lethe_state *state, bool has_counted,
                                                   lethe_detail *detail);
/* As texts, in the form that the options have. */
void lethe_meters_describe(const lethe_meters *meters, lethe_store_stats *out);

/* --- meters.c: what the store has --- */

/* Loads the record; none is no meters. Errors: LETHE_ECORRUPT, LETHE_EVERSION, those of the
 * disk. */
LETHE_MUST_CHECK lethe_status lethe_meters_load(lethe_disk *disk, lethe_meters *out,
                                                lethe_detail *detail);
void lethe_meters_drop(lethe_meters *meters);
/* Loads the zone, unless it is there. */
LETHE_MUST_CHECK lethe_status lethe_meters_need_zone(lethe_meters *meters,
                                                     const lethe_allocator *allocator,
                                                     lethe_detail *detail);
/* Whether it is the key of this record. */
bool lethe_meters_is_record(lethe_bytes key);
/* Whether BUCKETS is folded as far as the state says, and no further than it can be. Errors:
 * LETHE_ECORRUPT, those of load. */
LETHE_MUST_CHECK lethe_status lethe_meters_expect(lethe_disk *disk, const lethe_state *state,
                                                  lethe_detail *detail);

/* Finds one by its name; NULL is the first. LETHE_METERS_LIMIT: there is none. */
uint32_t lethe_meters_find(const lethe_meters *meters, const char *by);
/* Finds the stretch that a moment is in. */
void lethe_meter_turn(lethe_meters *meters, uint32_t which, uint64_t time_ms);
/* The label of a moment, whose stretch and prefix then are the meter's. */
static inline uint64_t lethe_meter_label(lethe_meters *meters, uint32_t which, uint64_t time_ms) {
    const lethe_stretch *stretch = &meters->all[which].stretch;
    if (time_ms < stretch->from_ms || time_ms >= stretch->to_ms)
        lethe_meter_turn(meters, which, time_ms);
    return stretch->label;
}

/* When a commit is sealed, at the store's time: what it does to meters. */
void lethe_meters_seal(lethe_meters *meters, uint64_t clock_ms, lethe_meters_step *out);
/* Adds that to the commit's batch. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_meters_put(const lethe_meters_step *step, uint64_t commit,
                                               lethe_batch *batch, lethe_disk *disk);
/* After that commit: frees the space of buckets that it dropped. */
void lethe_meters_reclaim(const lethe_meters_step *step, lethe_disk *disk);

#endif
