/* bench/count_lethe.c - `lethe count` in a process of its own; see count_lethe.h. */
#include "count_lethe.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "frame.h"
#include "shell.h"

/* A member of the object that `lethe stat --json` prints. */
static double stat_member(const char *text, const char *name) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", name);
    const char *found = strstr(text, quoted);
    bench_require(found != NULL, "reading what lethe stat printed");
    return strtod(found + strlen(quoted), NULL);
}

static void read_stat(const char *lethe, const char *store, const char *folder, bool has_sketch,
                      struct count_outcome *out) {
    static char text[1 << 16];
    char path[COUNT_PATH_BYTES];
    snprintf(path, sizeof path, "%s/stat", folder);
    const char *words[] = {lethe, "stat", "--db", store, "--json", NULL};
    count_run(words, path);
    FILE *file = fopen(path, "r");
    bench_require(file != NULL, "reading what lethe stat printed");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    out->applied = (uint64_t)stat_member(text, "applied");
    out->log_bytes = stat_member(text, "log_bytes");
    if (has_sketch) out->sum = (int64_t)stat_member(text, "sketch_total");
}

/* Reads a line "key<TAB>number"; false at the end. */
static bool read_counter(FILE *file, char key[COUNT_KEY_BYTES + 1], int64_t *value) {
    char line[64];
    key[0] = '\0';
    *value = 0;
    if (fgets(line, sizeof line, file) == NULL) return false;
    bench_require(strlen(line) > COUNT_KEY_BYTES + 1, "reading a list of counters");
    memcpy(key, line, COUNT_KEY_BYTES);
    key[COUNT_KEY_BYTES] = '\0';
    *value = strtoll(line + COUNT_KEY_BYTES + 1, NULL, 10);
    return true;
}

/* Compares the counters with the truth, both in order. A fresh event that was taken for a duplicate
 * makes a counter smaller, or keeps it from being there at all; nothing may make one larger.
 * Returns how many are smaller. */
static uint64_t compare_counters(const char *truth_path, const char *list_path) {
    FILE *truth = fopen(truth_path, "r"), *list = fopen(list_path, "r");
    bench_require(truth != NULL && list != NULL, "opening lists of counters");
    char key[COUNT_KEY_BYTES + 1], listed_key[COUNT_KEY_BYTES + 1];
    int64_t value, listed;
    uint64_t smaller = 0;
    bool has_listed = read_counter(list, listed_key, &listed);
    while (read_counter(truth, key, &value)) {
        if (has_listed && strcmp(key, listed_key) == 0) {
            bench_require(listed <= value, "counting: a counter is too large");
            smaller += listed < value;
            has_listed = read_counter(list, listed_key, &listed);
        } else {
            smaller++;
        }
    }
    bench_require(!has_listed, "counting: a counter is not of any event");
    fclose(truth);
    fclose(list);
    return smaller;
}

/* Returns how many fresh events were taken for duplicates, after checking that they are not too
 * many. */
static uint64_t check_applied(const struct count_events *events, double error,
                              const struct count_outcome *out) {
    /* Of n fresh ids, n times the error are taken for duplicates on average; six standard
     * deviations more are very unlikely. */
    double expected = (double)events->originals * error;
    uint64_t most = (uint64_t)(expected + 6 * sqrt(expected));
    bench_require(out->applied <= events->originals, "counting: an event was counted twice");
    uint64_t lost = events->originals - out->applied;
    bench_require(lost <= most, "counting: too many new events were taken for duplicates");
    return lost;
}

static void check(const char *lethe, const char *store, const struct count_events *events,
                  const char *folder, double error, struct count_outcome *out) {
    char path[COUNT_PATH_BYTES];
    snprintf(path, sizeof path, "%s/list", folder);
    const char *words[] = {lethe, "list", "--db", store, NULL};
    count_run(words, path);
    out->sum = count_sum_lines(path);
    uint64_t lost = check_applied(events, error, out);
    bench_require(compare_counters(events->truth_path, path) <= lost,
                  "counting: a counter is too small");
}

static void check_store(const char *lethe, const char *store, const struct count_events *events,
                        const char *folder, const struct count_manner *manner,
                        struct count_outcome *out) {
    out->disk_bytes = bench_folder_bytes(store);
    read_stat(lethe, store, folder, manner->has_sketch, out);
    if (!manner->has_sketch) {
        check(lethe, store, events, folder, manner->error, out);
    } else if (check_applied(events, manner->error, out) == 0) {
        bench_require(out->sum == events->sum, "counting: the sketch's total is not the truth");
    }
}

static void count(const struct count_events *events, const char *folder, struct count_manner manner,
                  struct count_outcome *out) {
    char lethe[COUNT_PATH_BYTES], store[COUNT_PATH_BYTES];
    shell_find_lethe(lethe);
    snprintf(store, sizeof store, "%s/store", folder);
    const char *words[] = {lethe,
                           "count",
                           "-q",
                           "--db",
                           store,
                           manner.reads_json ? events->json_path : events->path,
                           manner.options[0],
                           manner.options[1],
                           NULL};
    *out = (struct count_outcome){.cost = count_run(words, NULL)};
    check_store(lethe, store, events, folder, &manner, out);
}

void count_feed_lethe(struct count_feed *feed, const char *folder,
                      const struct count_manner *manner, struct count_outcome *out) {
    char lethe[COUNT_PATH_BYTES], store[COUNT_PATH_BYTES];
    shell_find_lethe(lethe);
    snprintf(store, sizeof store, "%s/store", folder);
    const char *words[] = {
        lethe, "count", "-q", "--db", store, manner->options[0], manner->options[1], NULL};
    *out = (struct count_outcome){.cost = count_feed_run(feed, words, folder)};
    check_store(lethe, store, &feed->events, folder, manner, out);
}

void count_by_lethe(const struct count_events *events, const char *folder,
                    struct count_outcome *out) {
    count(events, folder, (struct count_manner){.error = 1e-12}, out);
}

void count_by_lighter_lethe(const struct count_events *events, const char *folder,
                            struct count_outcome *out) {
    count(events, folder, (struct count_manner){.options = {"--error", "1e-6"}, .error = 1e-6},
          out);
}

void count_by_exact_lethe(const struct count_events *events, const char *folder,
                          struct count_outcome *out) {
    count(events, folder, (struct count_manner){.options = {"--exact"}}, out);
}

void count_by_sketching_lethe(const struct count_events *events, const char *folder,
                              struct count_outcome *out) {
    count(
        events, folder,
        (struct count_manner){.options = {"--sketch", "16MiB"}, .error = 1e-12, .has_sketch = true},
        out);
}

void count_by_metered_lethe(const struct count_events *events, const char *folder,
                            struct count_outcome *out) {
    count(events, folder, (struct count_manner){.options = {"--per", "1h"}, .error = 1e-12}, out);
}

/* The ledger's error is 1e-9, up to 2^30 ids. */
void count_for_ever_by_lethe(const struct count_events *events, const char *folder,
                             struct count_outcome *out) {
    count(events, folder, (struct count_manner){.options = {"--forever"}, .error = 1e-9}, out);
}

void count_json_by_lethe(const struct count_events *events, const char *folder,
                         struct count_outcome *out) {
    count(events, folder,
          (struct count_manner){.options = {"--jsonl"}, .error = 1e-12, .reads_json = true}, out);
}
