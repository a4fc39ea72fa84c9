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

#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

enum verb { VERB_PLACE, VERB_SETTLE, VERB_RELEASE, VERB_TAKE };

/* A call. Of a take, HELD is applied, and DUPLICATE a false one. */
struct talking {
    lethe_store *store;
    enum verb verb;
    unsigned id, key;
    int64_t amount, max;
    bool is_forced;
    uint64_t lease_ms, take;
    uint64_t from_ms, to_ms;
    lethe_hold_answer answer;
    lethe_status status;
};

static const lethe_hold_answer changing[] = {LETHE_HOLD_HELD, LETHE_HOLD_SETTLED,
                                             LETHE_HOLD_RELEASED, LETHE_HOLD_HELD};

static lethe_bytes name(char out[32], const char *kind, uint64_t number) {
    int size = snprintf(out, 32, "%s-%llu", kind, (unsigned long long)number);
    return (lethe_bytes){out, (size_t)size};
}

lethe_status holds_look(lethe_store *store, struct holds_shown *shown) {
    char text[32];
    *shown = (struct holds_shown){.from_ms = machine_true_ms()};
    for (unsigned i = 0; i < HOLD_IDS; i++) {
        lethe_hold hold = LETHE_INIT(lethe_hold);
        lethe_status status = lethe_hold_get(store, name(text, "job", i), &hold);
        if (status != LETHE_OK) return status;
        if (hold.key.size == 6) shown->keys[i] = ((const char *)hold.key.data)[5] - (unsigned)'0';
        shown->each[i] = hold;
        shown->each[i].id = shown->each[i].key = (lethe_bytes){0};
        shown->each[i].memory = NULL;
        lethe_hold_free(&hold);
    }
    for (unsigned i = 0; i < HOLD_KEYS; i++) {
        bool found;
        lethe_bytes key = name(text, "held", i);
        lethe_status status = lethe_store_get(store, &key, 1, &shown->values[i], &found);
        if (status != LETHE_OK) return status;
    }
    shown->to_ms = machine_true_ms();
    return LETHE_OK;
}

/* --- what may be --- */

static bool may_be_past(const struct hold_guess *guess, uint64_t after_ms, uint64_t to_ms) {
    return to_ms + CLAIM_BLUR_MS > guess->least_ms + after_ms;
}

static bool must_be_past(const struct hold_guess *guess, uint64_t after_ms, uint64_t from_ms) {
    return guess->boots == machine_boots() && from_ms > guess->most_ms + after_ms + CLAIM_BLUR_MS;
}

static bool may_be_old(const struct world *world, const struct hold_guess *guess, uint64_t to_ms) {
    return guess->state == LETHE_HOLD_IS_NONE ||
           may_be_past(guess, world->claims.least_window_ms, to_ms);
}

static bool must_be_old(const struct world *world, const struct hold_guess *guess,
                        uint64_t from_ms) {
    return guess->state == LETHE_HOLD_IS_NONE ||
           must_be_past(guess, world->claims.most_window_ms, from_ms);
}

