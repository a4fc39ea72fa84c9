/* size.c - how much a test does, as tests/support/sizes.py says it to tests in Python. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

bool test_is_large(void) {
    const char *size = getenv("LETHE_SIZE");
    return size != NULL && strcmp(size, "day") != 0;
}
