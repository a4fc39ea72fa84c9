/* simulation/module/claims.c - claims: who holds one, what is done, and with which reply.
 *
 * Holders are numbers, and so are replies. What must be answered follows from the times at which
 * the holder began and the work was done, by the table's own clock; where that clock may be a
 * little fast or slow (model.h), both answers are right near the border. Rules:
 *   one holder   a claim is answered `new` to another holder only when the lease is over;
 *   completion   what is done stays done, for W, and is `duplicate` for its holder and `lost` for
 *                others; never `new`, whatever was crashed, cut off and promoted in between, unless
 *                the model was rolled back to before;
 *   first reply  stays. It may be gone only if more than KEPT_BYTES came after it, or if the server
 *                had no memory, and then stays gone;
 *   memory       DONE and ABORT do the same without any; BEGIN of a new claim changes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { NEAR_MS = 3, MOST_PADDING = 40 };

enum { NONE, RUNNING, DONE };

/* How much time may have passed for the table since a moment of its life. */
struct passed {
    int64_t least_ms, most_ms;
};

static struct passed passed_since(const model_table *table, const model_claim *claim) {
    int64_t ms = now_ms() + table->base_ms - claim->at_ms;
    return (struct passed){ms - (table->slow_ms - claim->slow_ms) - NEAR_MS,
                           ms + (table->fast_ms - claim->fast_ms) + NEAR_MS};
}

static void stamp(const model_table *table, model_claim *claim) {
    claim->at_ms = now_ms() + table->base_ms;
    claim->fast_ms = table->fast_ms;
    claim->slow_ms = table->slow_ms;
}

/* Whether the lease, if it is running, and so much time more is over: 1 yes, 0 no, -1 perhaps. */
static int is_over(const model_table *table, const model_claim *claim, int64_t more_ms) {
    struct passed passed = passed_since(table, claim);
    if (passed.most_ms <= claim->least_ms + more_ms) return 0;
    return passed.least_ms > claim->most_ms + more_ms ? 1 : -1;
}

static int is_forgotten(const model_table *table, const model_claim *claim) {
    bool is_gone = claim->state == NONE || claim->is_unknown;
    return is_gone ? 1 : is_over(table, claim, table->window_ms);
}

/* --- Asking */

static reply ask_claim(const char *verb, unsigned table, unsigned which, unsigned holder,
                       const char *word, const char *more) {
    char name[32], key[16], id[16], token[16];
    snprintf(name, sizeof name, "ONCE.%s", verb);
    snprintf(key, sizeof key, "t%u", table);
    snprintf(id, sizeof id, "c-%u", which);
    snprintf(token, sizeof token, "holder-%u", holder);
    command words = command_of(name, key, id, token, word, more, NULL);
    reply answer = server_call(master(), &words);
    command_free(&words);
    say("  %s %s %s %s %s %s -> %s %lld %.20s%s", name, key, id, token, word != NULL ? word : "",
        more != NULL ? more : "", answer.text, answer.numbers[0], answer.buffer,
        master()->is_full ? " (full)" : "");
    return answer;
}

static bool is_answer(const reply *answer, const char *word) {
    return !answer->is_error && strcmp(answer->text, word) == 0;
}

/* --- Replies */

static void reply_text(unsigned number, char out[128]) {
    int size = snprintf(out, 128, "reply-%u", number);
    memset(out + size, 'x', number % MOST_PADDING);
    out[size + (int)(number % MOST_PADDING)] = '\0';
    if (number % 7 == 0) out[0] = '\0';
}

static void judge_reply(const model_table *known, model_claim *claim, const char *where,
                        const reply *answer) {
    char expected[128];
    reply_text(claim->reply, expected);
    int64_t since = known->reply_bytes - claim->reply_begin;
    if (answer->has_buffer) {
        if (claim->is_gone) wrong("%s: a reply that was gone is back", where);
        if (strcmp(answer->buffer, expected) != 0)
            wrong("%s: the reply is %s, not %s", where, answer->buffer, expected);
    } else if (!claim->is_gone && (since <= SIMULATED_KEPT_BYTES || expected[0] == '\0')) {
        wrong("%s: its reply is gone, and only %lld bytes came since", where, (long long)since);
    }
    if (!answer->has_buffer) claim->is_gone = true;
}

/* --- What each command may answer */

/* A lease begins. What is left of the holder's last one counts where that is longer. */
static void renew_model(const model_table *known, model_claim *claim, bool is_mine, int forgotten,
                        int64_t lease_ms) {
    struct passed passed = passed_since(known, claim);
    int64_t least_ms = is_mine && forgotten == 0 ? claim->least_ms - passed.most_ms : 0;
    int64_t most_ms = is_mine ? claim->most_ms - passed.least_ms : 0;
    *claim = (model_claim){.state = RUNNING,
                           .least_ms = least_ms > lease_ms ? least_ms : lease_ms,
                           .most_ms = most_ms > lease_ms ? most_ms : lease_ms};
    stamp(known, claim);
}

