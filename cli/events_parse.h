/* events_parse.h - one record of a file becomes one operation of a batch. */
#ifndef LETHE_CLI_EVENTS_PARSE_H
#define LETHE_CLI_EVENTS_PARSE_H

#include "events_batch.h"
#include "events_format.h"

enum event_result {
    EVENT_TAKEN = 0, /* the batch has one more operation */
    EVENT_REJECTED,  /* the problem says why; the batch is as before */
    EVENT_NO_ROOM    /* the batch is as before and must be emptied first */
};

/* Each parses a record, which lies in the batch's own text, without its newline. Room as promised by
 * event_batch_has_room is there. */
enum event_result event_parse_plain(const struct event_format *format, lethe_bytes record,
                                    struct event_batch *batch, struct event_problem *problem);
enum event_result event_parse_csv(const struct event_format *format, lethe_bytes record,
                                  struct event_batch *batch, struct event_problem *problem);
enum event_result event_parse_json(const struct event_format *format, lethe_bytes record,
                                   struct event_batch *batch, struct event_problem *problem);

/* Copies a record into the batch and parses it by its format. */
enum event_result event_parse(const struct event_format *format, lethe_bytes record, uint64_t line,
                              struct event_batch *batch, struct event_problem *problem);

/* Turns the names of a format into column numbers by a header record. The batch is used as memory and
 * left empty. */
bool event_parse_header(const struct event_format *format, lethe_bytes record,
                        struct event_batch *batch, struct event_format *out,
                        struct event_problem *problem);

#endif
