/* simulation/store/holds.c - amounts that are set aside under a limit.
 *
 * I1      Value and what is held never pass a max together: by a hold, a settlement or a take under
 *         it; except by force.
 * I2      A lease lasts its true time at least. While the machine is not restarted it ends on time.
 * I3      A settlement is counted once, whatever is killed; how a hold ended is known for W.
 * I4      What a call that did not return was about, was done as a whole or not at all: the counter
 *         and the hold together.
 *
 * WHY     Holds share counters. So a guess is about all of them together; otherwise as in claims.c.
 *         The counters are of holds alone: what is held of others would limit operations whose
 *         outcome the model knows. */
#include "simulation/store/holds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/serve.h"
#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

enum verb { VERB_PLACE, VERB_SETTLE, VERB_RELEASE, VERB_TAKE };

/* A call. Of a take, HELD is applied, and DUPLICATE a false one. */
struct talking {
    lethe_store *store;
    enum verb verb;
    unsigned id, key;
    int64_t amount, max;
    bool is_forced, is_served;
    uint64_t lease_ms, take;
    uint64_t from_ms, to_ms;
    lethe_hold_answer answer;
    lethe_status status;
};

static const lethe_hold_answer changing[] = {LETHE_HOLD_HELD, LETHE_HOLD_SETTLED,
                                             LETHE_HOLD_RELEASED, LETHE_HOLD_HELD};

/* --- what may be --- */

/* How much may be held of a key at the least and at the most, without the hold of that id. */
static void find_held(const struct holds_guess *guess, const struct talking *talking, unsigned key,
                      unsigned without, int64_t *least, int64_t *most) {
    *least = *most = 0;
    for (unsigned i = 0; i < HOLD_IDS; i++) {
        const struct hold_guess *hold = &guess->each[i];
        if (i == without || hold->state != LETHE_HOLD_IS_OPEN || hold->key != key) continue;
        if (!hold_may_be_past(hold, 0, talking->to_ms)) *least += hold->amount;
        if (!hold_must_be_past(hold, 0, talking->from_ms)) *most += hold->amount;
    }
}

/* Whether so much more can be granted, and whether it can be refused. */
struct room {
    bool may_grant, may_refuse;
};

static struct room room_for(const struct holds_guess *guess, const struct talking *talking,
                            unsigned key, unsigned without, int64_t more, int64_t max) {
    int64_t least, most, value = guess->values[key];
    find_held(guess, talking, key, without, &least, &most);
    return (struct room){value + least + more <= max, value + most + more > max};
}

static bool explain_place(const struct world *world, const struct talking *talking,
                          const struct holds_guess *guess, struct holds_guess *out) {
    struct hold_guess *hold = &out->each[talking->id];
    bool is_same =
        hold->key == talking->key && hold->amount == talking->amount && hold->max == talking->max;
    bool may_be_known = !hold_must_be_old(world, hold, talking->from_ms);
    bool may_be_new = hold_may_be_old(world, hold, talking->to_ms);
    struct room room =
        room_for(guess, talking, talking->key, talking->id, talking->amount, talking->max);
    switch (talking->answer) {
    case LETHE_HOLD_DUPLICATE:
        return may_be_known && is_same;
    case LETHE_HOLD_MISMATCH:
        return may_be_known && !is_same;
    case LETHE_HOLD_LIMITED:
        return may_be_new && room.may_refuse;
    case LETHE_HOLD_HELD:
        *hold = (struct hold_guess){.state = LETHE_HOLD_IS_OPEN,
                                    .key = talking->key,
                                    .amount = talking->amount,
                                    .max = talking->max,
                                    .least_ms = talking->from_ms + talking->lease_ms,
                                    .most_ms = talking->to_ms + talking->lease_ms,
                                    .boots = machine_boots()};
        return may_be_new && room.may_grant;
    default:
        return false;
    }
}

static void end(struct hold_guess *hold, const struct talking *talking, lethe_hold_state state) {
    hold->state = state;
    hold->least_ms = talking->from_ms;
    hold->most_ms = talking->to_ms;
    hold->boots = machine_boots();
}

