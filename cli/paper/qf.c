/* paper/qf.c - the quotient filter against a Bloom filter in memory, of the same elements and
 * error.
 *
 * A measurement of time: its numbers differ from run to run. The paper gives only averages, and
 * says how they change while the filters fill. */
#include <time.h>

#include "frame/exit_code.h"
#include "lethe/bloom.h"
#include "lethe/quotient.h"
#include "paper/paper.h"
#include "say/message.h"

static const struct column columns[] = {
    {"load_percent", "load %", COLUMN_WHOLE}, {"qf_inserts", "QF ins.", COLUMN_TENTH},
    {"bf_inserts", "BF ins.", COLUMN_TENTH},  {"qf_lookups", "QF look", COLUMN_TENTH},
    {"bf_lookups", "BF look", COLUMN_TENTH},  {"qf_fpp", "QF FPP", COLUMN_RATE},
    {"bf_fpp", "BF FPP", COLUMN_RATE},
};

enum { STEPS = 19, SLOTS = 1 << 24, STEP = SLOTS / 20, ASKED = STEP / 2, ROUNDS = 2, BATCH = 512 };

/* Both filters, and what was measured in each step of filling them. */
struct race {
    lethe_quotient *quotient;
    lethe_bloom *bloom;
    struct {
        double inserts[2], lookups[2], fpp[2]; /* of the quotient filter, of the Bloom filter */
    } steps[STEPS];
    double insert_seconds[2], batch_seconds[2]; /* of all steps; in the best round */
};

/* Of CPU time, so that what else the machine does counts for less. */
static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, key);
}

static double better(double a, double b) {
    return a > b ? a : b;
}

static lethe_status insert(struct race *race, int which, uint64_t first) {
    for (uint64_t key = first; key < first + STEP; key++) {
        if (which == 1) {
            lethe_bloom_add_hash(race->bloom, hash_of(key));
        } else {
            lethe_status status = lethe_quotient_add_hash(race->quotient, hash_of(key), 1);
            if (status != LETHE_OK) return status;
        }
    }
    return LETHE_OK;
}

/* Asks for keys that are in neither; returns how many seem to be. */
static uint64_t look_up(const struct race *race, int which, uint64_t first) {
    uint64_t hits = 0;
    for (uint64_t key = first; key < first + ASKED; key++) {
        hits += which == 1 ? lethe_bloom_test_hash(race->bloom, hash_of(key))
                           : lethe_quotient_test_hash(race->quotient, hash_of(key));
    }
    return hits;
}

static lethe_status run_step(struct race *race, int step, double seconds[2]) {
    for (int which = 0; which < 2; which++) {
        double start = now_seconds();
        lethe_status status = insert(race, which, (uint64_t)step * STEP);
        double middle = now_seconds();
        uint64_t hits = look_up(race, which, UINT64_C(1) << 40 | (uint64_t)step * ASKED);
        double end = now_seconds();
        if (status != LETHE_OK) return status;
        seconds[which] += middle - start;
        race->steps[step].inserts[which] =
            better(race->steps[step].inserts[which], STEP / (middle - start) / 1e6);
        race->steps[step].lookups[which] =
            better(race->steps[step].lookups[which], ASKED / (end - middle) / 1e6);
        race->steps[step].fpp[which] = (double)hits / ASKED;
    }
    return LETHE_OK;
}

static lethe_status clear(struct race *race) {
    lethe_bloom_clear(race->bloom);
    return lethe_quotient_clear(race->quotient);
}

/* Fills both from empty to 95%. */
static lethe_status run_round(struct race *race, double seconds[2]) {
    lethe_status status = clear(race);
    for (int step = 0; step < STEPS && status == LETHE_OK; step++)
        status = run_step(race, step, seconds);
    return status;
}

/* The same keys in batches. */
static lethe_status run_batches(struct race *race, double seconds[2]) {
    lethe_status status = clear(race);
    lethe_hash hashes[BATCH];
    for (int which = 0; which < 2; which++) {
        double start = now_seconds();
        for (uint64_t key = 0; key + BATCH <= (uint64_t)STEPS * STEP && status == LETHE_OK;) {
            for (int i = 0; i < BATCH; i++)
                hashes[i] = hash_of(key++);
            if (which == 1) {
                lethe_bloom_add_batch(race->bloom, hashes, BATCH);
            } else {
                status = lethe_quotient_add_batch(race->quotient, hashes, BATCH, NULL);
            }
        }
        seconds[which] = now_seconds() - start;
    }
    return status;
}

static void keep_best(double best[2], const double seconds[2]) {
    for (int which = 0; which < 2; which++) {
        if (best[which] == 0 || seconds[which] < best[which]) best[which] = seconds[which];
    }
}

static lethe_status run_rounds(struct race *race) {
    lethe_status status = LETHE_OK;
    for (int round = 0; round < ROUNDS && status == LETHE_OK; round++) {
        double seconds[2] = {0}, batch_seconds[2] = {0};
        status = run_round(race, seconds);
        if (status == LETHE_OK) status = run_batches(race, batch_seconds);
        keep_best(race->insert_seconds, seconds);
        keep_best(race->batch_seconds, batch_seconds);
    }
    return status;
}

