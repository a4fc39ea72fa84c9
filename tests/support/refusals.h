/* tests/support/refusals.h - calls that must be refused with LETHE_EINVAL, as a table. */
#ifndef LETHE_TESTS_SUPPORT_REFUSALS_H
#define LETHE_TESTS_SUPPORT_REFUSALS_H

#include "lethe/lethe.h"
#include "support/test.h"

/* A call that must be LETHE_EINVAL. */
struct refusal {
    const char *call;
    lethe_status status;
};

#define REFUSAL(expression) \
    { #expression, (expression) }

/* One call, at once. */
#define REFUSED(call)                                                         \
    do {                                                                      \
        lethe_status status = (call);                                         \
        if (status != LETHE_EINVAL) fail_msg("%s: status %d", #call, status); \
    } while (0)

static inline void check_refusals(const struct refusal *refusals, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (refusals[i].status != LETHE_EINVAL)
            fail_msg("%s: %s", refusals[i].call, lethe_strerror(refusals[i].status));
}

#define CHECK_REFUSALS(refusals) check_refusals((refusals), sizeof(refusals) / sizeof(refusals)[0])

static inline void *no_memory(void *context, size_t size) {
    (void)context;
    (void)size;
    return NULL;
}

/* An allocator that can't release, a sink that can't write, a source that can't read. */
static const lethe_allocator half_allocator
    __attribute__((unused)) = {.allocate_zeroed = no_memory};
static const lethe_sink no_sink __attribute__((unused)) = {0};
static const lethe_source no_source __attribute__((unused)) = {.size_bytes = 1000};

/* Something that isn't NULL where a function must set a result to NULL. */
static char anything __attribute__((unused));
#define ANYTHING ((void *)&anything)

#endif
