/* paper/gbf_speed.c - what the paper says of time outside its figures: what a Gaussian filter costs
 * more than a Bloom filter when keys are added and asked for, and the fast exponential.
 *
 * Measures time, and needs an idle machine. Filters are sized for an error of 10%, as in the
 * paper's Cassandra, where k is 3; the other rows have as many bits for each hash function. Keys
 * are strings, one call each, hashed each time. Half of those asked for were added. Runs of the
 * filters take turns, and the best of each counts. */
#include <math.h>
#include <stdio.h>

#include "frame/clock.h"
#include "paper/gbf.h"

enum { KEYS = 20000, SLOTS_PER_HASH = 32000, RUNS = 25, TEXT = 24, PLANS = 200 };

static const struct column columns[] = {
    {"hashes", "hashes", COLUMN_WHOLE},      {"bloom_add_ns", "BF add", COLUMN_TENTH},
    {"add_4_even", "4 even", COLUMN_RATIO},  {"add_4", "4 bits", COLUMN_RATIO},
    {"add_double", "double", COLUMN_RATIO},  {"bloom_test_ns", "BF test", COLUMN_TENTH},
    {"test_4_even", "4 even", COLUMN_RATIO}, {"test_4", "4 bits", COLUMN_RATIO},
};

enum { BLOOM, EVEN_4, PUBLISHED_4, DOUBLE, FILTERS };

static const struct {
    uint32_t bits;
    lethe_gaussian_spacing spacing;
} kinds[FILTERS] = {[EVEN_4] = {4, LETHE_GAUSSIAN_SPACING_EVEN},
                    [PUBLISHED_4] = {4, LETHE_GAUSSIAN_SPACING_PUBLISHED},
                    [DOUBLE] = {LETHE_GAUSSIAN_DOUBLE_BITS, LETHE_GAUSSIAN_SPACING_PUBLISHED}};

/* A filter of either type; the other pointer is NULL. */
struct subject {
    lethe_gaussian *gaussian;
    lethe_bloom *bloom;
    double add_ns, test_ns; /* the best so far */
    uint64_t found;
};

static size_t put_key(char text[TEXT], unsigned number) {
    return (size_t)snprintf(text, TEXT, "key:%08x", number * 2654435761U);
}

static void add(struct subject *subject, const char *key, size_t size) {
    if (subject->gaussian != NULL) {
        lethe_gaussian_add(subject->gaussian, key, size);
    } else {
        lethe_bloom_add(subject->bloom, key, size);
    }
}

static bool test(const struct subject *subject, const char *key, size_t size) {
    return subject->gaussian != NULL ? lethe_gaussian_test(subject->gaussian, key, size)
                                     : lethe_bloom_test(subject->bloom, key, size);
}

/* Adds all keys, then asks for half of them and for as many others; keys has both, one after the
 * other. */
static void time_run(struct subject *subject, char keys[][TEXT], const uint8_t *sizes) {
    lethe_gaussian_clear(subject->gaussian);
    lethe_bloom_clear(subject->bloom);
    double began = clock_seconds();
    for (size_t i = 0; i < KEYS; i++)
        add(subject, keys[i], sizes[i]);
    double added = clock_seconds();
    subject->found = 0;
    for (size_t i = KEYS / 2; i < KEYS + KEYS / 2; i++)
        subject->found += test(subject, keys[i], sizes[i]);
    double tested = clock_seconds();
    subject->add_ns = fmin(subject->add_ns, (added - began) * 1e9 / KEYS);
    subject->test_ns = fmin(subject->test_ns, (tested - added) * 1e9 / KEYS);
}

static lethe_status make(struct subject *subject, int kind, uint32_t hashes) {
    *subject = (struct subject){.add_ns = INFINITY, .test_ns = INFINITY};
    uint64_t slots = (uint64_t)SLOTS_PER_HASH * hashes;
    if (kind == BLOOM) {
        lethe_bloom_options options =
            LETHE_OPTIONS(lethe_bloom_options, .bits = slots, .hashes = hashes);
        return lethe_bloom_new(&options, &subject->bloom);
    }
    lethe_gaussian_options options =
        LETHE_OPTIONS(lethe_gaussian_options, .slots = slots, .hashes = hashes,
                      .slot_bits = kinds[kind].bits, .spacing = kinds[kind].spacing);
    return lethe_gaussian_new(&options, &subject->gaussian);
}

/* The best times of all filters for a number of hash functions. */
static lethe_status measure(uint32_t hashes, struct subject subjects[FILTERS]) {
    static char keys[2 * KEYS][TEXT];
    static uint8_t sizes[2 * KEYS];
    for (unsigned i = 0; i < 2 * KEYS; i++)
        sizes[i] = (uint8_t)put_key(keys[i], i);
    lethe_status status = LETHE_OK;
    for (int kind = 0; kind < FILTERS; kind++) {
        lethe_status made = make(&subjects[kind], kind, hashes);
        if (status == LETHE_OK) status = made;
    }
    for (int run = 0; run < RUNS && status == LETHE_OK; run++) {
        for (int kind = 0; kind < FILTERS; kind++)
            time_run(&subjects[kind], keys, sizes);
    }
    for (int kind = 0; kind < FILTERS; kind++) {
        lethe_gaussian_free(subjects[kind].gaussian);
        lethe_bloom_free(subjects[kind].bloom);
    }
    return status;
}

