/* tests/cli/json_peer.h - what a line of JSON holds by jansson, compared with what scan.h finds.
 *
 * Both must accept the same lines and find the same values, with these differences:
 *
 *   - jansson refuses a number beyond 64 bits or a double's range. The scan takes it as text.
 *   - A member on a named path that repeats is refused by the scan; jansson takes its last value.
 *   - The scan takes values up to 1,024 deep, jansson up to 2,048.
 *   - jansson refuses \u0000 in a member's name, and passes over a NUL byte after a number.
 *   - jansson takes an array for a line too. */
#ifndef LETHE_TESTS_CLI_JSON_PEER_H
#define LETHE_TESTS_CLI_JSON_PEER_H

#include "events/format.h"

/* Compares what every way to scan finds in a line, and that with jansson. Ends the program where
 * they differ. */
void json_compare(const struct event_format *format, const void *line, size_t size);

/* Scans a line in every way that this CPU can, which must agree. `found` has room for all nodes of
 * the format's tree. The line is read in a copy of its own, which stays until the next call. */
bool json_scan_all(const struct event_format *format, const void *line, size_t size,
                   struct scan_value *found, struct scan_failure *failure, lethe_bytes *copy);

#endif
