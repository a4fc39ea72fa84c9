/* shards.c - hashes of lines, divided among files by their first bits; each file is gone through in
 * memory.
 *
 * IDEA    Equal lines have equal hashes, so they are in the same shard, in the order of the lines.
 *         Each shard can be judged on its own, with a table of the hashes that it has: a line whose
 *         hash is already in the table is a duplicate.
 * LAYOUT  A shard is a file of words of 64 bits. The upper bits are the hash without the bits that
 *         chose the shard. The lower STEP_BITS are the distance in lines from the word before.
 *         STEP_MOST means so many lines further and no line. Distances up to four times the number
 *         of shards fit, so few such words are needed.
 * I1      A table has a third of its slots free. A shard whose table would not fit in memory is
 *         read several times, each time for a part of its hashes; if a part still does not fit, for
 *         smaller parts.
 * I2      The answers are bits of a mapped file. A thread sets those of its own lines, which are
 *         next to those of others.
 * WHY     A filter on disk that answers line by line must read all of its pages for each few
 *         million lines. Here a hash is written once and read once, so the time per line does not
 *         grow with the number of lines. */
#include "dedup/shards.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frame/interrupt.h"
#include "output/behind.h"
#include "say/message.h"

enum {
    SHARD_BITS = 6,
    SHARDS = 1 << SHARD_BITS,
    STEP_BITS = SHARD_BITS + 2,
    STEP_MOST = (1 << STEP_BITS) - 1,
    WRITE_WORDS = 4 * 1024, /* of a shard, gathered before they are written */
    READ_WORDS = 32 * 1024,
    AHEAD = 32, /* words whose slots are asked for together */
    MOST_THREADS = 8,
    PATH_BYTES = 4096
};

#define STEP_BYTES ((uint64_t)1 << 20)
#define PROCESS_BYTES ((uint64_t)16 << 20)
#define GATHERING_BYTES (sizeof(uint64_t) * SHARDS * WRITE_WORDS)

_Static_assert(SHARDS_FINGERPRINT_BITS == 64 - STEP_BITS + SHARD_BITS, "what is left of a hash");

struct shard {
    int descriptor;
    /* Of the last word. */
    uint64_t last_line;
    /* Written and gathered. */
    uint64_t words;
    /* WRITE_WORDS of them. */
    uint64_t *gathering;
    size_t gathered;
    struct behind behind;
};

struct shards {
    const char *folder;
    uint64_t memory_bytes, lines;
    struct shard shards[SHARDS];
    /* Of all shards. */
    uint64_t *gathering;

    /* One bit per line, in a mapped file. */
    _Atomic uint64_t *duplicates;
    void *mapping;
    size_t duplicates_bytes;

    /* The shard to go through next. */
    atomic_uint next;
    /* A thread could not continue, for this errno. */
    atomic_bool failed;
    atomic_int error;
    unsigned threads;
    /* In bytes. */
    _Atomic uint64_t largest_table;
};

static int fail(const struct shards *shards, const char *attempt, int error) {
    return message_fail(EXIT_ENVIRONMENT,
                        "cannot %s %s: %s; make room there, or name another place by TMPDIR",
                        attempt, shards->folder, strerror(error));
}

static int open_file(const struct shards *shards, const char *name, unsigned number) {
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s-%02u", shards->folder, name, number) >= PATH_BYTES) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor >= 0) unlink(path); /* nothing is left, however the process ends */
    return descriptor;
}

int shards_open(const char *folder, uint64_t memory_bytes, struct shards **out) {
    *out = NULL;
    struct shards *shards = calloc(1, sizeof *shards);
    uint64_t *gathering = malloc(GATHERING_BYTES);
    if (shards == NULL || gathering == NULL) {
        free(shards);
        free(gathering);
        return message_fail(EXIT_ENVIRONMENT, "not enough memory; give a smaller --memory");
    }
    shards->folder = folder;
    shards->memory_bytes = memory_bytes;
    shards->gathering = gathering;
    for (unsigned i = 0; i < SHARDS; i++)
        shards->shards[i] = (struct shard){.descriptor = -1,
                                           .gathering = gathering + (size_t)i * WRITE_WORDS,
                                           .behind = {.step_bytes = STEP_BYTES}};
    *out = shards;
    for (unsigned i = 0; i < SHARDS; i++) {
        shards->shards[i].descriptor = open_file(shards, "shard", i);
        if (shards->shards[i].descriptor < 0) return fail(shards, "write to", errno);
    }
    return EXIT_DONE;
}

void shards_free(struct shards *shards) {
    if (shards == NULL) return;
    for (unsigned i = 0; i < SHARDS; i++) {
        if (shards->shards[i].descriptor >= 0) close(shards->shards[i].descriptor);
    }
    if (shards->mapping != NULL) munmap(shards->mapping, shards->duplicates_bytes);
    free(shards->gathering);
    free(shards);
}

