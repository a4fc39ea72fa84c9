/* header.h - the first record of a file names its columns. */
#ifndef LETHE_CLI_EVENTS_HEADER_H
#define LETHE_CLI_EVENTS_HEADER_H

#include "events/format.h"

/* Forgets the columns of the last file. */
void event_header_begin(struct event_format *format);

/* Takes the name of a column. False after saying what is wrong. */
bool event_header_take(struct event_format *format, uint32_t column, lethe_bytes name,
                       struct event_problem *problem);

/* Whether every name has found its column; false after saying which has not. */
bool event_header_end(struct event_format *format, lethe_bytes record,
                      struct event_problem *problem);

/* Whether a record that has these fields is the header once more, as in files that were put
 * together. */
bool event_is_header(const struct event_format *format, const lethe_bytes *fields);

#endif
