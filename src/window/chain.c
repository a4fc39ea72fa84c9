/* window/chain.c - a window that grows, shrinks and forgets, made of parts that do none of these.
 *
 * IDEA    Ids are added to the newest part and looked up in all. When the newest part is full, a
 *         new one is made, sized for the load at that time. The old parts are not copied: their
 *         entries expire within a window, and then the parts are freed. So growth never shortens a
 *         fingerprint, never moves an entry and never pauses.
 * I1      An id stays in the part to which it was added until it expires there. If it is added
 *         again, when a log is replayed or a duplicate refreshes it, it is in the newest part too.
 *         After a merge it may be in several. This is possible only before the period
 *         repeats_until, and only before then does remove treat matches in several parts as entries
 *         of one id. repeats_until is saved, so replicas of a window remove alike.
 * I2      The errors that all parts may reach add up to at most e. The error of an older part is
 *         that of its living entries; a new part gets a share of what is left of e.
 * I3      Time is a period number, floor(t G / W). Periods need not be whole milliseconds, so
 *         exactly W after a time in period i is a time in period i + G, and the slack is 1/G even
 *         for the shortest window. The clock never goes back.
 * WHY     While the chain grows towards the current load, its small parts get small shares of e. A
 *         few more bits for few ids cost little, and most of e is left for the part that will
 *         finally hold the load.
 * SIZE    A new part is made for the ids that would arrive in a window at the current rate, plus
 *         10%, once a third of these have arrived. Until then it is made for half of the ids
 *         that are remembered now: a burst is not a trend. Below a hundred thousand ids, under a
 *         cap and where parts are many, it is made for up to four times as many. When the rate
 *         falls to an eighth of what the newest part was made for, a smaller part follows.
 * PAUSES  Work on a whole part is done little by little during normal calls: the sweep (part.c)
 *         every few milliseconds, and the freeing of memory. An expired part is not swept any
 *         more.
 * MEMORY  The slabs of an expired part are freed a few at a time during normal calls; under
 *         a cap, at the latest when another part needs the room. At the cap, policy refuse
 *         makes a smaller part as long as that is worthwhile, and then returns LETHE_EFULL.
 *         Policy degrade makes a part with shorter remainders. It leaves some room for later
 *         parts, since a cap that is used up cannot degrade further; it returns LETHE_EFULL
 *         only if not even the shortest remainders fit. Before that, either policy reuses an
 *         older part whose entries have expired. */
#include "window/chain.h"

#include "core/inline.h"

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

/* The period that a reader sees at now_ms. */
static inline uint64_t period_at(const lethe_chain *chain, uint64_t now_ms) {
    if (now_ms < chain->period_end_ms) return chain->period;
    if (now_ms > LETHE_CHAIN_MAX_TIME_MS) now_ms = LETHE_CHAIN_MAX_TIME_MS;
    return now_ms * chain->generations / chain->options.window_ms;
}

/* Whether all ids have expired by then. The parts themselves cannot know when a reader is far
 * ahead of them, since a block's stamp has 8 bits. */
static inline bool is_past_all(const lethe_chain *chain, uint64_t period) {
    return period - chain->period > chain->generations;
}

void lethe_chain_prefetch(const lethe_chain *chain, lethe_hash id) {
    for (unsigned i = 0; i < chain->part_count; i++)
        chain->parts[i]->operations->prefetch(chain->parts[i], id);
}

lethe_answer lethe_chain_test(const lethe_chain *chain, lethe_hash id, uint64_t now_ms) {
    uint64_t period = period_at(chain, now_ms);
    if (is_past_all(chain, period)) return LETHE_ANSWER_FRESH;
    /* The CPU looks ahead no further than two parts or three. */
    if (chain->part_count > 2) lethe_chain_prefetch(chain, id);
    for (unsigned i = 0; i < chain->part_count; i++) {
        if (chain->parts[i]->operations->test(chain->parts[i], id, period))
            return LETHE_ANSWER_DUPLICATE;
    }
    return LETHE_ANSWER_FRESH;
}

