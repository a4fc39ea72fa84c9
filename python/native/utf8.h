/* python/native/utf8.h - text of four bytes a character, as NumPy's arrays of fixed text have it,
 * to UTF-8. NULs at the end do not belong to a text. The text need not be aligned. */
#ifndef LETHE_PYTHON_UTF8_H
#define LETHE_PYTHON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all characters have a UTF-8: half of a surrogate pair has none. */
bool utf8_is_valid(const char *text, size_t characters);

/* Writes the UTF-8 to out, which has room for 4 bytes a character, and returns its length.
 * Characters that have none, which only appear if the text has changed, become '?'. */
size_t utf8_write(const char *text, size_t characters, char *out);

#endif
