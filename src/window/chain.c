/* window/chain.c - a window that grows, shrinks and forgets, made of tables that do none of it.
 *
 * IDEA    Ids are recorded into the newest table and looked for in all. When the newest is full a
 *         new one is made, sized for the load as it is then; the old ones are not copied, they run
 *         empty within a window's time and are given back. So growth never shortens a fingerprint,
 *         never moves an entry, and never pauses.
 * I1      An id is in the table it was recorded into until it expires there.
 * I2      The errors that all tables may reach add up to at most e: a closed table's error is that of
 *         what it still holds, and a new one gets a share of what is left of e.
 * I3      Time is a period number, floor(t G / W): periods need not be whole milliseconds, so that
 *         an id of period i is one of period i + G exactly W later, and the slack is 1/G for the
 *         shortest window too. It never goes back; see clock_ms.
 * WHY     Small tables get small shares: a few bits more for few ids cost nothing, and leave
 *         most of e to the table that will hold the load in the end.
 * SIZE    A new table is made for the ids that would arrive in a window at the present rate, 10%
 *         more, but at most four times what is remembered now: a burst is not a trend. When the rate
 *         has fallen to an eighth of what the newest table was made for, a smaller one takes over.
 * MEMORY  An expired table's segments go back a few at a time, with the calls that come in any case.
 *         At the cap, policy refuse makes a smaller table while it is worth it and then says
 *         LETHE_EFULL; policy degrade makes one with shorter remainders. It leaves some room
 *         to the tables that may follow, since a cap that is used up can't degrade any more; only
 *         when not even the shortest remainders fit is LETHE_EFULL the answer there too. Before
 *         that, older tables are written again where their entries have expired. */
#include "window/chain.h"

#include <math.h>

#include "core/allocator.h"

#define MAX_WINDOW_MS (UINT64_C(30) * 24 * 3600 * 1000)
#define MIN_WINDOW_MS 1000
#define DEFAULT_WINDOW_MS 600000
#define DEFAULT_ERROR 1e-6
#define DEFAULT_SLACK 0.25
#define HEADROOM 1.1       /* of a table over the rate it is made for */
#define HINTED_SHARE 0.995 /* of e, for the first table when the capacity was told */
#define LARGE_SHARE 0.5    /* of what is left of e, for a large table */
#define SMALL_SHARE 0.125  /* and for a small one */
#define LEAST_SHARE 1e-4   /* of e, when nothing is left */
#define LEAST_ERROR 5e-16  /* of a table: what the longest remainders give */

enum {
    SMALL_CAPACITY = 1 << 20,
    MIN_CAPACITY = 1024,
    MAX_GROWTH = 4,
    SHRINK_FACTOR = 8,
    MIN_DEGRADED_BITS = 7,
    MIN_REOPENED = 64,
    CALLS_A_DIG = 256
};

#define MAX_HINT (UINT64_C(1) << 36)

lethe_status lethe_chain_plan(const lethe_window_options *options, lethe_window_options *out) {
    lethe_window_options plan = {0};
    if (options != NULL) plan = *options;
    if (plan.window_ms == 0) plan.window_ms = DEFAULT_WINDOW_MS;
    if (plan.error == 0) plan.error = DEFAULT_ERROR;
    if (plan.slack == 0) plan.slack = DEFAULT_SLACK;
    if (plan.seed == 0) plan.seed = LETHE_DEFAULT_SEED;
    /* Written so that a NaN is refused as well. */
    bool valid = plan.error >= 1e-12 && plan.error <= 0.1 && plan.slack >= 0.02 &&
                 plan.slack <= 1 && plan.window_ms >= MIN_WINDOW_MS &&
                 plan.window_ms <= MAX_WINDOW_MS && plan.capacity <= MAX_HINT &&
                 (plan.policy == LETHE_WINDOW_REFUSE || plan.policy == LETHE_WINDOW_DEGRADE);
    if (!valid) return LETHE_EINVAL;
    *out = plan;
    return LETHE_OK;
}

/* The number of periods to a window. A period costs every block a bit, and saves what is remembered for too
 * long: about thirty is the cheapest. Only a smaller slack than that gives asks for more. */
static unsigned generations_for(double slack) {
    unsigned generations = 30;
    while (1.0 / generations > slack)
        generations = 2 * generations + 2;
    return generations;
}