/* Eleven bits of remainder, and the Bloom filter planned for as many keys at the same error. */
static lethe_status make_filters(struct race *race) {
    lethe_quotient_options options =
        LETHE_OPTIONS(lethe_quotient_options, .slots = SLOTS, .remainder_bits = 11);
    lethe_status status = lethe_quotient_new(&options, &race->quotient);
    if (status != LETHE_OK) return status;
    double keys = (double)STEPS * STEP;
    lethe_quotient_shape made = LETHE_INIT(lethe_quotient_shape);
    (void)lethe_quotient_get_shape(race->quotient, &made);
    lethe_bloom_options same = LETHE_OPTIONS(lethe_bloom_options, .capacity = (uint64_t)keys,
                                             .error = keys / ((double)made.max_fingerprint + 1));
    return lethe_bloom_new(&same, &race->bloom);
}

static void tell(struct report *report, const struct race *race) {
    double keys = (double)STEPS * STEP / 1e6;
    lethe_quotient_stats stats = LETHE_INIT(lethe_quotient_stats);
    (void)lethe_quotient_info(race->quotient, &stats);
    double qf_bits = 8 * (double)stats.memory_bytes / (keys * 1e6);
    lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
    (void)lethe_bloom_get_shape(race->bloom, &shape);
    double bf_bits = (double)shape.bits / (keys * 1e6);
    double qf_look = 0, bf_look = 0;
    for (int i = 0; i < STEPS; i++) {
        qf_look += race->steps[i].lookups[0] / STEPS;
        bf_look += race->steps[i].lookups[1] / STEPS;
    }
    report_claim(report, "inserts: QF 2.4 million a second, BF 0.69: 3.5 times. The QF slows down "
                         "as it fills, and is always better.");
    report_result(report,
                  "QF %.1f million a second, BF %.1f: %.1f times. The QF is at %.1f in the first "
                  "step and at %.1f in the last.",
                  keys / race->insert_seconds[0], keys / race->insert_seconds[1],
                  race->insert_seconds[1] / race->insert_seconds[0], race->steps[0].inserts[0],
                  race->steps[STEPS - 1].inserts[0]);
    report_claim(report, "lookups: QF 2.0 million a second, BF 1.9, at any load.");
    report_result(report, "QF %.1f million a second on average, BF %.1f.", qf_look, bf_look);
    report_claim(report, "the QF is 20%% bigger than a BF of the same error.");
    report_result(report,
                  "at 95%% load %.2f bits a key, the BF %.2f: the QF is %.0f%% smaller. Two and an "
                  "eighth bits describe a slot here, three in the paper.",
                  qf_bits, bf_bits, 100 * (1 - qf_bits / bf_bits));
    report_result(report, "in batches: QF %.1f million inserts a second, BF %.1f.",
                  keys / race->batch_seconds[0], keys / race->batch_seconds[1]);
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct race race = {0};
    lethe_status status = make_filters(&race);
    if (status == LETHE_OK) status = run_rounds(&race);
    if (status == LETHE_OK) {
        for (int i = 0; i < STEPS; i++) {
            REPORT_ROW(report, 5 * (i + 1), race.steps[i].inserts[0], race.steps[i].inserts[1],
                       race.steps[i].lookups[0], race.steps[i].lookups[1], race.steps[i].fpp[0],
                       race.steps[i].fpp[1]);
        }
        tell(report, &race);
    }
    lethe_quotient_free(race.quotient);
    lethe_bloom_free(race.bloom);
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot fill the filters: %s", lethe_strerror(status));
}

const struct figure figure_qf = {
    .name = "qf",
    .title = "the quotient filter and a Bloom filter in memory",
    .columns =
        "A QF of 2^24 slots with remainders of 11 bits, and a BF with the optimal number of hash "
        "functions for as many keys and the same FPP, 0.05% when 95% full. Million inserts and "
        "lookups (of absent keys) a second, one by one, hashing included, in each twentieth of "
        "the filling; of CPU time. Measured: these numbers differ from run to run.",
    .plot = "set title 'In memory, FPP 0.05% when full'\n"
            "set xlabel 'load of the quotient filter, %'\n"
            "set ylabel 'million operations a second'\n"
            "set yrange [0:]\n"
            "plot data using \"load_percent\":\"qf_inserts\" with linespoints ls 1 title 'QF "
            "inserts', \\\n"
            "     data using \"load_percent\":\"bf_inserts\" with linespoints ls 2 title 'BF "
            "inserts', \\\n"
            "     data using \"load_percent\":\"qf_lookups\" with linespoints ls 3 title 'QF "
            "lookups', \\\n"
            "     data using \"load_percent\":\"bf_lookups\" with linespoints ls 5 title 'BF "
            "lookups'\n",
    .run = run,
};
