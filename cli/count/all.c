/* all.c - takes batches from the reader, submits them to the store, and adds up the outcomes.
 *
 * IDEA  Three things go on at once: the reader parses the next batches, this thread has the engine
 *       decide on one, and the engine's own thread writes those before it.
 * I1    An outcome is added to the totals only when it is durable, so a report never claims more
 *       than is on disk. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "count/count.h"
#include "events/merge.h"
#include "frame/interrupt.h"
#include "input/decimal.h"
#include "say/message.h"
#include "store/store.h"

enum { PATIENCE_MS = 50, LOOK_AFTER = 65536 };

static int fail_commit(struct counting *counting, lethe_status status) {
    counting->has_failed = true;
    int code = store_fail_call(status, "write the store", counting->folder, counting->store);
    uint64_t taken = totals_events(&counting->totals) - totals_skipped(&counting->totals);
    message_note("%" PRIu64 " event%s of this run %s counted, or %s, and on disk; run the same "
                 "command again to continue",
                 taken, taken == 1 ? "" : "s", taken == 1 ? "is" : "are",
                 taken == 1 ? "a duplicate" : "duplicates");
    return code;
}

/* The error rises with the ids in the window, so it is read now and then. */
static void judge(struct counting *counting) {
    count_expect_wrong(counting, counting->unjudged);
    counting->unjudged = 0;
}

/* Waits for the oldest ticket. */
static int settle_one(struct counting *counting) {
    struct count_ticket *ticket = &counting->tickets[counting->first_ticket];
    lethe_status status = lethe_store_wait(counting->store, ticket->number);
    if (status != LETHE_OK) return fail_commit(counting, status);
    totals_add(&counting->totals, &ticket->totals);
    counting->unjudged += totals_fresh(&ticket->totals);
    if (counting->unjudged >= LOOK_AFTER) judge(counting);
    counting->first_ticket = (counting->first_ticket + 1) % COUNT_TICKETS;
    counting->ticket_count--;
    return EXIT_DONE;
}

/* Settles the tickets that are done, and waits until at most `most` are left. */
static int settle(struct counting *counting, size_t most) {
    int code = EXIT_DONE;
    while (
        code == EXIT_DONE && counting->ticket_count > 0 &&
        (counting->ticket_count > most ||
         lethe_store_is_done(counting->store, counting->tickets[counting->first_ticket].number))) {
        code = settle_one(counting);
    }
    return code;
}

/* What a sketch cannot count. */
static const char *sketch_reason(const struct counting *counting) {
    static char text[160];
    struct decimal_text most;
    snprintf(text, sizeof text,
             "the key would fall below zero, or its estimate would exceed %s; not counted, check "
             "the delta",
             decimal_show_natural(UINT32_MAX - 1, counting->scale, &most));
    return text;
}

/* Why the engine did not apply an operation, and what to do. */
static const char *reason_of(const struct counting *counting, lethe_outcome outcome) {
    switch (outcome) {
    case LETHE_OUTCOME_OVERFLOW:
        if (counting->has_sketch) return sketch_reason(counting);
        if (counting->has_periods) {
            return "a counter, or what it has in a period, would exceed the range of 64 bits; not "
                   "counted, check the delta, or change the counter with 'lethe set', and a period "
                   "by an event with the opposite delta";
        }
        return "a counter would exceed the range of 64 bits; not counted, check the delta, or "
               "change the counter with 'lethe set'";
    case LETHE_OUTCOME_REFUSED:
        if (counting->is_uncapped)
            return "the system has no memory for the window; not counted, make memory available";
        return counting->degrades
                   ? "the window has reached its --memory, and no larger error makes room; not "
                     "counted, give more --memory"
                   : "the window has reached its --memory; not counted, give more --memory, or "
                     "--policy degrade";
    case LETHE_OUTCOME_FUTURE:
        return "the time is ahead of this machine's clock by more than --max-future, or of the "
               "events around it by more than the window; not counted, check the clock that wrote "
               "it, and whether the oldest events come first";
    case LETHE_OUTCOME_MISMATCH:
        return "this id came before with other keys or deltas; not counted, find out who reuses "
               "ids";
    default:
        return "an id or key is empty or too long; not counted, use 1 to 1024 bytes";
    }
}

int count_refuse(struct counting *counting, const char *path, uint64_t line, uint64_t last_line,
                 lethe_outcome outcome) {
    if (counting->stops_on_error && outcome == LETHE_OUTCOME_OVERFLOW) {
        return message_fail(EXIT_BAD_DATA,
                            "%s:%" PRIu64 ": %s (stopped; the other lines up to line %" PRIu64
                            " are counted)",
                            inputs_name(path), line, reason_of(counting, outcome), last_line);
    }
    count_complain(counting, path, line, reason_of(counting, outcome));
    return EXIT_DONE;
}

