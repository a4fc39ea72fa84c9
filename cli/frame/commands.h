/* commands.h - the table of commands: one row each, in the order of the manual.
 *
 * The row x means that a manual.c defines command_x and another file run_x, unless x is only a
 * group of commands; see command.h. */
#ifndef LETHE_CLI_FRAME_COMMANDS_H
#define LETHE_CLI_FRAME_COMMANDS_H

#include "frame/arguments.h"
#include "frame/command.h"
#include "frame/options.h"

/* Each with its family, the heading under which `lethe help` lists it. A row a line. */
/* clang-format off */
#define COMMANDS(row) \
    row(lethe, "lethe") \
    row(count, "Counting events") \
    row(get, "Counting events") \
    row(list, "Counting events") \
    row(top, "Counting events") \
    row(usage, "Counting events") \
    row(take, "Counting events") \
    row(give_up, "Counting events") \
    row(hold, "Counting events") \
    row(hold_place, "Counting events") \
    row(hold_settle, "Counting events") \
    row(hold_release, "Counting events") \
    row(hold_list, "Counting events") \
    row(set, "Counting events") \
    row(del, "Counting events") \
    row(claim, "Work that happens once") \
    row(claim_begin, "Work that happens once") \
    row(claim_renew, "Work that happens once") \
    row(claim_done, "Work that happens once") \
    row(claim_abort, "Work that happens once") \
    row(claim_list, "Work that happens once") \
    row(claim_run, "Work that happens once") \
    row(serve, "Servers") \
    row(stat, "Stores") \
    row(check, "Stores") \
    row(backup, "Stores") \
    row(restore, "Stores") \
    row(dedup, "Duplicate lines") \
    row(help, "Help and samples") \
    row(sample, "Help and samples") \
    row(sample_events, "Help and samples") \
    row(filter, "Filters") \
    row(filter_build, "Filters") \
    row(filter_test, "Filters") \
    row(filter_info, "Filters") \
    row(filter_remove, "Filters") \
    row(filter_merge, "Filters") \
    row(filter_extract, "Filters") \
    row(freq, "Sketches") \
    row(freq_build, "Sketches") \
    row(freq_query, "Sketches") \
    row(freq_top, "Sketches") \
    row(freq_info, "Sketches") \
    row(freq_remove, "Sketches") \
    row(freq_merge, "Sketches") \
    row(freq_export, "Sketches") \
    row(plan, "Planning") \
    row(bench, "Benchmarks and papers") \
    row(paper, "Benchmarks and papers")
/* clang-format on */

#define DECLARE_COMMAND(name, family)           \
    extern const struct command command_##name; \
    int run_##name(const struct arguments *arguments);
COMMANDS(DECLARE_COMMAND)
#undef DECLARE_COMMAND

#endif
