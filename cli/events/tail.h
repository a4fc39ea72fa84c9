/* tail.h - one file that is followed: opened when it is there, read as it grows, and left when
 * another file has its name. See follow.h. */
#ifndef LETHE_CLI_EVENTS_TAIL_H
#define LETHE_CLI_EVENTS_TAIL_H

#include <sys/types.h>
#include <time.h>

#include "events/gather.h"
#include "input/watch.h"

struct tail {
    /* Of the one path. */
    struct event_gatherer gatherer;
    struct inputs inputs;
    /* Which of all the inputs that is. */
    size_t input;

    /* The file is open; otherwise it is waited for. */
    bool is_open;
    /* Another file has its name: it is read until it has been quiet for a while. */
    bool is_leaving;
    /* The file that is open, or that was found without a whole header. */
    dev_t device;
    ino_t number;
    /* Of a file without a whole header: its size then. */
    off_t tried_size;
    /* Of the file, or of one that has no content yet; -1: none. */
    int watch;
    /* When it was last seen to have changed, and what the system said then of when it was. */
    uint64_t changed_ms;
    struct timespec modified;
    /* When its name was first seen to have no file, 0: it has one; and whether that was said. */
    uint64_t missing_since_ms;
    bool has_told_missing;
    /* Bytes that are not read yet. */
    uint64_t behind;
    /* Since when a quoted field is open over the end of a line, 0: none is; where its record
     * begins; and whether that was said. */
    uint64_t open_since_ms, open_at;
    bool has_told_open;
};

/* What there is to do for a tail. */
enum tail_work {
    TAIL_QUIET = 0,
    /* event_gather has something to read, or to end. */
    TAIL_MORE,
    /* The batch has a note, and no lines. */
    TAIL_NOTE,
    /* Another file has the name now: a tail is to be made for that. The batch has a note. */
    TAIL_ROTATED,
    /* As the gatherer's failure says, or a signal came. */
    TAIL_FAILED
};

/* What tails have in common. */
struct tail_scene {
    struct watch *watch;
    uint64_t now_ms, linger_ms;
    /* Nothing was waited for yet. */
    bool is_first;
    /* For files that are opened now. */
    const struct event_options *options;
    struct tail *const *tails;
    size_t tail_count;
};

/* Makes a tail that waits for the file at inputs->paths[input]. NULL when memory is short. */
struct tail *tail_new(const struct inputs *inputs, size_t input,
                      const struct event_options *options, struct resume_table *table,
                      const atomic_bool *stop);
void tail_free(struct tail *tail, struct watch *watch); /* takes NULL */

/* Looks at the file and its name. */
enum tail_work tail_look(struct tail *tail, const struct tail_scene *scene,
                         struct event_batch *batch);

/* Makes a batch without lines. */
void tail_begin_note(const struct tail *tail, struct event_batch *batch);

#endif
