/* record.h - fields become an operation: what an id, a key, a delta and a time may be, the same in
 * every format. */
#ifndef LETHE_CLI_EVENTS_RECORD_H
#define LETHE_CLI_EVENTS_RECORD_H

#include "events/parse.h"
#include "input/integer.h"

#define EVENT_INLINE static inline __attribute__((always_inline))

/* The checks of single fields; false after saying what is wrong. */
bool event_check_size(const char *what, lethe_bytes field, size_t limit,
                      struct event_problem *problem);
/* A delta that is not an integer at first sight, or has a scale. */
bool event_take_other_delta(const struct event_format *format, lethe_bytes field, int64_t *delta,
                            struct event_problem *problem);

EVENT_INLINE bool event_take_id(lethe_bytes id, struct event_problem *problem) {
    if (id.size - 1 < LETHE_ID_LIMIT_BYTES) return true;
    return event_check_size("id", id, LETHE_ID_LIMIT_BYTES, problem);
}

EVENT_INLINE bool event_take_key(lethe_bytes key, struct event_problem *problem) {
    if (key.size - 1 < LETHE_KEY_LIMIT_BYTES) return true;
    return event_check_size("key", key, LETHE_KEY_LIMIT_BYTES, problem);
}

/* A field of no bytes is missing. */
EVENT_INLINE bool event_take_delta(const struct event_format *format, lethe_bytes field,
                                   int64_t *delta, struct event_problem *problem) {
    return (format->scale == 0 && field.size > 0 && integer_parse(field, delta) == INTEGER_FINE) ||
           event_take_other_delta(format, field, delta, problem);
}

/* Adds the operation whose changes have been written after those of the others. */
EVENT_INLINE enum event_result event_add(struct event_batch *batch, lethe_bytes id,
                                         size_t change_count, uint64_t time_ms) {
    batch->operation_room[batch->count++] =
        (lethe_operation){.id = id,
                          .changes = batch->changes + batch->change_count,
                          .change_count = change_count,
                          .time_ms = time_ms};
    batch->change_count += change_count;
    return EVENT_TAKEN;
}

/* The parts of the next call, for those who find the changes elsewhere: the id of one field or of
 * several, or the one that the batch gives; and the time, 0 where the format has none. */
bool event_make_id(const struct event_format *format, const lethe_bytes *fields,
                   struct event_batch *batch, lethe_bytes *id, struct event_problem *problem);
bool event_take_time(const struct event_format *format, const lethe_bytes *fields,
                     struct event_batch *batch, uint64_t *time_ms, struct event_problem *problem);

/* Adds the operation of a record. fields has what was found at each place of the format; of
 * literals it need not have anything. What is missing has no bytes. */
enum event_result event_take_fields(const struct event_format *format, const lethe_bytes *fields,
                                    struct event_batch *batch, struct event_problem *problem);

#endif
