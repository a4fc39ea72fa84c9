/* all.c - `lethe dedup` of lines as they come in, and over several runs: gathers many lines, asks
 * about all of them at once, prints the new ones.
 *
 * IDEA    The cascade answers a large batch by reading its runs once, in order, instead of one page
 *         per line. So as many lines as memory allows are gathered first. Of files that can be read
 *         a second time only the hashes are gathered; of a pipe, hashes and text. Where nothing is
 *         forgotten, what came first is kept in memory (asking.h), and as long as there is room for
 *         more, nothing has to be gathered (quick.c).
 * I1      Lines are printed in the order of the input. What is printed is synced before a
 *         checkpoint that covers it: a line that is remembered as seen after a crash was delivered.
 * I2      The second reader has the files of the first, begins where it began, and is never ahead
 *         of it. What is appended meanwhile, and files that take over their names, are left to the
 *         first reader or to the next run.
 * WHY     A file that is overwritten at the same time may have other lines the second time. So each
 *         line is hashed again, and a difference ends the work with a message instead of printing a
 *         wrong line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dedup/dedup.h"
#include "dedup/loop.h"
#include "filter/cascade_worker.h"
#include "frame/clock.h"
#include "frame/interrupt.h"
#include "say/human.h"
#include "say/message.h"

enum { BYTES_PER_LINE = sizeof(lethe_hash) + 2, CHECKPOINT_AFTER_S = 1, FILES_KEPT = 64 };

int dedup_fail(const struct dedup *dedup, lethe_status status, const char *attempt) {
    if (status == LETHE_EFULL) {
        return message_fail(EXIT_ENVIRONMENT,
                            "%s has as many lines as it was made for; make another with a larger "
                            "--capacity",
                            dedup->folder);
    }
    return message_fail_file(status, attempt, dedup->folder);
}

bool dedup_can_read_again(const struct inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++) {
        if (inputs_is_standard(inputs->paths[i])) return false;
    }
    return inputs->all_regular;
}

int dedup_fail_changed(void) {
    return message_fail(EXIT_BAD_DATA,
                        "a file was changed while it was read; the lines that were printed are "
                        "right; try again when nobody changes the file");
}

/* A line_pending. */
static void report_pending(void *context, size_t input, uint64_t bytes) {
    struct dedup *dedup = context;
    dedup->pending++;
    message_warn("%s: the last line has no newline yet (%" PRIu64
                 " bytes) and is not read now; it is read the next time, or taken as it is with "
                 "--last-line",
                 inputs_name(dedup->inputs->paths[input]), bytes);
}

/* A line_start. In another thread, after all that was read before is settled. */
static int start(void *context, size_t input, struct stream *stream) {
    struct loop *loop = context;
    if (loop->front != NULL) front_drain(loop->front);
    return dedup_note_start(&loop->dedup->note, input, stream);
}

static int prepare(struct loop *loop) {
    struct dedup *dedup = loop->dedup;
    int code = lines_open(dedup->inputs, &loop->reader);
    if (code != EXIT_DONE) return code;
    lines_stop_on(loop->reader, &loop->stop);
    if (dedup->remembers) {
        lines_resume(loop->reader, start, loop);
        if (!dedup->last_line) lines_leave_unended(loop->reader, report_pending, dedup);
    }
    loop->asking = (struct asking){.cascade = dedup->cascade,
                                   .remembers = dedup->remembers,
                                   .resident_bytes = dedup->resident_bytes,
                                   .resident_error = dedup->resident_error,
                                   .expected = dedup->expected_lines};
    return EXIT_DONE;
}

/* Makes room for lines that wait. */
static int open_waiting(struct loop *loop) {
    const struct dedup *dedup = loop->dedup;
    struct waiting *waiting = &loop->waiting;
    uint64_t bytes = dedup->memory_bytes;
    if (dedup_can_read_again(dedup->inputs)) {
        int code = lines_open(dedup->inputs, &waiting->again);
        if (code == EXIT_DONE) code = lines_keep(loop->reader);
        if (code != EXIT_DONE) return code;
        lines_follow(waiting->again, loop->reader);
        lines_ignore_signals(waiting->again);
    } else {
        waiting->text_capacity = (size_t)(bytes / 2);
        waiting->text = malloc(waiting->text_capacity);
        bytes /= 2;
    }
    waiting->capacity = (size_t)(bytes / BYTES_PER_LINE);
    if (waiting->capacity < LINES_PER_BATCH) waiting->capacity = LINES_PER_BATCH;
    waiting->hashes = malloc(waiting->capacity * sizeof *waiting->hashes);
    waiting->present = malloc(waiting->capacity);
    if (waiting->hashes != NULL && waiting->present != NULL &&
        (waiting->again != NULL || waiting->text != NULL)) {
        return EXIT_DONE;
    }
    return message_fail(EXIT_ENVIRONMENT, "not enough memory; give a smaller --memory");
}

