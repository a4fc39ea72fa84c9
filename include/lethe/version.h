/* lethe/version.h - which Lethe this is.
 *
 * The version is MAJOR.MINOR.PATCH. The shared library's SOVERSION is MAJOR, or 0.MINOR while MAJOR
 * is 0: HACKING.md, "The ABI", says what may change when. */
#ifndef LETHE_VERSION_H
#define LETHE_VERSION_H

#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LETHE_VERSION_MAJOR 0
#define LETHE_VERSION_MINOR 1
#define LETHE_VERSION_PATCH 0
#define LETHE_VERSION "0.1.0"

/* The version of the library that is running, such as "0.1.0". */
LETHE_API const char *lethe_version(void);

/* The instruction set that hot paths use here: "scalar", "avx2" or "avx512". Decided once,
 * at the first use; the environment variable LETHE_CPU can lower it (not raise it above what
 * the CPU has). All of them compute the same bits. */
LETHE_API const char *lethe_cpu_path(void);

#ifdef __cplusplus
}
#endif

#endif
