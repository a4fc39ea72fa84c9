/* tests/cli/simple_peer.h - lines that are taken many at a time (events/simple.h), compared with
 * the same lines taken one by one, which is their definition. */
#ifndef LETHE_TESTS_CLI_SIMPLE_PEER_H
#define LETHE_TESTS_CLI_SIMPLE_PEER_H

#include "events/simple.h"

/* How lines are taken. */
struct simple_trial {
    const struct event_format *format;
    /* Of a batch: operations at most, bytes of its text and changes that are used before, and the
     * number of the first line. */
    size_t most, used, changes;
    uint64_t line;
};

/* Takes the simple lines that a text begins with in every way that this CPU can. All must take the
 * same, and each line as event_parse does. Ends the program where they differ. Returns how many
 * bytes were taken; 0 if lines of the format are never simple. */
size_t simple_compare(const struct simple_trial *trial, const void *text, size_t size);

#endif
