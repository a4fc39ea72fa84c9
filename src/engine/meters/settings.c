/* engine/meters/settings.c - what is asked of meters, in words, and whether the store can have it.
 *
 * I1      Resolutions are only added. Buckets are stored under a resolution's place in the list.
 * I2      The zone stays: otherwise a label would mean one day before a change and another after
 *         it. */
#include <stdio.h>
#include <string.h>

#include "core/detail.h"
#include "engine/meters/meters.h"
#include "os/clock.h"

/* Used for a share of a text between commas. */
struct word {
    const char *at;
    size_t size;
};

static bool next_word(const char **at, struct word *out) {
    if (*at == NULL) return false;
    const char *comma = strchr(*at, ',');
    *out = (struct word){*at, comma != NULL ? (size_t)(comma - *at) : strlen(*at)};
    *at = comma != NULL ? comma + 1 : NULL;
    return true;
}

static int shown(struct word word) {
    return word.size < 40 ? (int)word.size : 40;
}

static lethe_status refuse_period(struct word word, lethe_detail *detail) {
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "\"%.*s\" is no period that can be counted in; give what divides an "
                             "hour (1s to 1h, such as 15m), 1d, 1w, 1mo or 1y",
                             shown(word), word.at);
}

static lethe_status parse_per(const char *per, lethe_resolution out[LETHE_METERS_LIMIT],
                              uint32_t *count, lethe_detail *detail) {
    struct word word;
    *count = 0;
    while (next_word(&per, &word)) {
        lethe_resolution resolution;
        if (!lethe_resolution_parse(word.at, word.size, &resolution))
            return refuse_period(word, detail);
        bool is_new = true;
        for (uint32_t i = 0; i < *count; i++)
            is_new = is_new && !lethe_resolution_equals(out[i], resolution);
        if (!is_new) {
            return lethe_detail_fill(detail, LETHE_EINVAL,
                                     "the period %.*s is given twice; leave one out", shown(word),
                                     word.at);
        }
        if (*count == LETHE_METERS_LIMIT) {
            return lethe_detail_fill(detail, LETHE_EINVAL,
                                     "a store counts in %d kinds of periods at most; give fewer",
                                     LETHE_METERS_LIMIT);
        }
        out[(*count)++] = resolution;
    }
    return LETHE_OK;
}

/* A duration, in units of which a month has 31 days and a year 366: never less than is meant. */
static bool parse_duration(struct word word, uint64_t *out_ms) {
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"s", 1000},
                 {"m", 60000},
                 {"min", 60000},
                 {"h", 3600000},
                 {"d", 86400000},
                 {"w", UINT64_C(604800000)},
                 {"mo", UINT64_C(2678400000)},
                 {"y", UINT64_C(31622400000)}};
    uint64_t number = 0;
    size_t at = 0;
    if (word.size == 4 && memcmp(word.at, "ever", 4) == 0) {
        *out_ms = 0;
        return true;
    }
    for (; at < word.size && word.at[at] >= '0' && word.at[at] <= '9' && number < 1000000; at++)
        number = number * 10 + (uint64_t)(word.at[at] - '0');
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].name);
        if (length != word.size - at || memcmp(units[i].name, word.at + at, length) != 0) continue;
        *out_ms = number * units[i].ms;
        return at > 0 && number > 0 && *out_ms <= LETHE_LAST_MOMENT_MS;
    }
    return false;
}

/* One of keep's: a resolution, and how long. */
static lethe_status parse_kept(struct word word, lethe_resolution *resolution, uint64_t *keep_ms,
                               lethe_detail *detail) {
    const char *equals = memchr(word.at, '=', word.size);
    if (equals == NULL) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "\"%.*s\" does not say how long buckets are kept; write it as "
                                 "1h=90d, or 1h=ever",
                                 shown(word), word.at);
    }
    struct word period = {word.at, (size_t)(equals - word.at)};
    struct word duration = {equals + 1, word.size - period.size - 1};
    if (!lethe_resolution_parse(period.at, period.size, resolution))
        return refuse_period(period, detail);
    if (parse_duration(duration, keep_ms)) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "\"%.*s\" is no time that buckets can be kept for; give a number and "
                             "s, m, h, d, w, mo or y, or \"ever\"",
                             shown(duration), duration.at);
}

static lethe_status refuse_kept(struct word word, lethe_detail *detail) {
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "the store does not count in the periods that %.*s is to keep; add "
                             "them to those to count in",
                             shown(word), word.at);
}