/* Adds one outcome to the totals of its batch. */
static int tally(struct counting *counting, const struct event_batch *batch, size_t place,
                 lethe_outcome outcome, struct count_totals *totals) {
    totals_count(totals, outcome);
    switch (outcome) {
    case LETHE_OUTCOME_APPLIED:
    case LETHE_OUTCOME_APPLIED_LATE:
    case LETHE_OUTCOME_DUPLICATE:
    case LETHE_OUTCOME_LATE:
    case LETHE_OUTCOME_LIMITED:
        return EXIT_DONE;
    default:
        return count_refuse(counting, event_share_of(batch, place)->path,
                            batch->line_numbers[place], event_share_of(batch, place)->line,
                            outcome);
    }
}

/* Notes in which direction the time goes from each event to the next one of its file. */
static void note_direction(struct counting *counting, const struct event_batch *batch) {
    for (size_t i = 1; i < batch->count && counting->has_time; i++) {
        uint64_t before_ms = batch->operations[i - 1].time_ms;
        uint64_t time_ms = batch->operations[i].time_ms;
        if (batch->share_numbers[i] != batch->share_numbers[i - 1]) continue;
        counting->backwards += time_ms < before_ms;
        counting->forwards += time_ms > before_ms;
    }
}

/* Adds the outcomes of a batch to its totals. */
static int tally_all(struct counting *counting, const struct event_batch *batch,
                     const uint8_t *outcomes, struct count_totals *totals) {
    size_t applied = 0, duplicates = 0;
    for (size_t i = 0; i < batch->count; i++) {
        applied += outcomes[i] == LETHE_OUTCOME_APPLIED;
        duplicates += outcomes[i] == LETHE_OUTCOME_DUPLICATE;
    }
    if (applied + duplicates == batch->count) {
        totals->outcomes[LETHE_OUTCOME_APPLIED] += applied;
        totals->outcomes[LETHE_OUTCOME_DUPLICATE] += duplicates;
        return EXIT_DONE;
    }
    note_direction(counting, batch);
    int code = EXIT_DONE;
    for (size_t i = 0; i < batch->count; i++) {
        int result = tally(counting, batch, i, (lethe_outcome)outcomes[i], totals);
        if (code == EXIT_DONE) code = result;
    }
    return code;
}

/* The batches that follow tell a wrong time from the end of a pause. A file is waited for, so that
 * the result does not depend on which thread is faster; a pipe might never send more. */
static void announce(struct counting *counting) {
    const struct event_batch *next;
    for (size_t ahead = 0;
         (next = events_ahead(counting->reader, ahead, counting->inputs->all_regular)) != NULL;
         ahead++) {
        if (!lethe_store_announce(counting->store, next->operations, next->count)) return;
    }
}

/* A batch between deciding and committing. */
struct submission {
    struct counting *counting;
    const struct event_batch *batch;
    /* Of each share that has a mark, in turn; that of what is unreported; and that of the list of
     * late events. */
    lethe_mark marks[EVENT_SHARES_LIMIT + 2];
    unsigned char mark_values[EVENT_SHARES_LIMIT][RESUME_VALUE_BYTES];
    /* Of the list of late events. */
    int code;
};

/* Adds the late events to their list. */
static int list_late(struct counting *counting, const struct event_batch *batch,
                     const uint8_t *outcomes) {
    int code = EXIT_DONE;
    bool has_late = false;
    for (size_t i = 0; i < batch->count && code == EXIT_DONE; i++) {
        if (outcomes[i] != LETHE_OUTCOME_LATE) continue;
        code = count_late_add(counting->late, event_share_of(batch, i), batch->lines[i]);
        has_late = true;
    }
    return code == EXIT_DONE && has_late ? count_late_sync(counting->late) : code;
}

/* Notes which inputs have an event that was counted, or was a duplicate. */
static void note_taken(struct counting *counting, const struct event_batch *batch,
                       const uint8_t *outcomes) {
    size_t untaken = 0;
    for (size_t i = 0; i < batch->share_count; i++) {
        untaken += !counting->taken[batch->shares[i].slot];
    }
    for (size_t i = 0; i < batch->count && untaken > 0; i++) {
        if (count_is_taken(outcomes[i])) counting->taken[event_share_of(batch, i)->slot] = true;
    }
}

/* A lethe_store_decided: the marks of the files, what they pass unreported, and the list of late
 * events must be right when the commit is durable. */
