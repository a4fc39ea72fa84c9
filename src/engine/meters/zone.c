/* engine/meters/zone.c - reading the time zone database, and asking it.
 *
 * IDEA    A zone is a list of moments at which its offset from UTC changed, and a rule for all
 *         moments after the last of them (zone_rule.c). A moment is in the span between two
 *         changes.
 * LAYOUT  of a file (RFC 8536): header, the list with 32 bits for a moment, and from version 2 on
 *         another header, the list with 64 bits, and the rule as a line of text.
 * WHY     localtime_r knows one zone per process, and whoever links this library has set it.
 * LIMIT   Leap seconds are left out, as POSIX time leaves them out. */
#include "engine/meters/zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/allocator.h"
#include "core/detail.h"
#include "engine/meters/zone_rule.h"
#include "lethe/offset.h"
#include "os/file.h"

enum { HEADER_BYTES = 44, FILE_LIMIT_BYTES = 1 << 18, CHANGES_LIMIT = 1 << 14, DAY_S = 86400 };

struct change {
    int64_t at_s;
    int32_t offset_s;
};

struct lethe_zone {
    const lethe_allocator *allocator;
    /* Before the first change. */
    int32_t first_offset_s;
    uint32_t change_count;
    bool has_rule;
    lethe_zone_rule rule; /* after the last change */
    struct change changes[];
};

static size_t size_of(uint32_t change_count) {
    return sizeof(lethe_zone) + change_count * sizeof(struct change);
}

static uint32_t get_u32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t get_time(const unsigned char *at, size_t bytes) {
    uint64_t high = get_u32(at);
    return bytes == 4 ? (int32_t)high : (int64_t)(high << 32 | get_u32(at + 4));
}

/* One of the lists of a file. */
struct list {
    uint32_t times, types, letters, leaps, standards, utcs;
    size_t time_bytes;
};

static bool read_header(const unsigned char *at, const unsigned char *end, size_t time_bytes,
                        struct list *out) {
    if (end - at < HEADER_BYTES || memcmp(at, "TZif", 4) != 0) return false;
    *out = (struct list){.utcs = get_u32(at + 20),
                         .standards = get_u32(at + 24),
                         .leaps = get_u32(at + 28),
                         .times = get_u32(at + 32),
                         .types = get_u32(at + 36),
                         .letters = get_u32(at + 40),
                         .time_bytes = time_bytes};
    return out->times <= CHANGES_LIMIT && out->types >= 1 && out->types <= 256 &&
           out->letters <= FILE_LIMIT_BYTES && out->leaps <= FILE_LIMIT_BYTES &&
           out->standards <= 256 && out->utcs <= 256;
}

static size_t bytes_of(const struct list *list) {
    return list->times * (list->time_bytes + 1) + (size_t)list->types * 6 + list->letters +
           list->leaps * (list->time_bytes + 4) + list->standards + list->utcs;
}

static int32_t offset_of(const unsigned char *types, unsigned type) {
    return (int32_t)get_u32(types + (size_t)type * 6);
}

/* Whether an offset is one that a clock can have. */
static bool is_offset(int32_t offset_s) {
    return offset_s > -2 * DAY_S && offset_s < 2 * DAY_S;
}

static lethe_status read_list(const unsigned char *at, const struct list *list,
                              const lethe_allocator *allocator, lethe_zone **out) {
    const unsigned char *kinds = at + list->times * list->time_bytes;
    const unsigned char *types = kinds + list->times;
    lethe_zone *zone = lethe_alloc_zeroed(allocator, size_of(list->times));
    if (zone == NULL) return LETHE_ENOMEM;
    zone->allocator = allocator;
    zone->change_count = list->times;
    zone->first_offset_s = offset_of(types, 0);
    bool is_sound = is_offset(zone->first_offset_s);
    for (uint32_t i = 0; i < list->times && is_sound; i++) {
        struct change *change = &zone->changes[i];
        is_sound = kinds[i] < list->types;
        if (!is_sound) break;
        *change = (struct change){.at_s = get_time(at + i * list->time_bytes, list->time_bytes),
                                  .offset_s = offset_of(types, kinds[i])};
        is_sound =
            is_offset(change->offset_s) && (i == 0 || change->at_s > zone->changes[i - 1].at_s);
    }
    if (!is_sound) {
        lethe_zone_free(zone);
        return LETHE_ECORRUPT;
    }
    *out = zone;
    return LETHE_OK;
}

/* The rule is a line after the second list. */
static bool read_rule(const unsigned char *at, const unsigned char *end, lethe_zone *zone) {
    char text[128];
    if (at == end || *at != '\n') return false;
    at++;
    const unsigned char *newline = memchr(at, '\n', (size_t)(end - at));
    if (newline == NULL || (size_t)(newline - at) >= sizeof text) return false;
    memcpy(text, at, (size_t)(newline - at));
    text[newline - at] = '\0';
    zone->has_rule = text[0] != '\0';
    return !zone->has_rule || lethe_zone_rule_parse(text, &zone->rule);
}

