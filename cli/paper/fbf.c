/* paper/fbf.c - see fbf.h. */
#include "paper/fbf.h"

#include "say/message.h"

#define PROBE_MARK (UINT64_C(1) << 63)

/* The budget of a call that does work which is due. */
enum { FBF_WORK = 8 };

lethe_forgetful_stats fbf_stats(const struct fbf *fbf) {
    lethe_forgetful_stats stats = LETHE_INIT(lethe_forgetful_stats);
    (void)lethe_forgetful_info(fbf->filter, fbf->now_ms, &stats);
    return stats;
}

void fbf_begin(struct fbf *fbf, const lethe_forgetful_options *options, uint64_t round) {
    *fbf = (struct fbf){.next_id = round << 40, .next_probe = PROBE_MARK | round << 40};
    fbf->status = lethe_forgetful_new(options, &fbf->filter);
    if (fbf->status == LETHE_OK) fbf->period_ms = fbf_stats(fbf).period_ms;
}

void fbf_end(struct fbf *fbf) {
    lethe_forgetful_free(fbf->filter);
    fbf->filter = NULL;
}

void fbf_record(struct fbf *fbf, uint64_t now_ms, uint64_t count) {
    if (fbf->status != LETHE_OK) return;
    fbf->now_ms = now_ms;
    bool more = !fbf->is_idle;
    while (more && fbf->status == LETHE_OK)
        fbf->status = lethe_forgetful_work(fbf->filter, now_ms, FBF_WORK, &more);
    for (; count > 0 && fbf->status == LETHE_OK; count--) {
        lethe_hash hash = lethe_hash_u64(LETHE_DEFAULT_SEED, fbf->next_id++);
        fbf->status = lethe_forgetful_add(fbf->filter, hash, now_ms);
    }
}

void fbf_load(struct fbf *fbf, uint64_t count, uint64_t periods) {
    uint64_t start_ms = fbf->now_ms, length_ms = periods * fbf->period_ms;
    for (uint64_t i = 0; i < count; i++)
        fbf_record(fbf, start_ms + i * length_ms / count, 1);
    fbf_record(fbf, start_ms + length_ms - 1, 0);
}

static uint64_t count_hits(struct fbf *fbf, uint64_t probes) {
    uint64_t hits = 0;
    for (uint64_t i = 0; i < probes; i++) {
        lethe_hash hash = lethe_hash_u64(LETHE_DEFAULT_SEED, fbf->next_probe++);
        hits += lethe_forgetful_test(fbf->filter, hash, fbf->now_ms);
    }
    return hits;
}

double fbf_measure(struct fbf *fbf, uint64_t probes) {
    if (fbf->status != LETHE_OK) return 0;
    return (double)count_hits(fbf, probes) / (double)probes;
}

double fbf_measure_precisely(struct fbf *fbf, uint64_t most) {
    if (fbf->status != LETHE_OK) return 0;
    uint64_t hits = 0, made = 0;
    do {
        hits += count_hits(fbf, FBF_PROBES);
        made += FBF_PROBES;
    } while (hits < FBF_HITS && made < most);
    return (double)hits / (double)made;
}

double fbf_lost(const struct fbf *fbf, uint64_t oldest) {
    if (fbf->status != LETHE_OK || oldest >= fbf->next_id) return 0;
    uint64_t lost = 0;
    for (uint64_t id = oldest; id < fbf->next_id; id++) {
        lethe_hash hash = lethe_hash_u64(LETHE_DEFAULT_SEED, id);
        lost += !lethe_forgetful_test(fbf->filter, hash, fbf->now_ms);
    }
    return (double)lost / (double)(fbf->next_id - oldest);
}

double fbf_estimate(const struct fbf *fbf) {
    if (fbf->status != LETHE_OK) return 0;
    return fbf_stats(fbf).error_estimate;
}

struct fbf_rates fbf_rates_at(const lethe_forgetful_options *options, uint64_t count, bool steady,
                              unsigned rounds, uint64_t most, lethe_status *status) {
    struct fbf_rates rates = {0};
    for (uint64_t round = 0; round < rounds && *status == LETHE_OK; round++) {
        struct fbf fbf;
        fbf_begin(&fbf, options, round);
        uint64_t pairs = steady ? options->past / 2 + 2 : 1; /* of periods */
        for (uint64_t i = 0; i < pairs; i++) {
            if (i > 0) fbf.now_ms++; /* the next period begins */
            fbf_load(&fbf, count, 2);
        }
        rates.measured += fbf_measure_precisely(&fbf, most) / rounds;
        rates.estimated += fbf_estimate(&fbf) / rounds;
        *status = fbf.status;
        fbf_end(&fbf);
    }
    return rates;
}

int fbf_code(lethe_status status) {
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "the experiment failed: %s", lethe_strerror(status));
}
