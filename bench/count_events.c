/* bench/count_events.c - makes up events; see count_events.h.
 *
 * What an original looks like follows from its number alone, so that a duplicate of any of them can
 * be written without remembering it. */
#include "count_events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frame.h"
#include "keys.h"
#include "zipf.h"

enum { DUPLICATES_IN_TEN = 1 };

struct maker {
    struct count_events *events; /* shared with the parent */
    uint64_t seed, random;
    struct zipf zipf;
    int64_t *sums; /* by key */
};

static uint64_t next_random(struct maker *maker) {
    return keys_scramble(maker->random += UINT64_C(0x9e3779b97f4a7c15));
}

static char *put_hexadecimal(char *to, uint64_t value, int digits) {
    for (int i = digits - 1; i >= 0; i--)
        *to++ = "0123456789abcdef"[value >> (4 * i) & 15];
    return to;
}

static void put_id(char *to, uint64_t seed, uint64_t number) {
    uint64_t high = keys_scramble(seed ^ keys_scramble(2 * number)),
             low = keys_scramble(seed ^ keys_scramble(2 * number + 1));
    to = put_hexadecimal(to, high >> 32, 8);
    *to++ = '-';
    to = put_hexadecimal(to, high >> 16, 4);
    *to++ = '-';
    to = put_hexadecimal(to, 0x4000 | (high & 0xfff), 4); /* version 4 of the standard */
    *to++ = '-';
    to = put_hexadecimal(to, 0x8000 | (low >> 48 & 0x3fff), 4);
    *to++ = '-';
    put_hexadecimal(to, low, 12);
}

/* Of one length, so that the order of the keys is that of their ranks. */
static void put_key(char *to, uint32_t rank) {
    memcpy(to, "page-", 5);
    for (int i = COUNT_KEY_BYTES - 1; i >= 5; i--, rank /= 10)
        to[i] = (char)('0' + rank % 10);
}

static void put_line(struct maker *maker, char *to, uint64_t number, bool is_duplicate) {
    uint64_t own = keys_scramble(maker->seed + keys_scramble(number));
    maker->zipf.state = own;
    uint32_t rank = zipf_next(&maker->zipf);
    int delta = 1 + (int)(own % 9);
    put_id(to, maker->seed, number);
    to[COUNT_KEY_AT - 1] = '\t';
    put_key(to + COUNT_KEY_AT, rank);
    to[COUNT_DELTA_AT - 1] = '\t';
    to[COUNT_DELTA_AT] = (char)('0' + delta);
    to[COUNT_DELTA_AT + 1] = '\n';
    if (is_duplicate) return;
    maker->sums[rank] += delta;
    maker->events->sum += delta;
}

static void write_events(struct maker *maker) {
    struct count_events *events = maker->events;
    FILE *file = fopen(events->path, "w");
    bench_require(file != NULL, "making a file of events");
    for (uint64_t i = 0; i < events->count; i++) {
        char line[COUNT_LINE_BYTES];
        uint64_t random = next_random(maker);
        bool is_duplicate = i > 0 && random % 10 < DUPLICATES_IN_TEN;
        uint64_t number =
            is_duplicate ? next_random(maker) % events->originals : events->originals++;
        put_line(maker, line, number, is_duplicate);
        bench_require(fwrite(line, 1, sizeof line, file) == sizeof line, "writing events");
    }
    /* Or the system would still be writing them while the first row is timed. */
    bench_require(fflush(file) == 0 && fsync(fileno(file)) == 0 && fclose(file) == 0,
                  "writing events");
}

static void write_truth(const struct maker *maker) {
    FILE *file = fopen(maker->events->truth_path, "w");
    bench_require(file != NULL, "making a file");
    for (uint32_t rank = 0; rank < COUNT_KEYS; rank++) {
        char key[COUNT_KEY_BYTES];
        put_key(key, rank);
        if (maker->sums[rank] == 0) continue;
        fprintf(file, "%.*s\t%" PRId64 "\n", COUNT_KEY_BYTES, key, maker->sums[rank]);
    }
    bench_require(fclose(file) == 0, "writing a file");
}

static void make(void *context) {
    struct maker *maker = context;
    zipf_init(&maker->zipf, COUNT_KEYS, 0);
    maker->sums = calloc(COUNT_KEYS, sizeof *maker->sums);
    bench_require(maker->sums != NULL, "allocating");
    write_events(maker);
    write_truth(maker);
}

void count_events_make(struct count_events *events, const char *folder, uint64_t count,
                       uint64_t seed) {
    struct count_events *shared = count_shared(sizeof *shared);
    shared->count = count;
    snprintf(shared->path, sizeof shared->path, "%s/events-%" PRIu64, folder, count);
    snprintf(shared->truth_path, sizeof shared->truth_path, "%s/truth-%" PRIu64, folder, count);
    struct maker maker = {.events = shared, .seed = keys_scramble(seed), .random = seed};
    count_fork(make, &maker, "making events");
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
