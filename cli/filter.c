/* filter.c - the group of commands about filters. */
#include "commands.h"

const struct command command_filter = {
    .path = "filter",
    .summary = "make, query and combine filters",
    .synopses = (const char *const[]){"COMMAND [ARGUMENT...]", NULL},
    .description =
        (const char *const[]){
            "A filter is a set of lines that takes about ten bits a line, however long the "
            "lines are. It answers \"surely absent\" or \"may be present\". The first answer is "
            "always right; the second is wrong with a probability chosen when the filter is made "
            "(its error), as long as it holds no more different lines than planned (its "
            "capacity).",
            "There are several kinds. `bloom` is the classical Bloom filter: lines can only be "
            "added. `blocked` keeps all bits of a line in one cache line: several times faster "
            "in a large filter, for some more bits. `quotient` keeps a fingerprint of each line "
            "and how often it was added: lines can be removed, and at errors below 0.1% it is the "
            "smallest.",
            "`gaussian` is a Bloom filter of small numbers instead of bits: it errs less often "
            "than "
            "a Bloom filter of as many bits, takes a multiple of its memory, and that Bloom filter "
            "can be extracted. It is for a number of bits that somebody else has fixed.",
            "Filters of the same kind, size and seed can be merged: build the parts with "
            "the same options, also on different machines, and merge them.",
            NULL},
    .exit_done = "done",
};
