/* bench/frame.h - what every workload is built from.
 *
 * A workload is a function under a name. It times tasks: setup is not timed, run is, and the best
 * of several runs counts, since whatever else the machine does can only slow it. The first run, on
 * memory never touched before, is kept apart as the cold figure. */
#ifndef LETHE_BENCH_FRAME_H
#define LETHE_BENCH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_options {
    bool json;
    bool quick;    /* small sizes: shows that the workload works, not how fast it is */
    bool full;     /* the largest sizes, which take minutes */
    int runs;      /* best of how many */
    uint64_t seed; /* of all generated data */
};

struct workload {
    const char *name;
    const char *summary;
    int (*run)(const struct bench_options *options); /* returns an exit code */
};

extern const struct workload workload_bloom;
extern const struct workload workload_cascade;
extern const struct workload workload_count;
extern const struct workload workload_count_exact_scale;
extern const struct workload workload_count_memory;
extern const struct workload workload_count_scale;
extern const struct workload workload_dedup;
extern const struct workload workload_events;
extern const struct workload workload_filters;
extern const struct workload workload_gaussian;
extern const struct workload workload_leveldb; /* where LevelDB is */
extern const struct workload workload_leveldb_tables;
extern const struct workload workload_meters;
extern const struct workload workload_open;
extern const struct workload workload_quotient;
extern const struct workload workload_redis_batches;
extern const struct workload workload_redis_ring;
extern const struct workload workload_serve;
extern const struct workload workload_sketch;
extern const struct workload workload_sketch_words;
extern const struct workload workload_window;
extern const struct workload workload_window_growth;
extern const struct workload workload_window_memory;
extern const struct workload workload_window_design;

struct task {
    void (*setup)(void *context); /* before each run but the first; may be NULL */
    void (*run)(void *context);
    void *context;
};

struct timing {
    double cold_seconds; /* the first run */
    double best_seconds; /* the best of all runs */
};

struct timing bench_time(const struct task *task, int runs);

/* Seconds on a clock that only goes forward. */
double bench_now(void);
/* Seconds that this thread has been running: on a busy machine, what is left of the time. */
double bench_cpu_now(void);
/* The same of all threads of the process. */
double bench_cpu_seconds(void);

/* Ends the program with a message when an allocation or library call that must not fail did. */
void bench_require(bool condition, const char *what);

#endif
