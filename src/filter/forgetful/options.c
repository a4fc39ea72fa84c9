/* filter/forgetful/options.c - checks the options and fills in their defaults. Allocates
 * nothing. */
#include "filter/forgetful/forgetful.h"

#define MAX_WINDOW_MS (UINT64_C(30) * LETHE_FORGETFUL_DAY_MS)
#define MAX_CAPACITY (UINT64_C(1) << 36)
#define MAX_PAPER_BITS (UINT64_C(1) << 40)
#define MIN_CAP_BYTES (UINT64_C(64) * 1024)

enum {
    SECOND_MS = 1000,
    HOUR_MS = 3600000,
    DEFAULT_WINDOW_MS = 600000,
    DEFAULT_BITS = 6250, /* as in Section VI of the paper */
    DEFAULT_HASHES = 5,
    DEFAULT_PERIOD_MS = 5000,
    MAX_HASHES = 64
};

#define DEFAULT_ERROR 1e-6
#define DEFAULT_TARGET 0.01
#define DEFAULT_SLACK 0.25

/* False for NaN. */
static bool is_within(double value, double least, double most) {
    return value >= least && value <= most;
}

static lethe_status plan_elastic(struct lethe_forgetful_plan *plan) {
    lethe_forgetful_options *options = &plan->options;
    bool is_papers = options->bits != 0 || options->hashes != 0 || options->past != 0 ||
                     options->period_ms != 0 || options->check != 0 || options->adapt != 0 ||
                     options->salted;
    if (is_papers) return LETHE_EINVAL;
    if (options->window_ms == 0) options->window_ms = DEFAULT_WINDOW_MS;
    if (options->error == 0) options->error = DEFAULT_ERROR;
    if (options->slack == 0) options->slack = DEFAULT_SLACK;
    bool valid =
        options->window_ms >= SECOND_MS && options->window_ms <= MAX_WINDOW_MS &&
        is_within(options->error, 1e-12, 0.1) && is_within(options->slack, 0.02, 1) &&
        options->capacity <= MAX_CAPACITY &&
        (options->max_memory_bytes == 0 || options->max_memory_bytes >= MIN_CAP_BYTES) &&
        (options->policy == LETHE_POLICY_REFUSE || options->policy == LETHE_POLICY_DEGRADE);
    if (!valid) return LETHE_EINVAL;
    options->salted = true;
    plan->periods = lethe_forgetful_choose_periods(options->error, options->slack);
    plan->period_ms = options->window_ms / plan->periods;
    return LETHE_OK;
}

static lethe_status plan_paper(struct lethe_forgetful_plan *plan) {
    lethe_forgetful_options *options = &plan->options;
    if (options->slack != 0 || options->capacity != 0 || options->policy != 0) return LETHE_EINVAL;
    /* Algorithms 1 to 3 know neither. */
    bool is_printed = options->setting == LETHE_FORGETFUL_PRINTED;
    if (is_printed && (options->window_ms != 0 || options->salted)) return LETHE_EINVAL;
    if (options->error == 0) options->error = DEFAULT_TARGET;
    if (options->bits == 0) options->bits = DEFAULT_BITS;
    if (options->hashes == 0) options->hashes = DEFAULT_HASHES;
    if (options->past == 0) options->past = 1;
    if (options->period_ms == 0) options->period_ms = DEFAULT_PERIOD_MS;
    const uint32_t both = LETHE_FORGETFUL_ADAPT_FILTERS | LETHE_FORGETFUL_ADAPT_PERIOD;
    bool valid =
        options->window_ms <= MAX_WINDOW_MS && is_within(options->error, 1e-12, 1) &&
        options->bits <= MAX_PAPER_BITS && options->hashes <= MAX_HASHES &&
        options->past <= LETHE_FORGETFUL_MOST_MEMBERS - 2 && options->period_ms <= MAX_WINDOW_MS &&
        (options->check == LETHE_FORGETFUL_OPTIMISED || options->check == LETHE_FORGETFUL_SIMPLE) &&
        (options->adapt & ~both) == 0;
    if (!valid) return LETHE_EINVAL;
    if ((options->adapt & LETHE_FORGETFUL_ADAPT_PERIOD) != 0 &&
        (options->period_ms < SECOND_MS || options->period_ms > HOUR_MS)) {
        return LETHE_EINVAL;
    }
    if ((options->past + UINT64_C(1)) * options->period_ms < options->window_ms) {
        return LETHE_EINVAL;
    }
    uint64_t bytes = (options->past + UINT64_C(2)) * lethe_member_bytes_for(options->bits);
    if (options->max_memory_bytes != 0 && bytes > options->max_memory_bytes) return LETHE_EINVAL;
    return LETHE_OK;
}

lethe_status lethe_forgetful_plan_options(const lethe_forgetful_options *options,
                                          struct lethe_forgetful_plan *out) {
    *out = (struct lethe_forgetful_plan){0};
    struct lethe_forgetful_plan plan = {0};
    if (options != NULL) plan.options = *options;
    plan.options.allocator = NULL;
    if (plan.options.seed == 0) plan.options.seed = LETHE_DEFAULT_SEED;
    lethe_status status = LETHE_EINVAL;
    if (plan.options.setting == LETHE_FORGETFUL_ELASTIC) status = plan_elastic(&plan);
    if (plan.options.setting == LETHE_FORGETFUL_PAPER ||
        plan.options.setting == LETHE_FORGETFUL_PRINTED) {
        status = plan_paper(&plan);
    }
    if (status == LETHE_OK) *out = plan;
    return status;
}