/* The first moment of a period. */
static uint64_t start_of(const lethe_chain *chain, uint64_t period) {
    return (period * chain->options.window_ms + chain->generations - 1) / chain->generations;
}

void lethe_chain_set_clock(lethe_chain *chain, uint64_t clock_ms) {
    chain->clock_ms = clock_ms;
    chain->period = clock_ms * chain->generations / chain->options.window_ms;
    chain->period_end_ms = start_of(chain, chain->period + 1);
}

/* Without the chain itself, which is part of its stripe. */
static uint64_t memory_of(const lethe_chain *chain) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < chain->table_count; i++)
        bytes += lethe_table_allocated_bytes(chain->tables[i]);
    for (unsigned i = 0; i < chain->grave_count; i++)
        bytes += lethe_table_allocated_bytes(chain->graves[i]);
    return bytes;
}

/* What the chain may come to with the tables it has. */
static uint64_t committed_bytes(const lethe_chain *chain) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < chain->table_count; i++) {
        /* Only the first is written, so only it can still grow. */
        bytes += i == 0 ? lethe_table_planned_bytes(&chain->tables[i]->shape)
                        : lethe_table_allocated_bytes(chain->tables[i]);
    }
    for (unsigned i = 0; i < chain->grave_count; i++)
        bytes += lethe_table_allocated_bytes(chain->graves[i]);
    return bytes;
}

static void note_peak(lethe_chain *chain) {
    uint64_t bytes = memory_of(chain);
    if (bytes > chain->peak_memory_bytes) chain->peak_memory_bytes = bytes;
}

/* Gives back at most budget segments of expired tables; true when there are none left. */
static bool dig(lethe_chain *chain, unsigned budget) {
    while (chain->grave_count > 0 && budget > 0) {
        lethe_table *grave = chain->graves[chain->grave_count - 1];
        uint64_t before = grave->segments_allocated;
        if (lethe_table_free_some(grave, budget)) {
            lethe_table_free(grave);
            chain->grave_count--;
        }
        budget -= before < budget ? (unsigned)before : budget;
    }
    return chain->grave_count == 0;
}

static void bury(lethe_chain *chain, lethe_table *table) {
    note_peak(chain);
    if (chain->grave_count == LETHE_CHAIN_MAX_GRAVES) {
        lethe_table_free(chain->graves[--chain->grave_count]);
    }
    chain->graves[chain->grave_count++] = table;
}

/* Removes table number index from those that are looked at. */
static void retire(lethe_chain *chain, unsigned index) {
    bury(chain, chain->tables[index]);
    chain->table_count--;
    for (unsigned i = index; i < chain->table_count; i++)
        chain->tables[i] = chain->tables[i + 1];
}

/* Makes a table the first, before those that were number 0 to count - 1. */
static void put_first(lethe_chain *chain, lethe_table *table, unsigned count) {
    for (unsigned i = count; i > 0; i--)
        chain->tables[i] = chain->tables[i - 1];
    chain->tables[0] = table;
}

static uint64_t alive_in_all(const lethe_chain *chain) {
    uint64_t alive = 0;
    for (unsigned i = 0; i < chain->table_count; i++)
        alive += chain->tables[i]->alive;
    return alive;
}

static double error_of_all(const lethe_chain *chain) {
    double error = 0;
    for (unsigned i = 0; i < chain->table_count; i++)
        error += lethe_table_error(&chain->tables[i]->shape, chain->tables[i]->alive);
    return error;
}

/* The ids that would be alive at once if they kept coming as they do now. */
static double forecast(const lethe_chain *chain) {
    uint64_t elapsed_ms = chain->clock_ms - start_of(chain, chain->period) + 1;
    double elapsed = (double)elapsed_ms * chain->generations / (double)chain->options.window_ms;
    if (elapsed < 0.11) elapsed = 0.11; /* a moment says little */
    double rate = fmax((double)chain->arrivals / elapsed, (double)chain->arrivals_before);
    return rate * (chain->generations + 1) * HEADROOM;
}

/* A table of fewer ids, or LETHE_EFULL when so few are not worth one. */
static lethe_status plan_smaller(const lethe_chain *chain, uint64_t capacity, double share,
                                 uint64_t room_bytes, struct lethe_table_shape *shape) {
    double fits = (double)room_bytes / (double)lethe_table_planned_bytes(shape);
    uint64_t smaller = (uint64_t)((double)capacity * fits * 0.98);
    if (smaller < MIN_CAPACITY || smaller < capacity / 16) return LETHE_EFULL;
    if (!lethe_table_plan(smaller, share, chain->generations, shape)) return LETHE_EFULL;
    return lethe_table_planned_bytes(shape) <= room_bytes ? LETHE_OK : LETHE_EFULL;
}

