/* late_known.h - which records a list of late events has already, for a run that reads its inputs
 * from the start. */
#ifndef LETHE_CLI_COUNT_LATE_KNOWN_H
#define LETHE_CLI_COUNT_LATE_KNOWN_H

#include "output/appended.h"

struct count_known;

/* Reads the records of the list. delimiter: as event_frame_find takes it. Returns EXIT_DONE, or
 * EXIT_ENVIRONMENT after saying why; *out is to be freed either way. */
int count_known_read(const struct appended *list, char delimiter, struct count_known **out);
/* Whether the list has the record once more than was asked for so far. False for NULL. */
bool count_known_take(struct count_known *known, lethe_bytes record);
void count_known_free(struct count_known *known); /* takes NULL */

#endif
