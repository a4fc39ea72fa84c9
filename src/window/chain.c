/* window/chain.c - a window that grows, shrinks and forgets, made of tables that do none of it.
 *
 * IDEA    Ids are recorded into the newest table and looked for in all. When the newest is full a
 *         new one is made, sized for the load as it is then; the old ones are not copied, they run
 *         empty within a window's time and are given back. So growth never shortens a fingerprint,
 *         never moves an entry, and never pauses.
 * I1      An id is in the table it was recorded into until it expires there. Recorded once more, when a log is
 *         replayed or a duplicate refreshes, it is in the newest table too; after a merge it may be in several.
 *         Until the period copies_until such copies are possible, and only until then does forget take
 *         matches in several tables for entries of one id. It is saved, so that copies of a window forget alike.
 * I2      The errors that all tables may reach add up to at most e: a closed table's error is that of
 *         what it still holds, and a new one gets a share of what is left of e.
 * I3      Time is a period number, floor(t G / W): periods need not be whole milliseconds, so that
 *         an id of period i is one of period i + G exactly W later, and the slack is 1/G for the
 *         shortest window too. It never goes back; see clock_ms.
 * WHY     Tables on the way to the present load get small shares: a few bits more for few ids cost
 *         nothing, and leave most of e to the table that will hold the load in the end.
 * SIZE    A new table is made for the ids that would arrive in a window at the present rate, 10%
 *         more, but at most four times what is remembered now: a burst is not a trend. When the rate
 *         has fallen to an eighth of what the newest table was made for, a smaller one takes over.
 * PAUSES  What has to be done to a whole table is done a little at a time, by the calls that come in any case: the sweep (table.c), a
 *         piece every few milliseconds, and giving memory back. A table that has expired is not swept any more.
 * MEMORY  An expired table's segments go back a few at a time, with the calls that come in any case; under a cap, at the
 *         latest when another table needs the room.
 *         At the cap, policy refuse makes a smaller table while it is worth it and then says
 *         LETHE_EFULL; policy degrade makes one with shorter remainders. It leaves some room
 *         to the tables that may follow, since a cap that is used up can't degrade any more; only
 *         when not even the shortest remainders fit is LETHE_EFULL the answer there too. Before
 *         that, older tables are written again where their entries have expired. */
#include "window/chain.h"

static inline void advance(lethe_chain *chain, uint64_t now_ms) {
    if (chain->grave_count > 0 && --chain->calls_until_dig == 0) {
        chain->calls_until_dig = LETHE_CHAIN_CALLS_A_DIG;
        lethe_chain_dig(chain, 1);
    }
    if (now_ms <= chain->clock_ms) return;
    if (now_ms > LETHE_CHAIN_MAX_TIME_MS) now_ms = LETHE_CHAIN_MAX_TIME_MS;
    bool may_sweep = now_ms / LETHE_CHAIN_SWEEP_MS != chain->clock_ms / LETHE_CHAIN_SWEEP_MS;
    chain->clock_ms = now_ms;
    if (now_ms >= chain->period_end_ms) lethe_chain_begin_period(chain);
    if (chain->is_sweeping && may_sweep) lethe_chain_sweep(chain);
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

void lethe_chain_prefetch(const lethe_chain *chain, lethe_hash id) {
    for (unsigned i = 0; i < chain->table_count; i++)
        chain->tables[i]->operations->prefetch(chain->tables[i], id);
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
        lethe_status status = lethe_chain_make_room(chain);
        if (status != LETHE_OK) {
            chain->refused++;
            return status;
        }
        /* An older table may be the newest now, and have the id. */
        uint64_t inserted;
        table = chain->tables[0];
        (void)table->operations->record_batch(table, &id, 1, chain->period, &inserted, &result);
    }
    if (result != LETHE_TABLE_ADDED) {
        chain->refused++;
        return result == LETHE_TABLE_NO_MEMORY ? LETHE_ENOMEM : LETHE_EFULL;
    }
    chain->arrivals++;
    return LETHE_OK;
}

/* Notices when ids that are to be recorded are in older tables already. */
static void note_copies(lethe_chain *chain, const lethe_hash *ids, size_t count) {
    uint64_t until = chain->period + chain->generations + 1;
    if (chain->table_count == 1) return;
    for (size_t i = 0; i < count && chain->copies_until < until; i++) {
        for (unsigned t = 1; t < chain->table_count; t++) {
            const lethe_table *table = chain->tables[t];
            if (table->operations->check(table, ids[i], chain->period)) chain->copies_until = until;
        }
    }
}

lethe_status lethe_chain_record(lethe_chain *chain, lethe_hash id, uint64_t now_ms) {
    return lethe_chain_record_batch(chain, &id, 1, now_ms);
}

lethe_status lethe_chain_record_batch(lethe_chain *chain, const lethe_hash *ids, size_t count,
                                      uint64_t now_ms) {
    advance(chain, now_ms);
    lethe_status first = LETHE_OK;
    const lethe_table *newest = NULL; /* when copies were looked for */
    for (size_t done = 0; done < count; done++) {
        lethe_table *table = chain->tables[0];
        if (done == 0 || table != newest) note_copies(chain, ids + done, count - done);
        newest = table;
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
           !chain->is_sweeping && !chain->options.refresh_on_duplicate;
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
    unsigned matches[LETHE_CHAIN_MAX_TABLES], all = 0;
    for (unsigned i = 0; i < chain->table_count; i++) {
        const lethe_table *table = chain->tables[i];
        matches[i] = table->operations->count_matches(table, id, chain->period);
        all += matches[i];
    }
    if (all == 0) return LETHE_ENOTFOUND;
    /* Where another id's entry matches too, nobody knows which is whose. All of them stay: without
     * its own entry this id would be recognised by the other's as well, and the other one's
     * memory is not at risk (P1). Entries in several tables are the id's own if it may have copies; in one
     * table it has one. */
    if (all > 1 && chain->period >= chain->copies_until) return LETHE_OK;
    for (unsigned i = 0; i < chain->table_count; i++) {
        lethe_table *table = chain->tables[i];
        if (matches[i] == 1) (void)table->operations->remove(table, id, chain->period);
    }
    return LETHE_OK;
}

bool lethe_chain_work(lethe_chain *chain, uint64_t now_ms, unsigned budget) {
    advance(chain, now_ms);
    return !lethe_chain_dig(chain, budget);
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
        .period_ms = lethe_chain_start_of(chain, 1),
        .parts = chain->table_count,
        .generations = chain->generations + 1,
        .capacity = chain->tables[0]->shape.capacity,
        .memory_bytes = lethe_chain_memory(chain),
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
    if (any) stats.oldest_age_ms = time_ms - lethe_chain_start_of(chain, oldest);
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
    bool over =
        cap != 0 && lethe_chain_committed_bytes(chain) + lethe_chain_living_bytes(other) > cap;
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
    lethe_chain_make_way(chain, lethe_chain_committed_bytes(chain));
    advance(chain, other->clock_ms);
    if (chain->table_count > 1) chain->copies_until = chain->period + chain->generations + 1;
    chain->fresh += other->fresh;
    chain->duplicates += other->duplicates;
    chain->refused += other->refused;
    chain->is_sweeping = true;
    lethe_chain_note_peak(chain);
}
