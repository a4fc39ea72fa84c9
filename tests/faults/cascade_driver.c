/* cascade_driver.c - fills a cascade and says what is safe, so that it can be killed at any moment.
 *
 *   cascade_driver FOLDER logged|synced|checkpointed KEYS
 *
 * First it looks at what is there. That must be the keys 0..m-1, once each, as a prefix of what
 * was inserted; it prints "have m". Then it inserts the next ones, up to KEYS, while two other
 * threads merge, and prints "kept m" when a call has returned that the process may be killed
 * after, and "safe m" when even the power may fail. At the end it prints "done". */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lethe/lethe.h>

enum { BATCH = 700 };

static lethe_cascade *cascade;
static atomic_bool ends;

static void require(bool condition, const char *what) {
    if (condition) return;
    printf("wrong: %s\n", what);
    fflush(stdout);
    _exit(3);
}

static void say(const char *what, uint64_t number) {
    printf("%s %llu\n", what, (unsigned long long)number);
    fflush(stdout);
}

static void hash_keys(uint64_t first, size_t count, lethe_hash *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, first + i);
}

static bool add(void *context, uint64_t fingerprint, uint64_t count) {
    (void)fingerprint;
    *(uint64_t *)context += count;
    return true;
}

/* How many keys there are; all of the first ones, once each. */
static uint64_t look(void) {
    lethe_hash hashes[BATCH];
    uint64_t counts[BATCH], sum = 0;
    require(lethe_cascade_each(cascade, 0, add, &sum) == LETHE_OK, "walking");
    for (uint64_t first = 0; first < sum + BATCH; first += BATCH) {
        hash_keys(first, BATCH, hashes);
        require(lethe_cascade_count_batch(cascade, hashes, BATCH, 0, counts) == LETHE_OK,
                "counting");
        for (size_t i = 0; i < BATCH; i++)
            require(counts[i] == (first + i < sum), "a key that is no part of a prefix");
    }
    return sum;
}

static void *work(void *context) {
    (void)context;
    while (!atomic_load(&ends)) {
        bool more;
        if (lethe_cascade_work(cascade, 0, 5000, &more) != LETHE_OK || !more) usleep(200);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    bool is_exact = strcmp(argv[2], "checkpointed") == 0, syncs = strcmp(argv[2], "synced") == 0;
    uint64_t keys = strtoull(argv[3], NULL, 10);
    lethe_cascade_options options =
        LETHE_OPTIONS(lethe_cascade_options, .capacity = 1000000, .error = 1e-10,
                      .memory_bytes = 1 << 20, .growth = 2,
                      .durability = is_exact ? LETHE_CASCADE_CHECKPOINTED
                                    : syncs  ? LETHE_CASCADE_SYNCED
                                             : LETHE_CASCADE_LOGGED);
    lethe_status status = lethe_cascade_open(argv[1], &options, &cascade, NULL);
    if (status != LETHE_OK) {
        printf("wrong: opening: %s\n", lethe_strerror(status));
        return 3;
    }
    uint64_t have = look(), sequence, note = 0;
    size_t size;
    unsigned char bytes[LETHE_CASCADE_MAX_NOTE_BYTES];
    lethe_cascade_last_checkpoint(cascade, &sequence, bytes, &size);
    if (size == sizeof note) memcpy(&note, bytes, size);
    require(note == sequence, "a note of another checkpoint");
    require(is_exact ? have == sequence : have >= sequence, "not what the checkpoint says");
    say("have", have);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 2;
    }
    for (unsigned i = 1; have < keys; i++) {
        lethe_hash hashes[BATCH];
        size_t done;
        hash_keys(have, BATCH, hashes);
        status = lethe_cascade_add_batch(cascade, hashes, BATCH, 0, &done);
        if (status != LETHE_OK) return 4;
        have += done;
        if (!is_exact) say(syncs ? "safe" : "kept", have);
        if (i % 8 == 0 && is_exact) {
            if (lethe_cascade_checkpoint(cascade, have, &have, sizeof have) != LETHE_OK) return 4;
            say("safe", have);
        } else if (i % 8 == 0) {
            if (lethe_cascade_sync(cascade) != LETHE_OK) return 4;
            say("safe", have);
        }
    }
    atomic_store(&ends, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (is_exact && lethe_cascade_checkpoint(cascade, have, &have, sizeof have) != LETHE_OK)
        return 4;
    if (lethe_cascade_close(cascade, NULL) != LETHE_OK) return 4;
    say("done", have);
    return 0;
}
