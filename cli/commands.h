/* commands.h - the table of commands: one row each, in the order of the manual.
 *
 * The row x means that some file defines command_x; see command.h. */
#ifndef LETHE_CLI_COMMANDS_H
#define LETHE_CLI_COMMANDS_H

#include "command.h"

/* A row a line. */
/* clang-format off */
#define COMMANDS(row) \
    row(lethe) \
    row(count) \
    row(get) \
    row(list) \
    row(top) \
    row(set) \
    row(del) \
    row(stat) \
    row(check) \
    row(backup) \
    row(restore) \
    row(dedup) \
    row(sample) \
    row(sample_events) \
    row(filter) \
    row(filter_build) \
    row(filter_test) \
    row(filter_info) \
    row(filter_remove) \
    row(filter_merge) \
    row(filter_extract) \
    row(freq) \
    row(freq_build) \
    row(freq_query) \
    row(freq_top) \
    row(freq_info) \
    row(freq_remove) \
    row(freq_merge) \
    row(freq_export) \
    row(paper) \
    row(bench) \
    row(help)
/* clang-format on */

#define DECLARE_COMMAND(name) extern const struct command command_##name;
COMMANDS(DECLARE_COMMAND)
#undef DECLARE_COMMAND

#endif
