/* module/once/recent.c - a guess: that the next operation is on the same table.
 *
 * IDEA    An id's two blocks are somewhere in the window, and an operation waits for both. To hash
 *         the id and to ask for its blocks takes the table; but the server needs five hundred
 *         instructions to open a key. So where two operations in a row were on one table, the
 *         blocks of the next id are asked for before its key is opened.
 * I1      A guess decides nothing. The hash is used if the table that is found has the seed that it
 *         was made with; otherwise the id is hashed again. Blocks of another table were asked for
 *         in vain.
 * I2      Only the main thread guesses, but a table may be released by another one, at any time
 *         after it has left the database. Whoever releases it takes it out of `recent` first, and
 *         then waits while it is in `looked_at`; and the main thread looks at `recent` again when
 *         it has written there. So one of both sees the other.
 * WHY     The server does not report every way by which a table leaves a database before another
 *         thread has it, and a table's memory is given back to the system. */
#include "once/recent.h"

#include <stdatomic.h>

#include "once/once.h"

/* Of two operations in a row; NULL if they were on different tables. */
static _Atomic(struct once *) recent;
/* The one whose window the main thread looks at. */
static _Atomic(struct once *) looked_at;
/* Of the last operation. It may be gone: it is only compared. */
static const struct once *last;

struct guess recent_expect(const redis_string *id) {
    struct guess guess = {0};
    struct once *table = atomic_load_explicit(&recent, memory_order_relaxed);
    if (table == NULL) return guess;
    atomic_store(&looked_at, table);
    if (atomic_load(&recent) == table) {
        guess.is_made = true;
        guess.seed = table->seed;
        guess.id = once_hash(table, id);
        lethe_window_prefetch(table->window, guess.id);
    }
    atomic_store_explicit(&looked_at, NULL, memory_order_release);
    return guess;
}

void recent_note(struct once *table) {
    struct once *found = table == last ? table : NULL;
    if (atomic_load_explicit(&recent, memory_order_relaxed) != found) atomic_store(&recent, found);
    last = table;
}

void recent_forget(struct once *table) {
    struct once *found = table;
    if (!atomic_compare_exchange_strong(&recent, &found, NULL)) return;
    while (atomic_load(&looked_at) == table) {
        /* It is a few hundred instructions at most. */
    }
}