static void close_waiting(struct loop *loop) {
    struct waiting *waiting = &loop->waiting;
    lines_free(waiting->again);
    if (loop->reader != NULL) lines_keep_no_more(loop->reader);
    free(waiting->hashes);
    free(waiting->present);
    free(waiting->text);
    *waiting = (struct waiting){0};
}

/* Whether the file says the same as the first time. */
static bool is_same(const struct dedup *dedup, const struct key_batch *batch,
                    const lethe_hash *hashes, const uint8_t *present) {
    uint64_t seed = lethe_cascade_seed(dedup->cascade);
    for (size_t i = 0; i < batch->count; i++) {
        if (present[i]) continue;
        lethe_hash hash = lethe_hash_bytes(seed, batch->keys[i].data, batch->keys[i].size);
        if (hash.low != hashes[i].low || hash.high != hashes[i].high) return false;
    }
    return true;
}

/* Prints the new ones of the first count lines, reading them again. */
static int print_again(struct loop *loop, size_t count) {
    struct dedup *dedup = loop->dedup;
    const struct waiting *waiting = &loop->waiting;
    struct key_batch batch;
    for (size_t at = 0; at < count; at += batch.count) {
        lines_limit(waiting->again, count - at);
        int code = keys_next(waiting->again, dedup->inputs, &dedup->fields, &batch);
        if (code != EXIT_DONE) return code;
        if (batch.count == 0 ||
            !is_same(dedup, &batch, waiting->hashes + at, waiting->present + at)) {
            return dedup_fail_changed();
        }
        code = dedup_output_new(&dedup->output, batch.lines, batch.count, waiting->present + at);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

/* The same, from the text in memory. */
static int print_text(struct loop *loop, size_t count) {
    const struct waiting *waiting = &loop->waiting;
    const char *line = waiting->text, *end = line + waiting->text_size;
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE;) {
        bool is_present = waiting->present[i];
        const char *from = line;
        while (i < count && (bool)waiting->present[i] == is_present) {
            line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
            i++;
        }
        if (is_present) continue;
        code = dedup_output_write(&loop->dedup->output, from, (size_t)(line - from));
    }
    return code;
}

int loop_reached(struct loop *loop, const struct line_place *place) {
    bool is_other = loop->has_place && place->input != loop->place.input;
    int code = EXIT_DONE;
    if (is_other && loop->dedup->remembers)
        code = dedup_note_reached(&loop->dedup->note, &loop->place);
    loop->place = *place;
    loop->has_place = true;
    return code;
}

void loop_settle(struct loop *loop, const uint8_t *present, size_t count) {
    struct dedup *dedup = loop->dedup;
    uint64_t fresh = 0;
    for (size_t i = 0; i < count; i++)
        fresh += !present[i];
    double error = asking_error(&loop->asking);
    dedup->lines += count;
    dedup->printed += fresh;
    dedup->wrong += (double)fresh * error;
    if (!loop->progress.shown) return;
    struct human_text text;
    snprintf(loop->progress.more, sizeof loop->progress.more, "%.1f%% duplicates, error %s",
             100.0 - 100.0 * (double)dedup->printed / (double)dedup->lines,
             human_probability(error, &text));
}

int loop_save_if_due(struct loop *loop, bool is_last) {
    struct dedup *dedup = loop->dedup;
    if (!dedup->remembers || (!is_last && clock_seconds() - loop->saved_s < CHECKPOINT_AFTER_S)) {
        return EXIT_DONE;
    }
    int code = dedup_output_sync(&dedup->output);
    lethe_status status = asking_settle(&loop->asking);
    if (code == EXIT_DONE && status != LETHE_OK) code = dedup_fail(dedup, status, "write");
    if (code == EXIT_DONE && loop->has_place) code = dedup_note_reached(&dedup->note, &loop->place);
    if (code == EXIT_DONE) code = dedup_note_save(dedup, is_last);
    loop->saved_s = clock_seconds();
    return code;
}

/* Asks about the lines that wait, and prints the new ones. */
static int ask(struct loop *loop, bool is_last) {
    struct waiting *waiting = &loop->waiting;
    struct dedup *dedup = loop->dedup;
    size_t done = 0;
    lethe_status status =
        asking_ask(&loop->asking, waiting->hashes, waiting->count, waiting->present, &done);
    int code = waiting->again != NULL ? print_again(loop, done) : print_text(loop, done);
    if (code == EXIT_DONE) code = dedup_output_flush(&dedup->output);
    bool is_whole = done == waiting->count;
    loop_settle(loop, waiting->present, done);
    waiting->count = 0;
    waiting->text_size = 0;
    if (code == EXIT_DONE && (status != LETHE_OK || !is_whole)) {
        code = dedup_fail(dedup, status != LETHE_OK ? status : LETHE_EIO, "write");
    }
    return code == EXIT_DONE ? loop_save_if_due(loop, is_last) : code;
}

/* Keeps the text of a batch. */
static int keep_text(struct waiting *waiting, const struct key_batch *batch) {
    const char *from = batch->lines[0].data;
    size_t size = line_text_size(batch->lines, batch->count);
    if (size > waiting->text_capacity - waiting->text_size) { /* nothing else waits then */
        char *larger = realloc(waiting->text, size);
        if (larger == NULL) {
            return message_fail(EXIT_ENVIRONMENT, "not enough memory for long lines; free some");
        }
        waiting->text = larger;
        waiting->text_capacity = size;
    }
    memcpy(waiting->text + waiting->text_size, from, size);
    waiting->text_size += size;
    return EXIT_DONE;
}

static bool has_room(const struct waiting *waiting, const struct key_batch *batch) {
    if (waiting->count + batch->count > waiting->capacity) return false;
    if (waiting->again != NULL) return true;
    size_t size = line_text_size(batch->lines, batch->count);
    return size <= waiting->text_capacity - waiting->text_size;
}

/* Puts a batch to those that wait; asks about them first if there is no room. */
static int take(struct loop *loop, const struct key_batch *batch) {
    struct waiting *waiting = &loop->waiting;
    int code = EXIT_DONE;
    if (waiting->count > 0 &&
        (!has_room(waiting, batch) || lines_kept(loop->reader) > FILES_KEPT)) {
        code = ask(loop, false);
    }
    struct line_place place;
    lines_place(loop->reader, &place);
    if (code == EXIT_DONE) code = loop_reached(loop, &place);
    if (code == EXIT_DONE && waiting->again == NULL) code = keep_text(waiting, batch);
    if (code != EXIT_DONE) return code;
    lethe_hash_batch(lethe_cascade_seed(loop->dedup->cascade), batch->keys, batch->count,
                     waiting->hashes + waiting->count);
    waiting->count += batch->count;
    return EXIT_DONE;
}

/* Gathers lines, asks and prints, to the end; or, with *more, until it is worth while to keep what
 * the cascade has in memory. */
static int run_waiting(struct loop *loop, bool *more) {
    struct dedup *dedup = loop->dedup;
    struct key_batch batch;
    int code = EXIT_DONE;
    for (;;) {
        *more = asking_should_keep(&loop->asking, dedup->lines);
        /* Nothing to read for now: who waits for the output should have what there is. */
        if (loop->waiting.count > 0 && (*more || lines_would_wait(loop->reader))) {
            code = ask(loop, false);
            if (code != EXIT_DONE) return code; /* no checkpoint: lines may not have come out */
        }
        if (*more) return EXIT_DONE;
        code = keys_next(loop->reader, dedup->inputs, &dedup->fields, &batch);
        if (code != EXIT_DONE || batch.count == 0) break;
        code = take(loop, &batch);
        if (code != EXIT_DONE) return code;
        progress_update(&loop->progress, lines_delivered(loop->reader), lines_bytes(loop->reader));
    }
    /* What was read before a line that can't be read, or before a signal, is still good. */
    int asked = loop->waiting.count > 0 ? ask(loop, true) : loop_save_if_due(loop, true);
    return code == EXIT_DONE ? asked : code;
}

static int run(struct loop *loop) {
    bool more = true;
    int code = EXIT_DONE;
    while (more && code == EXIT_DONE) {
        if (asking_should_keep(&loop->asking, loop->dedup->lines)) {
            close_waiting(loop);
            asking_keep(&loop->asking);
        }
        if (asking_is_quick(&loop->asking) && !loop->has_no_front) {
            code = dedup_quick(loop, &more);
            continue;
        }
        if (loop->waiting.hashes == NULL) code = open_waiting(loop);
        if (code == EXIT_DONE) code = run_waiting(loop, &more);
    }
    return code;
}

int dedup_all(struct dedup *dedup) {
    struct loop loop = {.dedup = dedup, .saved_s = clock_seconds()};
    int code = prepare(&loop);
    if (code == EXIT_DONE) {
        struct cascade_worker *worker = cascade_worker_start(dedup->cascade);
        progress_begin(&loop.progress, !dedup->quiet, "lines", dedup->inputs->bytes);
        /* Notes what is in --out before the first line. Without a further checkpoint, what comes
         * after that may be ours. */
        if (dedup->remembers && dedup->output.path != NULL) code = dedup_note_save(dedup, false);
        if (code == EXIT_DONE) code = run(&loop);
        progress_end(&loop.progress);
        cascade_worker_stop(worker);
    }
    struct asking_facts facts = asking_facts_of(&loop.asking);
    dedup->cost = (struct dedup_cost){.error = facts.error,
                                      .entries = facts.entries,
                                      .memory_bytes = facts.memory_bytes,
                                      .disk_bytes = facts.disk_bytes};
    close_waiting(&loop);
    asking_drop(&loop.asking);
    lines_free(loop.reader);
    return code;
}
