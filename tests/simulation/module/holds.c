/* simulation/module/holds.c - holds: what is set aside under a limit, and what becomes of it.
 *
 * All holds of a table are on one counter, which takes of both signs change as well. Rules:
 *   limit      value and held never pass the limit together, except by FORCE;
 *   sums       what PEEK says is what the model has counted and what it has as held, in the bucket
 *              of each hold's wall clock;
 *   leases     a hold that is no longer open was settled or released, or its lease may be over; and
 *              if the lease is over for certain, a timer has ended it;
 *   dropped    what is settled in a bucket that KEEP has dropped changes the total alone, and has
 *              no more room than the hold;
 *   one end    what has ended stays so: settling again is a duplicate with the same amount and a
 *              mismatch with another, for W, unless the model was rolled back to before;
 *   memory     SETTLE and RELEASE do the same without any; a new hold changes nothing. */
#include <stdio.h>
#include <string.h>

#include "world.h"

enum { NEAR_MS = 3, MOST_HELD = 60, MOST_PER_PERIOD = 25, LEAST_LEFT = 1 };

enum { NONE, OPEN, SETTLED, RELEASED, EXPIRED };

struct passed {
    int64_t least_ms, most_ms;
};

static struct passed passed_since(const model_table *table, const model_hold *hold) {
    int64_t ms = now_ms() + table->base_ms - hold->at_ms;
    return (struct passed){ms - (table->slow_ms - hold->slow_ms) - NEAR_MS,
                           ms + (table->fast_ms - hold->fast_ms) + NEAR_MS};
}

static void stamp(const model_table *table, model_hold *hold) {
    hold->at_ms = now_ms() + table->base_ms;
    hold->fast_ms = table->fast_ms;
    hold->slow_ms = table->slow_ms;
}

/* Whether the lease and so much time more is over: 1 yes, 0 no, -1 perhaps. */
static int is_over(const model_table *table, const model_hold *hold, int64_t more_ms) {
    struct passed passed = passed_since(table, hold);
    if (passed.most_ms <= hold->least_ms + more_ms) return 0;
    return passed.least_ms > hold->most_ms + more_ms ? 1 : -1;
}

static int is_forgotten(const model_table *table, const model_hold *hold) {
    if (hold->state == NONE) return 1;
    return hold->state == OPEN ? 0 : is_over(table, hold, table->window_ms);
}

/* It ends now. */
static void end(const model_table *table, model_hold *hold, uint8_t state) {
    hold->state = state;
    hold->least_ms = hold->most_ms = 0;
    stamp(table, hold);
}

/* --- Asking */

static int64_t wall_ms(void) {
    return host_wall_ms(master()->at);
}

static reply ask(unsigned table, const char *verb, const char *id, const char *one, const char *two,
                 const char *three) {
    char name[32], key[16];
    snprintf(name, sizeof name, "ONCE.%s", verb);
    snprintf(key, sizeof key, "t%u", table);
    command words = command_of(name, key, id, one, two, three, NULL);
    reply answer = server_call(master(), &words);
    command_free(&words);
    return answer;
}

static bool is_listed(unsigned table, unsigned which) {
    char key[16], id[16];
    snprintf(key, sizeof key, "t%u", table);
    snprintf(id, sizeof id, "h-%u", which);
    command words = command_of("ONCE.HOLDS", key, "0", "MATCH", id, "COUNT", "1000", NULL);
    reply answer = server_call(master(), &words);
    command_free(&words);
    if (answer.is_error) wrong("%s: HOLDS: %s", key, answer.text);
    return answer.count > 0;
}

/* Whose leases have ended meanwhile. The end is somewhere between the lease's and now. */
static void observe(unsigned table) {
    model_table *known = &world.now.tables[table];
    for (unsigned i = 0; i < MODEL_HOLDS; i++) {
        model_hold *hold = &known->holds[i];
        bool is_open = is_listed(table, i);
        if (is_open && hold->state != OPEN) wrong("t%u h-%u: is open again", table, i);
        if (is_open || hold->state != OPEN) continue;
        if (is_over(known, hold, 0) == 0) wrong("t%u h-%u: its lease ended early", table, i);
        hold->state = EXPIRED;
        hold->most_ms = passed_since(known, hold).most_ms;
    }
}

