/* progress.c - draws and removes the progress line. */
#include "say/progress.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "frame/clock.h"
#include "say/human.h"

static const double interval_s = 0.1;
static const double rated_for_s = 2;

/* There is one terminal, so there is one progress line. Any thread may have something to say. */
static atomic_bool line_is_drawn;

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

/* One part of the line. Where the terminal is narrow, parts of the highest rank are left out. */
struct part {
    char text[sizeof((struct progress *)NULL)->more];
    unsigned rank;
};

enum { PARTS = 6, NARROWEST = 20, USUAL_WIDTH = 80 };

/* The terminal's width now: it may be changed at any time. */
static size_t terminal_width(void) {
    struct winsize size;
    size_t width = USUAL_WIDTH;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width = size.ws_col;
    return width < NARROWEST ? NARROWEST : width;
}

/* Of a job without an end: how far it is behind. */
static size_t add_behind(const struct progress *progress, size_t count, struct part *parts) {
    struct human_text number;
    if (progress->bytes_behind == 0) {
        snprintf(parts[count].text, sizeof parts->text, "up to date");
    } else {
        snprintf(parts[count].text, sizeof parts->text, "%s behind",
                 human_bytes(progress->bytes_behind, &number));
    }
    parts[count++].rank = 1;
    return count;
}

/* How much there is, and how much is left. */
static size_t add_bytes(const struct progress *progress, uint64_t bytes, double elapsed_s,
                        size_t count, struct part *parts) {
    struct human_text number, total;
    bool end_is_known = progress->bytes_total > 0 && bytes > 0 && bytes <= progress->bytes_total;
    snprintf(parts[count].text, sizeof parts->text, "%s%s%s", human_bytes(bytes, &number),
             end_is_known ? " of " : "",
             end_is_known ? human_bytes(progress->bytes_total, &total) : "");
    parts[count++].rank = 4;
    if (end_is_known) {
        double fraction = (double)bytes / (double)progress->bytes_total;
        snprintf(parts[count].text, sizeof parts->text, "%.0f%%", fraction * 100);
        parts[count++].rank = 1;
        snprintf(parts[count].text, sizeof parts->text, "%s left",
                 human_seconds(elapsed_s / fraction - elapsed_s, &number));
        parts[count++].rank = 3;
    }
    return count;
}

static size_t collect(const struct progress *progress, uint64_t items, uint64_t bytes,
                      double elapsed_s, struct part parts[PARTS]) {
    struct human_text number;
    size_t count = 0;
    snprintf(parts[count].text, sizeof parts->text, "%s %s", human_count((double)items, &number),
             progress->items);
    parts[count++].rank = 0;
    double rate = progress->is_endless ? progress->rate : (double)items / elapsed_s;
    snprintf(parts[count].text, sizeof parts->text, "%s/s", human_count(rate, &number));
    parts[count++].rank = 2;
    count = progress->is_endless ? add_behind(progress, count, parts)
                                 : add_bytes(progress, bytes, elapsed_s, count, parts);
    if (progress->more[0] != '\0') {
        memcpy(parts[count].text, progress->more, sizeof parts->text);
        parts[count++].rank = 5;
    }
    return count;
}

/* How many columns the parts up to a rank take, with a comma and a blank between them. */
static size_t width_up_to(const struct part *parts, size_t count, unsigned rank) {
    size_t width = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].rank <= rank) width += strlen(parts[i].text) + (width > 0 ? 2 : 0);
    }
    return width;
}

/* Many terminals begin a new line after the last column, so that one stays free. */
static void draw(const struct progress *progress, uint64_t items, uint64_t bytes,
                 double elapsed_s) {
    struct part parts[PARTS];
    size_t count = collect(progress, items, bytes, elapsed_s, parts), room = terminal_width() - 1;
    unsigned rank = PARTS;
    while (rank > 0 && width_up_to(parts, count, rank) > room)
        rank--;
    fputs("\r\033[K", stderr);
    const char *comma = "";
    for (size_t i = 0; i < count; i++) {
        if (parts[i].rank > rank) continue;
        fprintf(stderr, "%s%.*s", comma, (int)room, parts[i].text);
        comma = ", ";
    }
    fflush(stderr);
    line_is_drawn = true;
}

/* Takes the rate every few seconds: a line that comes now and then should not make it jump. */
static void rate(struct progress *progress, uint64_t items, double now) {
    double seconds = now - (progress->rated_s > 0 ? progress->rated_s : progress->started_s);
    if (seconds < rated_for_s && progress->rated_s > 0) return;
    progress->rate = (double)(items - progress->rated_items) / seconds;
    progress->rated_s = now;
    progress->rated_items = items;
}

void progress_update(struct progress *progress, uint64_t items, uint64_t bytes) {
    if (!progress->shown) return;
    double now = clock_seconds();
    if (now - progress->printed_s < interval_s) return;
    progress->printed_s = now;
    rate(progress, items, now);
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
