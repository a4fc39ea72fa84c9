/* utf8.h - which bytes are text in UTF-8. */
#ifndef LETHE_CLI_SAY_UTF8_H
#define LETHE_CLI_SAY_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "lethe/hash.h"

/* The length of the well-formed UTF-8 sequence at text, of which size bytes are there, 1 or more;
 * or 0. Over-long forms, surrogates and what is beyond U+10FFFF are not well-formed. */
size_t utf8_length(const unsigned char *text, size_t size);

/* Whether all of it is well-formed. */
bool utf8_is_text(lethe_bytes text);

#endif
