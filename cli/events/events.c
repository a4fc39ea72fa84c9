/* events.c - the thread that reads, and the ring of batches between it and the thread that counts.
 *
 * I1      released <= taken <= filled <= released + ring. Batch number i is at i % ring.
 * I2      The reading thread writes batch number `filled`, and only while that is free. The
 *         counting thread has those from `released` up to `taken`. The numbers change under the
 *         lock. */
#include "events/events.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "events/follow.h"
#include "events/merge.h"
#include "events/open.h"
#include "frame/exit_code.h"
#include "frame/interrupt.h"
#include "input/verify.h"
#include "say/message.h"

enum {
    RING = 4,
    /* The store asks so many of the events after a jump of time whether to believe it. The ring has
     * room for them, so that the answer does not depend on the size of a batch. */
    WITNESSES = 64
};

struct event_reader {
    struct event_gatherer gatherer;
    /* Each reads in place of the gatherer, which reads inputs one after the other: where files are
     * followed, and where they are merged. NULL: they are not. */
    struct event_follower *follower;
    struct event_merge *merge;
    struct event_batch *batches;
    size_t ring;
    /* NULL: batches are not prepared. */
    const struct event_preparer *preparer;
    pthread_t thread;
    bool has_thread;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t was_filled, was_released;
    size_t filled, taken, released;
    bool has_ended;
    /* A batch that was taken had events. */
    bool has_given;
};

/* Waits until a batch is free; NULL when nobody wants any more. */
static struct event_batch *wait_for_free(struct event_reader *reader) {
    pthread_mutex_lock(&reader->lock);
    while (reader->filled - reader->released == reader->ring && !atomic_load(&reader->stop)) {
        pthread_cond_wait(&reader->was_released, &reader->lock);
    }
    struct event_batch *batch =
        atomic_load(&reader->stop) ? NULL : &reader->batches[reader->filled % reader->ring];
    pthread_mutex_unlock(&reader->lock);
    return batch;
}

static bool read_batch(struct event_reader *reader, struct event_batch *batch) {
    if (reader->follower != NULL) return event_follow(reader->follower, batch);
    if (reader->merge != NULL) return event_merge_gather(reader->merge, batch);
    return event_gather(&reader->gatherer, batch);
}

