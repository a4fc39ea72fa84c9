/* bench/count_events.c - files of events; see count_events.h. */
#include "count_events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frame.h"

/* What a process that writes a file is given. */
struct job {
    struct count_events *events; /* shared with the parent */
    uint64_t seed;
};

static void write_events(struct count_maker *maker, const struct count_events *events) {
    static const struct count_repeats repeats = {.in_ten = 1};
    FILE *file = fopen(events->path, "w");
    bench_require(file != NULL, "making a file of events");
    for (uint64_t i = 0; i < events->count; i++) {
        char line[COUNT_LINE_BYTES];
        count_maker_put(maker, repeats, line);
        bench_require(fwrite(line, 1, sizeof line, file) == sizeof line, "writing events");
    }
    /* Or the system would still be writing them while the first row is timed. */
    bench_require(fflush(file) == 0 && fsync(fileno(file)) == 0 && fclose(file) == 0,
                  "writing events");
}

static void make(void *context) {
    struct job *job = context;
    struct count_maker maker;
    count_maker_open(&maker, job->seed);
    write_events(&maker, job->events);
    count_maker_write_truth(&maker, job->events->truth_path);
    job->events->originals = maker.originals;
    job->events->sum = maker.sum;
    count_maker_close(&maker);
}

void count_events_make(struct count_events *events, const char *folder, uint64_t count,
                       uint64_t seed) {
    struct count_events *shared = count_shared(sizeof *shared);
    shared->count = count;
    snprintf(shared->path, sizeof shared->path, "%s/events-%" PRIu64, folder, count);
    snprintf(shared->truth_path, sizeof shared->truth_path, "%s/truth-%" PRIu64, folder, count);
    struct job job = {.events = shared, .seed = seed};
    count_fork(make, &job, "making events");
    *events = *shared;
    munmap(shared, sizeof *shared);
}

static void make_json(void *context) {
    const struct count_events *events = context;
    struct count_batches batches;
    FILE *file = fopen(events->json_path, "w");
    bench_require(file != NULL, "making a file of events");
    count_batches_open(&batches, events);
    while (count_batches_next(&batches)) {
        for (uint64_t i = 0; i < batches.count; i++) {
            fprintf(file, "{\"id\": \"%.*s\", \"key\": \"%.*s\", \"delta\": %c}\n", COUNT_ID_BYTES,
                    count_id(batches.lines, i), COUNT_KEY_BYTES, count_key(batches.lines, i),
                    (char)('0' + count_delta(batches.lines, i)));
        }
    }
    count_batches_close(&batches);
    bench_require(fflush(file) == 0 && fsync(fileno(file)) == 0 && fclose(file) == 0,
                  "writing events");
}

void count_events_make_json(struct count_events *events, const char *folder) {
    snprintf(events->json_path, sizeof events->json_path, "%s/events-%" PRIu64 ".json", folder,
             events->count);
    count_fork(make_json, events, "making events");
}

void count_events_drop(const struct count_events *events) {
    if (events->json_path[0] != '\0') unlink(events->json_path);
    unlink(events->path);
    unlink(events->truth_path);
}

const char *count_events_map(const struct count_events *events) {
    int file = open(events->path, O_RDONLY);
    bench_require(file >= 0, "opening the events");
    void *map =
        mmap(NULL, events->count * COUNT_LINE_BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    bench_require(map != MAP_FAILED, "reading the events");
    close(file);
    return map;
}

void count_batches_open(struct count_batches *batches, const struct count_events *events) {
    *batches = (struct count_batches){
        .file = fopen(events->path, "r"),
        .lines = malloc((size_t)COUNT_BATCH * COUNT_LINE_BYTES),
    };
    bench_require(batches->file != NULL && batches->lines != NULL, "opening the events");
}

bool count_batches_next(struct count_batches *batches) {
    batches->count = fread(batches->lines, COUNT_LINE_BYTES, COUNT_BATCH, batches->file);
    bench_require(!ferror(batches->file), "reading the events");
    return batches->count > 0;
}

void count_batches_close(struct count_batches *batches) {
    fclose(batches->file);
    free(batches->lines);
}