/* A table with shorter remainders, and for fewer ids only if the shortest are too long. */
static lethe_status plan_degraded(const lethe_chain *chain, uint64_t capacity, double share,
                                  uint64_t room_bytes, struct lethe_table_shape *shape) {
    while (shape->queue.bits > MIN_DEGRADED_BITS) {
        share *= 2; /* one bit less */
        if (!lethe_table_plan(capacity, share, chain->generations, shape)) return LETHE_EFULL;
        if (lethe_table_planned_bytes(shape) <= room_bytes) return LETHE_OK;
    }
    return plan_smaller(chain, capacity, share, room_bytes, shape);
}

/* Plans a table that fits into what the cap leaves; LETHE_EFULL when none does. */
static lethe_status plan_within(const lethe_chain *chain, uint64_t capacity, double share,
                                struct lethe_table_shape *shape) {
    uint64_t cap = chain->options.max_memory_bytes, committed = committed_bytes(chain);
    if (!lethe_table_plan(capacity, share, chain->generations, shape)) return LETHE_EFULL;
    if (cap == 0) return LETHE_OK;
    bool refuses = chain->options.policy == LETHE_WINDOW_REFUSE;
    uint64_t room_bytes = cap > committed ? cap - committed : 0;
    if (!refuses) {
        /* Part of it is for the tables that will follow: more if these will have to be larger. */
        double part = fmax((double)capacity / fmax(forecast(chain), 1), 0.125);
        room_bytes = (uint64_t)((double)room_bytes * fmin(part, 0.875));
    }
    if (lethe_table_planned_bytes(shape) <= room_bytes) return LETHE_OK;
    return refuses ? plan_smaller(chain, capacity, share, room_bytes, shape)
                   : plan_degraded(chain, capacity, share, room_bytes, shape);
}

/* Makes a table the newest. */
static lethe_status open_table(lethe_chain *chain, uint64_t capacity, double share) {
    if (chain->table_count == LETHE_CHAIN_MAX_TABLES) return LETHE_EFULL;
    struct lethe_table_shape shape;
    lethe_status status = plan_within(chain, capacity, share, &shape);
    if (status == LETHE_EFULL && chain->grave_count > 0) {
        while (!dig(chain, LETHE_CHAIN_MAX_GRAVES)) {
        }
        status = plan_within(chain, capacity, share, &shape);
    }
    bool is_short = status != LETHE_OK || shape.capacity < capacity ||
                    lethe_table_error(&shape, shape.capacity) > share * 1.001;
    /* What an older table was made with shows until it has expired. */
    chain->is_capped = is_short || (chain->is_capped && error_of_all(chain) > chain->options.error);
    if (status != LETHE_OK) return status;
    lethe_table *table = lethe_table_new(&shape, chain->period, chain->options.allocator);
    if (table == NULL) return LETHE_ENOMEM;
    put_first(chain, table, chain->table_count);
    chain->table_count++;
    return LETHE_OK;
}

/* Where no other table can be made: goes on with an older one, the emptiest by now. */
static lethe_status reopen_table(lethe_chain *chain) {
    unsigned best = 0;
    uint64_t most_free = MIN_REOPENED;
    for (unsigned i = 1; i < chain->table_count; i++) {
        const lethe_table *table = chain->tables[i];
        uint64_t room =
            table->alive < table->shape.capacity ? table->shape.capacity - table->alive : 0;
        if (room <= most_free) continue;
        most_free = room;
        best = i;
    }
    if (best == 0) return LETHE_EFULL;
    lethe_table *table = chain->tables[best];
    double error = error_of_all(chain) - lethe_table_error(&table->shape, table->alive) +
                   lethe_table_error(&table->shape, table->shape.capacity);
    bool refuses = chain->options.policy == LETHE_WINDOW_REFUSE;
    if (refuses && error > chain->options.error) return LETHE_EFULL;
    uint64_t cap = chain->options.max_memory_bytes;
    uint64_t growth = lethe_table_planned_bytes(&table->shape) - lethe_table_allocated_bytes(table);
    if (cap != 0 && memory_of(chain) + growth > cap) return LETHE_EFULL;
    put_first(chain, table, best);
    return LETHE_OK;
}

