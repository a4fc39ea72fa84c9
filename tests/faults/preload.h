/* preload.h - what the files of the library of faults share. */
#ifndef LETHE_TESTS_FAULTS_PRELOAD_H
#define LETHE_TESTS_FAULTS_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether LETHE_FAULT_SHADOW names a folder. */
bool lethe_shadow_is_wanted(void);
/* Copies what a descriptor has open, a file or a folder at path, as a power cut would leave it
 * now. */
void lethe_shadow_sync(int descriptor, const char *path);
/* A sync of it has failed; and something was written to it. */
void lethe_shadow_lose(int descriptor);
void lethe_shadow_wrote(int descriptor, off_t offset, size_t size);

#endif
