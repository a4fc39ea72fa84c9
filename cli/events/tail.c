/* tail.c - looks at one file that is followed; see tail.h.
 *
 * IDEA  A tail holds the file itself, by its descriptor, whatever becomes of its name. At the end
 *       of the file it looks whether the file has grown or was cut short, and whether its name
 *       belongs to another file.
 * I1    A file is read by one tail at a time. Where a name gets a file that another tail still
 *       reads, as FILE.1 does from FILE, that tail is waited for; it leaves its place in the table
 *       of marks.
 * I2    A file without content, or without its whole header, is not opened: what it is can only be
 *       told by what is in it.
 * WHY   A program that was told to open its log anew may write to the old one for a while, so that
 *       is read beside the new one. */
#include "events/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events/open.h"

enum { PATIENCE_MS = 1000, OPEN_MS = 5000 };

struct tail *tail_new(const struct inputs *inputs, size_t input,
                      const struct event_options *options, struct resume_table *table,
                      const atomic_bool *stop) {
    struct tail *tail = calloc(1, sizeof *tail);
    if (tail == NULL) return NULL;
    tail->input = input;
    tail->watch = -1;
    tail->inputs = (struct inputs){
        .paths = inputs->paths + input, .count = 1, .takes_binary = inputs->takes_binary};
    if (!event_gatherer_init(&tail->gatherer, &tail->inputs, options, table, stop)) {
        tail_free(tail, NULL);
        return NULL;
    }
    tail->gatherer.follows = true;
    return tail;
}

void tail_free(struct tail *tail, struct watch *watch) {
    if (tail == NULL) return;
    if (watch != NULL) watch_forget(watch, tail->watch);
    event_gatherer_free(&tail->gatherer);
    free(tail);
}

static const char *path_of(const struct tail *tail) {
    return tail->inputs.paths[0];
}

void tail_begin_note(const struct tail *tail, struct event_batch *batch) {
    event_batch_clear(batch);
    (void)event_batch_add_share(batch, tail->input, path_of(tail));
    batch->bytes = 0;
}

static enum tail_work warn(const struct tail *tail, struct event_batch *batch, const char *text) {
    tail_begin_note(tail, batch);
    snprintf(batch->share_room[0].warning, sizeof batch->share_room[0].warning, "%s", text);
    return TAIL_NOTE;
}

static bool is_file_of(const struct tail *tail, const struct stat *status) {
    return tail->device == status->st_dev && tail->number == status->st_ino;
}

/* The name has no file that can be read. A moment without one is no news: rotation renames first,
 * and then creates. */
static enum tail_work miss(struct tail *tail, const struct tail_scene *scene, const char *why,
                           struct event_batch *batch) {
    watch_folder(scene->watch, path_of(tail));
    if (tail->missing_since_ms == 0) tail->missing_since_ms = scene->now_ms;
    bool is_news = scene->is_first || scene->now_ms - tail->missing_since_ms >= PATIENCE_MS;
    if (tail->has_told_missing || !is_news) return TAIL_QUIET;
    tail->has_told_missing = true;
    char text[sizeof batch->shares->warning];
    snprintf(text, sizeof text, "cannot be read: %s; waiting for it%s", why,
             tail->is_open ? ", and reading what is still written to the file that had this name"
                           : "");
    return warn(tail, batch, text);
}

/* Watches a file that is not read yet, in place of another one. */
static void keep_watch(struct tail *tail, const struct tail_scene *scene, int descriptor) {
    int number = watch_file(scene->watch, descriptor);
    if (number != tail->watch) watch_forget(scene->watch, tail->watch);
    tail->watch = number;
}

static bool is_read_elsewhere(const struct tail *tail, const struct tail_scene *scene,
                              const struct stat *status) {
    for (size_t i = 0; i < scene->tail_count; i++) {
        const struct tail *other = scene->tails[i];
        if (other != NULL && other != tail && other->is_open && is_file_of(other, status)) {
            return true;
        }
    }
    return false;
}

/* Begins to read an open file, or closes it. */
static enum tail_work open_file(struct tail *tail, const struct tail_scene *scene, int descriptor,
                                const struct stat *status, struct event_batch *batch) {
    bool was_tried = is_file_of(tail, status) && tail->tried_size == status->st_size;
    if (status->st_size == 0 || was_tried || is_read_elsewhere(tail, scene, status)) {
        close(descriptor);
        return TAIL_QUIET;
    }
    tail->device = status->st_dev;
    tail->number = status->st_ino;
    tail->tried_size = status->st_size;
    tail->gatherer.options = scene->options;
    event_batch_clear(batch);
    enum event_opening opening = event_open_followed(&tail->gatherer, descriptor, batch);
    if (opening == EVENT_NOT_YET) return TAIL_QUIET;
    tail->is_open = opening == EVENT_OPENED;
    tail->changed_ms = scene->now_ms;
    return tail->is_open ? TAIL_MORE : TAIL_FAILED;
}

