/* all.c - takes batches from the reader, submits them to the store, and adds up the outcomes.
 *
 * IDEA  Three things go on at once: the reader parses the next batches, this thread has the engine
 *       decide on one, and the engine's own thread writes those before it.
 * I1    An outcome is added to the totals only when it is durable, so a report never claims more
 *       than is on disk. */
#include <inttypes.h>
#include <string.h>

#include "count/count.h"
#include "frame/interrupt.h"
#include "say/message.h"
#include "store/store.h"

enum { PATIENCE_MS = 50, LOOK_AFTER = 65536 };

static int fail_commit(struct counting *counting, lethe_status status) {
    counting->has_failed = true;
    int code = store_fail_call(status, "write the store", counting->folder, counting->store);
    message_note("%" PRIu64 " events of this run are counted and on disk; run the same command "
                 "again to continue",
                 totals_events(&counting->totals));
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
    counting->unjudged += ticket->totals.outcomes[LETHE_OUTCOME_APPLIED];
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

/* Why the engine did not apply an operation, and what to do. */
static const char *reason_of(const struct counting *counting, lethe_outcome outcome) {
    switch (outcome) {
    case LETHE_OUTCOME_OVERFLOW:
        if (counting->has_sketch) {
            return "the key would fall below zero, or its estimate would exceed 4294967294; not "
                   "counted, check the delta";
        }
        return "a counter would exceed the range of 64 bits; not counted, check the delta, or "
               "change the counter with 'lethe set'";
    case LETHE_OUTCOME_REFUSED:
        return "the window has reached its --memory; not counted, give more --memory, or --policy "
               "degrade";
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
    totals->outcomes[outcome]++;
    switch (outcome) {
    case LETHE_OUTCOME_APPLIED:
    case LETHE_OUTCOME_DUPLICATE:
    case LETHE_OUTCOME_LATE:
    case LETHE_OUTCOME_FUTURE:
        return EXIT_DONE;
    default:
        return count_refuse(counting, batch->path, batch->line_numbers[place], batch->line,
                            outcome);
    }
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
    struct resume_mark mark;
    unsigned char mark_value[RESUME_VALUE_BYTES];
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
        code = count_late_add(counting->late, batch->lines[i]);
        has_late = true;
    }
    return code == EXIT_DONE && has_late ? count_late_sync(counting->late) : code;
}

/* A lethe_store_decided: the mark of the file, and the list of late events, must be right when the
 * commit is durable. */
static lethe_status on_decided(void *context, const uint8_t *outcomes, lethe_mark *marks) {
    struct submission *submission = context;
    struct counting *counting = submission->counting;
    const struct event_batch *batch = submission->batch;
    for (size_t i = 0; i < batch->count && !counting->is_taken; i++) {
        counting->is_taken =
            outcomes[i] == LETHE_OUTCOME_APPLIED || outcomes[i] == LETHE_OUTCOME_DUPLICATE;
    }
    if (batch->has_mark) {
        if (!counting->is_taken) submission->mark.flags |= RESUME_UNTAKEN;
        marks->value.size = resume_encode(&submission->mark, submission->mark_value);
        marks++;
    }
    if (counting->late == NULL) return LETHE_OK;
    submission->code = list_late(counting, batch, outcomes);
    (void)count_late_mark(counting->late, marks);
    return submission->code == EXIT_DONE ? LETHE_OK : LETHE_EIO;
}

/* Has the engine decide, with what goes into the same commit. */
static lethe_status decide(struct submission *submission, uint8_t *outcomes, uint64_t *ticket) {
    struct counting *counting = submission->counting;
    const struct event_batch *batch = submission->batch;
    lethe_mark marks[2];
    size_t mark_count = 0;
    if (batch->has_mark) {
        submission->mark = batch->mark;
        marks[mark_count++] = (lethe_mark){
            .name = {.data = batch->mark_name, .size = strlen(batch->mark_name)},
            .value = {.data = submission->mark_value, .size = 0},
        };
    }
    if (counting->late != NULL && count_late_mark(counting->late, &marks[mark_count])) mark_count++;
    if (mark_count > 0) {
        return lethe_store_submit_with(counting->store, batch->operations, batch->count, marks,
                                       mark_count, outcomes, NULL, on_decided, submission, ticket);
    }
    lethe_status status = lethe_store_submit(counting->store, batch->operations, batch->count, NULL,
                                             0, outcomes, NULL, ticket);
    if (status == LETHE_OK && counting->late != NULL) {
        submission->code = list_late(counting, batch, outcomes);
    }
    return status;
}

/* Has the engine decide on a batch, and remembers the ticket. */
static int submit(struct counting *counting, const struct event_batch *batch) {
    static uint8_t outcomes[EVENTS_PER_BATCH];
    static struct submission submission;
    submission = (struct submission){.counting = counting, .batch = batch};
    if (counting->has_time) announce(counting);
    struct count_ticket ticket = {.totals = {.unreadable = batch->unreadable}};
    lethe_status status = decide(&submission, outcomes, &ticket.number);
    if (submission.code != EXIT_DONE) {
        counting->has_failed = true;
        return submission.code;
    }
    if (status != LETHE_OK) return fail_commit(counting, status);
    int code = EXIT_DONE;
    for (size_t i = 0; i < batch->count; i++) {
        int result = tally(counting, batch, i, (lethe_outcome)outcomes[i], &ticket.totals);
        if (code == EXIT_DONE) code = result;
    }
    size_t place = (counting->first_ticket + counting->ticket_count++) % COUNT_TICKETS;
    counting->tickets[place] = ticket;
    return code;
}

/* Says that the last line of a file is left for the next run. */
static void tell_pending(struct counting *counting, const struct event_batch *batch) {
    counting->pending++;
    if (batch->is_pending_open) {
        counting->has_open = true;
        message_warn("%s:%" PRIu64 ": a quoted field does not end; %" PRIu64
                     " bytes from this line on are not counted in this run, and the next run reads "
                     "them again; if the file is complete, give --last-line: the line is then "
                     "unreadable and those after it are counted",
                     inputs_name(batch->path), batch->pending_line, batch->pending_bytes);
        return;
    }
    message_warn(
        "%s:%" PRIu64 ": the last line has no newline yet (%" PRIu64
        " bytes) and is not counted in this run; the next run reads it again; if the file is "
        "complete, give --last-line",
        inputs_name(batch->path), batch->pending_line, batch->pending_bytes);
}

void count_introduce(struct counting *counting, const struct event_batch *batch) {
    if (batch->starts_input) {
        counting->bytes_before += counting->bytes_read;
        counting->resumed_at += batch->resumed_at;
        counting->is_taken = batch->was_taken;
        if (batch->warning[0] != '\0') {
            message_warn("%s %s", inputs_name(batch->path), batch->warning);
        }
        if (batch->resumed_at > 0 && !counting->quiet) {
            message_note("%s: continuing at byte %" PRIu64 ", where the last run stopped",
                         batch->path, batch->resumed_at);
        }
    }
    counting->bytes_read = batch->bytes;
    for (size_t i = 0; i < batch->complaint_count; i++) {
        count_complain(counting, batch->path, batch->complaints[i].line,
                       batch->complaints[i].problem.text);
    }
    if (batch->guessed_unit != UNIT_BY_SIZE && !counting->has_told_unit) {
        counting->has_told_unit = true;
        message_warn("%s:%" PRIu64 ": the time is taken for %s by its size, and so are others of "
                     "this run; say what they are with --time-unit s, ms or us",
                     inputs_name(batch->path), batch->line_numbers[batch->guessed_at],
                     batch->guessed_unit == UNIT_SECONDS ? "seconds" : "microseconds");
    }
    /* The reader keeps the reasons of the first few only. */
    if (batch->unreadable > batch->complaint_count) count_complain(counting, batch->path, 0, "");
    if (batch->pending_bytes > 0) tell_pending(counting, batch);
}

int count_fail_time(const struct counting *counting) {
    return message_fail(EXIT_USAGE,
                        "%s goes by the time of its events, and these have none; name the time "
                        "field, as in --fields id=1,key=2,delta=3,time=4, or use another store",
                        counting->folder);
}

static int count_batch(struct counting *counting, const struct event_batch *batch) {
    count_introduce(counting, batch);
    if (batch->count == 0 && !batch->has_mark) {
        counting->totals.unreadable += batch->unreadable;
        return EXIT_DONE;
    }
    if (counting->lacks_time && batch->count > 0) return count_fail_time(counting);
    int code = settle(counting, COUNT_TICKETS - 1);
    return code == EXIT_DONE ? submit(counting, batch) : code;
}

int count_all(struct counting *counting) {
    int code = EXIT_DONE;
    while (code == EXIT_DONE) {
        /* Nothing to read for a while: a good time to settle the rest. Not sooner, or the reader
         * would wait for the disk whenever it is slow for a moment. */
        if (!events_await(counting->reader, PATIENCE_MS)) code = settle(counting, 0);
        if (code != EXIT_DONE) break;
        count_show_progress(counting);
        const struct event_batch *batch = events_next(counting->reader);
        if (batch == NULL) break;
        code = count_batch(counting, batch);
        events_release(counting->reader);
    }
    int settled = counting->has_failed ? code : settle(counting, 0);
    if (code == EXIT_DONE) code = settled;
    judge(counting);
    progress_end(&counting->progress);
    if (code == EXIT_DONE) code = events_end(counting->reader);
    return code;
}
