/* progress.h - the one line that shows how far a long job is.
 *
 * It appears on standard error, only if that is a terminal, at most ten times a second, and is
 * gone when the job ends or a message is printed. Elsewhere the calls cost next to nothing. */
#ifndef LETHE_CLI_SAY_PROGRESS_H
#define LETHE_CLI_SAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown;
    const char *items;    /* what is counted, such as "lines" */
    uint64_t bytes_total; /* 0 when not known */
    double started_s, printed_s;
    char more[96]; /* what else to show, after the rest */
};

/* Starts the clock. wanted is false with --quiet. */
void progress_begin(struct progress *progress, bool wanted, const char *items,
                    uint64_t bytes_total);

/* Tells how much is done; call it as often as is convenient, such as once a batch. */
void progress_update(struct progress *progress, uint64_t items, uint64_t bytes);

/* Whether the next update will draw: the time to find out what `more` should say. */
bool progress_is_due(const struct progress *progress);

void progress_end(struct progress *progress);

/* Takes the line away so that a message can be printed; the next update brings it back. */
void progress_hide(void);

#endif
