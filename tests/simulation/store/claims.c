/* simulation/store/claims.c - work that must happen once.
 *
 * I1      A claim is given to another token only when more true time has passed than its lease.
 * I2      A completion that was acknowledged is known for W, with its reply; the first one stays.
 * I3      What a call that did not return was about, was done as a whole or not at all.
 * I4      Of several who ask for a claim at once, one gets it: claims_race.c.
 * I5      A completion that counts something is counted if and only if it is recorded.
 * I6      While the machine is not restarted, leases end and completions are forgotten on time.
 *
 * WHY     A claim is held to a list of what it may be. A call that returns keeps those of the list
 *         that explain its answer; one that does not return adds what it may have made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/serve.h"
#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

enum verb { VERB_BEGIN, VERB_RENEW, VERB_DONE, VERB_ABORT };

struct talking {
    lethe_store *store;
    enum verb verb;
    unsigned id, token;
    uint64_t lease_ms, reply;
    uint64_t from_ms, to_ms;
    lethe_claim_answer answer;
    uint64_t told_reply; /* with done; UINT64_MAX: gone */
    /* With done: it counts itself, in the same commit; and whether that was applied. */
    bool counts, is_served;
    uint8_t outcome;
    lethe_status status;
};

lethe_bytes claims_name(char out[32], const char *kind, uint64_t number) {
    int size = snprintf(out, 32, "%s-%llu", kind, (unsigned long long)number);
    return (lethe_bytes){out, (size_t)size};
}

static uint64_t number_of(lethe_bytes text) {
    char copy[32] = "";
    if (text.size == 0 || text.size >= sizeof copy) return 0;
    memcpy(copy, text.data, text.size);
    const char *dash = strchr(copy, '-');
    return dash == NULL ? 0 : strtoull(dash + 1, NULL, 10);
}

lethe_status claims_look(lethe_store *store, struct claims_shown *shown) {
    *shown = (struct claims_shown){.from_ms = machine_true_ms()};
    for (unsigned i = 0; i < CLAIM_IDS; i++) {
        char text[32];
        lethe_claim claim = LETHE_INIT(lethe_claim);
        lethe_status status = lethe_claim_get(store, claims_name(text, "work", i), &claim);
        if (status != LETHE_OK) return status;
        shown->states[i] = claim.state;
        shown->tokens[i] = (unsigned)number_of(claim.token);
        shown->replies[i] = claim.reply_gone ? UINT64_MAX : number_of(claim.reply);
        lethe_claim_free(&claim);
        bool found;
        lethe_bytes key = claims_name(text, "work", i);
        status = lethe_store_get(store, &key, 1, &shown->completions[i], &found);
        if (status != LETHE_OK) return status;
    }
    shown->to_ms = machine_true_ms();
    return LETHE_OK;
}

/* --- what may be --- */

void claims_note_window(struct world *world) {
    struct claims_model *claims = &world->claims;
    const uint64_t windows[] = {world->model.rules.window_ms, world->plan.options.window_ms,
                                world->is_switching ? world->asked.window_ms : 0};
    for (size_t i = 0; i < 3; i++) {
        if (windows[i] == 0) continue;
        if (claims->least_window_ms == 0 || windows[i] < claims->least_window_ms)
            claims->least_window_ms = windows[i];
        if (windows[i] > claims->most_window_ms) claims->most_window_ms = windows[i];
    }
}

/* Whether the time that is `after_ms` later than the guess's may have passed at to_ms; and whether
 * it must have at from_ms, which only the machine's own clock can say. */
static bool may_be_past(const struct claim_guess *guess, uint64_t after_ms, uint64_t to_ms) {
    return to_ms + CLAIM_BLUR_MS > guess->least_ms + after_ms;
}

static bool must_be_past(const struct claim_guess *guess, uint64_t after_ms, uint64_t from_ms) {
    return guess->boots == machine_boots() && from_ms > guess->most_ms + after_ms + CLAIM_BLUR_MS;
}

