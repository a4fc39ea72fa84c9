/* progress.h - the one line that shows how far a long job is.
 *
 * It appears on standard error, only if that is a terminal, at most ten times a second, and is
 * gone when the job ends or a message is printed. Elsewhere the calls cost next to nothing. It is
 * never wider than the terminal: the less important parts are left out. */
#ifndef LETHE_CLI_SAY_PROGRESS_H
#define LETHE_CLI_SAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown;
    const char *items;    /* what is counted, such as "lines" */
    uint64_t bytes_total; /* 0 when not known */
    double started_s, printed_s;
    /* There is no end: the rate is that of the last seconds, and bytes_behind is shown. The caller
     * sets these. */
    bool is_endless;
    uint64_t bytes_behind;
    /* The rate, and when and at how many items it was taken. */
    double rate, rated_s;
    uint64_t rated_items;
    char more[96]; /* what else to show, after the rest, where there is room */
};

/* Starts the clock. wanted is false with --quiet. */
void progress_begin(struct progress *progress, bool wanted, const char *items,
                    uint64_t bytes_total);

/* Reports how much is done; call it as often as is convenient, such as once a batch. */
void progress_update(struct progress *progress, uint64_t items, uint64_t bytes);

/* Whether the next update will draw: the time to find out what `more` should say. */
bool progress_is_due(const struct progress *progress);

void progress_end(struct progress *progress);

/* Takes the line away so that a message can be printed; the next update brings it back. */
void progress_hide(void);

#endif
