/* paper/cf_runs.c - the runs of Figure 3; see cf_runs.h. Measures time. */
#include "paper/cf_runs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "filter/cascade_worker.h"
#include "frame/clock.h"
#include "frame/exit_code.h"
#include "paper/disk_bloom.h"
#include "paper/published_cascade.h"
#include "paper/published_quotient.h"
#include "say/message.h"

enum {
    PAPER_KEY_BITS = 33,
    PAPER_QUOTIENT_BITS = 27,
    PAPER_FINGERPRINT_BITS = 44,
    MOST_LEVELS = 6,
    AHEAD = 16 /* insertions whose memory is on its way */
};

static const uint64_t ABSENT = UINT64_C(1) << 40; /* keys from here on are never inserted */

void cf_sizes_for(unsigned scale, struct cf_sizes *sizes) {
    unsigned bits = 0;
    while (scale >> bits > 1)
        bits++;
    sizes->keys = UINT64_C(1) << (PAPER_KEY_BITS - bits);
    sizes->quotient_bits = PAPER_QUOTIENT_BITS - bits;
    sizes->fingerprint_bits = PAPER_FINGERPRINT_BITS - bits;
    sizes->memory_entries = (UINT64_C(3) << sizes->quotient_bits) / 4;
    struct published_shape shape = {.quotient_bits = sizes->quotient_bits,
                                    .remainder_bits =
                                        sizes->fingerprint_bits - sizes->quotient_bits};
    sizes->memory_bytes = (size_t)published_words(&shape) * 8;
}

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void hash_keys(uint64_t first, size_t count, lethe_hash *out) {
    uint64_t keys[CF_BATCH];
    for (size_t i = 0; i < count; i++)
        keys[i] = first + i;
    lethe_hash_u64_batch(LETHE_DEFAULT_SEED, keys, count, out);
}

static void note(struct course *course, double seconds, uint64_t keys) {
    if (course->count < COURSE_SAMPLES) {
        course->seconds[course->count] = seconds;
        course->keys[course->count++] = (double)keys;
    }
    course->rate = (double)keys / seconds;
}

static void note_wait(struct course *course, double waited_s, uint64_t keys) {
    if (waited_s <= course->longest_s) return;
    course->longest_s = waited_s;
    course->longest_at = (double)keys;
}

