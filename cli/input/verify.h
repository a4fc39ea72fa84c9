/* verify.h - whether compressed files are sound, before anything of them is used. See input.h for
 * the stack.
 *
 * A format's checksum comes after the data, so whoever reads along has used wrong lines by the time
 * he learns of damage. A regular file can be read twice: first to its end, for the checksums. */
#ifndef LETHE_CLI_INPUT_VERIFY_H
#define LETHE_CLI_INPUT_VERIFY_H

#include "input/inputs.h"

/* Decompresses each of the inputs that is a regular file and compressed, to its end; standard input
 * too, which is left where it was. Pipes are not touched. Shows progress unless is_quiet. Returns
 * EXIT_DONE, also if a signal asked to stop; or, after naming the file, EXIT_BAD_DATA (damaged, cut
 * short) or EXIT_ENVIRONMENT. Cost: one more decompression of each of them; one read of others. */
int inputs_verify(const struct inputs *inputs);

#endif
