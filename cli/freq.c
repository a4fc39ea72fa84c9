/* freq.c - the group of commands about frequencies. */
#include "commands.h"

const struct command command_freq = {
    .path = "freq",
    .summary = "estimate how often lines occur, in little memory",
    .synopses = (const char *const[]){"COMMAND [ARGUMENT...]", NULL},
    .description =
        (const char *const[]){
            "A sketch counts how often each key was added, in memory that is fixed when it is "
            "made, however many different keys there are. It answers with an estimate. Keys "
            "are lines, or a field of them; a sketch does not list its keys, but can keep the "
            "most frequent ones beside (`--top`).",
            "There are five kinds. `cm`, the Count-Min sketch, is the plain choice: never below "
            "the truth, and merges and removes without loss. `cu`, with conservative update, errs "
            "less in the same memory; it removes if it was made with `--removal`, for "
            "twice the memory. `count`, the Count-sketch, errs to both sides, and least where a "
            "few keys are very frequent. `cml`, Count-Min-Log, has counters of 8 or 16 bits "
            "that hold logarithms: it errs to both sides, and cannot remove. `fid`, the "
            "FID-sketch, "
            "has a small part that answers and two larger ones that keep it exact: for readers "
            "with little memory, to whom `lethe freq export` gives that part alone. In equal total "
            "memory `cu` errs less than `fid`.",
            "Sketches of the same kind, size and seed can be merged: build the parts with the same "
            "options, also on different machines, and merge them.",
            NULL},
    .exit_done = "done",
};