static bool write_all(int descriptor, const void *data, size_t size) {
    const char *from = data;
    while (size > 0) {
        ssize_t written = write(descriptor, from, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        from += written;
        size -= (size_t)written;
    }
    return true;
}

static bool write_out(struct shard *shard) {
    size_t bytes = shard->gathered * sizeof *shard->gathering;
    shard->gathered = 0;
    if (!write_all(shard->descriptor, shard->gathering, bytes)) return false;
    return behind_wrote(&shard->behind, shard->descriptor, bytes);
}

static bool put(struct shard *shard, uint64_t word) {
    shard->gathering[shard->gathered++] = word;
    shard->words++;
    return shard->gathered < WRITE_WORDS || write_out(shard);
}

int shards_add(struct shards *shards, const lethe_hash *hashes, size_t count) {
    uint64_t line = shards->lines;
    bool fine = true;
    for (size_t i = 0; i < count && fine; i++, line++) {
        uint64_t hash = hashes[i].low;
        struct shard *shard = &shards->shards[hash >> (64 - SHARD_BITS)];
        uint64_t step = line - shard->last_line;
        for (; step >= STEP_MOST && fine; step -= STEP_MOST)
            fine = put(shard, STEP_MOST);
        shard->last_line = line;
        fine = fine && put(shard, hash << SHARD_BITS >> STEP_BITS << STEP_BITS | step);
    }
    shards->lines = line;
    return fine ? EXIT_DONE : fail(shards, "write to", errno);
}

/* --- Going through a shard */

/* One thread's place and memory. */
struct search {
    struct shards *shards;
    const struct shard *shard;
    uint64_t *table; /* hashes, never 0; 0 is free */
    uint64_t slots, used, parts, part;
    bool is_full; /* the part has more hashes than there is room for */
    uint64_t words[READ_WORDS];
};

/* A word whose line is to be judged. */
struct question {
    uint64_t hash, slot, line;
};

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
}

static void mark(const struct shards *shards, uint64_t line) {
    atomic_fetch_or_explicit(&shards->duplicates[line / 64], UINT64_C(1) << line % 64,
                             memory_order_relaxed);
}

/* In the order of their lines, so that the first of equal ones is the one that enters the table. */
static void answer(struct search *search, const struct question *questions, size_t count) {
    uint64_t *table = search->table;
    search->is_full = search->used + count >= search->slots;
    if (search->is_full) return;
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = questions[i].hash, slot = questions[i].slot;
        while (table[slot] != 0 && table[slot] != hash)
            slot = slot + 1 == search->slots ? 0 : slot + 1;
        bool is_duplicate = table[slot] == hash;
        if (is_duplicate) mark(search->shards, questions[i].line);
        search->used += !is_duplicate;
        table[slot] = hash;
    }
}

/* Judges the lines of some words; *line is that of the last word before them, and becomes that of
 * the last. */
static void go_through(struct search *search, size_t count, uint64_t *line) {
    struct question questions[AHEAD];
    const uint64_t *words = search->words; /* count of them were read */
    size_t asked = 0;
    for (size_t i = 0; i < count && !search->is_full; i++) {
        uint64_t word = words[i], step = word & STEP_MOST, hash = word - step, rest;
        *line += step;
        bool is_here = step != STEP_MOST && multiply(hash, search->parts, &rest) == search->part;
        if (!is_here) continue;
        uint64_t low, slot = multiply(rest, search->slots, &low);
        __builtin_prefetch(&search->table[slot], 1);
        questions[asked++] = (struct question){hash | 1, slot, *line};
        if (asked == AHEAD) {
            answer(search, questions, asked);
            asked = 0;
        }
    }
    if (!search->is_full) answer(search, questions, asked);
}

/* Reads words of a shard from number `from` on; false, by errno, when that fails or they are not
 * there. */
