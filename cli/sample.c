/* sample.c - the group of commands that make up data to try Lethe with. */
#include "commands.h"

const struct command command_sample = {
    .path = "sample",
    .summary = "make up data to try lethe with",
    .synopses = (const char *const[]){"COMMAND [ARGUMENT...]", NULL},
    .description =
        (const char *const[]){
            "Makes up data for demonstrations and tests, the same for the same options.", NULL},
    .exit_done = "done",
};
