/* paper/figures.h - the table of figures: one row each, in the order of the list.
 *
 * The row x means that some file here defines figure_x; see paper.h. */
#ifndef LETHE_CLI_PAPER_FIGURES_H
#define LETHE_CLI_PAPER_FIGURES_H

#include "paper/paper.h"

#define FIGURES(row) \
    row(fbf_8) row(fbf_9) row(fbf_10) row(fbf_11) row(fbf_12) row(fbf_13) row(fbf_salt)

#define DECLARE_FIGURE(name) extern const struct figure figure_##name;
FIGURES(DECLARE_FIGURE)
#undef DECLARE_FIGURE

#endif
