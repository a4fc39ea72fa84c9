/* log.h - what the server says of itself on standard error: a line for each thing, in words or as a
 * JSON object. Keys and addresses in it are escaped. */
#ifndef LETHE_SERVER_LOG_H
#define LETHE_SERVER_LOG_H

#include <stdbool.h>

/* Before any thread is started. */
void log_begin(bool json);

/* what: one word for machines, such as "started". */
void log_note(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Something is wrong. */
void log_warn(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