/* Microseconds to compute the bells of 64 hash functions, about 6,000 exponentials: planning a
 * filter does that and nothing else that takes time. */
static double time_bells(lethe_gaussian_exponential exponential, lethe_status *status) {
    lethe_gaussian_options options =
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 1000, .hashes = LETHE_GAUSSIAN_MAX_HASHES,
                      .slot_bits = LETHE_GAUSSIAN_DOUBLE_BITS,
                      .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED, .exponential = exponential);
    double best = INFINITY;
    for (int i = 0; i < PLANS && *status == LETHE_OK; i++) {
        lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
        double began = clock_seconds();
        *status = lethe_gaussian_plan(&options, &shape);
        best = fmin(best, (clock_seconds() - began) * 1e6);
    }
    return best;
}

static double over(double time, double least) {
    return 100 * (time / least - 1);
}

static void report_claims(struct report *report, const struct subject *ten_percent, double exact,
                          double fast) {
    const struct subject *bloom = &ten_percent[BLOOM], *even = &ten_percent[EVEN_4];
    double add_percent = over(even->add_ns, bloom->add_ns);
    double test_percent = over(even->test_ns, bloom->test_ns);
    report_claim(report, "in Cassandra adding took 42%% longer than to a Bloom filter, asking "
                         "8.82%%, since a question ends at the first contradiction.");
    report_result(report,
                  "at k = 3, four bits spaced evenly: adding takes %.0f%% longer (%.0f instead of "
                  "%.0f ns), asking %.0f%%. Deviations and slots as published: adding %.0f%% with "
                  "four bits, %.0f%% with doubles.",
                  add_percent, even->add_ns, bloom->add_ns, test_percent,
                  over(ten_percent[PUBLISHED_4].add_ns, bloom->add_ns),
                  over(ten_percent[DOUBLE].add_ns, bloom->add_ns));
    report_claim(report, "the exponential of Schraudolph is about 30 times faster than the one of "
                         "Java's library.");
    report_result(report,
                  "the bells of 64 hash functions take %.1f us by it and %.1f by exp(), %.1f times "
                  "as long, once for a filter. C's exp() is faster than Java's was, and adding "
                  "computes none.",
                  fast, exact, exact / fast);
    report_value(report, "add-overhead-percent", add_percent);
    report_value(report, "test-overhead-percent", test_percent);
    report_value(report, "exact-over-fast-exponential-times", exact / fast);
}

static int run(struct report *report) {
    static const uint32_t hashes[] = {3, 5, 7, 10};
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    lethe_status status = LETHE_OK;
    struct subject subjects[4][FILTERS];
    for (int i = 0; i < 4 && status == LETHE_OK; i++) {
        const struct subject *of = subjects[i];
        status = measure(hashes[i], subjects[i]);
        if (status != LETHE_OK) break;
        double add_ns = of[BLOOM].add_ns, test_ns = of[BLOOM].test_ns;
        REPORT_ROW(report, hashes[i], add_ns, of[EVEN_4].add_ns / add_ns,
                   of[PUBLISHED_4].add_ns / add_ns, of[DOUBLE].add_ns / add_ns, test_ns,
                   of[EVEN_4].test_ns / test_ns, of[PUBLISHED_4].test_ns / test_ns);
    }
    double exact = time_bells(LETHE_GAUSSIAN_EXPONENTIAL_EXACT, &status);
    double fast = time_bells(LETHE_GAUSSIAN_EXPONENTIAL_SCHRAUDOLPH, &status);
    if (status == LETHE_OK) report_claims(report, subjects[0], exact, fast);
    return gbf_code(status);
}

const struct figure figure_gbf_speed = {
    .name = "gbf-speed",
    .title = "what adding and asking cost more than in a Bloom filter",
    .columns = "Nanoseconds to add a string to a Bloom filter (BF), and how many times as long "
               "a Gaussian filter of the same m and k takes: four bits spaced evenly, four bits as "
               "published, doubles; then the same for asking, half of the strings being there. "
               "32,000 slots for each hash function, 20,000 keys. Measured: these numbers differ "
               "from run to run.",
    .plot =
        "set title 'Ours: what a Gaussian filter costs more than a Bloom filter'\n"
        "set xlabel 'hash functions'\n"
        "set ylabel 'time over that of a Bloom filter'\n"
        "set xrange [2.5:10.5]\n"
        "set yrange [0:*]\n"
        "$paper << END\n3,1.42,1.0882\nEND\n"
        "plot data using 'hashes':'add_4_even' with linespoints ls 1 title 'add, 4 bits even', "
        "\\\n"
        "     data using 'hashes':'add_4' with linespoints ls 2 title 'add, 4 bits', \\\n"
        "     data using 'hashes':'test_4_even' with linespoints ls 3 title 'ask, 4 bits even', "
        "\\\n"
        "     data using 'hashes':'test_4' with linespoints ls 4 title 'ask, 4 bits', \\\n"
        "     $paper using 1:2 with points pt 3 ps 1.6 lc rgb '#000000' title 'the paper: add', "
        "\\\n"
        "     $paper using 1:3 with points pt 4 ps 1.4 lc rgb '#000000' title 'the paper: ask'\n",
    .run = run,
};
