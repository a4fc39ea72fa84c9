/* bench/dedup.c - each line once: `lethe dedup` beside sort -u with the same memory, and awk and
 * DuckDB with all they want.
 *
 * Lines are ids like UUIDs, a tenth of them duplicates of earlier ones. Memory is that of the
 * largest process, CPU time that of all. All in the C locale, where sort is fastest; it uses both
 * cores, and so do lethe and DuckDB. 20 million lines of 37 bytes; with --full 200 million, 7.4 GB,
 * for which awk is left out: it would need 30 GB. What came first is in memory, and a filter on
 * disk is asked about the rest; files that do not fit in memory are read twice. With --db the
 * filter stays; the last row gives it the same lines again, of which it prints none. What lethe
 * prints is counted, and what it prints of files that it reads twice compared with what awk prints.
 * DuckDB writes the distinct lines to a file, in any order. sort, awk and DuckDB are run once if
 * that takes more than eight seconds. TMPDIR names where the files go. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "duckdb.h"
#include "folder.h"
#include "frame.h"
#include "keys.h"
#include "report.h"
#include "shell.h"

enum { COMMAND_BYTES = 3 * SHELL_PATH_BYTES, LINE_BYTES = 37, DUPLICATES_IN_TEN = 1 };

#define REPEAT_SECONDS 8.0

static const struct report_column columns[] = {
    {"way", "way", 40, -2},          {"lines", "lines", 10, 0},     {"seconds", "seconds", 8, 2},
    {"cpu_seconds", "cpu s", 8, 2},  {"mlines", "M lines/s", 9, 2}, {"memory_mib", "MiB", 8, 1},
    {"times_faster", "times", 6, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void write_line(char out[LINE_BYTES + 1], uint64_t seed, uint64_t number) {
    uint64_t high = keys_scramble(seed ^ keys_scramble(2 * number)),
             low = keys_scramble(seed ^ keys_scramble(2 * number + 1));
    snprintf(out, LINE_BYTES + 1,
             "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64 "\n", high >> 32,
             high >> 16 & 0xffff, high & 0xffff, low >> 48, low & UINT64_C(0xffffffffffff));
}

/* Returns how many different lines there are. */
static uint64_t write_lines(const char *path, uint64_t count, uint64_t seed) {
    FILE *file = fopen(path, "w");
    bench_require(file != NULL, "making a file of lines");
    uint64_t originals = 0;
    for (uint64_t i = 0; i < count; i++) {
        char line[LINE_BYTES + 1];
        uint64_t random = keys_scramble(seed + i);
        bool is_duplicate = originals > 0 && random % 10 < DUPLICATES_IN_TEN;
        write_line(line, seed, is_duplicate ? random / 10 % originals : originals++);
        bench_require(fwrite(line, 1, LINE_BYTES, file) == LINE_BYTES, "writing lines");
    }
    bench_require(fclose(file) == 0, "writing lines");
    return originals;
}

static void report_way(struct report *report, const char *way, uint64_t count,
                       struct shell_cost cost, double times) {
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(way),
                           REPORT_NUMBER((double)count),
                           REPORT_NUMBER(cost.seconds),
                           REPORT_NUMBER(cost.cpu_seconds),
                           REPORT_NUMBER((double)count / cost.seconds * 1e-6),
                           REPORT_NUMBER(cost.memory_mib),
                           REPORT_NUMBER(times),
                       });
}

/* The files of a run, and what all its rows have in common. */
struct bench {
    const struct bench_options *options;
    struct report report;
    char folder[SHELL_PATH_BYTES / 4];
    uint64_t count, originals;
    double sort_seconds;
    int runs;
};

static void report_peer(struct bench *bench, const char *way, const char *command) {
    struct shell_cost cost = shell_run(command);
    if (cost.seconds < REPEAT_SECONDS && bench->runs > 1) {
        struct shell_cost again = shell_best(command, bench->runs - 1);
        if (again.seconds < cost.seconds) cost = again;
    }
    if (bench->sort_seconds == 0) bench->sort_seconds = cost.seconds; /* it comes first */
    report_way(&bench->report, way, bench->count, cost, bench->sort_seconds / cost.seconds);
}

/* Of new lines one in a million may be dropped, no duplicate may be printed: at most six standard
 * deviations less. */
static void count_lines(const struct bench *bench, const char *file, bool is_exact) {
    char command[COMMAND_BYTES];
    uint64_t most = bench->originals, lost = is_exact ? 0 : most / 1000000 * 7 + 6;
    snprintf(command, sizeof command,
             "cd '%s' && n=$(wc -l < %s) && test $n -le %" PRIu64 " && test $n -ge %" PRIu64,
             bench->folder, file, most, most - lost);
    shell_run(command);
}