static lethe_status on_decided(void *context, const uint8_t *outcomes, lethe_mark *marks) {
    struct submission *submission = context;
    struct counting *counting = submission->counting;
    const struct event_batch *batch = submission->batch;
    note_taken(counting, batch, outcomes);
    for (size_t i = 0; i < batch->share_count; i++) {
        if (!batch->shares[i].has_mark) continue;
        struct resume_mark mark = batch->shares[i].mark;
        if (!counting->taken[batch->shares[i].slot]) mark.flags |= RESUME_UNTAKEN;
        marks->value.size = resume_encode(&mark, submission->mark_values[i]);
        marks++;
    }
    count_unreported_note(&counting->unreported, batch, outcomes);
    if (marks > submission->marks) *marks++ = count_unreported_mark(&counting->unreported);
    if (counting->late == NULL) return LETHE_OK;
    submission->code = list_late(counting, batch, outcomes);
    (void)count_late_mark(counting->late, marks);
    return submission->code == EXIT_DONE ? LETHE_OK : LETHE_EIO;
}

/* Submits a batch, as it was prepared or as it is. */
static lethe_status hand_over(struct submission *submission, size_t mark_count, uint8_t *outcomes,
                              lethe_store_decided decided, uint64_t *ticket) {
    lethe_store *store = submission->counting->store;
    const struct event_batch *batch = submission->batch;
    lethe_mark *marks = submission->marks;
    if (batch->prepared != NULL)
        return lethe_store_submit_prepared(store, batch->prepared, marks, mark_count, outcomes,
                                           decided, submission, ticket);
    if (decided != NULL)
        return lethe_store_submit_with(store, batch->operations, batch->count, marks, mark_count,
                                       outcomes, NULL, decided, submission, ticket);
    return lethe_store_submit(store, batch->operations, batch->count, NULL, 0, outcomes, NULL,
                              ticket);
}

/* Has the engine decide, with what goes into the same commit. */
static lethe_status decide(struct submission *submission, uint8_t *outcomes, uint64_t *ticket) {
    struct counting *counting = submission->counting;
    const struct event_batch *batch = submission->batch;
    lethe_mark *marks = submission->marks;
    size_t mark_count = 0;
    for (size_t i = 0; i < batch->share_count; i++) {
        const struct event_share *share = &batch->shares[i];
        if (!share->has_mark) continue;
        marks[mark_count++] = (lethe_mark){
            .name = {.data = share->mark_name, .size = strlen(share->mark_name)},
            .value = {.data = submission->mark_values[i], .size = 0},
        };
    }
    /* A pipe that is sent again has its skipped events again; a file whose mark passes them has
     * not. */
    if (mark_count > 0) marks[mark_count++] = count_unreported_mark(&counting->unreported);
    if (counting->late != NULL && count_late_mark(counting->late, &marks[mark_count])) mark_count++;
    lethe_store_decided decided = mark_count > 0 ? on_decided : NULL;
    lethe_status status = hand_over(submission, mark_count, outcomes, decided, ticket);
    if (mark_count > 0) return status;
    if (status == LETHE_OK) count_unreported_note(&counting->unreported, batch, outcomes);
    if (status == LETHE_OK && counting->late != NULL) {
        submission->code = list_late(counting, batch, outcomes);
    }
    return status;
}

/* Has the engine decide on a batch, and remembers the ticket. */
static int submit(struct counting *counting, const struct event_batch *batch) {
    static uint8_t outcomes[EVENTS_PER_BATCH];
    static struct submission submission;
    submission.counting = counting;
    submission.batch = batch;
    submission.code = EXIT_DONE;
    if (counting->has_time) announce(counting);
    struct count_ticket ticket = {.totals = {.unreadable = batch->unreadable}};
    count_put_limit(&counting->bounds, batch);
    lethe_status status = decide(&submission, outcomes, &ticket.number);
    if (submission.code != EXIT_DONE) {
        counting->has_failed = true;
        return submission.code;
    }
    if (status != LETHE_OK) return fail_commit(counting, status);
    int code = tally_all(counting, batch, outcomes, &ticket.totals);
    size_t place = (counting->first_ticket + counting->ticket_count++) % COUNT_TICKETS;
    counting->tickets[place] = ticket;
    return code;
}

/* Says that the last line of a file is left for the next run. */
static void tell_pending(struct counting *counting, const struct event_share *share) {
    counting->pending++;
    if (share->is_pending_open) {
        if (share->pending_bytes >= EVENT_OPEN_BYTES) counting->holds_back = true;
        message_warn("%s:%" PRIu64 ": a quoted field does not end; %" PRIu64
                     " bytes from this line on are not counted in this run, and the next run reads "
                     "them again; if the file is complete, close its quotes, and double those "
                     "inside it",
                     inputs_name(share->path), share->pending_line, share->pending_bytes);
        return;
    }
    message_warn(
        "%s:%" PRIu64 ": the last line has no newline yet (%" PRIu64
        " bytes) and is not counted in this run; the next run reads it again; if the file is "
        "complete, give --last-line",
        inputs_name(share->path), share->pending_line, share->pending_bytes);
}

