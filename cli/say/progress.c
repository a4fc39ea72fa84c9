/* progress.c - draws and removes the progress line. */
#include "say/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame/clock.h"
#include "say/human.h"

static const double interval_s = 0.1;

/* There is one terminal, so there is one progress line. */
static bool line_is_drawn;

/* A terminal that cannot erase a line would be filled with them. */
static bool can_draw(void) {
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

void progress_begin(struct progress *progress, bool wanted, const char *items,
                    uint64_t bytes_total) {
    *progress = (struct progress){
        .shown = wanted && can_draw(), .items = items, .bytes_total = bytes_total};
    if (progress->shown) progress->started_s = progress->printed_s = clock_seconds();
}

static void draw(const struct progress *progress, uint64_t items, uint64_t bytes,
                 double elapsed_s) {
    struct human_text count, rate, done, total, left;
    fprintf(stderr, "\r\033[K%s %s, %s/s, %s", human_count((double)items, &count), progress->items,
            human_count((double)items / elapsed_s, &rate), human_bytes(bytes, &done));
    if (progress->bytes_total > 0 && bytes > 0 && bytes <= progress->bytes_total) {
        double fraction = (double)bytes / (double)progress->bytes_total;
        fprintf(stderr, " of %s (%.0f%%), %s left", human_bytes(progress->bytes_total, &total),
                fraction * 100, human_seconds(elapsed_s / fraction - elapsed_s, &left));
    }
    fputs(progress->more, stderr);
    fflush(stderr);
    line_is_drawn = true;
}

void progress_update(struct progress *progress, uint64_t items, uint64_t bytes) {
    if (!progress->shown) return;
    double now = clock_seconds();
    if (now - progress->printed_s < interval_s) return;
    progress->printed_s = now;
    draw(progress, items, bytes, now - progress->started_s);
}

bool progress_is_due(const struct progress *progress) {
    return progress->shown && clock_seconds() - progress->printed_s >= interval_s;
}

void progress_end(struct progress *progress) {
    progress->shown = false;
    progress_hide();
}

void progress_hide(void) {
    if (!line_is_drawn) return;
    line_is_drawn = false;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