static bool explain_settle(const struct world *world, const struct talking *talking,
                           const struct holds_guess *guess, struct holds_guess *out) {
    struct hold_guess *hold = &out->each[talking->id];
    int64_t actual = talking->amount;
    bool may_be_known = !hold_must_be_old(world, hold, talking->from_ms);
    bool is_unsettled = hold->state == LETHE_HOLD_IS_OPEN;
    bool is_same = hold->state == LETHE_HOLD_IS_SETTLED && hold->actual == actual;
    if (talking->answer == LETHE_HOLD_UNKNOWN) return hold_may_be_old(world, hold, talking->to_ms);
    if (!may_be_known) return false;
    if (talking->answer == LETHE_HOLD_DUPLICATE) return is_same;
    if (talking->answer == LETHE_HOLD_MISMATCH) return !is_unsettled && !is_same;
    if (!is_unsettled) return false;
    bool may_be_open = !hold_must_be_past(hold, 0, talking->from_ms);
    bool may_have_lapsed = hold_may_be_past(hold, 0, talking->to_ms);
    struct room room = room_for(guess, talking, hold->key, talking->id, actual, hold->max);
    if (talking->answer == LETHE_HOLD_LIMITED) {
        bool is_judged = (may_be_open && actual > hold->amount) || (may_have_lapsed && actual > 0);
        return !talking->is_forced && is_judged && room.may_refuse;
    }
    if (talking->answer != LETHE_HOLD_SETTLED) return false;
    bool is_free = (may_be_open && actual <= hold->amount) || (may_have_lapsed && actual == 0);
    out->values[hold->key] += actual;
    hold->actual = actual;
    end(hold, talking, LETHE_HOLD_IS_SETTLED);
    return talking->is_forced || is_free || room.may_grant;
}

static bool explain_release(const struct world *world, const struct talking *talking,
                            struct holds_guess *out) {
    struct hold_guess *hold = &out->each[talking->id];
    lethe_hold_state before = hold->state;
    if (talking->answer == LETHE_HOLD_UNKNOWN) return hold_may_be_old(world, hold, talking->to_ms);
    if (hold_must_be_old(world, hold, talking->from_ms)) return false;
    if (talking->answer == LETHE_HOLD_DUPLICATE) return before == LETHE_HOLD_IS_RELEASED;
    if (talking->answer == LETHE_HOLD_MISMATCH) return before == LETHE_HOLD_IS_SETTLED;
    if (talking->answer != LETHE_HOLD_RELEASED) return false;
    end(hold, talking, LETHE_HOLD_IS_RELEASED);
    return before == LETHE_HOLD_IS_OPEN;
}

static bool explain_take(const struct talking *talking, const struct holds_guess *guess,
                         struct holds_guess *out) {
    struct room room =
        room_for(guess, talking, talking->key, HOLD_IDS, talking->amount, talking->max);
    if (talking->answer == LETHE_HOLD_LIMITED) return room.may_refuse;
    if (talking->answer == LETHE_HOLD_DUPLICATE) return true;
    out->values[talking->key] += talking->amount;
    return room.may_grant;
}

/* What the call makes of a guess; whether its answer can be. */
static bool explain(const struct world *world, const struct talking *talking,
                    const struct holds_guess *guess, struct holds_guess *out) {
    *out = *guess;
    switch (talking->verb) {
    case VERB_PLACE:
        return explain_place(world, talking, guess, out);
    case VERB_SETTLE:
        return explain_settle(world, talking, guess, out);
    case VERB_RELEASE:
        return explain_release(world, talking, out);
    case VERB_TAKE:
        return explain_take(talking, guess, out);
    }
    return false;
}

static void tell(const struct talking *talking, char *out, size_t size) {
    (void)snprintf(out, size,
                   "verb %d of job-%u on held-%u: %" PRId64 " up to %" PRId64 "%s for %llu ms, at "
                   "%llu..%llu",
                   (int)talking->verb, talking->id, talking->key, talking->amount, talking->max,
                   talking->is_forced ? " by force" : "", (unsigned long long)talking->lease_ms,
                   (unsigned long long)talking->from_ms, (unsigned long long)talking->to_ms);
}

/* The call returned: what explains its answer stays. */
static void judge(struct world *world, const struct talking *talking) {
    static struct holds_guess before[HOLD_GUESSES], after;
    struct holds_model *holds = &world->holds;
    size_t count = holds->count, explained = 0;
    if (count == 0) return; /* nothing is known of them */
    memcpy(before, holds->guesses, sizeof before);
    holds->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!explain(world, talking, &before[i], &after)) continue;
        explained++;
        holds_add_guess(holds, &after);
    }
    if (explained > 0) return;
    char text[300], call[200];
    holds_describe(&before[0], talking->id, text, sizeof text);
    tell(talking, call, sizeof call);
    verdict_fail("holds", "%s is answered %s, and it was %s (or one of %zu others)", call,
                 lethe_hold_answer_name(talking->answer), text, count - 1);
}

/* It did not return: whatever it may have made is possible too. */
static void suspect(struct world *world, struct talking *talking) {
    static struct holds_guess before[HOLD_GUESSES], after;
    struct holds_model *holds = &world->holds;
    size_t count = holds->count;
    memcpy(before, holds->guesses, sizeof before);
    talking->answer = changing[talking->verb];
    for (size_t i = 0; i < count; i++) {
        if (explain(world, talking, &before[i], &after)) holds_add_guess(holds, &after);
        if (holds->count == 0) return;
    }
}

/* --- talking --- */

