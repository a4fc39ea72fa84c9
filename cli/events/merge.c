/* merge.c - takes the events of several files in the order of their times; see merge.h.
 *
 * IDEA    A survey finds the time of the first event of each file, and sorts the files by it. Then
 *         each open file has a gatherer of its own, which takes events up to the time of the next
 *         event of any other file, and parses one event too far, to know its time. That event stays
 *         in the file, and is parsed again when it is taken.
 * I1      `heads` has the time of the next event of each open file, or 0 where it is not known:
 *         such a file is asked first.
 * I2      The file that is asked has the least (head, input). What it takes is before the heads of
 *         all others and before the first event of the next file that is not open. So the order is
 *         that of a merge of all files, as if all were open.
 * I3      What is taken of a file in a batch is its share, whose mark is where the file's next
 *         event begins. All marks of a batch belong into the commit of its events.
 * I4      No two files that are open have the same mark.
 * I5      An event that the store will refuse, since it is ahead of the wall clock, is taken at
 *         once. Otherwise one wrong time would hold all that follows it in its file back until it
 *         is late.
 * WHY     A file whose events come in long runs is parsed once. At worst, where every event is of
 *         another file than the one before it, each is parsed twice, in a thread that is not the
 *         slowest.
 * LIMIT   Of more than EVENT_FILES_OPEN files that overlap, those that begin first are merged. The
 *         others wait until one ends, and what has become older than the window by then is late. A
 *         time that is wrong and ahead, but not of the wall clock, holds its file back until the
 *         others have come as far. */
#include "events/merge.h"

#include <stdlib.h>
#include <string.h>

#include "events/open.h"
#include "frame/clock.h"
#include "frame/exit_code.h"

/* A file, as the survey found it. */
struct candidate {
    /* Of its first event; 0 if it has none, so that it is read at once. */
    uint64_t first_ms;
    size_t input;
    uint64_t resumed_at;
    /* Of it as it is on disk, if it is done. */
    uint64_t bytes;
    /* There is nothing to read in it, nor to report. */
    bool is_done;
};

struct event_merge {
    const struct inputs *inputs;
    const struct event_options *options;
    /* The same, but nothing ends at a line that is wrong: for the survey. */
    struct event_options looking;
    const atomic_bool *stop;
    struct resume_table *table;
    unsigned scale;
    struct input_failure failure;
    bool has_ended, has_crowd;
    uint64_t believed_ms;
    size_t complaints_made;

    /* In the order in which they are opened. */
    struct candidate *candidates;
    size_t next_candidate;
    /* Of those that were passed over. */
    uint64_t bytes_passed;

    /* All that were made; the first `open_count` have files. */
    struct event_gatherer *gatherers[EVENT_FILES_OPEN];
    size_t gatherer_count, open_count;
    /* Of the open files. */
    uint64_t heads[EVENT_FILES_OPEN];
    size_t inputs_open[EVENT_FILES_OPEN];

    /* Memory for headers, and for the survey. */
    struct event_batch scratch;
};

struct event_merge *event_merge_new(const struct inputs *inputs,
                                    const struct event_options *options, const atomic_bool *stop) {
    struct event_merge *merge = calloc(1, sizeof *merge);
    if (merge == NULL) return NULL;
    merge->inputs = inputs;
    merge->options = options;
    merge->looking = *options;
    merge->looking.stops_on_error = false;
    merge->looking.looks = true;
    merge->stop = stop;
    merge->candidates = calloc(inputs->count, sizeof *merge->candidates);
    if (merge->candidates == NULL || !event_batch_init(&merge->scratch)) {
        event_merge_free(merge);
        return NULL;
    }
    return merge;
}

void event_merge_free(struct event_merge *merge) {
    if (merge == NULL) return;
    for (size_t i = 0; i < merge->gatherer_count; i++) {
        event_gatherer_free(merge->gatherers[i]);
        free(merge->gatherers[i]);
    }
    event_batch_free(&merge->scratch);
    free(merge->candidates);
    free(merge);
}

const struct input_failure *event_merge_failure(const struct event_merge *merge) {
    return &merge->failure;
}

/* The reading has ended because that of one file has. */
static bool end_with(struct event_merge *merge, const struct event_gatherer *gatherer) {
    merge->failure = gatherer->failure;
    merge->has_ended = true;
    return false;
}

/* Makes one more gatherer, after the others. */
static bool add_gatherer(struct event_merge *merge) {
    struct event_gatherer *gatherer = malloc(sizeof *gatherer);
    if (gatherer == NULL ||
        !event_gatherer_init(gatherer, merge->inputs, merge->options, merge->table, merge->stop)) {
        free(gatherer);
        input_failure_set(&merge->failure, EXIT_ENVIRONMENT,
                          "not enough memory to read %zu files at once; free some, or name fewer",
                          merge->open_count + 1);
        merge->has_ended = true;
        return false;
    }
    gatherer->format.scale = merge->scale;
    merge->gatherers[merge->gatherer_count++] = gatherer;
    return true;
}

