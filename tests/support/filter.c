/* support/filter.c - runs only the tests of a program whose names match LETHE_TEST_FILTER, a
 * pattern as cmocka takes it. Compiled into each program, because nothing else would link it. */
#include "support/test.h"

#include <stdlib.h>

__attribute__((constructor)) static void set_filter(void) {
    const char *pattern = getenv("LETHE_TEST_FILTER");
    if (pattern != NULL) cmocka_set_test_filter(pattern);
}