void holds_check_ended(unsigned table) {
    for (unsigned i = 0; i < MODEL_HOLDS; i++) {
        const model_hold *hold = &world.now.tables[table].holds[i];
        if (hold->state == OPEN && is_over(&world.now.tables[table], hold, 200) == 1 &&
            is_listed(table, i))
            wrong("t%u h-%u: its lease does not end", table, i);
    }
}

/* --- Sums */

static bool is_metered(const model_table *table) {
    return table->period_ms[0] > 0;
}

static long long limit_of(const model_table *table) {
    return is_metered(table) ? MOST_PER_PERIOD : MOST_HELD;
}

static long long held_at(const model_table *table, int64_t at_wall_ms) {
    long long held = 0;
    for (unsigned i = 0; i < MODEL_HOLDS; i++) {
        const model_hold *hold = &table->holds[i];
        bool is_there = hold->state == OPEN &&
                        (!is_metered(table) ||
                         hold->wall_ms / table->period_ms[0] == at_wall_ms / table->period_ms[0]);
        held += is_there ? hold->amount : 0;
    }
    return held;
}

static long long value_at(const model_table *table, int64_t at_wall_ms) {
    if (is_metered(table)) return meters_present(table, MODEL_HELD, 0, at_wall_ms);
    return table->times[MODEL_HELD];
}

static long long left_at(const model_table *table, int64_t at_wall_ms) {
    return limit_of(table) - value_at(table, at_wall_ms) - held_at(table, at_wall_ms);
}

static void add(model_table *table, int64_t at_wall_ms, unsigned amount) {
    table->times[MODEL_HELD] = (uint16_t)(table->times[MODEL_HELD] + amount);
    for (unsigned i = 0; i < amount; i++)
        meters_note_late(table, MODEL_HELD, at_wall_ms, wall_ms());
}

static const char *limit_words(const model_table *table, char limit[16], char period[16]) {
    snprintf(limit, 16, "%lld", limit_of(table));
    snprintf(period, 16, "%u", table->period_ms[0]);
    return is_metered(table) ? "PER" : NULL;
}

static void check_sums(unsigned table) {
    const model_table *known = &world.now.tables[table];
    char key[16], counter[16], limit[16], period[16];
    snprintf(key, sizeof key, "t%u", table);
    snprintf(counter, sizeof counter, "w-%u", MODEL_HELD);
    const char *per = limit_words(known, limit, period);
    command words = command_of("ONCE.PEEK", key, counter, "LIMIT", limit, per, period, NULL);
    reply answer = server_call(master(), &words);
    command_free(&words);
    long long left = left_at(known, wall_ms());
    if (answer.is_error || answer.numbers[0] != value_at(known, wall_ms()) ||
        answer.numbers[1] != (left > 0 ? left : 0)) {
        wrong("%s: %s%lld are counted and %lld left, not %lld and %lld", key, answer.text,
              answer.numbers[0], answer.numbers[1], value_at(known, wall_ms()), left);
    }
    meters_check(table, MODEL_HELD);
}

/* --- What each command may answer */

