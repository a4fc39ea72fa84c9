/* events.c - the thread that reads, and the ring of batches between it and the thread that counts.
 *
 * I1      released <= taken <= filled <= released + RING. Batch number i is at i % RING.
 * I2      The reading thread writes batch number `filled`, and only while that is free. The
 *         counting thread has those from `released` up to `taken`. The numbers change under the
 *         lock. */
#include "events/events.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "events/open.h"
#include "frame/exit_code.h"
#include "frame/interrupt.h"
#include "say/message.h"

enum { RING = 4 };

struct event_reader {
    struct event_gatherer gatherer;
    struct event_batch batches[RING];
    pthread_t thread;
    bool has_thread;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t was_filled, was_released;
    size_t filled, taken, released;
    bool has_ended;
};

/* Waits until a batch is free; NULL when nobody wants any more. */
static struct event_batch *wait_for_free(struct event_reader *reader) {
    pthread_mutex_lock(&reader->lock);
    while (reader->filled - reader->released == RING && !atomic_load(&reader->stop)) {
        pthread_cond_wait(&reader->was_released, &reader->lock);
    }
    struct event_batch *batch =
        atomic_load(&reader->stop) ? NULL : &reader->batches[reader->filled % RING];
    pthread_mutex_unlock(&reader->lock);
    return batch;
}

static void *read_all(void *context) {
    struct event_reader *reader = context;
    bool has_more = true;
    while (has_more) {
        struct event_batch *batch = wait_for_free(reader);
        has_more = batch != NULL && event_gather(&reader->gatherer, batch);
        pthread_mutex_lock(&reader->lock);
        if (has_more) {
            reader->filled++;
        } else {
            reader->has_ended = true;
        }
        pthread_cond_signal(&reader->was_filled);
        pthread_mutex_unlock(&reader->lock);
    }
    return NULL;
}

static int fail_memory(void) {
    return message_fail(EXIT_ENVIRONMENT, "not enough memory to read events; free some");
}

static bool prepare(struct event_reader *reader, const struct inputs *inputs,
                    const struct event_options *options) {
    pthread_mutex_init(&reader->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&reader->was_filled, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_cond_init(&reader->was_released, NULL);
    if (!event_gatherer_init(&reader->gatherer, inputs, options, NULL, &reader->stop)) return false;
    for (size_t i = 0; i < RING; i++) {
        if (!event_batch_init(&reader->batches[i])) return false;
    }
    return true;
}

int events_open(const struct inputs *inputs, const struct event_options *options,
                struct event_reader **out) {
    *out = NULL;
    int code = EXIT_DONE;
    struct event_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return fail_memory();
    if (!prepare(reader, inputs, options)) {
        code = fail_memory();
    } else if (!event_look_ahead(&reader->gatherer, &reader->batches[0])) {
        code = events_end(reader);
        if (code == EXIT_DONE) {
            code = message_fail(interrupt_code(), "interrupted before anything was counted");
        }
    }
    if (code == EXIT_DONE) {
        *out = reader;
    } else {
        events_free(reader);
    }
    return code;
}

int events_start(struct event_reader *reader, struct resume_table *table) {
    reader->gatherer.table = table;
    reader->has_thread = pthread_create(&reader->thread, NULL, read_all, reader) == 0;
    return reader->has_thread ? EXIT_DONE : fail_memory();
}

bool events_await(struct event_reader *reader, unsigned patience_ms) {
    struct timespec until = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    long nanoseconds = until.tv_nsec + (long)patience_ms * 1000000;
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_mutex_lock(&reader->lock);
    int error = 0;
    while (reader->taken == reader->filled && !reader->has_ended && error == 0) {
        error = pthread_cond_timedwait(&reader->was_filled, &reader->lock, &until);
    }
    bool ready = reader->taken < reader->filled || reader->has_ended;
    pthread_mutex_unlock(&reader->lock);
    return ready;
}

const struct event_batch *events_next(struct event_reader *reader) {
    pthread_mutex_lock(&reader->lock);
    while (reader->taken == reader->filled && !reader->has_ended) {
        pthread_cond_wait(&reader->was_filled, &reader->lock);
    }
    const struct event_batch *batch = NULL;
    if (reader->taken < reader->filled) batch = &reader->batches[reader->taken++ % RING];
    pthread_mutex_unlock(&reader->lock);
    return batch;
}

const struct event_batch *events_ahead(struct event_reader *reader, size_t ahead, bool waits) {
    const struct event_batch *batch = NULL;
    pthread_mutex_lock(&reader->lock);
    size_t wanted = reader->taken + ahead;
    bool has_room = wanted - reader->released < RING;
    while (waits && has_room && reader->filled <= wanted && !reader->has_ended) {
        pthread_cond_wait(&reader->was_filled, &reader->lock);
    }
    if (wanted < reader->filled) batch = &reader->batches[wanted % RING];
    pthread_mutex_unlock(&reader->lock);
    return batch;
}

void events_release(struct event_reader *reader) {
    pthread_mutex_lock(&reader->lock);
    reader->released++;
    pthread_cond_signal(&reader->was_released);
    pthread_mutex_unlock(&reader->lock);
}

int events_end(struct event_reader *reader) {
    const struct input_failure *failure = &reader->gatherer.failure;
    return failure->code == EXIT_DONE ? EXIT_DONE
                                      : message_fail(failure->code, "%s", failure->text);
}

void events_free(struct event_reader *reader) {
    if (reader == NULL) return;
    if (reader->has_thread) {
        pthread_mutex_lock(&reader->lock);
        atomic_store(&reader->stop, true);
        pthread_cond_signal(&reader->was_released);
        pthread_mutex_unlock(&reader->lock);
        pthread_join(reader->thread, NULL);
    }
    for (size_t i = 0; i < RING; i++) {
        event_batch_free(&reader->batches[i]);
    }
    event_gatherer_free(&reader->gatherer);
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->was_filled);
    pthread_cond_destroy(&reader->was_released);
    free(reader);
}
