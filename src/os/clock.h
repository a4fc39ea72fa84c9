/* os/clock.h - the time, and other things only the operating system knows of the moment. */
#ifndef LETHE_OS_CLOCK_H
#define LETHE_OS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

/* Milliseconds since 1970, as somebody set the clock. It may be stepped either way. */
uint64_t lethe_os_wall_ms(void);

/* Milliseconds since the machine was started, sleep included. Nobody can set it. */
uint64_t lethe_os_boot_ms(void);

/* Returns after so long, or a little later. */
void lethe_os_pause_ms(uint64_t pause_ms);

/* Sixteen bytes that differ from one start of the machine to the next; zero if the system does not
 * provide them. */
void lethe_os_boot_id(unsigned char out[16]);

/* Fills data with bytes that nobody can guess. Errors: LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_random(void *data, size_t size);

#endif
