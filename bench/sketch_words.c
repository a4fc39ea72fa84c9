/* bench/sketch_words.c - the hundred most frequent of many words: `lethe freq build --top` beside
 * what a shell has, sort | uniq -c | sort -rn | head.
 *
 * The words, one per line, are drawn from a million different ones by Zipf's law, and written to a
 * file first. Memory is that of the largest process. "listed" is how many of the pipeline's hundred
 * are in lethe's list. The pipeline runs in the C locale, where it is fastest; it uses all cores,
 * and so does lethe unless --threads says otherwise. 10 million words; with --full 100 million,
 * for which the pipeline takes minutes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "frame.h"
#include "keys.h"
#include "report.h"
#include "shell.h"
#include "zipf.h"

enum { DIFFERENT = 1000000, LISTED = 100, COMMAND_BYTES = 3 * SHELL_PATH_BYTES };

static const struct report_column columns[] = {
    {"way", "way", 44, -2},        {"words", "words", 10, 0},   {"seconds", "seconds", 8, 2},
    {"mwords", "M words/s", 9, 2}, {"memory_mib", "MiB", 8, 1}, {"times_faster", "times", 6, 1},
    {"listed", "listed", 6, 0},
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

static void write_words(const char *path, size_t count, uint64_t seed) {
    FILE *file = fopen(path, "w");
    bench_require(file != NULL, "making a file of words");
    struct zipf zipf;
    zipf_init(&zipf, DIFFERENT, seed);
    for (size_t i = 0; i < count; i++) {
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
                           REPORT_NUMBER((double)count / outcome.seconds * 1e-6),
                           REPORT_NUMBER(outcome.memory_mib),
                           REPORT_NUMBER(times),
                           REPORT_NUMBER(listed),
                       });
}

static int run_sketch_words(const struct bench_options *options) {
    static const struct {
        const char *way, *arguments;
    } ways[] = {
        {"lethe freq build --top 100", "--top 100"},
        {"lethe freq build --threads 1 --top 100", "--threads 1 --top 100"},
        {"lethe freq build --kind count --top 100", "--kind count --top 100"},
        {"lethe freq build --kind cu --top 100", "--kind cu --top 100"},
        {"lethe freq build --kind cml --top 100", "--kind cml --top 100"},
        {"lethe freq build --kind fid --top 100", "--kind fid --top 100"},
    };
    size_t count = options->full ? 100000000 : options->quick ? 200000 : 10000000;
    char folder[SHELL_PATH_BYTES / 4], lethe[SHELL_PATH_BYTES], command[COMMAND_BYTES];
    bench_folder_make(folder, sizeof folder);
    shell_find_lethe(lethe);
    snprintf(command, sizeof command, "%s/words", folder);
    write_words(command, count, options->seed);
    struct report report;
    report_begin(&report, "sketch-words", options->json, columns, COLUMNS);
    snprintf(command, sizeof command,
             "cd '%s' && LC_ALL=C && export LC_ALL && sort words | uniq -c | sort -rn | head -n %d "
             "> exact",
             folder, LISTED);
    struct shell_cost shell = shell_best(command, options->full ? 1 : options->runs);
    report_way(&report, "sort | uniq -c | sort -rn | head -n 100", count, shell, 1, LISTED);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        snprintf(command, sizeof command, "cd '%s' && '%s' freq build --quiet %s --out s words",
                 folder, lethe, ways[i].arguments);
        struct shell_cost ours = shell_best(command, options->runs);
        snprintf(command, sizeof command, "cd '%s' && '%s' freq top -n %d s > listed", folder,
                 lethe, LISTED);
        shell_run(command);
        report_way(&report, ways[i].way, count, ours, shell.seconds / ours.seconds,
                   count_listed(folder));
    }
    report_end(&report);
    bench_folder_remove(folder);
    return 0;
}

const struct workload workload_sketch_words = {
    .name = "sketch-words",
    .summary = "the 100 most frequent words, beside sort | uniq -c | sort -rn | head",
    .run = run_sketch_words,
};