static void hold(unsigned table, unsigned which) {
    static const unsigned shares[] = {1, 5, 20, 60, 150};
    model_table *known = &world.now.tables[table];
    model_hold *about = &known->holds[which];
    int forgotten = is_forgotten(known, about);
    unsigned amount = 1 + (unsigned)draw(12);
    if (about->state != NONE && draw(3) > 0) amount = about->amount;
    int64_t lease_ms = (int64_t)known->window_ms * shares[draw(5)] / 100;
    char key[16], id[16], counter[16], sum[16], limit[16], period[16], lease[24];
    snprintf(key, sizeof key, "t%u", table);
    snprintf(id, sizeof id, "h-%u", which);
    snprintf(counter, sizeof counter, "w-%u", MODEL_HELD);
    snprintf(sum, sizeof sum, "%u", amount);
    snprintf(lease, sizeof lease, "%lld", (long long)lease_ms);
    const char *per = limit_words(known, limit, period);
    command words = per != NULL ? command_of("ONCE.HOLD", key, id, counter, sum, "LIMIT", limit,
                                             per, period, "LEASE", lease, NULL)
                                : command_of("ONCE.HOLD", key, id, counter, sum, "LIMIT", limit,
                                             "LEASE", lease, NULL);
    reply answer = server_call(master(), &words);
    command_free(&words);
    say("  HOLD %s %s %s -> %s%lld%s", key, id, sum, answer.text, answer.numbers[0],
        master()->is_full ? " (full)" : "");
    bool fits = (long long)amount <= left_at(known, wall_ms());
    if (answer.is_error && strncmp(answer.text, "MISMATCH", 8) == 0) {
        if (forgotten == 1 || amount == about->amount) wrong("%s %s: a mismatch", key, id);
    } else if (answer.is_error) {
        if (!master()->is_full || forgotten == 0) wrong("%s %s: %s", key, id, answer.text);
        about->state = NONE;
    } else if (answer.numbers[0] == 0) {
        if (forgotten == 1 || amount != about->amount) wrong("%s %s: a duplicate", key, id);
        if (about->state != OPEN && answer.numbers[4] != 0) wrong("%s %s: has a lease", key, id);
    } else {
        bool is_held = answer.numbers[0] == 1;
        if (forgotten == 0) wrong("%s %s: is held anew", key, id);
        if (is_held != fits) wrong("%s %s: %u are %sheld", key, id, amount, is_held ? "" : "not ");
        if (is_held && master()->is_full) wrong("%s %s: is held without memory", key, id);
        if (is_held && answer.numbers[4] != lease_ms) wrong("%s %s: another lease", key, id);
        *about = (model_hold){.state = is_held ? OPEN : NONE,
                              .amount = (uint8_t)amount,
                              .wall_ms = wall_ms(),
                              .least_ms = lease_ms,
                              .most_ms = lease_ms};
        stamp(known, about);
    }
}

/* Whether an error about a hold is right; true if it was one. */
static bool judge_error(unsigned table, unsigned which, const reply *answer, bool may_mismatch) {
    model_table *known = &world.now.tables[table];
    model_hold *about = &known->holds[which];
    int forgotten = is_forgotten(known, about);
    bool is_unknown = answer->is_error && strncmp(answer->text, "NOHOLD", 6) == 0;
    bool is_mismatch = answer->is_error && strncmp(answer->text, "MISMATCH", 8) == 0;
    if (answer->is_error && !is_unknown && !is_mismatch)
        wrong("t%u h-%u: %s", table, which, answer->text);
    if (is_unknown && forgotten == 0) wrong("t%u h-%u: is unknown", table, which);
    if (is_unknown) about->state = NONE;
    if (!is_unknown && forgotten == 1) wrong("t%u h-%u: is known", table, which);
    if (!is_unknown && is_mismatch != may_mismatch)
        wrong("t%u h-%u: a mismatch in state %u", table, which, about->state);
    return answer->is_error;
}

static void settle(unsigned table, unsigned which) {
    model_table *known = &world.now.tables[table];
    model_hold *about = &known->holds[which];
    char id[16], sum[16];
    unsigned actual = draw(2) == 0 ? about->amount : (unsigned)draw(25);
    if (about->state == SETTLED && draw(2) == 0) actual = about->actual;
    bool is_forced = draw(12) == 0;
    snprintf(id, sizeof id, "h-%u", which);
    snprintf(sum, sizeof sum, "%u", actual);
    reply answer = ask(table, "SETTLE", id, sum, is_forced ? "FORCE" : NULL, NULL);
    say("  SETTLE t%u %s %s%s -> %s%lld%s", table, id, sum, is_forced ? " FORCE" : "", answer.text,
        answer.numbers[0], master()->is_full ? " (full)" : "");
    bool is_mismatch =
        about->state == RELEASED || (about->state == SETTLED && actual != about->actual);
    if (judge_error(table, which, &answer, is_mismatch)) return;
    if (about->state == SETTLED) {
        if (answer.numbers[0] != 0) wrong("t%u %s: is settled twice", table, id);
        return;
    }
    int64_t at_wall_ms = about->state == OPEN ? about->wall_ms : wall_ms();
    long long more = (long long)actual - (about->state == OPEN ? about->amount : 0);
    bool has_room =
        !is_metered(known) || !meters_are_dropped(known, MODEL_HELD, 0, at_wall_ms, wall_ms());
    bool fits = more <= 0 || (has_room && more <= left_at(known, at_wall_ms));
    if (answer.numbers[0] != (fits || is_forced ? 1 : -1))
        wrong("t%u %s: %u is answered with %lld", table, id, actual, answer.numbers[0]);
    if (answer.numbers[0] != 1) return;
    add(known, at_wall_ms, actual);
    about->actual = (uint8_t)actual;
    end(known, about, SETTLED);
}

