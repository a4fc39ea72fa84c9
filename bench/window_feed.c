/* bench/window_feed.c - see window_feed.h. Hashing is part of what is timed, making the
 * operations is not. */
#include "window_feed.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

enum { BATCH = 1024, ANNOUNCED = 16 };

void feed_single(struct subject *subject) {
    struct retries *stream = &subject->streams[0];
    bool ok = true;
    for (size_t i = 0; i < stream->count; i++) {
        lethe_answer answer;
        lethe_hash hash = lethe_hash_u64(subject->hash_seed, stream->ids[i]);
        ok &= lethe_window_add_and_test(subject->window, hash, retries_now_ms(stream, i),
                                        &answer) == LETHE_OK;
        stream->answers[i] = (uint8_t)answer;
    }
    subject->ok &= ok;
}

void feed_announced(struct subject *subject) {
    struct retries *stream = &subject->streams[0];
    lethe_hash hashes[ANNOUNCED];
    bool ok = true;
    for (size_t i = 0; i < stream->count + ANNOUNCED; i++) {
        lethe_hash due = hashes[i % ANNOUNCED];
        if (i < stream->count) {
            hashes[i % ANNOUNCED] = lethe_hash_u64(subject->hash_seed, stream->ids[i]);
            lethe_window_prefetch(subject->window, hashes[i % ANNOUNCED]);
        }
        if (i < ANNOUNCED) continue;
        lethe_answer answer;
        size_t at = i - ANNOUNCED;
        ok &= lethe_window_add_and_test(subject->window, due, retries_now_ms(stream, at),
                                        &answer) == LETHE_OK;
        stream->answers[at] = (uint8_t)answer;
    }
    subject->ok &= ok;
}

void feed_hash(struct subject *subject) {
    const struct retries *stream = &subject->streams[0];
    free(subject->hashes);
    subject->hashes = malloc(stream->count * sizeof *subject->hashes);
    bench_require(subject->hashes != NULL, "room for hashes");
    lethe_hash_u64_batch(subject->hash_seed, stream->ids, stream->count, subject->hashes);
}

void feed_hashed(struct subject *subject) {
    struct retries *stream = &subject->streams[0];
    for (size_t first = 0; first < stream->count; first += BATCH) {
        size_t count = stream->count - first < BATCH ? stream->count - first : BATCH;
        subject->ok &= lethe_window_add_and_test_batch(subject->window, subject->hashes + first,
                                                       count, retries_now_ms(stream, first),
                                                       stream->answers + first) == LETHE_OK;
    }
}

void feed_records(struct subject *subject) {
    struct retries *stream = &subject->streams[0];
    lethe_hash hashes[BATCH];
    for (size_t first = 0; first < stream->count; first += BATCH) {
        size_t count = stream->count - first < BATCH ? stream->count - first : BATCH;
        lethe_hash_u64_batch(subject->hash_seed, stream->ids + first, count, hashes);
        subject->ok &= lethe_window_add_batch(subject->window, hashes, count,
                                              retries_now_ms(stream, first), NULL) == LETHE_OK;
    }
    memcpy(stream->answers, stream->is_retry, stream->count);
}

/* One batch of a stream, beginning at first; returns whether all went well. */
static bool feed_one_batch(struct subject *subject, struct retries *stream, size_t first) {
    lethe_hash hashes[BATCH];
    size_t count = stream->count - first < BATCH ? stream->count - first : BATCH;
    lethe_hash_u64_batch(subject->hash_seed, stream->ids + first, count, hashes);
    return lethe_window_add_and_test_batch(subject->window, hashes, count,
                                           retries_now_ms(stream, first),
                                           stream->answers + first) == LETHE_OK;
}

void feed_batches(struct subject *subject) {
    for (size_t first = 0; first < subject->streams[0].count; first += BATCH) {
        for (int i = 0; i < subject->stream_count; i++)
            subject->ok &= feed_one_batch(subject, &subject->streams[i], first);
    }
}

/* One of two threads. They must not drift apart, or the time that the faster one gives the window
 * would make it forget ids too soon for the slower one. */
struct feeder {
    struct subject *subject;
    struct retries *stream;
    atomic_size_t *own, *other; /* operations done */
    bool ok;
};

static void *feed_in_step(void *context) {
    struct feeder *feeder = context;
    size_t count = feeder->stream->count, lead = count / 16 + 2 * (size_t)BATCH;
    feeder->ok = true;
    for (size_t first = 0; first < count; first += BATCH) {
        while (first > atomic_load_explicit(feeder->other, memory_order_relaxed) + lead)
            sched_yield();
        feeder->ok &= feed_one_batch(feeder->subject, feeder->stream, first);
        atomic_store_explicit(feeder->own, first, memory_order_relaxed);
    }
    return NULL;
}

void feed_by_two_threads(struct subject *subject) {
    static _Alignas(128) struct {
        atomic_size_t done;
        char apart[120];
    } progress[FEED_STREAMS];
    struct feeder feeders[FEED_STREAMS];
    for (int i = 0; i < FEED_STREAMS; i++) {
        atomic_store(&progress[i].done, 0);
        feeders[i] = (struct feeder){.subject = subject,
                                     .stream = &subject->streams[i],
                                     .own = &progress[i].done,
                                     .other = &progress[1 - i].done};
    }
    pthread_t second;
    bench_require(pthread_create(&second, NULL, feed_in_step, &feeders[1]) == 0,
                  "starting a thread");
    feed_in_step(&feeders[0]);
    pthread_join(second, NULL);
    subject->ok &= feeders[0].ok && feeders[1].ok;
}

void feed_paper_single(struct subject *subject) {
    struct retries *stream = &subject->streams[0];
    for (size_t i = 0; i < stream->count; i++) {
        lethe_answer answer;
        lethe_hash hash = lethe_hash_u64(subject->hash_seed, stream->ids[i]);
        subject->ok &= lethe_forgetful_add_and_test(subject->paper, hash, retries_now_ms(stream, i),
                                                    &answer) == LETHE_OK;
        stream->answers[i] = (uint8_t)answer;
    }
}

void feed_paper_batches(struct subject *subject) {
    struct retries *stream = &subject->streams[0];
    lethe_hash hashes[BATCH];
    for (size_t first = 0; first < stream->count; first += BATCH) {
        size_t count = stream->count - first < BATCH ? stream->count - first : BATCH;
        lethe_hash_u64_batch(subject->hash_seed, stream->ids + first, count, hashes);
        subject->ok &= lethe_forgetful_add_and_test_batch(subject->paper, hashes, count,
                                                          retries_now_ms(stream, first),
                                                          stream->answers + first) == LETHE_OK;
    }
}

void feed_exact_single(struct subject *subject) {
    struct retries *stream = &subject->streams[0];
    for (size_t i = 0; i < stream->count; i++) {
        stream->answers[i] = exact_window_check_and_record(subject->exact, stream->ids[i],
                                                           retries_now_ms(stream, i));
    }
}

void feed_exact_batches(struct subject *subject) {
    struct retries *stream = &subject->streams[0];
    for (size_t first = 0; first < stream->count; first += BATCH) {
        size_t count = stream->count - first < BATCH ? stream->count - first : BATCH;
        exact_window_check_and_record_batch(subject->exact, stream->ids + first, count,
                                            retries_now_ms(stream, first), stream->answers + first);
    }
}
