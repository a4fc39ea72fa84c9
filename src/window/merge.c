/* window/merge.c - one window takes over what another remembers.
 *
 * I1      Everything that can fail comes first, so an error leaves both windows as they were. */
#include "window/window.h"

static bool can_be_merged(const lethe_window_options *a, const lethe_window_options *b) {
    return a->kind == b->kind && a->stripes == b->stripes && a->seed == b->seed &&
           a->window_ms == b->window_ms && a->slack == b->slack && a->allocator == b->allocator;
}

static void swap_windows(lethe_window *a, lethe_window *b) {
    lethe_window copy = *a;
    *a = *b;
    *b = copy;
}

static lethe_status merge_quotient(lethe_window *window, lethe_window *other) {
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        lethe_status status =
            lethe_chain_can_merge(&window->stripes[i].chain, &other->stripes[i].chain);
        if (status != LETHE_OK) return status;
    }
    for (uint32_t i = 0; i < window->stripe_count; i++)
        lethe_chain_merge(&window->stripes[i].chain, &other->stripes[i].chain);
    return LETHE_OK;
}

/* Merging a stripe of this kind can fail, so all are merged into copies before one is replaced. */
static lethe_status merge_forgetful(lethe_window *window, lethe_window *other) {
    lethe_forgetful *merged[LETHE_WINDOW_MAX_STRIPES] = {NULL};
    lethe_status status = LETHE_OK;
    for (uint32_t i = 0; i < window->stripe_count && status == LETHE_OK; i++) {
        status = lethe_forgetful_copy(window->stripes[i].forgetful, &merged[i]);
        if (status == LETHE_OK)
            status = lethe_forgetful_merge(merged[i], other->stripes[i].forgetful);
    }
    for (uint32_t i = 0; i < window->stripe_count; i++) {
        lethe_forgetful *unused = merged[i];
        if (status == LETHE_OK) {
            unused = window->stripes[i].forgetful;
            window->stripes[i].forgetful = merged[i];
        }
        lethe_forgetful_free(unused);
    }
    return status;
}

lethe_status lethe_window_merge(lethe_window *window, lethe_window *other) {
    if (window == NULL || other == NULL) return LETHE_EINVAL;
    if (window == other || !can_be_merged(&window->options, &other->options)) {
        return LETHE_EMISMATCH;
    }
    lethe_window *empty; /* what other becomes; made first, because making it can fail */
    lethe_status status = lethe_window_new(&other->options, &empty);
    if (status != LETHE_OK) return status;
    status = lethe_window_is_forgetful(window) ? merge_forgetful(window, other)
                                               : merge_quotient(window, other);
    if (status == LETHE_OK) swap_windows(other, empty);
    lethe_window_free(empty);
    return status;
}