/* Up to when an event is believed (I5). */
static uint64_t believed(const struct event_merge *merge) {
    uint64_t ahead_ms = merge->options->max_future_ms;
    return ahead_ms > 0 ? clock_wall_ms() + ahead_ms : UINT64_MAX;
}

/* --- the survey --- */

/* Reads up to the first event of the open file, which stays there. If a line that is wrong ends the
 * run, the file is read at once: nothing is counted then. */
static void find_first(struct event_merge *merge, struct event_gatherer *gatherer,
                       struct candidate *candidate) {
    struct event_batch *scratch = &merge->scratch;
    bool is_wrong = false;
    gatherer->until_ms = 0;
    gatherer->believed_ms = believed(merge);
    do {
        event_batch_clear(scratch);
        event_gather_begin(gatherer, scratch);
        event_gather_some(gatherer, scratch);
        is_wrong = is_wrong || scratch->unreadable > 0;
    } while (gatherer->is_open && !gatherer->waits && !gatherer->has_ended);
    bool ends_run = is_wrong && merge->options->stops_on_error;
    candidate->first_ms = gatherer->waits && !ends_run ? gatherer->next_ms : 0;
    candidate->is_done = !gatherer->is_open && !is_wrong && scratch->shares[0].pending_bytes == 0 &&
                         gatherer->stream.offset <= gatherer->marked_at;
}

static bool look_at(struct event_merge *merge, struct event_gatherer *gatherer, size_t input) {
    struct candidate *candidate = &merge->candidates[input];
    gatherer->next_input = input;
    event_batch_clear(&merge->scratch);
    if (!event_open_next(gatherer, &merge->scratch)) return end_with(merge, gatherer);
    *candidate = (struct candidate){.input = input, .resumed_at = gatherer->resumed_at};
    bool has_warning = gatherer->warning[0] != '\0';
    find_first(merge, gatherer, candidate);
    candidate->is_done = candidate->is_done && !has_warning;
    candidate->bytes = event_gathered_bytes(gatherer);
    stream_close(&gatherer->stream);
    gatherer->is_open = gatherer->waits = gatherer->has_share = false;
    gatherer->complaints_made = 0;
    return !gatherer->has_ended || end_with(merge, gatherer);
}

static int compare_candidates(const void *a, const void *b) {
    const struct candidate *left = a, *right = b;
    if (left->first_ms != right->first_ms) return left->first_ms < right->first_ms ? -1 : 1;
    return left->input < right->input ? -1 : left->input > right->input;
}

bool event_merge_survey(struct event_merge *merge, struct resume_table *table, unsigned scale) {
    merge->table = table;
    merge->scale = scale;
    if (!add_gatherer(merge)) return false;
    struct event_gatherer *gatherer = merge->gatherers[0];
    gatherer->options = &merge->looking;
    for (size_t i = 0; i < merge->inputs->count; i++) {
        if (!look_at(merge, gatherer, i)) return false;
    }
    gatherer->options = merge->options;
    qsort(merge->candidates, merge->inputs->count, sizeof *merge->candidates, compare_candidates);
    return true;
}

/* --- opening and closing --- */

/* The next file that is not open; NULL if there is none. */
static const struct candidate *next_candidate(const struct event_merge *merge) {
    return merge->next_candidate < merge->inputs->count ? &merge->candidates[merge->next_candidate]
                                                        : NULL;
}

/* Two files may agree with one mark: each is a copy of what was read then. Only one moves it
 * (I4). */
static void settle_mark(const struct event_merge *merge, struct event_gatherer *gatherer) {
    for (size_t i = 0; i < merge->open_count; i++) {
        if (strcmp(merge->gatherers[i]->mark_name, gatherer->mark_name) == 0) {
            gatherer->mark_name[0] = '\0';
        }
    }
}

static bool open_file(struct event_merge *merge, const struct candidate *candidate) {
    if (merge->open_count == merge->gatherer_count && !add_gatherer(merge)) return false;
    struct event_gatherer *gatherer = merge->gatherers[merge->open_count];
    gatherer->next_input = candidate->input;
    event_batch_clear(&merge->scratch);
    if (!event_open_next(gatherer, &merge->scratch)) return end_with(merge, gatherer);
    settle_mark(merge, gatherer);
    gatherer->waits = false;
    merge->heads[merge->open_count] = 0;
    merge->inputs_open[merge->open_count++] = candidate->input;
    return true;
}

/* The gatherer of a file that has ended makes room for another. */
static void remove_file(struct event_merge *merge, size_t place) {
    size_t last = --merge->open_count;
    struct event_gatherer *ended = merge->gatherers[place];
    merge->gatherers[place] = merge->gatherers[last];
    merge->gatherers[last] = ended;
    merge->heads[place] = merge->heads[last];
    merge->inputs_open[place] = merge->inputs_open[last];
}

