/* engine/marks.h - marks: how far sources have been read.
 *
 * A mark is a record of STATE, under its name with a prefix. The only other record there is the
 * store's state (log/state.c). */
#ifndef LETHE_ENGINE_MARKS_H
#define LETHE_ENGINE_MARKS_H

#include "engine/disk/disk.h"

bool lethe_marks_are_valid(const lethe_mark *marks, size_t count);
/* Adds valid marks to a batch. */
void lethe_marks_put(const lethe_mark *marks, size_t count, lethe_batch *batch, lethe_disk *disk);
/* Whether a record of STATE is a mark, and one that could be put. */
bool lethe_marks_is_record(lethe_bytes key, lethe_bytes value);

#endif