static bool read_words(struct search *search, uint64_t from, size_t count) {
    char *to = (char *)search->words;
    size_t left = count * sizeof(uint64_t);
    uint64_t offset = from * sizeof(uint64_t);
    while (left > 0) {
        ssize_t got = pread(search->shard->descriptor, to, left, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = EIO;
        if (got <= 0) return false;
        to += got;
        left -= (size_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

static bool go_through_part(struct search *search) {
    uint64_t line = 0, words = search->shard->words;
    memset(search->table, 0, search->slots * sizeof *search->table);
    search->used = 0;
    search->is_full = false;
    for (uint64_t from = 0; from < words && !search->is_full; from += READ_WORDS) {
        size_t count = words - from < READ_WORDS ? (size_t)(words - from) : READ_WORDS;
        if (interrupt_requested()) return true;
        if (!read_words(search, from, count)) return false;
        go_through(search, count, &line);
    }
    return true;
}

/* What tables may take, beside the marks and what the process needs anyway; not much less than
 * there is, if that is little. */
static uint64_t table_bytes(const struct shards *shards) {
    uint64_t others = shards->duplicates_bytes + GATHERING_BYTES + PROCESS_BYTES;
    uint64_t least = shards->memory_bytes / 4;
    return shards->memory_bytes > others + least ? shards->memory_bytes - others : least;
}

static bool go_through_shard(struct search *search) {
    struct shards *shards = search->shards;
    uint64_t wanted = search->shard->words + search->shard->words / 2 + (uint64_t)2 * AHEAD;
    uint64_t most = table_bytes(shards) / shards->threads / sizeof(uint64_t);
    search->parts = wanted / most + 1;
    /* Parts are about equal; a fiftieth more is for those that are larger. */
    search->slots =
        search->parts == 1 ? wanted : wanted / search->parts + wanted / search->parts / 50;
    uint64_t bytes = search->slots * sizeof(uint64_t);
    search->table = malloc(bytes);
    if (search->table == NULL) return false;
    if (bytes > atomic_load(&shards->largest_table)) atomic_store(&shards->largest_table, bytes);
    bool fine = true;
    for (search->part = 0; search->part < search->parts && fine;) {
        fine = go_through_part(search);
        search->part++;
        if (!search->is_full) continue;
        /* Parts that are far from equal: smaller ones, from the start. What was marked is right. */
        search->parts *= 2;
        search->part = 0;
    }
    free(search->table);
    return fine;
}

static void *go_through_shards(void *context) {
    struct shards *shards = context;
    struct search *search = calloc(1, sizeof *search);
    bool fine = search != NULL;
    unsigned number;
    while (fine && !atomic_load(&shards->failed) &&
           (number = atomic_fetch_add(&shards->next, 1)) < SHARDS) {
        search->shards = shards;
        search->shard = &shards->shards[number];
        errno = 0;
        fine = go_through_shard(search);
    }
    if (!fine) {
        atomic_store(&shards->error, search == NULL || errno == 0 ? ENOMEM : errno);
        atomic_store(&shards->failed, true);
    }
    free(search);
    return NULL;
}

static int map_duplicates(struct shards *shards) {
    int descriptor = open_file(shards, "duplicates", 0);
    if (descriptor < 0) return fail(shards, "write to", errno);
    shards->duplicates_bytes = (size_t)(shards->lines / 64 + 1) * sizeof(uint64_t);
    /* A mapped file whose blocks are not there yet would kill the process on a full disk. */
    int error = posix_fallocate(descriptor, 0, (off_t)shards->duplicates_bytes);
    void *mapped = error != 0 ? MAP_FAILED
                              : mmap(NULL, shards->duplicates_bytes, PROT_READ | PROT_WRITE,
                                     MAP_SHARED, descriptor, 0);
    if (error == 0 && mapped == MAP_FAILED) error = errno;
    close(descriptor);
    if (error != 0) return fail(shards, "write to", error);
    shards->mapping = mapped;
    shards->duplicates = mapped;
    return EXIT_DONE;
}

int shards_find(struct shards *shards) {
    for (unsigned i = 0; i < SHARDS; i++) {
        if (!write_out(&shards->shards[i])) return fail(shards, "write to", errno);
    }
    int code = map_duplicates(shards);
    if (code != EXIT_DONE) return code;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    shards->threads = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (unsigned)cores;
    pthread_t threads[MOST_THREADS];
    unsigned started = 0; /* beside this one */
    while (started + 1 < shards->threads &&
           pthread_create(&threads[started], NULL, go_through_shards, shards) == 0)
        started++;
    go_through_shards(shards);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (!atomic_load(&shards->failed)) return EXIT_DONE;
    if (atomic_load(&shards->error) == ENOMEM)
        return message_fail(EXIT_ENVIRONMENT, "not enough memory; give a smaller --memory");
    return fail(shards, "read from", atomic_load(&shards->error));
}

void shards_duplicates(const struct shards *shards, uint64_t first, size_t count, uint8_t *out) {
    for (size_t i = 0; i < count; i++) {
        uint64_t line = first + i;
        uint64_t word = atomic_load_explicit(&shards->duplicates[line / 64], memory_order_relaxed);
        out[i] = word >> line % 64 & 1;
    }
}

uint64_t shards_disk_bytes(const struct shards *shards) {
    uint64_t words = 0;
    for (unsigned i = 0; i < SHARDS; i++)
        words += shards->shards[i].words;
    return words * sizeof(uint64_t) + shards->duplicates_bytes;
}

uint64_t shards_memory_bytes(const struct shards *shards) {
    return atomic_load(&shards->largest_table) * shards->threads + shards->duplicates_bytes +
           GATHERING_BYTES;
}
