/* engine/check.h - reading every byte of a store. */
#ifndef LETHE_ENGINE_CHECK_H
#define LETHE_ENGINE_CHECK_H

#include "backup/set.h"
#include "engine/log/state.h"
#include "lethe/store.h"

/* Reads every byte of the store in folder, which nobody may write meanwhile, and of its ledger.
 * Changes nothing. set, unless NULL, is what the folder shows: tables that the store does not need
 * are marked. Errors: as lethe_store_check. */
LETHE_MUST_CHECK lethe_status lethe_engine_examine(const char *folder, lethe_set *set,
                                                   lethe_state *state, lethe_store_health *out,
                                                   lethe_detail *detail);

#endif
