/* bench/sketch_words.c - the hundred most frequent of many words: `lethe freq build --top` beside what a shell
 * has, sort | uniq -c | sort -rn | head.
 *
 * The words, one a line, are drawn from a million different ones by Zipf's law, and written to a file
 * first. Memory is that of the largest process. "listed" tells how many of the pipeline's hundred
 * are in lethe's list. The pipeline runs in the C locale, where it is fastest. 10 million words; with --full 100
 * million, for which the pipeline takes minutes. */
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame.h"
#include "keys.h"
#include "report.h"
#include "zipf.h"

enum { DIFFERENT = 1000000, LISTED = 100, PATH_BYTES = 4096, COMMAND_BYTES = 3 * PATH_BYTES };

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

struct outcome {
    double seconds, memory_mib;
};

/* Runs a shell's command and waits for it; its largest process is what it weighs. */
static struct outcome run_command(const char *command) {
    char shell[] = "sh", flag[] = "-c", *text = strdup(command);
    bench_require(text != NULL, "allocating");
    char *words[] = {shell, flag, text, NULL};
    double start = bench_now();
    pid_t child;
    bench_require(posix_spawnp(&child, shell, NULL, NULL, words, environ) == 0, "running a shell");
    int status;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0)
        bench_require(errno == EINTR, "waiting for a shell");
    double seconds = bench_now() - start;
    bench_require(WIFEXITED(status) && WEXITSTATUS(status) == 0, command);
    free(text);
    return (struct outcome){seconds, (double)usage.ru_maxrss / 1024};
}

static struct outcome best_of(const char *command, int runs) {
    struct outcome best = run_command(command);
    for (int i = 1; i < runs; i++) {
        struct outcome next = run_command(command);
        if (next.seconds < best.seconds) best = next;
    }
    return best;
}

/* The program lethe: beside this one, or where an installation has it. */
static void find_lethe(char path[PATH_BYTES]) {
    char own[PATH_BYTES / 2];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    if (slash != NULL) *slash = '\0';
    snprintf(path, PATH_BYTES, "%s/lethe", own);
    if (access(path, X_OK) != 0) snprintf(path, PATH_BYTES, "%s/../../bin/lethe", own);
    bench_require(access(path, X_OK) == 0, "finding lethe beside lethe-bench");
}

/* How many lines of the exact list, "count word", are in the other, "word<TAB>estimate". */
static int count_listed(const char *folder) {
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command,
             "cd '%s' && awk '{ print $2 }' exact | sort > a && cut -f 1 listed | sort > b && "
             "comm -12 a b | wc -l > both",
             folder);
    run_command(command);
    snprintf(command, sizeof command, "%s/both", folder);
    FILE *file = fopen(command, "r");
    char line[32];
    bench_require(file != NULL && fgets(line, sizeof line, file) != NULL, "comparing the lists");
    fclose(file);
    return (int)strtol(line, NULL, 10);
}

static void report_way(struct report *report, const char *way, size_t count, struct outcome outcome,
                       double times, double listed) {
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
        {"lethe freq build --kind cu --top 100", "--kind cu --top 100"},
        {"lethe freq build --kind fid --top 100", "--kind fid --top 100"},
    };
    size_t count = options->full ? 100000000 : options->quick ? 200000 : 10000000;
    const char *base = getenv("TMPDIR");
    char folder[PATH_BYTES / 4], lethe[PATH_BYTES], command[COMMAND_BYTES];
    snprintf(folder, sizeof folder, "%s/lethe-words-XXXXXX", base != NULL ? base : "/tmp");
    bench_require(mkdtemp(folder) != NULL, "making a folder");
    find_lethe(lethe);
    snprintf(command, sizeof command, "%s/words", folder);
    write_words(command, count, options->seed);
    struct report report;
    report_begin(&report, "sketch-words", options->json, columns, COLUMNS);
    snprintf(command, sizeof command,
             "cd '%s' && LC_ALL=C && export LC_ALL && sort words | uniq -c | sort -rn | head -n %d "
             "> exact",
             folder, LISTED);
    struct outcome shell = best_of(command, options->full ? 1 : options->runs);
    report_way(&report, "sort | uniq -c | sort -rn | head -n 100", count, shell, 1, LISTED);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        snprintf(command, sizeof command, "cd '%s' && '%s' freq build --quiet %s --out s words",
                 folder, lethe, ways[i].arguments);
        struct outcome ours = best_of(command, options->runs);
        snprintf(command, sizeof command, "cd '%s' && '%s' freq top -n %d s > listed", folder,
                 lethe, LISTED);
        run_command(command);
        report_way(&report, ways[i].way, count, ours, shell.seconds / ours.seconds,
                   count_listed(folder));
    }
    report_end(&report);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    run_command(command);
    return 0;
}

const struct workload workload_sketch_words = {
    .name = "sketch-words",
    .summary = "the 100 most frequent words, beside sort | uniq -c | sort -rn | head",
    .run = run_sketch_words,
};