lethe_status lethe_zone_parse(const void *data, size_t size, const lethe_allocator *allocator,
                              lethe_zone **out) {
    *out = NULL;
    const unsigned char *at = data, *end = at + size;
    struct list list;
    if (!read_header(at, end, 4, &list)) return LETHE_ECORRUPT;
    bool has_more = at[4] >= '2';
    at += HEADER_BYTES;
    if ((size_t)(end - at) < bytes_of(&list)) return LETHE_ECORRUPT;
    if (!has_more) return read_list(at, &list, allocator, out);
    at += bytes_of(&list);
    if (!read_header(at, end, 8, &list)) return LETHE_ECORRUPT;
    at += HEADER_BYTES;
    if ((size_t)(end - at) < bytes_of(&list)) return LETHE_ECORRUPT;
    lethe_status status = read_list(at, &list, allocator, out);
    if (status != LETHE_OK) return status;
    if (read_rule(at + bytes_of(&list), end, *out)) return LETHE_OK;
    lethe_zone_free(*out);
    *out = NULL;
    return LETHE_ECORRUPT;
}

void lethe_zone_free(lethe_zone *zone) {
    if (zone != NULL) lethe_release(zone->allocator, zone, size_of(zone->change_count));
}

/* Whether it is a name that the database may have, and none that leaves its folder. */
static bool is_name(const char *name) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
    size_t length = strlen(name);
    return length > 0 && length < LETHE_ZONE_NAME_BYTES && name[0] != '/' &&
           strspn(name, letters) == length;
}

static lethe_status read_file(const char *path, const lethe_allocator *allocator,
                              lethe_zone **out) {
    lethe_os_reader reader;
    lethe_status status = lethe_os_reader_open(path, &reader);
    if (status != LETHE_OK) return status;
    size_t size = (size_t)reader.size_bytes;
    void *data = NULL;
    if (reader.size_bytes == 0 || reader.size_bytes > FILE_LIMIT_BYTES) status = LETHE_ECORRUPT;
    if (status == LETHE_OK) {
        data = lethe_alloc_zeroed(allocator, size);
        status = data != NULL ? lethe_os_reader_read(&reader, data, size) : LETHE_ENOMEM;
    }
    if (status == LETHE_OK) status = lethe_zone_parse(data, size, allocator, out);
    lethe_release(allocator, data, size);
    lethe_os_reader_close(&reader);
    return status;
}

static lethe_status make_fixed(int32_t offset_s, const lethe_allocator *allocator,
                               lethe_zone **out) {
    *out = lethe_alloc_zeroed(allocator, size_of(0));
    if (*out == NULL) return LETHE_ENOMEM;
    (*out)->allocator = allocator;
    (*out)->first_offset_s = offset_s;
    return LETHE_OK;
}

lethe_status lethe_zone_load(const char *name, const lethe_allocator *allocator, lethe_zone **out,
                             lethe_detail *detail) {
    *out = NULL;
    int32_t offset_s = 0;
    if (strcmp(name, "UTC") == 0 ||
        lethe_offset_parse((lethe_bytes){name, strlen(name)}, &offset_s)) {
        lethe_status status = make_fixed(offset_s, allocator, out);
        return status == LETHE_OK ? LETHE_OK : lethe_detail_fill(detail, status, "no memory");
    }
    const char *folder = getenv("TZDIR");
    char path[4096];
    lethe_status status = LETHE_EINVAL;
    if (is_name(name)) {
        int size = snprintf(path, sizeof path, "%s/%s",
                            folder != NULL ? folder : "/usr/share/zoneinfo", name);
        if (size > 0 && (size_t)size < sizeof path) status = read_file(path, allocator, out);
    }
    if (status == LETHE_OK) return LETHE_OK;
    if (status == LETHE_ENOMEM) return lethe_detail_fill(detail, status, "not enough memory");
    if (status == LETHE_ECORRUPT) {
        return lethe_detail_fill(detail, status,
                                 "the file of the zone %.64s is not one of a time zone database; "
                                 "install tzdata again",
                                 name);
    }
    return lethe_detail_fill(detail, status == LETHE_ENOTFOUND ? LETHE_EINVAL : status,
                             "the zone %.64s is not in this machine's time zone database; give a "
                             "name such as Europe/Berlin, or an offset such as +01:00",
                             name);
}

/* How many changes were made by then. */
static uint32_t changes_until(const lethe_zone *zone, int64_t time_s) {
    uint32_t low = 0, high = zone->change_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (zone->changes[middle].at_s <= time_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

lethe_zone_span lethe_zone_at(const lethe_zone *zone, int64_t time_s) {
    lethe_zone_span span = {.from_s = INT64_MIN, .to_s = INT64_MAX};
    if (zone == NULL) return span;
    uint32_t made = changes_until(zone, time_s), count = zone->change_count;
    if (made > 0) span.from_s = zone->changes[made - 1].at_s;
    if (made < count) span.to_s = zone->changes[made].at_s;
    span.offset_s = made > 0 ? zone->changes[made - 1].offset_s : zone->first_offset_s;
    if (made < count || !zone->has_rule) return span;
    lethe_zone_span ruled = lethe_zone_rule_at(&zone->rule, time_s);
    if (ruled.from_s < span.from_s) ruled.from_s = span.from_s;
    return ruled;
}
