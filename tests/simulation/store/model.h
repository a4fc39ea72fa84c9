/* simulation/store/model.h - what a store must hold, and what it must answer.
 *
 * Every operation adds 1 to a counter named after its id, its witness, beside what it does to
 * shared counters. So a lost operation is a witness that is too low, and one that was counted twice
 * is one that is too high: the id is in the message.
 *
 * The model is two states: what was acknowledged, and what was submitted. Between them is the
 * list of effects, in order; after a crash the store must be at some point of it. */
#ifndef LETHE_SIMULATION_STORE_MODEL_H
#define LETHE_SIMULATION_STORE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/store.h"
#include "simulation/store/claims.h"
#include "simulation/store/holds.h"

enum { MODEL_IDS = 40000, MODEL_KEYS = 24, MODEL_MARKS = 4, MODEL_CHANGES = 5, MODEL_NAME = 40 };

/* A moment of the store's clock, as well as it is known. */
struct moment {
    uint64_t least_ms, most_ms;
};

struct memory {
    struct moment applied; /* when last */
    uint32_t witness;      /* how often */
    uint32_t unmetered;    /* of these, before the store had meters */
    uint8_t variant;       /* which changes it had */
    bool is_applied;
    /* It was old when W became longer, or when ids were first kept for ever. */
    bool may_be_forgotten;
    bool may_be_remembered; /* for longer than W says: W or the mode was another then */
    bool is_compared;       /* its changes are: the store has been exact since */
};

struct state {
    struct memory ids[MODEL_IDS];
    int64_t values[MODEL_KEYS];
    bool exists[MODEL_KEYS];
    uint64_t marks[MODEL_MARKS];
    /* The store counts per period: what the values have beyond that. */
    bool has_meters;
    uint64_t rests[MODEL_KEYS];
};

struct effect {
    enum { EFFECT_APPLY, EFFECT_SET, EFFECT_DELETE, EFFECT_MARK } kind;
    uint32_t which; /* id, key or mark */
    uint8_t variant;
    /* Of several at once, from 1 on; their effects may come in any order. 0: nobody else was
     * there. */
    uint8_t client;
    int64_t value;
    struct moment moment;
};

/* What decides about duplicates. */
struct rules {
    uint64_t window_ms, max_future_ms;
    double error;
    bool exact, check_payload, event_time, forever;
};

struct model {
    struct rules rules;
    uint64_t seed; /* of the changes that ids have */
    /* No delta is so large that two do not fit: buckets would overflow, which are not modelled. */
    bool is_modest;
    bool is_simple; /* most ids have no changes except their witness */
    struct state acknowledged, submitted;
    struct effect *effects; /* from the one state to the other */
    size_t effect_count, effect_room;
    uint64_t first_effect; /* how many were acknowledged before */
    uint32_t id_count;
    uint64_t clock_ms; /* event time: the latest accepted */
    /* And what was late when W became longer, or ids were first kept for ever. */
    uint64_t forgotten_ms;
    uint8_t client; /* whose effects are added now */
    uint64_t fresh, wrongly_duplicates;
};

/* Of an id that was given up: no changes. */
enum { VARIANT_GIVEN_UP = 255 };

/* An operation as it is sent, with its names. */
struct sent {
    uint32_t id;
    uint8_t variant;
    /* It has a bound on a bucket; and one that nothing passes. */
    bool may_be_limited, must_be_limited;
    char id_name[MODEL_NAME], keys[MODEL_CHANGES][MODEL_NAME];
    lethe_change changes[MODEL_CHANGES];
    lethe_operation operation;
};

void model_compose(const struct model *model, struct sent *sent, uint32_t id, uint8_t variant);

/* Judges an answer and takes it over. `now` is the store's clock while it was decided; values,
 * unless NULL, is what the counters were said to hold. `lenient`: the call did not return, and
 * its answers may be provisional. */
void model_judge(struct model *model, const struct sent *sent, uint8_t outcome, struct moment now,
                 struct moment wall, const int64_t *values, bool lenient);
void model_set(struct model *model, uint32_t key, int64_t value, bool deletes);
void model_mark(struct model *model, uint32_t mark, uint64_t value);
/* All effects before this one are acknowledged. */
void model_acknowledge(struct model *model, uint64_t before);
static inline uint64_t model_position(const struct model *model) {
    return model->first_effect + model->effect_count;
}

/* What a store shows: filled key by key. */
struct shown {
    uint32_t witness[MODEL_IDS];
    int64_t values[MODEL_KEYS];
    bool exists[MODEL_KEYS];
    uint64_t marks[MODEL_MARKS];
    /* The store has meters: the sums of buckets. */
    bool has_meters, drops;
    uint32_t witness_sums[MODEL_IDS];
    int64_t sums[MODEL_KEYS];
    struct claims_shown claims;
    struct holds_shown holds;
};
void model_show(struct shown *shown, lethe_bytes key, int64_t value);
void model_show_bucket(struct shown *shown, lethe_bytes key, int64_t value);
/* The store has meters from now on. */
void model_meter(struct model *model);
void model_show_mark(struct shown *shown, const lethe_mark *mark);
/* Finds the point of the list that is shown; fails if there is none. With `settles` the store is
 * there from now on, and what came after it was lost; otherwise nothing changes. */
void model_match(struct model *model, const struct shown *shown, bool settles, const char *who);
/* The store is known to be as submitted: what a writer shows. */
void model_match_submitted(const struct model *model, const struct shown *shown);
/* For model_match.c: the number that a name has after its prefix; makes an effect to a state. */
uint32_t model_number_in(lethe_bytes name, size_t prefix);
void model_make(const struct model *model, struct state *state, const struct effect *effect);
size_t model_key_name(char *out, uint32_t key);
uint32_t model_key_number(lethe_bytes name);
size_t model_mark_name(char *out, uint32_t mark);
/* bounds.c: whether an operation that is fresh must be limited. */
bool bounds_are_crossed(const struct model *model, const struct sent *sent);
/* Other rules from now on. What the old ones have forgotten stays so. */
void model_switch(struct model *model, struct rules rules, struct moment now);
/* Puts effects of several clients into an order that what is shown may come from: clients.c. */
void model_order(struct model *model, const struct shown *shown);
void model_end(const struct model *model);

#endif
