/* paper/fid_12.c - Figure 12: queries a second, and the number of threads that ask.
 *
 * The one figure that is a measurement of time: its numbers differ from run to run. */
#include <pthread.h>
#include <unistd.h>

#include "frame/clock.h"
#include "frame/exit_code.h"
#include "paper/fid.h"

static const struct column columns[] = {
    {"threads", "threads", COLUMN_WHOLE},
    {"uniform", "uniform", COLUMN_TENTH},
    {"zipf", "Zipf", COLUMN_TENTH},
    {"times", "times one", COLUMN_RATIO},
};

static const int thread_counts[] = {1, 2, 3, 4, 6, 8};

enum {
    ROWS = sizeof thread_counts / sizeof thread_counts[0],
    MOST = 8,
    BATCH = 1024,
    ROUNDS = 15,
    ASKED = 2441 * BATCH
};

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

/* Million queries a second of so many threads, the best of a few rounds. */
static double measure(const struct fid_stream *stream, const lethe_sketch *sketch, int threads) {
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct asker askers[MOST];
        pthread_t handles[MOST];
        int started = 0;
        double start = clock_seconds();
        for (; started < threads; started++) {
            askers[started] = (struct asker){stream, sketch, ASKED, 0};
            if (pthread_create(&handles[started], NULL, ask, &askers[started]) != 0) break;
        }
        for (int i = 0; i < started; i++)
            pthread_join(handles[i], NULL);
        double rate = (double)ASKED * started / (clock_seconds() - start) / 1e6;
        if (started == threads && rate > best) best = rate;
    }
    return best;
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    double rates[2][ROWS] = {{0}};
    int code = EXIT_DONE;
    for (int zipf = 0; zipf < 2 && code == EXIT_DONE; zipf++) {
        struct fid_stream stream;
        fid_stream_begin(&stream, zipf, FID_ITEMS, FID_LENGTH);
        lethe_sketch *sketch = fid_sketch(&stream, FID_FID, FID_WIDTH, FID_DEPTH);
        fid_insert(&stream, sketch, 0, FID_LENGTH);
        for (int i = 0; i < ROWS && stream.status == LETHE_OK; i++)
            rates[zipf][i] = measure(&stream, sketch, thread_counts[i]);
        lethe_sketch_free(sketch);
        code = fid_code(&stream);
    }
    for (int i = 0; i < ROWS; i++)
        REPORT_ROW(report, thread_counts[i], rates[0][i], rates[1][i], rates[0][i] / rates[0][0]);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    report_claim(
        report, "speed grows almost linearly with the threads up to the 24 that the CPU has, to 70 "
                "million queries a second.");
    report_result(report,
                  "on %ld cores: %.0f million a second with one thread, %.2f times that with two.",
                  cores, rates[0][0], rates[0][1] / rates[0][0]);
    return code;
}

const struct figure figure_fid_12 = {
    .name = "fid-12",
    .title = "queries a second and the number of threads",
    .columns = "Million queries a second, in batches, hashing included, of all threads together; "
               "and how many "
               "times those of one thread. Measured: these numbers, unlike all others, differ from "
               "run to run.",
    .plot = "set xlabel 'threads'\n"
            "set ylabel 'million queries a second'\n"
            "set yrange [0:]\n"
            "plot data using \"threads\":\"uniform\" with linespoints ls 1 title 'uniform', \\\n"
            "     data using \"threads\":\"zipf\" with linespoints ls 2 title 'Zipf'\n",
    .run = run,
};