/* Reports that more files overlap than are open at once. */
static void tell_crowd(const struct event_batch *batch) {
    message_warn(
        "more files overlap in time than the %d that are read at once; at least %zu wait%s "
        "until one ends, and what has become older than the window by then is late; name fewer "
        "at a time, or give a longer --window",
        EVENT_FILES_OPEN, batch->crowd, batch->crowd == 1 ? "s" : "");
}

/* A file is begun. */
static void introduce_file(struct counting *counting, const struct event_share *share) {
    if (counting->taken != NULL) counting->taken[share->slot] = share->was_taken;
    counting->started_files++;
    /* What comes later may have been there under another name, and was read by this run. */
    if (share->resumed_at == 0 || share->is_later) return;
    counting->resumed_at += share->resumed_at;
    counting->resumed_files++;
    counting->resumed_path = share->path;
}

/* Reports what happened to a file. */
static void introduce_share(struct counting *counting, const struct event_share *share) {
    if (share->starts_input) introduce_file(counting, share);
    if (share->warning[0] != '\0') message_warn("%s %s", inputs_name(share->path), share->warning);
    if (share->note[0] != '\0' && !counting->quiet) message_note("%s %s", share->path, share->note);
}

void count_introduce(struct counting *counting, const struct event_batch *batch) {
    for (size_t i = 0; i < batch->share_count; i++) {
        introduce_share(counting, &batch->shares[i]);
    }
    if (batch->crowd > 0) tell_crowd(batch);
    count_tell_resumed(counting, false);
    counting->bytes_read = batch->bytes;
    count_renew_complaints(counting);
    for (size_t i = 0; i < batch->complaint_count; i++) {
        const struct event_complaint *complaint = &batch->complaints[i];
        count_complain(counting, batch->shares[complaint->share].path, complaint->line,
                       complaint->problem.text);
    }
    if (batch->guessed_unit != UNIT_BY_SIZE && !counting->has_told_unit) {
        counting->has_told_unit = true;
        message_warn("%s:%" PRIu64 ": the time is taken for %s by its size, and so are others of "
                     "this run; say what they are with --time-unit s, ms or us",
                     inputs_name(event_share_of(batch, batch->guessed_at)->path),
                     batch->line_numbers[batch->guessed_at],
                     batch->guessed_unit == UNIT_SECONDS ? "seconds" : "microseconds");
    }
    /* The reader keeps the reasons of the first few only. */
    if (batch->unreadable > batch->complaint_count) {
        count_complain(counting, batch->shares[0].path, 0, "");
    }
    for (size_t i = 0; i < batch->share_count; i++) {
        if (batch->shares[i].pending_bytes > 0) tell_pending(counting, &batch->shares[i]);
    }
}

int count_fail_time(const struct counting *counting) {
    return message_fail(EXIT_USAGE,
                        "%s goes by the time of its events, and these have none; name the time "
                        "field, as in --fields id=1,key=2,delta=3,time=4, or use another store",
                        counting->folder);
}

static int count_batch(struct counting *counting, const struct event_batch *batch) {
    count_introduce(counting, batch);
    if (batch->count == 0 && !event_batch_has_mark(batch)) {
        counting->totals.unreadable += batch->unreadable;
        count_unreported_note(&counting->unreported, batch, NULL);
        return EXIT_DONE;
    }
    if (counting->lacks_time && batch->count > 0) return count_fail_time(counting);
    int code = settle(counting, COUNT_TICKETS - 1);
    return code == EXIT_DONE ? submit(counting, batch) : code;
}

/* Waits for all that was submitted. More may not come for long: the engine need not wait for it. */
static int settle_rest(struct counting *counting) {
    if (counting->ticket_count == 0) return EXIT_DONE;
    lethe_status status = lethe_store_commit(counting->store);
    return status == LETHE_OK ? settle(counting, 0) : fail_commit(counting, status);
}

int count_all(struct counting *counting) {
    int code = EXIT_DONE;
    while (code == EXIT_DONE) {
        /* Nothing to read for a while: a good time to settle the rest. Not sooner, or the reader
         * would wait for the disk whenever it is slow for a moment. */
        if (!events_await(counting->reader, PATIENCE_MS)) code = settle_rest(counting);
        if (code != EXIT_DONE) break;
        count_follow_wait(counting);
        count_show_progress(counting);
        const struct event_batch *batch = events_next(counting->reader);
        if (batch == NULL) break;
        code = count_batch(counting, batch);
        events_release(counting->reader);
    }
    int settled = counting->has_failed ? code : settle_rest(counting);
    if (code == EXIT_DONE) code = settled;
    judge(counting);
    progress_end(&counting->progress);
    if (code == EXIT_DONE) code = events_end(counting->reader);
    return code;
}