/* What a new table is to be for the load as it is. */
static void choose_size(const lethe_chain *chain, uint64_t *capacity, double *out_share) {
    double alive = (double)alive_in_all(chain);
    double wanted = fmin(forecast(chain), MAX_GROWTH * alive);
    wanted = fmax(wanted, fmax(alive / 8, MIN_CAPACITY));
    double left = chain->options.error - error_of_all(chain);
    double share = left * (wanted < SMALL_CAPACITY ? SMALL_SHARE : LARGE_SHARE);
    share = fmax(share, fmax(chain->options.error * LEAST_SHARE, LEAST_ERROR));
    *capacity = (uint64_t)wanted;
    *out_share = share;
}

static lethe_status make_room(lethe_chain *chain) {
    uint64_t capacity;
    double share;
    choose_size(chain, &capacity, &share);
    lethe_status status = open_table(chain, capacity, share);
    return status == LETHE_EFULL ? reopen_table(chain) : status;
}

lethe_status lethe_chain_init(lethe_chain *chain, const lethe_window_options *options) {
    *chain = (lethe_chain){.options = *options, .calls_until_dig = CALLS_A_DIG};
    chain->generations = generations_for(options->slack);
    lethe_chain_set_clock(chain, 0);
    double hint = (double)options->capacity * (1 + 1.0 / chain->generations);
    bool hinted = options->capacity > 0;
    /* Ids come at random: five deviations more than their mean is enough for a steady load. */
    uint64_t capacity = hinted ? (uint64_t)(hint + 5 * sqrt(hint)) + 64 : MIN_CAPACITY;
    lethe_status status =
        open_table(chain, capacity, options->error * (hinted ? HINTED_SHARE : SMALL_SHARE));
    if (status == LETHE_OK && chain->is_capped && options->policy == LETHE_WINDOW_REFUSE) {
        status = LETHE_EFULL;
    }
    if (status != LETHE_OK) lethe_chain_drop(chain);
    return status;
}

void lethe_chain_drop(lethe_chain *chain) {
    for (unsigned i = 0; i < chain->table_count; i++)
        lethe_table_free(chain->tables[i]);
    for (unsigned i = 0; i < chain->grave_count; i++)
        lethe_table_free(chain->graves[i]);
    *chain = (lethe_chain){0};
}

/* Whether the newest table was made with shorter remainders than it should have, and one with
 * remainders as they should be would fit now. */
static bool can_improve(const lethe_chain *chain) {
    const lethe_table *newest = chain->tables[0];
    if (lethe_table_error(&newest->shape, newest->shape.capacity) <= chain->options.error)
        return false;
    uint64_t capacity;
    double share;
    choose_size(chain, &capacity, &share);
    struct lethe_table_shape shape;
    return plan_within(chain, capacity, share, &shape) == LETHE_OK && shape.capacity >= capacity &&
           lethe_table_error(&shape, capacity) <= chain->options.error;
}

/* Whether the load has fallen far below what the newest table was made for. */
static bool can_shrink(const lethe_chain *chain) {
    double needed = fmax(forecast(chain), (double)alive_in_all(chain));
    needed = fmax(fmax(needed, (double)chain->options.capacity), MIN_CAPACITY);
    return chain->table_count == 1 &&
           needed * SHRINK_FACTOR <= (double)chain->tables[0]->shape.capacity;
}

/* Replaces the newest table where another one would do better. Failing to is no harm: the next period
 * tries again. */
static void adapt(lethe_chain *chain) {
    if (!can_shrink(chain) && !can_improve(chain)) return;
    uint64_t capacity;
    double share;
    choose_size(chain, &capacity, &share);
    bool was_capped = chain->is_capped;
    if (open_table(chain, capacity, share) != LETHE_OK) chain->is_capped = was_capped;
}

/* The cap is no longer in the way when there is room again and the error is what it should be. */
static void relax(lethe_chain *chain) {
    const lethe_table *newest = chain->tables[0];
    if (newest->alive < newest->shape.capacity && error_of_all(chain) <= chain->options.error)
        chain->is_capped = false;
}

/* Replaces the newest table by an empty one of its shape, when all it holds has expired: its blocks
 * would otherwise have to be swept before their stamps come round again. Without memory for that, they
 * are. */
