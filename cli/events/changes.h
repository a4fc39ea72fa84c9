/* changes.h - JSON events that change several counters:
 *
 *   {"id": "order-7", "changes": [{"key": "orders"}, {"key": "items", "delta": 3}]}
 *
 * Only formats that ask for it know the member `changes` (event_format_options). An event has it,
 * or a key and a delta, and not both. A key may be in `key_base64` if the format takes that. */
#ifndef LETHE_CLI_EVENTS_CHANGES_H
#define LETHE_CLI_EVENTS_CHANGES_H

#include "events/parse.h"

/* Whether a scanned event has such a list. */
bool event_has_changes(const struct event_format *format, const struct scan_value *found);

/* Whether an event with a list lacks what the place, of a key or a delta, names; false after saying
 * that it has both. */
bool event_lacks_place(const struct event_format *format, size_t place,
                       const struct scan_value *found, struct event_problem *problem);

/* Adds the operation of such an event. fields has its id and its time. */
enum event_result event_take_list(const struct event_format *format, const lethe_bytes *fields,
                                  struct scan_value *found, struct event_batch *batch,
                                  struct event_problem *problem);

/* json.c: the text of a string or number. What is unescaped once stays so. */
lethe_bytes event_text_of(struct scan_value *value, struct event_batch *batch);
/* The bytes of a string in base64; false after saying that it is none. role: what it is. */
bool event_bytes_of(struct scan_value *value, const char *role, struct event_batch *batch,
                    lethe_bytes *out, struct event_problem *problem);

#endif
