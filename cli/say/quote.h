/* quote.h - strings of JSON, byte by byte. */
#ifndef LETHE_CLI_SAY_QUOTE_H
#define LETHE_CLI_SAY_QUOTE_H

#include <stddef.h>

/* The most bytes that one byte becomes. */
enum { QUOTE_FACTOR = 6 };

/* Writes what the text begins with, one character or one byte that is none, as it stands within a
 * JSON string: U+FFFD for a byte that is not UTF-8. There is at least one byte. *made becomes the
 * length of what was written to out. Returns how many bytes of text that was. */
size_t quote_step(const unsigned char *text, size_t size, char out[QUOTE_FACTOR], size_t *made);

#endif
