/* manual.h - sections of the manual of `lethe count` that are in files of their own. */
#ifndef LETHE_CLI_COUNT_MANUAL_H
#define LETHE_CLI_COUNT_MANUAL_H

extern const char *const count_periods[];
extern const char *const count_limits[];
extern const char *const count_servers[];
extern const char *const count_connections[];

#endif