static void run_sort(struct bench *bench) {
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command, "cd '%s' && LC_ALL=C sort -u -S 256M -T . lines > sorted",
             bench->folder);
    report_peer(bench, "sort -u -S 256M", command);
    count_lines(bench, "sorted", true);
    snprintf(command, sizeof command, "rm '%s/sorted'", bench->folder);
    shell_run(command);
}

static void run_awk(struct bench *bench) {
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command, "cd '%s' && LC_ALL=C awk '!s[$0]++' lines > exact",
             bench->folder);
    report_peer(bench, "awk '!s[$0]++'", command);
    count_lines(bench, "exact", true);
}

static void run_duckdb(struct bench *bench) {
    char command[COMMAND_BYTES], sql[COMMAND_BYTES];
    if (!duckdb_prepare(bench->folder, bench->options->quick)) return;
    snprintf(sql, sizeof sql,
             "COPY (SELECT DISTINCT line FROM read_csv('%s/lines', delim = '|', header = false, "
             "auto_detect = false, columns = {'line': 'VARCHAR'})) TO '%s/distinct' "
             "(FORMAT csv, HEADER false)",
             bench->folder, bench->folder);
    duckdb_command(command, sizeof command, bench->folder, sql, "written");
    report_peer(bench, "DuckDB, SELECT DISTINCT", command);
    count_lines(bench, "distinct", true);
    snprintf(command, sizeof command, "rm '%s/distinct'", bench->folder);
    shell_run(command);
}

/* Where lines come from, and whether they are remembered; the last one reads lines again that are
 * remembered. */
enum way { FROM_FILE, FROM_PIPE, WITH_DB, AGAIN };

static const struct {
    const char *name, *before, *after;
} ways[] = {
    [FROM_FILE] = {"lethe dedup", "", "lines"},
    [FROM_PIPE] = {"cat | lethe dedup", "cat lines |", ""},
    [WITH_DB] = {"lethe dedup --db", "rm -rf seen &&", "--db seen lines"},
    [AGAIN] = {"again: lethe dedup --db", "", "--db seen --from-start lines"},
};

static void run_lethe(struct bench *bench, const char *memory, enum way way) {
    char lethe[SHELL_PATH_BYTES], command[COMMAND_BYTES], name[64];
    shell_find_lethe(lethe);
    snprintf(command, sizeof command,
             "cd '%s' && %s TMPDIR=. '%s' dedup -q --memory %s %s > unique", bench->folder,
             ways[way].before, lethe, memory, ways[way].after);
    struct shell_cost ours = shell_best(command, bench->runs);
    snprintf(name, sizeof name, "%s --memory %s", ways[way].name, memory);
    report_way(&bench->report, name, bench->count, ours, bench->sort_seconds / ours.seconds);
    if (way == AGAIN) {
        snprintf(command, sizeof command, "test ! -s '%s/unique'", bench->folder);
        shell_run(command);
    } else {
        count_lines(bench, "unique", false);
    }
}

static int run_dedup(const struct bench_options *options) {
    struct bench bench = {.options = options,
                          .count = options->full    ? 200000000
                                   : options->quick ? 200000
                                                    : 20000000,
                          .runs = options->full ? 1 : options->runs};
    char command[COMMAND_BYTES];
    bench_folder_make(bench.folder, sizeof bench.folder);
    snprintf(command, sizeof command, "%s/lines", bench.folder);
    bench.originals = write_lines(command, bench.count, options->seed);
    report_begin(&bench.report, "dedup", options->json, columns, COLUMNS);
    run_sort(&bench);
    if (!options->full) run_awk(&bench);
    run_duckdb(&bench);
    run_lethe(&bench, "256MiB", FROM_FILE);
    run_lethe(&bench, "64MiB", FROM_FILE);
    snprintf(command, sizeof command, "cd '%s' && cmp unique exact", bench.folder);
    if (!options->full && !options->quick) shell_run(command); /* it was read twice */
    run_lethe(&bench, "256MiB", FROM_PIPE);
    run_lethe(&bench, "256MiB", WITH_DB);
    run_lethe(&bench, "256MiB", AGAIN);
    report_end(&bench.report);
    bench_folder_remove(bench.folder);
    return 0;
}

const struct workload workload_dedup = {
    .name = "dedup",
    .summary = "each line once, beside sort -u, awk and DuckDB",
    .run = run_dedup,
};
