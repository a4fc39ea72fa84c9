/* paper/gbf_1.c - Figure 1: a Gaussian filter rejects what a Bloom filter takes for present.
 *
 * The paper's Example 1: e1 with the positions 50, 10 and 30 was added; e2 has 50, 30 and 10. The
 * positions come from a key's hash, so two hashes are searched that lead there. */
#include "frame/exit_code.h"
#include "paper/gbf.h"
#include "say/message.h"

enum { SLOTS = 64, HASHES = 3, MOST_TRIES = 20000000 };

static const struct column columns[] = {
    {"slot", "slot", COLUMN_WHOLE},          {"bloom", "Bloom", COLUMN_WHOLE},
    {"filter", "filter", COLUMN_RATE},       {"query", "query", COLUMN_RATE},
    {"missing", "query above", COLUMN_RATE},
};

static const uint64_t added[HASHES] = {50, 10, 30}, asked[HASHES] = {50, 30, 10};

static lethe_status make(lethe_gaussian **out) {
    lethe_gaussian_options options = LETHE_OPTIONS(
        lethe_gaussian_options, .slots = SLOTS, .hashes = HASHES,
        .slot_bits = LETHE_GAUSSIAN_DOUBLE_BITS, .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED);
    return lethe_gaussian_new(&options, out);
}

/* Whether the only key of a filter has hash function i at positions[i - 1]: its middle is there,
 * and beside it its bell and no other. */
static bool is_at(const lethe_gaussian *filter, const uint64_t positions[HASHES]) {
    for (uint32_t i = 1; i <= HASHES; i++) {
        uint64_t middle = positions[i - 1];
        if (lethe_gaussian_slot(filter, middle) < 1 ||
            lethe_gaussian_slot(filter, middle + 1) != lethe_gaussian_bell(filter, i, 1)) {
            return false;
        }
    }
    return true;
}

/* Leaves a filter with the one key whose hash functions lead to the positions. */
static lethe_status find(lethe_gaussian *filter, const uint64_t positions[HASHES],
                         lethe_hash *found) {
    for (uint64_t number = 0; number < MOST_TRIES; number++) {
        *found = lethe_hash_u64(LETHE_DEFAULT_SEED, number);
        lethe_gaussian_clear(filter);
        lethe_gaussian_add_hash(filter, *found);
        if (is_at(filter, positions)) return LETHE_OK;
    }
    return LETHE_ENOTFOUND;
}

static void report_slots(struct report *report, const lethe_gaussian *filter,
                         const lethe_gaussian *query, int *contradictions) {
    for (uint64_t slot = 0; slot < SLOTS; slot++) {
        double has = lethe_gaussian_slot(filter, slot), wants = lethe_gaussian_slot(query, slot);
        REPORT_ROW(report, (double)slot, has >= 1, has, wants, wants > has ? wants - has : 0);
        *contradictions += wants > has;
    }
}

static lethe_status compare(struct report *report, lethe_gaussian *filter, lethe_gaussian *query) {
    lethe_hash first, second;
    lethe_status status = find(filter, added, &first);
    if (status == LETHE_OK) status = find(query, asked, &second);
    lethe_bloom *bloom = NULL;
    if (status == LETHE_OK) status = lethe_gaussian_extract(filter, &bloom);
    if (status != LETHE_OK) return status;
    int contradictions = 0;
    report_slots(report, filter, query, &contradictions);
    bool by_bloom = lethe_bloom_test_hash(bloom, second);
    bool by_gaussian = lethe_gaussian_test_hash(filter, second);
    lethe_bloom_free(bloom);
    report_claim(report, "e1 has the positions 50, 10 and 30. For e2, with 50, 30 and 10, a Bloom "
                         "filter returns true, a Gaussian filter false.");
    report_result(report,
                  "the Bloom filter returns %s, the Gaussian filter %s: in %d of %d slots the "
                  "bells of e2 are above the filter, around 10, where e2 asks by the third hash "
                  "function and e1 came by the second.",
                  by_bloom ? "true" : "false", by_gaussian ? "true" : "false", contradictions,
                  SLOTS);
    report_value(report, "bloom-says-present", by_bloom);
    report_value(report, "gaussian-says-present", by_gaussian);
    report_value(report, "contradicting-slots", contradictions);
    return LETHE_OK;
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    lethe_gaussian *filter = NULL, *query = NULL;
    lethe_status status = make(&filter);
    if (status == LETHE_OK) status = make(&query);
    if (status == LETHE_OK) status = compare(report, filter, query);
    lethe_gaussian_free(filter);
    lethe_gaussian_free(query);
    return gbf_code(status);
}

const struct figure figure_gbf_1 = {
    .name = "gbf-1",
    .title = "a Gaussian filter rejects a false positive of the Bloom filter",
    .columns =
        "The slots of a filter that holds e1 of the paper's Example 1: whether the Bloom "
        "filter has the bit, what the Gaussian filter holds (deviations 1, 2 and 3), what e2 "
        "asks for, and by how much that is above the filter.",
    .plot = "set title 'Figure 1: e2 is rejected, although all its bits are set'\n"
            "set xlabel 'slot'\n"
            "set ylabel 'level'\n"
            "set yrange [0:1.28]\n"
            "set xrange [-1:64]\n"
            "set label 1 \"e1: h_2\\ne2: h_3\" at 10, 1.2 center\n"
            "set label 2 \"e1: h_3\\ne2: h_2\" at 30, 1.2 center\n"
            "set label 3 \"e1: h_1\\ne2: h_1\" at 50, 1.2 center\n"
            "plot data using 'slot':'filter':'query' with filledcurves below fc rgb '#d55e00' fs "
            "solid 0.35 noborder title 'e2 above the filter: rejected', \\\n"
            "     data using 'slot':'bloom' with impulses lc rgb '#999999' lw 3 title 'bits of the "
            "Bloom filter', \\\n"
            "     data using 'slot':'filter' with linespoints ls 1 title 'the filter, with e1', "
            "\\\n"
            "     data using 'slot':'query' with linespoints ls 2 dt 2 title 'what e2 asks for'\n",
    .run = run,
};
