/* simulation/store/verdict.h - what a run found: nothing, or a rule that was broken. */
#ifndef LETHE_SIMULATION_STORE_VERDICT_H
#define LETHE_SIMULATION_STORE_VERDICT_H

#include <stdbool.h>

/* Ends the run: the rule was broken. Whoever started the run reads what is said here. */
__attribute__((format(printf, 2, 3), noreturn)) void verdict_fail(const char *rule,
                                                                  const char *format, ...);
/* Says what happens, if somebody wants to read it. */
__attribute__((format(printf, 1, 2))) void verdict_tell(const char *format, ...);
extern bool verdict_is_told;
/* The step that is being done, for the message. */
void verdict_at_step(unsigned number);
/* The rule that a process has broken which a signal ended: main.c says which end a run that does
 * not end by itself. */
const char *verdict_of_signal(int number);

#endif