static void release(unsigned table, unsigned which) {
    model_table *known = &world.now.tables[table];
    model_hold *about = &known->holds[which];
    char id[16];
    snprintf(id, sizeof id, "h-%u", which);
    reply answer = ask(table, "RELEASE", id, NULL, NULL, NULL);
    say("  RELEASE t%u %s -> %s%lld", table, id, answer.text, answer.numbers[0]);
    if (judge_error(table, which, &answer, about->state == SETTLED)) return;
    if (answer.numbers[0] != (about->state != RELEASED))
        wrong("t%u %s: RELEASE answers %lld in state %u", table, id, answer.numbers[0],
              about->state);
    if (about->state != RELEASED) end(known, about, RELEASED);
}

/* Under the limit, with what is held. */
static void take(unsigned table) {
    model_table *known = &world.now.tables[table];
    unsigned amount = 1 + (unsigned)draw(6);
    char key[16], id[24], counter[16], sum[16], limit[16], period[16];
    snprintf(key, sizeof key, "t%u", table);
    snprintf(id, sizeof id, "th-%u", ++world.replies);
    snprintf(counter, sizeof counter, "w-%u", MODEL_HELD);
    snprintf(sum, sizeof sum, "%u", amount);
    const char *per = limit_words(known, limit, period);
    command words =
        command_of("ONCE.TAKE", key, id, counter, sum, "LIMIT", limit, per, period, NULL);
    reply answer = server_call(master(), &words);
    command_free(&words);
    bool fits = (long long)amount <= left_at(known, wall_ms());
    if (answer.is_error || answer.numbers[0] != (fits ? 1 : -1))
        wrong("%s: to take %u is answered with %s%lld", key, amount, answer.text,
              answer.numbers[0]);
    if (fits) add(known, wall_ms(), amount);
}

/* Down to a floor: of the total, or of both present buckets. */
static void take_away(unsigned table) {
    model_table *known = &world.now.tables[table];
    unsigned amount = 1 + (unsigned)draw(15);
    char key[16], id[24], counter[16], sum[16], floor[16], period[16];
    snprintf(key, sizeof key, "t%u", table);
    snprintf(id, sizeof id, "th-%u", ++world.replies);
    snprintf(counter, sizeof counter, "w-%u", MODEL_HELD);
    snprintf(sum, sizeof sum, "-%u", amount);
    snprintf(floor, sizeof floor, "%d", LEAST_LEFT);
    snprintf(period, sizeof period, "%u", known->period_ms[0]);
    command words = is_metered(known)
                        ? command_of("ONCE.TAKE", key, id, counter, sum, "FLOOR", floor, "PER",
                                     period, "FLOOR", floor, "PER", "hour", NULL)
                        : command_of("ONCE.TAKE", key, id, counter, sum, "FLOOR", floor, NULL);
    reply answer = server_call(master(), &words);
    command_free(&words);
    long long least = value_at(known, wall_ms());
    if (is_metered(known)) {
        long long hour = meters_present(known, MODEL_HELD, 1, wall_ms());
        if (hour < least) least = hour;
    }
    bool fits = least - (long long)amount >= LEAST_LEFT;
    if (answer.is_error || answer.numbers[0] != (fits ? 1 : -1))
        wrong("%s: to take %u away is answered with %s%lld", key, amount, answer.text,
              answer.numbers[0]);
    if (!fits) return;
    known->times[MODEL_HELD] = (uint16_t)(known->times[MODEL_HELD] - amount);
    meters_take_away(known, MODEL_HELD, wall_ms(), amount);
}

void holds_step(unsigned table) {
    for (uint64_t i = 1 + draw(16); i > 0 && world.wrong[0] == '\0'; i--) {
        unsigned which = (unsigned)draw(MODEL_HOLDS);
        observe(table);
        master()->is_full = draw(6) == 0;
        switch (draw(9)) {
        case 0:
        case 1:
            settle(table, which);
            break;
        case 2:
            release(table, which);
            break;
        case 3:
            master()->is_full = false;
            take(table);
            break;
        case 4:
        case 5:
            master()->is_full = false;
            take_away(table);
            break;
        default:
            hold(table, which);
        }
        master()->is_full = false;
        if (world.wrong[0] == '\0') check_sums(table);
        gather(); /* with what the model knows now */
    }
}