/* What the call makes of a guess if it is answered so; whether that can be. */
static bool explain(const struct world *world, const struct talking *talking,
                    const struct claim_guess *guess, lethe_claim_answer answer,
                    struct claim_guess *out) {
    const struct claims_model *claims = &world->claims;
    bool is_own = guess->kind != CLAIM_NONE && guess->token == talking->token;
    bool may_be_old =
        guess->kind == CLAIM_NONE || may_be_past(guess, claims->least_window_ms, talking->to_ms);
    bool must_be_old =
        guess->kind == CLAIM_NONE || must_be_past(guess, claims->most_window_ms, talking->from_ms);
    bool is_open = guess->kind == CLAIM_OPEN, is_done = guess->kind == CLAIM_DONE;
    uint64_t least_ms = talking->from_ms + talking->lease_ms;
    uint64_t most_ms = talking->to_ms + talking->lease_ms;
    *out = *guess;
    switch (answer) {
    case LETHE_CLAIM_NEW:
    case LETHE_CLAIM_RENEWED:
        *out = (struct claim_guess){.kind = CLAIM_OPEN,
                                    .token = talking->token,
                                    .least_ms = least_ms,
                                    .most_ms = most_ms,
                                    .boots = machine_boots(),
                                    .completions = guess->completions};
        if (is_open && is_own && guess->least_ms > least_ms) out->least_ms = guess->least_ms;
        if (is_open && is_own && guess->most_ms > most_ms) out->most_ms = guess->most_ms;
        if (is_open && is_own && guess->boots != machine_boots()) out->boots = 0; /* not known */
        if (answer == LETHE_CLAIM_RENEWED) return is_open && is_own && !must_be_old;
        return may_be_old || (is_open && (is_own || may_be_past(guess, 0, talking->to_ms)));
    case LETHE_CLAIM_RUNNING:
        return is_open && !is_own && !must_be_past(guess, 0, talking->from_ms);
    case LETHE_CLAIM_DONE:
        return is_done && !must_be_old &&
               (talking->verb != VERB_BEGIN || talking->told_reply == guess->reply);
    case LETHE_CLAIM_RECORDED:
        *out = (struct claim_guess){.kind = CLAIM_DONE,
                                    .token = talking->token,
                                    .reply = talking->reply,
                                    .least_ms = talking->from_ms,
                                    .most_ms = talking->to_ms,
                                    .boots = machine_boots(),
                                    .completions = guess->completions};
        out->completions += talking->counts && talking->outcome == LETHE_OUTCOME_APPLIED;
        return is_open && is_own && !must_be_old;
    case LETHE_CLAIM_DUPLICATE:
        return is_done && is_own && !must_be_old;
    case LETHE_CLAIM_ABORTED:
        *out = (struct claim_guess){.kind = CLAIM_NONE, .completions = guess->completions};
        return is_open && is_own && !must_be_old;
    case LETHE_CLAIM_LOST:
        return !is_own && !must_be_old && (is_open || talking->verb == VERB_DONE);
    case LETHE_CLAIM_UNKNOWN:
        /* It stays what it was: when W becomes longer, it may be known again. */
        return may_be_old;
    case LETHE_CLAIM_MISMATCH:
        break;
    }
    return false;
}

static void describe(const struct claim_guess *guess, char *out, size_t size) {
    static const char *const kinds[] = {"none", "open", "done"};
    (void)snprintf(out, size, "%s by token-%u, reply-%llu, %llu..%llu, boot %llu, %llu counted",
                   kinds[guess->kind], guess->token, (unsigned long long)guess->reply,
                   (unsigned long long)guess->least_ms, (unsigned long long)guess->most_ms,
                   (unsigned long long)guess->boots, (unsigned long long)guess->completions);
}

static void add(struct claims_model *claims, unsigned id, struct claim_guess guess) {
    size_t *count = &claims->counts[id];
    for (size_t i = 0; i < *count; i++) {
        if (memcmp(&claims->guesses[id][i], &guess, sizeof guess) == 0) return;
    }
    if (*count == CLAIM_GUESSES) {
        *count = 0; /* too many to know anything */
        return;
    }
    claims->guesses[id][(*count)++] = guess;
}

/* The call returned: what explains its answer stays. */
static void judge(struct world *world, const struct talking *talking) {
    struct claims_model *claims = &world->claims;
    struct claim_guess before[CLAIM_GUESSES], after;
    unsigned id = talking->id;
    size_t count = claims->counts[id], explained = 0;
    if (count == 0) return; /* nothing is known of it */
    memcpy(before, claims->guesses[id], sizeof before);
    claims->counts[id] = 0;
    for (size_t i = 0; i < count; i++) {
        if (!explain(world, talking, &before[i], talking->answer, &after)) continue;
        explained++;
        add(claims, id, after);
    }
    if (explained > 0) return;
    char text[200];
    describe(&before[0], text, sizeof text);
    verdict_fail("claims",
                 "work-%u: verb %d by token-%u for %llu ms at %llu..%llu in boot %llu is answered "
                 "%s (reply-%llu), and was %s (or one of %zu others)",
                 id, (int)talking->verb, talking->token, (unsigned long long)talking->lease_ms,
                 (unsigned long long)talking->from_ms, (unsigned long long)talking->to_ms,
                 (unsigned long long)machine_boots(), lethe_claim_answer_name(talking->answer),
                 (unsigned long long)talking->told_reply, text, count - 1);
}

