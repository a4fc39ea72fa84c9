/* base64.h - bytes as text, by RFC 4648: how JSON carries what is not UTF-8. */
#ifndef LETHE_CLI_INPUT_BASE64_H
#define LETHE_CLI_INPUT_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Reads size bytes of text into out, which may be the text itself, and otherwise has room for as
 * many bytes. The = at the end may be missing. Returns false if it is not base64, or has bits at
 * its end that belong to no byte: so bytes have one text, except for the =. */
bool base64_read(const char *text, size_t size, char *out, size_t *out_size);

#endif
