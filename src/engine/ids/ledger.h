/* engine/ids/ledger.h - the ids of all time: a cascade filter on disk, after the window.
 *
 * The store's own log is its write-ahead log. The ledger is checkpointed now and then, with the
 * number of the last commit whose ids it has, and a commit is dropped from the log only when it is
 * covered. So a crash at any moment leaves the ledger with the ids of exactly the commits up to
 * that number, and the log with the rest. */
#ifndef LETHE_ENGINE_IDS_LEDGER_H
#define LETHE_ENGINE_IDS_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/log/state.h"
#include "lethe/cascade.h"
#include "lethe/hash.h"
#include "lethe/store.h"
#include "os/path.h"

typedef struct lethe_ledger lethe_ledger;

typedef struct lethe_ledger_options {
    /* At capacity, of a new one; 0 -> 1e-9, or more if that is too small for the capacity. */
    double error;
    /* Ids expected, of all time; 0 -> 2^30. */
    uint64_t capacity;
    /* 0 -> 256 MiB. */
    uint64_t memory_bytes;
    uint64_t seed;
    const lethe_allocator *allocator;
} lethe_ledger_options;

/* Opens the ledger of the store in folder. If `create` is set a new one is made, in place of one
 * that may have been left by a store whose state does not mention it. Starts its thread.
 * Errors: those of lethe_cascade_open; detail says what to do. */
LETHE_MUST_CHECK lethe_status lethe_ledger_open(const char *folder,
                                                const lethe_ledger_options *options, bool create,
                                                lethe_ledger **out, lethe_detail *detail);
/* What came after the last checkpoint is dropped. Takes NULL. */
void lethe_ledger_close(lethe_ledger *ledger);

/* What a new ledger with so many ids takes. Pure. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_ledger_plan(const lethe_ledger_options *options, uint64_t ids,
                                                lethe_cascade_needs *out);

/* The last commit of the last checkpoint. */
uint64_t lethe_ledger_covers(const lethe_ledger *ledger);

/* Whether it can be the ledger of a store with this state: LETHE_OK or LETHE_ECORRUPT. It has the
 * store's seed, and covers what the log has dropped and nothing after the log's end. One that was
 * never checkpointed can be: nothing is dropped from a log that the ledger does not cover, so what
 * is missing was dropped before the store had a ledger. */
LETHE_MUST_CHECK lethe_status lethe_ledger_match(const lethe_ledger *ledger,
                                                 const lethe_state *state, lethe_detail *detail);

/* present[i] becomes 1 if the id was inserted, 0 if not. Any thread.
 * Cost: see lethe_cascade_test_batch. Errors: LETHE_EIO, LETHE_ECORRUPT, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_ledger_test(lethe_ledger *ledger, const lethe_hash *hashes,
                                                size_t count, uint8_t *present,
                                                lethe_detail *detail);

/* Inserts the ids of a commit: a segment of IDS. Commits come in their order, each once; those that
 * the ledger covers already are left out. One thread. */
LETHE_MUST_CHECK lethe_status lethe_ledger_insert(lethe_ledger *ledger, uint64_t commit,
                                                  lethe_bytes segment, lethe_detail *detail);

/* Makes what was inserted durable, if that is much or `must` is set. The same thread.
 * Cost: one sync or several, and what is in memory is written. */
LETHE_MUST_CHECK lethe_status lethe_ledger_checkpoint(lethe_ledger *ledger, bool must,
                                                      lethe_detail *detail);

/* Numbers as of the last checkpoint, and by the sizes of its files: of a ledger that another
 * process may have open. */
LETHE_MUST_CHECK lethe_status lethe_ledger_look(const char *folder,
                                                const lethe_allocator *allocator,
                                                lethe_store_ledger *out, lethe_detail *detail);
void lethe_ledger_info(lethe_ledger *ledger, lethe_store_ledger *out);

/* For a store that nobody has open: reads every page of its ledger, changes nothing, and checks
 * that the ledger matches the state. */
LETHE_MUST_CHECK lethe_status lethe_ledger_check(const char *folder, const lethe_state *state,
                                                 uint64_t *ids, lethe_detail *detail);
/* The path of the ledger of the store in folder; false if it is too long. */
bool lethe_ledger_path(const char *folder, char out[LETHE_OS_PATH_BYTES]);

/* ledger_earlier.c: the name of the folder with the ledger of the backup that has this state, in a
 * folder of backups that an earlier version has made. */
enum { LETHE_LEDGER_NAME_BYTES = 64 };
void lethe_ledger_earlier(const char *backups, const lethe_state *state,
                          char out[LETHE_LEDGER_NAME_BYTES]);

#endif
