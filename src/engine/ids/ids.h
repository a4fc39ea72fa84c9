/* engine/ids/ids.h - what a store remembers ids by: the window in memory, and the ledger on disk.
 *
 * The window has every id that was applied within the last W. The ledger, where the store keeps ids
 * for ever, has every id of a durable commit. In exact mode the window is only a hint, and the
 * index decides. */
#ifndef LETHE_ENGINE_IDS_IDS_H
#define LETHE_ENGINE_IDS_IDS_H

#include "engine/ids/index.h"
#include "engine/ids/ledger.h"
#include "engine/log/segment.h"
#include "engine/log/state.h"
#include "lethe/window.h"

#define LETHE_LONGEST_WINDOW_MS UINT64_C(2592000000) /* 30 days */

typedef struct lethe_ids {
    /* NULL in a reader, and while a store is being closed. */
    lethe_window *window;
    /* NULL unless ids are kept for ever. */
    lethe_ledger *ledger;
    /* NULL except in exact mode. */
    lethe_index *index;

    /* Ids decided within one step of the clock are recorded under one time. */
    uint64_t step_ms;
    /* W and one step: how long the log keeps an id. */
    uint64_t kept_ms;
    /* With a ledger: the time that the oldest id of the log is recorded under; UINT64_MAX if it has
     * none. */
    uint64_t oldest_ms;
    /* When the window's numbers were last copied to the state, by the machine's clock. */
    uint64_t measured_ms;
} lethe_ids;

/* Sets step_ms and kept_ms for a W. */
void lethe_ids_plan(lethe_ids *ids, uint64_t window_ms);

/* The options of its window, after lethe_ids_plan; the kind and the seed are left out. */
lethe_window_options lethe_ids_window(const lethe_ids *ids, const lethe_store_options *options);

/* Makes an empty window for a store, which expects so many ids; NULL on error. Errors: those of
 * lethe_window_new. */
LETHE_MUST_CHECK lethe_status lethe_ids_make_window(const lethe_ids *ids,
                                                    const lethe_store_options *options,
                                                    const lethe_state *state, uint64_t capacity,
                                                    lethe_window **out);

/* Makes window and index, empty, and opens the ledger of the store in folder, if there is one or
 * there is to be one. Errors: those of lethe_window_new and lethe_ledger_open. */
LETHE_MUST_CHECK lethe_status lethe_ids_open(lethe_ids *ids, const char *folder,
                                             const lethe_store_options *options,
                                             const lethe_state *state, lethe_detail *detail);
/* After recovery: makes a new ledger durable, which then covers all commits so far. */
LETHE_MUST_CHECK lethe_status lethe_ids_found_ledger(lethe_ids *ids, const lethe_state *state,
                                                     lethe_detail *detail);
/* Frees window and index, which nobody asks any more. */
void lethe_ids_drop_memory(lethe_ids *ids);
void lethe_ids_close(lethe_ids *ids);

/* Under a cap: makes room in the empty window for so many ids of the log, whatever it was that the
 * window had when it accepted them; with 0, after the last of them, the cap is in force. Errors:
 * those of lethe_window_refill. */
LETHE_MUST_CHECK lethe_status lethe_ids_refill(lethe_ids *ids, uint64_t count,
                                               lethe_detail *detail);

/* Records a run of ids in a window, under the time they were first recorded with. */
LETHE_MUST_CHECK lethe_status lethe_ids_record_run(lethe_window *window,
                                                   const unsigned char *log_ids, lethe_id_run run);

/* Copies the window's numbers to the state, if there is a window: readers have none. */
void lethe_ids_measure(lethe_ids *ids, lethe_state *state);

#endif
