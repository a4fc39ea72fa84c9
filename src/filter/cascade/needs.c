/* filter/cascade/needs.c - what a cascade will take, without making one.
 *
 * IDEA    One range is filled, table by table, and its runs are merged by the rule of work.c as if
 *         merging took no time. What is left is a list of runs with their entries. The other ranges
 *         have the same.
 * WHY     A run's entries cost fewer bits the more of them there are, so the list is needed. It is
 *         the same at every scale: a cascade of very many tables is planned with tables that are
 *         `growth` times as large, as often as that takes. */
#include <math.h>

#include "core/sized.h"
#include "filter/cascade/page.h"
#include "filter/cascade/plan.h"
#include "filter/cascade/state.h"

enum { MOST_STEPS = 4096, FENCE_BYTES = 8, FENCES_A_PAGE = 510 };
enum { FILTER_LEAST_BITS = 2, FILTER_MOST_BITS = 16 };

struct runs {
    double entries[LETHE_CASCADE_MAX_RUNS];
    unsigned level[LETHE_CASCADE_MAX_RUNS];
    /* Newest last. */
    unsigned count;
    /* What a run of level 0 may have before it belongs to the next, and by how much levels grow. */
    double level_entries, growth;
};

/* Merges the newest runs as long as two of them are of one level. */
static void merge_runs(struct runs *runs) {
    while (runs->count > 1 && runs->level[runs->count - 1] == runs->level[runs->count - 2]) {
        unsigned level = runs->level[runs->count - 1], end = runs->count;
        double entries = 0;
        for (;; level++) {
            for (; end > 0 && runs->level[end - 1] == level; end--)
                entries += runs->entries[end - 1];
            if (entries < runs->level_entries * pow(runs->growth, level)) break;
        }
        runs->count = end + 1;
        runs->entries[end] = entries;
        runs->level[end] = level;
    }
}

static void add_run(struct runs *runs, double entries) {
    if (entries < 1 || runs->count == LETHE_CASCADE_MAX_RUNS) return;
    runs->entries[runs->count] = entries;
    runs->level[runs->count++] = 1;
    merge_runs(runs);
}

/* Pages with numbers, in the code of Elias and Fano (page.c). */
static double pages_of(double entries, unsigned bits) {
    double low = fmax(bits - floor(log2(entries)) - 1, 0);
    if (low > LETHE_CASCADE_MAX_LOW_BITS) low = LETHE_CASCADE_MAX_LOW_BITS;
    double each = low + 1 + ldexp(1 / entries, (int)(bits - (unsigned)low));
    /* Highs end with a word, of which half is lost on average, and lows with a byte. */
    double room = (LETHE_CASCADE_PAGE_BYTES - LETHE_CASCADE_PAGE_HEADER_BYTES - 8) * 8 - 32 - 7;
    return ceil(entries / fmin(floor(room / each), LETHE_CASCADE_PAGE_ENTRIES));
}

lethe_status lethe_cascade_plan(const lethe_cascade_options *options, uint64_t entries,
                                lethe_cascade_needs *out) {
    lethe_cascade_options taken;
    struct lethe_cascade_shape shape;
    struct lethe_cascade_setting setting;
    if (lethe_sized_check(out, LETHE_SIZE_WITH(out, reserved)) != LETHE_OK) return LETHE_EINVAL;
    lethe_status status = LETHE_TAKE(options, &taken, allocator);
    if (status == LETHE_OK) status = lethe_cascade_plan_shape(&taken, &shape);
    if (status == LETHE_OK) status = lethe_cascade_plan_setting(&taken, &shape, &setting);
    if (status == LETHE_OK && (shape.window_ms > 0 || entries > UINT64_C(1) << 50))
        status = LETHE_EINVAL;
    if (status != LETHE_OK) return status;

    double ranges = 1u << shape.range_bits, left = (double)entries / ranges;
    /* Tables and levels are full when so many of their places are taken, in whole numbers. */
    uint64_t table_entries = setting.table_homes - setting.table_homes / 6;
    uint64_t level_entries = setting.table_homes - setting.table_homes / 4;
    double table = (double)table_entries, scale = 1;
    while (left / (table * scale) > MOST_STEPS)
        scale *= setting.growth;
    struct runs runs = {.level_entries = (double)level_entries * scale, .growth = setting.growth};
    for (; left >= table * scale; left -= table * scale)
        add_run(&runs, table * scale);
    /* The rest is written by the next checkpoint, or when its table is full. */
    add_run(&runs, left);

    double pages = 0, fences = 0;
    for (unsigned i = 0; i < runs.count; i++) {
        double own = pages_of(runs.entries[i], shape.fingerprint_bits - shape.range_bits);
        pages += own;
        fences += ceil(own / FENCES_A_PAGE);
    }
    /* Below two bits per entry there are none (work.c). */
    double filter_bits = 8 * 0.95 * (double)setting.level_filter_bytes / fmax((double)entries, 1);
    double filters = filter_bits < FILTER_LEAST_BITS
                         ? 0
                         : (double)entries * fmin(filter_bits, FILTER_MOST_BITS) / 8;
    lethe_cascade_needs needs = {
        .size = sizeof needs,
        .entries = entries,
        .fingerprint_bits = shape.fingerprint_bits,
        .disk_bytes = (uint64_t)((pages + fences) * ranges) * LETHE_CASCADE_PAGE_BYTES,
        .memory_bytes = lethe_cascade_table_slots(setting.table_homes) * setting.table_count * 8 +
                        (uint64_t)(pages * ranges) * FENCE_BYTES + (uint64_t)filters +
                        sizeof(lethe_cascade),
        .error = ldexp((double)entries, -(int)shape.fingerprint_bits),
        .runs = runs.count,
    };
    return LETHE_GIVE(&needs, out, reserved);
}
