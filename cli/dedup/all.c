/* all.c - `lethe dedup` of lines as they come in, and over several runs: gathers many lines, asks
 * about all of them at once, prints the new ones.
 *
 * IDEA    The cascade answers a large batch by reading its runs once, in order, instead of one page
 *         per line. So as many lines as memory allows are gathered first. Of files that can be read
 *         a second time only the hashes are gathered; of a pipe, hashes and text. Where nothing is
 *         to be remembered or forgotten, the lines of a pipe that come first are kept in memory
 *         (resident.h), and the cascade is asked only about what finds no room there.
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
#include "dedup/resident.h"
#include "filter/cascade_worker.h"
#include "frame/clock.h"
#include "frame/interrupt.h"
#include "say/human.h"
#include "say/message.h"
#include "say/progress.h"

enum {
    BYTES_PER_LINE = sizeof(lethe_hash) + 2,
    CHECKPOINT_AFTER_S = 1,
    FILES_KEPT = 64,
    /* Lines that wait while memory answers, so that they stay in the processor's cache. */
    FEW_LINES = 16384
};

/* Lines that wait to be asked about. */
struct waiting {
    lethe_hash *hashes;
    uint8_t *present;
    size_t count, capacity;

    /* NULL: the cascade is asked about all of them; otherwise about some, and what it says comes
     * here first. */
    struct resident *resident;
    uint8_t *asked;

    /* Reads them a second time. NULL: their text is here, each line with its line end. */
    struct line_reader *again;
    char *text;
    size_t text_size, text_capacity;
};

struct loop {
    struct dedup *dedup;
    struct line_reader *reader;
    struct waiting waiting;
    struct progress progress;

    /* After the last line that was read. */
    struct line_place place;
    bool has_place;
    /* When the last checkpoint was made. */
    double saved_s;
};

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

