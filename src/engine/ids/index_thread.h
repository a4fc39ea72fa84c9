/* engine/ids/index_thread.h - a thread that sorts and merges for an index, and backs its memory.
 *
 * Whoever uses the index hands it full tails, or runs that are to be merged, and takes what was
 * made of them into the list of runs when it is ready. Only the user changes that list. */
#ifndef LETHE_ENGINE_IDS_INDEX_THREAD_H
#define LETHE_ENGINE_IDS_INDEX_THREAD_H

#include "engine/ids/index_internal.h"

/* Starts it. NULL if that is impossible; then the user does its work. */
lethe_index_thread *lethe_index_thread_start(lethe_index *index);
/* Ends it; what it has not done stays undone. Takes NULL. */
void lethe_index_thread_stop(lethe_index_thread *thread);

/* Hands it the tails of index->sealing, and all merges that are under way. */
void lethe_index_thread_call(lethe_index_thread *thread, bool seals);
/* Takes a merge away from it. Waits for a few thousand items at most. */
void lethe_index_thread_withdraw(lethe_index_thread *thread, unsigned level);

/* Whether something is ready, or failed, since this was last asked. */
bool lethe_index_thread_has_news(lethe_index_thread *thread);
/* What it has not done. */
typedef struct lethe_index_rest {
    bool seals;
    bool merges[LETHE_INDEX_LEVELS];
} lethe_index_rest;
/* Errors: the first one of its work. */
LETHE_MUST_CHECK lethe_status lethe_index_thread_look(lethe_index_thread *thread,
                                                      lethe_index_rest *out);
/* Waits until the tails are done, or, if it has none, something else is. */
void lethe_index_thread_wait(lethe_index_thread *thread);

/* Has it back this memory soon. False: it has too much to do as it is. */
bool lethe_index_thread_back(lethe_index_thread *thread, void *memory, uint64_t bytes);
/* Waits until it backs nothing any more, for a millisecond or two at most; what it has not begun it
 * forgets. Takes NULL. */
void lethe_index_thread_wait_backed(lethe_index_thread *thread);

#endif
