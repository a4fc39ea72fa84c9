/* tests/support/reports.h - shapes and statistics as values, for tests that ask for a field or two.
 *
 * The library fills a struct of the caller's (lethe/status.h); here a call that fails aborts. */
#ifndef LETHE_TESTS_SUPPORT_REPORTS_H
#define LETHE_TESTS_SUPPORT_REPORTS_H

#include <stdlib.h>

#include "lethe/bloom.h"
#include "lethe/cascade.h"
#include "lethe/forgetful.h"
#include "lethe/gaussian.h"
#include "lethe/quotient.h"
#include "lethe/sketch.h"
#include "lethe/window.h"

static inline void reports_require(lethe_status status) {
    if (status != LETHE_OK) abort();
}

static inline lethe_bloom_shape bloom_shape(const lethe_bloom *filter) {
    lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
    reports_require(lethe_bloom_get_shape(filter, &shape));
    return shape;
}

static inline lethe_bloom_stats bloom_stats(const lethe_bloom *filter) {
    lethe_bloom_stats stats = LETHE_INIT(lethe_bloom_stats);
    reports_require(lethe_bloom_info(filter, &stats));
    return stats;
}

static inline lethe_window_stats window_stats(const lethe_window *window, uint64_t now_ms) {
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    reports_require(lethe_window_info(window, now_ms, &stats));
    return stats;
}

/* Does work, and returns whether there is more. */
static inline bool window_work(lethe_window *window, uint64_t now_ms, unsigned budget) {
    bool more;
    reports_require(lethe_window_work(window, now_ms, budget, &more));
    return more;
}

static inline lethe_forgetful_stats forgetful_stats(const lethe_forgetful *filter,
                                                    uint64_t now_ms) {
    lethe_forgetful_stats stats = LETHE_INIT(lethe_forgetful_stats);
    reports_require(lethe_forgetful_info(filter, now_ms, &stats));
    return stats;
}

static inline lethe_forgetful_filter forgetful_member(const lethe_forgetful *filter, uint32_t index,
                                                      uint64_t now_ms) {
    lethe_forgetful_filter member = LETHE_INIT(lethe_forgetful_filter);
    reports_require(lethe_forgetful_member(filter, index, now_ms, &member));
    return member;
}

static inline bool forgetful_work(lethe_forgetful *filter, uint64_t now_ms, unsigned budget) {
    bool more;
    reports_require(lethe_forgetful_work(filter, now_ms, budget, &more));
    return more;
}

static inline lethe_quotient_shape quotient_shape(const lethe_quotient *filter) {
    lethe_quotient_shape shape = LETHE_INIT(lethe_quotient_shape);
    reports_require(lethe_quotient_get_shape(filter, &shape));
    return shape;
}

static inline lethe_quotient_stats quotient_stats(const lethe_quotient *filter) {
    lethe_quotient_stats stats = LETHE_INIT(lethe_quotient_stats);
    reports_require(lethe_quotient_info(filter, &stats));
    return stats;
}

static inline lethe_gaussian_shape gaussian_shape(const lethe_gaussian *filter) {
    lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
    reports_require(lethe_gaussian_get_shape(filter, &shape));
    return shape;
}

static inline lethe_gaussian_stats gaussian_stats(const lethe_gaussian *filter) {
    lethe_gaussian_stats stats = LETHE_INIT(lethe_gaussian_stats);
    reports_require(lethe_gaussian_info(filter, &stats));
    return stats;
}

static inline lethe_gaussian_stats gaussian_estimate(const lethe_gaussian *filter, uint64_t slots) {
    lethe_gaussian_stats stats = LETHE_INIT(lethe_gaussian_stats);
    reports_require(lethe_gaussian_estimate(filter, slots, &stats));
    return stats;
}

static inline lethe_sketch_shape sketch_shape(const lethe_sketch *sketch) {
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    reports_require(lethe_sketch_get_shape(sketch, &shape));
    return shape;
}

static inline lethe_sketch_stats sketch_stats(const lethe_sketch *sketch) {
    lethe_sketch_stats stats = LETHE_INIT(lethe_sketch_stats);
    reports_require(lethe_sketch_info(sketch, &stats));
    return stats;
}

/* An estimate, and whether it rests on a full counter. */
struct sketch_answer {
    uint64_t count;
    bool saturated;
};

static inline struct sketch_answer sketch_count(const lethe_sketch *sketch, const void *key,
                                                size_t size) {
    struct sketch_answer answer;
    answer.count = lethe_sketch_count(sketch, key, size, &answer.saturated);
    return answer;
}

static inline struct sketch_answer sketch_count_hash(const lethe_sketch *sketch, lethe_hash hash) {
    struct sketch_answer answer;
    answer.count = lethe_sketch_count_hash(sketch, hash, &answer.saturated);
    return answer;
}

static inline lethe_cascade_stats cascade_stats(lethe_cascade *cascade, uint64_t now_ms) {
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    reports_require(lethe_cascade_info(cascade, now_ms, &stats));
    return stats;
}

#endif
