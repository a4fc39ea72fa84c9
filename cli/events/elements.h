/* elements.h - the objects of a JSON array, one by one.
 *
 * Only where each object ends is found: what is in it is for the scan (scan.h), which every element
 * must still pass. What stands between the objects is checked here. */
#ifndef LETHE_CLI_EVENTS_ELEMENTS_H
#define LETHE_CLI_EVENTS_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

struct event_elements {
    const char *at, *end;
    /* The line of `at`, from 1; and that of the element that was found last. */
    uint64_t line, element_line;
    bool has_begun;
    /* After ELEMENT_BAD: what is wrong. */
    const char *reason;
};

/* Reads an array at the start of text, after white space perhaps. */
struct event_elements event_elements_begin(lethe_bytes text);

enum element_result {
    ELEMENT_FOUND = 0,
    ELEMENT_END, /* the array has ended; `at` is after it */
    ELEMENT_BAD
};
enum element_result event_elements_next(struct event_elements *elements, lethe_bytes *out);

/* The first byte of text that is not white space; 0 if there is none. */
char event_first_byte(lethe_bytes text);
/* Whether text is one JSON value, as far as brackets and quotes go, and white space around it. */
bool event_is_one_value(lethe_bytes text);

#endif
