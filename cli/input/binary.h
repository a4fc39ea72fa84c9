/* binary.h - whether an input is text.
 *
 * Lines of any bytes can be counted, so this is a matter of mistakes: a program, an archive or a
 * table in a binary format that was named by accident has no lines that anybody meant. Text is what
 * has no NUL byte among its first bytes, and does not begin like an archive or a document. */
#ifndef LETHE_CLI_INPUT_BINARY_H
#define LETHE_CLI_INPUT_BINARY_H

#include <stdbool.h>
#include <stddef.h>

/* Says by its first bytes what an input is that is not text: a verb and an object, such as "has NUL
 * bytes". NULL for text, or if that cannot be said yet. Bytes before `judged` had none. */
const char *binary_name(const char *head, size_t size, size_t judged);

/* Whether its lines end with a carriage return alone, as some programs still write them: all of it
 * would be one line. head is all that there is of it, or more than most lines have. */
bool binary_ends_by_return(const char *head, size_t size);

#endif
