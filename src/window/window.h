/* window/window.h - what the files of the public window share: window.c has the essay. */
#ifndef LETHE_WINDOW_WINDOW_H
#define LETHE_WINDOW_WINDOW_H

#include "lethe/forgetful.h"
#include "os/lock.h"
#include "window/chain.h"

enum { LETHE_WINDOW_MAX_STRIPES = 64, LETHE_WINDOW_STRIPE_SHIFT = 58 };

/* Stripes lie on different cache lines. Otherwise threads that lock neighbours would slow each
 * other down. */
struct lethe_window_stripe {
    lethe_os_lock lock;

    /* The contents, in the one that belongs to the window's kind. */
    lethe_chain chain;
    lethe_forgetful *forgetful;

    char apart[128];
};

struct lethe_window {
    /* With the defaults filled in. */
    lethe_window_options options;

    struct lethe_window_stripe *stripes;
    size_t stripes_bytes;
    uint32_t stripe_count;

    /* Whether stripes must be locked. */
    bool is_shared;

    /* Whether the window is a single chain of parts that needs no lock: the fastest path. */
    bool is_plain;
};

static inline bool lethe_window_is_forgetful(const lethe_window *window) {
    return window->options.kind == LETHE_WINDOW_FORGETFUL;
}

/* The index of an id's stripe: from the upper bits of the low half of its hash. */
static inline uint32_t lethe_window_stripe_of(const lethe_window *window, lethe_hash id) {
    return (uint32_t)(id.low >> LETHE_WINDOW_STRIPE_SHIFT) & (window->stripe_count - 1);
}

/* The memory of a window without what its stripes remember. */
static inline uint64_t lethe_window_fixed_bytes(const lethe_window *window) {
    return sizeof *window + window->stripes_bytes;
}

/* Lock a stripe and unlock it, if the window is shared. */
struct lethe_window_stripe *lethe_window_take(const lethe_window *window, uint32_t index);
void lethe_window_give(const lethe_window *window, struct lethe_window_stripe *stripe);

/* Makes a window whose stripes are still empty of contents. options has no defaults left to fill
 * in. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_window_new_without_stripes(const lethe_window_options *options,
                                                               lethe_window **out);

/* The options of one stripe: its share of the capacity and of the memory cap. */
lethe_window_options lethe_window_stripe_options(const lethe_window *window);

#endif
