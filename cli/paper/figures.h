/* paper/figures.h - the table of figures: one row each, in the order of the list.
 *
 * The row x means that some file here defines figure_x; see paper.h. */
#ifndef LETHE_CLI_PAPER_FIGURES_H
#define LETHE_CLI_PAPER_FIGURES_H

#include "paper/paper.h"

/* clang-format off */
#define FIGURES(row)                                                                             \
    row(fbf_8) row(fbf_9) row(fbf_10) row(fbf_11) row(fbf_12) row(fbf_13) row(fbf_14)            \
    row(fbf_14_real) row(fbf_15) row(fbf_salt)                                                   \
    row(fid_2) row(fid_3) row(fid_4) row(fid_5) row(fid_6) row(fid_7) row(fid_8) row(fid_9)      \
    row(fid_9_zipf) row(fid_10) row(fid_10_zipf) row(fid_11) row(fid_12) row(fid_13)             \
    row(fid_14) row(fid_15) row(fid_16) row(fid_memory)                                          \
    row(gbf_1) row(gbf_2) row(gbf_2b) row(gbf_3) row(gbf_4) row(gbf_5) row(gbf_6)                \
    row(gbf_offload) row(gbf_spacing) row(gbf_speed) row(gbf_table_1)                            \
    row(cf_3) row(qf_1) row(qf)
/* clang-format on */

#define DECLARE_FIGURE(name) extern const struct figure figure_##name;
FIGURES(DECLARE_FIGURE)
#undef DECLARE_FIGURE

#endif