static void begin(unsigned table, unsigned which, unsigned holder) {
    static const unsigned shares[] = {1, 5, 20, 60, 150};
    model_table *known = &world.now.tables[table];
    model_claim *claim = &known->claims[which];
    char where[64], lease[32];
    int64_t lease_ms = (int64_t)known->window_ms * shares[draw(5)] / 100;
    snprintf(where, sizeof where, "t%u c-%u holder-%u", table, which, holder);
    snprintf(lease, sizeof lease, "%lld", (long long)lease_ms);
    int forgotten = is_forgotten(known, claim);
    int over = claim->state == RUNNING ? is_over(known, claim, 0) : 0;
    bool is_mine = claim->state == RUNNING && claim->holder == holder;
    reply answer = ask_claim("BEGIN", table, which, holder, "LEASE", lease);
    if (answer.is_error) {
        if (!master()->is_full || forgotten == 0)
            wrong("%s: BEGIN is refused: %s", where, answer.text);
        claim->is_unknown = true;
        return;
    }
    if (is_answer(&answer, "new")) {
        if (forgotten == 0 && !is_mine && !(claim->state == RUNNING && over != 0))
            wrong("%s: is new, and holder-%u has it", where, claim->holder);
        if (master()->is_full && forgotten == 1) wrong("%s: is new without memory", where);
        renew_model(known, claim, is_mine, forgotten, lease_ms);
        claim->holder = holder;
    } else if (is_answer(&answer, "running")) {
        if (claim->state != RUNNING || claim->is_unknown || is_mine || over == 1)
            wrong("%s: is running, and holder-%u has state %u, over %d", where, claim->holder,
                  claim->state, over);
    } else if (is_answer(&answer, "done")) {
        if (claim->state != DONE || forgotten == 1) wrong("%s: is done", where);
        judge_reply(known, claim, where, &answer);
    } else {
        wrong("%s: BEGIN answers %s", where, answer.text);
    }
}

/* Whether an answer to who says to be the holder is right; true if he is. */
static bool judge_holder(unsigned table, unsigned which, unsigned holder, const reply *answer) {
    model_table *known = &world.now.tables[table];
    model_claim *claim = &known->claims[which];
    int forgotten = is_forgotten(known, claim);
    char where[64];
    snprintf(where, sizeof where, "t%u c-%u holder-%u", table, which, holder);
    if (answer->is_error) wrong("%s: %s", where, answer->text);
    if (is_answer(answer, "unknown")) {
        if (forgotten == 0) wrong("%s: is unknown", where);
        claim->is_unknown = true;
        return false;
    }
    if (forgotten == 1) wrong("%s: is known: %s", where, answer->text);
    bool is_lost = is_answer(answer, "lost");
    if (is_lost == (claim->holder == holder))
        wrong("%s: %s, and holder-%u has it", where, answer->text, claim->holder);
    return !is_lost && world.wrong[0] == '\0';
}

static void complete(unsigned table, unsigned which, unsigned holder) {
    model_table *known = &world.now.tables[table];
    model_claim *claim = &known->claims[which];
    char text[128];
    unsigned number = ++world.replies;
    reply_text(number, text);
    reply answer = ask_claim("DONE", table, which, holder, text, NULL);
    if (!judge_holder(table, which, holder, &answer)) return;
    if (claim->state == DONE) {
        if (!is_answer(&answer, "duplicate")) wrong("t%u c-%u: is done twice", table, which);
        return;
    }
    bool is_kept = answer.numbers[0] == 1;
    if (!is_answer(&answer, "done") || is_kept != (!master()->is_full || text[0] == '\0'))
        wrong("t%u c-%u: DONE answers %s %lld", table, which, answer.text, answer.numbers[0]);
    *claim = (model_claim){.state = DONE, .holder = holder, .reply = number, .is_gone = !is_kept};
    claim->reply_begin = known->reply_bytes;
    known->reply_bytes += is_kept ? (int64_t)strlen(text) : 0;
    stamp(known, claim);
}

static void give_back(unsigned table, unsigned which, unsigned holder) {
    model_claim *claim = &world.now.tables[table].claims[which];
    reply answer = ask_claim("ABORT", table, which, holder, NULL, NULL);
    if (!judge_holder(table, which, holder, &answer)) return;
    if (!is_answer(&answer, claim->state == DONE ? "done" : "aborted"))
        wrong("t%u c-%u: ABORT answers %s", table, which, answer.text);
    if (claim->state == RUNNING) claim->state = NONE;
}

static void renew(unsigned table, unsigned which, unsigned holder) {
    model_table *known = &world.now.tables[table];
    model_claim *claim = &known->claims[which];
    int64_t lease_ms = 1 + (int64_t)draw(known->window_ms);
    char lease[32];
    snprintf(lease, sizeof lease, "%lld", (long long)lease_ms);
    reply answer = ask_claim("RENEW", table, which, holder, "LEASE", lease);
    if (!judge_holder(table, which, holder, &answer)) return;
    if (!is_answer(&answer, claim->state == DONE ? "done" : "renewed"))
        wrong("t%u c-%u: RENEW answers %s", table, which, answer.text);
    if (claim->state != RUNNING) return;
    long long left_ms = answer.numbers[0];
    if (left_ms < lease_ms) wrong("t%u c-%u: a lease ends early", table, which);
    claim->least_ms = claim->most_ms = left_ms - 1;
    stamp(known, claim);
}

void claims_step(unsigned table) {
    for (uint64_t i = 1 + draw(16); i > 0 && world.wrong[0] == '\0'; i--) {
        unsigned which = (unsigned)draw(MODEL_CLAIMS), holder = (unsigned)draw(3);
        const model_claim *claim = &world.now.tables[table].claims[which];
        master()->is_full = draw(6) == 0;
        bool has_holder = claim->state != NONE && !claim->is_unknown;
        if (draw(2) == 0 && has_holder) holder = claim->holder;
        switch (draw(7)) {
        case 0:
        case 1:
            complete(table, which, holder);
            break;
        case 2:
            give_back(table, which, holder);
            break;
        case 3:
            renew(table, which, holder);
            break;
        default:
            begin(table, which, holder);
        }
        master()->is_full = false;
        gather(); /* with what the model knows now */
    }
}
