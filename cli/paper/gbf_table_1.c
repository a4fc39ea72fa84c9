/* paper/gbf_table_1.c - Table 1: reads of a real store that Bloom and Gaussian filters could not
 * skip.
 *
 * The store is LevelDB, which lethe does not link: lethe-bench does, and its workload
 * leveldb-tables makes the numbers. Here it is run, and what it writes is read. */
#include <math.h>
#include <string.h>

#include "frame/exit_code.h"
#include "paper/paper.h"
#include "paper/workload.h"

static const struct column columns[] = {
    {"state", "state", COLUMN_WHOLE},       {"table", "table", COLUMN_WHOLE},
    {"asked", "asked", COLUMN_WHOLE},       {"held", "has the key", COLUMN_WHOLE},
    {"bloom", "Bloom", COLUMN_WHOLE},       {"gaussian", "Gaussian", COLUMN_WHOLE},
    {"fraction", "fraction", COLUMN_RATIO},
};

/* What a row says; a total has no table. */
struct counts {
    double asked, held, bloom, gaussian;
};

static bool is_called(const json_t *row, const char *key, const char *value) {
    const char *text = json_string_value(json_object_get(row, key));
    return text != NULL && strcmp(text, value) == 0;
}

static void report_counts(struct report *report, double state, double table,
                          const struct counts *counts) {
    REPORT_ROW(report, state, table, counts->asked, counts->held, counts->bloom, counts->gaussian,
               counts->gaussian / counts->bloom);
}

/* A row for each table, and at the end the totals of both states. */
static void report_tables(struct report *report, const json_t *rows, struct counts totals[2]) {
    double number[2] = {0, 0};
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row) {
        int state = is_called(row, "state", "compacted");
        struct counts counts = {workload_number(row, "asked"), workload_number(row, "held"),
                                workload_number(row, "bloom"), workload_number(row, "gaussian")};
        if (is_called(row, "table", "all")) continue;
        report_counts(report, state + 1, ++number[state], &counts);
        totals[state].asked += counts.asked;
        totals[state].held += counts.held;
        totals[state].bloom += counts.bloom;
        totals[state].gaussian += counts.gaussian;
    }
    for (int state = 0; state < 2; state++)
        report_counts(report, state + 1, NAN, &totals[state]);
}

/* Of the reads that found nothing and that the Bloom filter let pass, the per cent that the
 * Gaussian filter did not. */
static double per_cent_less(const struct counts *counts) {
    return 100 * (counts->bloom - counts->gaussian) / (counts->bloom - counts->held);
}

static int run(struct report *report) {
    json_t *document = NULL;
    int code = workload_read("leveldb-tables", &document);
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    if (code == EXIT_DONE) {
        struct counts totals[2];
        memset(totals, 0, sizeof totals);
        report_tables(report, json_object_get(document, "results"), totals);
        report_claim(report,
                     "in Cassandra the Gaussian filter skipped 991,413 of the 4,293,023 reads that "
                     "the Bloom filter could not, 23%%, a fraction of 0.77 (0.67, the total in the "
                     "paper, is the mean of the tables); nearly half in tables that had been "
                     "rebuilt (0.53 to 0.56), 6 to 24%% in others.");
        report_result(
            report,
            "%.0f%% of all reads (a fraction of %.2f), where tables overlap, as "
            "Cassandra's do. Reads of tables that have the key can't be skipped, so the "
            "fraction shows how many those are: of the reads in vain %.0f%% were skipped.",
            100 * (1 - totals[0].gaussian / totals[0].bloom), totals[0].gaussian / totals[0].bloom,
            per_cent_less(&totals[0]));
        report_result(report,
                      "compacted, LevelDB asks one table a key, and there is little to skip: "
                      "%.0f%% of all reads, and again %.0f%% of those in vain.",
                      100 * (1 - totals[1].gaussian / totals[1].bloom), per_cent_less(&totals[1]));
        report_value(report, "overlapping-fraction", totals[0].gaussian / totals[0].bloom);
        report_value(report, "overlapping-skipped-in-vain-percent", per_cent_less(&totals[0]));
        report_value(report, "compacted-fraction", totals[1].gaussian / totals[1].bloom);
        report_value(report, "compacted-skipped-in-vain-percent", per_cent_less(&totals[1]));
        report_result(report, "no key was denied, and the Gaussian filter passed nothing that the "
                              "Bloom filter did not. It has four times the memory.");
    }
    json_decref(document);
    return code;
}

const struct figure figure_gbf_table_1 = {
    .name = "gbf-table-1",
    .title = "reads of LevelDB's tables that Bloom and Gaussian filters could not skip",
    .columns =
        "A million keys are written, and a million random ones read, half of which were "
        "written. Filters are sized for an error of 10% (k = 3); the Gaussian one has the same "
        "slots, of 4 bits. State 1: as written, in 5 tables that overlap. State 2: compacted "
        "into tables that do not. How often a table was asked, how often it has the key, how often "
        "each filter could not skip it, and the fraction of the last two. Totals at the end.",
    .plot =
        "set title 'Table 1: reads that a filter could not skip, by table'\n"
        "set xlabel 'table: five as written, the others compacted'\n"
        "set ylabel 'reads that could not be skipped'\n"
        "set style data histograms\n"
        "set style histogram clustered gap 1\n"
        "set style fill solid 0.9 noborder\n"
        "set yrange [0:*]\n"
        "set format y '%.0f'\n"
        "stats data using 'asked' nooutput\n"
        "last = STATS_records - 3\n"
        "plot data using 'bloom':xtic(stringcolumn('table')) every ::0::last ls 1 title 'Bloom', "
        "\\\n"
        "     data using 'gaussian' every ::0::last ls 2 title 'Gaussian', \\\n"
        "     data using 'held' every ::0::last ls 5 title 'has the key'\n",
    .run = run,
};
