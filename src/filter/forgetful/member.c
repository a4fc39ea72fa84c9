/* filter/forgetful/member.c - one Bloom filter of a forgetful filter: see member.h.
 *
 * ERROR   If a share f of its bits is set, a classical filter passes a fresh id with probability
 *         f^k. That is not an estimate, but exact for these bits. Members count their set bits
 *         as they add ids. So their error is known at any time, and a limit on the error is a
 *         limit on that count. Equation 1 of the paper (corrected, see docs/papers.md) estimates
 *         the error from the number of ids instead: (1 - (1 - 1/m)^(k l))^k. */
#include "filter/forgetful/member.h"

#include <math.h>
#include <string.h>

#include "core/allocator.h"

uint64_t lethe_member_bytes_for(uint64_t bits) {
    return sizeof(struct member) + (bits + 63) / 64 * sizeof(uint64_t);
}

uint64_t lethe_member_words(const struct member *member) {
    return (member->bits.range + 63) / 64;
}

uint64_t lethe_member_bytes(const struct member *member) {
    return lethe_member_bytes_for(member->bits.range);
}

struct member *lethe_member_new(uint64_t bits, uint32_t hashes, uint64_t salt,
                                const lethe_allocator *allocator) {
    size_t bytes;
    if (!lethe_size_multiply((bits + 63) / 64, sizeof(uint64_t), &bytes)) return NULL;
    struct member *member = lethe_alloc_zeroed(allocator, sizeof *member);
    if (member == NULL) return NULL;
    *member = (struct member){
        .bits = {.range = bits, .hashes = hashes},
        .salt = salt,
        .limit = 1,
        .limit_bits = bits,
        .half_bits = bits,
    };
    member->bits.words = lethe_alloc_zeroed(allocator, bytes);
    if (member->bits.words == NULL) {
        lethe_member_free(member, allocator);
        return NULL;
    }
    return member;
}

void lethe_member_free(struct member *member, const lethe_allocator *allocator) {
    if (member == NULL) return;
    lethe_release(allocator, member->bits.words, lethe_member_words(member) * sizeof(uint64_t));
    lethe_release(allocator, member, sizeof *member);
}

struct member *lethe_member_copy(const struct member *member, const lethe_allocator *allocator) {
    struct member *copy =
        lethe_member_new(member->bits.range, member->bits.hashes, member->salt, allocator);
    if (copy == NULL) return NULL;
    uint64_t *words = copy->bits.words;
    memcpy(words, member->bits.words, lethe_member_words(member) * sizeof(uint64_t));
    *copy = *member;
    copy->bits.words = words;
    return copy;
}

void lethe_member_reuse(struct member *member, uint64_t salt) {
    memset(member->bits.words, 0, lethe_member_words(member) * sizeof(uint64_t));
    member->salt = salt;
    member->bits_set = 0;
    member->ids = 0;
    member->own_ids = 0;
    member->first_ms = 0;
    member->last_ms = 0;
    member->is_paired = false;
}

void lethe_member_set_limit(struct member *member, double limit) {
    double bits = (double)member->bits.range;
    double fill = pow(limit, 1.0 / member->bits.hashes);
    member->limit = limit;
    member->limit_bits = (uint64_t)(bits * fill);
    member->half_bits = (uint64_t)(bits * (1 - sqrt(1 - fill)));
}

void lethe_member_count_bits(struct member *member) {
    uint64_t set = 0;
    for (uint64_t i = 0; i < lethe_member_words(member); i++)
        set += lethe_popcount64(member->bits.words[i]);
    member->bits_set = set;
}

double lethe_member_error(const struct member *member) {
    return pow((double)member->bits_set / (double)member->bits.range, member->bits.hashes);
}

double lethe_member_expected_error(const struct member *member) {
    if (member->ids == 0) return 0;
    if (member->bits.range == 1) return 1;
    double k = member->bits.hashes;
    double thrown = k * (double)member->ids;
    return pow(-expm1(thrown * log1p(-1 / (double)member->bits.range)), k);
}