/* Looks whether there is a file to read. */
static enum tail_work open_tail(struct tail *tail, const struct tail_scene *scene,
                                struct event_batch *batch) {
    struct stat status;
    int descriptor = open(path_of(tail), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
        const char *why = strerror(errno);
        if (descriptor >= 0) close(descriptor);
        return miss(tail, scene, why, batch);
    }
    if (!S_ISREG(status.st_mode)) {
        close(descriptor);
        return miss(tail, scene, "not a regular file", batch);
    }
    tail->missing_since_ms = 0;
    tail->has_told_missing = false;
    tail->behind = (uint64_t)status.st_size;
    keep_watch(tail, scene, descriptor);
    watch_folder(scene->watch, path_of(tail));
    return open_file(tail, scene, descriptor, &status, batch);
}

/* The file was cut short, or written anew: it is opened again, at its start. */
static enum tail_work begin_again(struct tail *tail, struct event_batch *batch) {
    event_remember_place(&tail->gatherer);
    stream_close(&tail->gatherer.stream);
    tail->is_open = false;
    tail->tried_size = -1;
    return warn(tail, batch,
                "was cut short or written anew; reading it from its start. Lines that it had and "
                "that were not read are not counted: if there is a copy, count that too");
}

/* At the end of the file: whether its name still belongs to it. */
static enum tail_work look_at_name(struct tail *tail, const struct tail_scene *scene,
                                   struct event_batch *batch) {
    struct stat status;
    if (stat(path_of(tail), &status) != 0) return miss(tail, scene, strerror(errno), batch);
    if (!S_ISREG(status.st_mode)) return miss(tail, scene, "not a regular file", batch);
    tail->missing_since_ms = 0;
    tail->has_told_missing = false;
    if (is_file_of(tail, &status)) return TAIL_QUIET;
    tail_begin_note(tail, batch);
    snprintf(batch->share_room[0].note, sizeof batch->share_room[0].note,
             "was rotated; continuing with the new file");
    return TAIL_ROTATED;
}

/* Whether a file that has all that was read of it, and no more, was written to: it may be another
 * text of the same length. */
static bool was_written(struct tail *tail, const struct stat *status) {
    struct timespec before = tail->modified;
    tail->modified = status->st_mtim;
    return before.tv_sec != status->st_mtim.tv_sec || before.tv_nsec != status->st_mtim.tv_nsec;
}

/* Says, once, that a quoted field has been open for long, in time or in bytes. What follows it is
 * held back, and nobody else would notice: a stray quote has no end. */
static bool tell_open(struct tail *tail, const struct tail_scene *scene,
                      struct event_batch *batch) {
    const struct event_gatherer *gatherer = &tail->gatherer;
    const struct event_frame *frame = &gatherer->frame;
    if (!event_frame_is_open(frame) || frame->newlines == 0) {
        tail->open_since_ms = 0;
        return false;
    }
    if (tail->open_since_ms == 0 || tail->open_at != gatherer->stream.offset) {
        tail->open_since_ms = scene->now_ms;
        tail->open_at = gatherer->stream.offset;
        tail->has_told_open = false;
    }
    bool is_long =
        scene->now_ms - tail->open_since_ms >= OPEN_MS || frame->searched >= EVENT_OPEN_BYTES;
    if (tail->has_told_open || !is_long) return false;
    tail->has_told_open = true;
    char text[sizeof batch->shares->warning];
    snprintf(
        text, sizeof text,
        "has a quoted field that begins in line %" PRIu64
        " and has not ended %zu lines later; nothing after it is counted before it does: close "
        "its quotes, and double those inside it",
        gatherer->line + 1 + frame->opened, frame->newlines - frame->opened);
    (void)warn(tail, batch, text);
    return true;
}

enum tail_work tail_look(struct tail *tail, const struct tail_scene *scene,
                         struct event_batch *batch) {
    struct stream *stream = &tail->gatherer.stream;
    struct stat status;
    if (!tail->is_open) return open_tail(tail, scene, batch);
    if (tail->gatherer.was_rewritten) return begin_again(tail, batch);
    if (tail->gatherer.is_ahead) return TAIL_MORE;
    uint64_t read = source_bytes(stream->source);
    if (fstat(source_descriptor(stream->source), &status) != 0) return TAIL_QUIET;
    uint64_t size = (uint64_t)status.st_size;
    if (size < read) return begin_again(tail, batch);
    tail->behind = size - read;
    bool is_at_end = tail->gatherer.is_at_end;
    if (is_at_end && tell_open(tail, scene, batch)) return TAIL_NOTE;
    if (!is_at_end || size > read) {
        if (is_at_end) stream_look_again(stream);
        tail->changed_ms = scene->now_ms;
        return TAIL_MORE;
    }
    if (was_written(tail, &status) && !stream_still_has(stream, stream_size(stream))) {
        return begin_again(tail, batch);
    }
    if (!tail->is_leaving) return look_at_name(tail, scene, batch);
    if (scene->now_ms - tail->changed_ms < scene->linger_ms) return TAIL_QUIET;
    tail->gatherer.follows = false;
    return TAIL_MORE;
}