double course_at(const struct course *course, double seconds) {
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

static int fail_disk(const struct cf_sizes *sizes) {
    return message_fail(EXIT_ENVIRONMENT, "cannot write in %s: %s; name another place with TMPDIR",
                        sizes->folder, strerror(errno));
}

/* The published cascade filter. */

/* What goes on: where the clock stands still while keys are looked up. */
struct published_run {
    struct published_cascade *cascade;
    struct course *course;
    double start, cpu_start;
};

static bool look_up_published(struct published_run *run) {
    struct course *course = run->course;
    double start = clock_seconds(), cpu_start = cpu_seconds();
    bool fine = true;
    for (uint64_t i = 0; i < CF_LOOKUPS && fine; i++) {
        lethe_hash hash = lethe_hash_u64(LETHE_DEFAULT_SEED, ABSENT + i);
        bool is_present;
        double before = clock_seconds();
        fine = published_cascade_test(run->cascade, hash, &is_present, &course->reads);
        double middle = clock_seconds();
        fine = fine && published_cascade_read(run->cascade, hash.low);
        course->lookup_seconds += middle - before;
        course->page_seconds += clock_seconds() - middle;
    }
    double taken = clock_seconds() - start;
    course->lookups = CF_LOOKUPS;
    course->levels = published_cascade_levels(run->cascade);
    run->start += taken;
    run->cpu_start += cpu_seconds() - cpu_start;
    return fine;
}

/* The insertion before which QF0 is full waits for a merge. */
static bool insert_waiting(struct published_run *run, lethe_hash hash, uint64_t done) {
    if (run->course->lookups == 0 && published_cascade_levels(run->cascade) == MOST_LEVELS &&
        !look_up_published(run)) {
        return false;
    }
    double before = clock_seconds();
    note(run->course, before - run->start, done);
    if (!published_cascade_insert(run->cascade, hash)) return false;
    double after = clock_seconds();
    note(run->course, after - run->start, done + 1);
    note_wait(run->course, after - before, done);
    return true;
}

static bool insert_published(struct published_run *run, uint64_t keys) {
    static lethe_hash hashes[CF_BATCH];
    uint64_t every = keys / (COURSE_SAMPLES / 2);
    run->start = clock_seconds();
    run->cpu_start = cpu_seconds();
    for (uint64_t done = 0; done < keys; done++) {
        if (done % CF_BATCH == 0) hash_keys(done, CF_BATCH, hashes);
        lethe_hash hash = hashes[done % CF_BATCH];
        if (done % CF_BATCH < CF_BATCH - AHEAD)
            published_cascade_prefetch(run->cascade, hashes[done % CF_BATCH + AHEAD]);
        bool fine = published_cascade_is_full(run->cascade)
                        ? insert_waiting(run, hash, done)
                        : published_cascade_insert(run->cascade, hash);
        if (!fine) return false;
        if ((done + 1) % every == 0 || done + 1 == keys)
            note(run->course, clock_seconds() - run->start, done + 1);
    }
    run->course->cpu_seconds = cpu_seconds() - run->cpu_start;
    return true;
}

int cf_run_published(const struct cf_sizes *sizes, bool has_tombstones, struct course *course) {
    struct published_run run = {
        .cascade = published_cascade_new(
            &(struct published_cascade_options){.folder = sizes->folder,
                                                .quotient_bits = sizes->quotient_bits,
                                                .fingerprint_bits = sizes->fingerprint_bits,
                                                .memory_entries = sizes->memory_entries,
                                                .has_tombstones = has_tombstones}),
        .course = course};
    int code =
        run.cascade != NULL && insert_published(&run, sizes->keys) ? EXIT_DONE : fail_disk(sizes);
    published_cascade_free(run.cascade);
    return code;
}

/* Ours. */

static lethe_status insert_ours(lethe_cascade *cascade, uint64_t keys, struct course *course) {
    static lethe_hash hashes[CF_BATCH];
    double start = clock_seconds(), cpu_start = cpu_seconds();
    uint64_t every = keys / (COURSE_SAMPLES / 2), next = every;
    for (uint64_t done = 0; done < keys; done += CF_BATCH) {
        hash_keys(done, CF_BATCH, hashes);
        double before = clock_seconds();
        lethe_status status = lethe_cascade_add_batch(cascade, hashes, CF_BATCH, 0, NULL);
        if (status != LETHE_OK) return status;
        double after = clock_seconds();
        note_wait(course, after - before, done);
        if (done + CF_BATCH >= next || done + CF_BATCH == keys) {
            note(course, after - start, done + CF_BATCH);
            next += every;
        }
    }
    course->cpu_seconds = cpu_seconds() - cpu_start;
    return LETHE_OK;
}

/* One key at a time, as the paper does. */
static lethe_status look_up_ours(lethe_cascade *cascade, struct course *course) {
    double start = clock_seconds();
    for (uint64_t i = 0; i < CF_LOOKUPS; i++) {
        lethe_hash hash = lethe_hash_u64(LETHE_DEFAULT_SEED, ABSENT + i);
        uint8_t is_present;
        lethe_status status = lethe_cascade_test_batch(cascade, &hash, 1, 0, &is_present);
        if (status != LETHE_OK) return status;
    }
    course->lookup_seconds = clock_seconds() - start;
    course->lookups = CF_LOOKUPS;
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    lethe_status status = lethe_cascade_info(cascade, 0, &stats);
    course->reads = stats.pages_read;
    course->levels = (unsigned)lround(stats.runs_per_lookup);
    return status;
}

int cf_run_ours(const struct cf_sizes *sizes, struct course *course) {
    char folder[TEMPORARY_BYTES + 16];
    snprintf(folder, sizeof folder, "%s/cascade", sizes->folder);
    uint64_t memory_bytes = sizes->memory_bytes;
    if (memory_bytes < LETHE_CASCADE_MIN_MEMORY_BYTES)
        memory_bytes = LETHE_CASCADE_MIN_MEMORY_BYTES;
    lethe_cascade_options options =
        LETHE_OPTIONS(lethe_cascade_options, .capacity = sizes->keys, .error = PAPER_ERROR,
                      .memory_bytes = memory_bytes, .growth = 2, /* as published */
                      .durability = LETHE_CASCADE_CHECKPOINTED, .direct = true);
    lethe_cascade *cascade;
    lethe_status status = lethe_cascade_open(folder, &options, &cascade, NULL);
    if (status != LETHE_OK) {
        temporary_remove(folder);
        return message_fail_file(status, "make", folder);
    }
    struct cascade_worker *worker = cascade_worker_start(cascade);
    status = insert_ours(cascade, sizes->keys, course);
    cascade_worker_stop(worker);
    if (status == LETHE_OK) status = look_up_ours(cascade, course);
    int code = EXIT_DONE;
    if (status != LETHE_OK) code = message_fail_file(status, "use", folder);
    status = lethe_cascade_close(cascade, NULL);
    if (code == EXIT_DONE && status != LETHE_OK) code = message_fail_file(status, "close", folder);
    temporary_remove(folder);
    return code;
}

/* Bloom filters on disk. */

static bool insert_bloom(struct disk_bloom *filter, uint64_t keys, struct course *course) {
    static lethe_hash hashes[CF_BATCH];
    double start = clock_seconds(), cpu_start = cpu_seconds(), seconds = 0, noted = 0;
    for (uint64_t done = 0; done < keys && seconds < BLOOM_SECONDS; done++) {
        if (done % CF_BATCH == 0) hash_keys(done, CF_BATCH, hashes);
        if (!disk_bloom_insert(filter, hashes[done % CF_BATCH])) return false;
        double before = seconds;
        seconds = clock_seconds() - start;
        note_wait(course, seconds - before, done);
        if (seconds - noted >= BLOOM_SECONDS / (COURSE_SAMPLES / 2.0) || done + 1 == keys) {
            note(course, seconds, done + 1);
            noted = seconds;
        }
    }
    course->cpu_seconds = cpu_seconds() - cpu_start;
    return true;
}

static bool look_up_bloom(struct disk_bloom *filter, struct course *course) {
    if (!disk_bloom_fill_half(filter)) return false;
    double start = clock_seconds();
    for (uint64_t i = 0; i < CF_LOOKUPS; i++) {
        bool is_present;
        if (!disk_bloom_test(filter, lethe_hash_u64(LETHE_DEFAULT_SEED, ABSENT + i), &is_present,
                             &course->reads)) {
            return false;
        }
    }
    course->lookup_seconds = clock_seconds() - start;
    course->lookups = CF_LOOKUPS;
    return true;
}

int cf_run_bloom(const struct cf_sizes *sizes, bool is_elevator, struct course *course) {
    char path[TEMPORARY_BYTES + 16];
    snprintf(path, sizeof path, "%s/bloom", sizes->folder);
    uint64_t bits = (uint64_t)((double)sizes->keys * -log2(PAPER_ERROR) / log(2));
    struct disk_bloom *filter =
        disk_bloom_make(path, bits, BLOOM_HASHES, sizes->memory_bytes, is_elevator);
    bool fine = filter != NULL && insert_bloom(filter, sizes->keys, course) &&
                (is_elevator || look_up_bloom(filter, course));
    int code = fine ? EXIT_DONE : fail_disk(sizes);
    disk_bloom_free(filter);
    return code;
}