static void renew(lethe_chain *chain) {
    const struct lethe_table_shape *shape = &chain->tables[0]->shape;
    lethe_table *table = lethe_table_new(shape, chain->period, chain->options.allocator);
    if (table == NULL) return;
    bury(chain, chain->tables[0]);
    chain->tables[0] = table;
    /* Under a cap the old memory must be gone before the new is asked for. */
    while (chain->options.max_memory_bytes != 0 && !dig(chain, LETHE_CHAIN_MAX_GRAVES)) {
    }
}

/* Begins a later period. */
static void advance_period(lethe_chain *chain) {
    uint64_t before = chain->period;
    lethe_chain_set_clock(chain, chain->clock_ms);
    chain->arrivals_before = chain->period == before + 1 ? chain->arrivals : 0;
    chain->arrivals = 0;
    if (chain->period - before > chain->generations) renew(chain);
    for (unsigned i = chain->table_count; i-- > 0;) {
        lethe_table_advance(chain->tables[i], chain->period);
        if (i > 0 && chain->tables[i]->alive == 0) retire(chain, i);
    }
    dig(chain, 4);
    relax(chain);
    adapt(chain);
}

static inline void advance(lethe_chain *chain, uint64_t now_ms) {
    if (chain->grave_count > 0 && --chain->calls_until_dig == 0) {
        chain->calls_until_dig = CALLS_A_DIG;
        dig(chain, 1);
    }
    if (now_ms <= chain->clock_ms) return;
    if (now_ms > LETHE_CHAIN_MAX_TIME_MS) now_ms = LETHE_CHAIN_MAX_TIME_MS;
    chain->clock_ms = now_ms;
    if (now_ms >= chain->period_end_ms) advance_period(chain);
}

/* The period a reader sees at now_ms. */
static inline uint64_t period_at(const lethe_chain *chain, uint64_t now_ms) {
    if (now_ms < chain->period_end_ms) return chain->period;
    if (now_ms > LETHE_CHAIN_MAX_TIME_MS) now_ms = LETHE_CHAIN_MAX_TIME_MS;
    return now_ms * chain->generations / chain->options.window_ms;
}

/* Whether all that is remembered has expired by then. The tables can't tell by themselves when a
 * reader is far ahead of them: a block's stamp has 8 bits. */
static inline bool is_past_all(const lethe_chain *chain, uint64_t period) {
    return period - chain->period > chain->generations;
}

lethe_window_answer lethe_chain_check(const lethe_chain *chain, lethe_hash id, uint64_t now_ms) {
    uint64_t period = period_at(chain, now_ms);
    if (is_past_all(chain, period)) return LETHE_FRESH;
    for (unsigned i = 0; i < chain->table_count; i++) {
        if (chain->tables[i]->operations->check(chain->tables[i], id, period))
            return LETHE_DUPLICATE;
    }
    return LETHE_FRESH;
}

void lethe_chain_check_batch(const lethe_chain *chain, const lethe_hash *ids, size_t count,
                             uint64_t now_ms, uint8_t *answers) {
    uint64_t period = period_at(chain, now_ms);
    if (is_past_all(chain, period)) {
        if (count > 0) memset(answers, LETHE_FRESH, count);
        return;
    }
    chain->tables[0]->operations->check_batch(chain->tables, chain->table_count, ids, count, period,
                                              answers);
}

/* Adds an id that is known not to be in the newest table, making room if need be. */
static lethe_status insert(lethe_chain *chain, lethe_hash id) {
    lethe_table *table = chain->tables[0];
    lethe_table_result result = table->operations->insert(table, id, chain->period);
    if (result == LETHE_TABLE_IS_FULL) {
        lethe_status status = make_room(chain);
        if (status != LETHE_OK) {
            chain->refused++;
            return status;
        }
        table = chain->tables[0];
        result = table->operations->insert(table, id, chain->period);
    }
    if (result != LETHE_TABLE_ADDED) {
        chain->refused++;
        return result == LETHE_TABLE_NO_MEMORY ? LETHE_ENOMEM : LETHE_EFULL;
    }
    chain->arrivals++;
    return LETHE_OK;
}

lethe_status lethe_chain_record(lethe_chain *chain, lethe_hash id, uint64_t now_ms) {
    return lethe_chain_record_batch(chain, &id, 1, now_ms);
}

