/* message.h - everything lethe says on standard error.
 *
 * A message is one line: "lethe: what was wrong, where; what to do". Control bytes in it (a file
 * name may hold any) are shown as \xNN, so that no name can forge a line or steer a terminal.
 *
 * Functions of this program that can fail have told the user by the time they return: they
 * return an exit code, EXIT_DONE when all is well, and a caller only passes it on. */
#ifndef LETHE_CLI_SAY_MESSAGE_H
#define LETHE_CLI_SAY_MESSAGE_H

#include <stddef.h>

#include "frame/exit_code.h"
#include "lethe/status.h"

/* Says what went wrong and returns code, so that "return message_fail(...)" ends a function. */
int message_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says that memory is short. Returns EXIT_ENVIRONMENT. */
int message_fail_memory(void);

/* Says something worth knowing after which the work goes on. */
void message_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on, what this thread says goes to room instead of standard error, the last message in
 * place of those before it; NULL: to standard error again. For those who show it elsewhere. */
void message_divert(char *room, size_t size);

/* Explains why an operation of the library on a file failed, with what to do about it, and
 * returns the exit code of that kind of failure. attempt completes "cannot ...", such as "read
 * the filter". errno must still be what the library left. */
int message_fail_file(lethe_status status, const char *attempt, const char *path);

#endif
