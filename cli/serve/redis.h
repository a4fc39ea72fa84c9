/* redis.h - the once-tables of a server, as a source for `lethe serve`. */
#ifndef LETHE_CLI_SERVE_REDIS_H
#define LETHE_CLI_SERVE_REDIS_H

#include "frame/arguments.h"
#include "server/server.h"

struct redis_source;

/* Connects as the command line says, and looks for tables for a second at most. *shown is valid
 * until it is closed. Returns EXIT_DONE, or the code of what is wrong, after saying so. */
int redis_source_open(const struct arguments *arguments, struct redis_source **out,
                      const struct source **shown);
void redis_source_close(struct redis_source *source); /* takes NULL */

#endif
