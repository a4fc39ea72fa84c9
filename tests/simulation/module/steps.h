/* simulation/module/steps.h - what the steps share: steps.c, and operations.c, which has those that
 * count. */
#ifndef LETHE_SIMULATION_MODULE_STEPS_H
#define LETHE_SIMULATION_MODULE_STEPS_H

#include "world.h"

/* The name of a table. */
void key_of(unsigned table, char out[16]);
/* One that exists. */
unsigned draw_table(void);
/* A command, or a tick, must not do too much at once. */
void check_work(const server *of, const char *what);
/* Some operations on a table, judged. */
void step_operate(bool lacks_memory);

#endif
