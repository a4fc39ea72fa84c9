/* filter/cascade/plan.h - the shape that options lead to; pure arithmetic. */
#ifndef LETHE_CASCADE_PLAN_H
#define LETHE_CASCADE_PLAN_H

#include "filter/cascade/table.h"
#include "lethe/cascade.h"

/* What is fixed when a cascade is made; the manifest keeps it. */
struct lethe_cascade_shape {
    uint64_t identity; /* random: distinguishes this cascade's files from another's */
    uint64_t capacity;
    double error;
    uint64_t seed;
    uint64_t window_ms;
    double slack;
    uint32_t fingerprint_bits;
    uint32_t range_bits;
};

enum { LETHE_CASCADE_MAX_RANGES = 16, LETHE_CASCADE_MAX_TABLES = LETHE_CASCADE_MAX_RANGES + 4 };

/* What may change from one open to the next. */
struct lethe_cascade_setting {
    uint64_t memory_bytes;
    uint64_t level_filter_bytes;
    uint64_t table_homes;
    unsigned table_count;
    uint32_t growth;
    uint32_t read_depth;
    size_t buffer_bytes; /* that a merge reads a run by */
    size_t lookup_keys;  /* looked up at a time */
    uint64_t log_file_bytes;
    lethe_cascade_durability durability;
    lethe_cascade_reading reading;
    bool direct, refuse_over_capacity;
};

/* The shape of a new cascade, except its identity. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_cascade_plan_shape(const lethe_cascade_options *options,
                                                       struct lethe_cascade_shape *out);
/* Whether the options ask for this shape, or leave it open. Errors: LETHE_EINVAL,
 * LETHE_EMISMATCH. */
LETHE_MUST_CHECK lethe_status lethe_cascade_compare_shape(const lethe_cascade_options *options,
                                                          const struct lethe_cascade_shape *shape);
/* Whether a shape from a file makes sense. Errors: LETHE_ECORRUPT. */
LETHE_MUST_CHECK lethe_status lethe_cascade_check_shape(const struct lethe_cascade_shape *shape);
/* Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_cascade_plan_setting(const lethe_cascade_options *options,
                                                         const struct lethe_cascade_shape *shape,
                                                         struct lethe_cascade_setting *out);

struct lethe_cascade_words lethe_cascade_words_of(const struct lethe_cascade_shape *shape);
/* Granularity of forgetting; 0 without a window. */
uint64_t lethe_cascade_period_ms(const struct lethe_cascade_shape *shape);
/* The earliest period whose entries live at now_ms; 0 without a window. */
uint64_t lethe_cascade_oldest_period(const struct lethe_cascade_shape *shape, uint64_t now_ms);
uint64_t lethe_cascade_period_of(const struct lethe_cascade_shape *shape, uint64_t now_ms);

#endif
