/* simulation/store/reach.h - whether runs come to the code that only a store's own threads run. */
#ifndef LETHE_SIMULATION_STORE_REACH_H
#define LETHE_SIMULATION_STORE_REACH_H

#include <stdbool.h>

#include "lethe/store.h"

/* Before the first run: the counts are those of all processes together. */
void reach_prepare(void);
/* After a step: counts what the store has done since the last time. */
void reach_note(lethe_store *store);
/* Prints the counts. False if one is 0. */
bool reach_show(void);

#endif
