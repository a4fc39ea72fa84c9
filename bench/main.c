/* bench/main.c - lethe-bench: runs workloads by name; `lethe bench` ends up here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

static const struct workload *const workloads[] = {
    &workload_bloom,         &workload_cascade,        &workload_count,
    &workload_count_scale,   &workload_count_memory,   &workload_count_exact_scale,
    &workload_dedup,         &workload_events,         &workload_filters,
    &workload_gaussian,      &workload_meters,         &workload_open,
    &workload_quotient,      &workload_redis_batches,  &workload_redis_ring,
    &workload_serve,         &workload_sketch,         &workload_sketch_words,
    &workload_window,        &workload_window_memory,  &workload_window_design,
    &workload_window_growth,
#if defined(BENCH_HAS_LEVELDB)
    &workload_leveldb,       &workload_leveldb_tables,
#endif
};

enum { WORKLOADS = sizeof workloads / sizeof workloads[0] };

static void print_usage(FILE *to) {
    fprintf(to, "usage: lethe bench [--json] [--quick] [--full] [--runs N] [--seed N] [NAME...]\n"
                "       lethe bench --list\n\n"
                "Runs the named workloads, or all of them.\n\n");
    for (int i = 0; i < WORKLOADS; i++)
        fprintf(to, "  %-18s %s\n", workloads[i]->name, workloads[i]->summary);
    fprintf(to, "\n  --list     print the names, and do nothing\n"
                "  --json     one JSON object per workload, with the machine and compiler\n"
                "  --quick    small sizes, one run: shows that it works, not how fast it is\n"
                "  --full     the largest sizes of workloads that have them, such as sketch-words\n"
                "  --runs N   best of N (3)\n"
                "  --seed N   of the generated data (1)\n");
}

/* A name first on each line: the shells' completions read it. */
static void print_list(void) {
    for (int i = 0; i < WORKLOADS; i++)
        printf("%-19s%s\n", workloads[i]->name, workloads[i]->summary);
}

static const struct workload *find(const char *name) {
    for (int i = 0; i < WORKLOADS; i++) {
        if (strcmp(workloads[i]->name, name) == 0) return workloads[i];
    }
    return NULL;
}

/* Reads a whole number from 1 to most, or ends the program. */
static uint64_t parse_number(const char *option, const char *text, uint64_t most) {
    char *end = NULL;
    unsigned long long value =
        text != NULL && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (end == NULL || *end != '\0' || value < 1 || value > most) {
        fprintf(stderr, "lethe-bench: %s takes a whole number from 1 to %llu\n", option,
                (unsigned long long)most);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv) {
    struct bench_options options = {.runs = 3, .seed = 1};
    const char *names[64];
    int count = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_usage(stdout);
            return 0;
        } else if (strcmp(argv[i], "--list") == 0) {
            print_list();
            return 0;
        } else if (strcmp(argv[i], "--json") == 0) {
            options.json = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            options.quick = true;
            options.runs = 1;
        } else if (strcmp(argv[i], "--full") == 0) {
            options.full = true; /* such as the billion events of count-scale */
        } else if (strcmp(argv[i], "--runs") == 0) {
            options.runs = (int)parse_number("--runs", argv[++i], 1000);
        } else if (strcmp(argv[i], "--seed") == 0) {
            options.seed = parse_number("--seed", argv[++i], UINT64_MAX);
        } else if (find(argv[i]) == NULL || count == 64) {
            fprintf(stderr, "lethe-bench: no workload or option '%s'; see lethe bench --help\n",
                    argv[i]);
            return 2;
        } else {
            names[count++] = argv[i];
        }
    }
    if (count == 0) {
        for (; count < WORKLOADS; count++)
            names[count] = workloads[count]->name;
    }
    int worst = 0;
    for (int i = 0; i < count; i++) {
        int code = find(names[i])->run(&options);
        if (code > worst) worst = code;
    }
    return worst;
}
