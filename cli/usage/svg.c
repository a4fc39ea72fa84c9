/* svg.c - draws usage as a picture: a panel for each counter, a bar for each period. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "input/decimal.h"
#include "say/message.h"
#include "say/utf8.h"
#include "usage/usage.h"

enum { WIDTH = 860, PANEL = 180, LEFT = 20, TOP = 34, BOTTOM = 30 };

/* A key as XML's text, which is in UTF-8: other bytes are escaped, as control bytes are. */
static void print_text(FILE *file, const char *text) {
    size_t size = strlen(text), length;
    for (; size > 0; text += length, size -= length) {
        size_t known = utf8_length((const unsigned char *)text, size);
        length = known > 0 ? known : 1;
        if (known == 0) {
            fprintf(file, "\\x%02x", (unsigned char)*text);
        } else if (*text == '&') {
            fputs("&amp;", file);
        } else if (*text == '<' || *text == '>') {
            fputs(*text == '<' ? "&lt;" : "&gt;", file);
        } else {
            fwrite(text, 1, length, file);
        }
    }
}

static void draw_label(FILE *file, double x, double y, const char *anchor, const char *text) {
    fprintf(file, "<text x='%.1f' y='%.1f' text-anchor='%s'>", x, y, anchor);
    print_text(file, text);
    fputs("</text>\n", file);
}

static void draw_panel(FILE *file, const struct usage_gathered *gathered, size_t which) {
    const struct usage_series *series = &gathered->series[which];
    double top = (double)which * PANEL + TOP, height = PANEL - TOP - BOTTOM;
    double base = top + (series->is_negative ? height / 2 : height);
    double room = series->is_negative ? height / 2 : height;
    double each = (double)(WIDTH - 2 * LEFT) / (double)gathered->period_count;
    char most[USAGE_VALUE_BYTES + 32];
    struct decimal_text number;
    int64_t largest = series->most < 9e18 ? (int64_t)series->most : INT64_MAX;
    draw_label(file, LEFT, top - 12, "start", series->key);
    snprintf(most, sizeof most, "per %s, at most %s", gathered->by,
             decimal_show(largest, gathered->scale, &number));
    draw_label(file, WIDTH - LEFT, top - 12, "end", most);
    for (size_t i = 0; i < gathered->period_count; i++) {
        int64_t value = series->values[i];
        double share = series->most > 0 ? (double)value / series->most : 0;
        double size = (share < 0 ? -share : share) * room;
        fprintf(file,
                "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f'><title>%s: %s</title>"
                "</rect>\n",
                LEFT + (double)i * each, value < 0 ? base : base - size, each * 0.86, size,
                gathered->periods[i], decimal_show(value, gathered->scale, &number));
    }
    fprintf(file, "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f'/>\n", LEFT, base, WIDTH - LEFT, base);
    draw_label(file, LEFT, top + height + 18, "start", gathered->periods[0]);
    if (gathered->period_count > 1) {
        draw_label(file, WIDTH - LEFT, top + height + 18, "end",
                   gathered->periods[gathered->period_count - 1]);
    }
}

int usage_draw(const struct usage_gathered *gathered, const char *path) {
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return message_fail(EXIT_ENVIRONMENT,
                            "cannot write %s: %s; check the name and the "
                            "permissions",
                            path, strerror(errno));
    }
    size_t panels = gathered->period_count > 0 ? gathered->series_count : 0;
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%zu' viewBox='0 0 %d "
            "%zu'>\n<style>rect { fill: #0072b2 } line { stroke: #444444 } text { font: 13px "
            "sans-serif; fill: #222222 } .paper { fill: #ffffff }</style>\n"
            "<rect class='paper' width='100%%' height='100%%'/>\n",
            WIDTH, (panels > 0 ? panels : 1) * PANEL, WIDTH, (panels > 0 ? panels : 1) * PANEL);
    for (size_t i = 0; i < panels; i++)
        draw_panel(file, gathered, i);
    if (panels == 0) draw_label(file, LEFT, TOP, "start", "no buckets");
    fputs("</svg>\n", file);
    bool has_failed = ferror(file) != 0;
    if (fclose(file) == 0 && !has_failed) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot write %s: %s; make room there and run again",
                        path, strerror(errno));
}