void lethe_chain_test_batch(const lethe_chain *chain, const lethe_hash *ids, size_t count,
                            uint64_t now_ms, uint8_t *answers) {
    uint64_t period = period_at(chain, now_ms);
    if (is_past_all(chain, period)) {
        if (count > 0) memset(answers, LETHE_ANSWER_FRESH, count);
        return;
    }
    chain->parts[0]->operations->test_batch(chain->parts, chain->part_count, ids, count, period,
                                            answers);
}

/* Adds an id that is known not to be in the newest part, and makes room if necessary. */
static lethe_status insert(lethe_chain *chain, lethe_hash id) {
    lethe_part *part = chain->parts[0];
    lethe_part_result result = part->operations->insert(part, id, chain->period);
    if (result == LETHE_PART_IS_FULL) {
        unsigned count = chain->part_count;
        lethe_status status = lethe_chain_make_room(chain);
        if (status != LETHE_OK) {
            chain->refused++;
            return status;
        }
        /* An older part may be the newest now, and contain the id. */
        uint64_t inserted;
        part = chain->parts[0];
        (void)part->operations->add_batch(part, &id, 1, chain->period, &inserted, &result);
        /* For lack of memory nothing changes, wherever it was met, so that copies of a window stay
         * the same. */
        if (result == LETHE_PART_NO_MEMORY && chain->part_count > count)
            lethe_chain_drop_newest(chain);
    }
    if (result != LETHE_PART_ADDED) {
        chain->refused++;
        return result == LETHE_PART_NO_MEMORY ? LETHE_ENOMEM : LETHE_EFULL;
    }
    chain->arrivals++;
    return LETHE_OK;
}

/* Notes if ids that are about to be added are in older parts already: I1. */
static void note_repeats(lethe_chain *chain, const lethe_hash *ids, size_t count) {
    uint64_t until = chain->period + chain->generations + 1;
    if (chain->part_count == 1) return;
    for (size_t i = 0; i < count && chain->repeats_until < until; i++) {
        for (unsigned t = 1; t < chain->part_count; t++) {
            const lethe_part *part = chain->parts[t];
            if (part->operations->test(part, ids[i], chain->period)) chain->repeats_until = until;
        }
    }
}

lethe_status lethe_chain_add(lethe_chain *chain, lethe_hash id, uint64_t now_ms) {
    return lethe_chain_add_batch(chain, &id, 1, now_ms, NULL);
}

lethe_status lethe_chain_add_batch(lethe_chain *chain, const lethe_hash *ids, size_t count,
                                   uint64_t now_ms, uint8_t *added) {
    advance(chain, now_ms);
    return lethe_chain_add_now(chain, ids, count, added);
}

void lethe_chain_follow(lethe_chain *chain, uint64_t now_ms) {
    advance(chain, now_ms);
}

lethe_status lethe_chain_add_now(lethe_chain *chain, const lethe_hash *ids, size_t count,
                                 uint8_t *added) {
    if (added != NULL && count > 0) memset(added, 1, count);
    lethe_status first = LETHE_OK;
    const lethe_part *newest = NULL; /* the newest part when note_repeats last ran */
    for (size_t done = 0; done < count; done++) {
        lethe_part *part = chain->parts[0];
        if (done == 0 || part != newest) note_repeats(chain, ids + done, count - done);
        newest = part;
        lethe_part_result result;
        uint64_t inserted;
        done += part->operations->add_batch(part, ids + done, count - done, chain->period,
                                            &inserted, &result);
        chain->arrivals += inserted;
        if (done == count) break;
        /* There was no room for this id. */
        lethe_status status = insert(chain, ids[done]);
        if (added != NULL) added[done] = status == LETHE_OK;
        if (first == LETHE_OK) first = status;
    }
    return first;
}

