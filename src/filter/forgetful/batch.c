/* filter/forgetful/batch.c - many ids at once, with the cache misses overlapped.
 *
 * TEST    Chunk by chunk and hub by hub (elastic.c): the batch function of the Bloom filter tests
 *         all ids of a chunk in one member. The few that pass are confirmed one by one.
 * ADD     Only the newest two members change while a chunk is added. So the ids are first tested in
 *         the others, in a batch. Then, id by id and in order, the newest two are tested and added
 *         to; their words are prefetched a few ids ahead. If a new period must begin in the middle
 *         of a chunk, the rest of the chunk is added by single calls.
 * The paper's settings always use single calls. */
#include "filter/forgetful/forgetful.h"

enum { CHUNK = 128, AHEAD = 6 };

/* The answers here are LETHE_ANSWER_FRESH and LETHE_ANSWER_DUPLICATE, that is, false and true. */

/* Sets duplicate[i] where a pair from member index on contains id i; count is at most CHUNK. */
static void test_chunk(const lethe_forgetful *filter, const lethe_hash *hashes, size_t count,
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

lethe_status lethe_forgetful_test_batch(const lethe_forgetful *filter, const lethe_hash *hashes,
                                        size_t count, uint64_t now_ms, uint8_t *answers) {
    if (filter == NULL || ((hashes == NULL || answers == NULL) && count > 0)) return LETHE_EINVAL;
    now_ms = lethe_forgetful_time(filter, now_ms);
    for (size_t i = 0; i < count; i++)
        answers[i] = LETHE_ANSWER_FRESH;
    if (lethe_forgetful_is_paper(filter)) {
        for (size_t i = 0; i < count; i++)
            answers[i] = lethe_forgetful_paper_test(filter, hashes[i], now_ms);
        return LETHE_OK;
    }
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t chunk = count - done < CHUNK ? count - done : CHUNK;
        test_chunk(filter, hashes + done, chunk, 0, now_ms, answers + done);
    }
    return LETHE_OK;
}

static void prefetch(const lethe_forgetful *filter, lethe_hash hash) {
    lethe_member_prefetch(filter->members[0], hash);
    lethe_member_prefetch(filter->members[1], hash);
}

/* Whether one of the two pairs that change while ids are added contains the hash. */
static bool newest_hold(const lethe_forgetful *filter, lethe_hash hash, uint64_t now_ms) {
    return lethe_member_test(filter->members[1], hash) &&
           lethe_forgetful_elastic_confirm(filter, 1, hash, now_ms);
}

/* Processes ids of a chunk until a new period must begin. Returns how many it processed. */
static size_t add_chunk(lethe_forgetful *filter, const lethe_hash *hashes, size_t count,
                        uint64_t now_ms, uint8_t *duplicate) {
    for (size_t i = 0; i < count; i++)
        duplicate[i] = 0;
    if (lethe_forgetful_elastic_is_due(filter, now_ms)) return 0;
    test_chunk(filter, hashes, count, 2, now_ms, duplicate);
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
            lethe_forgetful_put(filter, hashes[i], now_ms);
        }
    }
    return count;
}

lethe_status lethe_forgetful_add_and_test_batch(lethe_forgetful *filter, const lethe_hash *hashes,
                                                size_t count, uint64_t now_ms, uint8_t *answers) {
    if (filter == NULL || ((hashes == NULL || answers == NULL) && count > 0)) return LETHE_EINVAL;
    now_ms = lethe_forgetful_time(filter, now_ms);
    bool is_paper = lethe_forgetful_is_paper(filter);
    lethe_status first = LETHE_OK;
    size_t i = 0;
    while (i < count) {
        size_t end = count - i < CHUNK ? count : i + CHUNK;
        if (!is_paper) i += add_chunk(filter, hashes + i, end - i, now_ms, answers + i);
        for (; i < end; i++) {
            lethe_answer answer;
            lethe_status status = lethe_forgetful_add_and_test(filter, hashes[i], now_ms, &answer);
            answers[i] = (uint8_t)answer;
            if (first == LETHE_OK) first = status;
        }
    }
    return first;
}