/* A file in which there is nothing to read is not opened again. */
static void pass_over(struct event_merge *merge, struct event_batch *batch,
                      const struct candidate *candidate) {
    size_t share =
        event_batch_add_share(batch, candidate->input, merge->inputs->paths[candidate->input]);
    batch->share_room[share].slot = candidate->input;
    batch->share_room[share].starts_input = true;
    batch->share_room[share].resumed_at = candidate->resumed_at;
    merge->bytes_passed += candidate->bytes;
}

/* Says, once, that files wait although their time has come. */
static void note_crowd(struct event_merge *merge, struct event_batch *batch, uint64_t head) {
    if (merge->has_crowd) return;
    merge->has_crowd = true;
    for (size_t i = merge->next_candidate; i < merge->inputs->count; i++) {
        batch->crowd += merge->candidates[i].first_ms <= head;
    }
}

/* Opens the files whose first event is not after the head of all that are open. Returns false if
 * the batch has no room for their shares, or the reading has ended. */
static bool open_due(struct event_merge *merge, struct event_batch *batch, uint64_t head) {
    const struct candidate *next;
    while ((next = next_candidate(merge)) != NULL &&
           (merge->open_count == 0 || next->first_ms <= head)) {
        if (batch->share_count == EVENT_SHARES_LIMIT) return false;
        if (next->is_done) {
            pass_over(merge, batch, next);
        } else if (merge->open_count == EVENT_FILES_OPEN) {
            note_crowd(merge, batch, head);
            return true;
        } else if (open_file(merge, next)) {
            head = 0;
        } else {
            return false;
        }
        merge->next_candidate++;
    }
    return true;
}

/* --- merging --- */

/* The open file with the least head, the first named one among equals. There is one. */
static size_t least(const struct event_merge *merge) {
    size_t found = 0;
    for (size_t i = 1; i < merge->open_count; i++) {
        if (merge->heads[i] < merge->heads[found] ||
            (merge->heads[i] == merge->heads[found] &&
             merge->inputs_open[i] < merge->inputs_open[found])) {
            found = i;
        }
    }
    return found;
}

/* Before which time the events of `input` come before one of `time_ms` in another. */
static uint64_t bound(size_t input, uint64_t time_ms, size_t other) {
    return input < other ? time_ms + 1 : time_ms;
}

/* Up to when a file may be read (I2). */
static uint64_t until(const struct event_merge *merge, size_t place) {
    size_t input = merge->inputs_open[place];
    uint64_t until_ms = UINT64_MAX;
    for (size_t i = 0; i < merge->open_count; i++) {
        if (i == place) continue;
        uint64_t other_ms = bound(input, merge->heads[i], merge->inputs_open[i]);
        if (other_ms < until_ms) until_ms = other_ms;
    }
    const struct candidate *next = next_candidate(merge);
    if (next != NULL && merge->open_count < EVENT_FILES_OPEN) {
        uint64_t other_ms = bound(input, next->first_ms, next->input);
        if (other_ms < until_ms) until_ms = other_ms;
    }
    return until_ms;
}

/* Takes what is next of one file. Returns whether the batch may have more. */
static bool take_some(struct event_merge *merge, struct event_batch *batch, size_t place) {
    struct event_gatherer *gatherer = merge->gatherers[place];
    if (!gatherer->has_share) {
        if (batch->share_count == EVENT_SHARES_LIMIT) return false;
        event_gather_begin(gatherer, batch);
        batch->share_room[gatherer->share].slot = merge->inputs_open[place];
    }
    size_t before = batch->count;
    gatherer->until_ms = until(merge, place);
    gatherer->believed_ms = merge->believed_ms;
    gatherer->complaints_made = merge->complaints_made;
    event_gather_some(gatherer, batch);
    merge->complaints_made = gatherer->complaints_made;
    memset(batch->share_number_room + before, (int)gatherer->share, batch->count - before);
    merge->heads[place] = gatherer->waits ? gatherer->next_ms : 0;
    if (gatherer->has_ended) return end_with(merge, gatherer);
    if (gatherer->is_open) return gatherer->waits;
    event_gather_end(gatherer, batch);
    remove_file(merge, place);
    return true;
}

/* Takes from one file what comes next. Returns whether the batch may have more. */
static bool take_next(struct event_merge *merge, struct event_batch *batch) {
    uint64_t head = merge->open_count > 0 ? merge->heads[least(merge)] : 0;
    if (!open_due(merge, batch, head)) return false;
    if (merge->open_count > 0) return take_some(merge, batch, least(merge));
    merge->has_ended = next_candidate(merge) == NULL;
    return false;
}

bool event_merge_gather(struct event_merge *merge, struct event_batch *batch) {
    if (merge->has_ended) return false;
    event_batch_clear(batch);
    merge->believed_ms = believed(merge);
    while (take_next(merge, batch)) {
    }
    batch->bytes = merge->bytes_passed;
    for (size_t i = 0; i < merge->gatherer_count; i++) {
        struct event_gatherer *gatherer = merge->gatherers[i];
        if (gatherer->has_share) event_gather_end(gatherer, batch);
        batch->bytes += event_gathered_bytes(gatherer);
    }
    return batch->share_count > 0;
}
