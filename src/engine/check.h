/* engine/check.h - reading every byte of a store. */
#ifndef LETHE_ENGINE_CHECK_H
#define LETHE_ENGINE_CHECK_H

#include <stdbool.h>

#include "engine/log/state.h"
#include "lethe/store.h"

/* Reads every byte of the store in folder, which nobody may write meanwhile, and of its ledger if
 * with_ledger is set. Changes nothing. Errors: as lethe_store_check. */
LETHE_MUST_CHECK lethe_status lethe_engine_examine(const char *folder, bool with_ledger,
                                                   lethe_state *state, lethe_store_health *out,
                                                   lethe_detail *detail);

#endif
