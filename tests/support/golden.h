/* tests/support/golden.h - saved bytes that must never change.
 *
 * A golden file pins down a format: this version must write exactly those bytes, and every later
 * version must read them. LETHE_GOLDEN_WRITE=1 writes missing files; existing ones are never
 * overwritten. */
#ifndef LETHE_TESTS_SUPPORT_GOLDEN_H
#define LETHE_TESTS_SUPPORT_GOLDEN_H

#include <stddef.h>

/* Fails the test unless tests/golden/NAME holds exactly these bytes. */
void golden_check(const char *name, const void *data, size_t size);

/* Reads a golden file whole; the caller frees it. Fails the test when it is missing. */
void *golden_read(const char *name, size_t *size);

#endif
