/* simulation/store/holds_guess.c - what the holds may be, and whether a store shows one of that.
 * The essay is in holds.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simulation/store/holds.h"
#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

lethe_status holds_look(lethe_store *store, struct holds_shown *shown) {
    char text[32];
    *shown = (struct holds_shown){.from_ms = machine_true_ms()};
    for (unsigned i = 0; i < HOLD_IDS; i++) {
        lethe_hold hold = LETHE_INIT(lethe_hold);
        lethe_status status = lethe_hold_get(store, claims_name(text, "job", i), &hold);
        if (status != LETHE_OK) return status;
        if (hold.key.size == 6) shown->keys[i] = ((const char *)hold.key.data)[5] - (unsigned)'0';
        shown->each[i] = hold;
        shown->each[i].id = shown->each[i].key = (lethe_bytes){0};
        shown->each[i].memory = NULL;
        lethe_hold_free(&hold);
    }
    for (unsigned i = 0; i < HOLD_KEYS; i++) {
        bool found;
        lethe_bytes key = claims_name(text, "held", i);
        lethe_status status = lethe_store_get(store, &key, 1, &shown->values[i], &found);
        if (status != LETHE_OK) return status;
    }
    shown->to_ms = machine_true_ms();
    return LETHE_OK;
}

bool hold_may_be_past(const struct hold_guess *guess, uint64_t after_ms, uint64_t to_ms) {
    return to_ms + CLAIM_BLUR_MS > guess->least_ms + after_ms;
}

bool hold_must_be_past(const struct hold_guess *guess, uint64_t after_ms, uint64_t from_ms) {
    return guess->boots == machine_boots() && from_ms > guess->most_ms + after_ms + CLAIM_BLUR_MS;
}

bool hold_may_be_old(const struct world *world, const struct hold_guess *guess, uint64_t to_ms) {
    return guess->state == LETHE_HOLD_IS_NONE ||
           hold_may_be_past(guess, world->claims.least_window_ms, to_ms);
}

bool hold_must_be_old(const struct world *world, const struct hold_guess *guess, uint64_t from_ms) {
    return guess->state == LETHE_HOLD_IS_NONE ||
           hold_must_be_past(guess, world->claims.most_window_ms, from_ms);
}

void holds_add_guess(struct holds_model *holds, const struct holds_guess *guess) {
    for (size_t i = 0; i < holds->count; i++) {
        if (memcmp(&holds->guesses[i], guess, sizeof *guess) == 0) return;
    }
    if (holds->count == HOLD_GUESSES) {
        holds->count = 0; /* too many to know anything */
        holds->has_begun = false;
        return;
    }
    holds->guesses[holds->count++] = *guess;
}

void holds_describe(const struct holds_guess *guess, unsigned id, char *out, size_t size) {
    const struct hold_guess *hold = &guess->each[id < HOLD_IDS ? id : 0];
    (void)snprintf(out, size,
                   "%s of held-%u, %" PRId64 " up to %" PRId64 ", actual %" PRId64
                   ", %llu..%llu, boot %llu; values %" PRId64 " and %" PRId64,
                   lethe_hold_state_name(hold->state), hold->key, hold->amount, hold->max,
                   hold->actual, (unsigned long long)hold->least_ms,
                   (unsigned long long)hold->most_ms, (unsigned long long)hold->boots,
                   guess->values[0], guess->values[1]);
}

static bool is_shown(const struct world *world, const struct holds_shown *shown, unsigned id,
                     const struct hold_guess *guess) {
    const lethe_hold *hold = &shown->each[id];
    if (hold->state == LETHE_HOLD_IS_NONE) return hold_may_be_old(world, guess, shown->to_ms);
    if (hold_must_be_old(world, guess, shown->from_ms)) return false;
    if (shown->keys[id] != guess->key || hold->amount != guess->amount || hold->max != guess->max ||
        hold->actual != guess->actual) {
        return false;
    }
    if (hold->state == LETHE_HOLD_IS_LAPSED)
        return guess->state == LETHE_HOLD_IS_OPEN && hold_may_be_past(guess, 0, shown->to_ms);
    if (hold->state == LETHE_HOLD_IS_OPEN)
        return guess->state == LETHE_HOLD_IS_OPEN && !hold_must_be_past(guess, 0, shown->from_ms);
    return hold->state == guess->state;
}

static bool are_shown(const struct world *world, const struct holds_shown *shown,
                      const struct holds_guess *guess, unsigned *wrong) {
    bool are = memcmp(shown->values, guess->values, sizeof guess->values) == 0;
    *wrong = HOLD_IDS;
    for (unsigned i = 0; i < HOLD_IDS && are; i++) {
        are = is_shown(world, shown, i, &guess->each[i]);
        *wrong = i;
    }
    return are;
}

/* Nothing was known: the store has no hold yet, or says what it has. */
static void begin(struct world *world, const struct holds_shown *shown) {
    struct holds_model *holds = &world->holds;
    static struct holds_guess guess;
    memset(&guess, 0, sizeof guess);
    memcpy(guess.values, shown->values, sizeof guess.values);
    for (unsigned i = 0; i < HOLD_IDS; i++) {
        const lethe_hold *hold = &shown->each[i];
        if (hold->state == LETHE_HOLD_IS_NONE) continue;
        bool is_open = hold->state == LETHE_HOLD_IS_OPEN;
        bool is_unsettled = is_open || hold->state == LETHE_HOLD_IS_LAPSED;
        uint64_t after_ms = is_open ? 0 : world->model.rules.window_ms;
        guess.each[i] =
            (struct hold_guess){.state = is_unsettled ? LETHE_HOLD_IS_OPEN : hold->state,
                                .key = shown->keys[i],
                                .amount = hold->amount,
                                .max = hold->max,
                                .actual = hold->actual,
                                /* Its true time is not known: it may be over at once, or never. */
                                .least_ms = is_open ? shown->from_ms + hold->left_ms : 0,
                                .most_ms = shown->to_ms + hold->left_ms + after_ms};
    }
    holds->count = 0;
    holds_add_guess(holds, &guess);
    holds->has_begun = true;
}

void holds_match(struct world *world, const struct shown *shown, bool settles, const char *who) {
    struct holds_model *holds = &world->holds;
    static struct holds_guess matching[HOLD_GUESSES];
    size_t kept = 0, count = holds->count;
    unsigned wrong = HOLD_IDS, id = HOLD_IDS;
    claims_note_window(world);
    if (!holds->has_begun && settles) begin(world, &shown->holds);
    if (!holds->has_begun || count == 0) return;
    for (size_t i = 0; i < count; i++) {
        if (are_shown(world, &shown->holds, &holds->guesses[i], &wrong))
            matching[kept++] = holds->guesses[i];
        else
            id = wrong;
    }
    if (kept == 0) {
        char text[300];
        holds_describe(&holds->guesses[count - 1], id, text, sizeof text);
        const lethe_hold *hold = &shown->holds.each[id < HOLD_IDS ? id : 0];
        verdict_fail("holds",
                     "%s shows job-%u as %s, %" PRId64 " up to %" PRId64 ", actual %" PRId64
                     ", values %" PRId64 " and %" PRId64 ", and it was %s (or one of %zu others)",
                     who, id, lethe_hold_state_name(hold->state), hold->amount, hold->max,
                     hold->actual, shown->holds.values[0], shown->holds.values[1], text, count - 1);
    }
    if (!settles) return;
    memcpy(holds->guesses, matching, sizeof matching);
    holds->count = kept;
}

void holds_give_up(struct world *world) {
    world->holds.count = 0;
    world->holds.has_begun = false;
}