/* It did not return: whatever it may have made is possible too. */
static void suspect(struct world *world, const struct talking *talking) {
    struct claims_model *claims = &world->claims;
    struct claim_guess before[CLAIM_GUESSES], after;
    size_t count = claims->counts[talking->id];
    static const lethe_claim_answer changing[] = {LETHE_CLAIM_NEW, LETHE_CLAIM_RENEWED,
                                                  LETHE_CLAIM_RECORDED, LETHE_CLAIM_ABORTED};
    memcpy(before, claims->guesses[talking->id], sizeof before);
    for (size_t i = 0; i < count; i++) {
        /* What it counts, the window may have taken for a duplicate. */
        for (unsigned is_lost = 0; is_lost <= talking->counts; is_lost++) {
            struct talking made = *talking;
            made.outcome = is_lost ? LETHE_OUTCOME_DUPLICATE : LETHE_OUTCOME_APPLIED;
            if (explain(world, &made, &before[i], changing[talking->verb], &after))
                add(claims, talking->id, after);
        }
        if (claims->counts[talking->id] == 0) return;
    }
}

/* --- talking --- */

static void complete(struct talking *talking, lethe_bytes id, lethe_bytes token) {
    char reply_text[32], operation_text[32];
    lethe_bytes reply = claims_name(reply_text, "reply", talking->reply);
    lethe_change change = {.key = id, .delta = 1};
    lethe_operation operation = {.id = claims_name(operation_text, "done", talking->reply),
                                 .changes = &change,
                                 .change_count = 1};
    talking->outcome = LETHE_OUTCOME_REFUSED;
    talking->status =
        lethe_claim_done_with(talking->store, id, token, reply, &operation, talking->counts ? 1 : 0,
                              &talking->outcome, NULL, &talking->answer);
}

/* The same through the server. */
static void call_served(struct talking *talking, lethe_bytes id, lethe_bytes token) {
    static const char *const verbs[] = {[VERB_BEGIN] = "begin",
                                        [VERB_RENEW] = "renew",
                                        [VERB_DONE] = "done",
                                        [VERB_ABORT] = "abort"};
    char reply_text[32];
    lethe_bytes reply = {0}, told;
    if (talking->verb == VERB_DONE) reply = claims_name(reply_text, "reply", talking->reply);
    bool has_lease = talking->verb == VERB_BEGIN || talking->verb == VERB_RENEW;
    talking->outcome = LETHE_OUTCOME_REFUSED;
    talking->status =
        serve_claim(talking->store, verbs[talking->verb], id, token,
                    has_lease ? talking->lease_ms : 0, reply, &talking->answer, &told);
    bool is_gone = talking->answer == LETHE_CLAIM_DONE && told.data == NULL;
    talking->told_reply = is_gone ? UINT64_MAX : number_of(told);
}

static void call(void *context) {
    struct talking *talking = context;
    char id_text[32], token_text[32];
    lethe_bytes id = claims_name(id_text, "work", talking->id);
    lethe_bytes token = claims_name(token_text, "token", talking->token);
    if (talking->is_served) {
        call_served(talking, id, token);
        return;
    }
    lethe_claim claim = LETHE_INIT(lethe_claim);
    switch (talking->verb) {
    case VERB_BEGIN:
        talking->status = lethe_claim_begin(talking->store, id, token, (lethe_bytes){0},
                                            talking->lease_ms, &talking->answer, &claim);
        talking->told_reply = claim.reply_gone ? UINT64_MAX : number_of(claim.reply);
        lethe_claim_free(&claim);
        return;
    case VERB_RENEW:
        talking->status =
            lethe_claim_renew(talking->store, id, token, talking->lease_ms, &talking->answer);
        return;
    case VERB_DONE:
        complete(talking, id, token);
        return;
    case VERB_ABORT:
        talking->status = lethe_claim_abort(talking->store, id, token, &talking->answer);
        return;
    }
}