lethe_status lethe_chain_record_batch(lethe_chain *chain, const lethe_hash *ids, size_t count,
                                      uint64_t now_ms) {
    advance(chain, now_ms);
    lethe_status first = LETHE_OK;
    for (size_t done = 0; done < count; done++) {
        lethe_table *table = chain->tables[0];
        lethe_table_result result;
        uint64_t inserted;
        done += table->operations->record_batch(table, ids + done, count - done, chain->period,
                                                &inserted, &result);
        chain->arrivals += inserted;
        if (done == count) break;
        /* This one found no room. */
        lethe_status status = insert(chain, ids[done]);
        if (first == LETHE_OK) first = status;
    }
    return first;
}

/* Whether a call may go straight to the one table there is: most may. */
static inline bool is_plain(const lethe_chain *chain, uint64_t now_ms) {
    return now_ms < chain->period_end_ms && chain->table_count == 1 && chain->grave_count == 0 &&
           !chain->options.refresh_on_duplicate;
}

static __attribute__((noinline)) lethe_status check_and_record_in_all(lethe_chain *chain,
                                                                      lethe_hash id,
                                                                      uint64_t now_ms,
                                                                      lethe_window_answer *answer) {
    advance(chain, now_ms);
    *answer = lethe_chain_check(chain, id, chain->clock_ms);
    if (*answer == LETHE_DUPLICATE) {
        chain->duplicates++;
        return chain->options.refresh_on_duplicate ? lethe_chain_record(chain, id, now_ms)
                                                   : LETHE_OK;
    }
    lethe_status status = insert(chain, id);
    if (status == LETHE_OK) {
        chain->fresh++;
    } else {
        *answer = LETHE_REFUSED;
    }
    return status;
}

lethe_status lethe_chain_check_and_record(lethe_chain *chain, lethe_hash id, uint64_t now_ms,
                                          lethe_window_answer *answer) {
    if (__builtin_expect(is_plain(chain, now_ms), 1)) {
        if (now_ms > chain->clock_ms) chain->clock_ms = now_ms;
        lethe_table *table = chain->tables[0];
        lethe_table_result result = table->operations->check_and_insert(table, id, chain->period);
        if (__builtin_expect(result <= LETHE_TABLE_IS_DUPLICATE, 1)) {
            bool is_fresh = result == LETHE_TABLE_ADDED;
            *answer = (lethe_window_answer)result;
            chain->duplicates += !is_fresh;
            chain->fresh += is_fresh;
            chain->arrivals += is_fresh;
            return LETHE_OK;
        }
    }
    return check_and_record_in_all(chain, id, now_ms, answer);
}

/* One by one, where the batch loops of the table do not apply. */
static lethe_status check_and_record_each(lethe_chain *chain, const lethe_hash *ids, size_t count,
                                          uint64_t now_ms, uint8_t *answers) {
    lethe_status first = LETHE_OK;
    for (size_t i = 0; i < count; i++) {
        lethe_window_answer answer;
        lethe_status status = lethe_chain_check_and_record(chain, ids[i], now_ms, &answer);
        answers[i] = (uint8_t)answer;
        if (first == LETHE_OK) first = status;
    }
    return first;
}

lethe_status lethe_chain_check_and_record_batch(lethe_chain *chain, const lethe_hash *ids,
                                                size_t count, uint64_t now_ms, uint8_t *answers) {
    if (chain->options.refresh_on_duplicate)
        return check_and_record_each(chain, ids, count, now_ms, answers);
    advance(chain, now_ms);
    lethe_status first = LETHE_OK;
    for (size_t done = 0; done < count;) {
        lethe_table_result result;
        size_t piece = chain->tables[0]->operations->check_and_insert_batch(
            chain->tables, chain->table_count, ids + done, count - done, chain->period,
            answers + done, &result);
        uint64_t duplicates = 0;
        for (size_t i = 0; i < piece; i++)
            duplicates += answers[done + i];
        chain->duplicates += duplicates;
        chain->fresh += piece - duplicates;
        chain->arrivals += piece - duplicates;
        done += piece;
        if (done == count) break;
        /* The id that found no room is tried alone, which makes room. */
        lethe_status status = check_and_record_each(chain, ids + done, 1, now_ms, answers + done);
        if (first == LETHE_OK) first = status;
        done++;
    }
    return first;
}

