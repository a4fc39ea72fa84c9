/* paper/cf_3.c - Figure 3: insertions over time, the cascade filter beside two Bloom filters on the
 * same disk. Measures time.
 *
 * The paper's 8.59 G keys with 256 MiB are scaled down by 256, keys and memory alike, so that data
 * and memory are in the same proportion; `--full` takes its own sizes. The Bloom filters get ten
 * seconds, which is enough to see how fast they are. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "filter/cascade_worker.h"
#include "frame/clock.h"
#include "frame/exit_code.h"
#include "output/temporary.h"
#include "paper/disk_bloom.h"
#include "paper/paper.h"
#include "say/message.h"

enum { BATCH = 4096, SAMPLES = 1000, ROWS = 20, SCALE = 256, BLOOM_HASHES = 11 };

#define PAPER_ERROR 0.0004
#define BLOOM_SECONDS 10

static const uint64_t PAPER_KEYS = UINT64_C(8590000000);
static const uint64_t PAPER_MEMORY_BYTES = (uint64_t)256 << 20;

static const struct column columns[] = {
    {"seconds", "seconds", COLUMN_RATIO},
    {"cascade", "cascade, M", COLUMN_RATIO},
    {"elevator", "elevator, M", COLUMN_RATIO},
    {"traditional", "traditional, M", COLUMN_RATE},
};

/* How many keys were in after how long. */
struct course {
    double seconds[SAMPLES], keys[SAMPLES];
    size_t count;
    double rate; /* over all */
};

struct setting {
    uint64_t keys, memory_bytes;
    char folder[TEMPORARY_BYTES];
};

static void hash_keys(uint64_t first, size_t count, lethe_hash *out) {
    uint64_t keys[BATCH];
    for (size_t i = 0; i < count; i++)
        keys[i] = first + i;
    lethe_hash_u64_batch(LETHE_DEFAULT_SEED, keys, count, out);
}

static void note(struct course *course, double seconds, uint64_t keys) {
    if (course->count < SAMPLES) {
        course->seconds[course->count] = seconds;
        course->keys[course->count++] = (double)keys;
    }
    course->rate = (double)keys / seconds;
}

static int insert_all(lethe_cascade *cascade, uint64_t keys, struct course *course,
                      double *longest_s) {
    static lethe_hash hashes[BATCH];
    double start = clock_seconds();
    uint64_t every = keys / SAMPLES + 1, next = every;
    for (uint64_t done = 0; done < keys;) {
        size_t size = keys - done < BATCH ? (size_t)(keys - done) : BATCH;
        hash_keys(done, size, hashes);
        double before = clock_seconds();
        lethe_status status = lethe_cascade_add_batch(cascade, hashes, size, 0, NULL);
        if (status != LETHE_OK) return message_fail_file(status, "write", "the cascade filter");
        double after = clock_seconds();
        if (after - before > *longest_s) *longest_s = after - before;
        done += size;
        if (done >= next || done == keys) {
            note(course, after - start, done);
            next += every;
        }
    }
    return EXIT_DONE;
}

static int run_cascade(const struct setting *setting, struct course *course, double *longest_s) {
    char folder[TEMPORARY_BYTES + 16];
    snprintf(folder, sizeof folder, "%s/cascade", setting->folder);
    lethe_cascade_options options =
        LETHE_OPTIONS(lethe_cascade_options, .capacity = setting->keys, .error = PAPER_ERROR,
                      .memory_bytes = setting->memory_bytes, .growth = 2, /* as published */
                      .durability = LETHE_CASCADE_CHECKPOINTED, .direct = true);
    lethe_cascade *cascade;
    lethe_status status = lethe_cascade_open(folder, &options, &cascade, NULL);
    if (status != LETHE_OK) return message_fail_file(status, "make", folder);
    struct cascade_worker *worker = cascade_worker_start(cascade);
    int code = insert_all(cascade, setting->keys, course, longest_s);
    cascade_worker_stop(worker);
    status = lethe_cascade_close(cascade, NULL);
    if (code == EXIT_DONE && status != LETHE_OK) code = message_fail_file(status, "close", folder);
    return code;
}

