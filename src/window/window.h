/* window/window.h - what window.c and format.c share. */
#ifndef LETHE_WINDOW_WINDOW_H
#define LETHE_WINDOW_WINDOW_H

#include "lethe/forgetful.h"
#include "os/lock.h"
#include "window/chain.h"

enum { LETHE_WINDOW_MAX_STRIPES = 64 };

/* Each on cache lines of its own, or the locks of neighbours would disturb each other. */
struct lethe_window_stripe {
    lethe_os_lock lock;
    lethe_chain chain;      /* quotient kind */
    lethe_forgetful *bloom; /* Bloom kind */
    char apart[128];
};

struct lethe_window {
    lethe_window_options options; /* defaults filled in */
    uint32_t stripe_count;
    bool is_shared; /* locks are needed */
    bool is_plain;  /* a single chain of tables, and no lock */
    struct lethe_window_stripe *stripes;
    size_t stripes_bytes;
};

static inline bool lethe_window_is_bloom(const lethe_window *window) {
    return window->options.kind == LETHE_WINDOW_BLOOM;
}

/* Locks a stripe, where the window is shared. */
struct lethe_window_stripe *lethe_window_take(const lethe_window *window, uint32_t index);
void lethe_window_give(const lethe_window *window, struct lethe_window_stripe *stripe);

/* A window whose stripes are not filled yet. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_window_new_without_stripes(const lethe_window_options *options,
                                                               lethe_window **out);

/* The options of one stripe: its share of what is told for the whole. */
lethe_window_options lethe_window_stripe_options(const lethe_window *window);

#endif