lethe_status lethe_chain_forget(lethe_chain *chain, lethe_hash id, uint64_t now_ms) {
    advance(chain, now_ms);
    unsigned matches = 0;
    for (unsigned i = 0; i < chain->table_count; i++)
        matches += chain->tables[i]->operations->count_matches(chain->tables[i], id, chain->period);
    if (matches == 0) return LETHE_ENOTFOUND;
    /* Where another id's entry matches too, nobody knows which is whose. All of them stay: without
     * its own entry this id would be recognised by the other's as well, and the other one's
     * memory is not at risk (P1). Only a refresh makes copies, which have to go together. */
    if (matches > 1 && !chain->options.refresh_on_duplicate) return LETHE_OK;
    for (unsigned i = 0; i < chain->table_count; i++)
        (void)chain->tables[i]->operations->remove(chain->tables[i], id, chain->period);
    return LETHE_OK;
}

bool lethe_chain_work(lethe_chain *chain, uint64_t now_ms, unsigned budget) {
    advance(chain, now_ms);
    return !dig(chain, budget);
}

lethe_window_stats lethe_chain_info(const lethe_chain *chain, uint64_t now_ms) {
    uint64_t period = period_at(chain, now_ms), oldest = period;
    lethe_window_stats stats = {
        .kind = LETHE_WINDOW_QUOTIENT,
        .window_ms = chain->options.window_ms,
        .seed = chain->options.seed,
        .clock_ms = chain->clock_ms,
        .error_target = chain->options.error,
        .slack = 1.0 / chain->generations,
        .period_ms = start_of(chain, 1),
        .parts = chain->table_count,
        .generations = chain->generations + 1,
        .capacity = chain->tables[0]->shape.capacity,
        .memory_bytes = memory_of(chain),
        .max_memory_bytes = chain->options.max_memory_bytes,
        .fresh = chain->fresh,
        .duplicates = chain->duplicates,
        .refused = chain->refused,
    };
    bool any = false;
    for (unsigned i = 0; i < chain->table_count; i++) {
        uint64_t alive = lethe_table_alive_at(chain->tables[i], period), first;
        stats.ids += alive;
        stats.error_estimate += lethe_table_error(&chain->tables[i]->shape, alive);
        if (!lethe_table_oldest_at(chain->tables[i], period, &first)) continue;
        any = true;
        if (first < oldest) oldest = first;
    }
    uint64_t time_ms = now_ms > chain->clock_ms ? now_ms : chain->clock_ms;
    if (any) stats.oldest_age_ms = time_ms - start_of(chain, oldest);
    stats.peak_memory_bytes = chain->peak_memory_bytes > stats.memory_bytes
                                  ? chain->peak_memory_bytes
                                  : stats.memory_bytes;
    if (stats.error_estimate > stats.error_target) stats.strain |= LETHE_STRAIN_ERROR;
    if (chain->is_capped) stats.strain |= LETHE_STRAIN_MEMORY;
    if (now_ms < chain->clock_ms) stats.strain |= LETHE_STRAIN_CLOCK;
    return stats;
}

lethe_status lethe_chain_can_merge(const lethe_chain *chain, const lethe_chain *other) {
    if (chain->generations != other->generations ||
        chain->options.window_ms != other->options.window_ms ||
        chain->options.seed != other->options.seed ||
        chain->options.allocator != other->options.allocator) {
        return LETHE_EMISMATCH;
    }
    unsigned tables = chain->table_count;
    for (unsigned i = 0; i < other->table_count; i++)
        tables += other->tables[i]->alive > 0;
    if (tables > LETHE_CHAIN_MAX_MERGED) return LETHE_EFULL;
    uint64_t cap = chain->options.max_memory_bytes;
    /* Other's graves stay with it, and none of its tables will grow. */
    bool over = cap != 0 && committed_bytes(chain) + memory_of(other) > cap;
    return over ? LETHE_EFULL : LETHE_OK;
}

void lethe_chain_merge(lethe_chain *chain, lethe_chain *other) {
    /* Before the clock moves on: with more than one table the chain will not make another. */
    unsigned kept = 0;
    for (unsigned i = 0; i < other->table_count; i++) {
        lethe_table *table = other->tables[i];
        if (table->period < chain->period) lethe_table_advance(table, chain->period);
        if (table->alive > 0) {
            chain->tables[chain->table_count++] = table;
        } else {
            other->tables[kept++] = table;
        }
    }
    other->table_count = kept;
    advance(chain, other->clock_ms);
    chain->fresh += other->fresh;
    chain->duplicates += other->duplicates;
    chain->refused += other->refused;
    note_peak(chain);
}