/* What a take is called among the answers of holds. */
static lethe_hold_answer answer_of(uint8_t outcome) {
    return outcome == LETHE_OUTCOME_APPLIED   ? LETHE_HOLD_HELD
           : outcome == LETHE_OUTCOME_LIMITED ? LETHE_HOLD_LIMITED
                                              : LETHE_HOLD_DUPLICATE;
}

static void take(struct talking *talking) {
    char id[32], key[32];
    lethe_change change = {.key = claims_name(key, "held", talking->key),
                           .delta = talking->amount,
                           .flags = LETHE_CHANGE_MAX,
                           .max = talking->max};
    lethe_operation operation = {
        .id = claims_name(id, "take", talking->take), .changes = &change, .change_count = 1};
    uint8_t outcome = LETHE_OUTCOME_REFUSED;
    talking->status = lethe_store_apply(talking->store, &operation, 1, &outcome, NULL);
    talking->answer = answer_of(outcome);
}

/* The same through the server. */
static void call_served(struct talking *talking, const lethe_hold *hold) {
    char id[32];
    uint8_t outcome = LETHE_OUTCOME_REFUSED;
    switch (talking->verb) {
    case VERB_PLACE:
        talking->status = serve_hold_place(talking->store, hold, &talking->answer);
        return;
    case VERB_SETTLE:
        talking->status = serve_hold_settle(talking->store, hold->id, talking->amount,
                                            talking->is_forced, &talking->answer);
        return;
    case VERB_RELEASE:
        talking->status = serve_hold_release(talking->store, hold->id, &talking->answer);
        return;
    case VERB_TAKE:
        talking->status = serve_take(talking->store, claims_name(id, "take", talking->take),
                                     hold->key, talking->amount, talking->max, &outcome);
        talking->answer = answer_of(outcome);
        return;
    }
}

static void call(void *context) {
    struct talking *talking = context;
    char id_text[32], key_text[32];
    lethe_bytes id = claims_name(id_text, "job", talking->id);
    lethe_hold hold = LETHE_INIT(lethe_hold);
    hold.id = id;
    hold.key = claims_name(key_text, "held", talking->key);
    hold.amount = talking->amount;
    hold.max = talking->max;
    hold.lease_ms = talking->lease_ms;
    if (talking->is_served) {
        call_served(talking, &hold);
        return;
    }
    switch (talking->verb) {
    case VERB_PLACE:
        talking->status = lethe_hold_place(talking->store, &hold, &talking->answer, NULL);
        return;
    case VERB_SETTLE:
        talking->status =
            lethe_hold_settle(talking->store, id, talking->amount,
                              talking->is_forced ? LETHE_SETTLE_FORCE : 0, &talking->answer, NULL);
        return;
    case VERB_RELEASE:
        talking->status = lethe_hold_release(talking->store, id, &talking->answer);
        return;
    case VERB_TAKE:
        take(talking);
        return;
    }
}

/* A limit that is near as things are, or one that does not matter. */
static int64_t some_max(struct world *world, unsigned key) {
    const struct holds_model *holds = &world->holds;
    int64_t value = holds->count > 0 ? holds->guesses[0].values[key] : 0;
    return value + (int64_t)test_random_below(&world->random, 80);
}

static void talk_once(struct world *world) {
    static const enum verb verbs[] = {VERB_PLACE,  VERB_PLACE,  VERB_PLACE,   VERB_SETTLE,
                                      VERB_SETTLE, VERB_SETTLE, VERB_RELEASE, VERB_TAKE};
    char text[200];
    world_open(world);
    claims_note_window(world);
    /* A take has no time of its own. */
    uint64_t kinds = world->model.rules.event_time ? 7 : 8;
    struct talking talking = {.store = world->store,
                              .verb = verbs[test_random_below(&world->random, kinds)],
                              .id = (unsigned)test_random_below(&world->random, HOLD_IDS),
                              .key = (unsigned)test_random_below(&world->random, HOLD_KEYS),
                              .amount = 1 + (int64_t)test_random_below(&world->random, 30),
                              .is_forced = world_one_in(world, 8),
                              .lease_ms =
                                  world_magnitude(world, 1, 4 * world->plan.options.window_ms),
                              .take = ++world->holds.takes,
                              .is_served = world_one_in(world, 3)};
    talking.max = some_max(world, talking.key);
    talking.from_ms = machine_true_ms();
    bool returned = world_call(world, call, &talking);
    talking.to_ms = machine_true_ms();
    tell(&talking, text, sizeof text);
    if (returned && talking.status == LETHE_OK) {
        verdict_tell("        holds: %s: %s", text, lethe_hold_answer_name(talking.answer));
        judge(world, &talking);
        return;
    }
    verdict_tell("        holds: %s, unanswered", text);
    suspect(world, &talking);
    if (returned) world_excuse(world, "a hold", talking.status);
}

void holds_talk(struct world *world) {
    unsigned count = 1 + (unsigned)test_random_below(&world->random, 6);
    for (unsigned i = 0; i < count; i++)
        talk_once(world);
}