static bool has(const lethe_resolution *all, uint32_t count, lethe_resolution resolution) {
    bool found = false;
    for (uint32_t i = 0; i < count; i++)
        found = found || lethe_resolution_equals(all[i], resolution);
    return found;
}

/* per: the resolutions that are asked for, which have all that the store will count in; NULL if
 * none are. */
static lethe_status check_keep(const char *keep, const lethe_resolution *per, uint32_t per_count,
                               lethe_detail *detail) {
    lethe_resolution kept[LETHE_METERS_LIMIT] = {0};
    uint32_t count = 0;
    struct word word;
    while (next_word(&keep, &word)) {
        lethe_resolution resolution = {0};
        uint64_t keep_ms;
        lethe_status status = parse_kept(word, &resolution, &keep_ms, detail);
        if (status != LETHE_OK) return status;
        if (per != NULL && !has(per, per_count, resolution)) return refuse_kept(word, detail);
        if (has(kept, count, resolution)) {
            return lethe_detail_fill(detail, LETHE_EINVAL,
                                     "it is said twice how long buckets are kept: %.*s is the "
                                     "second; leave one out",
                                     shown(word), word.at);
        }
        if (count < LETHE_METERS_LIMIT) kept[count++] = resolution;
    }
    return LETHE_OK;
}

lethe_status lethe_meters_check(const lethe_store_options *options, lethe_detail *detail) {
    lethe_resolution resolutions[LETHE_METERS_LIMIT];
    uint32_t count = 0;
    lethe_status status = LETHE_OK;
    if (options->per != NULL) status = parse_per(options->per, resolutions, &count, detail);
    if (status != LETHE_OK) return status;
    if (options->per != NULL && options->sketch_bytes != 0) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "a sketch has no buckets; leave out the periods, or the sketch");
    }
    if (options->keep != NULL) {
        status =
            check_keep(options->keep, options->per != NULL ? resolutions : NULL, count, detail);
    }
    if (status != LETHE_OK || options->zone == NULL) return status;
    lethe_zone *zone;
    status = lethe_zone_load(options->zone, options->allocator, &zone, detail);
    lethe_zone_free(zone);
    return status;
}

static lethe_status refuse_zone(lethe_detail *detail) {
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "a zone is that of the periods to count in; give them as well");
}

lethe_status lethe_meters_check_new(const lethe_store_options *options, lethe_detail *detail) {
    const char *keep = options->keep;
    struct word word;
    if (options->per != NULL) return LETHE_OK;
    if (options->zone != NULL) return refuse_zone(detail);
    return next_word(&keep, &word) ? refuse_kept(word, detail) : LETHE_OK;
}

/* The place of a resolution; LETHE_METERS_LIMIT: it is not there. */
static uint32_t place_of(const lethe_meters *meters, lethe_resolution resolution) {
    for (uint32_t i = 0; i < meters->count; i++) {
        if (lethe_resolution_equals(meters->all[i].resolution, resolution)) return i;
    }
    return LETHE_METERS_LIMIT;
}

static lethe_status refuse_missing(const lethe_meters *meters, lethe_detail *detail) {
    lethe_store_stats texts;
    lethe_meters_describe(meters, &texts);
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "the store counts in the periods %s, and none of them can be taken "
                             "away; give all of them, and those to add, or none",
                             texts.per);
}

/* Nothing was counted in a later moment than this so far. Where events have no time of their own,
 * the wall clock chose their periods, and it may be ahead of the store's. */
static uint64_t counted_until_ms(const lethe_store_options *options, const lethe_state *state) {
    uint64_t until_ms = state->clock_ms;
    uint64_t wall_ms = options->event_time == LETHE_SWITCH_ON ? 0 : lethe_os_wall_ms();
    if (wall_ms > until_ms) until_ms = wall_ms;
    return until_ms < LETHE_LAST_MOMENT_MS ? until_ms : LETHE_LAST_MOMENT_MS;
}

static lethe_status add_resolutions(lethe_meters *meters, const lethe_store_options *options,
                                    const lethe_state *state, bool has_counted,
                                    lethe_detail *detail) {
    lethe_resolution asked[LETHE_METERS_LIMIT];
    uint32_t count, found = 0;
    lethe_status status = parse_per(options->per, asked, &count, detail);
    if (status != LETHE_OK) return status;
    for (uint32_t i = 0; i < count; i++)
        found += place_of(meters, asked[i]) < LETHE_METERS_LIMIT;
    if (found < meters->count) return refuse_missing(meters, detail);
    if (meters->count == 0) meters->since = state->commit + 1;
    for (uint32_t i = 0; i < count; i++) {
        if (place_of(meters, asked[i]) < LETHE_METERS_LIMIT) continue;
        meters->all[meters->count++] = (lethe_meter){
            .resolution = asked[i], .added_ms = has_counted ? counted_until_ms(options, state) : 0};
        meters->is_changed = true;
    }
    return LETHE_OK;
}

