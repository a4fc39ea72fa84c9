/* paper/fid_12.c - Figure 12: queries a second, and the number of threads that ask.
 *
 * A measurement of time: its numbers differ from run to run, and need an idle machine. Each thread
 * stays on one core, thread i on the i-th of those that the process may use, round and round; so
 * more threads than cores share them evenly. The paper names no data sets; these are items drawn
 * evenly, by Zipf's law, and by a steeper one, where the counters asked for stay in the nearest
 * cache. */
#include <pthread.h>
#include <sched.h>

#include "frame/clock.h"
#include "frame/exit_code.h"
#include "paper/fid.h"

static const struct column columns[] = {
    {"threads", "threads", COLUMN_WHOLE}, {"uniform", "uniform", COLUMN_TENTH},
    {"zipf", "Zipf", COLUMN_TENTH},       {"steep", "steeper", COLUMN_TENTH},
    {"times", "times one", COLUMN_RATIO},
};

static const int thread_counts[] = {1, 2, 3, 4, 6, 8};
static const double skews[] = {FID_EVEN, FID_ZIPF, 1.5};

enum {
    ROWS = sizeof thread_counts / sizeof thread_counts[0],
    SETS = sizeof skews / sizeof skews[0],
    MOST = 8,
    BATCH = 1024,
    ROUNDS = 15,
    ASKED = 2441 * BATCH
};

/* The cores that the process may use. */
struct cores {
    int numbers[CPU_SETSIZE];
    int count;
};

static struct cores find_cores(void) {
    struct cores cores = {.count = 0};
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &set)) cores.numbers[cores.count++] = i;
    }
    return cores;
}

struct asker {
    const struct fid_stream *stream;
    const lethe_sketch *sketch;
    size_t count; /* queries to make */
    uint64_t sum; /* so that no answer goes unused */
};

static void *ask(void *context) {
    struct asker *asker = context;
    lethe_hash hashes[BATCH];
    uint64_t counts[BATCH];
    for (size_t first = 0; first < asker->count; first += BATCH) {
        const uint32_t *items = asker->stream->items + first;
        for (size_t i = 0; i < BATCH; i++)
            hashes[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, items[i]);
        (void)lethe_sketch_count_batch(asker->sketch, hashes, BATCH, counts, NULL);
        for (size_t i = 0; i < BATCH; i++)
            asker->sum += counts[i];
    }
    return NULL;
}

/* Starts a thread on its core; whether it could. A thread that cannot be bound runs anywhere. */
static bool start(struct asker *asker, const struct cores *cores, int number, pthread_t *out) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    if (cores->count > 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cores->numbers[number % cores->count], &set);
        (void)pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    }
    bool started = pthread_create(out, &attributes, ask, asker) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

/* Million queries a second of so many threads, the best of a few rounds. */
static double measure(const struct fid_stream *stream, const lethe_sketch *sketch,
                      const struct cores *cores, int threads) {
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct asker askers[MOST];
        pthread_t handles[MOST];
        int started = 0;
        double began = clock_seconds();
        for (; started < threads; started++) {
            askers[started] = (struct asker){stream, sketch, ASKED, 0};
            if (!start(&askers[started], cores, started, &handles[started])) break;
        }
        for (int i = 0; i < started; i++)
            pthread_join(handles[i], NULL);
        double rate = (double)ASKED * started / (clock_seconds() - began) / 1e6;
        if (started == threads && rate > best) best = rate;
    }
    return best;
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct cores cores = find_cores();
    double rates[SETS][ROWS] = {{0}};
    int code = EXIT_DONE;
    for (int set = 0; set < SETS && code == EXIT_DONE; set++) {
        struct fid_stream stream;
        fid_stream_begin(&stream, skews[set], FID_ITEMS, FID_LENGTH);
        lethe_sketch *sketch = fid_sketch(&stream, FID_FID, FID_WIDTH, FID_DEPTH, false);
        fid_insert(&stream, sketch, 0, FID_LENGTH);
        for (int i = 0; i < ROWS && stream.status == LETHE_OK; i++)
            rates[set][i] = measure(&stream, sketch, &cores, thread_counts[i]);
        lethe_sketch_free(sketch);
        code = fid_code(&stream);
    }
    for (int i = 0; i < ROWS; i++)
        REPORT_ROW(report, thread_counts[i], rates[0][i], rates[1][i], rates[2][i],
                   rates[0][i] / rates[0][0]);
    report_claim(
        report, "speed grows almost linearly with the threads up to the 24 that the CPU has, to 70 "
                "million queries a second: 2.9 million a thread.");
    report_result(report,
                  "on %d cores: %.0f million a second with one thread, %.2f times that with two. "
                  "Needs an idle machine.",
                  cores.count, rates[0][0], rates[0][1] / rates[0][0]);
    report_value(report, "one-thread-million-per-s", rates[0][0]);
    report_value(report, "two-threads-over-one-times", rates[0][1] / rates[0][0]);
    return code;
}

const struct figure figure_fid_12 = {
    .name = "fid-12",
    .title = "queries a second and the number of threads",
    .columns = "Million queries a second, in batches, hashing included, of all threads together, "
               "for items drawn evenly, by Zipf's law and by a steeper one (exponent 1.5); and how "
               "many times those of one thread the first are. Each thread stays on one core. "
               "Measured: these numbers differ from run to run.",
    .plot =
        "set title 'Figure 12: queries a second and the number of threads'\n"
        "set xlabel 'threads'\n"
        "set ylabel 'million queries a second'\n"
        "set yrange [0:]\n"
        "set xrange [0.8:8.2]\n"
        "plot data using 'threads':'uniform' with linespoints ls 1 title 'items drawn evenly', \\\n"
        "     data using 'threads':'zipf' with linespoints ls 2 title 'by the law of Zipf', \\\n"
        "     data using 'threads':'steep' with linespoints ls 3 title 'by a steeper one', \\\n"
        "     70.0/24*x with lines ls 6 dt 2 title 'the paper, 24 threads: 70'\n",
    .run = run,
};
