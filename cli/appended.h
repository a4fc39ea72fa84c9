/* appended.h - a file that whole lines are added to, each once, over kills and reruns.
 *
 * Others may add lines to it as well: nothing is ever cut off. What was added since the last commit of a run that was killed is found in
 * the file again when the lines come again, in the same order, and is then not added a second time. How far the file is known to be
 * right is a mark (resume.h), which belongs into the commit that covers the lines. */
#ifndef LETHE_CLI_APPENDED_H
#define LETHE_CLI_APPENDED_H

#include "behind.h"
#include "resume.h"

struct appended {
    const char *path;
    int descriptor;
    bool is_regular;
    bool name_is_synced;
    bool has_no_reader;   /* it is a pipe whose other end was closed */
    bool is_inside_line;  /* somebody left its last line without a newline */
    struct behind behind; /* of a regular file */
    uint64_t at;          /* behind what is right */
    /* What a killed run has left, while it may still come again: */
    bool is_matching;
    uint64_t left_at, left_end; /* what is not looked at yet */
    char *left;                 /* read of it */
    size_t left_size, left_position, left_room;
    char *buffer;
    size_t used, room;
};

/* Opens it, or makes it. Like all these calls returns EXIT_DONE, or another code after saying why. */
int appended_open(struct appended *appended, const char *path);
/* Whether it is the file that the mark is of. */
bool appended_is(const struct appended *appended, const struct resume_mark *mark);
/* Before the first line: the mark of the last commit; NULL if there is none. */
int appended_begin(struct appended *appended, const struct resume_mark *before);
/* Adds whole lines, each with its newline. */
int appended_write(struct appended *appended, const void *lines, size_t size);
/* Adds one line that has no newline yet. */
int appended_line(struct appended *appended, const void *line, size_t size);
/* All that was added is with the reader; and on disk. */
int appended_flush(struct appended *appended);
int appended_sync(struct appended *appended);
/* After a sync of a regular file: what to remember in the commit that covers its lines. is_closed: nothing more will be added. */
int appended_mark(const struct appended *appended, bool is_closed, struct resume_mark *out);
/* Takes one that is all zero, or closed. */
int appended_close(struct appended *appended, int code);

#endif
