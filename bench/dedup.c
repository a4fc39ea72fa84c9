/* bench/dedup.c - each line once: `lethe dedup` beside sort -u with the same memory, and awk with
 * all it wants.
 *
 * Lines are ids like UUIDs, a tenth of them duplicates of earlier ones. Memory is that of the
 * process. All in the C locale, where sort is fastest; it uses both cores, and so does lethe. 10
 * million lines; with --full 200 million, 7.4 GB, for which awk is left out: it would need 30
 * GB. What came first is in memory, and a filter on disk is asked about the rest; files that do not
 * fit in memory are read twice. With --db the filter stays. What lethe prints is counted, and what
 * it prints of files that it reads twice compared with what awk prints. TMPDIR names where the
 * files go. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "folder.h"
#include "frame.h"
#include "keys.h"
#include "report.h"
#include "shell.h"

enum { COMMAND_BYTES = 3 * SHELL_PATH_BYTES, LINE_BYTES = 37, DUPLICATES_IN_TEN = 1 };

static const struct report_column columns[] = {
    {"way", "way", 36, -2},        {"lines", "lines", 10, 0},   {"seconds", "seconds", 8, 2},
    {"mlines", "M lines/s", 9, 2}, {"memory_mib", "MiB", 8, 1}, {"times_faster", "times", 6, 1},
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
                           REPORT_NUMBER((double)count / cost.seconds * 1e-6),
                           REPORT_NUMBER(cost.memory_mib),
                           REPORT_NUMBER(times),
                       });
}

/* Of new lines one in a million may be dropped, no duplicate may be printed: at most six standard
 * deviations less. */
static void count_lines(const char *folder, uint64_t originals) {
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command,
             "cd '%s' && n=$(wc -l < unique) && test $n -le %" PRIu64 " && test $n -ge %" PRIu64,
             folder, originals, originals - (originals / 1000000 * 7 + 6));
    shell_run(command);
}

/* Where lines come from, and whether they are remembered. */
enum way { FROM_FILE, FROM_PIPE, WITH_DB };

static void run_lethe(struct report *report, const char *folder, const char *memory, enum way way,
                      uint64_t count, int runs, double sort_seconds) {
    char lethe[SHELL_PATH_BYTES], command[COMMAND_BYTES], name[64];
    bool is_piped = way == FROM_PIPE;
    shell_find_lethe(lethe);
    snprintf(command, sizeof command,
             "cd '%s' && rm -rf seen && %s TMPDIR=. '%s' dedup -q --memory %s %s > unique", folder,
             is_piped ? "cat lines |" : "", lethe, memory,
             is_piped         ? ""
             : way == WITH_DB ? "--db seen lines"
                              : "lines");
    struct shell_cost ours = shell_best(command, runs);
    snprintf(name, sizeof name, "%slethe dedup %s--memory %s", is_piped ? "cat | " : "",
             way == WITH_DB ? "--db " : "", memory);
    report_way(report, name, count, ours, sort_seconds / ours.seconds);
}

static int run_dedup(const struct bench_options *options) {
    static const char *const memories[] = {"256MiB", "64MiB"};
    uint64_t count = options->full ? 200000000 : options->quick ? 200000 : 10000000;
    int runs = options->full ? 1 : options->runs;
    char folder[SHELL_PATH_BYTES / 4], command[COMMAND_BYTES];
    bench_folder_make(folder, sizeof folder);
    snprintf(command, sizeof command, "%s/lines", folder);
    uint64_t originals = write_lines(command, count, options->seed);
    struct report report;
    report_begin(&report, "dedup", options->json, columns, COLUMNS);
    snprintf(command, sizeof command,
             "cd '%s' && LC_ALL=C sort -u -S 256M -T . lines > sorted && rm sorted", folder);
    struct shell_cost sort = shell_best(command, runs);
    report_way(&report, "sort -u -S 256M", count, sort, 1);
    if (!options->full) {
        snprintf(command, sizeof command, "cd '%s' && LC_ALL=C awk '!s[$0]++' lines > exact",
                 folder);
        struct shell_cost awk = shell_best(command, runs);
        report_way(&report, "awk '!s[$0]++'", count, awk, sort.seconds / awk.seconds);
    }
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        run_lethe(&report, folder, memories[i], FROM_FILE, count, runs, sort.seconds);
        snprintf(command, sizeof command, "cd '%s' && cmp unique exact", folder);
        bool is_read_twice = i > 0;
        if (!options->full && !options->quick && is_read_twice) shell_run(command);
        count_lines(folder, originals);
    }
    run_lethe(&report, folder, memories[0], FROM_PIPE, count, runs, sort.seconds);
    count_lines(folder, originals);
    run_lethe(&report, folder, memories[0], WITH_DB, count, runs, sort.seconds);
    count_lines(folder, originals);
    report_end(&report);
    bench_folder_remove(folder);
    return 0;
}

const struct workload workload_dedup = {
    .name = "dedup",
    .summary = "each line once, beside sort -u and awk",
    .run = run_dedup,
};
