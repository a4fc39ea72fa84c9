/* interrupt.h - stopping on Ctrl-C without leaving anything half done.
 *
 * A command that writes a file catches SIGINT, SIGTERM and SIGHUP between begin and end. They then
 * only set a flag, which the command reads between batches, and which ends a wait for input. A
 * signal that was ignored at the start (nohup) stays ignored. Commands that only read need none of
 * this: a signal ends them and nothing is left behind. */
#ifndef LETHE_CLI_FRAME_INTERRUPT_H
#define LETHE_CLI_FRAME_INTERRUPT_H

#include <stdbool.h>

void interrupt_begin(void);

/* Whether a signal has asked to stop. */
bool interrupt_requested(void);

/* Waits until descriptor can be read or a signal asks to stop, whichever is first: no signal
 * can slip between the question and the wait. */
void interrupt_wait_readable(int descriptor);

/* A descriptor that can be read once a signal has asked to stop, for those who wait for other
 * things as well. Below 0: there is none to be had. */
int interrupt_descriptor(void);

/* Holds signals back while a file is being replaced, so that the temporary file is not left behind;
 * then lets them through. */
void interrupt_hold(void);
void interrupt_release(void);

/* The exit code for the signal that came. */
int interrupt_code(void);

/* Says that nothing was changed, and returns the exit code for the signal that came. */
int interrupt_fail(const char *untouched_path);

#endif
