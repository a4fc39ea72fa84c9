/* bench/count_peers.c - what the peers share, and the smallest of them; see count_peers.h. */
#include "count_peers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "folder.h"
#include "frame.h"

void count_peer_fork(void (*run)(void *job), const char *name, const struct count_events *events,
                     const char *folder, struct count_outcome *out) {
    struct count_job job = {.events = events,
                            .folder = folder,
                            .out = count_shared(sizeof *job.out),
                            .started = bench_now()};
    count_fork(run, &job, name);
    *out = *job.out;
    munmap(job.out, sizeof *job.out);
}

int64_t count_sum_lines(const char *path) {
    char line[256];
    int64_t sum = 0;
    FILE *file = fopen(path, "r");
    bench_require(file != NULL, "opening a list of counters");
    while (fgets(line, sizeof line, file) != NULL) {
        const char *tab = strchr(line, '\t');
        bench_require(tab != NULL, "reading a list of counters");
        sum += strtoll(tab + 1, NULL, 10);
    }
    fclose(file);
    return sum;
}

void count_by_awk(const struct count_events *events, const char *folder,
                  struct count_outcome *out) {
    char output[COUNT_PATH_BYTES];
    snprintf(output, sizeof output, "%s/counters", folder);
    const char *words[] = {"awk", "-F\t",
                           "!s[$1]++ { c[$2] += $3 } END { for (k in c) print k \"\\t\" c[k] }",
                           events->path, NULL};
    *out = (struct count_outcome){.cost = count_run(words, output),
                                  .disk_bytes = bench_folder_bytes(folder),
                                  .sum = count_sum_lines(output)};
    /* It does not report that number; but every delta is positive. */
    out->applied = out->sum == events->sum ? events->originals : 0;
}
