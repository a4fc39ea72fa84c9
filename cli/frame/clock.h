/* clock.h - the time, as the command line needs it. */
#ifndef LETHE_CLI_FRAME_CLOCK_H
#define LETHE_CLI_FRAME_CLOCK_H

#include <stdint.h>

/* Seconds, and milliseconds, that never step: for measuring. */
double clock_seconds(void);
uint64_t clock_ms(void);

/* Milliseconds since 1970, by the wall clock. */
uint64_t clock_wall_ms(void);

#endif
