/* watch.h - waits until one of several files may have changed, or a name may have another file.
 *
 * A wait can end too early, and a change on a file system of another machine is not always noticed.
 * So whoever waits looks at the files now and then in any case.
 *
 * Threads  One thread waits. Another may call watch_wake. */
#ifndef LETHE_CLI_INPUT_WATCH_H
#define LETHE_CLI_INPUT_WATCH_H

struct watch;

/* Returns NULL when memory or descriptors are short. */
struct watch *watch_new(void);
void watch_free(struct watch *watch); /* takes NULL */

/* Watches an open file, whatever its name is and becomes. Returns its number for watch_forget, or
 * -1 where the system cannot watch it: from then on the waits are short. */
int watch_file(struct watch *watch, int descriptor);
/* Takes -1 too. */
void watch_forget(struct watch *watch, int number);

/* Watches the folder of path, for files that get a name in it. To be called again where there was
 * no such folder. */
void watch_folder(struct watch *watch, const char *path);

/* Waits for a change, a signal (interrupt.h) or a wake, for timeout_ms at most. */
void watch_wait(struct watch *watch, int timeout_ms);
/* Ends the wait, or the next one. */
void watch_wake(struct watch *watch);

#endif
