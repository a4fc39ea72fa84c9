/* resume_find.h - which mark a file belongs to. */
#ifndef LETHE_CLI_INPUT_RESUME_FIND_H
#define LETHE_CLI_INPUT_RESUME_FIND_H

#include "input/resume_track.h"

/* A number that identifies a file, also against one that later has its name or its inode. born_ns:
 * 0 where the file system does not know. Never 0. */
uint64_t resume_identify(uint64_t device, uint64_t inode, uint64_t born_ns);

/* The same of a compressed file. It differs, so that a text that is written over a compressed file
 * is never taken for that file: sizes and places of the two have nothing to do with each other. */
uint64_t resume_identify_packed(uint64_t identity);

/* What the system says about an open file now. Returns false for what is not a regular file. */
bool resume_look(int descriptor, struct resume_file *out);

/* Reads size bytes at offset. False when there are fewer. */
bool resume_read_at(int descriptor, uint64_t offset, void *to, size_t size);

/* Whether a file that is not compressed has the bytes before the place of a mark. */
bool resume_has_tail(int descriptor, const struct resume_mark *mark);

/* Marks that a file may belong to, all of them: those of files that begin as it does. */
struct resume_search {
    /* The nearest place first. */
    const struct resume_entry **candidates;
    size_t count;
    bool is_short_of_memory;
};

/* head has the first size bytes, RESUME_SAMPLE_BYTES or all that there are. Places before `least`
 * are left out. */
struct resume_search resume_search_begin(const struct resume_table *table, const void *head,
                                         size_t size, uint64_t least);
void resume_search_end(struct resume_search *search);

enum resume_answer {
    RESUME_NONE = 0,
    RESUME_FOUND,
    /* By a signal, while the file was read through. */
    RESUME_STOPPED
};

/* Finds the mark of a file that is not compressed. Cost: a block for each candidate; and where that
 * does not settle it, all of the file up to the furthest that is left. */
enum resume_answer resume_search_file(struct resume_search *search, int descriptor,
                                      const struct resume_entry **out);

/* Describes a place by reading all before it: for a mark without blocks, to continue from it. */
enum resume_answer resume_follow(int descriptor, uint64_t offset, struct resume_track *track);

#endif
