/* dedup/front.c - the reading thread of `lethe dedup`.
 *
 * IDEA    Reading, splitting and hashing take about as long as asking and printing. So they have
 *         a thread of their own, and chunks of lines between the two.
 * LAYOUT  A ring of chunks, which are numbered: `filled` were handed over, `given_back` are free
 *         again. The one after the filled ones is being filled.
 * I1      A chunk has lines, all of one input, and its place is after the last of them.
 * WHY     Texts are copied, at memory's speed: a reader's lines are valid only until it reads
 *         on. */
#include "dedup/front.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "say/message.h"

enum { TEXT_PER_LINE = 48, BYTES_PER_LINE = TEXT_PER_LINE + sizeof(lethe_hash) + sizeof(uint32_t) };

struct front {
    struct front_work work;
    size_t most_lines, most_text;
    struct front_chunk chunks[FRONT_CHUNKS];
    bool is_filling, is_taken; /* each of one thread */
    pthread_t thread;

    /* Protects what follows; changed is signalled with every change. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, given_back;
    bool should_pause, is_paused, is_over;
    int code;
};

static struct front_chunk *chunk_of(struct front *front, uint64_t number) {
    return &front->chunks[number % FRONT_CHUNKS];
}

/* The chunk to fill, empty, once there is one; NULL when reading is to stop. */
static struct front_chunk *begin(struct front *front) {
    pthread_mutex_lock(&front->lock);
    while (front->filled - front->given_back == FRONT_CHUNKS && !*front->work.stop)
        pthread_cond_wait(&front->changed, &front->lock);
    struct front_chunk *chunk = *front->work.stop ? NULL : chunk_of(front, front->filled);
    pthread_mutex_unlock(&front->lock);
    if (chunk == NULL) return NULL;
    chunk->count = 0;
    chunk->text_size = 0;
    return chunk;
}

static void hand_over(struct front *front) {
    if (!front->is_filling) return;
    front->is_filling = false;
    pthread_mutex_lock(&front->lock);
    front->filled++;
    pthread_cond_broadcast(&front->changed);
    pthread_mutex_unlock(&front->lock);
}

void front_drain(struct front *front) {
    hand_over(front);
    pthread_mutex_lock(&front->lock);
    while (front->given_back < front->filled && !*front->work.stop)
        pthread_cond_wait(&front->changed, &front->lock);
    pthread_mutex_unlock(&front->lock);
}

static bool has_room(const struct front *front, const struct front_chunk *chunk, size_t input,
                     size_t count, size_t size) {
    return chunk->text != NULL && chunk->place.input == input &&
           chunk->count + count <= front->most_lines &&
           chunk->text_size + size <= chunk->text_capacity;
}

/* Makes an empty chunk large enough, and no larger. */
static bool make_room(const struct front *front, struct front_chunk *chunk, size_t size) {
    size_t wanted = size > front->most_text ? size : front->most_text;
    if (chunk->hashes == NULL) chunk->hashes = malloc(front->most_lines * sizeof *chunk->hashes);
    if (chunk->sizes == NULL) chunk->sizes = malloc(front->most_lines * sizeof *chunk->sizes);
    if (chunk->text_capacity != wanted) { /* too small, or that of a long line */
        free(chunk->text);
        chunk->text = malloc(wanted);
        chunk->text_capacity = chunk->text != NULL ? wanted : 0;
    }
    return chunk->hashes != NULL && chunk->sizes != NULL && chunk->text != NULL;
}

/* Puts a batch that was just read into a chunk. */
static int put(struct front *front, const struct key_batch *batch) {
    struct line_reader *reader = front->work.reader;
    struct front_chunk *chunk = chunk_of(front, front->filled);
    size_t size = line_text_size(batch->lines, batch->count);
    struct line_place place;
    lines_place(reader, &place);
    bool fits = front->is_filling && has_room(front, chunk, place.input, batch->count, size);
    if (!fits) {
        hand_over(front);
        chunk = begin(front);
        if (chunk == NULL) return EXIT_DONE;
        front->is_filling = make_room(front, chunk, size);
        if (!front->is_filling)
            return message_fail(EXIT_ENVIRONMENT, "not enough memory for long lines; free some");
    }
    memcpy(chunk->text + chunk->text_size, batch->lines[0].data, size);
    lethe_hash_batch(front->work.seed, batch->keys, batch->count, chunk->hashes + chunk->count);
    for (size_t i = 0; i < batch->count; i++)
        chunk->sizes[chunk->count + i] = (uint32_t)line_text_size(batch->lines + i, 1);
    chunk->text_size += size;
    chunk->count += batch->count;
    chunk->place = place;
    chunk->lines_read = lines_delivered(reader);
    chunk->bytes_read = lines_bytes(reader);
    return EXIT_DONE;
}

static bool should_pause(struct front *front) {
    pthread_mutex_lock(&front->lock);
    bool should = front->should_pause;
    pthread_mutex_unlock(&front->lock);
    return should;
}

static void *read_lines(void *context) {
    struct front *front = context;
    struct key_batch batch;
    int code = EXIT_DONE;
    bool is_paused = false;
    while (code == EXIT_DONE && !*front->work.stop) {
        is_paused = should_pause(front);
        if (is_paused) break;
        /* Nothing to read for now: who waits for the output should have what there is. */
        if (front->is_filling && lines_would_wait(front->work.reader)) hand_over(front);
        code = keys_next(front->work.reader, front->work.inputs, front->work.fields, &batch);
        if (code != EXIT_DONE || batch.count == 0) break;
        code = put(front, &batch);
    }
    /* What was read before a line that can't be read, or before a signal, is still good. */
    hand_over(front);
    pthread_mutex_lock(&front->lock);
    front->code = code;
    front->is_paused = is_paused;
    front->is_over = true;
    pthread_cond_broadcast(&front->changed);
    pthread_mutex_unlock(&front->lock);
    return NULL;
}

void front_free(struct front *front) {
    if (front == NULL) return;
    for (size_t i = 0; i < FRONT_CHUNKS; i++) {
        free(front->chunks[i].text);
        free(front->chunks[i].hashes);
        free(front->chunks[i].sizes);
    }
    pthread_cond_destroy(&front->changed);
    pthread_mutex_destroy(&front->lock);
    free(front);
}

struct front *front_new(const struct front_work *work) {
    struct front *front = calloc(1, sizeof *front);
    if (front == NULL) return NULL;
    front->work = *work;
    size_t lines = (size_t)(work->memory_bytes / FRONT_CHUNKS / BYTES_PER_LINE);
    if (lines > FRONT_MOST_LINES) lines = FRONT_MOST_LINES;
    if (lines < LINES_PER_BATCH) lines = LINES_PER_BATCH;
    front->most_lines = lines;
    front->most_text = lines * TEXT_PER_LINE;
    pthread_mutex_init(&front->lock, NULL);
    pthread_cond_init(&front->changed, NULL);
    return front;
}

bool front_start(struct front *front) {
    sigset_t all, before; /* signals are for the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&front->thread, NULL, read_lines, front);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

struct front_chunk *front_next(struct front *front) {
    pthread_mutex_lock(&front->lock);
    if (front->is_taken) {
        front->given_back++;
        pthread_cond_broadcast(&front->changed);
    }
    while (front->given_back == front->filled && !front->is_over)
        pthread_cond_wait(&front->changed, &front->lock);
    front->is_taken = front->given_back < front->filled;
    struct front_chunk *chunk = front->is_taken ? chunk_of(front, front->given_back) : NULL;
    pthread_mutex_unlock(&front->lock);
    return chunk;
}

void front_pause(struct front *front) {
    pthread_mutex_lock(&front->lock);
    front->should_pause = true;
    pthread_mutex_unlock(&front->lock);
}

int front_end(struct front *front, bool *paused) {
    pthread_mutex_lock(&front->lock);
    if (!front->is_over) *front->work.stop = true;
    pthread_cond_broadcast(&front->changed);
    pthread_mutex_unlock(&front->lock);
    pthread_join(front->thread, NULL);
    *paused = front->is_paused;
    return front->code;
}