/* How much may be held of a key at the least and at the most, without the hold of that id. */
static void find_held(const struct holds_guess *guess, const struct talking *talking, unsigned key,
                      unsigned without, int64_t *least, int64_t *most) {
    *least = *most = 0;
    for (unsigned i = 0; i < HOLD_IDS; i++) {
        const struct hold_guess *hold = &guess->each[i];
        if (i == without || hold->state != LETHE_HOLD_IS_OPEN || hold->key != key) continue;
        if (!may_be_past(hold, 0, talking->to_ms)) *least += hold->amount;
        if (!must_be_past(hold, 0, talking->from_ms)) *most += hold->amount;
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
    bool may_be_known = !must_be_old(world, hold, talking->from_ms);
    bool may_be_new = may_be_old(world, hold, talking->to_ms);
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
    bool may_be_known = !must_be_old(world, hold, talking->from_ms);
    bool is_unsettled = hold->state == LETHE_HOLD_IS_OPEN;
    bool is_same = hold->state == LETHE_HOLD_IS_SETTLED && hold->actual == actual;
    if (talking->answer == LETHE_HOLD_UNKNOWN) return may_be_old(world, hold, talking->to_ms);
    if (!may_be_known) return false;
    if (talking->answer == LETHE_HOLD_DUPLICATE) return is_same;
    if (talking->answer == LETHE_HOLD_MISMATCH) return !is_unsettled && !is_same;
    if (!is_unsettled) return false;
    bool may_be_open = !must_be_past(hold, 0, talking->from_ms);
    bool may_have_lapsed = may_be_past(hold, 0, talking->to_ms);
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
    if (talking->answer == LETHE_HOLD_UNKNOWN) return may_be_old(world, hold, talking->to_ms);
    if (must_be_old(world, hold, talking->from_ms)) return false;
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

static void add(struct holds_model *holds, const struct holds_guess *guess) {
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

static void describe(const struct holds_guess *guess, unsigned id, char *out, size_t size) {
    const struct hold_guess *hold = &guess->each[id < HOLD_IDS ? id : 0];
    (void)snprintf(out, size,
                   "%s of held-%u, %" PRId64 " up to %" PRId64 ", actual %" PRId64
                   ", %llu..%llu, boot %llu; values %" PRId64 " and %" PRId64,
                   lethe_hold_state_name(hold->state), hold->key, hold->amount, hold->max,
                   hold->actual, (unsigned long long)hold->least_ms,
                   (unsigned long long)hold->most_ms, (unsigned long long)hold->boots,
                   guess->values[0], guess->values[1]);
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
        add(holds, &after);
    }
    if (explained > 0) return;
    char text[300], call[200];
    describe(&before[0], talking->id, text, sizeof text);
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
        if (explain(world, talking, &before[i], &after)) add(holds, &after);
        if (holds->count == 0) return;
    }
}

/* --- talking --- */

static void take(struct talking *talking) {
    char id[32], key[32];
    lethe_change change = {.key = name(key, "held", talking->key),
                           .delta = talking->amount,
                           .flags = LETHE_CHANGE_MAX,
                           .max = talking->max};
    lethe_operation operation = {
        .id = name(id, "take", talking->take), .changes = &change, .change_count = 1};
    uint8_t outcome = LETHE_OUTCOME_REFUSED;
    talking->status = lethe_store_apply(talking->store, &operation, 1, &outcome, NULL);
    talking->answer = outcome == LETHE_OUTCOME_APPLIED   ? LETHE_HOLD_HELD
                      : outcome == LETHE_OUTCOME_LIMITED ? LETHE_HOLD_LIMITED
                                                         : LETHE_HOLD_DUPLICATE;
}

static void call(void *context) {
    struct talking *talking = context;
    char id_text[32], key_text[32];
    lethe_bytes id = name(id_text, "job", talking->id);
    lethe_hold hold = LETHE_INIT(lethe_hold);
    switch (talking->verb) {
    case VERB_PLACE:
        hold.id = id;
        hold.key = name(key_text, "held", talking->key);
        hold.amount = talking->amount;
        hold.max = talking->max;
        hold.lease_ms = talking->lease_ms;
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
                              .take = ++world->holds.takes};
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

/* --- looking --- */

static bool is_shown(const struct world *world, const struct holds_shown *shown, unsigned id,
                     const struct hold_guess *guess) {
    const lethe_hold *hold = &shown->each[id];
    if (hold->state == LETHE_HOLD_IS_NONE) return may_be_old(world, guess, shown->to_ms);
    if (must_be_old(world, guess, shown->from_ms)) return false;
    if (shown->keys[id] != guess->key || hold->amount != guess->amount || hold->max != guess->max ||
        hold->actual != guess->actual) {
        return false;
    }
    if (hold->state == LETHE_HOLD_IS_LAPSED)
        return guess->state == LETHE_HOLD_IS_OPEN && may_be_past(guess, 0, shown->to_ms);
    if (hold->state == LETHE_HOLD_IS_OPEN)
        return guess->state == LETHE_HOLD_IS_OPEN && !must_be_past(guess, 0, shown->from_ms);
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
    add(holds, &guess);
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
        describe(&holds->guesses[count - 1], id, text, sizeof text);
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
