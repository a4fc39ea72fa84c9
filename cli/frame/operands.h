/* operands.h - the files that a command reads, as its operands and options name them. */
#ifndef LETHE_CLI_FRAME_OPERANDS_H
#define LETHE_CLI_FRAME_OPERANDS_H

#include "frame/arguments.h"
#include "input/inputs.h"

/* The inputs that the operands from number `first` on name, or standard input, to be read as
 * --binary and --quiet say. Returns EXIT_DONE, or another code after saying why. */
int operands_look(const struct arguments *arguments, size_t first, struct inputs *out);

/* The same for a command that makes a structure of them, which `what` calls "filter" or "sketch",
 * and saves it (--out, *path). A path that cannot be written, or that is one of the inputs, is
 * refused. From then on, interruptions are noted. */
int operands_look_to_save(const struct arguments *arguments, const char *what, struct inputs *out,
                          const char **path);

#endif
