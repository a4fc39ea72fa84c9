/* appended.h - a file to which whole lines are added, each exactly once, over kills and reruns.
 *
 * Other programs may add lines to it as well: nothing is ever cut off. When a run was killed, the
 * lines that it added after its last commit come again, in the same order. They are found in the
 * file and not added a second time. How far the file is known to be right is a mark (resume.h),
 * which belongs in the commit that covers the lines. */
#ifndef LETHE_CLI_OUTPUT_APPENDED_H
#define LETHE_CLI_OUTPUT_APPENDED_H

#include "input/resume.h"
#include "output/behind.h"

struct appended {
    const char *path;
    int descriptor;
    bool is_regular;
    bool name_is_synced;
    /* It is a pipe whose other end was closed. */
    bool has_no_reader;
    /* A write or a sync failed. What it held is lost, so that nothing after it may be called
     * written. */
    bool has_failed;
    /* Another program left its last line without a newline. */
    bool is_inside_line;
    /* Of a regular file. */
    struct behind behind;
    /* All before this offset is right. */
    uint64_t at;

    /* While lines of a killed run may still come again: those are from left_at to left_end, and
     * what was read of them is in left. */
    bool is_matching;
    uint64_t left_at, left_end;
    char *left;
    size_t left_size, left_position, left_room;

    char *buffer;
    size_t used, room;
};

/* Before anything else is made: refuses a path at which no file can be opened or made. Returns
 * EXIT_DONE, or another code after saying why. */
int appended_check(const char *path);
/* Opens the file, or makes it. Like all these calls, returns EXIT_DONE, or another code after
 * saying why. */
int appended_open(struct appended *appended, const char *path);
/* Whether it is the file of the mark. */
bool appended_is(const struct appended *appended, const struct resume_mark *mark);
/* Before the first line: the mark of the last commit; NULL if there is none. */
int appended_begin(struct appended *appended, const struct resume_mark *before);
/* After that: lines that a killed run has left are right as they are, in whatever order lines come
 * now. EXIT_BAD_DATA if it was killed within a line. */
int appended_keep_left(struct appended *appended);
/* Whether nothing is in it yet, except what a killed run has left. */
bool appended_is_empty(const struct appended *appended);
/* Adds whole lines, each with its newline. */
int appended_write(struct appended *appended, const void *lines, size_t size);
/* Adds one line that has no newline yet. */
int appended_line(struct appended *appended, const void *line, size_t size);
/* Hands over all that was added to the reader; the second call also puts it on disk. */
int appended_flush(struct appended *appended);
int appended_sync(struct appended *appended);
/* After a sync of a regular file: what to remember in the commit that covers its lines. is_closed:
 * nothing more will be added. */
int appended_mark(const struct appended *appended, bool is_closed, struct resume_mark *out);
/* Also takes one that is all zero or closed. Returns code, or why the last lines were not
 * written. */
int appended_close(struct appended *appended, int code);

#endif