static void *read_all(void *context) {
    struct event_reader *reader = context;
    bool has_more = true;
    while (has_more) {
        struct event_batch *batch = wait_for_free(reader);
        has_more = batch != NULL && read_batch(reader, batch);
        if (has_more && batch->prepared != NULL)
            reader->preparer->prepare(reader->preparer->context, batch, batch->prepared);
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

static size_t ring_of(const struct event_options *options) {
    size_t limit = options->batch_limit;
    if (limit == 0 || !event_format_has_time(&options->format)) return RING;
    size_t ahead = (WITNESSES + limit - 1) / limit;
    return ahead + 2 > RING ? ahead + 2 : RING;
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
    if (options->merges) {
        reader->merge = event_merge_new(inputs, options, &reader->stop);
        if (reader->merge == NULL) return false;
    }
    reader->ring = ring_of(options);
    reader->batches = calloc(reader->ring, sizeof *reader->batches);
    if (reader->batches == NULL) return false;
    for (size_t i = 0; i < reader->ring; i++) {
        if (!event_batch_init(&reader->batches[i])) return false;
    }
    if (!options->follows) return true;
    reader->follower = event_follower_new(inputs, options, &reader->stop);
    return reader->follower != NULL;
}

/* After something returned that reading has ended before it began. A signal is how following ends,
 * however early it comes. */
static int end_early(struct event_reader *reader) {
    int code = events_end(reader);
    return code != EXIT_DONE || reader->follower != NULL
               ? code
               : message_fail(interrupt_code(), "interrupted before anything was counted");
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
        code = end_early(reader);
    } else if (!options->follows) {
        code = inputs_verify(inputs);
        if (code == EXIT_DONE && interrupt_requested()) code = end_early(reader);
    }
    if (reader->merge != NULL) stream_close(&reader->gatherer.stream); /* it opens all anew */
    if (code == EXIT_DONE) {
        *out = reader;
    } else {
        events_free(reader);
    }
    return code;
}

int events_survey(struct event_reader *reader, struct resume_table *table, unsigned scale) {
    struct event_gatherer *gatherer = &reader->gatherer;
    gatherer->table = table;
    gatherer->format.scale = scale;
    if (reader->follower != NULL) event_follower_start(reader->follower, table, scale);
    if (reader->merge != NULL) {
        return event_merge_survey(reader->merge, table, scale) ? EXIT_DONE : end_early(reader);
    }
    bool is_unread;
    if (reader->follower != NULL || gatherer->inputs->count == 1 ||
        !resume_has_other_manner(table, gatherer->manner)) {
        return EXIT_DONE;
    }
    return events_check(gatherer->inputs, gatherer->options, table, &is_unread);
}

int events_prepare(struct event_reader *reader, const struct event_preparer *preparer) {
    reader->preparer = preparer;
    for (size_t i = 0; i < reader->ring; i++) {
        reader->batches[i].prepared = preparer->make(preparer->context);
        if (reader->batches[i].prepared == NULL) return fail_memory();
    }
    return EXIT_DONE;
}

int events_start(struct event_reader *reader) {
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
    if (reader->taken < reader->filled) batch = &reader->batches[reader->taken++ % reader->ring];
    if (batch != NULL && batch->count > 0) reader->has_given = true;
    pthread_mutex_unlock(&reader->lock);
    return batch;
}

const struct event_batch *events_ahead(struct event_reader *reader, size_t ahead, bool waits) {
    const struct event_batch *batch = NULL;
    pthread_mutex_lock(&reader->lock);
    size_t wanted = reader->taken + ahead;
    bool has_room = wanted - reader->released < reader->ring;
    while (waits && has_room && reader->filled <= wanted && !reader->has_ended) {
        pthread_cond_wait(&reader->was_filled, &reader->lock);
    }
    if (wanted < reader->filled) batch = &reader->batches[wanted % reader->ring];
    pthread_mutex_unlock(&reader->lock);
    return batch;
}

void events_release(struct event_reader *reader) {
    pthread_mutex_lock(&reader->lock);
    reader->released++;
    pthread_cond_signal(&reader->was_released);
    pthread_mutex_unlock(&reader->lock);
}

bool events_caught_up(const struct event_reader *reader) {
    return reader->follower != NULL && event_follower_caught_up(reader->follower);
}

uint64_t events_behind(const struct event_reader *reader) {
    return reader->follower != NULL ? event_follower_behind(reader->follower) : 0;
}

int events_end(struct event_reader *reader) {
    struct input_failure failure = reader->gatherer.failure;
    if (failure.code == EXIT_DONE && reader->follower != NULL) {
        failure = *event_follower_failure(reader->follower);
    }
    if (failure.code == EXIT_DONE && reader->merge != NULL) {
        failure = *event_merge_failure(reader->merge);
    }
    input_failure_advise(&failure, reader->has_given);
    return failure.code == EXIT_DONE ? EXIT_DONE : message_fail(failure.code, "%s", failure.text);
}

void events_free(struct event_reader *reader) {
    if (reader == NULL) return;
    if (reader->has_thread) {
        pthread_mutex_lock(&reader->lock);
        atomic_store(&reader->stop, true);
        pthread_cond_signal(&reader->was_released);
        pthread_mutex_unlock(&reader->lock);
        if (reader->follower != NULL) event_follower_wake(reader->follower);
        pthread_join(reader->thread, NULL);
    }
    for (size_t i = 0; i < reader->ring && reader->batches != NULL; i++) {
        if (reader->preparer != NULL) reader->preparer->drop(reader->batches[i].prepared);
        event_batch_free(&reader->batches[i]);
    }
    free(reader->batches);
    event_follower_free(reader->follower);
    event_gatherer_free(&reader->gatherer);
    event_merge_free(reader->merge);
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->was_filled);
    pthread_cond_destroy(&reader->was_released);
    free(reader);
}
