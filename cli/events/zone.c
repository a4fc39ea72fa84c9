/* zone.c - asks the C library, which reads the time zone database.
 *
 * IDEA    Clocks are changed by hours, months apart. So the offset of a local time is the one of
 *         the day before or that of the day after; each that leads back to the local time is right.
 * WHY     mktime decides by itself what a time means that never was, or was twice.
 * LIMIT   One named zone per process: the C library has no other. Two changes within two days are
 *         not told apart. */
#include "events/zone.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lethe/offset.h"

enum { DAY_S = 86400 };

bool event_offset_parse(lethe_bytes text, int32_t *offset_s) {
    const char *letter = text.data;
    *offset_s = 0;
    return (text.size == 1 && (*letter == 'Z' || *letter == 'z')) ||
           lethe_offset_parse(text, offset_s);
}

/* Whether the database has the zone. The C library would take an unknown one for UTC. */
static bool is_known(const char *name) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
    const char *folder = getenv("TZDIR");
    char path[4096], magic[4];
    if (name[0] == '\0' || name[0] == '/' || name[strspn(name, letters)] != '\0') return false;
    snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "/usr/share/zoneinfo", name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t size = read(file, magic, sizeof magic);
    close(file);
    return size == sizeof magic && memcmp(magic, "TZif", sizeof magic) == 0;
}

bool event_zone_set(const char *text, struct event_zone *out, struct event_problem *problem) {
    *out = (struct event_zone){0};
    if (event_offset_parse((lethe_bytes){text, strlen(text)}, &out->offset_s)) {
        int minutes = abs(out->offset_s) / 60;
        out->is_fixed = true;
        snprintf(out->name, sizeof out->name, "%c%02d:%02d", out->offset_s < 0 ? '-' : '+',
                 minutes / 60, minutes % 60);
        return true;
    }
    if (strlen(text) >= sizeof out->name || !is_known(text)) {
        event_problem_set(problem,
                          "--zone %.64s is not in this machine's time zone database; give a name "
                          "such as Europe/Berlin, or an offset such as +01:00",
                          text);
        return false;
    }
    snprintf(out->name, sizeof out->name, "%s", text);
    char value[EVENT_ZONE_BYTES + 1];
    snprintf(value, sizeof value, ":%s", text);
    if (setenv("TZ", value, 1) != 0) {
        event_problem_set(problem, "not enough memory for a time zone; free some");
        return false;
    }
    tzset();
    return true;
}

/* Whether the zone is at an offset at local_s with that very offset. */
static bool holds(int64_t local_s, int64_t offset_s) {
    struct tm broken;
    time_t moment = (time_t)(local_s - offset_s);
    return localtime_r(&moment, &broken) != NULL && broken.tm_gmtoff == offset_s;
}

static int64_t offset_at(int64_t moment_s) {
    struct tm broken = {0};
    time_t moment = (time_t)moment_s;
    return localtime_r(&moment, &broken) != NULL ? broken.tm_gmtoff : 0;
}

enum event_zone_answer event_zone_to_utc(const struct event_zone *zone, int64_t local_s,
                                         int64_t *out_s) {
    if (zone->is_fixed) {
        *out_s = local_s - zone->offset_s;
        return ZONE_FINE;
    }
    int64_t before = offset_at(local_s - DAY_S), after = offset_at(local_s + DAY_S);
    /* The greater offset is the earlier moment. */
    int64_t first = before > after ? before : after, second = before > after ? after : before;
    if (!holds(local_s, first)) {
        if (!holds(local_s, second)) return ZONE_NEVER;
        first = second;
    }
    *out_s = local_s - first;
    return ZONE_FINE;
}
