/* bench/serve_wrk.h - wrk as the client of `lethe bench serve`: a generator of load that others
 * know, beside our own. */
#ifndef LETHE_BENCH_SERVE_WRK_H
#define LETHE_BENCH_SERVE_WRK_H

#include "http_load.h"

/* Whether wrk is installed. */
int wrk_is_there(void);

/* Runs such a load; its seconds are rounded up to whole ones, and is_short is passed over. A script
 * and what wrk prints go to folder. Returns 0, or -1 if that fails. */
int wrk_run(const struct http_load *load, const char *folder, struct http_load_result *out);

#endif
