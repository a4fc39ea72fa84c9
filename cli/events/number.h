/* number.h - what is wrong with a number by a store's scale, in words for its author. */
#ifndef LETHE_CLI_EVENTS_NUMBER_H
#define LETHE_CLI_EVENTS_NUMBER_H

#include "events/problem.h"
#include "input/decimal.h"

/* Says why a text is not a number by a scale; what: the name of the number, such as "delta". */
void event_problem_number(struct event_problem *problem, const char *what, lethe_bytes text,
                          unsigned scale, enum decimal_problem reason);

/* Reads a number that an argument gives, by a scale. Returns EXIT_DONE, or EXIT_USAGE after saying
 * why it is none. */
int event_read_number(const char *what, const char *text, unsigned scale, int64_t *out);

#endif