/* Whether a call may go straight to the only part. Most may. */
static inline bool is_plain(const lethe_chain *chain, uint64_t now_ms) {
    return now_ms < chain->period_end_ms && chain->part_count == 1 && chain->grave_count == 0 &&
           !chain->is_sweeping && !chain->options.refresh_on_duplicate;
}

LETHE_NOINLINE lethe_status add_and_test_in_all(lethe_chain *chain, lethe_hash id, uint64_t now_ms,
                                                lethe_answer *answer) {
    advance(chain, now_ms);
    *answer = lethe_chain_test(chain, id, chain->clock_ms);
    if (*answer == LETHE_ANSWER_DUPLICATE) {
        chain->duplicates++;
        return chain->options.refresh_on_duplicate ? lethe_chain_add(chain, id, now_ms) : LETHE_OK;
    }
    lethe_status status = insert(chain, id);
    if (status == LETHE_OK) {
        chain->fresh++;
    } else {
        *answer = LETHE_ANSWER_REFUSED;
    }
    return status;
}

lethe_status lethe_chain_add_and_test(lethe_chain *chain, lethe_hash id, uint64_t now_ms,
                                      lethe_answer *answer) {
    if (__builtin_expect(is_plain(chain, now_ms), 1)) {
        if (now_ms > chain->clock_ms) chain->clock_ms = now_ms;
        lethe_part *part = chain->parts[0];
        lethe_part_result result = part->operations->add_and_test(part, id, chain->period);
        if (__builtin_expect(result <= LETHE_PART_IS_DUPLICATE, 1)) {
            bool is_fresh = result == LETHE_PART_ADDED;
            *answer = (lethe_answer)result;
            chain->duplicates += !is_fresh;
            chain->fresh += is_fresh;
            chain->arrivals += is_fresh;
            return LETHE_OK;
        }
    }
    return add_and_test_in_all(chain, id, now_ms, answer);
}

/* One by one, for what the batch operations of parts cannot do. */
static lethe_status add_and_test_each(lethe_chain *chain, const lethe_hash *ids, size_t count,
                                      uint64_t now_ms, uint8_t *answers) {
    lethe_status first = LETHE_OK;
    for (size_t i = 0; i < count; i++) {
        lethe_answer answer;
        lethe_status status = lethe_chain_add_and_test(chain, ids[i], now_ms, &answer);
        answers[i] = (uint8_t)answer;
        if (first == LETHE_OK) first = status;
    }
    return first;
}

lethe_status lethe_chain_add_and_test_batch(lethe_chain *chain, const lethe_hash *ids, size_t count,
                                            uint64_t now_ms, uint8_t *answers) {
    if (chain->options.refresh_on_duplicate)
        return add_and_test_each(chain, ids, count, now_ms, answers);
    advance(chain, now_ms);
    lethe_status first = LETHE_OK;
    for (size_t done = 0; done < count;) {
        lethe_part_result result;
        size_t piece = chain->parts[0]->operations->add_and_test_batch(
            chain->parts, chain->part_count, ids + done, count - done, chain->period,
            answers + done, &result);
        uint64_t duplicates = 0;
        for (size_t i = 0; i < piece; i++)
            duplicates += answers[done + i];
        chain->duplicates += duplicates;
        chain->fresh += piece - duplicates;
        chain->arrivals += piece - duplicates;
        done += piece;
        if (done == count) break;
        /* The id without room is tried again alone, which makes room. */
        lethe_status status = add_and_test_each(chain, ids + done, 1, now_ms, answers + done);
        if (first == LETHE_OK) first = status;
        done++;
    }
    return first;
}

