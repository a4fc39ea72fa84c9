/* problem.h - what is wrong with a line of events, in words for its author. */
#ifndef LETHE_CLI_EVENTS_PROBLEM_H
#define LETHE_CLI_EVENTS_PROBLEM_H

#include "lethe/hash.h"

/* "what is wrong; what to do" */
struct event_problem {
    char text[320];
};

void event_problem_set(struct event_problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A piece of a line, escaped and shortened so that it can be part of a message. */
struct event_excerpt {
    char text[160];
};
const char *event_excerpt(lethe_bytes field, struct event_excerpt *out);

#endif
