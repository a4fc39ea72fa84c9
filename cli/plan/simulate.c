/* simulate.c - `lethe plan --simulate`: figures of clusters that do not exist. */
#include <stdio.h>
#include <string.h>

#include "plan/costs.h"
#include "plan/figures.h"
#include "plan/plan.h"
#include "say/message.h"

#define FIGURE_ROW(name) &figure_scale_##name,
static const struct figure *const figures[] = {SCALE_FIGURES(FIGURE_ROW) NULL};

const struct cluster_costs plan_costs = {
    .command_s = COST_COMMAND_S,
    .event_s = COST_EVENT_S,
    .wire_s = COST_WIRE_S,
    .lag_s = COST_WIRE_S + COST_LAG_S,
    .fork_s_per_byte = COST_FORK_S_PER_BYTE,
    .copy_bytes_per_s = COST_COPY_BYTES_PER_S,
    .copying = COST_COPYING,
    .move_bytes_per_s = COST_MOVE_BYTES_PER_S,
};

int simulate_cluster(const struct cluster_options *options, struct cluster_result *out) {
    return cluster_run(options, out) ? EXIT_DONE : message_fail_memory();
}

int plan_simulate(const struct arguments *arguments) {
    static const char *const others[] = {"rate", "redis", "memory", "json"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (arguments_has(arguments, others[i]))
            return arguments_fail(arguments, "--%s cannot be used with --simulate", others[i]);
    }
    if (arguments->operand_count == 0) {
        paper_list(figures, 15);
        return EXIT_DONE;
    }
    bool all;
    int code = paper_choose(arguments, figures, "lethe plan --simulate", &all);
    if (code != EXIT_DONE) return code;
    const char *folder = arguments_text(arguments, "out");
    return paper_make_figures(arguments, figures, all, folder != NULL ? folder : "scale", 1);
}