lethe_status lethe_chain_remove(lethe_chain *chain, lethe_hash id, uint64_t now_ms) {
    advance(chain, now_ms);
    unsigned matches[LETHE_CHAIN_MAX_PARTS], all = 0;
    for (unsigned i = 0; i < chain->part_count; i++) {
        const lethe_part *part = chain->parts[i];
        matches[i] = part->operations->count_matches(part, id, chain->period);
        all += matches[i];
    }
    if (all == 0) return LETHE_ENOTFOUND;
    chain->full_at_ms = 0;
    /* If the id cannot have several entries, all matches except one are entries of other ids,
     * and nothing shows which. Then all stay: removing the wrong one would break P1 for another id,
     * and this id matches the other entries anyway. If it can have several, then at most one per
     * part, so two matches in one part stay as well. */
    if (all > 1 && chain->period >= chain->repeats_until) return LETHE_OK;
    for (unsigned i = 0; i < chain->part_count; i++) {
        lethe_part *part = chain->parts[i];
        if (matches[i] == 1) (void)part->operations->remove(part, id, chain->period);
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
        .parts = chain->part_count,
        .generations = chain->generations + 1,
        .capacity = chain->parts[0]->shape.capacity,
        .memory_bytes = lethe_chain_memory(chain),
        .max_memory_bytes = chain->options.max_memory_bytes,
        .fresh = chain->fresh,
        .duplicates = chain->duplicates,
        .refused = chain->refused,
    };
    bool any = false;
    for (unsigned i = 0; i < chain->part_count; i++) {
        uint64_t alive = lethe_part_alive_at(chain->parts[i], period), first;
        stats.ids += alive;
        stats.error_estimate += lethe_part_error(&chain->parts[i]->shape, alive);
        if (!lethe_part_oldest_at(chain->parts[i], period, &first)) continue;
        any = true;
        if (first < oldest) oldest = first;
    }
    uint64_t time_ms = now_ms > chain->clock_ms ? now_ms : chain->clock_ms;
    if (any) stats.oldest_age_ms = time_ms - lethe_chain_start_of(chain, oldest);
    stats.peak_memory_bytes = chain->peak_memory_bytes > stats.memory_bytes
                                  ? chain->peak_memory_bytes
                                  : stats.memory_bytes;
    if (stats.error_estimate > stats.error_target) stats.strain |= LETHE_STRAIN_ERROR;
    /* A refill may have gone beyond the cap. */
    bool is_beyond = chain->options.max_memory_bytes != 0 &&
                     lethe_chain_living_bytes(chain) > chain->options.max_memory_bytes;
    if (chain->is_capped || is_beyond) stats.strain |= LETHE_STRAIN_MEMORY;
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
    unsigned parts = chain->part_count;
    for (unsigned i = 0; i < other->part_count; i++)
        parts += other->parts[i]->alive > 0;
    if (parts > LETHE_CHAIN_MAX_MERGED) return LETHE_EFULL;
    uint64_t cap = chain->options.max_memory_bytes;
    /* Other's expired parts stay with it, and none of its parts will grow. */
    bool over =
        cap != 0 && lethe_chain_committed_bytes(chain) + lethe_chain_living_bytes(other) > cap;
    return over ? LETHE_EFULL : LETHE_OK;
}

void lethe_chain_merge(lethe_chain *chain, lethe_chain *other) {
    /* Before the clock advances: with several parts the chain will not add a smaller one. */
    unsigned kept = 0;
    for (unsigned i = 0; i < other->part_count; i++) {
        lethe_part *part = other->parts[i];
        if (part->period < chain->period) lethe_part_advance(part, chain->period);
        if (part->alive > 0) {
            chain->parts[chain->part_count++] = part;
        } else {
            other->parts[kept++] = part;
        }
    }
    other->part_count = kept;
    lethe_chain_make_way(chain, lethe_chain_committed_bytes(chain));
    advance(chain, other->clock_ms);
    if (chain->part_count > 1) chain->repeats_until = chain->period + chain->generations + 1;
    chain->fresh += other->fresh;
    chain->duplicates += other->duplicates;
    chain->refused += other->refused;
    chain->is_sweeping = true;
    chain->full_at_ms = 0;
    lethe_chain_note_peak(chain);
}
