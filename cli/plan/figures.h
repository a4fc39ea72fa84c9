/* figures.h - the figures of `lethe plan --simulate`: one row each, in the order of the list.
 *
 * The row x means that a file here defines figure_scale_x. */
#ifndef LETHE_CLI_PLAN_FIGURES_H
#define LETHE_CLI_PLAN_FIGURES_H

#include "paper/paper.h"
#include "plan/cluster.h"

#define SCALE_FIGURES(row) row(growth) row(queue) row(hot) row(failure) row(move)

#define DECLARE_FIGURE(name) extern const struct figure figure_scale_##name;
SCALE_FIGURES(DECLARE_FIGURE)
#undef DECLARE_FIGURE

/* The costs that were measured. */
extern const struct cluster_costs plan_costs;

/* Runs a simulation; EXIT_ENVIRONMENT after saying that memory is short. */
int simulate_cluster(const struct cluster_options *options, struct cluster_result *out);

/* 10^12 events a day, and what that means in a second. */
#define TRILLION_A_DAY (1e12 / 86400)

#endif