static lethe_status set_keep(lethe_meters *meters, const char *keep, lethe_detail *detail) {
    struct word word;
    while (next_word(&keep, &word)) {
        lethe_resolution resolution = {0};
        uint64_t keep_ms = 0;
        lethe_status status = parse_kept(word, &resolution, &keep_ms, detail);
        if (status != LETHE_OK) return status;
        uint32_t place = place_of(meters, resolution);
        if (place == LETHE_METERS_LIMIT) return refuse_kept(word, detail);
        if (meters->all[place].keep_ms == keep_ms) continue;
        meters->all[place].keep_ms = keep_ms;
        meters->is_changed = true;
    }
    return LETHE_OK;
}

static lethe_status set_zone(lethe_meters *meters, const lethe_store_options *options,
                             bool is_first, lethe_detail *detail) {
    const char *zone = options->zone;
    if (zone != NULL && meters->count == 0) return refuse_zone(detail);
    if (zone != NULL && !is_first && strcmp(zone, meters->zone_name) != 0) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the store counts in the days of %s, and those of %.64s are asked "
                                 "for; leave the zone out, or name another folder",
                                 meters->zone_name, zone);
    }
    if (is_first)
        snprintf(meters->zone_name, sizeof meters->zone_name, "%s", zone != NULL ? zone : "UTC");
    return LETHE_OK;
}

/* Before anything was counted no bucket can have been dropped. The clock may have been the wall's
 * so far, and the events that come now may be old, and go by their own. */
static void keep_from_the_beginning(lethe_meters *meters) {
    for (uint32_t i = 0; i < meters->count; i++) {
        meters->is_changed = meters->is_changed || meters->all[i].kept_from > 0;
        meters->all[i].kept_from = meters->all[i].drop_after_ms = 0;
    }
}

lethe_status lethe_meters_resolve(lethe_meters *meters, const lethe_store_options *options,
                                  const lethe_state *state, bool has_counted,
                                  lethe_detail *detail) {
    if (options->per != NULL && state->sketch_bytes != 0) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the store keeps a sketch, which has no buckets; leave out the "
                                 "periods, or name another folder");
    }
    bool had_none = meters->count == 0;
    lethe_status status = LETHE_OK;
    if (!has_counted) keep_from_the_beginning(meters);
    if (options->per != NULL) status = add_resolutions(meters, options, state, has_counted, detail);
    if (status == LETHE_OK) status = set_zone(meters, options, had_none, detail);
    if (status == LETHE_OK && options->keep != NULL)
        status = set_keep(meters, options->keep, detail);
    if (status != LETHE_OK || meters->count == 0) return status;
    return lethe_meters_need_zone(meters, options->allocator, detail);
}

/* In the largest unit that divides it. */
static void name_duration(uint64_t keep_ms, char out[32]) {
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"y", UINT64_C(31622400000)},
                 {"mo", UINT64_C(2678400000)},
                 {"d", 86400000},
                 {"h", 3600000},
                 {"m", 60000},
                 {"s", 1000}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof units[0] && keep_ms % units[i].ms != 0)
        i++;
    snprintf(out, 32, "%llu%s", (unsigned long long)(keep_ms / units[i].ms), units[i].name);
}

void lethe_meters_describe(const lethe_meters *meters, lethe_store_stats *out) {
    size_t per = 0, keep = 0;
    out->per[0] = out->zone[0] = out->keep[0] = '\0';
    for (uint32_t i = 0; i < meters->count; i++) {
        char name[LETHE_RESOLUTION_NAME_BYTES], duration[32];
        lethe_resolution_name(meters->all[i].resolution, name);
        per +=
            (size_t)snprintf(out->per + per, sizeof out->per - per, "%s%s", i > 0 ? "," : "", name);
        if (meters->all[i].keep_ms == 0) continue;
        name_duration(meters->all[i].keep_ms, duration);
        keep += (size_t)snprintf(out->keep + keep, sizeof out->keep - keep, "%s%s=%s",
                                 keep > 0 ? "," : "", name, duration);
    }
    if (meters->count > 0) snprintf(out->zone, sizeof out->zone, "%s", meters->zone_name);
}
