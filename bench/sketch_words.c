/* bench/sketch_words.c - the hundred most frequent of many words: `lethe freq build --top`, with
 * each kind of sketch, beside what a shell has, sort | uniq -c | sort -rn | head, and DuckDB.
 *
 * The words, one per line, are drawn from a million different ones by Zipf's law, and written to a
 * file first. Memory is that of the largest process, CPU time that of all. "listed" is how many of
 * the pipeline's hundred are in the other's list. The pipeline runs in the C locale, where it is
 * fastest, and only once; it uses all cores, and so do DuckDB, and lethe unless --threads says
 * otherwise. 10 million words; with --full 215 million, 1.3 GB, for which the pipeline takes
 * minutes. The file was just written, so it is
 * read from the system's cache if memory allows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "count_process.h"
#include "duckdb.h"
#include "folder.h"
#include "frame.h"
#include "keys.h"
#include "report.h"
#include "shell.h"
#include "zipf.h"

enum { DIFFERENT = 1000000, LISTED = 100, COMMAND_BYTES = 3 * SHELL_PATH_BYTES };

static const struct report_column columns[] = {
    {"way", "way", 44, -2},          {"words", "words", 10, 0},     {"seconds", "seconds", 8, 2},
    {"cpu_seconds", "cpu s", 8, 2},  {"mwords", "M words/s", 9, 2}, {"memory_mib", "MiB", 8, 1},
    {"times_faster", "times", 6, 1}, {"listed", "listed", 6, 0},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* A word of 2 to 9 letters for a rank; frequent ones are short. */
static size_t write_word(uint32_t rank, char *out) {
    uint64_t letters = keys_scramble(rank);
    size_t length = 2 + (size_t)(log10(rank + 1.0) * 1.1);
    for (size_t i = 0; i < length; i++, letters /= 26)
        out[i] = (char)('a' + letters % 26);
    out[length] = '\n';
    return length + 1;
}

struct words {
    const char *path;
    size_t count;
    uint64_t seed;
};

/* In a process of its own: the memory of others would be counted with what this one has. */
static void write_words(void *context) {
    const struct words *words = context;
    FILE *file = fopen(words->path, "w");
    bench_require(file != NULL, "making a file of words");
    struct zipf zipf;
    zipf_init(&zipf, DIFFERENT, words->seed);
    for (size_t i = 0; i < words->count; i++) {
        char word[32];
        size_t size = write_word(zipf_next(&zipf), word);
        bench_require(fwrite(word, 1, size, file) == size, "writing words");
    }
    bench_require(fclose(file) == 0, "writing words");
    zipf_drop(&zipf);
}

/* How many lines of the exact list, "count word", are in the other, "word<TAB>estimate". */
static int count_listed(const char *folder) {
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command,
             "cd '%s' && awk '{ print $2 }' exact | sort > a && cut -f 1 listed | sort > b && "
             "comm -12 a b | wc -l > both",
             folder);
    shell_run(command);
    snprintf(command, sizeof command, "%s/both", folder);
    FILE *file = fopen(command, "r");
    char line[32];
    bench_require(file != NULL && fgets(line, sizeof line, file) != NULL, "comparing the lists");
    fclose(file);
    return (int)strtol(line, NULL, 10);
}

static void report_way(struct report *report, const char *way, size_t count,
                       struct shell_cost outcome, double times, double listed) {
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(way),
                           REPORT_NUMBER((double)count),
                           REPORT_NUMBER(outcome.seconds),
                           REPORT_NUMBER(outcome.cpu_seconds),
                           REPORT_NUMBER((double)count / outcome.seconds * 1e-6),
                           REPORT_NUMBER(outcome.memory_mib),
                           REPORT_NUMBER(times),
                           REPORT_NUMBER(listed),
                       });
}

/* The files of a run, and what its rows are compared with. */
struct bench {
    const struct bench_options *options;
    struct report report;
    char folder[SHELL_PATH_BYTES / 4];
    size_t count;
    double pipeline_seconds;
};

static void run_pipeline(struct bench *bench) {
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command,
             "cd '%s' && LC_ALL=C && export LC_ALL && sort -T . words | uniq -c | sort -T . -rn | "
             "head -n %d > exact",
             bench->folder, LISTED);
    struct shell_cost cost = shell_run(command);
    bench->pipeline_seconds = cost.seconds;
    report_way(&bench->report, "sort | uniq -c | sort -rn | head -n 100", bench->count, cost, 1,
               LISTED);
}

static void run_duckdb(struct bench *bench) {
    char command[COMMAND_BYTES], sql[COMMAND_BYTES];
    if (!duckdb_prepare(bench->folder, bench->options->quick)) return;
    snprintf(
        sql, sizeof sql,
        "SELECT word, count(*) AS times FROM read_csv('%s/words', delim = '|', header = false, "
        "auto_detect = false, columns = {'word': 'VARCHAR'}) GROUP BY word "
        "ORDER BY times DESC LIMIT %d",
        bench->folder, LISTED);
    duckdb_command(command, sizeof command, bench->folder, sql, "listed");
    struct shell_cost cost = shell_best(command, bench->options->runs);
    int listed = count_listed(bench->folder);
    bench_require(listed >= LISTED - 1, "counting words with DuckDB"); /* the last may be a tie */
    report_way(&bench->report, "DuckDB, GROUP BY word", bench->count, cost,
               bench->pipeline_seconds / cost.seconds, listed);
}

static void run_lethe(struct bench *bench, const char *arguments) {
    char lethe[SHELL_PATH_BYTES], command[COMMAND_BYTES], name[64];
    shell_find_lethe(lethe);
    snprintf(command, sizeof command, "cd '%s' && '%s' freq build --quiet %s--top %d --out s words",
             bench->folder, lethe, arguments, LISTED);
    struct shell_cost cost = shell_best(command, bench->options->runs);
    snprintf(command, sizeof command, "cd '%s' && '%s' freq top -n %d s > listed", bench->folder,
             lethe, LISTED);
    shell_run(command);
    snprintf(name, sizeof name, "lethe freq build %s--top %d", arguments, LISTED);
    report_way(&bench->report, name, bench->count, cost, bench->pipeline_seconds / cost.seconds,
               count_listed(bench->folder));
}

static int run_sketch_words(const struct bench_options *options) {
    static const char *const arguments[] = {"",           "--threads 1 ", "--kind count ",
                                            "--kind cu ", "--kind cml ",  "--kind fid "};
    struct bench bench = {.options = options,
                          .count = options->full    ? 215000000
                                   : options->quick ? 200000
                                                    : 10000000};
    char path[SHELL_PATH_BYTES];
    bench_folder_make(bench.folder, sizeof bench.folder);
    snprintf(path, sizeof path, "%s/words", bench.folder);
    struct words words = {.path = path, .count = bench.count, .seed = options->seed};
    count_fork(write_words, &words, "making words");
    report_begin(&bench.report, "sketch-words", options->json, columns, COLUMNS);
    run_pipeline(&bench);
    run_duckdb(&bench);
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++)
        run_lethe(&bench, arguments[i]);
    report_end(&bench.report);
    bench_folder_remove(bench.folder);
    return 0;
}

const struct workload workload_sketch_words = {
    .name = "sketch-words",
    .summary = "the 100 most frequent words, beside sort | uniq -c | sort -rn, and DuckDB",
    .run = run_sketch_words,
};