static void talk_once(struct world *world) {
    struct claims_model *claims = &world->claims;
    static const enum verb verbs[] = {VERB_BEGIN, VERB_BEGIN, VERB_BEGIN, VERB_RENEW,
                                      VERB_DONE,  VERB_DONE,  VERB_ABORT};
    world_open(world);
    claims_note_window(world);
    struct talking talking = {
        .store = world->store,
        .verb = verbs[test_random_below(&world->random, 7)],
        .id = (unsigned)test_random_below(&world->random, CLAIM_IDS),
        .token = 1 + (unsigned)test_random_below(&world->random, CLAIM_TOKENS),
        .lease_ms = world_magnitude(world, 1, 4 * world->plan.options.window_ms),
        .reply = ++claims->replies,
        /* An operation by event time would need one. */
        .counts = !world->model.rules.event_time && world_one_in(world, 2),
        .from_ms = machine_true_ms()};
    talking.is_served = !(talking.counts && talking.verb == VERB_DONE) && world_one_in(world, 3);
    bool returned = world_call(world, call, &talking);
    talking.to_ms = machine_true_ms();
    if (returned && talking.status == LETHE_OK) {
        verdict_tell("        claims: verb %d of work-%u by token-%u for %llu ms: %s, at %llu",
                     (int)talking.verb, talking.id, talking.token,
                     (unsigned long long)talking.lease_ms, lethe_claim_answer_name(talking.answer),
                     (unsigned long long)talking.to_ms);
        judge(world, &talking);
        return;
    }
    verdict_tell("        claims: verb %d of work-%u by token-%u, unanswered", (int)talking.verb,
                 talking.id, talking.token);
    suspect(world, &talking);
    if (returned) world_excuse(world, "a claim", talking.status);
}

void claims_talk(struct world *world) {
    if (world_one_in(world, 5)) claims_race(world);
    struct claims_model *claims = &world->claims;
    for (unsigned i = 0; i < CLAIM_IDS && !claims->has_begun; i++)
        add(claims, i, (struct claim_guess){.kind = CLAIM_NONE});
    claims->has_begun = true;
    unsigned count = 1 + (unsigned)test_random_below(&world->random, 6);
    for (unsigned i = 0; i < count; i++)
        talk_once(world);
}

/* --- looking --- */

static bool is_shown(const struct world *world, const struct claims_shown *shown, unsigned id,
                     const struct claim_guess *guess) {
    const struct claims_model *claims = &world->claims;
    if ((uint64_t)shown->completions[id] != guess->completions) return false;
    switch (shown->states[id]) {
    case LETHE_CLAIM_IS_NONE:
        return guess->kind == CLAIM_NONE ||
               may_be_past(guess, claims->least_window_ms, shown->to_ms);
    case LETHE_CLAIM_IS_RUNNING:
        return guess->kind == CLAIM_OPEN && guess->token == shown->tokens[id] &&
               !must_be_past(guess, 0, shown->from_ms);
    case LETHE_CLAIM_IS_LAPSED:
        return guess->kind == CLAIM_OPEN && guess->token == shown->tokens[id] &&
               may_be_past(guess, 0, shown->to_ms);
    case LETHE_CLAIM_IS_DONE:
        return guess->kind == CLAIM_DONE && guess->token == shown->tokens[id] &&
               guess->reply == shown->replies[id];
    }
    return false;
}

void claims_match(struct world *world, const struct shown *shown, bool settles, const char *who) {
    struct claims_model *claims = &world->claims;
    claims_note_window(world);
    for (unsigned id = 0; id < CLAIM_IDS && claims->has_begun; id++) {
        size_t kept = 0, count = claims->counts[id];
        struct claim_guess matching[CLAIM_GUESSES];
        for (size_t i = 0; i < count; i++) {
            if (is_shown(world, &shown->claims, id, &claims->guesses[id][i]))
                matching[kept++] = claims->guesses[id][i];
        }
        if (count > 0 && kept == 0) {
            char text[200];
            describe(&claims->guesses[id][0], text, sizeof text);
            verdict_fail("claims",
                         "%s shows work-%u in state %d, of token-%u with reply-%llu, at %llu, and "
                         "it was %s (or one of %zu others)",
                         who, id, (int)shown->claims.states[id], shown->claims.tokens[id],
                         (unsigned long long)shown->claims.replies[id],
                         (unsigned long long)shown->claims.to_ms, text, count - 1);
        }
        if (!settles) continue;
        memcpy(claims->guesses[id], matching, sizeof matching);
        claims->counts[id] = kept;
    }
}

void claims_give_up(struct world *world) {
    memset(world->claims.counts, 0, sizeof world->claims.counts);
}
