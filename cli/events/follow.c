/* follow.c - goes round the files that are followed, and waits where there is nothing to read.
 *
 * IDEA  A round looks at each file in turn, and reads it as far as it reached when its turn began.
 *       After a round in which nothing was read there is nothing to do until a file changes, or a
 *       second has passed.
 * I1    The tails of the inputs come first, in their order; so what is there at the beginning is
 *       read in the order in which it was named.
 * I2    A slot has one file after the other, and each file begins with a batch that says so. */
#include "events/follow.h"

#include <stdlib.h>
#include <time.h>

#include "events/tail.h"
#include "frame/clock.h"
#include "frame/exit_code.h"
#include "frame/interrupt.h"

enum {
    /* How long nothing is looked at, at most: for what inotify does not report. */
    LOOK_MS = 1000,
    /* The least time between two rounds with a wait between them, so that a busy writer does not
     * cause one for each line. */
    PACE_MS = 10,
    LINGER_MS = 60000
};

struct event_follower {
    const struct inputs *inputs;
    const struct event_options *options;
    /* For files that come later: they may have been read by this run, under another name. */
    struct event_options later_options;
    struct resume_table *table;
    unsigned scale;
    const atomic_bool *stop;
    struct input_failure failure;

    struct watch *watch;
    /* By slot; NULL where one is free. */
    struct tail *tails[EVENT_SLOTS];
    /* Whose turn it is, and how far it goes; 0: it has not begun. */
    size_t turn;
    uint64_t turn_end;
    bool has_begun, was_busy;
    atomic_bool has_waited;
    uint64_t waited_ms;
    /* After the end: up to which slot it was said what is left. */
    size_t told;
    _Atomic uint64_t behind;
};

struct event_follower *event_follower_new(const struct inputs *inputs,
                                          const struct event_options *options,
                                          const atomic_bool *stop) {
    struct event_follower *follower = calloc(1, sizeof *follower);
    if (follower == NULL) return NULL;
    follower->inputs = inputs;
    follower->options = options;
    follower->stop = stop;
    follower->later_options = *options;
    follower->later_options.from_start = false;
    follower->watch = watch_new();
    if (follower->watch != NULL) return follower;
    event_follower_free(follower);
    return NULL;
}

void event_follower_free(struct event_follower *follower) {
    if (follower == NULL) return;
    for (size_t i = 0; i < EVENT_SLOTS; i++) {
        tail_free(follower->tails[i], follower->watch);
    }
    watch_free(follower->watch);
    free(follower);
}

void event_follower_start(struct event_follower *follower, struct resume_table *table,
                          unsigned scale) {
    follower->table = table;
    follower->scale = scale;
}

const struct input_failure *event_follower_failure(const struct event_follower *follower) {
    return &follower->failure;
}

void event_follower_wake(struct event_follower *follower) {
    watch_wake(follower->watch);
}

bool event_follower_caught_up(const struct event_follower *follower) {
    return follower->has_waited;
}

uint64_t event_follower_behind(const struct event_follower *follower) {
    return follower->behind;
}

static bool should_stop(const struct event_follower *follower) {
    return interrupt_requested() || atomic_load(follower->stop) ||
           follower->failure.code != EXIT_DONE;
}

/* Makes a tail, in a slot. */
static bool add_tail(struct event_follower *follower, size_t slot, size_t input) {
    struct tail *tail =
        tail_new(follower->inputs, input, follower->options, follower->table, follower->stop);
    if (tail == NULL) {
        input_failure_set(&follower->failure, EXIT_ENVIRONMENT,
                          "not enough memory to follow the files; free some, or name fewer");
        return false;
    }
    tail->gatherer.format.scale = follower->scale;
    follower->tails[slot] = tail;
    return true;
}

/* Makes the tails of the inputs. */
static bool begin(struct event_follower *follower) {
    follower->has_begun = true;
    for (size_t i = 0; i < follower->inputs->count; i++) {
        if (!add_tail(follower, i, i)) return false;
    }
    return true;
}

/* Makes a tail for the file that has the name of another one now. Without a slot, that waits until
 * a file that was rotated away is closed. */
static bool add_successor(struct event_follower *follower, struct tail *tail) {
    size_t slot = 0;
    while (slot < EVENT_SLOTS && follower->tails[slot] != NULL) {
        slot++;
    }
    if (slot == EVENT_SLOTS) return true;
    if (!add_tail(follower, slot, tail->input)) return false;
    tail->is_leaving = true;
    return true;
}