static int run_bloom(const struct setting *setting, bool is_elevator, struct course *course) {
    char path[TEMPORARY_BYTES + 16];
    snprintf(path, sizeof path, "%s/bloom", setting->folder);
    uint64_t bits = (uint64_t)((double)setting->keys * -log2(PAPER_ERROR) / log(2));
    struct disk_bloom *filter =
        disk_bloom_make(path, bits, BLOOM_HASHES, (size_t)setting->memory_bytes, is_elevator);
    static lethe_hash hashes[BATCH];
    double start = clock_seconds(), seconds = 0, noted = 0;
    bool fine = filter != NULL;
    for (uint64_t done = 0; fine && done < setting->keys && seconds < BLOOM_SECONDS; done++) {
        if (done % BATCH == 0) hash_keys(done, BATCH, hashes);
        fine = disk_bloom_insert(filter, hashes[done % BATCH]);
        seconds = clock_seconds() - start;
        if (seconds - noted >= BLOOM_SECONDS / (double)SAMPLES || done + 1 == setting->keys) {
            note(course, seconds, done + 1);
            noted = seconds;
        }
    }
    int error = errno;
    disk_bloom_free(filter);
    if (fine) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot write %s: %s; name another place with TMPDIR",
                        path, strerror(error));
}

/* Millions of keys that were in at a time; a gap after the end. */
static double at_time(const struct course *course, double seconds) {
    if (seconds <= 0) return 0;
    double before_s = 0, before = 0;
    for (size_t i = 0; i < course->count; i++) {
        if (course->seconds[i] >= seconds) {
            double share = (seconds - before_s) / (course->seconds[i] - before_s);
            return (before + share * (course->keys[i] - before)) / 1e6;
        }
        before_s = course->seconds[i];
        before = course->keys[i];
    }
    return NAN;
}

static void tell(struct report *report, const struct setting *setting, const struct course *courses,
                 double longest_s) {
    double end = courses[0].seconds[courses[0].count - 1];
    for (int i = 1; i <= ROWS; i++) {
        double seconds = i == ROWS ? end : end * i / ROWS;
        REPORT_ROW(report, seconds, at_time(&courses[0], seconds), at_time(&courses[1], seconds),
                   at_time(&courses[2], seconds));
    }
    report_claim(report,
                 "8.59 G keys with 256 MiB at an error of 0.04%%: 670,000 insertions a second, 40 "
                 "times an elevator Bloom filter and 3,200 times a traditional one; long stalls "
                 "while runs are merged.");
    report_result(report,
                  "%.1f M keys with %.0f MiB: %.0f insertions a second, %.0f times the elevator's "
                  "%.0f and %.0f times the traditional one's %.0f.",
                  (double)setting->keys / 1e6, (double)setting->memory_bytes / 1048576,
                  courses[0].rate, courses[0].rate / courses[1].rate, courses[1].rate,
                  courses[0].rate / courses[2].rate, courses[2].rate);
    report_result(
        report, "no insertion waits for a merge: the longest call, with 4,096 keys, took %.1f ms.",
        longest_s * 1e3);
}

static int run(struct report *report) {
    static struct course courses[3];
    memset(courses, 0, sizeof courses);
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct setting setting = {.keys = report->is_full ? PAPER_KEYS : PAPER_KEYS / SCALE,
                              .memory_bytes = report->is_full ? PAPER_MEMORY_BYTES
                                                              : PAPER_MEMORY_BYTES / SCALE};
    double longest_s = 0;
    int code = temporary_make("paper", setting.folder);
    if (code != EXIT_DONE) return code;
    code = run_cascade(&setting, &courses[0], &longest_s);
    if (code == EXIT_DONE) code = run_bloom(&setting, true, &courses[1]);
    if (code == EXIT_DONE) code = run_bloom(&setting, false, &courses[2]);
    char folder[TEMPORARY_BYTES + 16];
    snprintf(folder, sizeof folder, "%s/cascade", setting.folder);
    temporary_remove(folder);
    temporary_remove(setting.folder);
    if (code == EXIT_DONE) tell(report, &setting, courses, longest_s);
    return code;
}

const struct figure figure_cf_3 = {
    .name = "cf-3",
    .title = "insertions over time, the cascade filter and Bloom filters on disk",
    .columns = "Million keys inserted after so many seconds: a cascade filter, an elevator Bloom "
               "filter, which queues bits in memory and goes over the file when that is full, "
               "and a traditional one, which changes a page for each bit. All have the same "
               "memory and the same error of 0.04%, past the page cache.",
    .plot =
        "set title 'Figure 3: insertions over time'\n"
        "set xlabel 'seconds'\n"
        "set ylabel 'million keys'\n"
        "set key left top\n"
        "plot data using 'seconds':'cascade' with lines ls 1 title 'cascade filter', \\\n"
        "     data using 'seconds':'elevator' with lines ls 2 title 'elevator Bloom filter', \\\n"
        "     data using 'seconds':'traditional' with lines ls 3 title 'traditional Bloom "
        "filter'\n",
    .run = run,
};
