/* dedup/quick.c - `lethe dedup` while memory answers: one thread reads and hashes (front.h), this
 * one asks, prints and makes checkpoints; with --db, one puts new lines into the cascade
 * (adding.h).
 *
 * I1      A checkpoint covers a chunk when all of its lines have their answers, are in the cascade,
 *         and those that are new are printed.
 * I2      A file is opened when all lines before it are settled, so that what is noted about files
 *         is the same as in one thread, and needs no lock.
 * WHY     Small chunks stay in the processor's cache from reading to printing. */
#include <stdlib.h>
#include <string.h>

#include "dedup/loop.h"

/* Moves the new lines of a chunk together, and prints them. */
static int print(struct loop *loop, struct front_chunk *chunk, const uint8_t *present) {
    char *to = chunk->text, *from = chunk->text;
    for (size_t i = 0; i < chunk->count;) {
        size_t size = 0;
        for (; i < chunk->count && present[i]; i++)
            from += chunk->sizes[i];
        for (; i < chunk->count && !present[i]; i++)
            size += chunk->sizes[i];
        if (to != from) memmove(to, from, size);
        to += size;
        from += size;
    }
    struct dedup_output *output = &loop->dedup->output;
    size_t size = (size_t)(to - chunk->text);
    int code = size > 0 ? dedup_output_write(output, chunk->text, size) : EXIT_DONE;
    return code == EXIT_DONE ? dedup_output_flush(output) : code;
}

static int take(struct loop *loop, struct front_chunk *chunk, uint8_t *present) {
    struct dedup *dedup = loop->dedup;
    size_t done = 0;
    int code = loop_reached(loop, &chunk->place);
    if (code != EXIT_DONE) return code;
    lethe_status status = asking_ask(&loop->asking, chunk->hashes, chunk->count, present, &done);
    if (status != LETHE_OK || done < chunk->count)
        return dedup_fail(dedup, status != LETHE_OK ? status : LETHE_EIO, "write");
    code = print(loop, chunk, present);
    loop_settle(loop, present, chunk->count);
    if (code == EXIT_DONE) code = loop_save_if_due(loop, false);
    progress_update(&loop->progress, chunk->lines_read, chunk->bytes_read);
    return code;
}

/* Takes all chunks that come. *more: there may be more to read. */
static int run(struct loop *loop, uint8_t *present, bool *more) {
    int code = EXIT_DONE;
    for (struct front_chunk *chunk;
         code == EXIT_DONE && (chunk = front_next(loop->front)) != NULL;) {
        code = take(loop, chunk, present);
        if (!asking_is_quick(&loop->asking)) front_pause(loop->front);
    }
    int end = front_end(loop->front, more);
    lethe_status added = asking_end_adding(&loop->asking);
    if (code == EXIT_DONE && added != LETHE_OK) code = dedup_fail(loop->dedup, added, "write");
    if (code != EXIT_DONE) return code; /* no checkpoint: lines may not have come out */
    /* What was read before a line that can't be read, or before a signal, is still good. */
    if (!*more) code = loop_save_if_due(loop, true);
    return end != EXIT_DONE ? end : code;
}

int dedup_quick(struct loop *loop, bool *more) {
    struct dedup *dedup = loop->dedup;
    struct front_work work = {.reader = loop->reader,
                              .inputs = dedup->inputs,
                              .fields = &dedup->fields,
                              .seed = lethe_cascade_seed(dedup->cascade),
                              .memory_bytes = dedup->front_bytes,
                              .stop = &loop->stop};
    uint8_t *present = malloc(FRONT_MOST_LINES);
    loop->front = front_new(&work);
    loop->has_no_front = present == NULL || loop->front == NULL || !front_start(loop->front);
    int code = EXIT_DONE;
    *more = true;
    if (!loop->has_no_front) {
        asking_begin_adding(&loop->asking);
        code = run(loop, present, more);
    }
    front_free(loop->front);
    loop->front = NULL;
    free(present);
    return code;
}
