/* engine/meters/zone_rule.h - when clocks are changed each year, as the database writes it:
 * CET-1CEST,M3.5.0,M10.5.0/3. */
#ifndef LETHE_ENGINE_METERS_ZONE_RULE_H
#define LETHE_ENGINE_METERS_ZONE_RULE_H

#include "engine/meters/zone.h"

/* A moment of each year, in the local time before it. */
typedef struct lethe_zone_date {
    enum { LETHE_DATE_WEEKDAY, LETHE_DATE_LEAPLESS, LETHE_DATE_DAY } kind;
    /* The last weekday of the month is in week 5. */
    int32_t month, week, weekday;
    /* 1 to 365, where February 29 is not counted; or 0 to 365, where it is. */
    int32_t day;
    int32_t time_s;
} lethe_zone_date;

typedef struct lethe_zone_rule {
    int32_t standard_s;
    bool has_summer;
    int32_t summer_s;
    lethe_zone_date begin, end; /* of summer time */
} lethe_zone_rule;

/* Returns whether the text is a rule. */
bool lethe_zone_rule_parse(const char *text, lethe_zone_rule *out);

/* The span of a moment by the rule alone. */
lethe_zone_span lethe_zone_rule_at(const lethe_zone_rule *rule, int64_t time_s);

#endif