static int prepare(struct loop *loop) {
    struct dedup *dedup = loop->dedup;
    struct waiting *waiting = &loop->waiting;
    int code = lines_open(dedup->inputs, &loop->reader);
    if (code != EXIT_DONE) return code;
    if (dedup->remembers) {
        lines_resume(loop->reader, dedup_note_start, &dedup->note);
        if (!dedup->last_line) lines_leave_unended(loop->reader, report_pending, dedup);
    }
    uint64_t bytes = dedup->memory_bytes;
    if (dedup_can_read_again(dedup->inputs)) {
        code = lines_open(dedup->inputs, &waiting->again);
        if (code != EXIT_DONE) return code;
        lines_keep(loop->reader);
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
    if (waiting->again == NULL && dedup->resident_bytes > 0) {
        waiting->resident = resident_new(dedup->resident_bytes, dedup->resident_error,
                                         lethe_cascade_seed(dedup->cascade));
        waiting->asked = malloc(waiting->capacity);
    }
    bool has_asked = waiting->resident == NULL || waiting->asked != NULL;
    if (waiting->hashes != NULL && waiting->present != NULL && has_asked &&
        (waiting->again != NULL || waiting->text != NULL)) {
        return EXIT_DONE;
    }
    return message_fail(EXIT_ENVIRONMENT, "not enough memory; give a smaller --memory");
}

static void drop(struct loop *loop) {
    lines_free(loop->reader);
    lines_free(loop->waiting.again);
    free(loop->waiting.hashes);
    free(loop->waiting.present);
    free(loop->waiting.text);
    free(loop->waiting.asked);
    resident_free(loop->waiting.resident);
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

/* Adds up what came of the first count lines, and makes room. */
static void settle(struct loop *loop, size_t count) {
    struct dedup *dedup = loop->dedup;
    struct waiting *waiting = &loop->waiting;
    uint64_t fresh = 0;
    for (size_t i = 0; i < count; i++)
        fresh += !waiting->present[i];
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    (void)lethe_cascade_info(dedup->cascade, clock_wall_ms(), &stats);
    double error = stats.error_estimate + resident_facts_of(waiting->resident).error;
    dedup->lines += count;
    dedup->printed += fresh;
    dedup->wrong += (double)fresh * error;
    waiting->count = 0;
    waiting->text_size = 0;
    struct human_text text;
    snprintf(loop->progress.more, sizeof loop->progress.more, "%.1f%% duplicates, error %s",
             100.0 - 100.0 * (double)dedup->printed / (double)dedup->lines,
             human_probability(error, &text));
}

static int save_if_due(struct loop *loop, bool is_last) {
    struct dedup *dedup = loop->dedup;
    if (!dedup->remembers || (!is_last && clock_seconds() - loop->saved_s < CHECKPOINT_AFTER_S)) {
        return EXIT_DONE;
    }
    int code = dedup_output_sync(&dedup->output);
    if (code == EXIT_DONE && loop->has_place) code = dedup_note_reached(&dedup->note, &loop->place);
    if (code == EXIT_DONE) code = dedup_note_save(dedup, is_last);
    loop->saved_s = clock_seconds();
    return code;
}

/* Asks memory about the lines that wait, and the cascade about those that memory does not know.
 * *done becomes how many of them, from the first, have their answer. Their hashes are lost. */
static lethe_status ask_both(struct loop *loop, size_t *done) {
    struct waiting *waiting = &loop->waiting;
    size_t unknown = 0, answered = 0, at = 0;
    resident_ask(waiting->resident, waiting->hashes, waiting->count, waiting->present);
    for (size_t i = 0; i < waiting->count; i++) {
        if (waiting->present[i] == RESIDENT_UNKNOWN)
            waiting->hashes[unknown++] = waiting->hashes[i];
    }
    lethe_status status = LETHE_OK;
    if (unknown > 0) {
        status = lethe_cascade_add_and_test_batch(loop->dedup->cascade, waiting->hashes, unknown,
                                                  clock_wall_ms(), waiting->asked, &answered);
    }
    size_t taken = 0;
    for (; at < waiting->count; at++) {
        if (waiting->present[at] != RESIDENT_UNKNOWN) continue;
        if (taken == answered) break;
        waiting->present[at] = waiting->asked[taken++];
    }
    *done = at;
    return status;
}

/* Asks about the lines that wait. */
static lethe_status ask_all(struct loop *loop, size_t *done) {
    struct waiting *waiting = &loop->waiting;
    if (waiting->resident != NULL) return ask_both(loop, done);
    return lethe_cascade_add_and_test_batch(loop->dedup->cascade, waiting->hashes, waiting->count,
                                            clock_wall_ms(), waiting->present, done);
}

/* Asks about the lines that wait, and prints the new ones. */
static int ask(struct loop *loop, bool is_last) {
    struct waiting *waiting = &loop->waiting;
    struct dedup *dedup = loop->dedup;
    size_t done = 0;
    lethe_status status = ask_all(loop, &done);
    int code = waiting->again != NULL ? print_again(loop, done) : print_text(loop, done);
    if (code == EXIT_DONE) code = dedup_output_flush(&dedup->output);
    bool is_whole = done == waiting->count;
    settle(loop, done);
    if (code == EXIT_DONE && (status != LETHE_OK || !is_whole)) {
        code = dedup_fail(dedup, status != LETHE_OK ? status : LETHE_EIO, "write");
    }
    return code == EXIT_DONE ? save_if_due(loop, is_last) : code;
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
    bool is_quick = waiting->resident != NULL && !resident_is_full(waiting->resident);
    size_t most = is_quick && waiting->capacity > FEW_LINES ? FEW_LINES : waiting->capacity;
    if (waiting->count + batch->count > most) return false;
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
    if (code == EXIT_DONE && loop->has_place && place.input != loop->place.input &&
        loop->dedup->remembers) {
        code = dedup_note_reached(&loop->dedup->note, &loop->place);
    }
    loop->place = place;
    loop->has_place = true;
    if (code == EXIT_DONE && waiting->again == NULL) code = keep_text(waiting, batch);
    if (code != EXIT_DONE) return code;
    lethe_hash_batch(lethe_cascade_seed(loop->dedup->cascade), batch->keys, batch->count,
                     waiting->hashes + waiting->count);
    waiting->count += batch->count;
    return EXIT_DONE;
}

static int run(struct loop *loop) {
    struct dedup *dedup = loop->dedup;
    struct key_batch batch;
    int code = EXIT_DONE;
    for (;;) {
        /* Nothing to read for now: who waits for the output should have what there is. */
        if (loop->waiting.count > 0 && lines_would_wait(loop->reader)) {
            code = ask(loop, false);
            if (code != EXIT_DONE) return code; /* no checkpoint: lines may not have come out */
        }
        code = keys_next(loop->reader, dedup->inputs, &dedup->fields, &batch);
        if (code != EXIT_DONE || batch.count == 0) break;
        code = take(loop, &batch);
        if (code != EXIT_DONE) return code;
        progress_update(&loop->progress, lines_delivered(loop->reader), lines_bytes(loop->reader));
    }
    /* What was read before a line that can't be read, or before a signal, is still good. */
    int asked = loop->waiting.count > 0 ? ask(loop, true) : save_if_due(loop, true);
    return code == EXIT_DONE ? asked : code;
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
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    (void)lethe_cascade_info(dedup->cascade, clock_wall_ms(), &stats);
    struct resident_facts first = resident_facts_of(loop.waiting.resident);
    dedup->cost = (struct dedup_cost){.error = stats.error_estimate + first.error,
                                      .entries = stats.entries + first.entries,
                                      .memory_bytes = stats.memory_bytes + first.memory_bytes,
                                      .disk_bytes = stats.disk_bytes};
    drop(&loop);
    return code;
}
