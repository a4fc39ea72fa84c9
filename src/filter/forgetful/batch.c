/* filter/forgetful/batch.c - many ids at once, with the cache misses overlapped.
 *
 * CHECK   Chunk by chunk and hub by hub (elastic.c): the Bloom filter's own batch asks one filter
 *         about all ids of a chunk that are not settled. The few that pass are confirmed singly.
 * RECORD  Only the newest two filters change while a chunk is recorded. So what the others say of
 *         its ids is asked first, in a batch; then, id by id and in order, the newest two are
 *         asked and added to, their words fetched a few ids ahead. Should a new period begin in the
 *         middle, the rest of the chunk goes the single way.
 * The paper's setting goes the single way throughout. */
#include "filter/forgetful/forgetful.h"

enum { CHUNK = 128, AHEAD = 6 };

/* ORs into duplicate what the pairs from member index on say of count ids, at most CHUNK. */
static void check_chunk(const lethe_forgetful *filter, const lethe_hash *hashes, size_t count,
                        size_t index, uint64_t now_ms, uint8_t *duplicate) {
    lethe_hash salted[CHUNK];
    uint8_t passed[CHUNK];
    size_t hub = lethe_forgetful_elastic_hub(filter, index, now_ms);
    for (; hub != 0; hub = lethe_forgetful_elastic_hub(filter, hub + 1, now_ms)) {
        const struct member *member = filter->members[hub];
        for (size_t i = 0; i < count; i++)
            salted[i] = lethe_bloom_salted(hashes[i], member->salt);
        lethe_bloom_classic.test_batch(&member->bits, salted, count, passed);
        for (size_t i = 0; i < count; i++) {
            if (passed[i] && !duplicate[i]) {
                duplicate[i] = lethe_forgetful_elastic_confirm(filter, hub, hashes[i], now_ms);
            }
        }
    }
}

void lethe_forgetful_check_batch(const lethe_forgetful *filter, const lethe_hash *hashes,
                                 size_t count, uint64_t now_ms, uint8_t *duplicate) {
    now_ms = lethe_forgetful_time(filter, now_ms);
    for (size_t i = 0; i < count; i++)
        duplicate[i] = 0;
    if (filter->plan.options.setting == LETHE_FORGETFUL_PAPER) {
        for (size_t i = 0; i < count; i++)
            duplicate[i] = lethe_forgetful_paper_check(filter, hashes[i], now_ms);
        return;
    }
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t chunk = count - done < CHUNK ? count - done : CHUNK;
        check_chunk(filter, hashes + done, chunk, 0, now_ms, duplicate + done);
    }
}

static void prefetch(const lethe_forgetful *filter, lethe_hash hash) {
    lethe_member_prefetch(filter->members[0], hash);
    lethe_member_prefetch(filter->members[1], hash);
}

/* Whether one of the two pairs that change while ids are recorded holds the hash. */
static bool newest_hold(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms) {
    return lethe_member_test(filter->members[1], hash) &&
           lethe_forgetful_elastic_confirm(filter, 1, hash, now_ms);
}

/* Deals with ids of a chunk until a new period must begin. Returns how many that were. */
static size_t record_chunk(lethe_forgetful *filter, const lethe_hash *hashes, size_t count,
                           uint64_t now_ms, uint8_t *duplicate) {
    for (size_t i = 0; i < count; i++)
        duplicate[i] = 0;
    if (lethe_forgetful_elastic_is_due(filter, now_ms)) return 0;
    check_chunk(filter, hashes, count, 2, now_ms, duplicate);
    for (size_t i = 0; i < AHEAD && i < count; i++)
        prefetch(filter, hashes[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) prefetch(filter, hashes[i + AHEAD]);
        duplicate[i] = duplicate[i] || newest_hold(filter, hashes[i], now_ms);
        if (duplicate[i]) {
            filter->duplicates++;
            filter->clock_ms = now_ms;
        } else if (lethe_forgetful_elastic_is_due(filter, now_ms)) {
            return i;
        } else {
            lethe_forgetful_add(filter, hashes[i], now_ms);
        }
    }
    return count;
}

lethe_status lethe_forgetful_check_and_record_batch(lethe_forgetful *filter,
                                                    const lethe_hash *hashes, size_t count,
                                                    uint64_t now_ms, uint8_t *duplicate,
                                                    size_t *done) {
    now_ms = lethe_forgetful_time(filter, now_ms);
    bool is_paper = filter->plan.options.setting == LETHE_FORGETFUL_PAPER;
    lethe_status status = LETHE_OK;
    size_t i = 0;
    while (i < count && status == LETHE_OK) {
        size_t end = count - i < CHUNK ? count : i + CHUNK;
        if (!is_paper) i += record_chunk(filter, hashes + i, end - i, now_ms, duplicate + i);
        for (; i < end; i++) {
            bool found;
            status = lethe_forgetful_check_and_record(filter, hashes[i], now_ms, &found);
            duplicate[i] = found;
            if (status != LETHE_OK) break;
        }
    }
    for (size_t rest = i; rest < count; rest++)
        duplicate[rest] = 0;
    if (done != NULL) *done = i;
    return status;
}
