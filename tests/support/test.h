/* tests/support/test.h - what every cmocka test includes, in the order cmocka wants it. */
#ifndef LETHE_TESTS_SUPPORT_TEST_H
#define LETHE_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Whether a test does more than every day: LETHE_SIZE=large, which the test NAME-large has. */
bool test_is_large(void);

/* How much a test does. A test file that has this word is also run as NAME-large, except with a
 * sanitizer, which makes everything several times slower. */
#define TEST_SIZED(large, day) (test_is_large() ? (large) : (day))

#define assert_ok(expression) assert_int_equal((expression), LETHE_OK)

#endif
