/* module/once/pattern.h - patterns of names, for ONCE.SCAN. */
#ifndef LETHE_MODULE_ONCE_PATTERN_H
#define LETHE_MODULE_ONCE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all of the text matches. Both may hold any byte, 0 too. Cost: O(pattern_size * size). */
bool pattern_matches(const char *pattern, size_t pattern_size, const char *text, size_t size);

#endif