static void sum_behind(struct event_follower *follower) {
    uint64_t sum = 0;
    for (size_t i = 0; i < EVENT_SLOTS; i++) {
        if (follower->tails[i] != NULL) sum += follower->tails[i]->behind;
    }
    follower->behind = sum;
}

static void pause_until(uint64_t then_ms) {
    uint64_t now_ms = clock_ms();
    if (now_ms >= then_ms) return;
    struct timespec left = {.tv_nsec = (long)(then_ms - now_ms) * 1000000};
    (void)nanosleep(&left, NULL);
}

/* After the last turn of a round. */
static void end_round(struct event_follower *follower) {
    sum_behind(follower);
    follower->turn = 0;
    if (!follower->was_busy) {
        follower->has_waited = true;
        watch_wait(follower->watch, LOOK_MS);
        pause_until(follower->waited_ms + PACE_MS);
        follower->waited_ms = clock_ms();
    }
    follower->was_busy = false;
}

static void end_turn(struct event_follower *follower) {
    follower->turn++;
    follower->turn_end = 0;
}

/* Reads from a file that has something. Returns whether the batch has something to say. */
static bool read_some(struct event_follower *follower, struct tail *tail,
                      struct event_batch *batch) {
    struct event_gatherer *gatherer = &tail->gatherer;
    size_t slot = follower->turn;
    if (follower->turn_end == 0) {
        follower->turn_end = source_bytes(gatherer->stream.source) + tail->behind + 1;
    }
    if (!gatherer->follows) event_remember_place(gatherer);
    bool has_batch = event_gather(gatherer, batch);
    if (gatherer->failure.code != EXIT_DONE) follower->failure = gatherer->failure;
    if (!has_batch) return false;
    follower->was_busy = true;
    struct event_share *share = &batch->share_room[0];
    share->input = tail->input;
    share->slot = slot;
    share->is_later = follower->has_waited;
    if (!gatherer->is_open) {
        tail_free(tail, follower->watch);
        follower->tails[slot] = NULL;
        end_turn(follower);
    } else if (gatherer->is_at_end || batch->bytes >= follower->turn_end) {
        end_turn(follower);
    }
    return batch->count > 0 || batch->unreadable > 0 || share->has_mark || share->starts_input ||
           share->pending_bytes > 0;
}

/* After the end: says of which files there is the beginning of a line, one with each call. */
static bool tell_pending(struct event_follower *follower, struct event_batch *batch) {
    while (follower->told < EVENT_SLOTS && follower->failure.code == EXIT_DONE) {
        struct tail *tail = follower->tails[follower->told++];
        if (tail == NULL || !tail->is_open || !tail->gatherer.is_at_end) continue;
        tail_begin_note(tail, batch);
        event_note_pending(&tail->gatherer, &batch->share_room[0]);
        if (batch->shares[0].pending_bytes > 0) return true;
    }
    return false;
}

/* One turn, or a part of it. Returns whether there is a batch. */
static bool take_turn(struct event_follower *follower, struct tail *tail,
                      struct event_batch *batch) {
    struct tail_scene scene = {
        .watch = follower->watch,
        .now_ms = clock_ms(),
        .linger_ms = follower->options->linger_ms > 0 ? follower->options->linger_ms : LINGER_MS,
        .is_first = !follower->has_waited,
        .options = follower->has_waited ? &follower->later_options : follower->options,
        .tails = follower->tails,
        .tail_count = EVENT_SLOTS,
    };
    switch (tail_look(tail, &scene, batch)) {
    case TAIL_MORE:
        return read_some(follower, tail, batch);
    case TAIL_NOTE:
        follower->was_busy = true;
        end_turn(follower);
        return true;
    case TAIL_ROTATED:
        end_turn(follower);
        return add_successor(follower, tail) && tail->is_leaving;
    case TAIL_FAILED:
        follower->failure = tail->gatherer.failure;
        return false;
    default:
        end_turn(follower);
        return false;
    }
}

bool event_follow(struct event_follower *follower, struct event_batch *batch) {
    if (!follower->has_begun && !begin(follower)) return false;
    while (!should_stop(follower)) {
        if (follower->turn == EVENT_SLOTS) {
            end_round(follower);
        } else if (follower->tails[follower->turn] == NULL) {
            end_turn(follower);
        } else if (take_turn(follower, follower->tails[follower->turn], batch)) {
            return true;
        }
    }
    return tell_pending(follower, batch);
}
