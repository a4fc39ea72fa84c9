/* parse.h - one record of a file becomes one operation of a batch. */
#ifndef LETHE_CLI_EVENTS_PARSE_H
#define LETHE_CLI_EVENTS_PARSE_H

#include "events/batch.h"
#include "events/format.h"

enum event_result {
    /* The batch has one more operation. */
    EVENT_TAKEN = 0,
    /* The problem says why. The batch is as before. */
    EVENT_UNREADABLE,
    /* The batch is as before, and must be emptied first. */
    EVENT_NO_ROOM
};

/* Each parses a record without its line end, which is in the batch's own text. event_batch_has_room
 * has promised the room. Literals stay in the format, which must outlive the batch. */
enum event_result event_parse_plain(const struct event_format *format, lethe_bytes record,
                                    struct event_batch *batch, struct event_problem *problem);
enum event_result event_parse_csv(const struct event_format *format, lethe_bytes record,
                                  struct event_batch *batch, struct event_problem *problem);
enum event_result event_parse_json(const struct event_format *format, lethe_bytes record,
                                   struct event_batch *batch, struct event_problem *problem);

/* Copies a record into the batch and parses it by its format. */
enum event_result event_parse(const struct event_format *format, lethe_bytes record, uint64_t line,
                              struct event_batch *batch, struct event_problem *problem);

/* Each finds the columns of the names of a format in a header record. The batch is used as
 * memory. */
bool event_parse_plain_header(struct event_format *format, lethe_bytes record,
                              struct event_batch *batch, struct event_problem *problem);
bool event_parse_csv_header(struct event_format *format, lethe_bytes record,
                            struct event_batch *batch, struct event_problem *problem);

/* The same by the kind of the format. Leaves the batch empty. */
bool event_parse_header(struct event_format *format, lethe_bytes record, struct event_batch *batch,
                        struct event_problem *problem);

#endif
