/* exit_code.h - what the exit status of lethe means to a script.
 *
 * The numbers are a promise of the manual: a script may act on them, so none is ever
 * renumbered. A program stopped by a signal it handles ends with 128 and the signal's number,
 * as a shell reports it. */
#ifndef LETHE_CLI_FRAME_EXIT_CODE_H
#define LETHE_CLI_FRAME_EXIT_CODE_H

enum exit_code {
    EXIT_DONE = 0,
    EXIT_NEGATIVE = 1,    /* the answer is no: nothing found, nothing printed */
    EXIT_USAGE = 2,       /* the command line is wrong; nothing was done */
    EXIT_BAD_DATA = 3,    /* a file or a line is not what it should be */
    EXIT_ENVIRONMENT = 4, /* disk, memory, network, permissions */
    EXIT_SKIPPED = 5,     /* events were skipped that are neither counted nor duplicates */
    EXIT_BY_SIGNAL = 128  /* and the signal's number added */
};

#endif
