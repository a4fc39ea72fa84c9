/* paper/gbf.h - what the figures of the Gaussian Bloom filter share: the rates of many small
 * filters.
 *
 * The paper fills a filter with random strings, asks it for others, and repeats that; it draws the
 * median of the rates and shades what lies between the first and the third quartile. It names 100
 * questions for one figure and no number for the others. Rates below 1% do not show in 100
 * questions. So the median here is that of the filters' true rates: the positions of a fresh key
 * are independent and even, hence its chance is the product, over the hash functions, of the share
 * of slots where that function's bell would be found. lethe_gaussian_info counts them. The
 * quartiles are those of measured rates, as the paper's, of 1,000 questions. */
#ifndef LETHE_CLI_PAPER_GBF_H
#define LETHE_CLI_PAPER_GBF_H

#include "lethe/gaussian.h"
#include "paper/paper.h"

enum { GBF_SLOTS = 256 }; /* m in all of the paper's figures on rates */

/* Over filters of the same shape with other elements each. */
struct gbf_rate {
    double first, median, third;
};

struct gbf_rates {
    struct gbf_rate gaussian;
    struct gbf_rate bloom; /* the Bloom filter underneath, of the same m and k */
};

/* A failure sticks in status. medians leaves the quartiles 0, and is faster. */
struct gbf_rates gbf_medians_at(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                                uint64_t elements, lethe_status *status);
struct gbf_rates gbf_rates_at(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                              uint64_t elements, lethe_status *status);

/* A table of rates: a line of plots for each group, x, and six columns of rates. */
#define GBF_COLUMNS                                                                         \
    {"bloom_first", "BF 1/4", COLUMN_RATE}, {"bloom", "BF", COLUMN_RATE},                   \
        {"bloom_third", "BF 3/4", COLUMN_RATE}, {"gaussian_first", "GBF 1/4", COLUMN_RATE}, \
        {"gaussian", "GBF", COLUMN_RATE}, {                                                 \
        "gaussian_third", "GBF 3/4", COLUMN_RATE                                            \
    }
void gbf_row(struct report *report, double group, double x, const struct gbf_rates *rates);

/* Of gnuplot: three panels beside each other, and a legend below them. */
#define GBF_PANELS(title, xlabel)                     \
    "set multiplot title '" title "' font ',16'\n"    \
    "set title font ',14'\n"                          \
    "set tmargin at screen 0.84\n"                    \
    "set bmargin at screen 0.27\n"                    \
    "set xlabel '" xlabel "'\n"                       \
    "set yrange [0:*]\n"                              \
    "set key off\n"                                   \
    "set ylabel 'false-positive probability (FPP)'\n" \
    "set lmargin at screen 0.1\n"                     \
    "set rmargin at screen 0.355\n"
#define GBF_SECOND                  \
    "unset ylabel\n"                \
    "set lmargin at screen 0.415\n" \
    "set rmargin at screen 0.67\n"
#define GBF_THIRD                  \
    "set lmargin at screen 0.73\n" \
    "set rmargin at screen 0.985\n"
/* A fourth plot, of nothing: entries are plots whose titles are shown. */
#define GBF_LEGEND(entries)                                                             \
    "set lmargin at screen 0.02\n"                                                      \
    "set rmargin at screen 0.98\n"                                                      \
    "set bmargin at screen 0.01\n"                                                      \
    "set tmargin at screen 0.14\n"                                                      \
    "unset title\nunset xlabel\nunset tics\nunset border\nunset grid\n"                 \
    "set xrange [0:1]\nset yrange [0:1]\n"                                              \
    "set key on inside center center horizontal Left reverse samplen 2.5 spacing 1.2\n" \
    "plot " entries "\nunset multiplot\n"

/* The panel of one group, with bands between the quartiles. */
#define GBF_PANEL(group, x, value, title)                                    \
    "set title '" title "'\n"                                                \
    "of(y) = column('" group "') == " value " ? column(y) : NaN\n"           \
    "plot data using '" x "':(of('bloom_first')):(of('bloom_third')) "       \
    "with filledcurves lc rgb '#0072b2' fs transparent solid 0.2 noborder, " \
    "data using '" x "':(of('gaussian_first')):(of('gaussian_third')) "      \
    "with filledcurves lc rgb '#d55e00' fs transparent solid 0.2 noborder, " \
    "data using '" x "':(of('bloom')) with lines ls 1, "                     \
    "data using '" x "':(of('gaussian')) with lines ls 2\n"

#define GBF_QUARTILES                                                                       \
    "NaN with lines ls 1 title 'Bloom filter, median', "                                    \
    "NaN with boxes lc rgb '#0072b2' fs transparent solid 0.2 noborder title 'quartiles', " \
    "NaN with lines ls 2 title 'Gaussian filter, median', "                                 \
    "NaN with boxes lc rgb '#d55e00' fs transparent solid 0.2 noborder title 'quartiles'"

/* EXIT_DONE, or says that memory ran out. */
int gbf_code(lethe_status status);

#endif
